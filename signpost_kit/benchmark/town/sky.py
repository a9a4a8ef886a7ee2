"""What is far away: the sky with its clouds, and the land or skyline at the end of the street."""

from __future__ import annotations

from math import tan

import cv2
import numpy as np
from numpy.typing import NDArray

from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.dice import between, happens
from signpost_kit.benchmark.town.light import RGB, Light, mix

__all__ = ["draw_backdrop", "draw_sky", "soft_noise"]


def soft_noise(rng: np.random.Generator, width: int, height: int, octaves: int = 4) -> NDArray[np.float32]:
    """Smooth noise in about -1..1: random grids of doubling fineness, enlarged and added."""
    total = np.zeros((height, width), np.float32)
    for octave in range(octaves):
        grid = rng.standard_normal((3 << octave, 4 << octave), dtype=np.float32)
        total += cv2.resize(grid, (width, height), interpolation=cv2.INTER_CUBIC) * (0.55 * 0.55**octave)
    return total


def horizon_row(canvas: Canvas) -> float:
    """The row of eye level in the picture's middle."""
    camera = canvas.camera
    return (camera.height - 1) / 2 + camera.focal * tan(camera.pitch)


def draw_sky(canvas: Canvas, light: Light, rng: np.random.Generator) -> None:
    """Fill the picture down to the horizon: a gradient, clouds, and a glow on the sun's side."""
    camera = canvas.camera
    horizon = int(min(camera.height, max(2, horizon_row(canvas) + 40)))
    rows, columns = max(2, horizon // 2), max(2, camera.width // 2)  # half size is enough for what is smooth
    row = np.linspace(0, horizon - 1, rows, dtype=np.float32)
    rise = np.clip((horizon - 40 - row) / (0.62 * camera.width), 0, 1)[:, None, None] ** 0.7
    low, high = np.array(light.horizon, np.float32), np.array(light.zenith, np.float32)
    sky = np.broadcast_to(low * (1 - rise) + high * rise, (rows, columns, 3)).astype(np.float32)
    cover = light.cloud
    half_w, half_h = camera.width // 4, max(2, horizon // 4)
    noise = soft_noise(rng, half_w, half_h)
    noise = np.clip((noise - (0.75 - 1.15 * cover)) * 1.1, 0, 1)
    if light.mood == "overcast":
        noise *= 0.45
    alpha = cv2.resize(noise, (columns, rows), interpolation=cv2.INTER_LINEAR)[..., None]
    bright: RGB = {"clear": (250, 250, 250), "overcast": (236, 238, 240), "golden": (255, 222, 190)}.get(
        light.mood, (206, 140, 132)
    )
    if light.mood == "overcast" and happens(rng, 0.4):
        bright = (150, 156, 164)
    sky += (np.array(mix(bright, light.horizon, 0.25), np.float32) - sky) * (alpha * 0.85)
    if light.mood in {"golden", "dusk", "clear"}:
        across = np.linspace(-1, 1, columns, dtype=np.float32)[None, :, None] * light.sun_side
        glow = np.clip(across, 0, 1) ** 2 * (1 - rise) * (0.5 if light.mood != "clear" else 0.2)
        sky += (np.array((255, 236, 196), np.float32) - sky) * glow
    small = np.clip(sky, 0, 255).astype(np.uint8)
    canvas.pixels[:horizon] = cv2.resize(small, (camera.width, horizon), interpolation=cv2.INTER_LINEAR)
    canvas.pixels[horizon:] = np.array(light.horizon, np.uint8)


def _ridge(
    canvas: Canvas, rng: np.random.Generator, base: float, rough: float, middle: float = 0.0
) -> NDArray[np.float64]:
    """A mountain line (n, 2) in pixels: `base` pixels high, `middle` more towards the street's end."""
    camera = canvas.camera
    x = np.linspace(-8, camera.width + 8, 64)
    line = np.cumsum(rng.normal(0, 1, 64))
    line -= np.linspace(line[0], line[-1], 64)
    line = line / (np.abs(line).max() + 1e-6) * rough
    end = _street_end(canvas)[0] + between(rng, -60, 60)
    bump = middle * np.exp(-(((x - end) / (0.24 * camera.width)) ** 2))
    y = horizon_row(canvas) - np.maximum(base + line + bump, 2)
    low = horizon_row(canvas) + 60
    return np.concatenate([np.stack([x, y], 1), [[camera.width + 8, low], [-8, low]]])


def _street_end(canvas: Canvas) -> NDArray[np.float64]:
    return canvas.camera.project([(0.0, canvas.camera.y, 1000.0)])[0]


def _cut(canvas: Canvas, outline: list[tuple[float, float]], shift: float) -> NDArray[np.float64]:
    """A landmark's outline, in pixels right of the street's end and above the horizon, for a picture 768 wide."""
    scale = canvas.camera.width / 768
    end = _street_end(canvas)[0] + shift * scale
    row = horizon_row(canvas)
    return np.array([(end + x * scale, row - y * scale) for x, y in outline])


_LANDMARKS: dict[str, str] = {
    "tablemount": "-420,0 -300,40 -230,70 -190,128 190,134 230,80 300,60 380,30 460,0",
    "sugarloaf": "-330,0 -250,40 -160,46 -110,60 -60,150 -30,172 0,168 40,120 70,60 140,44 220,84 320,40 380,0",
    "volcano": "-420,0 -210,46 -80,112 -40,124 -18,118 20,128 120,80 300,30 420,0",
    "cone": "-200,0 -110,30 -36,74 -12,70 14,76 110,34 210,0",
    "acropolis": "-220,0 -140,30 -90,66 100,70 150,36 240,0",
}
"""Outlines: pixels right of the street's end, pixels above the horizon, for a picture 768 wide."""


def _outline(terrain: str) -> list[tuple[float, float]]:
    pairs = (corner.split(",") for corner in _LANDMARKS[terrain].split())
    return [(float(x), float(y)) for x, y in pairs]


def draw_backdrop(canvas: Canvas, light: Light, terrain: str, rng: np.random.Generator) -> None:
    """Draw what stands behind the city: hills, peaks, one well-known outline, towers, or nothing."""
    scale = canvas.camera.width / 768
    far: RGB = mix((92, 112, 128), light.haze, 0.55)
    near: RGB = mix((78, 104, 82), light.haze, 0.45)
    if light.snow:
        near = mix(near, (230, 234, 240), 0.5)
    if terrain in {"mountains", "snowpeaks"}:
        _draw_peaks(canvas, light, rng, terrain == "snowpeaks" or light.snow)
        canvas.fill([_ridge(canvas, rng, 26 * scale, 14 * scale, 14 * scale)], near)
    elif terrain == "hills":
        canvas.fill(
            [_ridge(canvas, rng, 36 * scale, 20 * scale, between(rng, 10, 40) * scale)], mix(far, near, 0.4)
        )
        canvas.fill([_ridge(canvas, rng, 16 * scale, 8 * scale, 10 * scale)], near)
    elif terrain in _LANDMARKS:
        canvas.fill([_cut(canvas, _outline(terrain), between(rng, -50, 50))], mix(far, near, 0.35))
        canvas.fill([_ridge(canvas, rng, 14 * scale, 8 * scale, 6 * scale)], near)
    elif terrain == "sea":
        canvas.fill([_ridge(canvas, rng, 10 * scale, 5 * scale)], mix(near, (40, 66, 60), 0.4))
    if terrain in {"skyline", "towers", "tower", "dome", "mosque"}:
        _draw_skyline(canvas, light, rng, terrain, scale)


def _draw_peaks(canvas: Canvas, light: Light, rng: np.random.Generator, white: bool) -> None:
    scale = canvas.camera.width / 768
    ridge = _ridge(canvas, rng, 66 * scale, 34 * scale, between(rng, 30, 80) * scale)
    canvas.fill([ridge], mix((88, 108, 128), light.haze, 0.5))
    if not white:
        return
    top, row = ridge[:-2], horizon_row(canvas)
    line = row - 70 * scale
    cap = top[:, 1] < line
    lower = np.where(cap, top[:, 1] * 0.45 + line * 0.55 + rng.normal(0, 3 * scale, len(top)), top[:, 1])
    band = np.concatenate([top, np.stack([top[:, 0], np.maximum(lower, top[:, 1])], 1)[::-1]])
    canvas.fill([band], mix((246, 248, 252), light.haze, 0.25))


def _draw_skyline(canvas: Canvas, light: Light, rng: np.random.Generator, terrain: str, scale: float) -> None:
    height = {"towers": 120.0, "skyline": 70.0}.get(terrain, 26.0)
    for layer in range(2):
        blocks = []
        x = -10.0
        while x < canvas.camera.width:
            wide, tall = (
                between(rng, 10, 30) * scale,
                (0.25 + float(rng.random()) ** 2) * height * scale * (1 - 0.35 * layer),
            )
            if happens(rng, 0.8):
                row = horizon_row(canvas)
                blocks.append(
                    np.array([(x, row + 60), (x, row - tall), (x + wide, row - tall), (x + wide, row + 60)])
                )
            x += wide + 0.8
        canvas.fill(blocks, mix((96, 108, 122), light.haze, 0.62 - 0.2 * layer))
    color = mix((112, 116, 122), light.haze, 0.4)
    shift = between(rng, -60, 60)
    if terrain == "mosque":
        arc = [(-60 + 6 * i, 28 + 34 * np.sin(np.pi * i / 20)) for i in range(21)]
        canvas.fill([_cut(canvas, [(-60, 0), *arc, (60, 0)], shift)], color)
        for x in (-92.0, 92.0):
            canvas.fill([_cut(canvas, [(x - 4, 0), (x - 4, 96), (x, 120), (x + 4, 96), (x + 4, 0)], shift)], color)
    elif terrain == "dome":
        arc = [(-34 + 3.4 * i, 48 + 38 * np.sin(np.pi * i / 20)) for i in range(21)]
        canvas.fill([_cut(canvas, [(-34, 0), *arc, (34, 0)], shift)], color)
        canvas.fill([_cut(canvas, [(-5, 80), (-5, 96), (0, 110), (5, 96), (5, 80)], shift)], color)
    elif terrain == "tower":
        canvas.fill([_cut(canvas, [(-4, 0), (-3, 140), (-1, 190), (1, 190), (3, 140), (4, 0)], shift)], color)
        ball = _cut(canvas, [(0, 136)], shift)[0]
        canvas.disc((float(ball[0]), float(ball[1])), 12 * scale, color)
