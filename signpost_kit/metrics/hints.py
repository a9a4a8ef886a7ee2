"""GeoHint: what a true but coarse hint does to an answer. Hits, ratios to the hint's distance, regimes, tables.

Frames hold one row per answer: site, model, error_km (answer to truth, NaN without an answer), level (place, area
or city: how fine the answer was resolved), ref_km (hint to truth, NaN without a hint). Intervals draw whole sites.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.geo import distance_bands
from signpost_kit.metrics.echoes import distinctive, echo, echo_study
from signpost_kit.stats.intervals import cluster_bootstrap
from signpost_kit.stats.paired import paired_sign_flip
from signpost_kit.stats.slopes import distance_slope
from signpost_kit.stats.split_half import LEGIBLE_FROM, REGIMES

if TYPE_CHECKING:
    import pandas as pd

_Row = Callable[["pd.DataFrame"], Mapping[str, object]]

__all__ = [
    "HINT_BANDS",
    "HINT_EDGES_KM",
    "HIT_KM",
    "LEVELS",
    "RatioSummary",
    "distinctive",
    "echo",
    "echo_study",
    "error_ratio",
    "hint_band",
    "hit",
    "interventions",
    "rates",
    "ratio_summary",
    "regimes",
    "slopes",
]

HIT_KM = 1.0
"""A hit lies closer than this (section 4.2)."""
LEVELS = ("place", "area", "city")
"""How fine an answer was resolved, finest first; the city level is censored."""
HINT_EDGES_KM = (0.5, 1.5, 3.0, 6.0)
HINT_BANDS = ("0.5-1.5km", "1.5-3.0km", "3.0-6.0km")
"""Nearest first, spelt as in the released ladders."""

_NAN = float("nan")


class RatioSummary(NamedTuple):
    """Error in units of the hint's distance over answers finer than city; NaN where there is none."""

    n: int
    median: float
    """1 means: as wrong as the hint is far."""
    geomean: float
    error_geomean_km: float
    ref_geomean_km: float
    n_city: int
    """Answers left out since they are at city level."""
    n_missing: int
    """Answers left out for want of an error or of a hint distance."""
    n_zero: int
    """Answers with an error of 0 km: in the median, not in the geometric means."""


def hit(
    error_km: ArrayLike,
    level: ArrayLike,
    *,
    radius_km: float = HIT_KM,
    missing: Literal["miss", "nan"] = "miss",
) -> np.ndarray:
    """1.0 where an answer lies strictly closer than `radius_km` and was resolved finer than the city, else 0.0.

    Parameters
    ----------
    error_km
        (n,) km; NaN where there is no answer.
    level
        (n,) place, area or city; missing where nothing was resolved.
    missing
        What an answer without an error is: "miss" as in the released files, or "nan" to leave it out of rates.

    Examples
    --------
    >>> hit([0.4, 0.4, 1.0, float("nan")], ["area", "city", "place", None]).tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    if missing not in ("miss", "nan"):
        raise ConfigError(f"missing must be 'miss' or 'nan', got {missing!r}")
    error, levels = _errors_and_levels(error_km, level)
    near = (error < radius_km) & (levels != "city") & (levels != "")
    out = near.astype(float)
    if missing == "nan":
        out[np.isnan(error)] = np.nan
    return out


def error_ratio(error_km: ArrayLike, ref_km: ArrayLike, level: ArrayLike) -> np.ndarray:
    """error_km / ref_km of answers finer than city; NaN at city level, without an error, or without a hint.

    Raises
    ------
    DataError
        A hint distance of 0 or less: a ratio to it says nothing.
    """
    error, levels = _errors_and_levels(error_km, level)
    ref = np.asarray(ref_km, dtype=float)
    if ref.shape != error.shape:
        raise DataError(f"error_km and ref_km must pair up; got shapes {error.shape} and {ref.shape}")
    if (ref <= 0).any():
        raise DataError(f"a hint distance must be above 0 km, got {ref[ref <= 0][0]:g}")
    fine = (levels != "city") & (levels != "")
    return np.where(fine, error / ref, np.nan)


def ratio_summary(error_km: ArrayLike, ref_km: ArrayLike, level: ArrayLike) -> RatioSummary:
    """Median and geometric mean of :func:`error_ratio`, with what was left out.

    Examples
    --------
    >>> summary = ratio_summary([1.0, 4.0, 9.0], [1.0, 2.0, 2.0], ["area", "place", "city"])
    >>> summary.n, summary.median, round(summary.geomean, 3), summary.n_city
    (2, 1.5, 1.414, 1)
    """
    values = error_ratio(error_km, ref_km, level)
    error, levels = _errors_and_levels(error_km, level)
    ref = np.asarray(ref_km, dtype=float)
    known = ~np.isnan(values)
    positive = known & (error > 0)
    n_city = int(((levels == "city") & ~np.isnan(error) & ~np.isnan(ref)).sum())
    return RatioSummary(
        n=int(known.sum()),
        median=float(np.median(values[known])) if known.any() else _NAN,
        geomean=_geomean(values[positive]),
        error_geomean_km=_geomean(error[positive]),
        ref_geomean_km=_geomean(ref[positive]),
        n_city=n_city,
        n_missing=len(values) - int(known.sum()) - n_city,
        n_zero=int((known & (error == 0)).sum()),
    )


def hint_band(ref_km: ArrayLike) -> np.ndarray:
    """Band of the ladder each hint distance lies in, "" outside 0.5 to 6 km and for NaN."""
    band = distance_bands(ref_km, HINT_EDGES_KM)
    return np.array(["", *HINT_BANDS, "", ""], dtype=object)[band]


def regimes(baseline: pd.DataFrame, *, threshold: float = LEGIBLE_FROM) -> pd.DataFrame:
    """Each site's no-context hit rate over all models, and its regime: legible at `threshold` or above.

    Parameters
    ----------
    baseline
        No-context answers with the columns site and hit (NaN is left out).

    Returns
    -------
    site, n, rate, regime ("illegible" or "legible"; missing for a site without a judged answer), sorted by site.
    The comparison of these rates with those under a hint needs `stats.split_half_regimes`.
    """
    import pandas as pd

    _need(baseline, ("site", "hit"))
    values = _numbers(baseline, "hit")
    code, sites = pd.factorize(baseline["site"], sort=True)
    known = ~np.isnan(values) & (code >= 0)
    n = np.bincount(code[known], minlength=len(sites))
    hits = np.bincount(code[known], values[known], minlength=len(sites))
    rate = np.where(n > 0, hits / np.maximum(n, 1), np.nan)
    # The counts decide, not the rounded rate: 3 of 6 is legible at 0.5.
    names = np.where(hits >= threshold * n, REGIMES[1], REGIMES[0]).astype(object)
    names[n == 0] = None
    return pd.DataFrame({"site": np.asarray(sites), "n": n, "rate": rate, "regime": names})


def rates(
    answers: pd.DataFrame,
    value: str,
    by: Sequence[str] = (),
    *,
    cluster: str = "site",
    n_resamples: int = 2000,
    seed: int = 42,
    level: float = 0.95,
) -> pd.DataFrame:
    """Mean of a 0/1 column (hit, echo, echo_study) by group, with an interval that draws whole sites.

    Returns
    -------
    The `by` columns, then n, n_missing, n_sites, rate, low, high; groups in sorted order, those absent left out.
    """
    _need(answers, (value, cluster, *by))

    def row(part: pd.DataFrame) -> dict[str, float]:
        numbers = _numbers(part, value)
        interval = cluster_bootstrap(
            numbers, part[cluster].to_numpy(), n_resamples=n_resamples, seed=seed, level=level
        )
        n = int(np.count_nonzero(~np.isnan(numbers)))
        return {
            "n": n,
            "n_missing": len(numbers) - n,
            "n_sites": interval.n_clusters,
            "rate": interval.estimate,
            "low": interval.low,
            "high": interval.high,
        }

    return _table(answers, by, row)


def slopes(
    answers: pd.DataFrame, by: Sequence[str] = (), *, fine_only: bool = False, use_t: bool = True
) -> pd.DataFrame:
    """`stats.distance_slope` by group: answers with a hint only; `fine_only` leaves the city level out.

    Columns needed: error_km, ref_km, site, level, and those of `by`. Returns `by`, then the fields of the slope.
    """
    _need(answers, ("error_km", "ref_km", "site", "level", *by))
    rows = answers.loc[answers["ref_km"].notna()]
    if fine_only:
        rows = rows.loc[rows["level"] != "city"]

    def row(part: pd.DataFrame) -> dict[str, object]:
        error, ref = (_numbers(part, name) for name in ("error_km", "ref_km"))
        return dict(distance_slope(error, ref, part["site"].to_numpy(dtype=object), use_t=use_t)._asdict())

    return _table(rows, by, row)


def interventions(
    before: pd.DataFrame,
    after: pd.DataFrame,
    value: str = "hit",
    by: Sequence[str] = (),
    *,
    keys: Sequence[str] = ("site", "path", "model", "lang", "context"),
    n_flips: int = 20_000,
    seed: int = 42,
) -> pd.DataFrame:
    """Strictly paired change of `value` between two prompts; whole sites flip sign together.

    Parameters
    ----------
    before, after
        Answers under the plain and the changed prompt, with the `keys`, `value` and the `by` columns. Keys that
        repeat on a side with different values are ambiguous and are left out; those that repeat alike count once.

    Returns
    -------
    `by`, then before, after (means over pairs), delta, p, n_pairs, n_sites, n_missing, n_ambiguous, reason. The
    ambiguous keys of both sides are counted over all groups.
    """
    import pandas as pd

    columns = list(dict.fromkeys([*keys, *by, value]))
    sides, n_ambiguous = [], 0
    for frame in (before, after):
        _need(frame, columns)
        once = pd.DataFrame(frame[columns]).drop_duplicates()
        torn = once.duplicated(list(keys), keep=False)
        n_ambiguous += len(once.loc[torn].drop_duplicates(list(keys)))
        sides.append(once.loc[~torn])
    on = [name for name in columns if name != value]
    pairs = sides[0].merge(sides[1], on=on, suffixes=("_before", "_after"))

    def row(part: pd.DataFrame) -> dict[str, object]:
        first, second = (_numbers(part, f"{value}_{side}") for side in ("before", "after"))
        test = paired_sign_flip(second - first, part["site"].to_numpy(dtype=object), n_flips, seed)
        both = ~(np.isnan(first) | np.isnan(second))
        return {
            "before": float(first[both].mean()) if both.any() else _NAN,
            "after": float(second[both].mean()) if both.any() else _NAN,
            "delta": test.mean,
            "p": test.p,
            "n_pairs": test.n,
            "n_sites": test.n_clusters,
            "n_missing": test.n_missing,
            "n_ambiguous": n_ambiguous,
            "reason": test.reason,
        }

    return _table(pairs, by, row)


def _table(frame: pd.DataFrame, by: Sequence[str], row: _Row) -> pd.DataFrame:
    """One row per group of `by` in sorted order; without `by`, one row in all."""
    import pandas as pd

    if not by:
        return pd.DataFrame([row(frame)])
    grouped: Any = frame.groupby(list(by), observed=True, sort=True)  # its keys are tuples, typed as one hashable
    out = [{**dict(zip(by, key, strict=True)), **row(part)} for key, part in grouped]
    return pd.DataFrame(out) if out else pd.DataFrame([row(frame)]).iloc[:0].reindex(columns=[*by, *row(frame)])


def _errors_and_levels(error_km: ArrayLike, level: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    error = np.asarray(error_km, dtype=float)
    levels = np.array([v if isinstance(v, str) else "" for v in np.asarray(level, dtype=object)], dtype=object)
    if error.ndim != 1 or error.shape != levels.shape:
        raise DataError(f"error_km and level must pair up; got shapes {error.shape} and {levels.shape}")
    unknown = sorted(set(levels) - {*LEVELS, ""})
    if unknown:
        raise DataError(f"unknown level {unknown[0]!r}; the levels are {', '.join(LEVELS)}")
    if (error < 0).any():
        raise DataError(f"an error in km is 0 or more, got {error[error < 0][0]:g}")
    return error, levels


def _numbers(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A column of numbers or booleans as floats, NaN where it is missing."""
    try:
        return frame[name].to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(f"the column {name} must hold numbers or booleans: {error}") from error


def _geomean(values: np.ndarray) -> float:
    return float(np.exp(np.log(values).mean())) if len(values) else _NAN


def _need(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise DataError(f"the answers lack the column(s) {', '.join(absent)}")
