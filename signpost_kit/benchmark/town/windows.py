"""Upper storeys: windows, shutters, balconies, bays and what hangs on them."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from signpost_kit.benchmark.town.dice import between, happens
from signpost_kit.benchmark.town.front import Front
from signpost_kit.benchmark.town.light import RGB, mix

__all__ = ["draw_storeys"]

Array = NDArray[np.floating]


class Panes(NamedTuple):
    """Windows of one front: bounds along the street and up, in metres, one of each per window."""

    u0: Array
    u1: Array
    v0: Array
    v1: Array


# kind: width, height, sill above the floor, metres from window to window
_SIZES: dict[str, tuple[float, float, float, float]] = {
    "tall": (1.05, 1.95, 0.55, 2.5),
    "sash": (1.05, 1.65, 0.8, 2.4),
    "wide": (1.75, 1.45, 0.9, 3.0),
    "grille": (1.7, 1.5, 0.85, 2.6),
    "arched": (1.1, 1.7, 0.6, 2.6),
}
_LAMPLIGHT: RGB = (255, 212, 142)


def draw_storeys(front: Front, rng: np.random.Generator) -> None:
    """Draw everything above the ground floor."""
    building = front.building
    kind = building.build.window
    if building.floors < 2:
        return
    if kind == "glass":
        _curtain(front, rng)
        return
    if kind == "strip":
        _strips(front, rng)
        return
    wide, tall, sill, step = _SIZES[kind]
    columns = max(1, round((building.width - 0.8) / step))
    centre = (np.arange(columns) + 0.5) * (building.width / columns)
    rise = building.ground_h + np.arange(building.floors - 1) * building.floor_h + sill
    u, v = (part.ravel() for part in np.meshgrid(centre, rise))
    u0, u1, v1 = u - wide / 2, u + wide / 2, v + min(tall, building.floor_h - sill - 0.35)
    panes = Panes(u0, u1, v, v1)
    _glaze(front, rng, panes)
    if building.shutters and front.grain > 5:
        _shutters(front, rng, panes)
    if building.balcony:
        keep = rng.random(len(u)) < (0.55 + 0.45 * building.build.balcony_share)
        _balconies(front, u0[keep], u1[keep], v[keep] - sill, rng)
    _hangings(front, rng, panes)


def _glass_tones(front: Front) -> tuple[RGB, RGB, RGB]:
    light = front.light
    sky = mix(light.horizon, light.zenith, 0.4)
    return mix((44, 52, 62), sky, 0.12), mix((56, 66, 78), sky, 0.28), mix((84, 92, 98), sky, 0.42)


def _glaze(front: Front, rng: np.random.Generator, panes: Panes) -> None:
    u0, u1, v0, v1 = panes
    building = front.building
    frame = building.trim
    fine = front.grain > 9
    arched = building.build.window == "arched"
    if fine:
        front.paint(u0 - 0.14, u1 + 0.14, v0 - 0.12, v1 + 0.16, mix(frame, building.color, 0.25))
        front.paint(u0, u1, v0, v1, front.shade(frame, 0.45))
    if arched and front.grain > 5:
        turn = np.linspace(0, np.pi, 9)
        mid, half = (u0 + u1) / 2, (u1 - u0) / 2
        for grow, color in ((0.14, mix(frame, building.color, 0.25)), (0.0, _glass_tones(front)[0])):
            arc = front.points(
                mid[:, None] + (half[:, None] + grow) * np.cos(turn),
                v1[:, None] + (half[:, None] + grow) * np.sin(turn),
            )
            front.canvas.solids(arc, front.lit(color))
    inset = 0.07 if fine else 0.0
    draw = rng.random(len(u0))
    lit = draw < (0.45 if front.light.night else 0.0)
    for index, tone in enumerate(_glass_tones(front)):
        part = ~lit & (np.floor(draw * 997) % 3 == index)
        if part.any():
            front.paint(u0[part] + inset, u1[part] - inset * 0.4, v0[part] + inset, v1[part] - inset, tone)
    if lit.any():
        front.paint(
            u0[lit] + inset, u1[lit] - inset * 0.4, v0[lit] + inset, v1[lit] - inset, _LAMPLIGHT, shine=True
        )
    if not fine:
        return
    mid = (u0 + u1) / 2
    front.paint(mid - 0.035, mid + 0.035, v0, v1, frame)
    if building.build.window == "sash":
        half = (v0 + v1) / 2
        front.paint(u0, u1, half - 0.04, half + 0.04, frame)
    elif building.build.window == "tall":
        front.paint(u0, u1, v0 + (v1 - v0) * 0.68, v0 + (v1 - v0) * 0.68 + 0.05, frame)
    elif building.build.window == "grille" and front.grain > 13:
        for share in np.linspace(0.1, 0.9, 6):
            bar = u0 + (u1 - u0) * share
            front.paint(bar - 0.025, bar + 0.025, v0 - 0.1, v1, mix(frame, (120, 120, 116), 0.4), d=0.12)
        for share in (0.05, 0.5, 0.95):
            bar = v0 + (v1 - v0) * share
            front.paint(u0 - 0.05, u1 + 0.05, bar, bar + 0.04, mix(frame, (120, 120, 116), 0.4), d=0.12)
    front.paint(u0 - 0.18, u1 + 0.18, v0 - 0.2, v0 - 0.06, mix(frame, (255, 255, 255), 0.1), d=0.08)


def _shutters(front: Front, rng: np.random.Generator, panes: Panes) -> None:
    u0, u1, v0, v1 = panes
    accent = front.building.accent
    leaf = (u1 - u0) * 0.5
    closed = rng.random(len(u0)) < 0.18
    op = ~closed
    front.paint(u0[op] - leaf[op] - 0.02, u0[op] - 0.02, v0[op], v1[op], accent, d=0.05)
    front.paint(u1[op] + 0.02, u1[op] + leaf[op] + 0.02, v0[op], v1[op], accent, d=0.05)
    if closed.any():
        front.paint(u0[closed], u1[closed], v0[closed], v1[closed], accent, d=0.05)
    if front.grain > 16:
        dark = front.shade(accent, 0.3)
        for share in np.linspace(0.12, 0.88, 6):
            row = v0[op] + (v1[op] - v0[op]) * share
            front.paint(u0[op] - leaf[op] + 0.04, u0[op] - 0.08, row, row + 0.05, dark, d=0.05)
            front.paint(u1[op] + 0.08, u1[op] + leaf[op] - 0.04, row, row + 0.05, dark, d=0.05)


def _balconies(front: Front, u0: Array, u1: Array, base: Array, rng: np.random.Generator) -> None:
    if len(u0) == 0:
        return
    building, style = front.building, front.building.balcony
    if style == "iron":
        dark: RGB = (40, 42, 44)
        front.box(u0 - 0.3, u1 + 0.3, base - 0.02, base + 0.12, building.trim, d=0.7)
        if front.grain > 9:
            for share in np.linspace(0.0, 1.0, 7):
                bar = u0 - 0.3 + (u1 - u0 + 0.55) * share
                front.paint(bar, bar + 0.05, base + 0.12, base + 1.0, dark, d=0.7)
            for share in (0.0, 0.5):
                rail = front.points(
                    np.stack([u0 - 0.3] * 4, -1),
                    np.stack([base + 0.12, base + 0.12, base + 1, base + 1], -1),
                    np.array([0.7 * share, 0.7 * share + 0.06, 0.7 * share + 0.06, 0.7 * share]),
                )
                front.canvas.solids(rail, front.lit(dark, "front"))
        front.paint(u0 - 0.3, u1 + 0.3, base + 0.97, base + 1.06, dark, d=0.7)
        return
    if style == "wood":
        brown: RGB = mix((108, 70, 44), building.accent, 0.15)
        front.box(u0 - 0.4, u1 + 0.4, base, base + 2.5, brown, d=0.9)
        if front.grain > 8:
            for share in (0.04, 0.36, 0.68):
                left = u0 - 0.4 + (u1 - u0 + 0.8) * share
                front.paint(left, left + (u1 - u0) * 0.38, base + 1.1, base + 2.2, (54, 44, 38), d=0.9)
        return
    tone = {"concrete": mix(building.color, building.trim, 0.5), "glass": (168, 196, 204)}.get(style, building.trim)
    out = 0.9 if style == "enclosed" else 1.15
    if style == "enclosed":
        front.box(u0 - 0.25, u1 + 0.25, base + 0.1, base + 2.5, mix(building.color, (150, 154, 154), 0.3), d=out)
        front.paint(u0 - 0.15, u1 + 0.15, base + 1.05, base + 2.3, _glass_tones(front)[1], d=out)
        if front.grain > 10:
            for share in np.linspace(0.0, 1.0, 5):
                bar = u0 - 0.15 + (u1 - u0 + 0.26) * share
                front.paint(bar, bar + 0.05, base + 1.05, base + 2.3, (196, 198, 196), d=out)
        return
    front.box(u0 - 0.55, u1 + 0.55, base - 0.05, base + 0.95, tone, d=out)
    if front.building.has("awnings") and front.grain > 5:
        down = rng.random(len(u0)) < 0.4
        cloth = mix(building.board, (240, 236, 226), 0.35)
        top = front.points(
            np.stack([u0 - 0.5, u1 + 0.5, u1 + 0.5, u0 - 0.5], -1)[down],
            np.stack([base + 2.55, base + 2.55, base + 1.7, base + 1.7], -1)[down],
            np.array([0.1, 0.1, out + 0.1, out + 0.1]),
        )
        front.canvas.solids(top, front.lit(cloth))


def _hangings(front: Front, rng: np.random.Generator, panes: Panes) -> None:
    """Air conditioners, bays, oriels, fire escapes, washing, stains, plants."""
    u0, u1, v0, v1 = panes
    building = front.building
    if front.grain < 4.5:
        return
    if building.has("stains"):
        for _ in range(4):
            left = between(rng, 0.2, building.width - 1.0)
            top = between(rng, building.height * 0.4, building.height)
            front.paint(
                left,
                left + between(rng, 0.3, 1.2),
                top - between(rng, 1, 4),
                top,
                front.shade(building.color, 0.14),
            )
    if building.has("ac"):
        chosen = rng.random(len(u0)) < 0.4
        if chosen.any():
            front.box(u1[chosen] - 0.75, u1[chosen], v0[chosen] - 0.75, v0[chosen] - 0.2, (206, 206, 200), d=0.4)
            if front.grain > 12:
                front.paint(
                    u1[chosen] - 0.62, u1[chosen] - 0.2, v0[chosen] - 0.66, v0[chosen] - 0.3, (92, 94, 94), d=0.4
                )
    if building.has("bay") and building.floors > 1:
        middle = building.width * between(rng, 0.3, 0.7)
        low, high = building.ground_h + 0.1, building.height - 0.3
        front.box(middle - 1.1, middle + 1.1, low, high, mix(building.color, building.trim, 0.35), d=0.8)
        rows = v0[:: max(1, len(v0) // max(1, building.floors - 1))]
        front.paint(middle - 0.9, middle - 0.08, rows, rows + 1.5, _glass_tones(front)[1], d=0.8)
        front.paint(middle + 0.08, middle + 0.9, rows, rows + 1.5, _glass_tones(front)[0], d=0.8)
    if building.has("oriel") and building.floors > 2:
        low, high = building.ground_h + 0.1, building.height - 0.9
        left, right = building.width * 0.18, building.width * 0.82
        front.box(left, right, low, high, mix(building.color, (255, 255, 255), 0.08), d=0.9)
        inner = (u0 > left) & (u1 < right) & (v1 < high)
        if inner.any():
            front.paint(u0[inner] - 0.1, u1[inner] + 0.1, v0[inner] - 0.1, v1[inner] + 0.1, building.trim, d=0.9)
            front.paint(u0[inner], u1[inner], v0[inner], v1[inner], _glass_tones(front)[0], d=0.9)
    if building.has("fire_escape") and front.grain > 8:
        _fire_escape(front, rng)
    if building.has("laundry"):
        chosen = np.flatnonzero(rng.random(len(u0)) < 0.25)
        for index in chosen:
            cloth = [(226, 226, 230), (196, 90, 84), (90, 130, 180), (230, 200, 110)]
            for piece in range(4):
                left = u0[index] + piece * 0.32
                front.paint(left, left + 0.26, v0[index] - 0.75, v0[index] - 0.1, cloth[(piece + index) % 4], d=0.5)
    if building.has("planter"):
        chosen = rng.random(len(u0)) < 0.45
        front.paint(u0[chosen] - 0.1, u1[chosen] + 0.1, v0[chosen] - 0.2, v0[chosen] + 0.2, (74, 116, 56), d=0.75)
    if building.has("deco"):  # bands of colour along the floors, a fin up the middle
        levels = building.ground_h + np.arange(1, building.floors) * building.floor_h - 0.35
        front.paint(0.2, building.width - 0.2, levels, levels + 0.2, building.trim, d=0.1)
        middle = building.width / 2
        front.box(middle - 0.18, middle + 0.18, building.ground_h, building.height + 1.4, building.trim, d=0.45)
    if building.has("blades") and building.floors > 2:
        _blades(front, rng)
    if building.has("dish"):
        for index in np.flatnonzero(rng.random(len(u0)) < 0.16):
            spot = front.canvas.camera.project(front.points(u1[index] + 0.4, v0[index] + 0.6, 0.5))
            front.canvas.disc(spot, 0.34 * front.grain * 0.8, front.lit((214, 212, 206)), 1.1)


def _blades(front: Front, rng: np.random.Generator) -> None:
    """Upright advertising boxes that stand out over the pavement; their lettering faces the other way."""
    building = front.building
    colors: tuple[RGB, ...] = ((206, 40, 34), (240, 196, 36), (238, 236, 230), (34, 96, 160), (38, 132, 84))
    for _ in range(int(between(rng, 1, 4))):
        u = between(rng, 0.3, max(0.4, building.width - 0.8))
        low = building.ground_h + between(rng, 0.0, 2.0)
        high = min(building.height - 0.2, low + between(rng, 1.8, 4.5))
        if high > low + 0.8:
            color = colors[int(rng.random() * len(colors))]
            front.box(u, u + 0.3, low, high, color, d=between(rng, 0.8, 1.3), d0=0.15)


def _fire_escape(front: Front, rng: np.random.Generator) -> None:
    building = front.building
    middle, iron = building.width * between(rng, 0.35, 0.65), (46, 44, 44)
    levels = building.ground_h + np.arange(building.floors - 1) * building.floor_h
    front.paint(middle - 1.6, middle + 1.6, levels - 0.05, levels + 0.06, iron, d=1.0)
    front.paint(middle - 1.6, middle + 1.6, levels + 0.9, levels + 0.97, iron, d=1.0)
    for share in np.linspace(-1.6, 1.55, 9):
        front.paint(middle + share, middle + share + 0.05, levels, levels + 0.95, iron, d=1.0)
    for low, high in pairwise(levels):
        ends = front.points([middle - 1.2, middle - 1.0, middle + 1.2, middle + 1.0], [low, low, high, high], 0.95)
        front.canvas.solid(ends, front.lit(iron))


def _curtain(front: Front, rng: np.random.Generator) -> None:
    """A glass tower: panes between thin lines, here and there a darker one."""
    building, width = front.building, front.building.width
    tones = _glass_tones(front)
    base = mix(building.color, tones[2], 0.35)
    front.panel(0, width, building.ground_h, building.height, base)
    levels = building.ground_h + np.arange(building.floors - 1) * building.floor_h
    columns = np.linspace(0, width, max(3, round(width / 1.6)) + 1)
    if front.grain > 3:
        u, v = (part.ravel() for part in np.meshgrid(columns[:-1], levels))
        draw = rng.random(len(u))
        step = columns[1]
        for low, high, tone in ((0.0, 0.28, tones[1]), (0.28, 0.45, mix(base, front.light.horizon, 0.5))):
            part = (draw >= low) & (draw < high)
            front.paint(u[part], u[part] + step, v[part] + 0.5, v[part] + building.floor_h, tone)
        if front.light.night:
            part = draw > 0.75
            front.paint(u[part], u[part] + step, v[part] + 0.5, v[part] + building.floor_h, _LAMPLIGHT, shine=True)
    front.paint(0, width, levels, levels + 0.45, mix(building.trim, base, 0.3))
    if front.grain > 5:
        front.paint(columns, columns + 0.08, building.ground_h, building.height, building.trim)


def _strips(front: Front, rng: np.random.Generator) -> None:
    """A slab block: bands of window along every floor."""
    building = front.building
    levels = building.ground_h + np.arange(building.floors - 1) * building.floor_h
    front.paint(0.3, building.width - 0.3, levels + 1.0, levels + 2.5, _glass_tones(front)[1])
    if front.grain > 4:
        step = np.arange(0.3, building.width - 0.6, 1.5)
        u, v = (part.ravel() for part in np.meshgrid(step, levels))
        part = rng.random(len(u)) < 0.35
        tone, shine = (_LAMPLIGHT, True) if front.light.night else (_glass_tones(front)[0], False)
        front.paint(u[part], u[part] + 1.5, v[part] + 1.0, v[part] + 2.5, tone, shine=shine)
        front.paint(step, step + 0.1, building.ground_h + 0.9, building.height - 0.5, building.trim)
    front.paint(0, building.width, levels - 0.06, levels + 0.14, building.trim)
    if building.balcony:
        u = np.full(len(levels), building.width * 0.3)
        _balconies(front, u, u + building.width * 0.25, levels, rng)
    if building.has("ac") and front.grain > 4.5 and happens(rng, 0.8):
        left = np.full(len(levels), building.width * 0.75)
        front.box(left, left + 0.7, levels + 0.3, levels + 0.85, (206, 206, 200), d=0.4)
