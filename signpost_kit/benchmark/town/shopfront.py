"""Ground floors: shops with panes, boards and awnings; arcades, verandas, doors, roller shutters."""

from __future__ import annotations

import numpy as np

from signpost_kit.benchmark.town.dice import between, happens
from signpost_kit.benchmark.town.front import Front
from signpost_kit.benchmark.town.ground import KERB
from signpost_kit.benchmark.town.light import RGB, mix

__all__ = ["draw_ground_floor"]

_LAMPLIGHT: RGB = (255, 214, 150)


def draw_ground_floor(front: Front, rng: np.random.Generator) -> None:
    """Draw the storey at the pavement."""
    b = front.building
    if b.has("arcade"):
        _arcade(front, rng)
    elif b.shop:
        _shop(front, rng)
    else:
        _home(front, rng)
    if b.has("veranda"):
        _veranda(front)


def _shop(front: Front, rng: np.random.Generator) -> None:
    b, width, top = front.building, front.building.width, front.building.ground_h
    front.panel(0.15, width - 0.15, KERB, top - 0.25, mix(b.board, b.trim, 0.25))
    if front.grain < 3:
        return
    night = front.light.night
    glass: RGB = _LAMPLIGHT if night else mix((64, 70, 74), front.light.horizon, 0.2)
    panes = max(2, round(width / 2.4))
    edge = np.linspace(0.35, width - 0.35, panes + 1)
    door = int(rng.random() * panes)
    front.paint(edge[:-1] + 0.1, edge[1:] - 0.1, 0.75, top - 1.05, glass, shine=night)
    if b.has("roller") and happens(rng, 0.5):
        shut = rng.random(panes) < 0.6
        grey: RGB = (168, 172, 172)
        front.paint(edge[:-1][shut] + 0.05, edge[1:][shut] - 0.05, KERB, top - 1.0, grey)
        if front.grain > 9:
            for v in np.arange(0.3, top - 1.1, 0.28):
                front.paint(edge[:-1][shut] + 0.05, edge[1:][shut] - 0.05, v, v + 0.05, front.shade(grey, 0.25))
    elif front.grain > 8:
        _goods(front, rng, edge, top)
    front.paint(edge[door] + 0.25, edge[door] + 1.2, KERB, 2.25, front.shade(glass, 0.35) if not night else glass)
    front.paint(edge[door] + 0.18, edge[door] + 0.27, KERB, 2.3, b.accent)
    front.paint(edge[door] + 1.18, edge[door] + 1.27, KERB, 2.3, b.accent)
    front.box(0.2, width - 0.2, top - 1.0, top - 0.2, b.board, d=0.12)
    if b.awning:
        _awning(front, rng, 0.3, width - 0.3, top - 1.0)
    if b.has("lanterns") or b.has("noren"):
        red: RGB = (206, 44, 34)
        for u in np.linspace(0.6, width - 0.6, 5):
            spot = front.canvas.camera.look(front.points(u, top - 1.5, 0.4))
            if spot[2] > 1:
                flat = front.canvas.camera.flatten(spot)
                radius = 0.26 * front.canvas.camera.focal / spot[2]
                front.canvas.disc(flat, radius, front.lit(red), 1.15)


def _goods(front: Front, rng: np.random.Generator, edge: np.ndarray, top: float) -> None:
    """Coloured things behind the panes."""
    colors: tuple[RGB, ...] = ((186, 150, 96), (150, 74, 64), (96, 120, 132), (206, 196, 172))
    for color in colors:
        u = between(rng, 0.4, 0.7) + np.arange(0.2, front.building.width - 1.4, between(rng, 1.1, 2.2))
        v = between(rng, 0.8, 1.3)
        front.paint(u, u + between(rng, 0.25, 0.6), v, v + between(rng, 0.25, 0.6), mix(color, (70, 74, 78), 0.35))
    front.paint(edge[:-1] + 0.1, edge[1:] - 0.1, top - 1.5, top - 1.44, front.building.trim)


def _awning(front: Front, rng: np.random.Generator, u0: float, u1: float, v: float) -> None:
    b = front.building
    out, drop = between(rng, 0.9, 1.4), between(rng, 0.4, 0.7)
    cloth = b.board if happens(rng, 0.6) else mix(b.accent, (230, 226, 214), 0.2)
    sheet = front.points([u0, u1, u1, u0], [v, v, v - drop, v - drop], [0.12, 0.12, out, out])
    front.canvas.solid(sheet, front.lit(cloth, "up" if front.canvas.camera.y > v else None))
    if happens(rng, 0.6) and front.grain > 5:
        u = np.arange(u0, u1 - 0.4, 0.8)
        stripes = front.points(
            np.stack([u, u + 0.4, u + 0.4, u], -1),
            np.array([v, v, v - drop, v - drop]),
            np.array([0.12, 0.12, out, out]),
        )
        front.canvas.solids(stripes, front.lit(mix((240, 236, 226), cloth, 0.1)))
    side = front.points([u0, u0, u0], [v, v - drop, v - drop], [0.12, out, 0.12])
    front.canvas.solid(side, front.lit(front.shade(cloth, 0.2), "front"))
    front.panel(u0, u1, v - drop - 0.22, v - drop, front.shade(cloth, 0.12), d=out)


def _home(front: Front, rng: np.random.Generator) -> None:
    b, width, top = front.building, front.building.width, front.building.ground_h
    front.panel(0, width, KERB, 0.7, front.shade(b.color, 0.22))
    if front.grain < 3.5:
        return
    count = max(1, round(width / 2.8))
    u = (np.arange(count) + 0.5) * width / count
    door = int(rng.random() * count)
    rest = np.arange(count) != door
    glass = mix((52, 58, 66), front.light.horizon, 0.18)
    front.paint(u[rest] - 0.62, u[rest] + 0.62, 1.0, min(2.6, top - 0.5), b.trim)
    if front.light.night:
        front.paint(u[rest] - 0.5, u[rest] + 0.5, 1.12, min(2.5, top - 0.6), _LAMPLIGHT, shine=True)
    else:
        front.paint(u[rest] - 0.5, u[rest] + 0.5, 1.12, min(2.5, top - 0.6), glass)
    if front.grain > 7:
        front.paint(u[rest] - 0.03, u[rest] + 0.03, 1.12, min(2.5, top - 0.6), b.trim)
    high = min(2.5, top - 0.4)
    front.paint(u[door] - 0.72, u[door] + 0.72, KERB, high + 0.14, b.trim)
    paint = b.accent
    if b.has("door"):
        paint = ((178, 34, 34), (30, 92, 70), (38, 72, 140), (214, 170, 40))[int(rng.random() * 4)]
    front.paint(u[door] - 0.55, u[door] + 0.55, KERB, high, paint)
    if b.has("steps") or b.has("stairs"):
        grey: RGB = (150, 146, 140)
        for step in range(4):
            front.box(u[door] - 0.8, u[door] + 0.8, 0.0, 0.18 * (4 - step), grey, d=0.3 * (step + 1))
    if b.has("stairs") and b.floors > 1:
        rail = front.points([u[door] - 2.4, u[door] - 2.2, u[door] + 0.6, u[door] + 0.4], [0.1, 0.1, top, top], 0.9)
        front.canvas.solid(rail, front.lit((48, 48, 50)))
        rail = front.points(
            [u[door] - 2.4, u[door] - 2.3, u[door] + 0.5, u[door] + 0.4], [1.1, 1.1, top + 0.9, top + 0.9], 0.9
        )
        front.canvas.solid(rail, front.lit((48, 48, 50)))
    if b.has("columns"):
        for offset in (-0.95, 0.8):
            front.box(u[door] + offset, u[door] + offset + 0.22, KERB, high + 0.3, b.trim, d=0.9)
        front.box(u[door] - 1.05, u[door] + 1.1, high + 0.3, high + 0.65, b.trim, d=1.0)


def _arcade(front: Front, rng: np.random.Generator) -> None:
    """A covered walk through the ground floor: dark behind columns."""
    b, width, top = front.building, front.building.width, front.building.ground_h
    front.panel(0, width, KERB, top - 0.9, (58, 54, 52))
    if b.shop and front.grain > 4:
        u = np.linspace(0.5, width - 1.6, max(1, round(width / 2.6)))
        color = _LAMPLIGHT if front.light.night or happens(rng, 0.5) else (150, 140, 120)
        front.paint(u, u + 1.4, 0.6, top - 1.5, mix(color, (80, 74, 70), 0.35), shine=True)
    columns = np.linspace(0.0, width - 0.5, max(2, round(width / 4.0) + 1))
    front.paint(columns, columns + 0.5, KERB, top - 0.8, b.color)
    front.box(0.0, width, top - 1.0, top - 0.15, b.board if b.shop else b.trim, d=0.1)


def _veranda(front: Front) -> None:
    """A roof over the pavement on thin posts."""
    b, out = front.building, 2.1
    slab = front.points([0, b.width, b.width, 0], [3.5, 3.5, 3.1, 3.1], [0, 0, out, out])
    front.canvas.solid(slab, front.lit(mix(b.trim, (60, 64, 66), 0.55), "under"))
    front.panel(0, b.width, 2.92, 3.2, mix(b.trim, b.board, 0.3), d=out)
    near = front.points([0, 0, 0], [3.5, 3.1, 2.92], [0, out, out])
    front.canvas.solid(near, front.lit(b.trim, "front"))
    posts = np.arange(0.1, b.width, 3.2)
    front.paint(posts, posts + 0.12, KERB, 3.0, b.trim, d=out)
    if front.grain > 8 and "iron" in b.balcony:
        u = np.arange(0.0, b.width - 0.2, 0.4)
        front.paint(u, u + 0.2, 2.75, 2.92, b.trim, d=out)
