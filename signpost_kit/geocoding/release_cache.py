"""The release's geocode_cache.json, {lower-cased text: {lat, lon, display} | null}, in and out without loss."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from signpost_kit.errors import DataError
from signpost_kit.files import write_text
from signpost_kit.geocoding.base import LookupFailed, Place
from signpost_kit.geocoding.cache import Entry, Settings
from signpost_kit.geocoding.queries import query_of

__all__ = ["RELEASE", "dump_release_cache", "read_release_cache", "release_cache_of", "write_release_cache"]

RELEASE = Settings("nominatim", limit=1)
"""How the release's answers are kept when nothing else is said: one candidate, in a language it does not tell."""


def read_release_cache(path: Path | str, settings: Settings = RELEASE) -> list[Entry]:
    """The answers in a release's geocode_cache.json, in the file's order.

    Parameters
    ----------
    settings
        Under which they are kept. The file does not tell the language; a run that is to go on from these answers
        names its own settings here.

    Returns
    -------
    list of Entry
        One candidate each, none where the file says null; `reply` is the file's own value. Country and continent
        are those of the nearest city of the gazetteer, where it is within 300 km.

    Raises
    ------
    DataError
        The file is missing, cut off, no such mapping, a position is not on the globe, or two texts that differ in
        case alone have different answers. The text is named.
    """
    file = Path(path)
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the kept answers {file}: {error.strerror or error}") from error
    try:
        data = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_pairs)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file} is damaged or cut off ({error}): fetch it again") from error
    if not isinstance(data, _Pairs):
        raise DataError(f"{file} is no geocode_cache.json: it should be a mapping from texts to positions or null")
    entries: dict[str, Entry] = {}
    for text, value in data.items:
        entry = _entry(file, text, value, settings)
        other = entries.setdefault(entry.key, entry)
        if other is not entry and other.reply != entry.reply:
            raise DataError(
                f"{file}: {other.text!r} and {text!r} are one text with two answers: remove one of them"
            )
    return list(entries.values())


class _Pairs:
    """A JSON object with its pairs as they stand, so that a text that stands twice is seen."""

    def __init__(self, items: list[tuple[str, Any]]) -> None:
        self.items = items


def _pairs(items: list[tuple[str, Any]]) -> Any:
    return _Pairs(items)


def _plain(value: Any) -> Any:
    if isinstance(value, _Pairs):
        return {key: _plain(inner) for key, inner in value.items}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _entry(file: Path, text: str, value: Any, settings: Settings) -> Entry:
    value = _plain(value)
    try:
        text.encode()
        query = query_of(text)
    except UnicodeEncodeError as error:
        raise DataError(f"{file}: {text!r} is no sound text ({error.reason}): correct it") from error
    except LookupFailed:
        query = text.strip()  # the study may have asked what we would not
    reply = json.dumps(value).encode()
    if value is None:
        return Entry(settings, text, query, (), file.name, None, reply)
    try:
        lat, lon = float(value["lat"]), float(value["lon"])
        if not (math.isfinite(lat) and math.isfinite(lon) and -90 <= lat <= 90 and -180 <= lon <= 180):
            raise ValueError(f"{lat}, {lon} is not on the globe")
    except (TypeError, KeyError, ValueError) as error:
        raise DataError(f"{file}: the answer to {text!r} has no sound lat and lon ({error}): correct it") from error
    display = str(value.get("display") or "")
    country, continent = _country(lat, lon)
    name = display.split(",", maxsplit=1)[0].strip() or query
    place = Place(lat, lon, name, country, kind="", continent=continent, query=query, display=display)
    return Entry(settings, text, query, (place,), file.name, None, reply)


def _country(lat: float, lon: float) -> tuple[str, str]:
    from signpost_kit.geocoding.countries import country_at

    return country_at(lat, lon)


def release_cache_of(entries: Iterable[Entry]) -> dict[str, Mapping[str, Any] | None]:
    """The release's mapping: the first candidate of every answer; imported answers exactly as they came."""
    found: dict[str, Mapping[str, Any] | None] = {}
    for entry in entries:
        if entry.origin != "asked" and entry.reply:
            found[entry.text] = json.loads(entry.reply)
        elif entry.places:
            first = entry.places[0]
            found[entry.key] = {"lat": first.lat, "lon": first.lon, "display": first.display or first.name}
        else:
            found[entry.key] = None
    return found


def dump_release_cache(entries: Iterable[Entry]) -> str:
    """:func:`release_cache_of` as JSON text."""
    return json.dumps(release_cache_of(entries), ensure_ascii=False, indent=1) + "\n"


def write_release_cache(path: Path | str, entries: Iterable[Entry]) -> None:
    """Write a geocode_cache.json, whole or not at all."""
    write_text(Path(path), dump_release_cache(entries))
