"""From screened lines of text to the spans that a scene keeps, the most telling first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from signpost_kit.ocr.engines import TextLine
from signpost_kit.ocr.screen import ScreenedLine

if TYPE_CHECKING:
    from signpost_kit.benchmark import Span

__all__ = ["choose_spans", "covered", "where", "why_nothing_counts"]

_NAMED = 6  # strings that a reason names


def choose_spans(
    screened: Iterable[ScreenedLine], *, width: float, height: float, max_spans: int | None = 3
) -> list[Span]:
    """The kept lines as spans: place names before the rest (by tier), longer before shorter, at most `max_spans`.

    Parameters
    ----------
    width, height
        Of the picture, in pixels, for saying where a text is.
    """
    from signpost_kit.benchmark import Span
    from signpost_kit.taxonomy import classify

    spans = [
        Span(
            text=item.line.text,
            polygon=item.line.polygon,
            location=where(item.line.polygon, width, height),
            confidence=item.line.confidence,
        )
        for item in screened
        if item.kept
    ]
    spans.sort(key=lambda span: (classify(span.text)[0], len(span.text)), reverse=True)
    return spans[:max_spans]


def why_nothing_counts(screened: Sequence[ScreenedLine]) -> str:
    """A picture's strings that do not count, each with its reason: `no text that counts: '315' (digits only)`."""
    if not screened:
        return "no text that counts: nothing read"
    named = [f"{item.line.text!r} ({item.reason})" for item in screened[:_NAMED]]
    more = f" and {len(screened) - _NAMED} more" if len(screened) > _NAMED else ""
    return f"no text that counts: {', '.join(named)}{more}"


def covered(span: Span, lines: Sequence[TextLine]) -> bool:
    """Whether OCR saw a line whose centre lies in the box of a span known before; False without polygon."""
    if not span.polygon:
        return False
    xs, ys = [x for x, _ in span.polygon], [y for _, y in span.polygon]
    for line in lines:
        x = sum(p[0] for p in line.polygon) / len(line.polygon)
        y = sum(p[1] for p in line.polygon) / len(line.polygon)
        if min(xs) <= x <= max(xs) and min(ys) <= y <= max(ys):
            return True
    return False


def where(polygon: Sequence[tuple[float, float]], width: float, height: float) -> str:
    """A place in the picture in words, for an image editor: "upper left", "centre", "lower right"."""
    x = sum(p[0] for p in polygon) / len(polygon) / width
    y = sum(p[1] for p in polygon) / len(polygon) / height
    vertical = "upper" if y < 1 / 3 else "lower" if y > 2 / 3 else ""
    horizontal = "left" if x < 1 / 3 else "right" if x > 2 / 3 else ""
    return " ".join(part for part in (vertical, horizontal) if part) or "centre"
