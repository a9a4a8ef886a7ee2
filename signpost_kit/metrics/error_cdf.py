"""How the distances to the truth are spread: the share of answers nearer than d, for every d on a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.frames import VARIANTS
from signpost_kit.metrics.paper import ACC_KM
from signpost_kit.stats.intervals import cluster_bootstrap

__all__ = ["CDF_COLUMNS", "GRID_KM", "error_cdf"]

CDF_COLUMNS = ("model", "variant", "reading", "error_km", "share", "low", "high", "n_asked", "n_answered")
GRID_KM: tuple[float, ...] = tuple(
    sorted({*(float(round(v, 4)) for v in np.geomspace(0.1, 20_015.0, 65)), *map(float, ACC_KM)})
)
"""Distances at which the share is given: about 12 per decade, and the five thresholds of Acc@k."""


def error_cdf(
    scores: pd.DataFrame,
    *,
    reading: str = "answered_only",
    grid_km: Sequence[float] = GRID_KM,
    n_resamples: int = 500,
    seed: int = 42,
) -> pd.DataFrame:
    """Share of replies with an error below each distance, by model and variant, with 95 % intervals.

    Per data set first, then the plain mean over data sets, as all scores are; at a threshold k the share is Acc@k.

    Parameters
    ----------
    scores
        The frame of that name: model, dataset, group_id, variant, status, error_km (NaN: no answer).
    reading
        `answered_only`: of the answers with a distance. `as_failures`: of all questions; the curve then ends at
        the coverage, below 1.
    grid_km
        Increasing distances in km; strictly nearer counts, as in Acc@k.
    n_resamples, seed
        Of the bootstrap over scenes within their data set; 0: no intervals.

    Returns
    -------
    DataFrame
        :data:`CDF_COLUMNS`, models and variants in the order of the frame and of VARIANTS. A model that answered
        nothing in a variant has rows with NaN (`answered_only`) or 0 (`as_failures`); an empty frame gives none.
    """
    if reading not in ("answered_only", "as_failures"):
        raise DataError(f"unknown reading {reading!r}; allowed: answered_only, as_failures")
    grid = np.asarray(grid_km, dtype=float)
    keyed = scores.assign(
        **{name: scores[name].astype(str) for name in ("model", "dataset", "group_id", "variant")}
    )
    parts = []
    for model in keyed["model"].drop_duplicates():
        rows = keyed.loc[keyed["model"] == model, :]
        found = _shares(rows, reading, grid, n_resamples=n_resamples, seed=seed)
        parts.append(found.assign(model=model, reading=reading)[list(CDF_COLUMNS)])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=pd.Index(CDF_COLUMNS))


def _shares(rows: pd.DataFrame, reading: str, grid: np.ndarray, *, n_resamples: int, seed: int) -> pd.DataFrame:
    """Share, low and high at each distance, of one model's variants; one bootstrap for all of them.

    A scene may have several replies per variant (samples): their mean is what is resampled.
    """
    variants = [name for name in VARIANTS if (rows["variant"] == name).any()]
    keys = pd.MultiIndex.from_arrays([rows["dataset"], rows["group_id"]])
    scene, scenes = pd.factorize(keys)
    error, variant = rows["error_km"].to_numpy(float), rows["variant"].to_numpy()
    values = np.full((len(scenes), len(variants) * len(grid)), np.nan)
    counts = []
    for i, name in enumerate(variants):
        asked = variant == name
        answered = asked & np.isfinite(error)
        counts.append((int(asked.sum()), int(answered.sum())))
        counted = answered if reading == "answered_only" else asked
        n = np.bincount(scene[counted], minlength=len(scenes)).astype(float)
        part = values[:, i * len(grid) : (i + 1) * len(grid)]
        for k, km in enumerate(grid):
            nearer = np.bincount(scene[answered & (error < km)], minlength=len(scenes))
            np.divide(nearer, n, out=part[:, k], where=n > 0)
    names = list(scenes)
    found = cluster_bootstrap(
        values,
        np.arange(len(scenes)),
        np.array([dataset for dataset, _ in names]),
        n_resamples=n_resamples,
        seed=seed,
    )
    asked_answered = np.repeat(np.array(counts), len(grid), axis=0)
    return pd.DataFrame(
        {
            "variant": np.repeat(variants, len(grid)),
            "error_km": np.tile(grid, len(variants)),
            "share": found.estimate,
            "low": found.low,
            "high": found.high,
            "n_asked": asked_answered[:, 0],
            "n_answered": asked_answered[:, 1],
        }
    )
