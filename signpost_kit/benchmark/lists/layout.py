"""What a list of pictures looks like: which of the field's forms it has, and which column holds what.

A list is recognised by its header, YFCC100M's headerless dump by what its columns hold. A column that is
needed and cannot be found is an error that says what the file has.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from signpost_kit.errors import ConfigError, DataError

__all__ = ["FORMATS", "Layout", "ListFormat", "describe_list", "is_address", "open_list"]

_SNIFFED = 1 << 18  # bytes that the encoding and the columns are told from
_COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

# The order is the preference: a list may hold a model's guess, or the positions in a shifted national datum, beside
# the truth; those columns are never taken.
_ROLES: dict[str, tuple[str, ...]] = {
    "id": (
        "img_id", "image_id", "photo_id", "panoid", "pano_id", "id", "imageid", "photoid", "key",
        "filename", "file_name", "file", "image", "image_path", "path", "photo", "picture", "sourcefile", "name",
    ),
    "lat": ("true_lat", "wgs_lat", "lat_wgs84", "gt_lat", "lat", "latitude"),
    "lon": ("true_lon", "true_lng", "wgs_lon", "wgs_lng", "lon_wgs84", "gt_lon", "lon", "lng", "long", "longitude"),
    "country": ("country", "country_code", "iso2", "cc"),
    "admin": ("province", "state", "region", "admin1", "admin"),
    "city": ("city", "town"),
    "county": ("county", "district"),
    "url": ("download_url", "image_url", "photo_url", "url"),
    "heading": ("heading", "yaw", "compass_angle"),
    "captured": ("capture_date", "captured_at", "date_taken", "date", "datetime"),
}  # fmt: skip


@dataclass(frozen=True)
class ListFormat:
    """One of the field's forms of a list."""

    name: str
    title: str
    ids: tuple[str, ...] = ()
    """Names that the id's column may have; the form is recognised by them. Empty: any."""
    header: bool = True


FORMATS: dict[str, ListFormat] = {
    form.name: form
    for form in (
        ListFormat("im2gps", "IMG_ID, LAT, LON (im2gps, im2gps3k, yfcc)", ids=("img_id",)),
        ListFormat("street-view", "panoid, province, city, county, wgs_lat, wgs_lon, heading, capture date",
                   ids=("panoid", "pano_id")),
        ListFormat("osv5m", "id, latitude and longitude (or true_lat, true_lon), the place in words", ids=("id",)),
        ListFormat("yfcc100m", "YFCC100M's table without a header, tab-separated", header=False),
        ListFormat("table", "any table with a header that names an id, a latitude and a longitude"),
    )
}  # fmt: skip
"""Name -> form, in the order in which they are tried."""


@dataclass(frozen=True)
class Layout:
    """How one file is to be read."""

    path: Path
    format: str
    encoding: str
    delimiter: str
    quoted: bool
    """False: quotation marks are ordinary characters (tab-separated dumps)."""
    header: tuple[str, ...]
    """Empty without a header."""
    width: int
    """Cells that a row must have."""
    columns: dict[str, int]
    """Role -> column, counted from 0. Always `id`; `lat` and `lon` unless only addresses were asked for."""
    marker: int | None = None
    """Column that is "1" for a video (YFCC100M)."""

    def column_name(self, role: str) -> str:
        """What the file calls the column of a role."""
        number = self.columns[role]
        return self.header[number] if self.header else f"column {number}"

    def describe(self) -> str:
        """One line: the form, and which column is which."""
        named = ", ".join(f"{role} = {self.column_name(role)}" for role in self.columns)
        return f"{FORMATS[self.format].title}; {named}"


def describe_list(path: Path | str, format: str = "auto", *, needs: Sequence[str] = ("id", "lat", "lon")) -> Layout:
    """Find out how a list is to be read, from its first 256 kB.

    Parameters
    ----------
    path
        CSV or TSV in UTF-8 (with or without BOM), UTF-16 with BOM, or Windows-1252; may be .gz, .bz2 or .xz.
    format
        A name in :data:`FORMATS`, or "auto".
    needs
        Roles that must have a column.

    Raises
    ------
    ConfigError
        `format` is unknown.
    DataError
        The file is missing, empty, no text, or a column is missing or stands twice.
    """
    path = Path(path)
    if format != "auto" and format not in FORMATS:
        raise ConfigError(f"unknown format {format!r} of a list; allowed are auto, {', '.join(FORMATS)}")
    sample, encoding = _sample(path)
    if format in ("auto", "yfcc100m"):
        layout = _headerless(path, sample, encoding)
        if layout is not None:
            return layout
        if format == "yfcc100m":
            raise DataError(
                f"{path} is no YFCC100M table: its rows need at least 15 cells between tabs, with a longitude, a "
                "latitude and a web address in columns 10, 11, 14 or 12, 13, 16 (counted from 0)"
            )
    return _with_header(path, sample, encoding, format, needs)


def open_list(layout_or_path: Layout | Path, encoding: str = "utf-8-sig") -> IO[str]:
    """The list as text, decompressed; bytes that are no UTF-8 stay visible as lone surrogates."""
    path = layout_or_path.path if isinstance(layout_or_path, Layout) else layout_or_path
    if isinstance(layout_or_path, Layout):
        encoding = layout_or_path.encoding
    errors = "surrogateescape" if encoding.startswith("utf-8") else "replace"
    opener = _COMPRESSED.get(path.suffix.lower())
    try:
        if opener is not None:
            return opener(path, "rt", encoding=encoding, errors=errors, newline="")
        return path.open(encoding=encoding, errors=errors, newline="")
    except OSError as error:
        raise DataError(f"the list {path} cannot be read ({error.strerror or error})") from error


def _sample(path: Path) -> tuple[list[str], str]:
    """The first lines as text, and the encoding."""
    if not path.is_file():
        raise DataError(f"the list {path} {'is a folder' if path.is_dir() else 'does not exist'}; check the path")
    opener = _COMPRESSED.get(path.suffix.lower(), open)
    try:
        with opener(path, "rb") as handle:
            data: bytes = handle.read(_SNIFFED)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataError(f"the list {path} cannot be read ({error})") from error
    if not data.strip():
        raise DataError(f"the list {path} is empty; give a CSV with an id, a latitude and a longitude")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text, encoding = data.decode("utf-16", "ignore"), "utf-16"
    else:
        try:
            text, encoding = codecs.getincrementaldecoder("utf-8-sig")().decode(data), "utf-8-sig"
        except UnicodeDecodeError:
            text, encoding = data.decode("cp1252", "replace"), "cp1252"
    if "\0" in text:
        raise DataError(f"{path} is no text file; save the list as CSV in UTF-8")
    lines = [line for line in io.StringIO(text) if line.strip()]
    if len(data) == _SNIFFED and len(lines) > 1:
        del lines[-1]  # cut in the middle
    return lines, encoding


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.strip().strip("\ufeff").casefold()).strip("_")


def _with_header(path: Path, sample: list[str], encoding: str, format: str, needs: Sequence[str]) -> Layout:
    def split(delimiter: str) -> tuple[str, ...]:
        try:
            return tuple(cell.strip() for cell in next(csv.reader(sample[:1], delimiter=delimiter)))
        except csv.Error:
            return ()

    def fitness(delimiter: str) -> tuple[int, int]:
        names = {_folded(name) for name in split(delimiter)}
        return sum(bool(names & set(known)) for known in _ROLES.values()), len(names)

    delimiter = max(",;\t|", key=fitness)
    header = split(delimiter)
    names = [_folded(name) for name in header]
    columns = {role: _find(path, names, known) for role, known in _ROLES.items()}
    chosen = _form(path, names, format)
    if FORMATS[chosen].ids:
        columns["id"] = _find(path, names, FORMATS[chosen].ids)
    found = {role: column for role, column in columns.items() if column is not None}
    for role in needs:
        if role not in found:
            shown = ", ".join(header[:30]) or "nothing"
            raise DataError(
                f"{path}: no column for the {_WORDS.get(role, role)}; its first line has {shown}; "
                f"call it one of {', '.join(_ROLES[role])}"
            )
    return Layout(path, chosen, encoding, delimiter, True, header, len(header), found)


_WORDS = {"lat": "latitude", "lon": "longitude", "id": "picture's id", "url": "web address", "admin": "province"}


def _find(path: Path, names: list[str], known: tuple[str, ...]) -> int | None:
    for name in known:
        if names.count(name) > 1:
            raise DataError(f"{path}: the column {name!r} stands twice; remove or rename one")
        if name in names:
            return names.index(name)
    return None


def _form(path: Path, names: list[str], format: str) -> str:
    """The form of a list with a header; a named one must fit."""
    if format != "auto":
        ids = FORMATS[format].ids
        if ids and not set(ids) & set(names):
            raise DataError(
                f"{path} has not the form {format!r}: no column {' or '.join(ids)}; its first line has "
                f"{', '.join(names[:30])}; leave the format out to have it recognised"
            )
        return format
    if "img_id" in names:
        return "im2gps"
    if {"panoid", "pano_id"} & set(names):
        return "street-view"
    osv5m = {"true_lat", "unique_city", "unique_country", "sub_region", "quadtree_10_1000", "drive_side"}
    return "osv5m" if "id" in names and osv5m & set(names) else "table"


# (id, longitude, latitude, address, marker of videos), counted from 0: the published table with a number in front
# and a hash behind the id, a cut with a number in front of the id, and the table as first published, where the
# second column is the user.
_YFCC = ((1, 12, 13, 16, 24), (1, 10, 11, 14, 24), (0, 10, 11, 14, 22))
_USER = re.compile(r"\d+(?:@|%40)N\d+", re.IGNORECASE)


def _headerless(path: Path, sample: list[str], encoding: str) -> Layout | None:
    """YFCC100M's table, told by what its columns hold; None if it is something else."""
    rows = [line.rstrip("\r\n").split("\t") for line in sample[:500]]
    width = max(len(row) for row in rows)
    rows = [row for row in rows if len(row) == width]
    best, chosen = 0.5, None
    for layout in _YFCC:
        ident, lon, lat, url, _ = layout
        if width <= url:
            continue
        placed = [row for row in rows if row[lon] or row[lat]]
        fits = sum(
            _is_degree(row[lon], 180) and _is_degree(row[lat], 90) and is_address(row[url]) for row in placed
        )
        named = sum(bool(row[ident]) and not _USER.fullmatch(row[ident]) for row in rows)
        score = fits / len(placed) * named / len(rows) if placed else 0.0
        if score > best:
            best, chosen = score, layout
    if chosen is None:
        return None
    ident, lon, lat, url, marker = chosen
    columns = {"id": ident, "lat": lat, "lon": lon, "url": url}
    return Layout(path, "yfcc100m", encoding, "\t", False, (), width, columns, marker if width > marker else None)


def is_address(text: str) -> bool:
    """Whether a cell is a web address that may be fetched."""
    return text.strip().casefold().startswith(("http://", "https://"))


def _is_degree(text: str, limit: int) -> bool:
    try:
        return abs(float(text)) <= limit
    except ValueError:
        return False
