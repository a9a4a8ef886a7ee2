"""What is put where letters were: a smooth surface, the plate's own colour, a piece of the ground nearby, or a fill
from the rim; and how it is joined to what stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["cloned", "from_plate", "joined", "plate_pixels"]

_PLATE_LEVELS = 26.0  # how far a pixel may be from the plate's colour and still belong to it
_PLATE_SHARE = 0.55  # of what is visible between the letters that must be of one colour to be a plate
_REACH = 2.5  # text heights around a letter in which a like piece of ground is looked for
_PATCHES = 40  # letters that are cloned one by one; a text of more parts is filled from the rim
_NO_WORSE = 0.5  # of the ring's own variance that the found piece may differ by


def plate_pixels(picture: np.ndarray, ink: np.ndarray, free: np.ndarray, inner: np.ndarray) -> np.ndarray | None:
    """Pixels of a plate's plain ground between the letters; None when the ground has no one colour.

    Parameters
    ----------
    picture
        (h, w, 3) float32.
    ink
        (h, w) bool: the letters.
    free
        (h, w) bool: no ink and none of its soft rim.
    inner
        (h, w) bool: the text's outline.
    """
    import cv2
    import numpy as np

    points = cv2.findNonZero(ink.astype(np.uint8))
    if points is None:
        return None
    # What lies between the letters is the plate, not the frame or the street at the outline's edge.
    hull = np.zeros(ink.shape, dtype=np.uint8)
    cv2.fillConvexPoly(hull, cv2.convexHull(points), 1)
    seen = free & inner & (hull > 0)
    if np.count_nonzero(seen) < 24:
        return None
    values = picture[seen]
    centre = np.median(values[:: max(1, len(values) // 1000)], axis=0)
    for _ in range(2):
        near = np.linalg.norm(values - centre, axis=1) <= _PLATE_LEVELS
        if np.count_nonzero(near) < _PLATE_SHARE * len(values):
            return None
        centre = values[near].mean(axis=0)
    return free & inner & (np.linalg.norm(picture - centre, axis=2) <= _PLATE_LEVELS)


def from_plate(picture: np.ndarray, plate: np.ndarray) -> np.ndarray:
    """The plate's ground carried over all gaps: nearby pixels count most, those far away where none is near."""
    import cv2
    import numpy as np

    weight = plate.astype(np.float32)
    levels: list[tuple[Any, Any]] = [(picture * weight[..., None], weight)]
    while min(levels[-1][1].shape) > 2:
        colour, share = levels[-1]
        levels.append((cv2.pyrDown(colour), cv2.pyrDown(share)))
    total, share = levels[-1]
    mean = picture[plate].mean(axis=0) if plate.any() else picture.reshape(-1, 3).mean(axis=0)
    result = (total + 0.02 * mean) / (share + 0.02)[..., None]
    for colour, share in reversed(levels[:-1]):
        size = (share.shape[1], share.shape[0])
        result = cv2.resize(result.astype(np.float32), size, interpolation=cv2.INTER_LINEAR)
        # Between the two levels: what is well known here, the coarser view elsewhere.
        result = (colour + 0.25 * result) / (share + 0.25)[..., None]
    return cv2.GaussianBlur(result.astype(np.float32), (0, 0), 1.5)


def joined(
    picture: np.ndarray, filled: np.ndarray, hole: np.ndarray, trusted: np.ndarray | None = None
) -> np.ndarray:
    """Poisson blending: `filled` keeps its gradients in the hole and meets the picture at the hole's rim.

    Solves Laplace's equation for the correction, whose values at the rim are the differences there (measured a
    little smoothed along it, so that one odd pixel draws no streak), on a pyramid. Where `trusted` is given, only
    those pixels of the rim count: a frame beside the letters is no ground to be met.
    """
    import cv2
    import numpy as np

    inside = hole > 0
    if not inside.any() or inside.all():
        return filled
    rim = (cv2.dilate(hole, np.ones((5, 5), np.uint8)) > 0) & ~inside
    if trusted is not None:
        rim &= trusted
    if not rim.any():
        return filled
    weight = rim.astype(np.float32)
    soft = cv2.GaussianBlur(weight, (0, 0), 2.0)
    difference = cv2.GaussianBlur((picture - filled) * weight[..., None], (0, 0), 2.0)
    difference = np.where(rim[..., None], difference / np.maximum(soft, 1e-3)[..., None], 0).astype(np.float32)
    correction = from_plate(difference, rim)
    known = ~inside
    for _ in range(24):  # the pyramid is a good guess; a few sweeps make it smooth
        correction = np.where((known & rim)[..., None], difference, cv2.blur(correction, (3, 3)))
    return filled + np.where(inside[..., None], correction, 0)


def cloned(
    picture: np.ndarray,
    hole: np.ndarray,
    context: np.ndarray,
    *,
    offset: tuple[int, int],
    blocked: np.ndarray,
    tall: float,
) -> np.ndarray | None:
    """Every part of the hole filled with the piece of the ground nearby whose surroundings are most alike.

    Parameters
    ----------
    picture
        (h, w, 3) float32 crop.
    hole
        (h, w) uint8, 1 where the letters were.
    context
        (H, W, 3) float32: the crop with its surroundings.
    offset
        Row and column of the crop in it.
    blocked
        (H, W) bool: what no piece may be taken from (letters, this text's and others').
    tall
        Height of the text, pixels: pieces come from within 2.5 times that.

    Returns
    -------
    The filled crop, or None when some part has no sound piece nearby.
    """
    import cv2
    import numpy as np

    whole = np.zeros(blocked.shape, dtype=np.uint8)
    whole[offset[0] : offset[0] + hole.shape[0], offset[1] : offset[1] + hole.shape[1]] = hole
    count, parts, stats, _ = cv2.connectedComponentsWithStats(whole, connectivity=8)
    if not 1 < count <= _PATCHES + 1:
        return None
    grey = cv2.cvtColor(np.clip(context, 0, 255).astype(np.uint8), cv2.COLOR_RGB2GRAY).astype(np.float32)
    shut = blocked.astype(np.float32)
    result = context.copy()
    for part in range(1, count):
        if max(stats[part, cv2.CC_STAT_WIDTH], stats[part, cv2.CC_STAT_HEIGHT]) > 1.5 * tall:
            return None  # several letters run together: no piece that large fits by its rim alone
        box = _box(stats[part], whole.shape, 6)
        inside = (parts[box] == part).astype(np.uint8)
        at = _best_shift(grey, shut, parts > 0, inside, box, tall=tall)
        if at is None:
            return None
        y, x = at
        height, width = inside.shape
        piece = context[y : y + height, x : x + width]
        joined_piece = joined(result[box], piece, inside)
        result[box] = np.where(inside[..., None] > 0, joined_piece, result[box])
    rows, columns = slice(offset[0], offset[0] + hole.shape[0]), slice(offset[1], offset[1] + hole.shape[1])
    return np.where(hole[..., None] > 0, result[rows, columns], picture)


def _box(stat: np.ndarray, shape: tuple[int, ...], margin: int) -> tuple[slice, slice]:
    left, top, width, height = (int(v) for v in stat[:4])
    return (
        slice(max(top - margin, 0), min(top + height + margin, shape[0])),
        slice(max(left - margin, 0), min(left + width + margin, shape[1])),
    )


def _best_shift(
    grey: np.ndarray,
    shut: np.ndarray,
    holes: np.ndarray,
    inside: np.ndarray,
    box: tuple[slice, slice],
    *,
    tall: float,
) -> tuple[int, int] | None:
    """Top left corner of the piece that fits best around one part of the hole; None when none is good enough."""
    import cv2
    import numpy as np

    reach = int(max(16, _REACH * tall))
    top, left = max(box[0].start - reach, 0), max(box[1].start - reach, 0)
    bottom, right = min(box[0].stop + reach, grey.shape[0]), min(box[1].stop + reach, grey.shape[1])
    ring = ((inside == 0) & ~holes[box]).astype(np.float32)
    if ring.sum() < 12:
        return None
    target = grey[box]
    search, closed = grey[top:bottom, left:right], shut[top:bottom, left:right]
    cost = cv2.matchTemplate(search, target, cv2.TM_SQDIFF, mask=ring)
    taken = cv2.matchTemplate(closed, inside.astype(np.float32), cv2.TM_CCORR)
    cost = np.where((taken > 0.5) | ~np.isfinite(cost), np.inf, cost)
    place = int(np.argmin(cost))
    y, x = divmod(place, cost.shape[1])
    known = target[ring > 0]
    if not np.isfinite(cost[y, x]) or cost[y, x] > _NO_WORSE * max(float(known.var()), 9.0) * ring.sum():
        return None
    return top + y, left + x
