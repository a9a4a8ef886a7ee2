"""Flat boards with lettering, and how they come into a picture in perspective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.light import RGB
from signpost_kit.fonts import load_font

__all__ = ["EM", "Board", "color_name", "make_board", "paste_board"]

EM = 56
"""Pixels of the letters' em on a flat board."""


@dataclass(frozen=True)
class Board:
    """A flat sign before it is put into the street."""

    pixels: NDArray[np.uint8]
    """RGBA, height x width x 4, not premultiplied."""
    quads: tuple[NDArray[np.float64], ...]
    """Per line of text: corners (4, 2) in board pixels, clockwise from the top left, tight around the ink."""
    texts: tuple[str, ...]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in board pixels."""
        return self.pixels.shape[1], self.pixels.shape[0]


def make_board(
    texts: Sequence[str],
    ground: RGB,
    ink: RGB,
    *,
    rim: RGB | None = None,
    shape: str = "plate",
    weight: int = 600,
    arrow: str = "",
) -> Board:
    """Letter a board: one line per text, centred, the second line smaller.

    `shape` is plate, pill, octagon, triangle (pointing down) or round; `arrow` is left, right, up or empty.

    Raises
    ------
    DataError
        A font lacks one of the characters.
    """
    boxes, fonts = [], []
    for index, text in enumerate(texts):
        font = load_font(text, EM if index == 0 else round(EM * 0.82), weight)
        fonts.append(font)
        boxes.append(font.getbbox(text))
    wide = max(box[2] - box[0] for box in boxes)
    heights = [box[3] - box[1] for box in boxes]
    gap = round(EM * 0.3)
    tall = sum(heights) + gap * (len(boxes) - 1)
    pad_x, pad_y = round(EM * 0.5), round(EM * 0.34)
    if shape in {"octagon", "round", "triangle"}:
        span = max(wide * 1.22, tall * 1.9) if shape != "triangle" else wide * 1.55 + tall * 0.6
        width = height = round(span + 2 * pad_y)
        if shape == "triangle":
            height = round(width * 0.88)
    else:
        width, height = wide + 2 * pad_x, tall + 2 * pad_y
    left_room = round(EM * 1.1) if arrow == "left" else 0
    width += round(EM * 1.1) if arrow else 0
    sheet = Image.new("RGBA", (width + 4, height + 4), (*_whole(ground), 0))
    pen = ImageDraw.Draw(sheet)
    _draw_shape(pen, shape, width, height, ground=ground, rim=rim or ink)
    quads: list[NDArray[np.float64]] = []
    body = width - (round(EM * 1.1) if arrow else 0)
    y = 2 + (height - tall) / 2 if shape != "triangle" else 2 + height * 0.16
    for text, font, box, high in zip(texts, fonts, boxes, heights, strict=True):
        x = 2 + left_room + (body - (box[2] - box[0])) / 2
        pen.text((x - box[0], y - box[1]), text, font=font, fill=(*_whole(ink), 255))
        x1, y1 = x + box[2] - box[0], y + high
        quads.append(np.array([(x - 1, y - 1), (x1 + 1, y - 1), (x1 + 1, y1 + 1), (x - 1, y1 + 1)]))
        y += high + gap
    if arrow:
        _draw_arrow(pen, arrow, 2 + EM * 0.65 if arrow == "left" else width - EM * 0.55, 2 + height / 2, ink)
    return Board(np.asarray(sheet), tuple(quads), tuple(texts))


def _whole(color: RGB) -> tuple[int, int, int]:
    return tuple(min(255, max(0, round(c))) for c in color)  # type: ignore[return-value]


def _draw_shape(pen: ImageDraw.ImageDraw, shape: str, width: int, height: int, *, ground: RGB, rim: RGB) -> None:
    """The board's outline, filled, with a rim set in from the edge."""
    fill, edge = (*_whole(ground), 255), (*_whole(rim), 255)
    x0, y0, x1, y1 = 2, 2, width + 1, height + 1
    inset, thick = EM * 0.1, max(2, round(EM * 0.06))
    if shape == "octagon":
        for grow, color in ((0.0, fill), (inset, edge), (inset + thick * 1.3, fill)):
            cut = (width - 2 * grow) * 0.293
            a0, b0, a1, b1 = x0 + grow, y0 + grow, x1 - grow, y1 - grow
            upper = [(a0, b0 + cut), (a0 + cut, b0), (a1 - cut, b0), (a1, b0 + cut)]
            lower = [(a1, b1 - cut), (a1 - cut, b1), (a0 + cut, b1), (a0, b1 - cut)]
            pen.polygon([*upper, *lower], fill=color)
    elif shape == "triangle":
        for grow, color in ((0.0, fill), (inset, edge), (inset * 1.7, fill)):
            pen.polygon(
                [(x0 + grow * 1.7, y0 + grow), (x1 - grow * 1.7, y0 + grow), ((x0 + x1) / 2, y1 - grow * 2)],
                fill=color,
            )
    elif shape == "round":
        pen.ellipse((x0, y0, x1, y1), fill=fill)
        pen.ellipse((x0 + inset, y0 + inset, x1 - inset, y1 - inset), outline=edge, width=thick)
    else:
        radius = EM * (0.5 if shape == "pill" else 0.12)
        pen.rounded_rectangle((x0, y0, x1, y1), radius, fill=fill)
        pen.rounded_rectangle(
            (x0 + inset, y0 + inset, x1 - inset, y1 - inset), radius * 0.8, outline=edge, width=thick
        )


def _draw_arrow(pen: ImageDraw.ImageDraw, way: str, x: float, y: float, ink: RGB) -> None:
    s = EM * 0.34
    points = {
        "up": [(0, -1), (0.8, -0.1), (0.25, -0.1), (0.25, 1), (-0.25, 1), (-0.25, -0.1), (-0.8, -0.1)],
        "right": [(1, 0), (0.1, 0.8), (0.1, 0.25), (-1, 0.25), (-1, -0.25), (0.1, -0.25), (0.1, -0.8)],
        "left": [(-1, 0), (-0.1, 0.8), (-0.1, 0.25), (1, 0.25), (1, -0.25), (-0.1, -0.25), (-0.1, -0.8)],
    }[way]
    pen.polygon([(x + px * s, y + py * s) for px, py in points], fill=(*_whole(ink), 255))


def paste_board(canvas: Canvas, board: Board, corners: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Put a board into the picture so that its corners land on `corners` (4, 2), clockwise from the top left.

    Returns the polygon (4, 2) of every line of text, in the picture's pixels.
    """
    width, height = board.size
    shrink = 1.15 * max(np.ptp(corners[:, 0]) / width, np.ptp(corners[:, 1]) / height)
    pixels = board.pixels
    if shrink < 0.8:  # warping samples single points: make the board small first, by areas
        pixels = cv2.resize(
            pixels, (max(2, round(width * shrink)), max(2, round(height * shrink))), interpolation=cv2.INTER_AREA
        )
    ratio = np.array([pixels.shape[1] / width, pixels.shape[0] / height])
    low = np.maximum(np.floor(corners.min(axis=0)).astype(int) - 2, 0)
    high = np.minimum(np.ceil(corners.max(axis=0)).astype(int) + 3, (canvas.camera.width, canvas.camera.height))
    source = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float32)
    lift = cv2.getPerspectiveTransform(source, corners.astype(np.float32))
    if (high > low).all():
        moved = cv2.getPerspectiveTransform(
            (source * ratio - 0.5).astype(np.float32), (corners - low).astype(np.float32)
        )
        size = (int(high[0] - low[0]), int(high[1] - low[1]))
        layer = cv2.warpPerspective(pixels, moved, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
        # The board's ground colour also fills its transparent rim, so straight alpha has no dark fringe there.
        alpha = layer[..., 3:].astype(np.float32) / 255.0
        region = canvas.pixels[low[1] : high[1], low[0] : high[0]]
        mixed = region * (1 - alpha) + layer[..., :3].astype(np.float32) * alpha
        region[...] = np.round(mixed).astype(np.uint8)
    return tuple(
        cv2.perspectiveTransform(quad[None].astype(np.float64), lift.astype(np.float64))[0] for quad in board.quads
    )


def color_name(color: RGB) -> str:
    """A plain English word for a colour."""
    red, green, blue = color
    high, low = max(color), min(color)
    if high - low < 34:
        return "white" if high > 200 else ("black" if high < 80 else "grey")
    if high < 90 and high - low < 50:
        return "dark"
    if high == red:
        if green > 0.72 * red and blue < 0.75 * red:
            return "yellow" if red > 150 and blue < 0.6 * red else "cream"
        if green > 0.72 * red:
            return "cream"
        if green > 0.42 * red and blue < 0.5 * red:
            return "orange" if red > 170 else "brown"
        return "pink" if blue > 0.5 * red and red > 180 else "red"
    if high == green:
        return "green"
    return "purple" if red > 0.75 * blue else "blue"
