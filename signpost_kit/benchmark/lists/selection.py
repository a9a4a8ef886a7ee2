"""From a list to the rows that go on: checked, without duplicates, sampled; nothing left out without a reason.

The list is read twice: the first time every row is checked (:mod:`~signpost_kit.benchmark.lists.scan`), the second
time only the rows that were chosen are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from signpost_kit.benchmark.lists.exchange import ExchangeTest
from signpost_kit.benchmark.lists.layout import Layout, describe_list
from signpost_kit.benchmark.lists.places import countries_at, country_code
from signpost_kit.benchmark.lists.report import ListReport
from signpost_kit.benchmark.lists.rows import CHUNK_ROWS, Chunk, read_chunks
from signpost_kit.benchmark.lists.sampling import Sample, draw, ranks
from signpost_kit.benchmark.lists.scan import LON_STEPS, RejectLog, Scan, exchange_check
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import atomic_path

__all__ = ["ListRow", "Selection", "check_list", "select"]


@dataclass(frozen=True, slots=True)
class ListRow:
    """One usable row."""

    line: int
    id: str
    lat: float
    lon: float
    country: str = ""
    """Alpha-2: the list's own, else from the position."""
    admin: str = ""
    city: str = ""
    url: str = ""
    heading: float | None = None
    """Degrees clockwise from north, 0..360."""
    captured: str = ""


@dataclass
class Selection:
    """The rows that go on."""

    layout: Layout
    report: ListReport
    exchanged: bool
    sampled: bool
    numbers: np.ndarray
    """Of the chosen rows, ascending, counted from 0."""
    limit: int | None = None
    order: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    """The chosen rows' places in the order of the ids' hashes (samples only)."""

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self) -> Iterator[ListRow]:
        """The rows, read anew: in the list's order, or for a sample in one that does not depend on it."""
        found = (_row(chunk, i, self.layout) for chunk, i in _at(self.layout, self.numbers, self.exchanged))
        if not self.sampled:
            yield from found
            return
        rows = list(found)
        yield from (rows[int(i)] for i in self.order)


def check_list(path: Path | str, *, format: str = "auto", exchanged: bool = False) -> ListReport:
    """The account of a list, for looking at it: no pictures needed, and a doubt is told, never an error.

    Raises
    ------
    ConfigError, DataError
        As :func:`~signpost_kit.benchmark.lists.layout.describe_list`, and the file is no table.
    """
    return select(path, format=format, exchanged=exchanged or None, strict=False).report


def select(
    path: Path | str,
    *,
    format: str = "auto",
    exchanged: bool | None = None,
    missing: Callable[[list[str]], Mapping[int, str]] | None = None,
    sample: Sample | None = None,
    limit: int | None = None,
    rejects: Path | None = None,
    strict: bool = True,
    chunk_rows: int = CHUNK_ROWS,
) -> Selection:
    """Check every row of a list and choose those that go on.

    Parameters
    ----------
    exchanged
        True: the columns of latitude and longitude are exchanged, so exchange them back. False: they are right,
        whatever they look like. None: as written, and an error if they are surely exchanged.
    missing
        Called with some ids: place among them -> why there is no picture, for those without. None: not asked.
    sample
        Draw a part of the usable rows, stratum by stratum. None: take all.
    limit
        At most so many rows: the first ones, or of a sample those of lowest rank.
    rejects
        Where every row that is not used is written (line, id, kind, reason), whole or not at all.
    strict
        False: report exchanged columns and an empty selection instead of raising.

    Raises
    ------
    ConfigError
        `sample` asks for a column that the list has not; a number is out of range.
    DataError
        The list cannot be read, no row is usable, or the columns are surely exchanged.
    """
    layout = describe_list(path, format)
    if limit is not None and limit < 1:
        raise ConfigError(f"limit={limit}: it must be at least 1, or None for all rows")
    if sample is not None and sample.by == "province" and "admin" not in layout.columns:
        raise ConfigError(
            f"{layout.path} has no column for the province, so a sample by province cannot be drawn; "
            "set source.sample_by to country, or add a column `province`"
        )
    report = ListReport(layout)
    with ExitStack() as stack:
        log = RejectLog(report, stack.enter_context(atomic_path(rejects)) if rejects else None, stack)
        scan = Scan(layout, sample)
        for chunk in read_chunks(layout, exchanged=bool(exchanged), chunk_rows=chunk_rows):
            _find_missing(chunk, missing)
            scan.take(chunk, log)
        scan.finish(report)
        test = scan.exchange()
        report.checks.insert(0, exchange_check(test, bool(exchanged)))
        keep = _without_duplicates(scan, layout, log)
        report.usable = int(keep.sum())
        numbers, order = _choose(scan, keep, sample, limit, report)
    report.chosen = len(numbers)
    if strict:
        _refuse(report, test, exchanged)
    return Selection(layout, report, bool(exchanged), sample is not None, numbers, limit, order)


def _refuse(report: ListReport, test: ExchangeTest, exchanged: bool | None) -> None:
    if exchanged is None and test.verdict == "exchanged":
        raise DataError(
            f"{report.layout.path}: latitude and longitude are exchanged: {test.detail}. Set source.exchanged to "
            f"true to exchange them back, or to false to use them as they are"
        )
    if not report.usable:
        first = (
            f" The first: line {report.examples[0].line}: {report.examples[0].reason}" if report.examples else ""
        )
        raise DataError(f"no usable row in {report.summary()}.{first}")


def _find_missing(chunk: Chunk, missing: Callable[[list[str]], Mapping[int, str]] | None) -> None:
    if missing is not None:
        for i, reason in missing(chunk.ids).items():
            chunk.faults.setdefault(i, ("no picture", reason))


def _without_duplicates(scan: Scan, layout: Layout, log: RejectLog) -> np.ndarray:
    """True for the rows that stay: one of each id, and none of an id with two positions."""
    keep = np.ones(len(scan.hashes), dtype=bool)
    order = np.lexsort((scan.numbers, scan.hashes))
    ordered = scan.hashes[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    if not len(again):
        return keep
    found: dict[int, tuple[str, str]] = {}
    begins = again[np.r_[True, np.diff(again) > 1]] - 1
    for begin in begins:
        end = int(np.searchsorted(ordered, ordered[begin], "right"))
        members = order[begin:end]
        lines = ", ".join(str(line) for line in np.sort(scan.lines[members])[:5])
        apart = _apart(scan.places[members])
        for member in members if apart else members[1:]:
            keep[member] = False
            number = int(scan.numbers[member])
            if apart:
                found[number] = (
                    "id with two positions",
                    f"the id stands on lines {lines} with different positions",
                )
            else:
                found[number] = ("duplicate id", f"the id stands already on line {scan.lines[members[0]]}")
    for chunk, i in _at(layout, np.array(sorted(found), np.int64), False):
        log.add(int(chunk.lines[i]), chunk.ids[i], *found[int(chunk.numbers[i])])
    return keep


def _apart(places: np.ndarray) -> bool:
    lat, lon = np.divmod(places, LON_STEPS)
    return bool(np.ptp(lat) > 1 or np.ptp(lon) > 1)


def _choose(
    scan: Scan, keep: np.ndarray, sample: Sample | None, limit: int | None, report: ListReport
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the chosen rows, ascending, and for a sample the order in which they go on."""
    kept = np.flatnonzero(keep)
    if sample is None:
        return scan.numbers[kept][:limit], np.empty(0, np.int64)
    rank = ranks(scan.hashes[kept], sample.seed)
    strata = scan.strata[kept]
    chosen = draw(strata, rank, share=sample.share, at_least=sample.at_least)
    names = list(scan.stratum_names)
    sizes, drawn = (np.bincount(part, minlength=len(names)) for part in (strata, strata[chosen]))
    report.strata = [
        (name or "(none)", int(n), int(m)) for name, n, m in zip(names, sizes, drawn, strict=True) if n
    ]
    places = np.flatnonzero(chosen)
    if limit is not None:
        places = np.sort(places[np.argsort(rank[places], kind="stable")[:limit]])
    return scan.numbers[kept][places], np.argsort(scan.hashes[kept][places], kind="stable")


def _at(layout: Layout, numbers: np.ndarray, exchanged: bool) -> Iterator[tuple[Chunk, int]]:
    """Chunk and place in it of the rows of these numbers (ascending)."""
    for chunk in read_chunks(layout, exchanged=exchanged, numbers=numbers):
        for i in range(len(chunk)):
            yield chunk, i


def _row(chunk: Chunk, i: int, layout: Layout) -> ListRow:
    cell = {role: cells[i] for role, cells in chunk.extra.items()}
    lat, lon = float(chunk.lat[i]), float(chunk.lon[i])
    country = country_code(cell.get("country", ""))
    if not country:
        country = str(countries_at(chunk.lat[i : i + 1], chunk.lon[i : i + 1])[0])
    return ListRow(
        line=int(chunk.lines[i]),
        id=chunk.ids[i],
        lat=lat,
        lon=lon,
        country=country,
        admin=cell.get("admin", ""),
        city=cell.get("city", "") or cell.get("county", ""),
        url=cell.get("url", ""),
        heading=_heading(cell.get("heading", "")),
        captured=cell.get("captured", ""),
    )


def _heading(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value % 360 if np.isfinite(value) else None
