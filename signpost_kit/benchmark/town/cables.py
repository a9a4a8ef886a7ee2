"""Cables over the street: on poles along one pavement, and the wires of trams."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from signpost_kit.benchmark.town.atlas import City
from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.dice import between, happens
from signpost_kit.benchmark.town.layout import Layout
from signpost_kit.benchmark.town.light import RGB, Light

__all__ = ["Cables", "draw_cables", "draw_pole", "lay_cables"]

_WOODEN = {"US", "CA", "AU", "NZ", "KE", "NG", "CL"}

Run = tuple[float, float, float, float, float]
"""One cable between two poles: x, y, z of the near end, z of the far end, sag; metres."""


@dataclass(frozen=True)
class Cables:
    """Poles at x (metres) along the street, and cables hung from one to the next."""

    x: float
    poles: tuple[float, ...]
    runs: tuple[Run, ...]


def lay_cables(city: City, plan: Layout, rng: np.random.Generator) -> Cables:
    """Draw lots for poles and cables; there are none in cities that bury them."""
    side = 1 if happens(rng, 0.5) else -1
    x = side * (plan.half + 0.4)
    if not happens(rng, city.street.wires):
        return Cables(x, (), ())
    poles = np.arange(between(rng, 6, 14), 110, between(rng, 20, 26))
    stops = [poles[0] - 22, *poles]
    runs = []
    for _ in range(2 + round(city.street.wires * 5)):
        offset, height = between(rng, -0.9, 0.9), between(rng, 5.8, 8.1)
        for z0, z1 in pairwise(stops):
            runs.append((x + offset, height, max(float(z0), 1.5), float(z1), between(rng, 0.3, 0.9)))
    return Cables(x, tuple(float(z) for z in poles), tuple(runs))


def draw_pole(canvas: Canvas, light: Light, city: City, x: float, z: float) -> None:
    """Draw one pole with its cross arm."""
    depth = canvas.camera.depth(x, z)
    color: RGB = (98, 76, 58) if city.country in _WOODEN else (150, 148, 142)
    shade = light.lit(color, "front", depth)
    wide = 0.13
    canvas.solid([(x - wide, 0, z), (x + wide, 0, z), (x + wide * 0.7, 8.6, z), (x - wide * 0.7, 8.6, z)], shade)
    canvas.solid([(x - 0.9, 7.9, z), (x + 0.9, 7.9, z), (x + 0.9, 8.05, z), (x - 0.9, 8.05, z)], shade)
    if int(z * 7) % 2:  # a transformer on every other pole
        box = [(x - 0.55, 6.5, z), (x - 0.1, 6.5, z), (x - 0.1, 7.3, z), (x - 0.55, 7.3, z)]
        canvas.solid(box, light.lit((128, 130, 128), "front", depth))


def draw_cables(canvas: Canvas, light: Light, plan: Layout, cables: Cables) -> None:
    """Draw the cables, and a tram's wires where there are rails."""
    if plan.tram:
        for x in (-plan.lane / 2, plan.lane / 2):
            canvas.strokes([_run(canvas, (x, 5.6, 2.0, 120.0, 0.0))], light.lit((44, 46, 50), "front", 14), 1.0)
        for z in np.arange(10.0, 80.0, 18.0):
            span = np.array([(-plan.wall, 6.6, z), (0.0, 6.0, z), (plan.wall, 6.6, z)])
            canvas.strokes([canvas.camera.project(span)], light.lit((60, 62, 66), "front", z), 1.0)
    for index, run in enumerate(cables.runs):
        far = run[3]
        shade = light.lit((34, 34, 38), "front", far * 0.5)
        canvas.strokes([_run(canvas, run)], shade, 2.0 if index % 3 == 0 and far < 40 else 1.0)


def _run(canvas: Canvas, run: Run) -> NDArray[np.float64]:
    """A sagging line along the street, in pixels, from before the camera on."""
    x, y, z0, z1, sag = run
    share = np.linspace(0, 1, 9)
    z = z0 + (z1 - z0) * share
    points = np.stack([np.full(9, x), y - 4 * sag * share * (1 - share), z], 1)
    seen = canvas.camera.look(points)
    return canvas.camera.flatten(seen[seen[:, 2] > 0.5])
