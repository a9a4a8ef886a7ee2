"""What every stage does alike: read the previous stage's groups, write its own, record counts and reasons."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from signpost_kit.benchmark import Benchmark, Group
from signpost_kit.errors import DataError
from signpost_kit.files import write_bytes

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["Record", "load_groups", "publish", "recording", "save_groups"]


@dataclass
class Record:
    """What a stage did: numbers by name, and every item that was left out with the reason."""

    counts: dict[str, float | int | str] = field(default_factory=dict)
    rejected: list[dict[str, str]] = field(default_factory=list)

    def reject(self, item: str, reason: str) -> None:
        """Note that `item` goes no further, and why."""
        self.rejected.append({"item": item, "reason": reason})


@contextmanager
def recording(run: Run, stage: str) -> Iterator[Record]:
    """Record counts, rejections and seconds of a stage; a stage that fails leaves no record, so it runs again."""
    record, start = Record(), time.perf_counter()
    yield record
    run.record(stage, counts=record.counts, rejected=record.rejected, seconds=time.perf_counter() - start)


def _file(run: Run, stage: str) -> Path:
    return run.dir / "stages" / f"{stage}.groups.jsonl"


def save_groups(run: Run, stage: str, groups: Sequence[Group]) -> None:
    """Keep a stage's groups apart from the benchmark, so that an earlier stage can be redone on its own."""
    encoder = msgspec.json.Encoder()
    write_bytes(_file(run, stage), b"".join(encoder.encode(group) + b"\n" for group in groups))


def load_groups(run: Run, stage: str) -> tuple[Group, ...]:
    """The groups that `stage` left behind.

    Raises
    ------
    DataError
        The stage has not run, or its file is damaged.
    """
    path = _file(run, stage)
    if not path.is_file():
        raise DataError(f"{path} is missing: run the stage {stage!r} first (signpost run PROFILE --only stages)")
    decoder = msgspec.json.Decoder(Group)
    try:
        return tuple(decoder.decode(line) for line in path.read_bytes().splitlines() if line.strip())
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise DataError(f"{path} is damaged ({error}): delete it and run the stage {stage!r} again") from error


def publish(run: Run, groups: Sequence[Group]) -> Benchmark:
    """Write the groups as the run's benchmark folder and return it."""
    benchmark = Benchmark(name=run.name, groups=tuple(groups), root=run.dir / "benchmark")
    benchmark.write()
    return benchmark
