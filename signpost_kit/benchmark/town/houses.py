"""Rows of houses: drawing lots for each, and drawing them from the far end to the near one."""

from __future__ import annotations

import numpy as np

from signpost_kit.benchmark.town.atlas import City
from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.dice import between, happens, pick, stream, weighted
from signpost_kit.benchmark.town.front import Building, Front
from signpost_kit.benchmark.town.ground import KERB
from signpost_kit.benchmark.town.layout import Layout
from signpost_kit.benchmark.town.light import RGB, Light, mix, parse_color, vary
from signpost_kit.benchmark.town.roofs import draw_crown, draw_roof
from signpost_kit.benchmark.town.shopfront import draw_ground_floor
from signpost_kit.benchmark.town.windows import draw_storeys

__all__ = ["draw_building", "make_row"]

_DOORS: tuple[RGB, ...] = ((92, 62, 44), (60, 74, 66), (70, 52, 48), (64, 70, 84))


def make_row(city: City, plan: Layout, side: int, rng: np.random.Generator) -> list[Building]:
    """Draw lots for the houses of one side, from beside the camera to the street's end."""
    row: list[Building] = []
    z = between(rng, -6, 1)
    tall = between(rng, 0.0, 1.0)  # a street has a height of its own: neighbours keep to it
    main = weighted(rng, city.builds, [build.share for build in city.builds])
    while z < plan.length:
        other = weighted(rng, city.builds, [build.share for build in city.builds])
        build = main if happens(rng, 0.6) else other
        if happens(rng, build.gap):
            z += between(rng, 1.5, 5)
        width = between(rng, *build.width)
        low, high = build.floors
        floors = round(low + (high - low) * min(1.0, max(0.0, tall + rng.normal(0, 0.3))))
        board, _ = pick(rng, city.signs.shops)
        row.append(
            Building(
                side=side,
                z0=z,
                z1=z + width,
                wall=plan.front(side) + (between(rng, 0, 0.25) if happens(rng, 0.3) else 0.0),
                deep=between(rng, 8, 12),
                floors=max(1, floors),
                floor_h=between(rng, 2.9, 3.4),
                ground_h=between(rng, 3.5, 4.2) if build.floors[1] > 1 else 3.3,
                build=build,
                color=vary(rng, parse_color(pick(rng, build.walls)), 7),
                trim=parse_color(build.trim),
                roof=vary(rng, parse_color(pick(rng, build.roofs)), 6),
                accent=parse_color(pick(rng, build.shutters)) if build.shutters else pick(rng, _DOORS),
                shutters=happens(rng, build.shutter_share),
                balcony=build.balcony if happens(rng, build.balcony_share) else "",
                shop=happens(rng, 0.6),
                board=parse_color(board),
                awning=happens(rng, 0.4),
                seed=int(rng.integers(1 << 40)),
            )
        )
        z += width
    return row


def draw_building(canvas: Canvas, light: Light, building: Building) -> None:
    """Draw one house with all its details, as fine as its distance allows."""
    x = building.side * building.wall
    if canvas.camera.depth(x, building.z1) < 1.0:
        return
    far = canvas.camera.project((x, canvas.camera.y, building.z1))[
        0
    ]  # the front's end nearest to the picture's middle
    if far < 0 if building.side < 0 else far > canvas.camera.width:
        return
    rng = stream(building.seed, "house")
    front = Front(canvas, light, building)
    b = building
    draw_roof(front, rng)
    front.panel(0, b.width, KERB, b.height, b.color)
    if front.across < 2.0:
        _draw_far(front)
        return
    if front.grain > 3.5:
        _surface(front, rng)
    draw_ground_floor(front, rng)
    draw_storeys(front, rng)
    if b.floors > 1 and not b.has("painted"):
        front.panel(0, b.width, b.ground_h - 0.14, b.ground_h + 0.06, mix(b.trim, b.color, 0.2), d=0.06)
    draw_crown(front, rng)
    if light.snow:
        front.paint(0.0, b.width, b.height + 0.02, b.height + 0.25, (240, 243, 248), d=0.3)


def _draw_far(front: Front) -> None:
    """A house so far away that only its rhythm shows: windows, balconies, the band of the shops."""
    b = front.building
    front.panel(
        0,
        b.width,
        KERB,
        b.ground_h - 0.2,
        mix(b.board, (50, 52, 56), 0.45) if b.shop else front.shade(b.color, 0.25),
    )
    if b.floors > 1:
        columns = max(1, round(b.width / 3.0))
        centre = (np.arange(columns) + 0.5) * (b.width / columns)
        rise = b.ground_h + np.arange(b.floors - 1) * b.floor_h + 0.8
        u, v = (part.ravel() for part in np.meshgrid(centre, rise))
        glass: RGB = (255, 212, 142) if front.light.night else mix((52, 60, 70), front.light.horizon, 0.25)
        half = b.width / columns * (0.46 if b.build.window in {"glass", "strip"} else 0.28)
        front.paint(u - half, u + half, v, v + 1.6, glass)
        if b.balcony:
            tone: RGB = (52, 52, 54) if b.balcony == "iron" else mix(b.color, b.trim, 0.5)
            front.paint(u - half * 1.3, u + half * 1.3, v - 0.8, v, tone, d=0.8)
    front.panel(0, b.width, b.height - 0.3, b.height + 0.1, b.trim, d=0.2)


def _surface(front: Front, rng: np.random.Generator) -> None:
    """Courses of brick, boards, tiles: thin lines in nearly the wall's colour."""
    b = front.building
    if b.has("brick") and front.grain > 7:
        v = np.arange(0.4, b.height, 0.3)
        front.paint(0.0, b.width, v, v + 0.03, mix(b.color, (226, 210, 190), 0.22))
    elif b.has("weatherboard") and front.grain > 7:
        v = np.arange(0.4, b.height, 0.24)
        front.paint(0.0, b.width, v, v + 0.03, front.shade(b.color, 0.16))
    elif b.has("tilework") and front.grain > 9:
        u, v = (
            p.ravel()
            for p in np.meshgrid(np.arange(0.2, b.width - 0.3, 0.6), np.arange(b.ground_h, b.height - 0.5, 0.6))
        )
        part = (np.round(u / 0.6) + np.round(v / 0.6)) % 2 == 0
        front.paint(u[part], u[part] + 0.3, v[part], v[part] + 0.3, mix(b.color, (70, 110, 170), 0.16))
    elif b.has("painted"):
        front.panel(0, b.width, KERB, between(rng, 1.0, 1.5), mix(b.board, b.color, 0.15))
    if b.has("cornice") and front.grain > 10:  # quoins at the corners
        v = np.arange(b.ground_h, b.height - 0.5, 0.7)
        front.paint(0.0, 0.35, v, v + 0.45, mix(b.trim, b.color, 0.3))
        front.paint(b.width - 0.35, b.width, v, v + 0.45, mix(b.trim, b.color, 0.3))
    front.panel(0, b.width, KERB, 0.45, front.shade(b.color, 0.3))
