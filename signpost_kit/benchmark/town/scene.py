"""One scene: plan, light, houses, trees, traffic, people and signs, put together from far to near."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signpost_kit.benchmark.groups import Span
from signpost_kit.benchmark.town.atlas import City, city_named
from signpost_kit.benchmark.town.bodies import draw_vehicle
from signpost_kit.benchmark.town.cables import Cables, draw_cables, draw_pole, lay_cables
from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.degrade import degrade
from signpost_kit.benchmark.town.dice import between, happens, pick, stream
from signpost_kit.benchmark.town.front import Building
from signpost_kit.benchmark.town.furniture import HEIGHTS, draw_piece
from signpost_kit.benchmark.town.ground import KERB, draw_ground
from signpost_kit.benchmark.town.houses import draw_building, make_row
from signpost_kit.benchmark.town.layout import Layout, make_layout
from signpost_kit.benchmark.town.light import Light, make_light
from signpost_kit.benchmark.town.plants import KINDS, draw_plant
from signpost_kit.benchmark.town.signs import Sign, draw_posts, draw_sign, place_signs
from signpost_kit.benchmark.town.sky import draw_backdrop, draw_sky
from signpost_kit.benchmark.town.vehicles import draw_lots

__all__ = ["SIZE", "draw_scene"]

SIZE = (768, 512)
"""Width and height in pixels."""


@dataclass(frozen=True)
class _Thing:
    """Something that stands in the street and may hide a sign: where, how large in metres, how to draw it."""

    x: float
    z: float
    half: float
    top: float
    draw: Callable[[], None]


def draw_scene(
    city: City | str, seed: int, *, size: tuple[int, int] = SIZE, framing: str | None = None
) -> tuple[NDArray[np.uint8], tuple[Span, ...]]:
    """Draw one street scene of a city.

    Parameters
    ----------
    city : City or its name
    seed : any integer; together with the city's name it decides everything
    size : width and height in pixels, 96 x 64 to 8192 x 8192
    framing : "street" (a mapping car's view), "snap" (a walker's picture) or None (drawn from the seed)

    Returns
    -------
    picture : uint8 array, height x width x 3, RGB
    spans : two to four pieces of text with polygons in pixels, far signs first

    Raises
    ------
    ConfigError
        Unknown city or framing, or an impossible size.
    """
    city = city_named(city)
    draws = {part: stream(seed, city.name, part) for part in ("plan", "light", "left", "right", "sky", "ground")}
    plan = make_layout(city, draws["plan"], size, framing)
    light = make_light(city, draws["light"])
    canvas = Canvas(plan.camera)
    rows = {-1: make_row(city, plan, -1, draws["left"]), 1: make_row(city, plan, 1, draws["right"])}
    houses = [house for row in rows.values() for house in row]
    signs = place_signs(canvas, city, plan, houses, stream(seed, city.name, "signs"))
    draw_sky(canvas, light, draws["sky"])
    draw_backdrop(canvas, light, city.terrain, draws["sky"])
    draw_ground(canvas, city, light, plan, draws["ground"])
    _draw_shade(canvas, light, plan, rows)
    things = [_house(canvas, light, house) for house in houses]
    things += [*_plants(canvas, city, light, plan, seed), *_pieces(canvas, city, light, plan, seed)]
    things += _traffic(canvas, city, light, plan, seed)
    things += [_post(canvas, light, sign) for sign in signs if sign.posts]
    cables = lay_cables(city, plan, stream(seed, city.name, "wires"))
    things += [_pole(canvas, light, city, cables, z) for z in cables.poles]
    for thing in sorted(things, key=lambda t: -t.z):
        if thing.half == 0 or _leaves_signs_free(canvas, thing, signs):
            thing.draw()
    draw_cables(canvas, light, plan, cables)
    spans = [span for sign in signs for span in draw_sign(canvas, light, sign)]
    return degrade(canvas.pixels, stream(seed, city.name, "camera")), tuple(spans)


def _house(canvas: Canvas, light: Light, house: Building) -> _Thing:
    # Its far end decides: what stands behind it is drawn before, what stands before its front after.
    return _Thing(house.side * house.wall, house.z1, 0.0, 0.0, lambda: draw_building(canvas, light, house))


def _pole(canvas: Canvas, light: Light, city: City, cables: Cables, z: float) -> _Thing:
    return _Thing(cables.x, z, 0.25, 8.6, lambda: draw_pole(canvas, light, city, cables.x, z))


def _post(canvas: Canvas, light: Light, sign: Sign) -> _Thing:
    x, _, z = sign.corners.mean(axis=0)
    return _Thing(float(x), float(z), 0.0, 0.0, lambda: draw_posts(canvas, light, sign))


def _draw_shade(canvas: Canvas, light: Light, plan: Layout, rows: dict[int, list[Building]]) -> None:
    """The shadow that the houses on the sun's side throw over the road."""
    if light.mood not in {"clear", "golden"}:
        return
    side = int(light.sun_side)
    tall = float(np.mean([house.height for house in rows[side]])) if rows[side] else 8.0
    reach = min(plan.wall * 2 - 0.5, tall * (0.45 if light.mood == "clear" else 1.1))
    x0, x1 = side * (plan.wall + 0.3), side * (plan.wall - reach)
    ground = np.array([(x0, 0.0, 0.5), (x1, 0.0, 0.5), (x1, 0.0, 160.0), (x0, 0.0, 160.0)])
    canvas.veil(canvas.camera.clip(ground), (34, 38, 58), 0.34)


def _leaves_signs_free(canvas: Canvas, thing: _Thing, signs: list[Sign]) -> bool:
    """Whether a thing stands clear of every sign behind it, and not in the camera's face."""
    depth = canvas.camera.depth(thing.x, thing.z)
    if depth < max(2.5, thing.half * 1.4):
        return False
    corners = canvas.camera.project(
        [(thing.x + dx, y, thing.z) for dx in (-thing.half, thing.half) for y in (0.0, thing.top)]
    )
    low, high = corners.min(axis=0), corners.max(axis=0)
    for sign in signs:
        left, top, right, bottom = sign.box
        if (
            depth - thing.half < sign.depth + 0.3
            and low[0] < right
            and high[0] > left
            and low[1] < bottom
            and high[1] > top
        ):
            return False
    return True


def _plants(canvas: Canvas, city: City, light: Light, plan: Layout, seed: int) -> list[_Thing]:
    rng = stream(seed, city.name, "plants")
    things: list[_Thing] = []
    main = pick(rng, city.trees.kinds)
    density = city.trees.density * between(rng, 0.5, 1.3)
    for side in (-1, 1):
        z = between(rng, 5, 14)
        while z < 90:
            if happens(rng, density):
                kind = main if happens(rng, 0.75) else pick(rng, city.trees.kinds)
                x = side * (plan.half + between(rng, 0.6, 0.9))
                things.append(_plant(canvas, light, kind, x=x, z=z, seed=int(rng.integers(1 << 40))))
            z += between(rng, 6.5, 9.5)
    return things


def _plant(canvas: Canvas, light: Light, kind: str, *, x: float, z: float, seed: int) -> _Thing:
    tall = KINDS[kind].height[1]
    wide = tall * {"column": 0.15, "slim": 0.25, "cone": 0.25, "spread": 0.55, "flat": 0.5}.get(
        KINDS[kind].form, 0.4
    )
    return _Thing(
        x, z, wide, tall, lambda: draw_plant(canvas, light, kind, x=x, z=z, y=KERB, rng=stream(seed, kind))
    )


def _pieces(canvas: Canvas, city: City, light: Light, plan: Layout, seed: int) -> list[_Thing]:
    rng, street = stream(seed, city.name, "pieces"), city.street
    spots: list[tuple[str, float, float]] = []
    lamp_side = 1 if happens(rng, 0.5) else -1
    for index, z in enumerate(np.arange(between(rng, 6, 14), 90, between(rng, 12, 16))):
        side = lamp_side if index % 2 == 0 else -lamp_side
        spots.append(("lamp", side * (plan.half + 0.45), float(z)))
    for side in (-1, 1):
        edge = side * (plan.half + 0.4)
        if happens(rng, 0.35):
            start = between(rng, 4, 9)
            spots += [("bollard", edge, start + 1.6 * k) for k in range(int(between(rng, 3, 8)))]
        for piece, share in (
            ("post", 0.4),
            ("bin", 0.45 if street.bin else 0),
            ("stop", 0.25 if street.stop != "none" else 0),
        ):
            if happens(rng, share):
                spots.append((piece, side * (plan.half + (0.6 if piece != "stop" else 1.6)), between(rng, 6, 22)))
        if street.hydrant and happens(rng, 0.6):
            spots.append(("hydrant", edge, between(rng, 5, 16)))
        if happens(rng, street.meter):
            spots += [("meter", edge, float(z)) for z in np.arange(between(rng, 6, 9), 40, 6.0)]
        if happens(rng, street.vending * 0.6):
            spots.append(("vending", side * (plan.wall - 0.5), between(rng, 8, 20)))
        if happens(rng, street.bikes):
            start = between(rng, 6, 14)
            spots += [("bike", edge + side * 0.3, start + 0.9 * k) for k in range(int(between(rng, 2, 6)))]
        for _ in range(int(between(rng, 0, 4))):
            x = side * between(rng, plan.half + 0.6, plan.wall - 0.4)
            spots.append(("person", x, between(rng, 6, 34)))
    if plan.zebra is not None:
        guard = "beacon" if city.road.zebra == "belisha" else "signal"
        spots.append((guard, plan.drive * (plan.half + 0.4), plan.zebra - 0.5))
        if guard == "beacon":
            spots.append((guard, -plan.drive * (plan.half + 0.4), plan.zebra + 3.5))
        if happens(rng, 0.6):
            spots.append(("person", between(rng, -plan.half, plan.half), plan.zebra + 1.6))
    look = stream(seed, city.name, "looks")  # shared: pieces are drawn in one fixed order
    return [_piece(canvas, city, light, piece, x=x, z=z, rng=look) for piece, x, z in spots]


def _piece(
    canvas: Canvas, city: City, light: Light, piece: str, *, x: float, z: float, rng: np.random.Generator
) -> _Thing:
    half = {"lamp": 0.3, "stop": 1.5, "bike": 0.8}.get(piece, 0.4)
    return _Thing(x, z, half, HEIGHTS[piece], lambda: draw_piece(canvas, light, city, piece, x=x, z=z, rng=rng))


def _traffic(canvas: Canvas, city: City, light: Light, plan: Layout, seed: int) -> list[_Thing]:
    rng = stream(seed, city.name, "traffic")
    riders = stream(seed, city.name, "riders")
    things: list[_Thing] = []

    def add(x: float, z: float, away: bool, moving: bool = False) -> float:
        vehicle = draw_lots(city, rng, x, z, away, moving=moving, rails=plan.tram)
        half, top = vehicle.width / 2, vehicle.height
        things.append(_Thing(x, z, half, top, lambda: draw_vehicle(canvas, light, vehicle, riders)))
        return vehicle.length

    for side in (-1, 1):
        away = side == plan.drive
        if plan.parking:
            z = between(rng, 3, 9)
            while z < 80:
                z += add(side * (plan.half - 1.0), z, away) + 0.9 if happens(rng, 0.6) else 5.5
        lane = side * plan.lane * 0.5
        z = between(rng, 9, 26)
        while z < 90:
            z += add(lane, z, away, moving=True) + between(rng, 5, 25)
            if happens(rng, city.street.scooters * 0.5):
                add(lane + side * between(rng, -0.8, 1.0), z + between(rng, -3, 2), away)
    return things
