"""The sites of a run: its scenes, each with the picture as it was found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.errors import DataError
from signpost_kit.files import inside
from signpost_kit.hints.plan import HintSite

if TYPE_CHECKING:
    from signpost_kit.benchmark import Benchmark
    from signpost_kit.benchmark.geocontext import Released

__all__ = ["continent_code", "released_sites", "sites_of"]


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


_PICTURES = (".jpg", ".jpeg", ".png", ".webp")


def released_sites(released: Released, images: Path) -> list[HintSite]:
    """The sites of a release that have pictures below `images`, as <site>/<image id>.jpg (or png, webp).

    A picture's own position is taken from the released trials, where it stands in one; else the site's counts.

    Raises
    ------
    DataError
        The folder is missing, or has no picture of any site.
    """
    if not images.is_dir():
        raise DataError(f"the folder of the release's pictures {images} does not exist: check source.images")
    own = {
        str(row["path"]): (float(row["img_lat"]), float(row["img_lon"]))
        for row in released.claims.to_dict("records")
        if row["arm"] == "main"
    }
    by_stem = {path.rpartition(".")[0]: place for path, place in own.items()}
    sites = []
    for row in released.sites.to_dict("records"):
        folder = inside(images, str(row["site"]))
        found = sorted(p for p in folder.glob("*") if p.suffix.lower() in _PICTURES) if folder.is_dir() else []
        if not found:
            continue
        pictures = tuple((f"{row['site']}/{path.stem}.jpg", path) for path in found)
        sites.append(
            HintSite(
                site=str(row["site"]),
                city=str(row["city"]),
                lat=float(row["lat"]),
                lon=float(row["lon"]),
                pictures=pictures,
                country=str(row["country"]),
                continent=str(row["continent"]),
                positions={
                    name: by_stem[name.rpartition(".")[0]]
                    for name, _ in pictures
                    if name.rpartition(".")[0] in by_stem
                },
            )
        )
    if not sites:
        raise DataError(
            f"{images} has no picture of any of the {len(released.sites)} sites: they are looked for as "
            f"{images / '<site>' / '<image id>.jpg'}"
        )
    return sites
