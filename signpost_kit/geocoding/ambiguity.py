"""Whether a name could as well mean another place: candidates of one name that lie far apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from signpost_kit.geocoding.base import Place
from signpost_kit.geocoding.names import fold

__all__ = ["FAR_KM", "Homonyms", "homonyms"]

FAR_KM = 100.0
_SIMILAR = 5.0  # as for the gazetteer: at most so many times the people, or the wikis with an article
_IMPORTANCE_GAP = 0.12  # Nominatim's importance is a logarithm over its maximum: ln 5 / ln 10^6


@dataclass(frozen=True)
class Homonyms:
    """Candidates that are called like the first one and lie more than :data:`FAR_KM` from it."""

    count: int = 0
    farthest_km: float = float("nan")
    """NaN when there is none."""
    ambiguous: bool = False
    """True when one of them is about as prominent as the first (population, sitelinks or importance; without any of
    these every one of them counts), so that the text could as well mean it."""


def homonyms(places: Sequence[Place]) -> Homonyms:
    """Look at the candidates of one answer, best first; none or one gives no homonyms."""
    if len(places) < 2:
        return Homonyms()
    from signpost_kit.geo import haversine_km

    first, name = places[0], fold(places[0].name)
    same = [place for place in places[1:] if fold(place.name) == name]
    far = [(float(haversine_km(first.lat, first.lon, p.lat, p.lon)), p) for p in same]
    far = [(distance, place) for distance, place in far if distance > FAR_KM]
    if not far:
        return Homonyms()
    return Homonyms(len(far), max(distance for distance, _ in far), any(_rivals(first, p) for _, p in far))


def _rivals(first: Place, other: Place) -> bool:
    if first.population and other.population:
        return other.population * _SIMILAR >= first.population
    if first.sitelinks is not None and other.sitelinks is not None:
        return (other.sitelinks + 1) * _SIMILAR >= first.sitelinks + 1
    if first.importance is not None and other.importance is not None:
        return other.importance >= first.importance - _IMPORTANCE_GAP
    return True
