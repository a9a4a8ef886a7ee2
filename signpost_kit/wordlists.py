"""The word lists in params/taxonomy.yml, checked and folded to normal form once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError
from signpost_kit.normal_form import fold, is_unspaced
from signpost_kit.roadwords import RoadIndex, RoadWords

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RoadWords", "WordLists", "load_wordlists", "tier_definitions", "wordlists_file"]

_ROAD_LISTS = ("words", "glued", "run", "ends")
_ROAD_KEYS = ("position", "literal", *_ROAD_LISTS)
_POSITIONS = ("first", "last", "any")


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
    address_phrases: frozenset[str]
    """Beside a number they make an address (`po box 12`)."""

    # What the rules look up, made at first use.

    @functools.cached_property
    def judged(self) -> dict[tuple[str, str | None], tuple[str, str]]:
        """Texts that were judged with these lists, by text and script: street pictures repeat themselves."""
        return {}

    @functools.cached_property
    def road_index(self) -> RoadIndex:
        """The road words of all languages."""
        return RoadIndex(self.roads)

    @functools.cached_property
    def brand_kinds(self) -> dict[str, str]:
        """Kind of brand by name; vehicles and cameras before others."""
        return self._kinds(str)

    @functools.cached_property
    def joined_brand_kinds(self) -> dict[str, str]:
        """The same by name without blanks, of at least five letters."""
        return {name: kind for name, kind in self._kinds(_joined).items() if len(name) > 4}

    def _kinds(self, form: Callable[[str], str]) -> dict[str, str]:
        kinds = {"global brand": self.global_brands, "camera brand": self.camera_brands}
        kinds["vehicle brand"] = self.vehicle_brands  # the last one wins
        return {form(name): kind for kind, names in kinds.items() for name in names}

    @functools.cached_property
    def joined_signs(self) -> frozenset[str]:
        """Generic signs of several words, without their blanks."""
        return frozenset(_joined(sign) for sign in self.generic_signs if " " in sign)

    @functools.cached_property
    def joined_watermarks(self) -> frozenset[str]:
        """Watermarks without blanks."""
        return frozenset(_joined(mark) for mark in self.watermarks)

    @functools.cached_property
    def watermark_phrases(self) -> tuple[str, ...]:
        """Watermarks of several words."""
        return tuple(sorted(mark for mark in self.watermarks if " " in mark))

    @functools.cached_property
    def landmark_words(self) -> int:
        """Most words that a landmark has."""
        return max((len(mark.split()) for mark in self.landmarks), default=0)

    @functools.cached_property
    def unspaced_landmarks(self) -> tuple[str, ...]:
        """Landmarks in scripts without blanks, longest first."""
        return _by_length(mark for mark in self.landmarks if is_unspaced(mark))


def _joined(text: str) -> str:
    return text.replace(" ", "")


def wordlists_file() -> Path:
    """params/taxonomy.yml, nearest to the working directory upwards, else beside the package.

    Raises
    ------
    ConfigError
        There is none.
    """
    path = _nearest(str(Path.cwd()))
    if not path.is_file():
        _nearest.cache_clear()
        path = _nearest(str(Path.cwd()))
    return path


@functools.lru_cache(maxsize=64)
def _nearest(folder: str) -> Path:
    """Looked for once per working directory: a hundred thousand texts ask for it."""
    here = Path(folder)
    for root in (here, *here.parents, Path(__file__).resolve().parents[1]):
        path = root / "params" / "taxonomy.yml"
        if path.is_file():
            return path.resolve()
    raise ConfigError("params/taxonomy.yml is missing: run inside the project's folder or restore the file")


def load_wordlists(path: Path | None = None) -> WordLists:
    """The lists of a file (the project's by default), read once per file and content.

    Raises
    ------
    ConfigError
        The file is missing, is not valid YAML, or has an unknown, missing or misshapen entry (named).
    """
    file = wordlists_file() if path is None else path.resolve()
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
    allowed = {"tiers", "addresses", "roads", "districts", "brands", "common_words", *plain}
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
        address_phrases=_folded(data["addresses"], "addresses", path),
    )


def tier_definitions(path: Path | None = None) -> pd.DataFrame:
    """What the three tiers mean: tier, name, meaning, rules, examples (Table 10 of SIGNPOST-Bench, in own words).

    Raises
    ------
    ConfigError
        The file's section `tiers` lacks a tier or a key.
    """
    import pandas as pd

    from signpost_kit.frames import TIERS
    from signpost_kit.strict_yaml import read_yaml

    file = path or wordlists_file()
    data, _ = read_yaml(file)
    tiers = _mapping(data, "tiers", set(TIERS), file)
    rows = []
    for tier in TIERS:
        entry = _mapping(tiers, tier, {"name", "meaning", "rules", "examples"}, file)
        for key in ("rules", "examples"):
            _folded(entry[key], f"tiers.{tier}.{key}", file)  # checks the shape
        rows.append({"tier": tier, **entry, **{k: "; ".join(entry[k]) for k in ("rules", "examples")}})
    return pd.DataFrame(rows, columns=pd.Index(["tier", "name", "meaning", "rules", "examples"]))


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
