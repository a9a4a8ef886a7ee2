"""Positions of photos from a table beside them, as people make it: any delimiter, BOM, decimal commas.

Nothing is guessed silently: a row that matches no picture, two rows that disagree, a latitude that can only be a
longitude are each reported with the line they stand on.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from signpost_kit.benchmark.positions import Position, Reading, check_pair, parse_angle
from signpost_kit.errors import DataError

__all__ = ["Row", "Sidecar", "find_sidecar", "read_sidecar"]

_NAMES = ("filename", "file_name", "file", "path", "image", "photo", "picture", "sourcefile", "name")
_LATS = ("latitude", "lat", "gpslatitude")
_LONS = ("longitude", "lon", "lng", "long", "gpslongitude")
_BLANK = ("", "-", "na", "n/a", "nan", "none", "null")
_USUAL = ("positions.csv", "positions.tsv", "positions.txt")
_SAME = 1e-6  # degrees, 0.1 m


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    line: int
    name: str
    reading: Reading
    """A position, a reason, or neither where the cells are blank."""


@dataclass
class Sidecar:
    """The table's rows, found again by a picture's path relative to the folder."""

    path: Path
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    _by_picture: dict[str, list[Row]] = field(default_factory=dict)

    def match(self, pictures: Iterable[str]) -> list[tuple[Row, str]]:
        """Bind rows to pictures; return the rows that fit none or several, each with the reason.

        A row fits by its path, else by the file name, else by the name without its suffix. Capitals, backslashes,
        leading folders outside the picture's own path and the Unicode form (macOS) do not matter.
        """
        exact: dict[str, set[str]] = {}
        by_name: dict[str, set[str]] = {}
        by_stem: dict[str, set[str]] = {}
        for picture in pictures:
            path = PurePosixPath(_fold(picture))
            exact.setdefault(_clean(picture), set()).add(picture)
            by_name.setdefault(path.name, set()).add(picture)
            by_stem.setdefault(path.stem, set()).add(picture)
        self._by_picture = {}
        unmatched = []
        for row in self.rows:
            name = PurePosixPath(_fold(row.name)).name
            hits = exact.get(_clean(row.name)) or set()
            for index in (by_name, by_stem):
                hits = hits or {picture for picture in index.get(name, ()) if _same_tail(row.name, picture)}
            if len(hits) == 1:
                self._by_picture.setdefault(next(iter(hits)), []).append(row)
            elif not row.name:
                unmatched.append((row, "it has no file name"))
            elif hits:
                unmatched.append((row, f"it fits {len(hits)} pictures ({', '.join(sorted(hits)[:3])})"))
            else:
                unmatched.append((row, "no picture of this name is in the folder"))
        return unmatched

    def reading(self, picture: str) -> Reading:
        """What the table says of one picture."""
        rows = self._by_picture.get(picture, [])
        bad = [row for row in rows if row.reading.reason]
        if bad:
            return Reading(reason=f"{self.path.name} line {bad[0].line}: {bad[0].reading.reason}")
        found = [(row.line, row.reading.position) for row in rows if row.reading.position is not None]
        if not found:
            return Reading()
        (line, first), *others = found
        for other_line, other in others:
            if abs(first.lat - other.lat) > _SAME or abs(first.lon - other.lon) > _SAME:
                return Reading(
                    reason=f"{self.path.name} lines {line} and {other_line} give different positions: "
                    f"{first.lat:g}, {first.lon:g} and {other.lat:g}, {other.lon:g}"
                )
        return Reading(first)


def find_sidecar(folder: Path) -> Path | None:
    """`positions.csv` (or .tsv, .txt) in the folder: used without being named."""
    return next((folder / name for name in _USUAL if (folder / name).is_file()), None)


def read_sidecar(path: Path | str) -> Sidecar:
    """Read a table of positions.

    Columns, in any case and order, others are ignored: filename (or file, path, image, photo, name, SourceFile),
    latitude (or lat, GPSLatitude), longitude (or lon, lng, long, GPSLongitude). Delimiter comma, semicolon or tab;
    UTF-8 with or without BOM, UTF-16 with BOM, else Windows-1252; degrees as in
    :func:`~signpost_kit.benchmark.positions.parse_angle`.

    Raises
    ------
    DataError
        The file is missing or unreadable, a needed column is missing or stands twice, or there are no rows.
    """
    path = Path(path)
    text = _decoded(path)
    header, delimiter = _header(path, text)
    columns = {kind: _column(path, header, names) for kind, names in _KINDS.items()}
    sidecar = Sidecar(path, [])
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        next(reader)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                sidecar.rows.append(_row(reader.line_num, cells, header, columns))
    except csv.Error as error:
        raise DataError(f"{path}: not a table ({error}); save it as CSV in UTF-8") from error
    if not sidecar.rows:
        raise DataError(f"{path} has a header and no rows; add one row per photo or leave the file out")
    _look_for_exchange(sidecar)
    return sidecar


_KINDS = {"file name": _NAMES, "latitude": _LATS, "longitude": _LONS}


def _decoded(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"the table of positions {path} does not exist; check the path") from error
    except OSError as error:
        raise DataError(f"the table of positions {path} cannot be read ({error.strerror or error})") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _header(path: Path, text: str) -> tuple[list[str], str]:
    """The header's names and the delimiter: the one that brings the needed columns, else the most frequent one."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first or "\0" in first:
        raise DataError(f"{path} is {'not a text file' if first else 'empty'}; save the positions as CSV in UTF-8")

    def split(delimiter: str) -> list[str]:
        cells = next(csv.reader([first], delimiter=delimiter))
        return [cell.strip().strip("\ufeff").casefold() for cell in cells]

    def fitness(delimiter: str) -> tuple[int, int]:
        cells = split(delimiter)
        return sum(any(name in cells for name in names) for names in _KINDS.values()), len(cells)

    delimiter = max(",;\t", key=fitness)
    return split(delimiter), delimiter


def _column(path: Path, header: list[str], names: tuple[str, ...]) -> int:
    for name in names:
        if header.count(name) > 1:
            raise DataError(f"{path}: the column {name!r} stands twice; remove one")
        if name in header:
            return header.index(name)
    raise DataError(
        f"{path}: no column for the {next(kind for kind, known in _KINDS.items() if known is names)}; "
        f"it has {', '.join(filter(None, header)) or 'none'}; call it one of {', '.join(names)}"
    )


def _row(line: int, cells: list[str], header: list[str], columns: dict[str, int]) -> Row:
    name_at, lat_at, lon_at = columns.values()
    name = cells[name_at].strip() if name_at < len(cells) else ""
    if len(cells) > len(header) and any(cell.strip() for cell in cells[len(header) :]):
        reason = (
            f"{len(cells)} cells where the header has {len(header)}; "
            "with decimal commas use semicolons between the cells"
        )
        return Row(line, name, Reading(reason=reason))
    lat_text, lon_text = (cells[at].strip() if at < len(cells) else "" for at in (lat_at, lon_at))
    blank = [text.casefold() in _BLANK for text in (lat_text, lon_text)]
    if all(blank):
        return Row(line, name, Reading())
    if any(blank):
        return Row(line, name, Reading(reason="only one of latitude and longitude is given"))
    try:
        lat, lon = _angle(lat_text, "latitude"), _angle(lon_text, "longitude")
    except ValueError as error:
        return Row(line, name, Reading(reason=str(error)))
    problem = check_pair(lat, lon)
    return Row(line, name, Reading(reason=problem) if problem else Reading(Position(lat, lon, "sidecar")))


def _angle(text: str, axis: str) -> float:
    try:  # plain numbers first: exponents and infinities are numbers to every program that writes tables
        return float(text)
    except ValueError:
        return parse_angle(text, axis)


def _look_for_exchange(sidecar: Sidecar) -> None:
    exchanged = sum("look exchanged" in row.reading.reason for row in sidecar.rows)
    wide = any(row.reading.position and abs(row.reading.position.lon) > 90 for row in sidecar.rows)
    if exchanged and not wide:
        sidecar.notes.append(
            f"{exchanged} of {len(sidecar.rows)} latitudes are beyond 90 degrees and no longitude is: the columns "
            "look exchanged, so check the other rows too"
        )


def _clean(name: str) -> str:
    path = unicodedata.normalize("NFC", name.strip().replace("\\", "/"))
    while path.startswith("./"):
        path = path[2:]
    return path


def _fold(name: str) -> str:
    return _clean(name).casefold()


def _same_tail(name: str, picture: str) -> bool:
    """Whether one path is the end of the other, the last suffix aside: `/home/me/in/a.jpg` and `in/a.jpg`."""
    row, own = PurePosixPath(_fold(name)).parts[:-1], PurePosixPath(_fold(picture)).parts[:-1]
    shared = min(len(row), len(own))
    return shared == 0 or row[-shared:] == own[-shared:]
