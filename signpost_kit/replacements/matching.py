"""A model's texts back to the lines that OCR read: by edit distance, one line for one text, also over two lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from signpost_kit.geocoding.names import fold

__all__ = ["Line", "assign", "difference", "edit_distance", "joined_lines"]

Polygon = tuple[tuple[float, float], ...]
_MOST = 0.34  # of the letters may differ: OCR misreads one in six on real signs, models put letters right


@dataclass(frozen=True)
class Line:
    """Something that a text can be matched with."""

    text: str
    polygon: Polygon
    parts: tuple[int, ...] = ()
    """Positions of the lines that it consists of: each line serves one text only."""
    confidence: float | None = None


def edit_distance(a: str, b: str) -> int:
    """Insertions, deletions and substitutions that lead from `a` to `b`."""
    if len(a) < len(b):
        a, b = b, a
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def difference(a: str, b: str) -> float:
    """Edit distance as a share of the longer text, 0..1; case, accents, blanks and punctuation do not count.

    Two texts without a letter or digit are equal only if they are the same.
    """
    one, two = (fold(text).replace(" ", "") for text in (a, b))
    if not one or not two:
        return float(a.strip() != b.strip())
    return edit_distance(one, two) / max(len(one), len(two))


def assign(texts: Sequence[str], lines: Sequence[Line], *, most: float = _MOST) -> list[int | None]:
    """For each text the line it stands for, or None; the closest pairs are joined first, long texts before short.

    Parameters
    ----------
    most
        Difference above which a line is none of the text's.
    """
    pairs = sorted(
        (gap, -len(text), len(line.parts), i, j)
        for i, text in enumerate(texts)
        for j, line in enumerate(lines)
        if (gap := difference(text, line.text)) <= most
    )
    found: list[int | None] = [None] * len(texts)
    taken: set[int] = set()
    for *_, i, j in pairs:
        if found[i] is None and taken.isdisjoint(lines[j].parts or (j,)):
            found[i] = j
            taken |= set(lines[j].parts or (j,))
    return found


def joined_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines, and each two neighbours as one: a sign of two lines, or words that OCR took apart."""
    single = [Line(line.text, line.polygon, (i,), line.confidence) for i, line in enumerate(lines)]
    pairs = [
        Line(f"{a.text} {b.text}", _around(a, b), (*a.parts, *b.parts), _least(a, b))
        for a in single
        for b in single
        if a is not b and _follows(a, b)
    ]
    return single + pairs


def _follows(a: Line, b: Line) -> bool:
    """Whether `b` goes on where `a` ends: below it or at its right, of like size and near."""
    if not a.polygon or not b.polygon:
        return False
    (ax0, ay0, ax1, ay1), (bx0, by0, bx1, by1) = _box(a.polygon), _box(b.polygon)
    high = min(ay1 - ay0, by1 - by0)
    if high <= 0 or max(ay1 - ay0, by1 - by0) > 2 * high:
        return False
    across = min(ax1, bx1) - max(ax0, bx0)
    down = min(ay1, by1) - max(ay0, by0)
    below = across > 0.3 * min(ax1 - ax0, bx1 - bx0) and -0.3 * high <= by0 - ay1 <= high
    beside = down > 0.6 * high and -0.3 * high <= bx0 - ax1 <= 1.5 * high
    return below or beside


def _around(a: Line, b: Line) -> Polygon:
    x0, y0, x1, y1 = _box(a.polygon + b.polygon)
    return ((x0, y0), (x1, y0), (x1, y1), (x0, y1))


def _least(a: Line, b: Line) -> float | None:
    known = [line.confidence for line in (a, b) if line.confidence is not None]
    return min(known, default=None)


def _box(polygon: Polygon) -> tuple[float, float, float, float]:
    xs, ys = [x for x, _ in polygon], [y for _, y in polygon]
    return min(xs), min(ys), max(xs), max(ys)
