"""The stage that reads every picture and decides which of its texts count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.benchmark import Group
from signpost_kit.errors import DataError
from signpost_kit.ocr.spans import where
from signpost_kit.stages.common import Record, count_groups, iter_groups, publish_stage, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.ocr import Reading
    from signpost_kit.ocr.screened import ScreenedWriter
    from signpost_kit.run import Run

__all__ = ["screening", "where"]


def screening(run: Run) -> None:
    """Read every Original by OCR and decide which strings count.

    Texts that the source knows (the teaching set, a release) stay as they are, and OCR's recall is recorded beside
    them; photos get their spans from OCR, and a photo without a string that counts goes no further. What was read
    is cached by picture and engine, so a stage that was killed goes on where it was.
    """
    from signpost_kit.ocr.screened import writing_screened
    from signpost_kit.stages.released import passed_on

    if passed_on(run, "screening"):
        return
    with recording(run, "screening") as record:
        with writing_screened(run) as pictures:
            judge = _Judge(run, record, pictures)
            save_groups(run, "screening", judge.kept())
        record.counts |= judge.counts()
        publish_stage(run, "screening")


@dataclass
class _Judge:
    """Goes through the pictures one after the other and counts."""

    run: Run
    record: Record
    pictures: ScreenedWriter
    numbers: Counter[str] = field(default_factory=Counter)

    def counts(self) -> dict[str, int]:
        """Pictures and lines; spans, and for texts known before how many of them OCR saw."""
        names = ["groups", "lines_read", "rejected", "spans"]
        if self.numbers["known"]:
            names.append("spans_found_by_ocr")
        return {name: self.numbers[name] for name in names}

    def kept(self) -> Iterator[Group]:
        """The groups that go on; all are noted with what was read in them."""
        for group, reading in zip(iter_groups(self.run, "sources"), self._readings(), strict=True):
            kept = self._judged(group, reading)
            if kept is not None:
                self.numbers["groups"] += 1
                self.numbers["spans"] += len(kept.spans)
                yield kept
        self.numbers["rejected"] = len(self.record.rejected)
        if not self.numbers["groups"]:
            raise DataError(
                f"none of the {self.numbers['rejected']} pictures holds text that counts; "
                "lower screening.min_confidence or bring pictures with readable signs"
            )

    def _readings(self) -> Iterator[Reading]:
        from signpost_kit.ocr import read_each
        from signpost_kit.ocr.checks import settings_for, workers_for

        options, compute = self.run.profile.screening, self.run.profile.compute
        return read_each(
            (self._path(group) for group in iter_groups(self.run, "sources")),
            engine=options.engine,
            settings=settings_for(options, compute),
            scheduler=compute.scheduler,
            workers=workers_for(options, compute),
            total=count_groups(self.run, "sources"),
        )

    def _path(self, group: Group) -> Path:
        return self.run.dir / "benchmark" / group.images.get("Original", "has no Original")

    def _judged(self, group: Group, reading: Reading) -> Group | None:
        from signpost_kit.ocr.screen import screen
        from signpost_kit.ocr.screened import Picture
        from signpost_kit.ocr.spans import choose_spans, covered, why_nothing_counts

        options = self.run.profile.screening
        self.numbers["lines_read"] += len(reading.lines)
        screened = screen(reading.lines, min_confidence=options.min_confidence, min_chars=options.min_chars)
        reason, kept = reading.error, group
        if not reason and group.spans:
            self.numbers["known"] += 1
            self.numbers["spans_found_by_ocr"] += sum(covered(span, reading.lines) for span in group.spans)
        elif not reason:
            width, height = _size(reading.path) if any(item.kept for item in screened) else (1, 1)
            spans = choose_spans(screened, width=width, height=height, max_spans=options.max_spans)
            kept = replace(group, spans=tuple(spans))
            reason = "" if spans else why_nothing_counts(screened)
        name = group.source_id or group.group_id
        self.pictures.add(
            Picture(group.group_id, name, group.images.get("Original", ""), not reason, reason, tuple(screened))
        )
        if reason:
            self.record.reject(name, reason)
            return None
        return kept


def _size(path: Path) -> tuple[int, int]:
    """Width and height of a picture as it is seen."""
    from signpost_kit.images import read_metadata

    about = read_metadata(path)
    return (about.height, about.width) if about.orientation >= 5 else (about.width, about.height)
