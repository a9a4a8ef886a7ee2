"""Which cities and sites may be used: how far apart districts lie, where there are pictures, and a draw by seed.

Source: GeoContext, 3.1 and 3.2.1. The bounds are constants here, each with what it is in the study.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import hash_bytes
from signpost_kit.normal_form import fold

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.ladder.around import Entity

__all__ = [
    "PLACE_KINDS",
    "SCALE_KM",
    "Admission",
    "DistrictScale",
    "SiteRules",
    "admit_city",
    "district_scale",
    "is_block_number",
    "select_sites",
    "site_pictures",
]

PLACE_KINDS = ("neighbourhood", "suburb", "quarter")
"""Values of OpenStreetMap's place=* that count as districts."""
DISTRICT_RADIUS_KM = 6.0
SCALE_KM = (0.32, 0.65)
"""Cities whose district scale lies within are admitted, both ends included."""
CITY_PICTURES, CITY_RADIUS_KM = 30, 1.0
"""A city needs so many perspective pictures so near to its centre."""
_BLOCK = re.compile(r"丁目|\bch[oō]u?me\b|\d+\s*-?\s*ch[oō]u?me", re.IGNORECASE)


@dataclass(frozen=True)
class SiteRules:
    """What a site must be."""

    radius_km: float = 3.0
    """From the city's centre."""
    most_sitelinks: int = 60
    """More: an icon, which every model knows."""
    pictures: int = 8
    """Perspective pictures within `picture_m` metres."""
    picture_m: float = 150.0
    apart_m: float = 250.0
    """Between two sites at least."""
    per_city: int = 3


@dataclass(frozen=True)
class DistrictScale:
    """How far apart the districts of a place lie."""

    median_km: float
    """Median distance from a district's node to the nearest other one; NaN for fewer than two nodes."""
    mean_km: float
    n: int
    """Nodes counted."""
    n_raw: int
    """With the numbered blocks, which are not counted."""
    per_km2: float


@dataclass(frozen=True)
class Admission:
    """Whether a city may be used, and why not."""

    ok_pictures: bool
    ok_scale: bool
    reason: str = ""

    @property
    def eligible(self) -> bool:
        """Both conditions hold."""
        return self.ok_pictures and self.ok_scale


def is_block_number(*names: str) -> bool:
    """Whether a node is a numbered block of Japanese addresses, which says nothing of how far apart districts lie.

    >>> is_block_number("渋谷二丁目"), is_block_number("Shibuya 2-chome"), is_block_number("Yanaka")
    (True, True, False)
    """
    return any(_BLOCK.search(name) is not None for name in names if name)


def district_scale(
    nodes: pd.DataFrame, lat: float, lon: float, *, radius_km: float = DISTRICT_RADIUS_KM
) -> DistrictScale:
    """The district scale around a point.

    Parameters
    ----------
    nodes
        OpenStreetMap's place nodes: lat, lon, place, name, name_en (see
        :func:`signpost_kit.ladder.lists.read_place_nodes`). Other kinds of places are left out.
    """
    from signpost_kit.geo import haversine_km

    kinds = nodes.loc[nodes["place"].isin(PLACE_KINDS)].drop_duplicates(["lat", "lon", "name"])
    near = kinds.loc[
        np.asarray(haversine_km(lat, lon, kinds["lat"].to_numpy(float), kinds["lon"].to_numpy(float))) <= radius_km
    ]
    blocks = np.array(
        [is_block_number(a, b) for a, b in zip(near["name"], near["name_en"], strict=True)], dtype=bool
    )
    kept = near.loc[~blocks] if len(near) else near
    distance = _nearest_km(kept["lat"].to_numpy(float), kept["lon"].to_numpy(float))
    median, mean = (float(np.median(distance)), float(distance.mean())) if len(distance) else (math.nan, math.nan)
    return DistrictScale(median, mean, len(kept), len(near), len(kept) / (math.pi * radius_km**2))


def admit_city(
    pictures: int, scale_km: float, *, least: int = CITY_PICTURES, bounds: tuple[float, float] = SCALE_KM
) -> Admission:
    """Whether a city may be used.

    Parameters
    ----------
    pictures
        Perspective pictures within 1 km of its centre.
    scale_km
        Its district scale; NaN where it could not be measured.
    """
    enough, inside = pictures >= least, bounds[0] <= scale_km <= bounds[1]
    reasons = []
    if not enough:
        reasons.append(f"{pictures} perspective pictures, {least} are needed")
    if math.isnan(scale_km):
        reasons.append("the district scale is not known (fewer than two nodes)")
    elif not inside:
        reasons.append(f"the district scale is {scale_km:.2f} km, not within {bounds[0]:g} to {bounds[1]:g}")
    return Admission(enough, bool(inside), "; ".join(reasons))


def select_sites(
    entities: Iterable[Entity],
    pictures: pd.DataFrame,
    *,
    city: str,
    country: str,
    centre: tuple[float, float],
    kinds: Mapping[str, str],
    seed: int = 42,
    rules: SiteRules | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw a city's sites at random from the entities that may be one.

    The order is a lot by seed and id: neither sitelinks nor distance nor the order of `entities` decide.

    Parameters
    ----------
    entities
        Around the centre (:class:`~signpost_kit.ladder.around.Around` with `kinds`).
    pictures
        id, lat, lon, perspective of street-level pictures.
    centre
        (lat, lon) in degrees.
    kinds
        Name -> Wikidata class, :func:`~signpost_kit.ladder.wikidata.photographable`.

    Returns
    -------
    sites : columns of a release's sites.csv (site, city, country, continent, landmark, qid, wd_type, lat, lon,
        sitelinks, sv_perspective, selection_method); fewer than wanted where there are no more
    refused : qid, landmark, reason, of every entity that was looked at and is no site

    Raises
    ------
    ConfigError
        A rule is not positive.
    DataError
        `pictures` lacks a column.
    """
    import pandas as pd

    from signpost_kit.geo import haversine_km
    from signpost_kit.geocoding.countries import continent_of
    from signpost_kit.ladder.sites import continent_code

    rules = rules or SiteRules()
    if min(rules.radius_km, rules.pictures, rules.picture_m, rules.per_city) <= 0 or rules.apart_m < 0:
        raise ConfigError(f"{rules}: radius_km, pictures, picture_m and per_city must be above 0")
    taken_at = _perspective(pictures)
    names = {qid: name for name, qid in kinds.items()}
    chosen: list[dict[str, Any]] = []
    refused: list[tuple[str, str, str]] = []
    for entity in sorted(entities, key=lambda e: hash_bytes(f"site|{seed}|{e.qid}".encode())):
        name = entity.name_en or entity.name_local
        kind = next((names[k] for k in entity.kinds if k in names), "")
        far = float(haversine_km(*centre, entity.lat, entity.lon))
        reason = _unfit(entity, name, kind, far, rules)
        count = 0 if reason else int((_metres(entity, taken_at) <= rules.picture_m).sum())
        if not reason and count < rules.pictures:
            reason = f"{count} perspective pictures within {rules.picture_m:g} m, {rules.pictures} are needed"
        if not reason and any(_metres(entity, np.array([[c["lat"], c["lon"]]]))[0] < rules.apart_m for c in chosen):
            reason = f"nearer than {rules.apart_m:g} m to a site"
        if not reason and len(chosen) == rules.per_city:
            reason = "the city has its sites"
        if reason:
            refused.append((entity.qid, name, reason))
            continue
        chosen.append(
            {
                **{"site": _slug(city, name, {c["site"] for c in chosen}), "city": city, "country": country},
                **{"continent": continent_code(continent_of(country)), "landmark": name, "qid": entity.qid},
                **{"wd_type": kind, "lat": entity.lat, "lon": entity.lon, "sitelinks": entity.sitelinks},
                **{"sv_perspective": count, "selection_method": "algorithm"},
            }
        )
    columns = [
        *("site", "city", "country", "continent", "landmark", "qid", "wd_type", "lat", "lon", "sitelinks"),
        *("sv_perspective", "selection_method"),
    ]
    return pd.DataFrame(chosen, columns=columns), pd.DataFrame(refused, columns=["qid", "landmark", "reason"])


def site_pictures(
    sites: pd.DataFrame, pictures: pd.DataFrame, *, per_site: int = 8, within_m: float = 150.0, seed: int = 42
) -> pd.DataFrame:
    """The pictures to fetch for each site: at most `per_site` perspective ones near it, drawn by seed.

    Returns
    -------
    image, site, lat, lon, m (metres to the site); no picture belongs to two sites (the nearer one has it).
    """
    import pandas as pd

    points = pictures.loc[pictures["perspective"].astype(bool)].drop_duplicates("id")
    at = points[["lat", "lon"]].to_numpy(float)
    rows: list[tuple[str, str, float, float, float]] = []
    if len(points) and len(sites):
        metres = np.array([_metres_at(lat, lon, at) for lat, lon in sites[["lat", "lon"]].to_numpy(float)])
        nearest = metres.argmin(axis=0)
        for s, site in enumerate(sites["site"]):
            mine = [i for i in np.flatnonzero(nearest == s) if metres[s, i] <= within_m]
            mine.sort(key=lambda i: hash_bytes(f"picture|{seed}|{site}|{points['id'].iloc[i]}".encode()))
            for i in mine[:per_site]:
                rows.append(
                    (str(points["id"].iloc[i]), str(site), at[i, 0], at[i, 1], round(float(metres[s, i]), 1))
                )
    return pd.DataFrame(rows, columns=["image", "site", "lat", "lon", "m"])


def _unfit(entity: Entity, name: str, kind: str, far_km: float, rules: SiteRules) -> str:
    """Why an entity is no site, whatever pictures there are; "" when it may be one."""
    if not name:
        return "it has no name"
    if not kind:
        return "it is of none of the photographable kinds"
    if entity.sitelinks > rules.most_sitelinks:
        return f"{entity.sitelinks} sitelinks, at most {rules.most_sitelinks} are allowed"
    if far_km > rules.radius_km:
        return f"{far_km:.1f} km from the centre, at most {rules.radius_km:g} are allowed"
    return ""


def _perspective(pictures: pd.DataFrame) -> np.ndarray:
    """Positions of the perspective pictures, (n, 2) degrees."""
    absent = [name for name in ("id", "lat", "lon", "perspective") if name not in pictures.columns]
    if absent:
        raise DataError(f"the list of pictures lacks the column(s) {', '.join(absent)}")
    kept = pictures.loc[pictures["perspective"].astype(bool)].drop_duplicates("id")
    return kept[["lat", "lon"]].to_numpy(float)


def _metres(entity: Entity, at: np.ndarray) -> np.ndarray:
    return _metres_at(entity.lat, entity.lon, at)


def _metres_at(lat: float, lon: float, at: np.ndarray) -> np.ndarray:
    from signpost_kit.geo import haversine_km

    return 1000 * np.asarray(haversine_km(lat, lon, at[:, 0], at[:, 1]), dtype=float).reshape(-1)


def _nearest_km(lat: np.ndarray, lon: np.ndarray) -> np.ndarray:
    """Distance of each point to the nearest other one, km; empty for fewer than two."""
    from signpost_kit.geo import haversine_km

    if len(lat) < 2:
        return np.empty(0)
    nearest = np.empty(len(lat))
    for i in range(len(lat)):  # some hundred nodes
        km = np.asarray(haversine_km(lat[i], lon[i], lat, lon), dtype=float)
        km[i] = np.inf
        nearest[i] = km.min()
    return nearest


_GENERIC: Sequence[str] = ("the", "saint", "st", "san", "santa", "le", "la", "el", "de", "of", "church", "museum")


def _slug(city: str, name: str, taken: set[str]) -> str:
    """A site's id: city and the first word that tells something, with a number where that is taken."""
    where = re.sub(r"[^a-z0-9]+", "", fold(city)) or hash_bytes(city.encode())[:6]
    words = [word for word in re.split(r"[^a-z0-9]+", fold(name)) if word]
    word = next((w for w in words if w not in _GENERIC), words[0] if words else hash_bytes(name.encode())[:6])
    stem = f"{where}_{word}"
    return next(s for i in range(1, 10_000) if (s := stem if i == 1 else f"{stem}{i}") not in taken)
