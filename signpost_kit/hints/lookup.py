"""Looking names up in a run's own reference points and cities: offline, and the same for every model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost_kit.geocoding.base import Place
from signpost_kit.geocoding.names import fold

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.hints.plan import HintSite

__all__ = ["LocalLookup"]


class LocalLookup:
    """Text -> places: reference points by their English and local names, and cities (the middle of their sites).

    The referenceability of a point stands in for its number of sitelinks. Calling it gives the candidates.
    """

    name = "local"

    def __init__(self, sites: Sequence[HintSite], points: pd.DataFrame) -> None:
        from signpost_kit.geo import spherical_mean

        self._places: dict[str, list[Place]] = {}
        cities: dict[str, list[HintSite]] = {}
        for site in sites:
            cities.setdefault(site.city, []).append(site)
        for city, members in cities.items():
            lat, lon = spherical_mean([s.lat for s in members], [s.lon for s in members])
            self._add(city, Place(float(lat), float(lon), city, country=members[0].country, sitelinks=1000))
        for row in points.drop_duplicates(["qid", "name_en"]).to_dict("records"):
            if not (math.isfinite(row["lat"]) and math.isfinite(row["lon"])):
                continue  # released ladders have distances only
            known = math.isfinite(row["referenceability"])
            place = Place(
                float(row["lat"]),
                float(row["lon"]),
                str(row["name_en"]),
                kind="point",
                source_id=str(row["qid"]),
                sitelinks=round(row["referenceability"]) if known else 0,
            )
            for name in dict.fromkeys((row["name_en"], row.get("name_local") or row["name_en"])):
                self._add(str(name), place)

    def _add(self, name: str, place: Place) -> None:
        key = fold(name)
        if key:
            self._places.setdefault(key, []).append(place)

    def __call__(self, text: str) -> list[Place]:
        """Candidates of exactly that name, case and accents aside."""
        return self._places.get(fold(text), [])
