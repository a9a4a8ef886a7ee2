"""What the screening saw in each picture, kept and rejected alike: a JSON line per picture in the run's folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from signpost_kit.errors import DataError
from signpost_kit.files import atomic_path
from signpost_kit.ocr.screen import REASONS, ScreenedLine

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.run import Run

__all__ = ["Picture", "ScreenedWriter", "iter_screened", "reasons_frame", "strings_frame", "writing_screened"]

_COUNTS = "counts"


class Picture(msgspec.Struct, frozen=True):
    """One picture after the screening."""

    group_id: str
    source_id: str
    image: str
    """Its Original, relative to the benchmark's folder; empty when there is none."""
    kept: bool
    reason: str = ""
    """Why it goes no further; empty when kept."""
    lines: tuple[ScreenedLine, ...] = ()
    """All that was read, each with its verdict. Texts that the source itself knew are not among them."""


class ScreenedWriter:
    """Takes one picture after the other; see :func:`writing_screened`."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._encoder = msgspec.json.Encoder()

    def add(self, picture: Picture) -> None:
        """Append a picture."""
        self._write(self._encoder.encode(picture) + b"\n")


@contextmanager
def writing_screened(run: Run) -> Iterator[ScreenedWriter]:
    """Write the run's file of screened pictures, whole or, when the block fails, not at all."""
    with atomic_path(_file(run)) as temporary, temporary.open("wb") as handle:
        yield ScreenedWriter(handle.write)


def iter_screened(run: Run) -> Iterator[Picture]:
    """The run's pictures as the screening left them, in order.

    Raises
    ------
    DataError
        The stage has not run, or its file is damaged (named by line).
    """
    path = _file(run)
    record = run.stage_record("screening")
    if record and "as_released" in record["counts"]:
        return  # a release's texts are taken as they are: nothing was read
    if not path.is_file():
        raise DataError(f"{path} is missing: run the stage 'screening' again (signpost run PROFILE --only stages)")
    decoder = msgspec.json.Decoder(Picture)
    with path.open("rb") as handle:
        for number, line in enumerate(handle, start=1):
            try:
                yield decoder.decode(line)
            except (msgspec.DecodeError, msgspec.ValidationError) as error:
                raise DataError(
                    f"{path} line {number} is damaged ({error}): delete it and run the stage 'screening' again"
                ) from error


def strings_frame(pictures: Iterable[Picture]) -> pd.DataFrame:
    """One row per string that was read: group_id, text, confidence, kept, reason; empty columns for none."""
    import pandas as pd

    rows = [
        (picture.group_id, item.line.text, item.line.confidence, item.kept, item.reason)
        for picture in pictures
        for item in picture.lines
    ]
    return pd.DataFrame(rows, columns=pd.Index(("group_id", "text", "confidence", "kept", "reason")))


def reasons_frame(pictures: Iterable[Picture]) -> pd.DataFrame:
    """How many strings each rule left aside: a row per reason in the rules' order, `counts` first.

    `share` is of all strings, NaN when none was read.
    """
    import pandas as pd

    found = Counter(item.code or _COUNTS for picture in pictures for item in picture.lines)
    total = sum(found.values())
    rows = [(name, found[name], found[name] / total if total else float("nan")) for name in (_COUNTS, *REASONS)]
    return pd.DataFrame(rows, columns=pd.Index(("reason", "count", "share")))


def _file(run: Run) -> Path:
    return run.dir / "stages" / "screening.pictures.jsonl"
