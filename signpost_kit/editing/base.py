"""The geometry of a text in a picture: its corners, its size, the part of the picture that may change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from signpost_kit.editing.ribbon import Ribbon, ribbon_of
from signpost_kit.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from signpost_kit.benchmark.groups import Group

__all__ = ["MIN_SIDE", "Unpaintable", "Window", "dilation_of", "edit_mask", "place_text", "quad_of", "quad_size"]

MIN_SIDE = 6.0
"""Pixels that the shorter side of a text must have to be painted."""
_MIN_FILL = 0.35  # share of its own bounding rectangle that a polygon must fill to be one


class Unpaintable(Exception):
    """A text cannot be removed or written; the message is the reason, for the record (never shown as an error)."""


@dataclass(frozen=True)
class Window:
    """One text's place: its corners and the crop of the picture that is worked on."""

    quad: np.ndarray
    """(4, 2) corners in crop pixels, clockwise from the text's own top left."""
    mask: np.ndarray
    """(h, w) bool: crop pixels that may change, the polygon grown by `dilation`."""
    inner: np.ndarray
    """(h, w) bool: the polygon itself."""
    left: int
    top: int
    dilation: int
    ribbon: Ribbon | None = None
    """The band of a curved text, in crop pixels; `quad` is then the smallest rectangle around it."""

    @property
    def slices(self) -> tuple[slice, slice]:
        """Of the crop in the picture."""
        height, width = self.mask.shape
        return slice(self.top, self.top + height), slice(self.left, self.left + width)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the text in pixels, along its own axes (its own curve)."""
        return self.ribbon.size if self.ribbon is not None else quad_size(self.quad)


def quad_size(quad: np.ndarray) -> tuple[float, float]:
    """Mean width and height of a quadrilateral along its own axes."""
    import numpy as np

    sides = np.linalg.norm(np.roll(quad, -1, axis=0) - quad, axis=1)
    return float((sides[0] + sides[2]) / 2), float((sides[1] + sides[3]) / 2)


def quad_of(polygon: Sequence[Sequence[float]]) -> np.ndarray:
    """Four corners, clockwise from the text's top left, of a polygon.

    Polygons of more than four corners become their smallest rectangle (what follows their curve is
    :func:`.ribbon.ribbon_of`).

    Raises
    ------
    Unpaintable
        There are fewer than four corners, they are no numbers, or the text is too small or no area at all.
    """
    import cv2
    import numpy as np

    try:
        points = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError) as error:
        raise Unpaintable("the polygon is no list of x, y pairs") from error
    if len(points) < 4:
        raise Unpaintable(f"the polygon has {len(points)} corners, 4 are needed")
    if not np.isfinite(points).all():
        raise Unpaintable("the polygon has corners that are no numbers")
    if len(points) > 4:
        points = _rectangle(points)
    if abs(cv2.contourArea(points.astype(np.float32), oriented=True)) < 1.0:
        raise Unpaintable("the polygon has no area")
    if cv2.contourArea(points.astype(np.float32), oriented=True) < 0:  # image y points down: clockwise is positive
        points = points[[1, 0, 3, 2]]
    width, height = quad_size(points)
    if min(width, height) < MIN_SIDE:
        raise Unpaintable(f"the text is {width:.0f} x {height:.0f} pixels, at least {MIN_SIDE:.0f} are needed")
    area = abs(float(cv2.contourArea(points.astype(np.float32))))
    if area < _MIN_FILL * width * height or not cv2.isContourConvex(points.astype(np.float32)):
        raise Unpaintable("the polygon is folded or bent, not the outline of a line of text")
    return points


def _rectangle(points: np.ndarray) -> np.ndarray:
    import cv2
    import numpy as np

    corners = cv2.boxPoints(cv2.minAreaRect(points.astype(np.float32))).astype(np.float64)
    first = int(np.argmin(np.linalg.norm(corners - points[0], axis=1)))
    ordered = np.roll(corners, -first, axis=0)
    along = points[1] - points[0]
    if abs(np.dot(ordered[1] - ordered[0], along)) < abs(np.dot(ordered[3] - ordered[0], along)):
        ordered = ordered[[0, 3, 2, 1]]
    return ordered


def dilation_of(quad: np.ndarray) -> int:
    """Pixels by which the polygon is grown: an eighth of the text's height, 2 to 8 (letters' soft rims)."""
    return int(min(8, max(2, round(min(quad_size(quad)) / 8))))


def place_text(shape: tuple[int, ...], polygon: Sequence[Sequence[float]]) -> Window:
    """The window of one text in a picture of that shape.

    Raises
    ------
    Unpaintable
        The polygon is degenerate, too small, or outside the picture.
    """
    import cv2
    import numpy as np

    quad = quad_of(polygon)
    ribbon = ribbon_of(polygon)
    if ribbon is not None and ribbon.size[1] < MIN_SIDE:
        raise Unpaintable(f"the text is {ribbon.size[1]:.0f} pixels high, at least {MIN_SIDE:.0f} are needed")
    grow = dilation_of(quad) if ribbon is None else int(min(8, max(2, round(min(ribbon.size) / 8))))
    height, width = shape[:2]
    margin = 2 * grow + 3
    left, top = (int(v) for v in np.floor(quad.min(axis=0)) - margin)
    right, bottom = (int(v) for v in np.ceil(quad.max(axis=0)) + margin + 1)
    left, top, right, bottom = max(left, 0), max(top, 0), min(right, width), min(bottom, height)
    if right - left < MIN_SIDE or bottom - top < MIN_SIDE:
        raise Unpaintable("the polygon lies outside the picture")
    local = quad - (left, top)
    inner = np.zeros((bottom - top, right - left), dtype=np.uint8)
    if ribbon is None:
        cv2.fillConvexPoly(inner, np.round(local).astype(np.int32), 255)
    else:
        ribbon = ribbon.moved(-left, -top)
        outline = np.concatenate([ribbon.top, ribbon.bottom[::-1]])
        cv2.fillPoly(inner, [np.round(outline).astype(np.int32)], (255,))
    if np.count_nonzero(inner) < MIN_SIDE**2:
        raise Unpaintable("the polygon lies outside the picture")
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * grow + 1, 2 * grow + 1))
    mask = cv2.dilate(inner, kernel)
    return Window(local, mask > 0, inner > 0, left, top, grow, ribbon)


def edit_mask(shape: tuple[int, ...], group: Group) -> np.ndarray:
    """(H, W) bool: the pixels that the painter may change, the grown polygons of all spans together.

    Spans that cannot be painted add nothing.
    """
    import numpy as np

    mask = np.zeros(shape[:2], dtype=bool)
    for span in group.spans:
        try:
            window = place_text(shape, span.polygon)
        except Unpaintable:
            continue
        mask[window.slices] |= window.mask
    return mask


def check_picture(image: np.ndarray) -> None:
    """Raise DataError unless the picture is RGB or grey, uint8."""
    import numpy as np

    if image.dtype != np.uint8 or image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3):
        raise DataError(f"the painter needs an RGB or grey uint8 picture, got shape {image.shape}, {image.dtype}")
