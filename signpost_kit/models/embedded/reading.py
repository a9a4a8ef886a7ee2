"""From a picture's strings to places: which city does the writing name, and if none, who writes like this?"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from signpost_kit.geocoding.base import Place
from signpost_kit.geocoding.names import fold
from signpost_kit.models.embedded.languages import language_countries, languages_of
from signpost_kit.models.embedded.world import main_city

__all__ = ["Named", "Reading", "interpret", "regions"]

_MAX_NAMED = 8
_MAX_LINES = 24
_MISSPELT = 0.7  # coverage of a name with one wrong letter counts so much
_MAX_PER_LINE = 4  # places found in one string that are weighed against each other


@dataclass(frozen=True)
class Named:
    """A place that a string names."""

    place: Place
    text: str
    """The whole string it stands in."""
    coverage: float
    """Share of the string's letters that the name takes up, 0..1; 1 where the string is the name."""
    rank: int
    """0 for the place that the gazetteer finds most credible in the string, 1 for the next, ..."""

    @property
    def score(self) -> float:
        """How much a text-only reader believes in it: whole strings before parts, large places before small."""
        return self.coverage * math.log10(max(self.place.population, 10)) * 0.5**self.rank


@dataclass(frozen=True)
class Reading:
    """What the writing in one picture says."""

    lines: tuple[str, ...]
    named: tuple[Named, ...]
    """Places named, the most credible first."""
    languages: dict[str, float]
    """Weights that sum to 1, or empty."""


def interpret(lines: Sequence[str]) -> Reading:
    """Look every string up; the order of the strings does not matter, and none at all gives an empty reading."""
    kept = tuple(sorted({line.strip() for line in lines if line.strip()}, key=lambda s: (-len(s), s))[:_MAX_LINES])
    best: dict[tuple[float, float], Named] = {}
    for line in kept:
        for named in _named_in(line):
            spot = (named.place.lat, named.place.lon)
            if spot not in best or named.score > best[spot].score:
                best[spot] = named
    ordered = sorted(best.values(), key=lambda n: (-n.score, n.place.name, n.place.lat))
    return Reading(kept, tuple(ordered[:_MAX_NAMED]), languages_of(kept))


def regions(reading: Reading, limit: int = 4) -> list[Place]:
    """Main cities of the countries that the languages point to, the most likely first."""
    weights: dict[str, float] = {}
    for language, weight in reading.languages.items():
        for position, country in enumerate(language_countries(language)):
            weights[country] = weights.get(country, 0.0) + weight / (1 + position)
    ordered = sorted(weights, key=lambda code: (-weights[code], code))
    return [city for code in ordered[:limit] if (city := main_city(code)) is not None]


@functools.lru_cache(maxsize=8192)
def _named_in(line: str) -> tuple[Named, ...]:
    from signpost_kit.geocoding import default_gazetteer

    letters = max(1, len(fold(line).replace(" ", "")))
    found = []
    for rank, place in enumerate(default_gazetteer().search(line)[:_MAX_PER_LINE]):
        if place.exact or place.whole:  # a part of a string, and that misspelt, is mostly chance
            coverage = min(1.0, len(place.query.replace(" ", "")) / letters)
            found.append(Named(place, line, coverage if place.exact else _MISSPELT * coverage, rank))
    return tuple(found)
