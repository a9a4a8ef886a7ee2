"""Street trees, from spruce to date palm, in leaf, in blossom, bare or under snow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.dice import between, happens
from signpost_kit.benchmark.town.light import RGB, Light, mix

__all__ = ["KINDS", "Plant", "draw_plant"]


@dataclass(frozen=True)
class Plant:
    """A kind of tree: its shape, height in metres, leaf colour, and what the seasons do to it."""

    form: str
    height: tuple[float, float]
    leaf: RGB
    bare: bool = False
    """Loses its leaves in winter."""
    autumn: RGB = (198, 138, 52)
    flower: RGB | None = None
    trunk: RGB = (96, 78, 62)


KINDS: dict[str, Plant] = {
    "round": Plant("crown", (5.5, 8.5), (86, 126, 62), bare=True),
    "plane": Plant("crown", (7, 11), (104, 140, 72), bare=True, trunk=(150, 142, 118), autumn=(190, 142, 70)),
    "linden": Plant("crown", (6.5, 10), (84, 130, 58), bare=True, autumn=(214, 174, 58)),
    "elm": Plant("crown", (7, 11), (78, 120, 56), bare=True, autumn=(206, 170, 66)),
    "maple": Plant("crown", (6.5, 10), (80, 124, 54), bare=True, autumn=(206, 82, 40)),
    "birch": Plant("slim", (7, 11), (124, 156, 84), bare=True, trunk=(222, 220, 212), autumn=(224, 186, 70)),
    "ginkgo": Plant("slim", (6, 10), (112, 150, 62), bare=True, autumn=(236, 196, 46)),
    "poplar": Plant("column", (10, 15), (92, 130, 60), bare=True),
    "cherry": Plant("crown", (4.5, 6.5), (102, 138, 72), bare=True, flower=(240, 190, 204), autumn=(196, 104, 60)),
    "jacaranda": Plant("crown", (6, 9), (108, 140, 74), flower=(150, 112, 196)),
    "orange": Plant("crown", (3.2, 4.5), (58, 104, 46), flower=(236, 142, 40)),
    "pohutukawa": Plant("crown", (5, 8), (70, 100, 62), flower=(190, 40, 44)),
    "mango": Plant("crown", (6, 9), (52, 96, 40)),
    "ficus": Plant("crown", (4, 6.5), (50, 98, 46)),
    "fig": Plant("spread", (8, 12), (58, 94, 50)),
    "almond": Plant("spread", (6, 9), (92, 132, 52)),
    "banyan": Plant("spread", (7, 11), (58, 100, 46), trunk=(108, 92, 76)),
    "raintree": Plant("spread", (9, 13), (78, 124, 52)),
    "acacia": Plant("flat", (6, 9), (106, 126, 62)),
    "umbrella": Plant("flat", (9, 14), (56, 94, 52), trunk=(122, 84, 62)),
    "eucalyptus": Plant("open", (9, 14), (124, 142, 102), trunk=(198, 186, 166)),
    "cypress": Plant("column", (7, 12), (46, 78, 50)),
    "spruce": Plant("cone", (7, 12), (48, 82, 64)),
    "pine": Plant("open", (6, 9), (62, 98, 60), trunk=(134, 84, 60)),
    "palm": Plant("palm", (7, 12), (84, 134, 62), trunk=(142, 124, 100)),
    "datepalm": Plant("palm", (5.5, 9), (106, 130, 78), trunk=(132, 102, 72)),
    "treefern": Plant("palm", (3.5, 5.5), (76, 132, 52), trunk=(74, 54, 42)),
    "banana": Plant("banana", (3, 4.5), (112, 164, 58), trunk=(126, 138, 72)),
    "bamboo": Plant("banana", (4, 6), (108, 150, 62), trunk=(128, 150, 70)),
    "shrub": Plant("shrub", (1.2, 2.2), (106, 128, 74)),
}


def _blob(
    rng: np.random.Generator, x: float, y: float, rx: float, ry: float, *, rough: float = 0.2
) -> NDArray[np.float64]:
    """A leafy outline (n, 2) around a centre in pixels."""
    count = 26 if rx > 14 else 14
    turn = np.linspace(0, 2 * np.pi, count, endpoint=False)
    swell = 1.0 + rough * rng.standard_normal(count)
    return np.stack([x + rx * swell * np.cos(turn), y + ry * swell * np.sin(turn)], 1)


def draw_plant(
    canvas: Canvas, light: Light, kind: str, *, x: float, z: float, y: float, rng: np.random.Generator
) -> None:
    """Draw one tree standing at (x, y, z) metres; its size is drawn from its kind's."""
    plant = KINDS[kind]
    depth = canvas.camera.depth(x, z)
    foot = canvas.camera.project((x, y, z))
    scale = canvas.camera.focal / depth
    tall = between(rng, *plant.height) * scale
    painter = _Painter(canvas, light, plant, kind=kind, rng=rng, depth=depth)
    painter.shadow(x, y, z, between(rng, 1.2, 2.0))
    {"palm": painter.palm, "cone": painter.cone, "banana": painter.banana, "shrub": painter.shrub}.get(
        plant.form, painter.crown
    )(float(foot[0]), float(foot[1]), tall, scale)


class _Painter:
    """Draws one plant; all lengths in pixels once the foot is known."""

    def __init__(
        self, canvas: Canvas, light: Light, plant: Plant, *, kind: str, rng: np.random.Generator, depth: float
    ) -> None:
        self.canvas, self.light, self.plant, self.rng, self.depth = canvas, light, plant, rng, depth
        leaf = plant.leaf
        season = light.season
        self.bare = plant.bare and season == "winter"
        self.flower: RGB | None = None
        if plant.bare and season == "autumn":
            leaf = mix(leaf, plant.autumn, between(rng, 0.5, 1.0))
        if season in {"spring", "dry"} or kind in {"orange", "pohutukawa"}:
            self.flower = plant.flower if happens(rng, 0.75) else None
        if season == "spring" and plant.bare:
            leaf = mix(leaf, (166, 190, 92), 0.3)
        if self.flower and kind in {"cherry", "jacaranda"}:
            leaf = mix(leaf, self.flower, 0.75)
        if light.snow:
            leaf = mix(leaf, (224, 230, 236), 0.45)
        self.leaf = leaf

    def tone(self, color: RGB, share: float, face: str = "front") -> RGB:
        """Leaf colours from shade (negative share) to sun (positive)."""
        end: RGB = (28, 38, 34) if share < 0 else (238, 236, 150)
        return self.light.lit(mix(color, end, abs(share)), face, self.depth)

    def shadow(self, x: float, y: float, z: float, wide: float) -> None:
        if self.light.mood == "overcast":
            return
        turn = np.linspace(0, 2 * np.pi, 18, endpoint=False)
        ring = np.stack(
            [x - self.light.sun_side * 1.2 + wide * np.cos(turn), np.full(18, y), z + 0.9 * wide * np.sin(turn)], 1
        )
        self.canvas.veil(self.canvas.camera.clip(ring), (30, 34, 48), 0.3)

    def trunk(self, x: float, y: float, top: float, wide: float, lean: float = 0.0) -> None:
        color = self.tone(self.plant.trunk, -0.15)
        body = np.array(
            [(x - wide, y), (x + wide, y), (x + lean + wide * 0.55, top), (x + lean - wide * 0.55, top)]
        )
        self.canvas.fill([body], color)
        side = body.copy()
        side[[0, 3], 0] += wide * 0.9
        self.canvas.fill([side], self.tone(self.plant.trunk, -0.42 if self.light.sun_side < 0 else 0.02))

    def branches(self, x: float, y: float, tall: float, scale: float) -> None:
        """A bare crown: branches forking four times."""
        color = self.tone(self.plant.trunk, -0.3)
        tips = [(x, y, -np.pi / 2, tall * 0.27)]
        for level in range(5):
            lines, grown = [], []
            for px, py, angle, length in tips:
                qx, qy = px + length * np.cos(angle), py + length * np.sin(angle)
                lines.append(np.array([(px, py), (qx, qy)]))
                spread = between(self.rng, 0.3, 0.6)
                grown += [(qx, qy, angle - spread, length * 0.74), (qx, qy, angle + spread * 0.8, length * 0.76)]
            self.canvas.strokes(lines, color, max(1.0, scale * 0.16 / (level + 1)))
            tips = grown

    def crown(self, x: float, y: float, tall: float, scale: float) -> None:
        form, rng = self.plant.form, self.rng
        if self.bare:
            self.trunk(x, y, y - tall * 0.3, scale * 0.14)
            self.branches(x, y - tall * 0.28, tall, scale)
            return
        wide, low, flatness, count = {
            "crown": (0.33, 0.33, 0.9, 9),
            "slim": (0.2, 0.25, 1.5, 9),
            "column": (0.11, 0.08, 3.2, 8),
            "spread": (0.5, 0.38, 0.55, 12),
            "flat": (0.46, 0.66, 0.26, 10),
            "open": (0.3, 0.4, 0.95, 8),
        }[form]
        rx, ry = tall * wide, tall * wide * flatness
        middle = y - tall * low - ry * 0.9
        self.trunk(x, y, middle + ry * 0.2, scale * (0.2 if form == "spread" else 0.13))
        if form in {"flat", "open", "spread"}:
            limbs = [
                np.array([(x, middle + ry * 1.1), (x + rx * s, middle + ry * 0.1)])
                for s in (-0.6, -0.2, 0.35, 0.65)
            ]
            self.canvas.strokes(limbs, self.tone(self.plant.trunk, -0.25), max(1.0, scale * 0.09))
        clump = 0.5 if form != "open" else 0.33
        spots = []
        for index in range(count):
            turn, out = index * 2.4, np.sqrt((index + 0.5) / count) * (0.72 if form != "open" else 0.95)
            spots.append((x + rx * out * np.cos(turn) + rng.normal(0, rx * 0.06), middle + ry * out * np.sin(turn)))
        spots.sort(key=lambda spot: -spot[1])
        sun = self.light.sun_side
        size_x, size_y = rx * clump, max(ry * clump, rx * clump * 0.35)
        self.canvas.fill_each(
            [_blob(rng, px, py + size_y * 0.25, size_x * 1.05, size_y) for px, py in spots],
            self.tone(self.leaf, -0.5),
        )
        for px, py in spots:
            lift = (middle - py) / (ry + 1e-6) * 0.14 + sun * (px - x) / (rx + 1e-6) * 0.08
            self.canvas.fill([_blob(rng, px, py, size_x * 0.92, size_y * 0.85)], self.tone(self.leaf, -0.22 + lift))
            spot = _blob(rng, px + sun * size_x * 0.2, py - size_y * 0.28, size_x * 0.58, size_y * 0.5, rough=0.28)
            self.canvas.fill([spot], self.tone(self.leaf, 0.02 + lift))
        self._speckle(x, middle, rx, ry, scale)

    def _speckle(self, x: float, y: float, rx: float, ry: float, scale: float) -> None:
        """Single leaves, blossoms or fruit."""
        if scale < 14:
            return
        count = 90
        turn, out = self.rng.random(count) * 2 * np.pi, np.sqrt(self.rng.random(count)) * 1.15
        px, py = x + rx * out * np.cos(turn), y + ry * out * np.sin(turn)
        size = max(1.2, scale * 0.07)
        kite = np.array([(-1, 0), (0, -0.8), (1, 0), (0, 0.8)]) * size
        leaves = np.stack([px, py], 1)[:, None, :] + kite[None]
        half = count // 2
        self.canvas.fill_each(list(leaves[:half]), self.tone(self.leaf, -0.35))
        self.canvas.fill_each(list(leaves[half:]), self.tone(self.flower or self.leaf, 0.0 if self.flower else 0.2))

    def cone(self, x: float, y: float, tall: float, scale: float) -> None:
        self.trunk(x, y, y - tall * 0.2, scale * 0.12)
        for tier in range(6):
            base = y - tall * (0.12 + 0.14 * tier)
            wide = tall * 0.24 * (1 - tier / 6.6)
            edge = np.linspace(-1, 1, 9)
            rim = np.stack([x + edge * wide, base + np.where(np.arange(9) % 2 == 0, 0.04, -0.02) * tall], 1)
            body = np.concatenate([rim, [[x, base - tall * 0.27]]])
            self.canvas.fill([body], self.tone(self.leaf, -0.35 + 0.06 * tier))
            lit = body.copy()
            lit[:, 0] = np.where(self.light.sun_side * (lit[:, 0] - x) < 0, x, lit[:, 0])
            white = mix(self.leaf, (240, 244, 250), 0.6) if self.light.snow else self.leaf
            self.canvas.fill([lit], self.tone(white, -0.1))

    def palm(self, x: float, y: float, tall: float, scale: float) -> None:
        lean = self.rng.normal(0, 0.05) * tall
        self.trunk(x, y, y - tall * 0.82, scale * (0.3 if self.plant.height[1] < 10 else 0.17), lean)
        hx, hy, reach = x + lean, y - tall * 0.82, tall * 0.34
        share = np.linspace(0, 1, 8)
        for index in range(15):
            turn = -np.pi * (index + between(self.rng, 0.1, 0.9)) / 15
            length = reach * between(self.rng, 0.8, 1.1)
            drop = 0.55 + 0.5 * abs(np.cos(turn))
            px = hx + np.cos(turn) * length * share
            py = hy + np.sin(turn) * length * share * 0.75 + drop * length * share**2 * 0.8
            broad = 0.1 * length * np.sin(np.pi * np.minimum(share + 0.1, 1.0)) + 0.4
            frond = np.concatenate([np.stack([px, py - broad], 1), np.stack([px, py + broad], 1)[::-1]])
            self.canvas.fill([frond], self.tone(self.leaf, -0.38 if index % 2 else -0.12))
            under = np.concatenate([np.stack([px, py], 1), np.stack([px, py + broad * 1.8], 1)[::-1]])
            self.canvas.fill([under], self.tone(self.leaf, -0.5 if index % 2 else -0.3))

    def banana(self, x: float, y: float, tall: float, scale: float) -> None:
        slim = self.plant.trunk[2] == 70
        for index in range(11):
            sway = (index - 5) / 5 + self.rng.normal(0, 0.1)
            top = y - tall * between(self.rng, 0.7, 1.0)
            wide = tall * (0.035 if slim else 0.075)
            tip = (x + sway * tall * 0.42, top + abs(sway) * tall * 0.3)
            bend = (x + sway * tall * 0.2, top)
            leaf = np.array([(x, y), (bend[0] - wide, bend[1] + wide), tip, (bend[0] + wide, bend[1] - wide * 0.2)])
            self.canvas.fill([leaf], self.tone(self.leaf, -0.3 + 0.05 * (index % 5)))
        del scale

    def shrub(self, x: float, y: float, tall: float, scale: float) -> None:
        for shift, share in ((-0.5, -0.3), (0.5, -0.2), (0.0, -0.05)):
            px = x + shift * tall * 0.7
            self.canvas.fill(
                [_blob(self.rng, px, y - tall * 0.4, tall * 0.55, tall * 0.45)], self.tone(self.leaf, share)
            )
        del scale
