"""The first reading of a list: every row is checked and leaves some 40 bytes behind, numbers and no text.

So a million rows need little more memory than a thousand.
"""

from __future__ import annotations

import csv
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from signpost_kit.benchmark.lists.exchange import ExchangeTest, exchange_test
from signpost_kit.benchmark.lists.layout import Layout
from signpost_kit.benchmark.lists.places import countries_at, country_code
from signpost_kit.benchmark.lists.report import Check, ListReport, RejectedRow
from signpost_kit.benchmark.lists.rows import Chunk
from signpost_kit.benchmark.lists.sampling import Sample, hash_ids

__all__ = ["RejectLog", "Scan", "exchange_check"]

_QUANTUM = 1e5  # positions are compared to a hundred-thousandth of a degree, about a metre
LON_STEPS = 36_000_001
"""A place is one whole number: steps of latitude times this, plus steps of longitude."""
_JUDGED = 20_000  # positions kept for the test of exchanged columns
_CROWD = 0.02  # of all rows in one place: a doubt


class RejectLog:
    """Counts rejected rows, and writes them out one by one where a file is wanted."""

    def __init__(self, report: ListReport, path: Path | None, stack: ExitStack) -> None:
        self.report = report
        self._writer = None
        if path is not None:
            handle = stack.enter_context(path.open("w", encoding="utf-8", errors="replace", newline=""))
            self._writer = csv.writer(handle)
            self._writer.writerow(["line", "id", "kind", "reason"])

    def add(self, line: int, ident: str, kind: str, reason: str) -> None:
        shown = ident.encode("utf-8", "replace").decode()[:200]
        self.report.reject(RejectedRow(line, shown, kind, reason))
        if self._writer is not None:
            self._writer.writerow([line, shown, kind, reason])


class Scan:
    """What the first reading leaves behind: some numbers per usable row."""

    def __init__(self, layout: Layout, sample: Sample | None) -> None:
        self.layout = layout
        self.sample = sample
        self.rows = 0
        self._numbers: list[np.ndarray] = []
        self._lines: list[np.ndarray] = []
        self._hashes: list[np.ndarray] = []
        self._places: list[np.ndarray] = []
        self._strata: list[np.ndarray] = []
        self.stratum_names: dict[str, int] = {}
        self._judged: list[np.ndarray] = []
        self._judged_rows = 0
        self.n_float_ids = self.n_long_ids = self.n_round_ids = 0

    def take(self, chunk: Chunk, log: RejectLog) -> None:
        """Add a chunk; its faults go to the log."""
        self.rows += len(chunk)
        self._keep_for_judging(chunk)
        for i in sorted(chunk.faults):
            log.add(int(chunk.lines[i]), chunk.ids[i], *chunk.faults[i])
        good = np.ones(len(chunk), dtype=bool)
        good[list(chunk.faults)] = False
        kept = np.flatnonzero(good)
        if not len(kept):
            return
        ids = [chunk.ids[i] for i in kept] if chunk.faults else chunk.ids
        lat, lon = chunk.lat[kept], chunk.lon[kept]
        self._count_ids(ids)
        self._numbers.append(chunk.numbers[kept])
        self._lines.append(chunk.lines[kept])
        self._hashes.append(hash_ids(ids))
        lat_steps, lon_steps = (np.rint(values * _QUANTUM).astype(np.int64) for values in (lat, lon))
        self._places.append((lat_steps + 9_000_000) * LON_STEPS + lon_steps + 18_000_000)
        if self.sample is not None:
            self._strata.append(self._strata_of(chunk, kept, lat, lon))

    def _keep_for_judging(self, chunk: Chunk) -> None:
        """Keep positions for the test of exchanged columns; of a long list every second, fourth, ... of them."""
        self._judged.append(np.column_stack([chunk.lat, chunk.lon]).astype(np.float32))
        self._judged_rows += len(chunk)
        if self._judged_rows > 2 * _JUDGED:
            pairs = np.concatenate(self._judged)[::2]
            self._judged, self._judged_rows = [pairs], len(pairs)

    def _count_ids(self, ids: list[str]) -> None:
        self.n_float_ids += sum(ident[-2:] == ".0" for ident in ids)
        long = [ident for ident in ids if len(ident) >= 17 and ident.isdigit()]
        self.n_long_ids += len(long)
        self.n_round_ids += sum(ident[15:].strip("0") == "" for ident in long)

    def _strata_of(self, chunk: Chunk, kept: np.ndarray, lat: np.ndarray, lon: np.ndarray) -> np.ndarray:
        """The number of each kept row's stratum; names are numbered as they come."""
        by_country = self.sample is not None and self.sample.by == "country"
        countries = []
        if "country" in chunk.extra:
            cells = chunk.extra["country"]
            countries = [country_code(cells[i]) or cells[i] for i in kept]
        if by_country and not countries:
            names, places = np.unique(countries_at(lat, lon), return_inverse=True)
            return np.array([self._stratum(str(name)) for name in names], np.int32)[places]
        if by_country:
            blank = np.array([not country for country in countries])
            for i, found in zip(np.flatnonzero(blank), countries_at(lat[blank], lon[blank]), strict=True):
                countries[i] = str(found)
            return np.fromiter(map(self._stratum, countries), np.int32, len(kept))
        cells = chunk.extra["admin"]
        provinces = [cells[i] for i in kept]
        if countries:
            provinces = [f"{country}/{name}" for country, name in zip(countries, provinces, strict=True)]
        return np.fromiter(map(self._stratum, provinces), np.int32, len(kept))

    def _stratum(self, name: str) -> int:
        return self.stratum_names.setdefault(name, len(self.stratum_names))

    def finish(self, report: ListReport) -> None:
        """Put the chunks together and tell what the whole list shows."""
        self.numbers = _joined(self._numbers, np.int64)
        self.lines = _joined(self._lines, np.int64)
        self.hashes = _joined(self._hashes, np.uint64)
        self.places = _joined(self._places, np.int64)
        self.strata = _joined(self._strata, np.int32)
        report.rows = self.rows
        report.checks += [_id_check(self), _crowd_check(self.places)]

    def exchange(self) -> ExchangeTest:
        """The test of exchanged columns, on the positions as they were read."""
        pairs = np.concatenate(self._judged) if self._judged else np.empty((0, 2))
        return exchange_test(pairs[:, 0].astype(float), pairs[:, 1].astype(float))


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    whole = np.concatenate(parts) if parts else np.empty(0, dtype)
    parts.clear()
    return whole


def exchange_check(test: ExchangeTest, exchanged: bool) -> Check:
    verdicts = {"right": "fine", "cannot tell": "note", "perhaps exchanged": "doubtful", "exchanged": "wrong"}
    other = "false" if exchanged else "true"
    remedy = {
        "wrong": f"set source.exchanged to {other}",
        "doubtful": f"look at some pictures; if the columns are exchanged, set source.exchanged to {other}",
    }
    verdict = verdicts[test.verdict]
    found = test.detail if test.verdict != "cannot tell" else f"cannot tell: {test.detail}"
    return Check("latitude and longitude", verdict, found, remedy.get(verdict, ""))


def _id_check(scan: Scan) -> Check:
    remedy = "make the list anew from its source with the id's column read as text"
    if scan.n_round_ids > max(0.5 * scan.n_long_ids, 2):
        found = (
            f"{scan.n_round_ids:,} of {scan.n_long_ids:,} ids of 17 and more digits end in zeros after the 15th: "
            "a spreadsheet has rounded them"
        )
        return Check("ids", "wrong", found, remedy)
    if scan.n_float_ids:
        found = f"{scan.n_float_ids:,} ids end in .0: they have passed through a float, with all digits kept"
        return Check("ids", "doubtful", found, f"pictures are looked for without the .0 as well; better {remedy}")
    return Check("ids", "fine", "none looks damaged by a spreadsheet or a float")


def _crowd_check(places: np.ndarray) -> Check:
    if not len(places):
        return Check("positions", "note", "there is none")
    distinct, counts = np.unique(places, return_counts=True)
    shared = int(counts[counts > 1].sum())
    top = int(counts.argmax())
    most = int(counts[top])
    lat = (int(distinct[top]) // LON_STEPS - 9_000_000) / _QUANTUM
    lon = (int(distinct[top]) % LON_STEPS - 18_000_000) / _QUANTUM
    found = f"{len(distinct):,} distinct"
    if shared:
        found += f"; {shared:,} rows share theirs with another, {most:,} are at {lat:g}, {lon:g}"
    if most > max(20, _CROWD * len(places)):
        return Check("positions", "doubtful", found, "see whether that place is a placeholder or a region's centre")
    return Check("positions", "note" if shared else "fine", found)
