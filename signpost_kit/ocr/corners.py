"""Polygons of lines of text: which corner is the first, which way round, and which shapes hold no text at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost_kit.fonts import script_of

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Polygon", "holds_no_text", "line_polygon", "own_corners"]

Polygon = tuple[tuple[float, float], ...]

_THINNEST_PX = 8  # below, not even one legible letter fits
_LONGEST_SHAPE = 60  # times as long as high


def holds_no_text(width: int, height: int) -> bool:
    """True for dots and strips: no sign fits in them, and the engines themselves fail on them."""
    short, long = sorted((height, width))
    return short < _THINNEST_PX or long > _LONGEST_SHAPE * short


def line_polygon(text: str, corners: Sequence[Sequence[float]] | np.ndarray, width: int, height: int) -> Polygon:
    """Four corners as Python floats, inside the picture, clockwise from the text's own top left.

    Parameters
    ----------
    corners
        Four points (x, y) in pixels, in order around the box, the first at the picture's top left of it.
    width, height
        Of the picture: corners outside are moved onto its rim.
    """
    points = [
        (round(min(max(float(x), 0.0), width - 1.0), 2), round(min(max(float(y), 0.0), height - 1.0), 2))
        for x, y in corners
    ]
    doubled_area = sum(
        x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in zip(points, [*points[1:], points[0]], strict=True)
    )
    if doubled_area < 0:  # y runs down: negative is counterclockwise
        points[1:] = points[:0:-1]
    return own_corners(text, tuple(points))


def own_corners(text: str, corners: Polygon) -> Polygon:
    """Corners from the text's own top left, where the engine starts at the picture's.

    A tall box with letters that are not written in columns holds a line that runs down: it starts at the top right.
    """
    (x0, y0), (x1, y1), _, (x3, y3) = corners
    width, height = math.hypot(x1 - x0, y1 - y0), math.hypot(x3 - x0, y3 - y0)
    if height < 1.6 * width or len(text) < 2 or script_of(text) in ("Han", "Japanese", "Hangul"):
        return corners
    return (*corners[1:], corners[0])
