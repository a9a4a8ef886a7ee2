"""The rows of a list, some thousands at a time: ids, positions, and for each row that is of no use the reason.

Only the columns that are needed are kept, so memory does not grow with the list.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from signpost_kit.benchmark.lists.layout import Layout, open_list
from signpost_kit.benchmark.positions import check_pair, parse_angle
from signpost_kit.errors import DataError

__all__ = ["CHUNK_ROWS", "Chunk", "read_chunks"]

CHUNK_ROWS = 10_000
_BLANK = frozenset({"", "-", "na", "n/a", "nan", "none", "null", "\\n"})
_NULL_ISLAND = 0.001  # degrees, as in positions.check_pair
_EXTRA = ("country", "admin", "city", "county", "url", "heading", "captured")


@dataclass
class Chunk:
    """Some rows of a list."""

    numbers: np.ndarray
    """int64 of each row, counted from 0 without the header and blank lines."""
    lines: np.ndarray
    """int64, the line of the file that each row begins on, counted from 1."""
    ids: list[str]
    lat: np.ndarray
    """float64 degrees; NaN where there is none."""
    lon: np.ndarray
    extra: dict[str, list[str]]
    """Cells of the other roles that the list has, as they stand."""
    faults: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Place in the chunk -> kind and reason, for rows of no use."""

    def __len__(self) -> int:
        return len(self.ids)


def read_chunks(
    layout: Layout,
    *,
    exchanged: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    numbers: np.ndarray | None = None,
) -> Iterator[Chunk]:
    """Read a list from top to bottom.

    Parameters
    ----------
    numbers
        Only the rows of these numbers (ascending), and no further than the last of them.
    exchanged
        Take the latitude's column for the longitude and the other way round.

    Raises
    ------
    DataError
        The file cannot be read or decompressed, or is no table.
    """
    number = 0
    with open_list(layout) as handle:
        reader = _reader(layout, handle)
        try:
            if layout.header:
                next((row for row in reader if any(cell.strip() for cell in row)), None)
            while True:
                before = reader.line_num
                rows = list(islice(reader, chunk_rows))
                if not rows:
                    return
                lines = _lines(rows, before, reader.line_num)
                if [] in rows:  # blank lines
                    keep = [i for i, row in enumerate(rows) if row]
                    lines, rows = lines[keep], [rows[i] for i in keep]
                own = np.arange(number, number + len(rows))
                number += len(rows)
                if numbers is not None:
                    begin, end = np.searchsorted(numbers, (number - len(rows), number))
                    places = numbers[begin:end] - (number - len(rows))
                    lines, own, rows = lines[places], own[places], [rows[i] for i in places]
                if rows:
                    yield _chunk(layout, rows, lines, own, exchanged)
                if numbers is not None and (not len(numbers) or number > numbers[-1]):
                    return
        except csv.Error as error:
            raise DataError(
                f"{layout.path} line {reader.line_num}: not a table ({error}); a quotation mark may be left open"
            ) from error
        except (EOFError, OSError, UnicodeError) as error:
            raise DataError(f"{layout.path} cannot be read beyond line {reader.line_num} ({error})") from error


def _reader(layout: Layout, handle: Any) -> Any:
    if layout.quoted:
        return csv.reader(handle, delimiter=layout.delimiter)
    return csv.reader(handle, delimiter=layout.delimiter, quoting=csv.QUOTE_NONE)


def _lines(rows: list[list[str]], before: int, after: int) -> np.ndarray:
    """The line that each row begins on, the reader having gone from one to the other."""
    if after - before == len(rows):
        return np.arange(before + 1, after + 1)
    spans = [1 + sum(cell.count("\n") or cell.count("\r") for cell in row) for row in rows]
    return before + 1 + np.concatenate([[0], np.cumsum(spans)[:-1]]).astype(np.int64)


def _chunk(layout: Layout, rows: list[list[str]], lines: np.ndarray, numbers: np.ndarray, exchanged: bool) -> Chunk:
    faults = _straighten(layout, rows)
    ids = _column(rows, layout.columns["id"])
    lat_text, lon_text = (_column(rows, layout.columns[role]) for role in ("lat", "lon"))
    if exchanged:
        lat_text, lon_text = lon_text, lat_text
    extra = {role: _column(rows, layout.columns[role]) for role in _EXTRA if role in layout.columns}
    lat, bad_lat = _degrees(lat_text, "latitude")
    lon, bad_lon = _degrees(lon_text, "longitude")
    chunk = Chunk(numbers, lines, ids, lat, lon, extra, faults)
    if layout.marker is not None:
        for i, row in enumerate(rows):
            if row[layout.marker] == "1":
                faults.setdefault(i, ("video", "a video, not a picture"))
    for i, reason in {**bad_lon, **bad_lat}.items():
        faults.setdefault(i, ("not a number", reason))
    _check_ids(chunk)
    _check_positions(chunk, lat_text, lon_text)
    return chunk


def _column(rows: list[list[str]], number: int) -> list[str]:
    return [row[number].strip() for row in rows]


def _straighten(layout: Layout, rows: list[list[str]]) -> dict[int, tuple[str, str]]:
    """Give every row the header's width; those that had another one are faults."""
    width = layout.width
    if all(len(row) == width for row in rows):
        return {}
    faults = {}
    for i, row in enumerate(rows):
        if len(row) == width:
            continue
        if len(row) > width and not any(cell.strip() for cell in row[width:]):  # commas at the end of the line
            rows[i] = row[:width]
            continue
        shown = f"{len(row)} cells where there should be {width}"
        faults[i] = ("torn row", f"{shown}; the line is cut off, or a cell holds the delimiter")
        rows[i] = (row + [""] * width)[:width]
    return faults


def _degrees(cells: list[str], axis: str) -> tuple[np.ndarray, dict[int, str]]:
    """Degrees, NaN where a cell is blank or no number; the reasons of those that are no number."""
    try:
        # float() takes 1_000 for a number; no list means that
        if not any("_" in cell for cell in cells):
            return np.fromiter(map(float, cells), np.float64, len(cells)), {}
    except ValueError:
        pass
    values, faults = np.full(len(cells), math.nan), {}
    for i, cell in enumerate(cells):
        try:
            values[i] = float(cell) if "_" not in cell else parse_angle(cell, axis)
        except ValueError:
            if cell.casefold() in _BLANK:
                continue
            try:
                values[i] = parse_angle(cell, axis)
            except ValueError as error:
                faults[i] = str(error)
    return values, faults


def _check_ids(chunk: Chunk) -> None:
    for i, ident in enumerate(chunk.ids):
        if len(ident) > 4 and ident[-2:] != ".0" and "e+" not in ident and "E+" not in ident and ident[0] != "#":
            continue  # nothing odd about it
        fault = _id_fault(ident)
        if fault:
            chunk.faults.setdefault(i, fault)
    if not all(map(str.isprintable, chunk.ids)):
        for i, ident in enumerate(chunk.ids):
            if any("\ud800" <= char <= "\udfff" for char in ident):
                chunk.faults.setdefault(i, ("damaged id", "the id is not valid UTF-8"))
            elif "\n" in ident or "\r" in ident or "\0" in ident:
                reason = "the id runs over several lines; a quotation mark may be left open"
                chunk.faults.setdefault(i, ("damaged id", reason))


def _id_fault(ident: str) -> tuple[str, str] | None:
    """Why an id that looks odd cannot be used; None if it can."""
    if ident.casefold() in _BLANK:
        return "no id", "it has no id"
    remedy = "make the list anew from its source with the id's column read as text"
    if ident.startswith("#") and ident.rstrip("!?").isupper():
        return "damaged id", f"the id is {ident!r}: a spreadsheet took it for a formula; {remedy}"
    mantissa, _, exponent = ident.casefold().replace(",", ".").partition("e+")
    if exponent.isdigit() and _is_number(mantissa):
        return "damaged id", f"the id {ident!r} has passed through a float and lost digits; {remedy}"
    body = ident[:-2]
    if ident.endswith(".0") and body.isdigit() and int(body) > 2**53:
        return (
            "damaged id",
            f"the id {ident!r} has passed through a float, which cannot hold all its digits; {remedy}",
        )
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_positions(chunk: Chunk, lat_text: list[str], lon_text: list[str]) -> None:
    lat, lon = chunk.lat, chunk.lon
    with np.errstate(invalid="ignore"):
        good = (np.abs(lat) <= 90) & (np.abs(lon) <= 180)
        good &= (np.abs(lat) >= _NULL_ISLAND) | (np.abs(lon) >= _NULL_ISLAND)
    for place in np.flatnonzero(~good):
        i = int(place)
        if i in chunk.faults:
            continue
        if lat_text[i].casefold() in _BLANK or lon_text[i].casefold() in _BLANK:
            chunk.faults[i] = ("no coordinates", "it has no coordinates")
            continue
        reason = check_pair(float(lat[i]), float(lon[i]))
        chunk.faults[i] = (_kind(float(lat[i]), float(lon[i])), reason)


def _kind(lat: float, lon: float) -> str:
    if not (math.isfinite(lat) and math.isfinite(lon)):
        return "not a number"
    if max(abs(lat), abs(lon)) < _NULL_ISLAND:
        return "0, 0"
    return "out of range"
