"""Text along a curve: a band between two lines of matching points, and the way from it to a flat strip and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Ribbon", "bend_of", "bent", "flatten", "lay", "ribbon_of"]

_PIECES = 16
_LEAST_SAG = 0.18  # of the text's height: below, a line is as good as straight
_STRAIGHTER = 1.25  # how much sharper the rows must become to believe in a curve


@dataclass(frozen=True)
class Ribbon:
    """Upper and lower rim of a curved line of text, point for point from its beginning to its end."""

    top: np.ndarray
    """(n, 2) pixels."""
    bottom: np.ndarray
    """(n, 2) pixels."""

    @property
    def size(self) -> tuple[float, float]:
        """Length along the middle and mean height, pixels."""
        import numpy as np

        middle = (self.top + self.bottom) / 2
        length = float(np.linalg.norm(np.diff(middle, axis=0), axis=1).sum())
        return length, float(np.linalg.norm(self.bottom - self.top, axis=1).mean())

    def moved(self, x: float, y: float) -> Ribbon:
        """The same band elsewhere."""
        import numpy as np

        return Ribbon(np.add(self.top, (x, y)), np.add(self.bottom, (x, y)))


def ribbon_of(polygon: Sequence[Sequence[float]]) -> Ribbon | None:
    """The band of a polygon of an even number of corners above four: first half the upper rim from the text's
    beginning, second half the lower rim back (as curved-text data sets write it). None for any other outline.
    """
    import numpy as np

    points = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
    if len(points) < 6 or len(points) % 2 or not np.isfinite(points).all():
        return None
    half = len(points) // 2
    top, bottom = points[:half], points[half:][::-1]
    if _area(points) < 0:  # counter-clockwise: what was called the upper rim is the lower one
        top, bottom = bottom, top
    ribbon = Ribbon(_even(top), _even(bottom))
    heights = np.linalg.norm(ribbon.bottom - ribbon.top, axis=1)
    length, height = ribbon.size
    # A true band is about as high everywhere, and never crosses itself.
    if height < 1.0 or heights.min() < 0.35 * height or heights.max() > 2.2 * height or length < height:
        return None
    areas = [_area(piece) for piece in _pieces(ribbon)]
    return ribbon if min(areas) > 0 else None


def bend_of(ink: np.ndarray) -> tuple[float, float, float]:
    """How far the middle of a line of text hangs below (+) or stands above (-) its ends; where the line lies.

    Parameters
    ----------
    ink
        (h, w) flat mask of the letters.

    Returns
    -------
    (sag, top, bottom)
        In shares of the height, top and bottom as the line would lie when straightened, at its middle. Sag 0 when
        the line is straight, too short to tell, or more than one line.
    """
    import cv2
    import numpy as np

    height, width = ink.shape
    if width < 2.2 * height or height < 12:
        return 0.0, 0.0, 1.0
    rows, columns = 48, 96
    small = cv2.resize(ink.astype(np.float32), (columns, rows), interpolation=cv2.INTER_AREA)
    u = np.linspace(-1, 1, columns)
    drop = np.square(u)  # 0 in the middle, 1 at the ends
    best, at, straight = 0.0, 0.0, 0.0
    profile_at = np.zeros(3 * rows)
    inked, at_column = np.nonzero(small > 0.02)
    amount = small[inked, at_column]
    for sag in np.linspace(-0.6, 0.6, 25):
        moved = inked + np.round(rows + sag * rows * drop).astype(int)[at_column]  # ends go down by the sag
        profile = np.bincount(moved, weights=amount, minlength=3 * rows)
        sharp = float(np.square(profile).sum())
        if abs(sag) < 1e-9:
            straight = sharp
        if sharp > best:
            best, at, profile_at = sharp, float(sag), profile
    if abs(at) < _LEAST_SAG or best < _STRAIGHTER * straight:
        return 0.0, 0.0, 1.0
    ys = np.nonzero(profile_at > 0.25 * profile_at.max())[0] / rows - 1.0
    return at, float(ys[0]), float(ys[-1] + 1 / rows)


def bent(quad: np.ndarray, sag: float, top: float, bottom: float) -> Ribbon:
    """The band in a quadrilateral whose ends stand `sag` of its height above its middle (`top` to `bottom`)."""
    import cv2
    import numpy as np

    u = np.linspace(0, 1, _PIECES + 1)
    rise = sag * np.square(2 * u - 1)
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=np.float32)
    matrix = cv2.getPerspectiveTransform(unit, quad.astype(np.float32))
    level = (top + bottom) / 2
    points = np.stack([u, level - rise], axis=1)[None].astype(np.float32)
    middle = cv2.perspectiveTransform(points, matrix)[0].astype(np.float64)
    along = np.gradient(middle, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-6)
    # Letters on a curve stand at right angles to it.
    down = np.stack([-along[:, 1], along[:, 0]], axis=1)
    sides = np.linalg.norm(quad[[3, 2]] - quad[[0, 1]], axis=1)
    half = ((sides[0] * (1 - u) + sides[1] * u) * (bottom - top) / 2)[:, None]
    return Ribbon(middle - down * half, middle + down * half)


def flatten(image: np.ndarray, ribbon: Ribbon) -> np.ndarray:
    """The band of a picture (h, w) as a straight strip of its length and height."""
    import cv2
    import numpy as np

    width, height = (max(round(v), 4) for v in ribbon.size)
    at = np.linspace(0, len(ribbon.top) - 1, width)
    index = np.arange(len(ribbon.top))
    top, bottom = (
        np.stack([np.interp(at, index, rim[:, k]) for k in (0, 1)], axis=1) for rim in (ribbon.top, ribbon.bottom)
    )
    v = ((np.arange(height) + 0.5) / height)[:, None, None]
    points = (top[None] * (1 - v) + bottom[None] * v).astype(np.float32)
    return cv2.remap(image.astype(np.float32), points[..., 0], points[..., 1], cv2.INTER_LINEAR)


def lay(strip: np.ndarray, ribbon: Ribbon, shape: tuple[int, int]) -> np.ndarray:
    """A straight strip (h, w) laid along the band of a picture of that shape; 0 outside the band."""
    import cv2
    import numpy as np

    height, width = strip.shape
    edges = np.linspace(0, width, len(ribbon.top))
    result = np.zeros(shape, dtype=np.float32)
    for number, piece in enumerate(_pieces(ribbon)):
        left, right = edges[number], edges[number + 1]
        flat = np.array([[left, 0], [right, 0], [right, height], [left, height]], dtype=np.float32) - 0.5
        matrix = cv2.getPerspectiveTransform(flat, piece.astype(np.float32))
        warped = cv2.warpPerspective(strip, matrix, (shape[1], shape[0]), flags=cv2.INTER_LINEAR)
        part = np.zeros(shape, dtype=np.uint8)
        cv2.fillConvexPoly(part, np.round(piece).astype(np.int32), 1)
        result = np.where(part > 0, np.maximum(result, warped), result)
    return result


def _pieces(ribbon: Ribbon) -> list[np.ndarray]:
    import numpy as np

    return [
        np.array([ribbon.top[i], ribbon.top[i + 1], ribbon.bottom[i + 1], ribbon.bottom[i]])
        for i in range(len(ribbon.top) - 1)
    ]


def _area(points: np.ndarray) -> float:
    """Signed area; clockwise in pixels (y down) is positive."""
    import numpy as np

    following = np.roll(points, -1, axis=0)
    return float(np.sum(points[:, 0] * following[:, 1] - following[:, 0] * points[:, 1]) / 2)


def _even(rim: np.ndarray) -> np.ndarray:
    """_PIECES + 1 points at equal steps along a rim."""
    import numpy as np

    steps = np.linalg.norm(np.diff(rim, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    at = np.linspace(0, along[-1], _PIECES + 1)
    keep = np.concatenate([[True], steps > 1e-9])
    return np.stack([np.interp(at, along[keep], rim[keep, k]) for k in (0, 1)], axis=1)
