"""The stage that reads every picture and decides which of its texts count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.benchmark import Group, Span
from signpost_kit.errors import DataError
from signpost_kit.stages.common import load_groups, publish, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.ocr import TextLine
    from signpost_kit.run import Run

__all__ = ["screening", "where"]


def screening(run: Run) -> None:
    """Read every Original by OCR and decide which strings count.

    The teaching set's texts are known, so they stay as drawn and OCR's recall is recorded beside them; photos
    get their spans from OCR, and a photo without a string that counts goes no further.
    """
    from signpost_kit.ocr import read_many

    groups = load_groups(run, "sources")
    options = run.profile.screening
    root = run.dir / "benchmark"
    with recording(run, "screening") as record:
        paths = {group.group_id: root / group.images["Original"] for group in groups}
        failures: dict[Path, str] = {}
        lines = read_many(list(paths.values()), engine=options.engine, failures=failures)
        kept: list[Group] = []
        n_lines = n_kept = n_drawn = n_found = 0
        for group in groups:
            path = paths[group.group_id]
            if path in failures:
                record.reject(group.source_id or group.group_id, failures[path])
                continue
            found = lines[path]
            n_lines += len(found)
            if run.profile.source.kind == "town":
                kept.append(group)
                n_drawn += len(group.spans)
                n_found += sum(_covered(span, found) for span in group.spans)
                continue
            spans, reasons = _spans(found, options.min_confidence, options.min_chars, options.max_spans)
            n_kept += len(spans)
            if spans:
                kept.append(replace(group, spans=tuple(spans)))
            else:
                record.reject(
                    group.source_id or group.group_id, f"no text that counts: {reasons or 'nothing read'}"
                )
        if not kept:
            raise DataError(
                f"none of the {len(groups)} pictures holds text that counts; "
                "lower screening.min_confidence or bring pictures with readable signs"
            )
        record.counts |= {"groups": len(kept), "lines_read": n_lines, "rejected": len(record.rejected)}
        if n_drawn:
            record.counts |= {"spans": n_drawn, "spans_found_by_ocr": n_found}
        else:
            record.counts["spans"] = n_kept
        save_groups(run, "screening", kept)
        publish(run, kept)


def _spans(
    found: Sequence[TextLine], min_confidence: float, min_chars: int, max_spans: int | None
) -> tuple[list[Span], str]:
    """The strings that count, the most telling first, and the reasons of those that do not."""
    from signpost_kit.ocr.screen import screen
    from signpost_kit.taxonomy import classify

    screened = screen(found, min_confidence=min_confidence, min_chars=min_chars)
    width = max((x for line in found for x, _ in line.polygon), default=1.0)
    height = max((y for line in found for _, y in line.polygon), default=1.0)
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
    reasons = sorted({item.reason for item in screened if not item.kept})
    return spans[:max_spans], "; ".join(reasons)


def _covered(span: Span, found: Sequence[TextLine]) -> bool:
    """Whether OCR saw a line whose centre lies in the drawn span's box."""
    xs, ys = [x for x, _ in span.polygon], [y for _, y in span.polygon]
    for line in found:
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
