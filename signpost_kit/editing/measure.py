"""How the letters of a text stand in their outline: where, in how many lines, leaning, along a curve."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost_kit.editing.base import Window, quad_size
from signpost_kit.editing.lettering import Look
from signpost_kit.editing.ribbon import Ribbon, bend_of, bent, flatten

if TYPE_CHECKING:
    import numpy as np

__all__ = ["flush_left", "look_of"]

_SLANTS = (-0.12, -0.06, 0.0, 0.06, 0.12, 0.18, 0.24, 0.3, 0.36)
_LEAST_SLANT = 0.12
_SHARPER = 1.15  # how much sharper the columns must become to believe in a slant


def look_of(ink: np.ndarray, window: Window) -> tuple[Look, Ribbon | None]:
    """Measure a text's letters.

    Parameters
    ----------
    ink
        (h, w) bool mask of the letters in the window's crop.

    Returns
    -------
    (look, ribbon)
        The ribbon is the outline's own (a polygon of more than four corners), or one measured from letters that
        bend within a straight outline; None for straight text.
    """
    import numpy as np

    if window.ribbon is not None:
        flat = flatten(ink, window.ribbon)
        return _look(flat), window.ribbon
    flat = _flat(ink, window.quad)
    sag, top, bottom = bend_of(flat)
    if sag:
        ribbon = bent(window.quad, sag, top, bottom)
        straight = flatten(ink, ribbon)
        xs = np.nonzero(straight.mean(axis=0) > 0.02)[0]
        ends = (xs[0] / straight.shape[1], (xs[-1] + 1) / straight.shape[1]) if len(xs) else (0.03, 0.97)
        return Look((float(ends[0]), 0.04, float(ends[1]), 0.96)), ribbon
    return _look(flat), None


def _flat(ink: np.ndarray, quad: np.ndarray) -> np.ndarray:
    import cv2
    import numpy as np

    width, height = (max(round(v), 4) for v in quad_size(quad))
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    matrix = cv2.getPerspectiveTransform(quad.astype(np.float32), corners)
    return cv2.warpPerspective(ink.astype(np.float32), matrix, (width, height), flags=cv2.INTER_LINEAR)


def _look(flat: np.ndarray) -> Look:
    import numpy as np

    height, width = flat.shape
    rows, columns = flat.mean(axis=1), flat.mean(axis=0)
    # Rows with little ink are tails, accents or a neighbouring line; the letters' bodies decide.
    ys = np.nonzero(rows > 0.2 * max(float(np.percentile(rows, 95)), 1e-6))[0]
    xs = np.nonzero(columns > 0.02)[0]
    if not len(ys) or not len(xs):
        return Look()
    frame = (xs[0] / width, ys[0] / height, (xs[-1] + 1) / width, (ys[-1] + 1) / height)
    down = height >= 1.6 * width
    lines = () if down else _bands(rows)
    return Look(
        tuple(float(v) for v in frame),  # type: ignore[arg-type]
        lines,
        _bands(columns) if down else (),
        0.0 if down or len(lines) > 1 else _slant(flat),
    )


def _bands(profile: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Beginning and end of each line, as shares; () unless there are at least two of about the same height.

    The profile is the share of ink in each row (or column). Dots, accents and a strip of a neighbouring line make
    low bands; a letter like `二` makes thin ones far apart. None of them is a line.
    """
    import numpy as np

    length = len(profile)
    dense = profile > 0.15 * max(float(np.percentile(profile, 95)), 1e-6)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], dense, [False]]).astype(np.int8)))
    bands = [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    if len(bands) < 2:
        return ()
    most = max(b - a for a, b in bands)
    lines = [(a, b) for a, b in bands if b - a >= 0.55 * most]
    gaps = [following[0] - line[1] for line, following in itertools.pairwise(lines)]
    if len(lines) < 2 or most < max(6, 0.16 * length) or max(gaps) > 1.6 * most or min(gaps) < max(2, 0.06 * most):
        return ()
    return tuple((a / length, b / length) for a, b in lines)


def _slant(flat: np.ndarray) -> float:
    """Lean of the letters: the shear after which their stems stand most upright; 0 when that is not clear."""
    import cv2
    import numpy as np

    height, width = flat.shape
    if width < 2.5 * height or height < 10:
        return 0.0
    tall = 32
    small = cv2.resize(flat, (round(width * tall / height), tall), interpolation=cv2.INTER_AREA)
    sharp = []
    for slant in _SLANTS:
        matrix = np.array([[1, slant, -slant * tall / 2], [0, 1, 0]], dtype=np.float64)
        upright = cv2.warpAffine(small, matrix, (small.shape[1], tall), flags=cv2.INTER_LINEAR)
        columns = upright.sum(axis=0)
        sharp.append(float(np.square(np.diff(columns)).sum()))
    best = int(np.argmax(sharp))
    straight = sharp[_SLANTS.index(0.0)]
    if abs(_SLANTS[best]) < _LEAST_SLANT or sharp[best] < _SHARPER * straight:
        return 0.0
    return _SLANTS[best]


def flush_left(quads: Sequence[np.ndarray], frames: Sequence[tuple[float, float, float, float]]) -> list[bool]:
    """Which lines of a sign begin at the same left edge, while neither their middles nor their ends agree.

    Parameters
    ----------
    quads
        (4, 2) corners of each line in one picture's pixels.
    frames
        Where the letters stand in them, shares.
    """
    import numpy as np

    result = [False] * len(quads)
    ends = [_ends(quad, frame) for quad, frame in zip(quads, frames, strict=True)]
    for i, (start, stop, tall) in enumerate(ends):
        for j, (other_start, other_stop, other_tall) in enumerate(ends):
            if i == j or tall < 1 or not 0.6 < other_tall / tall < 1.7:
                continue
            along = (stop - start) / max(float(np.linalg.norm(stop - start)), 1e-6)
            other = (other_stop - other_start) / max(float(np.linalg.norm(other_stop - other_start)), 1e-6)
            across = np.array([-along[1], along[0]])
            if float(along @ other) < 0.98 or abs(float(across @ (other_start - start))) > 4 * tall:
                continue
            begins = abs(float(along @ (other_start - start)))
            middles = abs(float(along @ (other_start + other_stop - start - stop))) / 2
            if begins < 0.3 * tall and middles > 0.5 * tall:
                result[i] = True
    return result


def _ends(quad: np.ndarray, frame: tuple[float, float, float, float]) -> tuple[np.ndarray, np.ndarray, float]:
    """Where a line's letters begin and end on its middle, and how high it is."""
    left = (quad[0] + quad[3]) / 2
    right = (quad[1] + quad[2]) / 2
    _, height = quad_size(quad)
    return left + (right - left) * frame[0], left + (right - left) * frame[2], height
