"""The word lists in params/taxonomy.yml, checked and folded to normal form once."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signpost_kit.errors import ConfigError
from signpost_kit.geocoding.names import fold

__all__ = ["RoadWords", "WordLists", "load_wordlists", "wordlists_file"]

_ROAD_LISTS = ("words", "glued", "run", "ends")
_ROAD_KEYS = ("position", "literal", *_ROAD_LISTS)
_POSITIONS = ("first", "last", "any")


@dataclass(frozen=True)
class RoadWords:
    """How roads are called in one language, in normal form."""

    position: str
    """Where `words` stand in a name: first, last or any."""
    words: frozenset[str]
    """Stand apart from the name."""
    glued: tuple[str, ...]
    """End one word with the name, longest first."""
    run: tuple[str, ...]
    """Stand inside text without spaces, longest first."""
    ends: tuple[str, ...]
    """End a run of letters without spaces."""
    literal: frozenset[str] = frozenset()
    """First words whose accents matter, in small letters."""


@dataclass(frozen=True)
class WordLists:
    """All lists in normal form; phrases keep single blanks."""

    roads: dict[str, RoadWords]
    """By language (ISO 639)."""
    road_words: frozenset[str]
    """The words of all languages."""
    district_words: frozenset[str]
    district_run: tuple[str, ...]
    landmarks: frozenset[str]
    generic_signs: frozenset[str]
    sign_words: frozenset[str]
    """Single words that make no local name: of generic signs and `generic_words`, without those of roads."""
    global_brands: frozenset[str]
    vehicle_brands: frozenset[str]
    camera_brands: frozenset[str]
    watermarks: frozenset[str]
    placeholders: frozenset[str]
    months: frozenset[str]
    shop_words: frozenset[str]
    common_words: frozenset[str]


def wordlists_file() -> Path:
    """params/taxonomy.yml, nearest to the working directory upwards, else beside the package.

    Raises
    ------
    ConfigError
        There is none.
    """
    here = Path.cwd()
    roots = [here, *here.parents, Path(__file__).resolve().parents[1]]
    for root in roots:
        path = root / "params" / "taxonomy.yml"
        if path.is_file():
            return path
    raise ConfigError("params/taxonomy.yml is missing: run inside the project's folder or restore the file")


def load_wordlists(path: Path | None = None) -> WordLists:
    """The lists of a file (the project's by default), read once per file and content.

    Raises
    ------
    ConfigError
        The file is missing, is not valid YAML, or has an unknown, missing or misshapen entry (named).
    """
    file = (path or wordlists_file()).resolve()
    try:
        stamp = file.stat().st_mtime_ns
    except OSError as error:
        raise ConfigError(f"cannot read the word lists {file}: {error.strerror}") from error
    return _load(file, stamp)


@functools.lru_cache(maxsize=8)
def _load(path: Path, _stamp: int) -> WordLists:
    from signpost_kit.strict_yaml import read_yaml

    data, _ = read_yaml(path)
    plain = ("landmarks", "generic_signs", "generic_words", "watermarks", "placeholders", "months", "shop_words")
    allowed = {"roads", "districts", "brands", "common_words", *plain}
    _check_keys(data, allowed, "", path)
    brands = _mapping(data, "brands", {"global", "vehicle", "camera"}, path)
    districts = _mapping(data, "districts", {"words", "run"}, path)
    roads = {str(code): _road(entry, str(code), path) for code, entry in data["roads"].items()}
    lists = {name: _folded(data[name], name, path) for name in (*plain, "common_words")}
    road_words = frozenset(word for road in roads.values() for word in road.words)
    return WordLists(
        roads=roads,
        road_words=road_words,
        district_words=_folded(districts["words"], "districts.words", path),
        district_run=_by_length(_folded(districts["run"], "districts.run", path)),
        landmarks=lists["landmarks"],
        generic_signs=lists["generic_signs"],
        sign_words=(frozenset(w for sign in lists["generic_signs"] for w in sign.split()) | lists["generic_words"])
        - road_words,
        global_brands=_folded(brands["global"], "brands.global", path),
        vehicle_brands=_folded(brands["vehicle"], "brands.vehicle", path),
        camera_brands=_folded(brands["camera"], "brands.camera", path),
        watermarks=lists["watermarks"],
        placeholders=lists["placeholders"],
        months=lists["months"],
        shop_words=lists["shop_words"],
        common_words=lists["common_words"],
    )


def _road(entry: Any, code: str, path: Path) -> RoadWords:
    where = f"roads.{code}"
    if not isinstance(entry, dict):
        raise ConfigError(f"{path}: {where} must be a mapping with the keys {', '.join(_ROAD_KEYS)}")
    if unknown := set(entry) - set(_ROAD_KEYS):
        raise ConfigError(f"{path}: unknown key {where}.{min(unknown)}; allowed: {', '.join(_ROAD_KEYS)}")
    position = entry.get("position")
    if position not in _POSITIONS:
        raise ConfigError(f"{path}: {where}.position is {position!r}; allowed: {', '.join(_POSITIONS)}")
    parts = {key: _folded(entry.get(key, []), f"{where}.{key}", path) for key in _ROAD_LISTS}
    literal = entry.get("literal", [])
    _folded(literal, f"{where}.literal", path)  # checks the shape
    return RoadWords(
        position,
        parts["words"],
        _by_length(parts["glued"]),
        _by_length(parts["run"]),
        _by_length(parts["ends"]),
        frozenset(word.casefold() for word in literal),
    )


def _mapping(data: dict[str, Any], name: str, keys: set[str], path: Path) -> dict[str, Any]:
    entry = data[name]
    if not isinstance(entry, dict):
        raise ConfigError(f"{path}: {name} must be a mapping with the keys {', '.join(sorted(keys))}")
    _check_keys(entry, keys, f"{name}.", path)
    return entry


def _check_keys(data: dict[str, Any], allowed: set[str], prefix: str, path: Path) -> None:
    if unknown := set(data) - allowed:
        raise ConfigError(f"{path}: unknown key {prefix}{min(unknown)}; allowed: {', '.join(sorted(allowed))}")
    if missing := allowed - set(data):
        raise ConfigError(
            f"{path}: the key {prefix}{min(missing)} is missing; restore it (an empty list is allowed)"
        )


def _folded(value: Any, name: str, path: Path) -> frozenset[str]:
    if not isinstance(value, list):
        raise ConfigError(f"{path}: {name} must be a list of texts, got {value!r}")
    for entry in value:
        if not isinstance(entry, str):
            raise ConfigError(f"{path}: {name} holds {entry!r}, which YAML reads as no text; put it in quotes")
    return frozenset(folded for entry in value if (folded := fold(entry)))


def _by_length(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(words, key=lambda word: (-len(word), word)))
