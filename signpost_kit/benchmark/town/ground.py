"""The ground: carriageway with its lines, kerbs and pavements."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from signpost_kit.benchmark.town.atlas import City
from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.dice import between, happens
from signpost_kit.benchmark.town.layout import Layout
from signpost_kit.benchmark.town.light import RGB, Light, mix, parse_color, vary

__all__ = ["KERB", "draw_ground", "flat", "flats"]

KERB = 0.13
"""Height of the pavement above the road, metres."""
_FAR = 600.0
_PAINT: dict[str, RGB] = {"white": (226, 226, 220), "yellow": (232, 184, 36), "red": (196, 52, 44)}
_PAVING: dict[str, RGB] = {
    "slabs": (160, 157, 150),
    "brick": (164, 104, 84),
    "mosaic": (214, 210, 200),
    "tactile": (150, 146, 142),
    "concrete": (172, 170, 164),
    "dirt": (172, 134, 98),
    "hex": (176, 168, 154),
    "bluestone": (94, 98, 104),
}


def flat(x0: float, x1: float, z0: float, z1: float, y: float = 0.0) -> NDArray[np.float64]:
    """A rectangle on the ground (4, 3)."""
    return np.array([(x0, y, z0), (x1, y, z0), (x1, y, z1), (x0, y, z1)])


def flats(
    x0: float, x1: float, z0: NDArray[np.float64], z1: NDArray[np.float64], y: float = 0.0
) -> NDArray[np.float64]:
    """Rectangles on the ground (m, 4, 3), one per pair of z0 and z1."""
    out = np.empty((len(z0), 4, 3))
    out[:, :, 0] = (x0, x1, x1, x0)
    out[:, :, 1] = y
    out[:, 0, 2] = out[:, 1, 2] = z0
    out[:, 2, 2] = out[:, 3, 2] = z1
    return out


def _banded(canvas: Canvas, light: Light, x0: float, x1: float, color: RGB, *, y: float = 0.0) -> None:
    """A strip along the street, drawn in lengths so that the air veils it gradually."""
    marks = (-2.0, 7, 14, 24, 38, 60, 95, 150, 260, _FAR)
    for z0, z1 in pairwise(marks):
        canvas.solid(flat(x0, x1, z0, z1 + 0.5, y), light.lit(color, "up", (max(z0, 0) * 0.7 + z1 * 0.3) * 0.8))


def draw_ground(canvas: Canvas, city: City, light: Light, plan: Layout, rng: np.random.Generator) -> None:
    """Draw everything that lies flat, from the land beside the houses to the lines on the road."""
    road = city.road
    green = city.climate.green
    land: RGB = mix((186, 160, 116), (104, 128, 66), green)
    snow: RGB = (232, 236, 242)
    asphalt = vary(rng, parse_color(road.asphalt), 5)
    if plan.cobbles:
        asphalt = mix(asphalt, (112, 104, 98), 0.5)
    _banded(canvas, light, -160, 160, mix(land, snow, 0.85 if light.snow else 0.0))
    _banded(canvas, light, -plan.half, plan.half, mix(asphalt, snow, 0.18 if light.snow else 0.0))
    _draw_wear(canvas, light, plan, asphalt, rng)
    if plan.cobbles or "#8a6258" in road.asphalt:
        _draw_setts(canvas, light, plan, asphalt)
    _draw_lines(canvas, city, light, plan)
    if plan.tram:
        _draw_rails(canvas, light, plan)
    for side in (-1, 1):
        _draw_pavement(canvas, city, light, plan, side, rng=rng)
        if happens(rng, road.gutter):  # an open drain between road and pavement
            edge = side * plan.half
            _banded(canvas, light, edge - side * 0.45, edge, (58, 52, 44))
    if plan.canal:
        _draw_canal(canvas, light, plan)
    if light.snow:
        for side in (-1, 1):
            edge = side * plan.half
            _banded(canvas, light, edge - side * between(rng, 0.3, 0.9), edge, mix(snow, asphalt, 0.15))


def _draw_wear(canvas: Canvas, light: Light, plan: Layout, asphalt: RGB, rng: np.random.Generator) -> None:
    """Patches, tyre tracks and drain covers, which keep a road from looking painted."""
    for _ in range(5):
        x, z = between(rng, -plan.half, plan.half - 1.5), between(rng, 4, 40)
        shade = mix(asphalt, (30, 30, 32), between(rng, 0.06, 0.16))
        canvas.solid(flat(x, x + between(rng, 0.8, 2.4), z, z + between(rng, 1.5, 7)), light.lit(shade, "up", z))
    for x in (-plan.lane * 0.75, -plan.lane * 0.25, plan.lane * 0.25, plan.lane * 0.75):
        tint = light.lit(mix(asphalt, (34, 34, 36), 0.12), "up", 8)
        canvas.solid(flat(x - 0.22, x + 0.22, 2, 60), tint)
    for _ in range(2):
        x, z = between(rng, -plan.half + 0.5, plan.half - 0.5), between(rng, 6, 20)
        angles = np.linspace(0, 2 * np.pi, 20, endpoint=False)
        ring = np.stack([x + 0.36 * np.cos(angles), np.zeros(20), z + 0.36 * np.sin(angles)], 1)
        canvas.solid(ring, light.lit(mix(asphalt, (40, 36, 32), 0.5), "up", z))


def _draw_setts(canvas: Canvas, light: Light, plan: Layout, asphalt: RGB) -> None:
    z = np.concatenate([np.arange(3, 14, 0.32), np.arange(14, 34, 0.9)])
    dark = light.lit(mix(asphalt, (40, 36, 34), 0.32), "up", 10)
    canvas.solids(flats(-plan.half, plan.half, z, z + 0.05), dark)
    for x in np.arange(-plan.half, plan.half, 0.55):
        canvas.solid(flat(x, x + 0.04, 3, 14), dark)


def _line(canvas: Canvas, light: Light, words: str, x: float, *, wide: float = 0.13, inward: int = 0) -> None:
    """One painted line along x, as its words say; `inward` tells on which side a second line lies."""
    parts = set(words.split())
    color = next((_PAINT[part] for part in parts if part in _PAINT), None)
    if color is None:
        return
    places = [x]
    if "double" in parts:
        gap = wide * 1.25
        places = [x - gap, x + gap] if inward == 0 else [x, x + inward * 2 * gap]
    starts = np.arange(1.0, 120.0, 6.0) if "dashed" in parts else np.arange(1.0, 120.0, 4.0)
    length = 3.0 if "dashed" in parts else 4.05
    for place in places:
        rows = flats(place - wide / 2, place + wide / 2, starts, starts + length)
        for near, far in ((0.0, 15.0), (15.0, 40.0), (40.0, 130.0)):
            chosen = rows[(starts >= near) & (starts < far)]
            canvas.solids(chosen, light.lit(color, "up", near * 0.6 + far * 0.3))


def _draw_lines(canvas: Canvas, city: City, light: Light, plan: Layout) -> None:
    road = city.road
    if not plan.cobbles:
        _line(canvas, light, road.centre, 0.0)
    for side in (-1, 1):
        _line(canvas, light, road.edge, side * (plan.half - 0.3), wide=0.12, inward=-side)
        if plan.parking:
            _line(canvas, light, "white", side * (plan.half - plan.parking), wide=0.09)
    if plan.zebra is None:
        return
    white = light.lit(_PAINT["white"], "up", plan.zebra * 0.6)
    z0, z1 = plan.zebra, plan.zebra + 3.2
    if road.zebra == "ladder":
        for z in (z0, z1):
            canvas.solid(flat(-plan.half, plan.half, z, z + 0.35), white)
    x = np.arange(-plan.half + 0.3, plan.half - 0.4, 1.0 if road.zebra != "belisha" else 1.2)
    wide = 0.5 if road.zebra != "belisha" else 0.6
    for left in x:
        canvas.solid(flat(left, left + wide, z0 + 0.35, z1), white)
    stop = plan.drive
    canvas.solid(flat(0.1 * stop, stop * plan.lane, z0 - 1.6, z0 - 1.25), white)


def _draw_rails(canvas: Canvas, light: Light, plan: Layout) -> None:
    for middle in (-plan.lane / 2, plan.lane / 2):
        for offset in (-0.72, 0.72):
            x = middle + offset
            canvas.solid(flat(x - 0.10, x + 0.10, 1, 110), light.lit((70, 66, 62), "up", 14))
            canvas.solid(flat(x - 0.03, x + 0.03, 1, 110), light.lit((172, 172, 170), "up", 10))


def _draw_kerb(canvas: Canvas, city: City, light: Light, plan: Layout, side: int, *, paving: RGB) -> None:
    style, x = city.road.kerb, side * plan.half
    tops: dict[str, tuple[RGB, RGB]] = {
        "white_black": ((228, 226, 220), (44, 44, 44)),
        "yellow_black": ((236, 190, 30), (40, 40, 40)),
        "red_white": ((200, 48, 42), (230, 228, 222)),
        "yellow": ((232, 188, 40), (226, 180, 36)),
        "stone": ((148, 146, 142), (140, 138, 134)),
        "bluestone": ((84, 88, 94), (80, 84, 90)),
        "concrete": ((182, 180, 174), (176, 174, 168)),
    }
    pair = tops.get(style, (paving, paving))
    step = 1.2
    z = np.arange(1.0, 90.0, step)
    face = "right" if side > 0 else "left"
    for parity, color in enumerate(pair):
        starts = z[parity::2]
        for near, far in ((0.0, 14.0), (14.0, 40.0), (40.0, 95.0)):
            part = starts[(starts >= near) & (starts < far)]
            depth = near * 0.6 + far * 0.3
            rise = np.empty((len(part), 4, 3))
            rise[:, :, 0] = x
            rise[:, :, 1] = (0, 0, KERB, KERB)
            rise[:, 0, 2] = rise[:, 3, 2] = part
            rise[:, 1, 2] = rise[:, 2, 2] = part + step
            canvas.solids(rise, light.lit(mix(color, (60, 60, 60), 0.15), face, depth))
            top = flats(x, x + side * 0.22, part, part + step, KERB)
            canvas.solids(top, light.lit(color, "up", depth))


def _draw_pavement(
    canvas: Canvas, city: City, light: Light, plan: Layout, side: int, *, rng: np.random.Generator
) -> None:
    style = city.road.pavement
    paving = vary(rng, _PAVING[style], 5)
    if light.snow:
        paving = mix(paving, (232, 236, 242), 0.7)
    x0, x1 = side * plan.half, side * (plan.wall + 0.3)
    _banded(canvas, light, x0, x1, paving, y=KERB)
    dark = light.lit(mix(paving, (60, 56, 52), 0.28), "up", 8)
    if happens(rng, city.road.verge):
        grass = mix((96, 132, 62), (232, 236, 242), 0.8 if light.snow else 0.0)
        _banded(canvas, light, x0 + side * 0.25, x0 + side * 1.0, grass, y=KERB)
    if style in {"slabs", "concrete", "tactile", "bluestone", "hex"}:
        step = {"concrete": 1.5, "slabs": 0.75, "bluestone": 0.75}.get(style, 0.5)
        z = np.concatenate([np.arange(2.0, 16.0, step), np.arange(16.0, 40.0, step * 2.5)])
        canvas.solids(flats(x0 + side * 0.22, x1, z, z + 0.035, KERB), dark)
        for share in (0.34, 0.67) if style != "concrete" else (0.5,):
            x = x0 + (x1 - x0) * share
            canvas.solid(flat(x, x + 0.03, 2, 26, KERB), dark)
    if style == "brick":
        z = np.concatenate([np.arange(2.0, 12.0, 0.22), np.arange(12.0, 26.0, 0.8)])
        canvas.solids(flats(x0 + side * 0.22, x1, z, z + 0.03, KERB), dark)
    elif style == "tactile":
        middle = x0 + (x1 - x0) * 0.5
        yellow = light.lit((226, 178, 44), "up", 6)
        canvas.solid(flat(middle - 0.2, middle + 0.2, 1.5, 70, KERB), yellow)
    elif style == "mosaic":
        _draw_waves(canvas, light, x0 + side * 0.3, x1)
    elif style == "dirt":
        for _ in range(7):
            z, x = between(rng, 3, 24), between(rng, min(x0, x1), max(x0, x1) - 0.6)
            shade = light.lit(mix(paving, (120, 84, 58), between(rng, 0.2, 0.5)), "up", z)
            canvas.solid(flat(x, x + between(rng, 0.4, 1.2), z, z + between(rng, 0.6, 3), KERB), shade)
    _draw_kerb(canvas, city, light, plan, side, paving=paving)


def _draw_canal(canvas: Canvas, light: Light, plan: Layout) -> None:
    """Water beside the left pavement, the far quay, and boats."""
    near, far = -plan.wall + 0.4, -plan.wall - plan.canal + 1.8
    water = mix((62, 84, 78), light.horizon, 0.3)
    _banded(canvas, light, far, near, water, y=-1.2)
    quay = light.lit((122, 100, 86), "left", 20)
    canvas.solid([(far, -1.2, 1.0), (far, -1.2, 200.0), (far, KERB, 200.0), (far, KERB, 1.0)], quay)
    _banded(canvas, light, far - 2.4, far, (150, 112, 96), y=KERB)
    for z, color in ((12.0, (58, 84, 62)), (24.0, (140, 52, 44)), (41.0, (222, 218, 206))):
        side = np.array(
            [(far + 2.2, -1.2, z), (far + 2.2, -1.2, z + 7), (far + 2.2, -0.1, z + 8), (far + 2.2, -0.1, z - 1)]
        )
        canvas.solid(side, light.lit(color, "left", z))
        top = np.array(
            [(far + 0.3, -0.1, z - 1), (far + 2.2, -0.1, z - 1), (far + 2.2, -0.1, z + 8), (far + 0.3, -0.1, z + 8)]
        )
        canvas.solid(top, light.lit(mix(color, (190, 160, 120), 0.5), "up", z))
    for z in np.arange(3.0, 70.0, 4.0):  # a low rail at the water's edge
        canvas.solid(
            [(near, KERB, z), (near, KERB, z + 0.1), (near, 0.9, z + 0.1), (near, 0.9, z)],
            light.lit((50, 52, 50), "front", z),
        )
    canvas.solid(
        [(near, 0.85, 2.0), (near, 0.85, 90.0), (near, 0.92, 90.0), (near, 0.92, 2.0)],
        light.lit((50, 52, 50), "left", 14),
    )


def _draw_waves(canvas: Canvas, light: Light, x0: float, x1: float) -> None:
    """Black waves in white stone, as in Lisbon and Rio."""
    along = np.linspace(0, 1, 15)
    ink = light.lit((56, 54, 54), "up", 8)
    for z in np.arange(2.5, 34.0, 1.7):
        swing = 0.42 * np.sin(along * 4 * np.pi)
        x = x0 + (x1 - x0) * along
        low = np.stack([x, np.full(15, KERB), z + swing], 1)
        high = np.stack([x, np.full(15, KERB), z + swing + 0.62], 1)[::-1]
        canvas.solid(np.concatenate([low, high]), ink)
