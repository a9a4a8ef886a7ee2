"""The plain files of the SIGNPOST release: JSON lines, the table of positions, the geocoding cache.

Nothing here knows what a line means. A line that cannot be read is left out and listed with its number; of several
lines about one thing the last wins.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from signpost_kit.errors import DataError
from signpost_kit.files import write_bytes

if TYPE_CHECKING:
    from signpost_kit.benchmark.results_jsonl import Problem

__all__ = ["image_stem", "last_of_each", "position_of", "read_cache", "read_jsonl", "read_positions", "write_jsonl"]

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".heic", ".avif")
_ID, _LON, _LAT, _ADDRESS = 1, 10, 11, 14  # columns of the table of positions, as in YFCC100M
_COLUMNS = 20


def image_stem(name: str) -> str:
    """A picture's name without folders and image suffix; other dots belong to the name."""
    last = name.replace("\\", "/").rpartition("/")[2]
    stem, dot, suffix = last.rpartition(".")
    return stem if stem and f"{dot}{suffix}".lower() in IMAGE_SUFFIXES else last


def read_jsonl(path: Path, problems: list[Problem]) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines; what cannot be read is added to `problems`.

    Raises
    ------
    DataError
        The file is there but cannot be opened.
    """
    rows = _read(path).split(b"\n")  # not splitlines: a text may hold other line separators
    last = max((n for n, row in enumerate(rows, start=1) if row.strip()), default=0)
    for number, row in enumerate(rows, start=1):
        if not row.strip():
            continue
        try:
            value = _decode(row)
        except (ValueError, RecursionError) as error:
            _problem(problems, path, number, number == last, f"cannot be read ({error})")
            continue
        if isinstance(value, dict):
            yield value
        else:
            _problem(problems, path, number, number == last, "is no JSON object")


def _decode(row: bytes) -> Any:
    try:
        return msgspec.json.decode(row)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # NaN is no JSON, but it is what other writers make of a missing number.
        return json.loads(row, parse_constant=lambda _: None)


def _problem(problems: list[Problem], path: Path, number: int, is_last: bool, reason: str) -> None:
    from signpost_kit.benchmark.results_jsonl import Problem

    problems.append(Problem(path, number, is_last, reason))


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    return data.removeprefix(b"\xef\xbb\xbf")


def last_of_each(
    lines: Iterable[dict[str, Any]], key: Callable[[dict[str, Any]], Any]
) -> tuple[dict[Any, dict[str, Any]], int]:
    """Lines by key, in the order of first appearance, with the last one's content; and how many were repeated.

    A line without a key (None or empty) is left out.
    """
    kept: dict[Any, dict[str, Any]] = {}
    n_repeated = 0
    for line in lines:
        name = key(line)
        if not name:
            continue
        n_repeated += name in kept
        kept[name] = line
    return kept, n_repeated


def write_jsonl(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Write JSON lines, whole or not at all."""
    encoder = msgspec.json.Encoder()
    write_bytes(path, b"".join(encoder.encode(line) + b"\n" for line in lines))


# --- positions ------------------------------------------------------------------------------------------------


def position_of(lat: Any, lon: Any) -> tuple[float, float] | str:
    """A position in degrees, or why it is none."""
    try:
        north, east = float(lat), float(lon)
    except (TypeError, ValueError):
        return f"the position {lat!r}, {lon!r} is no pair of numbers"
    if not (math.isfinite(north) and math.isfinite(east)):
        return f"the position {lat}, {lon} is no pair of finite numbers"
    if abs(north) > 90 and abs(east) <= 90:
        return f"the latitude {north:g} is beyond 90: latitude and longitude seem to be exchanged"
    if abs(north) > 90 or abs(east) > 180:
        return f"the position {north:g}, {east:g} is not on the globe"
    if north == 0 and east == 0:
        return "the position 0, 0 stands for a missing one"
    return north, east


def read_positions(path: Path) -> dict[str, tuple[float, float] | str]:
    """Positions by file name, by file name without suffix, and by the name that ends the address.

    The value is (latitude, longitude) or the reason why the row has none; of two rows with one name the last wins.
    """
    found: dict[str, tuple[float, float] | str] = {}
    text = _read(path).decode("utf-8", errors="replace")
    for row in text.split("\n"):
        parts = row.rstrip("\r").split("\t")
        if len(parts) <= _LAT:
            continue
        place = position_of(parts[_LAT], parts[_LON])
        names = [parts[_ID].strip()]
        if len(parts) > _ADDRESS:
            names.append(parts[_ADDRESS].strip().rstrip("/").rpartition("/")[2])
        for name in names:
            if name and name != "0":
                found[name] = found[image_stem(name)] = place
    return found


def positions_text(rows: Iterable[tuple[str, float, float]]) -> str:
    """The table of positions: file name, latitude, longitude of each picture; unused columns hold 0."""
    lines = []
    for name, lat, lon in rows:
        cells = ["0"] * _COLUMNS
        cells[_ID], cells[_LAT], cells[_LON] = name, repr(float(lat)), repr(float(lon))
        cells[_ADDRESS] = f"filtered_images/{name}"
        lines.append("\t".join(cells) + "\n")
    return "".join(lines)


# --- geocoding cache ------------------------------------------------------------------------------------------


def read_cache(path: Path) -> dict[str, dict[str, Any] | None]:
    """The geocoding cache by lower-cased text; None where nothing was found.

    Raises
    ------
    DataError
        The file is damaged: a cache cut off half way is never taken for an empty one.
    """
    try:
        data = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"the geocoding cache {path} is damaged ({error}): copy or download it again") from error
    if not isinstance(data, dict):
        raise DataError(f"the geocoding cache {path} must be an object with one entry per text")
    for text, entry in data.items():
        if entry is not None and not (isinstance(entry, dict) and {"lat", "lon"} <= set(entry)):
            raise DataError(f"the geocoding cache {path}: the entry {text!r} is neither null nor has lat and lon")
    return data
