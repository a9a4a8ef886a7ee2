"""The plan of one street: how wide, who drives where, and where the camera stands."""

from __future__ import annotations

from dataclasses import dataclass
from math import radians

import numpy as np

from signpost_kit.benchmark.town.atlas import City
from signpost_kit.benchmark.town.camera import Camera
from signpost_kit.benchmark.town.dice import between, happens, pick
from signpost_kit.errors import ConfigError

__all__ = ["FRAMINGS", "Layout", "make_layout"]

FRAMINGS = ("street", "snap")
"""street: a mapping car's wide view from its own lane; snap: a walker's picture, from the pavement or higher."""


@dataclass(frozen=True)
class Layout:
    """Plan of a street; lengths in metres from its middle line, positive to the right."""

    camera: Camera
    framing: str
    drive: int
    """+1 where one drives on the right, -1 on the left."""
    lane: float
    parking: float
    """Width of the parking lane at each side; 0 when there is none."""
    half: float
    """Middle line to kerb."""
    wall: float
    """Middle line to house fronts."""
    length: float
    zebra: float | None
    """Where a crossing begins, in metres ahead."""
    tram: bool
    cobbles: bool
    canal: float
    """Width of a canal between the left kerb and the left pavement; 0 for none."""

    def front(self, side: int) -> float:
        """Distance of the house fronts at one side (-1 left, +1 right)."""
        return self.wall + (self.canal if side < 0 else 0.0)


def make_layout(city: City, rng: np.random.Generator, size: tuple[int, int], framing: str | None) -> Layout:
    """Draw a plan and a camera.

    Raises
    ------
    ConfigError
        `framing` is not one of FRAMINGS or None, or `size` is smaller than 96 x 64 pixels.
    """
    if framing not in {None, *FRAMINGS}:
        raise ConfigError(f"framing {framing!r} is unknown; allowed: {', '.join(FRAMINGS)} or None")
    width, height = int(size[0]), int(size[1])
    if width < 96 or height < 64 or width > 8192 or height > 8192:
        raise ConfigError(f"size {size!r} cannot be drawn; allowed: 96 x 64 to 8192 x 8192 pixels")
    framing = framing or pick(rng, FRAMINGS)
    road = city.road
    drive = 1 if city.traffic == "right" else -1
    lane = road.width * between(rng, 0.94, 1.08)
    parking = 2.0 if happens(rng, 0.55) else 0.0
    canal = between(rng, 9, 13) if happens(rng, road.canal) else 0.0
    half = lane + parking
    walk = road.walk * between(rng, 0.85, 1.25)
    wall = half + walk
    if framing == "street":
        x, y = drive * lane * between(rng, 0.35, 0.6), between(rng, 2.1, 2.9)
        focal, yaw = between(rng, 0.62, 0.74), radians(between(rng, -9, 9))
        pitch, roll = radians(between(rng, -1.0, 4.0)), 0.0
    else:
        side = 1 if happens(rng, 0.5) else -1
        x = pick(rng, [side * (half + 0.8), side * (half - 0.7), 0.0])
        high = happens(rng, 0.25)  # from a stair, a balcony, the top of a bus
        y, focal = between(rng, 3.6, 6.0) if high else between(rng, 1.5, 1.8), between(rng, 0.7, 0.9)
        yaw = radians(-np.sign(x) * between(rng, -3, 15) if x else between(rng, -10, 10))
        pitch = radians(between(rng, -5.0, 0.0) if high else between(rng, 1.0, 7.0))
        roll = radians(rng.normal(0, 1.1))
    camera = Camera(width, height, focal * width, float(x), y, float(yaw), pitch, float(roll))
    return Layout(
        camera=camera,
        framing=framing,
        drive=drive,
        lane=lane,
        parking=parking,
        half=half,
        wall=wall,
        length=between(rng, 110, 170),
        zebra=between(rng, 9, 22) if happens(rng, 0.45) else None,
        tram=happens(rng, road.tram),
        cobbles=happens(rng, road.cobbles),
        canal=canal,
    )
