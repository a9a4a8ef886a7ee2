"""The sites of a run: its scenes, each with the picture as it was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signpost_kit.errors import DataError
from signpost_kit.hints.plan import HintSite

if TYPE_CHECKING:
    from signpost_kit.benchmark import Benchmark

__all__ = ["continent_code", "sites_of"]


def continent_code(code: str) -> str:
    """The study's code: North America is AN, since "NA" reads as a missing value.

    >>> continent_code("NA"), continent_code("EU")
    ('AN', 'EU')
    """
    return "AN" if code == "NA" else code


def sites_of(benchmark: Benchmark) -> list[HintSite]:
    """One site per scene that has an Original picture: site and picture carry the scene's id.

    Where a scene does not say its city or country, the nearest city of the gazetteer stands for it.

    Raises
    ------
    DataError
        No scene has a picture.
    """
    from signpost_kit.geocoding import continent_of, default_gazetteer

    gazetteer = default_gazetteer()
    sites = []
    for group in benchmark.groups:
        if "Original" not in group.images:
            continue
        nearest = gazetteer.nearest(group.lat, group.lon)[0] if not (group.city and group.country) else None
        country = group.country or (nearest.country if nearest else "")
        sites.append(
            HintSite(
                site=group.group_id,
                city=group.city or (nearest.name if nearest else ""),
                lat=group.lat,
                lon=group.lon,
                pictures=((f"{group.group_id}.png", benchmark.image_path(group, "Original")),),
                country=country,
                continent=continent_code(continent_of(country)),
            )
        )
    if not sites:
        raise DataError(
            f"the benchmark {benchmark.name!r} has no scene with a picture: run the stage 'sources' first"
        )
    return sites
