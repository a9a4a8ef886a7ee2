"""Roofs and what stands on them."""

from __future__ import annotations

import numpy as np

from signpost_kit.benchmark.town.dice import between, happens
from signpost_kit.benchmark.town.front import Front
from signpost_kit.benchmark.town.light import mix

__all__ = ["draw_crown", "draw_roof"]

_RISE = {"tile": 0.8, "slate": 1.0, "metal": 0.75, "iron": 0.6, "pagoda": 0.75, "temple": 1.3}
"""Height over half the depth of the house, for roofs whose ridge runs along the street."""
_FRONTAL = {"gable", "step", "dutchgable"}


def draw_roof(front: Front, rng: np.random.Generator) -> None:
    """What lies behind the front: slopes, the end wall towards the camera. Drawn before the front itself."""
    b, kind = front.building, front.building.build.roof
    top, half = b.height, b.deep / 2
    end = [(0.0, 0.0, 0.0), (0.0, top, 0.0), (0.0, top, -b.deep), (0.0, 0.0, -b.deep)]
    if kind in _RISE:
        rise = _RISE[kind] * half
        over = 0.5 if kind in {"iron", "tile"} else 0.3
        low = top - over * _RISE[kind]
        slope = front.points(
            [0, b.width, b.width, 0], [low, low, top + rise, top + rise], [over, over, -half, -half]
        )
        front.canvas.solid(slope, front.lit(b.roof, "up"))
        _ribs(front, low, top + rise, over, -half)
        end = [(0, 0, 0), (0, top, 0), (0, top + rise, -half), (0, top, -b.deep), (0, 0, -b.deep)]
    elif kind == "mansard":
        rise = 3.1
        slope = front.points([0, b.width, b.width, 0], [top, top, top + rise, top + rise], [0, 0, -1.2, -1.2])
        front.canvas.solid(slope, front.lit(b.roof))
        end = [(0, 0, 0), (0, top, 0), (0, top + rise, -1.2), (0, top + rise, -b.deep), (0, 0, -b.deep)]
        _dormers(front, top)
    elif kind in _FRONTAL:
        rise = b.width * 0.5 * (0.9 if kind == "gable" else 1.1)
        near = front.points(
            [0, b.width / 2, b.width / 2, 0], [top, top + rise, top + rise, top], [0, 0, -b.deep, -b.deep]
        )
        front.canvas.solid(near, front.lit(mix(b.roof, (0, 0, 0), 0.1), "front"))
    u, v, d = (np.array(part, dtype=float) for part in zip(*end, strict=True))
    front.canvas.solid(front.points(u, v, d), front.lit(front.shade(b.color, 0.06), "front"))
    if b.has("chimney"):
        for at in (0.12, 0.88):
            u0, v0 = b.width * at - 0.4, top + (_RISE.get(kind, 0.2) * half * 0.5)
            front.box(
                u0,
                u0 + 0.8,
                v0 - 0.6,
                v0 + 1.7,
                mix(b.color, (150, 90, 70), 0.4),
                d=-half * 0.5 + 0.9,
                d0=-half * 0.5,
            )
    if kind == "flat":
        _on_the_roof(front, rng)


def _ribs(front: Front, low: float, high: float, d0: float, d1: float) -> None:
    if front.grain < 6:
        return
    b = front.building
    u = np.arange(0.0, b.width, 0.9)
    lines = front.points(
        np.stack([u, u + 0.14, u + 0.14, u], -1), np.array([low, low, high, high]), np.array([d0, d0, d1, d1])
    )
    front.canvas.solids(lines, front.lit(mix(b.roof, (40, 30, 26), 0.18), "up"))


def _dormers(front: Front, top: float) -> None:
    b = front.building
    if front.grain < 4:
        return
    count = max(1, round(b.width / 3.2))
    u = (np.arange(count) + 0.5) * b.width / count
    front.box(u - 0.65, u + 0.65, top + 0.4, top + 2.2, mix(b.trim, b.roof, 0.15), d=-0.15, d0=-0.9)
    front.paint(u - 0.42, u + 0.42, top + 0.6, top + 2.0, (58, 64, 72), d=-0.15)


def _on_the_roof(front: Front, rng: np.random.Generator) -> None:
    """Tanks, wind towers, bare iron: they show above the eaves of far houses."""
    b, top = front.building, front.building.height
    back = -between(rng, 0.6, 2.2)
    at = b.width * between(rng, 0.15, 0.7)
    if b.has("tank") and happens(rng, 0.7):
        metal = b.build.window == "grille"
        color = (196, 200, 202) if metal else (96, 72, 56)
        front.box(at, at + 1.5, top + 0.5, top + 2.2, color, d=back + 1.2, d0=back)
    if b.has("tinaco") and happens(rng, 0.75):
        front.box(at, at + 1.2, top, top + 1.7, (44, 44, 46), d=back + 1.0, d0=back)
    if b.has("windtower"):
        front.box(at, at + 2.4, top, top + 3.6, mix(b.color, (255, 255, 255), 0.1), d=back + 2.2, d0=back)
        front.paint(at + 0.4, at + 2.0, top + 1.6, top + 3.2, front.shade(b.color, 0.5), d=back + 2.2)
    if b.has("rebar"):
        u = np.linspace(0.2, b.width - 0.3, 6)
        front.paint(u, u + 0.06, top, top + 1.1, (120, 84, 66), d=-0.2)


def draw_crown(front: Front, rng: np.random.Generator) -> None:
    """What finishes the front at the top: cornice, parapet, gable. Drawn after the front."""
    b, kind, top = front.building, front.building.build.roof, front.building.height
    if kind in _FRONTAL:
        _gable_wall(front)
        return
    if kind == "flat":
        front.panel(0, b.width, top, top + 0.55, mix(b.color, b.trim, 0.45))
    if b.has("parapet") and front.grain > 4:
        u = b.width / 2
        shape = front.points(
            [u - 2, u - 1.2, u, u + 1.2, u + 2], [top + 0.5, top + 1.3, top + 1.9, top + 1.3, top + 0.5]
        )
        front.canvas.solid(shape, front.lit(b.trim))
    if b.has("cornice") or kind in {"mansard", "slate", "tile", "metal"}:
        out = 0.45 if b.has("cornice") else 0.22
        front.box(0.0, b.width, top - 0.38, top + 0.05, b.trim, d=out)
    if kind in {"pagoda", "temple"} and front.grain > 3:
        front.panel(0, b.width, top - 0.35, top, mix(b.trim, (200, 60, 40), 0.4), d=0.55)
        for u in (0.0, b.width):
            tip = front.points([u - 0.9, u + 0.9, u], [top - 0.2, top - 0.2, top + 1.4], 0.6)
            front.canvas.solid(tip, front.lit(b.roof))
    if b.has("gold"):
        u = b.width / 2
        spike = front.points([u - 1.2, u, u + 1.2], [top + 1.0, top + 6.0, top + 1.0], -1.0)
        front.canvas.solid(spike, front.lit((226, 176, 52)))
        gable = front.points([u - 2.6, u, u + 2.6], [top - 0.4, top + 2.6, top - 0.4], 0.3)
        front.canvas.solid(gable, front.lit((204, 152, 44)))


def _gable_wall(front: Front) -> None:
    b, top = front.building, front.building.height
    w, kind = b.width, b.build.roof
    if kind == "gable":
        u, v = [0, w / 2, w], [top, top + 0.45 * w, top]
    elif kind == "step":
        rise = 0.55 * w
        u, v = [0.0], [top]
        for i in range(4):
            x0 = w * 0.5 * i / 4
            u += [x0, x0 + w * 0.5 / 4]
            v += [top + rise * (i + 0.6) / 4] * 2
        u += [w - x for x in u[::-1]]
        v += v[::-1]
    else:  # dutchgable
        turn = np.linspace(0, np.pi, 9)
        arc_u, arc_v = w / 2 - 0.22 * w * np.cos(turn), top + 0.3 * w + 0.16 * w * np.sin(turn)
        u = [0, 0.1 * w, 0.16 * w, 0.26 * w, *arc_u, 0.74 * w, 0.84 * w, 0.9 * w, w]
        v = [top, top + 0.04 * w, top + 0.18 * w, top + 0.24 * w, *arc_v]
        v += [top + 0.24 * w, top + 0.18 * w, top + 0.04 * w, top]
    shape = front.points(u, v)
    front.canvas.solid(shape, front.lit(b.color))
    if front.grain > 6:
        flat = front.canvas.camera.clip(shape)
        if len(flat) > 2:
            front.canvas.strokes([flat], front.lit(b.trim), max(1.0, front.grain * 0.1))
        front.paint(w / 2 - 0.4, w / 2 + 0.4, top + 0.3, top + 1.5, (52, 56, 62))
        front.paint(w / 2 - 0.04, w / 2 + 0.04, top + 0.3, top + 1.5, b.trim)
    if b.has("hoist") and front.grain > 5:
        front.box(w / 2 - 0.08, w / 2 + 0.08, top + 0.42 * w, top + 0.42 * w + 0.2, (60, 48, 40), d=0.9)
