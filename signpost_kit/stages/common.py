"""What every stage does alike: read the previous stage's groups, write its own, record counts and reasons."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.benchmark import Benchmark, Group
from signpost_kit.benchmark.group_lines import count_lines, read_lines, unhindered, write_lines
from signpost_kit.benchmark.groups import write_benchmark
from signpost_kit.errors import DataError

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = [
    "Record",
    "count_groups",
    "iter_groups",
    "load_groups",
    "publish",
    "publish_stage",
    "recording",
    "save_groups",
]

_LEFT = re.compile(r"\..+\.[a-z0-9_]{8}(\.\w+)?")  # the temporary names of files.atomic_path


@dataclass
class Record:
    """What a stage did: numbers by name, and every item that was left out with the reason."""

    counts: dict[str, float | int | str] = field(default_factory=dict)
    rejected: list[dict[str, str]] = field(default_factory=list)

    def reject(self, item: str, reason: str) -> None:
        """Note that `item` goes no further, and why."""
        self.rejected.append({"item": item, "reason": reason})


@contextlib.contextmanager
def recording(run: Run, stage: str) -> Iterator[Record]:
    """Record counts, rejections and seconds of a stage; a stage that fails leaves no record, so it runs again.

    What a killed process was just writing is swept away first.
    """
    record, start = Record(), time.perf_counter()
    for folder in (run.dir / "stages", *(run.dir / "benchmark" / "images").glob("*/")):
        _sweep(folder)
    yield record
    run.record(stage, counts=record.counts, rejected=record.rejected, seconds=time.perf_counter() - start)


def _sweep(folder: Path) -> None:
    """Remove what `files.atomic_path` left when its process was killed; a run has one process at a time."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _LEFT.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                Path(entry.path).unlink()


def save_groups(run: Run, stage: str, groups: Iterable[Group]) -> int:
    """Keep a stage's groups apart from the benchmark, so that an earlier stage can be redone on its own.

    They are taken one after the other, so a generator keeps the memory flat; nothing is written if it fails.
    Returns how many there were.
    """
    return write_lines(_file(run, stage), groups)


def iter_groups(run: Run, stage: str) -> Iterator[Group]:
    """The groups that `stage` left behind, one after the other.

    Raises
    ------
    DataError
        The stage has not run (at once), or its file is damaged (when that line is reached).
    """
    path = _present(run, stage)
    return (group for _, group in read_lines(path, f"delete the file and run the stage {stage!r} again"))


def count_groups(run: Run, stage: str) -> int:
    """How many groups `stage` left behind; DataError if it has not run."""
    return count_lines(_present(run, stage))


def load_groups(run: Run, stage: str) -> tuple[Group, ...]:
    """All of :func:`iter_groups` at once: about 5 KB of memory for each group with three texts."""
    with unhindered():
        return tuple(iter_groups(run, stage))


def publish(run: Run, groups: Sequence[Group]) -> Benchmark:
    """Write the groups as the run's benchmark folder and return it."""
    benchmark = Benchmark(name=run.name, groups=tuple(groups), root=run.dir / "benchmark")
    benchmark.write()
    return benchmark


def publish_stage(run: Run, stage: str) -> int:
    """:func:`publish` what `stage` saved, one group after the other; returns how many there were."""
    return write_benchmark(run.dir / "benchmark", iter_groups(run, stage), name=run.name)


def _file(run: Run, stage: str) -> Path:
    return run.dir / "stages" / f"{stage}.groups.jsonl"


def _present(run: Run, stage: str) -> Path:
    path = _file(run, stage)
    if not path.is_file():
        raise DataError(f"{path} is missing: run the stage {stage!r} first (signpost run PROFILE --only stages)")
    return path
