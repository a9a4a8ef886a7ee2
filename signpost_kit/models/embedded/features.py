"""What the looking models see of a picture: which colours, how high up, and which way edges run; never letters.

Colours are counted over the whole width of the picture in three bands (roughly sky and roofs, walls, road), edges
in twelve large cells, so that a sign enters as a patch of colour and not as a word.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["COLOUR_NAMES", "FEATURE_COUNT", "colour_shares", "look"]

COLOUR_NAMES: tuple[str, ...] = (
    "black",
    "grey",
    "white",
    "red",
    "orange",
    "yellow",
    "green",
    "turquoise",
    "blue",
    "purple",
    "brown",
    "beige",
)
_BANDS = 3
_HUES, _SATURATIONS, _VALUES = 18, 4, 4
_COLOURS = _HUES * _SATURATIONS * _VALUES
_EDGE_GRID = (4, 3)  # rows, columns
_DIRECTIONS = 8
FEATURE_COUNT: int = _BANDS * _COLOURS + _EDGE_GRID[0] * _EDGE_GRID[1] * (_DIRECTIONS + 1)


def look(rgb: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Features of one picture.

    Parameters
    ----------
    rgb
        Height x width x 3, any size from 1 x 1 on; it is stretched to a fixed size, so a panorama is seen squeezed.

    Returns
    -------
    numpy.ndarray
        ``FEATURE_COUNT`` finite numbers of order 1.
    """
    import cv2

    middle = cv2.resize(rgb, (384, 256), interpolation=cv2.INTER_AREA)
    hue, saturation, value = (part.astype(np.intp) for part in cv2.split(cv2.cvtColor(middle, cv2.COLOR_RGB2HSV)))
    step = (hue * _HUES // 180) * _SATURATIONS + saturation * _SATURATIONS // 256
    colours = step * _VALUES + value * _VALUES // 256
    # The square root gives rare colours (a taxi, a line on the road) a voice beside walls and sky.
    shares = [np.sqrt(_shares(band, _COLOURS)) for band in _cells(colours, (_BANDS, 1))]
    small = cv2.resize(middle, (192, 128), interpolation=cv2.INTER_AREA).astype(np.float32) / 255.0
    lightness = cv2.cvtColor(small, cv2.COLOR_RGB2LAB)[..., 0] / 100.0
    return np.concatenate([*shares, _edges(lightness)]).astype(np.float64)


def colour_shares(rgb: NDArray[np.uint8]) -> dict[str, float]:
    """Share of each named colour in the picture, largest first; the shares sum to 1."""
    import cv2

    shares = _shares(_named(cv2.resize(rgb, (192, 128), interpolation=cv2.INTER_AREA)), len(COLOUR_NAMES))
    order = np.argsort(-shares, kind="stable")
    return {COLOUR_NAMES[i]: float(shares[i]) for i in order}


def _cells(array: NDArray, grid: tuple[int, int]) -> Iterator[NDArray]:
    for band in np.array_split(array, grid[0], axis=0):
        yield from np.array_split(band, grid[1], axis=1)


def _shares(indices: NDArray[np.intp], count: int) -> NDArray[np.float64]:
    return np.bincount(indices.ravel(), minlength=count) / indices.size


def _named(rgb: NDArray) -> NDArray[np.intp]:
    """Index into COLOUR_NAMES per pixel, by hue, saturation and value."""
    import cv2

    hue, saturation, value = cv2.split(cv2.cvtColor(rgb, cv2.COLOR_RGB2HSV))  # hue 0..179
    by_hue = np.searchsorted([8, 20, 34, 80, 98, 130, 165], hue, side="right")
    index = np.array([3, 4, 5, 6, 7, 8, 9, 3])[by_hue]
    warm = (hue >= 4) & (hue < 28)
    index = np.where(warm & (value < 150), 10, index)
    index = np.where(warm & (saturation < 110) & (value >= 150), 11, index)
    plain = saturation < 45
    index = np.where(plain, np.where(value > 205, 2, 1), index)
    return np.where(value < 45, 0, index)


def _edges(lightness: NDArray) -> NDArray[np.float64]:
    """Per cell: share of edge strength in each direction, and the logarithm of the strength."""
    import cv2

    dx = cv2.Sobel(lightness, cv2.CV_32F, 1, 0, ksize=3)
    dy = cv2.Sobel(lightness, cv2.CV_32F, 0, 1, ksize=3)
    strength = np.hypot(dx, dy)
    direction = ((np.arctan2(dy, dx) % np.pi) / np.pi * _DIRECTIONS).astype(int) % _DIRECTIONS
    out = []
    for power, where in zip(_cells(strength, _EDGE_GRID), _cells(direction, _EDGE_GRID), strict=True):
        total = float(power.sum())
        shares = np.bincount(where.ravel(), weights=power.ravel(), minlength=_DIRECTIONS) / (total + 1e-6)
        out.append(np.append(shares, np.log1p(total) / 5.0))
    return np.concatenate(out)
