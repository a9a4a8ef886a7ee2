"""Which claims are put: the true ones, decoys matched to them band by band, and both controls. All by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from signpost_kit.benchmark.geocontext.trials import TOLERANCE_KM, trial_id
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import hash_bytes, write_bytes
from signpost_kit.geo import haversine_km
from signpost_kit.hints.plan import HintSite
from signpost_kit.metrics.verification import DECOY_BANDS, SIGNAL, claim_band

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TRIAL_COLUMNS", "claim_pictures", "make_trials"]

TRIAL_COLUMNS = (
    *("trial_id", "site", "image_id", "path", "shown", "arm", "cand", "cand_lat", "cand_lon", "fam", "d_km"),
    *("band", "truth", "cont", "matched"),
)
GREY = "grey.png"
_GREY_SIDE, _GREY_LEVEL = 512, 128


def make_trials(
    sites: Sequence[HintSite],
    points: pd.DataFrame,
    *,
    per_band: int = 3,
    tolerance_km: float = TOLERANCE_KM,
    seed: int = 42,
    controls: bool = True,
) -> pd.DataFrame:
    """All trials of all pictures.

    Parameters
    ----------
    sites
        With the pictures; a picture's own position counts where it is known, else the site's.
    points
        Usable reference points around each site: site, qid, name_en, lat, lon, referenceability (0-5).
    per_band
        Claims per picture and band at most, also of the true ones.
    tolerance_km
        A claim is true when the distance is below it.
    seed
        Same seed, same trials, whatever the order of the points.
    controls
        Repeat every true claim (or, for a picture without one, its nearest decoy) with a picture of another
        continent and with a uniform grey field; the truth of both is "no".

    Returns
    -------
    One row per trial, columns :data:`TRIAL_COLUMNS`. `shown` is the picture that is sent (in the mismatched arm
    that of another site, in the grey arm "grey.png"); `fam` the referenceability; `band` "signal" or that of the
    decoy; `matched`: the decoy is within one step of referenceability of a true claim of its picture (True for true
    claims and where there is none). Decoys closer than the tolerance or farther than 6 km are not put.

    Raises
    ------
    ConfigError
        per_band below 1, or a tolerance that is not within the nearest band's lower edge.
    DataError
        A point without a position, or controls that need a second continent and there is none.
    """
    import pandas as pd

    if per_band < 1 or not 0 < tolerance_km <= TOLERANCE_KM:
        raise ConfigError(
            f"per_band ({per_band}) must be at least 1, tolerance_km ({tolerance_km}) above 0 and at most "
            f"{TOLERANCE_KM}: the nearest decoys lie just beyond it"
        )
    nowhere = points["lat"].isna() | points["lon"].isna()
    if nowhere.any():
        odd = points.loc[nowhere].iloc[0]
        raise DataError(f"the reference point {odd['name_en']!r} of {odd['site']!r} has no position")
    draw = _Draw(per_band, tolerance_km, seed)
    around = {str(site): part.sort_values("qid") for site, part in points.groupby("site")}
    _unique_ids(sites)
    rows: list[dict[str, Any]] = []
    for site in sites:
        pool = around.get(site.site)
        if pool is not None:
            for path, _ in site.pictures:
                chosen = _choose(site, path, pool, draw)
                rows += _rows(site, path, pool, chosen)
    if controls:
        rows += _controls(rows, sites, draw)
    return pd.DataFrame(rows, columns=list(TRIAL_COLUMNS))


@dataclass(frozen=True)
class _Draw:
    per_band: int
    tolerance_km: float
    seed: int

    def rng(self, *parts: str) -> np.random.Generator:
        """Of one picture, whatever came before it."""
        return np.random.default_rng([self.seed, int(hash_bytes("|".join(parts).encode())[:12], 16)])


@dataclass(frozen=True)
class _Claim:
    place: int
    """Row of the pool."""
    km: float
    band: str
    matched: bool


def _choose(site: HintSite, path: str, pool: pd.DataFrame, draw: _Draw) -> list[_Claim]:
    """The true claims of a picture and its decoys, band by band."""
    lat, lon = site.position(path)
    km = np.asarray(haversine_km(lat, lon, pool["lat"].to_numpy(float), pool["lon"].to_numpy(float)))
    fam = pool["referenceability"].to_numpy(float)
    bands = claim_band(km)
    bands[(bands == SIGNAL) & (km >= draw.tolerance_km)] = ""  # between a smaller tolerance and the nearest band
    rng = draw.rng(site.site, path)
    signals = _draw(np.flatnonzero(bands == SIGNAL), draw.per_band, rng)
    chosen = [_Claim(int(i), float(km[i]), SIGNAL, True) for i in signals]
    for band in DECOY_BANDS:
        cell = np.flatnonzero(bands == band)
        near = np.array([_matches(fam[i], fam[signals]) for i in cell], dtype=bool)
        first = _draw(cell[near], draw.per_band, rng)
        rest = _draw(cell[~near], draw.per_band - len(first), rng)
        chosen += [_Claim(int(i), float(km[i]), band, True) for i in first]
        chosen += [_Claim(int(i), float(km[i]), band, False) for i in rest]
    return chosen


def _rows(site: HintSite, path: str, pool: pd.DataFrame, chosen: Sequence[_Claim]) -> list[dict[str, Any]]:
    image_id = Path(path).with_suffix("").as_posix().removeprefix(f"{site.site}/")
    rows = []
    for claim in chosen:
        point = pool.iloc[claim.place]
        rows.append(
            {
                "trial_id": trial_id(image_id, "main", str(point["name_en"])),
                "site": site.site,
                "image_id": image_id,
                "path": path,
                "shown": path,
                "arm": "main",
                "cand": str(point["name_en"]),
                "cand_lat": float(point["lat"]),
                "cand_lon": float(point["lon"]),
                "fam": float(point["referenceability"]),
                "d_km": round(claim.km, 4),
                "band": claim.band,
                "truth": "yes" if claim.band == SIGNAL else "no",
                "cont": site.continent,
                "matched": claim.matched,
            }
        )
    return rows


def _unique_ids(sites: Sequence[HintSite]) -> None:
    """Raise DataError when two pictures would share the id that a trial is known by."""
    seen: dict[str, str] = {}
    for site in sites:
        for path, _ in site.pictures:
            identity = Path(path).with_suffix("").as_posix().removeprefix(f"{site.site}/")
            if seen.setdefault(identity, path) != path:
                raise DataError(
                    f"the pictures {seen[identity]} and {path} have the same id {identity!r}: rename one of them"
                )


def _draw(cell: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """At most n of the cell, at random, never by distance."""
    return rng.permutation(cell)[: max(n, 0)]


def _matches(fam: float, wanted: np.ndarray) -> bool:
    """Within one step of a true claim's referenceability; without a true claim everything matches."""
    return bool(len(wanted) == 0 or np.any(np.abs(wanted - fam) <= 1))


def _controls(rows: Sequence[Mapping[str, Any]], sites: Sequence[HintSite], draw: _Draw) -> list[dict[str, Any]]:
    by_path: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_path.setdefault(row["path"], []).append(row)
    places = [(site.continent, path) for site in sites for path, _ in site.pictures]
    out: list[dict[str, Any]] = []
    for path, mine in by_path.items():
        signals = [row for row in mine if row["band"] == SIGNAL] or [min(mine, key=lambda row: row["d_km"])]
        elsewhere = [p for continent, p in places if continent and continent != mine[0]["cont"]]
        if not elsewhere:
            raise DataError(
                "the control with a picture of another continent needs sites on two continents; "
                "add one, or set context.claims.controls to false"
            )
        other = elsewhere[int(draw.rng("control", path).integers(len(elsewhere)))]
        for row in signals:
            for arm, shown in (("mismatched", other), ("grey", GREY)):
                identity = trial_id(row["image_id"], arm, row["cand"])
                out.append(dict(row) | {"trial_id": identity, "arm": arm, "shown": shown, "truth": "no"})
    return out


def claim_pictures(sites: Sequence[HintSite], folder: Path) -> dict[str, Path]:
    """Path in the trials -> file, the uniform grey field included, which is written into `folder`."""
    files = {path: file for site in sites for path, file in site.pictures}
    grey = folder / GREY
    if not grey.is_file():
        import cv2

        done, data = cv2.imencode(".png", np.full((_GREY_SIDE, _GREY_SIDE, 3), _GREY_LEVEL, dtype=np.uint8))
        if not done:
            raise DataError("the grey picture of the control could not be made")
        write_bytes(grey, data.tobytes())
    return files | {GREY: grey}
