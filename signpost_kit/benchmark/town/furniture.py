"""What stands on pavements: lamps, bollards, post boxes, hydrants, bins, stops, bicycles, people."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from signpost_kit.benchmark.town.atlas import City
from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.dice import between, pick
from signpost_kit.benchmark.town.ground import KERB
from signpost_kit.benchmark.town.light import RGB, Light, mix, parse_color

__all__ = ["HEIGHTS", "draw_piece"]

HEIGHTS = {
    "lamp": 6.5, "bollard": 1.0, "post": 1.6, "hydrant": 0.9, "bin": 1.1, "stop": 2.8, "bike": 1.1, "person": 1.8,
    "vending": 1.9, "meter": 1.4, "signal": 4.2, "beacon": 3.0,
}  # fmt: skip
"""Metres; also the list of pieces that :func:`draw_piece` knows."""


def draw_piece(
    canvas: Canvas, light: Light, city: City, piece: str, *, x: float, z: float, rng: np.random.Generator
) -> None:
    """Draw one piece standing on the pavement at (x, z) metres."""
    foot = canvas.camera.project((x, KERB, z))
    depth = canvas.camera.depth(x, z)
    _Piece(
        canvas,
        light,
        city,
        rng,
        foot=foot,
        scale=canvas.camera.focal / depth,
        depth=depth,
        inward=-1 if x > 0 else 1,
    ).draw(piece)


class _Piece:
    """Draws in metres from the foot: x to the right, y up. `inward` points from the pavement to the road."""

    def __init__(
        self, canvas: Canvas, light: Light, city: City, rng: np.random.Generator,
        *, foot: NDArray[np.float64], scale: float, depth: float, inward: int,
    ) -> None:  # fmt: skip
        self.canvas, self.light, self.city, self.rng = canvas, light, city, rng
        self.foot, self.scale, self.depth, self.inward = foot, scale, depth, inward

    def draw(self, piece: str) -> None:
        getattr(self, f"_{piece}")()

    def tone(self, color: RGB, share: float = 0.0) -> RGB:
        return self.light.lit(mix(color, (16, 16, 20), share), "front", self.depth)

    def shape(self, corners: list[tuple[float, float]], color: RGB, share: float = 0.0) -> None:
        points = np.array(corners) * (self.scale, -self.scale) + self.foot
        self.canvas.fill([points], self.tone(color, share))

    def rect(self, x0: float, x1: float, y0: float, y1: float, color: RGB, *, share: float = 0.0) -> None:
        self.shape([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], color, share)

    def round(
        self, x: float, y: float, radius: float, color: RGB, *, squash: float = 1.0, shine: bool = False
    ) -> None:
        spot = self.foot + np.array([x, -y]) * self.scale
        shade = self.light.veiled(color, self.depth) if shine else self.tone(color)
        self.canvas.disc((float(spot[0]), float(spot[1])), radius * self.scale, shade, squash)

    def line(self, corners: list[tuple[float, float]], color: RGB, metres: float) -> None:
        points = np.array(corners) * (self.scale, -self.scale) + self.foot
        self.canvas.strokes([points], self.tone(color), metres * self.scale)

    def post(self, width: float, height: float, color: RGB) -> None:
        """A round post: lit on one half, darker on the other."""
        self.rect(-width / 2, width / 2, 0, height, color)
        self.rect(0, width / 2, 0, height, color, share=0.25 if self.light.sun_side < 0 else 0.05)

    def glow(self, x: float, y: float, radius: float, lamp: RGB = (244, 240, 226)) -> None:
        self.round(x, y, radius, (255, 230, 160) if self.light.night else lamp, shine=self.light.night)

    def _lamp(self) -> None:
        style, color, inward = self.city.street.lamp, parse_color(self.city.street.lamp_color), self.inward
        if style == "lantern":
            self.post(0.14, 3.4, color)
            self.rect(-0.16, 0.16, 0, 0.5, color)
            self.shape([(-0.17, 3.4), (0.17, 3.4), (0.27, 4.0), (-0.27, 4.0)], (226, 222, 200))
            self.shape([(-0.32, 4.0), (0.32, 4.0), (0, 4.35)], color)
            self.glow(0, 3.7, 0.1)
        elif style == "gas":
            self.post(0.12, 3.8, color)
            self.shape([(-0.12, 3.8), (0.12, 3.8), (0.3, 4.2), (-0.3, 4.2)], (230, 228, 210))
            self.shape([(-0.36, 4.2), (0.36, 4.2), (0.16, 4.45), (-0.16, 4.45)], color)
        elif style == "hanging":
            self.line([(0, 7.0), (inward * 4.0, 7.3)], (60, 60, 62), 0.03)
            self.shape(
                [
                    (inward * 4 - 0.3, 6.9),
                    (inward * 4 + 0.3, 6.9),
                    (inward * 4 + 0.14, 7.25),
                    (inward * 4 - 0.14, 7.25),
                ],
                color,
            )
            self.glow(inward * 4.0, 6.86, 0.16)
        elif style == "double":
            self.post(0.18, 7.6, color)
            for sign in (-1, 1):
                self.line([(0, 7.4), (sign * 1.5, 7.9)], color, 0.1)
                self.shape(
                    [(sign * 1.2, 7.75), (sign * 2.0, 7.95), (sign * 2.0, 8.1), (sign * 1.2, 7.95)],
                    mix(color, (230, 230, 226), 0.3),
                )
        else:
            self.post(0.16, 6.4, color)
            self.line([(0, 6.2), (inward * 0.5, 6.9), (inward * 1.5, 7.1)], color, 0.1)
            x0, x1 = sorted((inward * 1.2, inward * 2.0))
            self.rect(x0, x1, 6.98, 7.16, mix(color, (226, 226, 222), 0.35))
            if self.light.night:
                self.glow(inward * 1.6, 6.95, 0.16)

    def _bollard(self) -> None:
        color = parse_color(self.city.street.bollard)
        self.post(0.14, 0.85, color)
        self.round(0, 0.87, 0.1, mix(color, (220, 220, 214), 0.12))

    def _post(self) -> None:
        style, color = self.city.street.post, parse_color(self.city.street.post_color)
        if style == "pillar":
            self.post(0.5, 1.45, color)
            self.shape([(-0.3, 1.42), (0.3, 1.42), (0.2, 1.62), (-0.2, 1.62)], color, 0.08)
            self.rect(-0.15, 0.15, 1.2, 1.26, (20, 20, 20))
            self.rect(-0.28, 0.28, 0, 0.14, (24, 24, 24))
        elif style == "twin":
            self.rect(-0.5, -0.02, 0.2, 1.3, color)
            self.rect(0.02, 0.5, 0.2, 1.3, (200, 40, 36))
        elif style == "mailbox":
            self.rect(-0.32, 0.32, 0.15, 1.05, color)
            self.round(0, 1.05, 0.32, color, squash=0.55)
            self.rect(-0.26, 0.26, 0.85, 0.92, color, share=0.35)
        else:
            self.post(0.1, 0.8, (90, 92, 92))
            self.rect(-0.28, 0.28, 0.75, 1.45, color)
            self.rect(-0.2, 0.2, 1.25, 1.31, (30, 30, 30))

    def _hydrant(self) -> None:
        color = parse_color(self.city.street.hydrant or "#c8262a")
        self.post(0.24, 0.6, color)
        self.round(0, 0.62, 0.15, color)
        self.rect(-0.22, 0.22, 0.36, 0.48, color, share=0.1)

    def _bin(self) -> None:
        color = parse_color(self.city.street.bin or "#4a4a4a")
        self.shape([(-0.24, 0.08), (0.24, 0.08), (0.28, 0.95), (-0.28, 0.95)], color)
        self.rect(-0.3, 0.3, 0.92, 1.05, color, share=0.3)

    def _meter(self) -> None:
        self.post(0.07, 1.1, (120, 122, 122))
        self.round(0, 1.22, 0.14, (92, 96, 98), squash=1.4)

    def _vending(self) -> None:
        color = pick(self.rng, ((206, 40, 36), (236, 236, 234), (40, 80, 160)))
        self.rect(-0.5, 0.5, 0.05, 1.85, color)
        self.rect(-0.42, 0.42, 0.85, 1.7, (226, 236, 240))
        for row in range(3):
            for col in range(6):
                tint = ((196, 60, 50), (60, 120, 70), (230, 180, 50), (60, 90, 160))[(row + col) % 4]
                self.rect(-0.38 + col * 0.13, -0.3 + col * 0.13, 0.9 + row * 0.26, 1.08 + row * 0.26, tint)

    def _signal(self) -> None:
        dark = (240, 190, 30) if self.city.country in {"US", "CA"} else (36, 38, 40)
        self.post(0.12, 3.0, (70, 74, 74))
        self.rect(-0.18, 0.18, 2.7, 3.8, dark)
        lit = int(self.rng.random() * 3)
        for index, color in enumerate(((214, 40, 34), (236, 178, 40), (50, 170, 90))):
            shown = color if index == lit else mix(color, (20, 20, 20), 0.75)
            self.round(0, 3.6 - 0.34 * index, 0.12, shown, shine=index == lit)

    def _beacon(self) -> None:
        """A striped pole with an orange globe, as at zebra crossings of the British kind."""
        for band in range(6):
            self.rect(-0.06, 0.06, 0.42 * band, 0.42 * (band + 1), (236, 234, 228) if band % 2 else (30, 30, 32))
        self.round(0, 2.72, 0.22, (242, 154, 32), shine=True)

    def _stop(self) -> None:
        style = self.city.street.stop
        if style == "flag":
            self.post(0.08, 2.6, (110, 112, 112))
            self.rect(
                -0.05, 0.45 * self.inward, 2.1, 2.6, (200, 40, 40) if self.city.country == "GB" else (240, 190, 40)
            )
            return
        grey: RGB = (92, 98, 102)
        self.rect(-1.5, 1.5, 2.35, 2.52, grey)
        for x in (-1.45, 0.0, 1.4):
            self.rect(x, x + 0.07, 0, 2.4, grey)
        self.rect(-1.4, 1.4, 0.5, 0.6, (130, 104, 80))
        pane = (
            np.array([(-1.4, 0.65), (1.4, 0.65), (1.4, 2.2), (-1.4, 2.2)]) * (self.scale, -self.scale) + self.foot
        )
        self.canvas.veil(pane, (196, 214, 220), 0.28)

    def _bike(self) -> None:
        color = pick(self.rng, ((40, 42, 44), (150, 40, 40), (50, 90, 120), (200, 200, 196)))
        turn = np.linspace(0, 2 * np.pi, 18)
        for x in (-0.5, 0.5):
            self.line(
                [(x + 0.33 * float(np.cos(t)), 0.33 + 0.33 * float(np.sin(t))) for t in turn], (30, 30, 32), 0.045
            )
        self.line([(-0.5, 0.33), (-0.15, 0.75), (0.4, 0.75), (0.5, 0.33), (0.38, 1.0)], color, 0.05)
        self.line([(-0.15, 0.85), (0.0, 0.3), (0.4, 0.75)], color, 0.05)
        self.line([(-0.26, 0.88), (-0.05, 0.88)], (30, 28, 26), 0.07)

    def _person(self) -> None:
        rng = self.rng
        tall = between(rng, 0.92, 1.06)
        cloth = pick(
            rng, ((56, 72, 110), (150, 58, 58), (206, 196, 176), (62, 66, 64), (92, 118, 96), (190, 148, 70))
        )
        legs = pick(rng, ((44, 48, 60), (66, 60, 54), (36, 36, 38), (92, 96, 104)))
        skin = pick(rng, ((226, 186, 160), (190, 142, 110), (140, 98, 72), (96, 66, 50)))
        stride = between(rng, 0.05, 0.22)
        for sign in (-1, 1):
            self.shape(
                [
                    (sign * 0.05 - 0.07, 0.85 * tall),
                    (sign * 0.05 + 0.08, 0.85 * tall),
                    (sign * stride + 0.06, 0),
                    (sign * stride - 0.07, 0),
                ],
                legs,
            )
        coat = 0.62 if self.light.season == "winter" else 0.8
        self.shape([(-0.2, coat * tall), (0.2, coat * tall), (0.22, 1.42 * tall), (-0.22, 1.42 * tall)], cloth)
        self.line([(-0.22, 1.36 * tall), (-0.28, 0.85 * tall)], mix(cloth, (0, 0, 0), 0.15), 0.1)
        self.line([(0.22, 1.36 * tall), (0.28, 0.85 * tall)], mix(cloth, (0, 0, 0), 0.15), 0.1)
        self.round(0, 1.6 * tall, 0.12, skin, squash=1.15)
        self.round(
            0, 1.66 * tall, 0.12, pick(rng, ((40, 32, 28), (90, 62, 40), (30, 28, 28), (180, 150, 100))), squash=0.8
        )
