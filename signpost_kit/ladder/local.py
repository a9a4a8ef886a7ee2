"""The teaching set's own gazetteer: invented places around each site, named in English and in the local script."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from signpost_kit.files import hash_bytes
from signpost_kit.ladder.draw import POINT_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.hints.plan import HintSite

__all__ = ["AUDITOR", "local_points"]

AUDITOR = "teaching-set"
_NEAREST_KM, _FARTHEST_KM = 0.03, 5.95
_KM_PER_DEGREE = 111.195
_WEIGHTS = (0.12, 0.18, 0.2, 0.2, 0.18, 0.12)  # of the referenceabilities 0 to 5
_SCRIPT_OF = {
    **dict.fromkeys(("ru", "uk", "bg", "sr", "kk", "mk"), "Cyrillic"),
    "el": "Greek",
    **dict.fromkeys(("ar", "fa", "ur"), "Arabic"),
    "he": "Hebrew",
    **dict.fromkeys(("hi", "mr", "ne"), "Devanagari"),
    "bn": "Bengali",
    "th": "Thai",
    "zh": "Han",
    "ja": "Japanese",
    "ko": "Hangul",
}


def local_points(sites: Sequence[HintSite], *, per_site: int = 64, seed: int = 42) -> pd.DataFrame:
    """Invented reference points around every site, 30 m to 6 km away, as many near as far (on a log scale).

    Parameters
    ----------
    per_site
        How many; no two around one site share a name.
    seed
        With the site's id it decides everything: same seed, same points.

    Returns
    -------
    DataFrame
        Columns :data:`signpost_kit.ladder.draw.POINT_COLUMNS`; lat, lon in degrees, ref_km in km.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for site in sites:
        rng = np.random.default_rng([seed, int(hash_bytes(f"local|{site.site}".encode())[:12], 16)])
        names = _names(_language(site.country), per_site, rng)
        steps = (np.arange(per_site) + rng.uniform(0, 1, per_site)) / per_site  # one in every slice of the scale
        km = _NEAREST_KM * (_FARTHEST_KM / _NEAREST_KM) ** steps
        angle = rng.uniform(0, 2 * np.pi, per_site)
        lat = site.lat + km / _KM_PER_DEGREE * np.cos(angle)
        lon = site.lon + km / _KM_PER_DEGREE * np.sin(angle) / np.cos(np.radians(site.lat))
        lon = (lon + 180) % 360 - 180
        fame = rng.choice(6, per_site, p=_WEIGHTS)
        rows += [
            {
                "site": site.site,
                "city": site.city,
                "country": site.country,
                "auditor": AUDITOR,
                "qid": f"Q9{int(hash_bytes(f'{site.site}|{i}'.encode())[:10], 16) % 10**10:010d}",
                "name_en": names[i][0],
                "name_local": names[i][1],
                "lat": round(float(lat[i]), 6),
                "lon": round(float(lon[i]), 6),
                "referenceability": float(fame[i]),
            }
            for i in range(per_site)
        ]
    frame = pd.DataFrame(rows, columns=[c for c in POINT_COLUMNS if c != "ref_km"])
    return frame.assign(ref_km=_distances(frame, sites)).loc[:, list(POINT_COLUMNS)]


def _distances(frame: pd.DataFrame, sites: Sequence[HintSite]) -> np.ndarray:
    """From the coordinates as written, so that table and map agree."""
    from signpost_kit.geo import haversine_km

    home = {site.site: (site.lat, site.lon) for site in sites}
    lat, lon = (np.array([home[name][i] for name in frame["site"]], dtype=float) for i in (0, 1))
    return np.round(haversine_km(lat, lon, frame["lat"].to_numpy(float), frame["lon"].to_numpy(float)), 3)


@functools.cache
def _tables() -> dict[str, Any]:
    from signpost_kit.strict_yaml import read_yaml

    return read_yaml(Path(__file__).with_name("local_names.yml"))[0]


def _language(country: str) -> str:
    from signpost_kit.geocoding.countries import languages_of

    spoken = languages_of(country) if country else ()
    return spoken[0].split("-")[0] if spoken else "en"


def _names(language: str, n: int, rng: np.random.Generator) -> list[tuple[str, str]]:
    """n different (English, local) names: syllables and a kind of place."""
    tables = _tables()
    syllables = tables["scripts"][_SCRIPT_OF.get(language, "Latin")]
    pairs = [tuple(s) if isinstance(s, list) else (s, s) for s in syllables]
    kinds = list(tables["kinds"].items())
    found: dict[str, tuple[str, str]] = {}
    while len(found) < n:
        chosen = [pairs[int(i)] for i in rng.choice(len(pairs), int(rng.integers(2, 4)), replace=False)]
        english, words = kinds[int(rng.integers(len(kinds)))]
        root = "".join(latin for latin, _ in chosen).title()
        own = "".join(local for _, local in chosen)
        own = own.title() if own.isascii() or language in ("ru", "uk", "el") else own
        word = words.get(language, english)
        spaced = "" if language in ("ja", "zh", "th") else " "
        local = word.replace("{}", own) if "{}" in word else f"{own}{spaced}{word}"
        found.setdefault(root, (f"{root} {english}", local))  # one kind per root: echo looks at the root
    return list(found.values())
