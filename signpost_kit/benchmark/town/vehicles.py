"""Cars, vans, buses, trams, three-wheelers and scooters: their outlines, and which of them a city has where."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signpost_kit.benchmark.town.atlas import City
from signpost_kit.benchmark.town.dice import happens, pick, weighted
from signpost_kit.benchmark.town.light import RGB, mix, parse_color

__all__ = ["PAINTS", "Vehicle", "draw_lots", "glass_of", "outline_of"]

PAINTS: tuple[RGB, ...] = (
    (232, 232, 230),
    (40, 42, 46),
    (150, 154, 158),
    (92, 98, 106),
    (150, 36, 36),
    (44, 72, 120),
)
PAINTS += ((206, 202, 194), (62, 96, 84), (196, 198, 200), (228, 228, 226), (170, 174, 178))

# Upper outline from the rear bumper over the roof to the front bumper: share of the length, height in metres.
_OUTLINES = {
    "saloon": "0,.35 0,.85 .03,.98 .18,1 .32,1.42 .58,1.44 .74,.98 .97,.82 1,.6 1,.3",
    "hatch": "0,.35 0,.9 .03,1 .12,1.48 .58,1.5 .76,1 .96,.86 1,.6 1,.3",
    "beetle": "0,.35 .02,.7 .14,1.08 .3,1.44 .52,1.5 .68,1.1 .88,.92 .98,.66 1,.35",
    "suv": "0,.4 0,1 .02,1.1 .08,1.7 .62,1.74 .76,1.16 .97,1.04 1,.7 1,.4",
    "van": "0,.4 0,1.1 .01,1.2 .02,2 .78,2.05 .9,1.2 .99,1 1,.7 1,.4",
    "bus": "0,.4 0,1.2 0,1.5 .005,3 .99,3 1,1.3 1,1 1,.7 1,.35",
    "double": "0,.4 0,1.2 0,1.5 .005,4.3 .985,4.35 1,1.4 1,1 1,.7 1,.35",
    "tram": "0,.3 .01,1.1 .015,1.3 .03,3.3 .97,3.3 .985,1.3 .99,1 1,.7 1,.3",
    "tuktuk": "0,.35 0,.8 0,.95 .04,1.72 .72,1.75 .84,1.05 .95,.9 1,.7 1,.3",
}
_SIZES = {
    "saloon": (4.5, 1.75), "hatch": (3.8, 1.7), "beetle": (3.9, 1.6), "suv": (4.5, 1.85), "van": (4.9, 1.9),
    "bus": (10.5, 2.5), "double": (10.0, 2.5), "tram": (14.0, 2.4), "tuktuk": (2.7, 1.3), "scooter": (2.0, 0.7),
}  # fmt: skip
"""Length and width in metres."""


@functools.cache
def outline_of(kind: str) -> NDArray[np.float64]:
    """Corners (n, 2) of a vehicle's upper outline: share of its length from the rear, height in metres."""
    return np.array([[float(part) for part in corner.split(",")] for corner in _OUTLINES[kind].split()])


def glass_of(kind: str) -> tuple[int, int]:
    """Which stretches of the outline are the rear and the front screen."""
    return (3, 5) if kind == "saloon" else (2, 4)


@dataclass(frozen=True)
class Vehicle:
    """One vehicle: its middle at x, its end nearest to the camera at z; `away` when it drives from the camera."""

    kind: str
    x: float
    z: float
    away: bool
    paint: RGB
    roof: RGB
    plate: RGB
    ink: RGB
    bands: tuple[str, str, str]
    square: bool
    stripe: RGB | None = None
    taxi: bool = False

    @property
    def length(self) -> float:
        """Metres."""
        return _SIZES[self.kind][0]

    @property
    def width(self) -> float:
        """Metres."""
        return _SIZES[self.kind][1]

    @property
    def height(self) -> float:
        """Metres."""
        return 1.5 if self.kind == "scooter" else float(outline_of(self.kind)[:, 1].max())


def draw_lots(
    city: City,
    rng: np.random.Generator,
    x: float,
    z: float,
    away: bool,
    *,
    moving: bool = False,
    rails: bool = False,
) -> Vehicle:
    """Which vehicle stands or drives at a place, by the city's habits; buses and trams are always moving."""
    street, plate = city.street, city.plate
    options: list[tuple[str, float]] = [("saloon", 2.2), ("hatch", 2.4), ("suv", 1.8), ("van", 0.7), ("taxi", 1.5)]
    options += [("tuktuk", street.tuktuk * 2.0), ("matatu", street.matatu * 2), ("danfo", street.danfo * 3.0)]
    options += [("beetle", street.beetle * 2), ("scooter", street.scooters * 2.2)]
    if moving and street.bus and z > 12:
        options.append(("bus", 1.4 if rails else 0.7))
    name = weighted(rng, [o[0] for o in options], [o[1] for o in options])
    paint = pick(rng, PAINTS)
    roof, stripe, kind = paint, None, name
    if name == "taxi":
        kind = weighted(rng, ["saloon", "hatch"], [3, 1])
        paint = parse_color(street.taxi_alt if street.taxi_alt and happens(rng, 0.4) else street.taxi)
        roof = parse_color(street.taxi_roof) if street.taxi_roof else paint
        stripe = (30, 30, 30) if street.checker else None
    elif name == "bus":
        kind = "tram" if rails else ("double" if street.decks == 2 else "bus")
        paint = parse_color(street.bus)
        roof = mix(paint, (240, 240, 236), 0.7)
    elif name == "danfo":
        kind, paint, roof, stripe = "van", (242, 190, 24), (242, 190, 24), (36, 36, 36)
    elif name == "matatu":
        kind, stripe = "van", (240, 200, 40)
        paint = roof = pick(rng, ((240, 240, 236), (120, 40, 120), (40, 90, 60), (232, 232, 230)))
    elif name == "beetle":
        paint = roof = pick(rng, ((232, 228, 214), (120, 170, 190), (60, 120, 80), (190, 60, 50)))
    elif name == "tuktuk":
        paint = parse_color(
            {"TH": "#2f5ab0", "IN": "#2f7a3c", "NG": "#f2c414", "ID": "#3a7ab0"}.get(city.country, "#c8242a")
        )
        roof = parse_color(
            {"TH": "#e8c020", "IN": "#f0c81c", "NG": "#f2c414", "ID": "#2a2a2a"}.get(city.country, "#20242a")
        )
    ground = plate.rear if (away and plate.rear) else plate.front
    if name == "taxi" and plate.taxi:
        ground = plate.taxi
    elif plate.kei and kind == "hatch" and happens(rng, 0.6):
        ground = plate.kei
    elif (plate.ev and happens(rng, 0.25)) or (plate.old and happens(rng, 0.4)):
        ground = plate.ev or plate.old
    ink = parse_color(plate.ink) if ground != plate.old else (240, 240, 236)
    return Vehicle(
        kind, x, z, away, paint, roof, parse_color(ground), ink,
        (plate.band, plate.band_right, plate.band_top), plate.shape == "square", stripe, name == "taxi",
    )  # fmt: skip
