"""Does the error grow with the distance of the hint? Least squares with errors clustered by site.

Answers about one site share its pictures, so they are not independent: the covariance is the cluster-robust
sandwich with the small-sample factor G / (G - 1) * (n - 1) / (n - 2), and t has G - 1 degrees of freedom. The
normal instead of t makes p too small when there are few sites (5 clusters: 0.037 against 0.106).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.stats.paired import cluster_codes

__all__ = ["FACTOR_KM", "Slope", "distance_slope"]

FACTOR_KM = (0.5, 6.0)
"""From the nearest to the farthest hint of the ladder (GeoContext, section 6.2.3)."""

_NAN = float("nan")


class Slope(NamedTuple):
    """The slope of log10(error_km) on ref_km, with its two ends: 0 ignores the hint, `endpoint` recites it.

    Where something is not defined it is NaN and `reason` says why.
    """

    beta: float
    """log10 km of error per km of hint distance; positive: farther hints cost more."""
    se: float
    """Standard error clustered by site."""
    p: float
    """Two-sided, from t with n_sites - 1 degrees of freedom or from the normal."""
    n: int
    """Answers used."""
    n_sites: int
    low: float
    high: float
    """Bounds of beta from the same distribution as p."""
    intercept: float
    endpoint: float
    """Slope of log10(ref_km) on ref_km in the same rows: what a model that always answers the hint would get."""
    share: float
    """beta / endpoint: the share of the way from ignoring the hint (0) to always answering it (1)."""
    factor: float
    """10 ** (beta * 5.5): by how much the error is multiplied when the hint moves from 0.5 to 6 km."""
    spearman: float
    """Rank correlation of error and hint distance over the same rows, whatever the site."""
    n_zero: int
    """Rows left out because an error or a hint distance of 0 km has no logarithm."""
    n_missing: int
    """Rows left out because of a NaN: no answer, or no reference point."""
    reason: str


def distance_slope(
    error_km: ArrayLike,
    ref_km: ArrayLike,
    site: ArrayLike,
    *,
    use_t: bool = True,
    floor_km: float | None = None,
    level: float = 0.95,
) -> Slope:
    """Ordinary least squares of log10(error_km) on ref_km, with errors clustered by site.

    Parameters
    ----------
    error_km
        (n,) distances answer to truth in km; NaN where there is no answer.
    ref_km
        (n,) distances of the hint's reference point to the truth in km; NaN where it is unknown.
    site
        (n,) labels of the clusters.
    use_t
        t with n_sites - 1 degrees of freedom; False gives the normal, as the GeoContext study does.
    floor_km
        Errors below are raised to it, so that exact answers stay in; None leaves errors of 0 out and counts them.
    level
        Coverage of `low` and `high`.

    Returns
    -------
    Slope
        Fewer than 3 rows or one hint distance only: no slope. One site: the slope without se, p and bounds.

    Raises
    ------
    DataError
        Lengths differ, a distance is negative or infinite, or a row has no site.

    Examples
    --------
    >>> ref = [0.8, 2.0, 4.0, 0.9, 2.5, 5.0]
    >>> always_the_hint = distance_slope(ref, ref, list("aaabbb"))
    >>> round(always_the_hint.share, 6), always_the_hint.n_sites
    (1.0, 2)
    """
    if not 0 < level < 1:
        raise ConfigError(f"level must lie between 0 and 1, got {level!r}")
    error, ref = _distances(error_km, "error_km"), _distances(ref_km, "ref_km")
    if error.shape != ref.shape:
        raise DataError(f"error_km and ref_km must pair up; got {len(error)} and {len(ref)} values")
    if floor_km is not None:
        if not floor_km > 0:
            raise ConfigError(f"floor_km must be above 0, got {floor_km!r}")
        error = np.maximum(error, floor_km)  # NaN stays NaN
    codes = cluster_codes(site, len(error), "site")
    present = ~(np.isnan(error) | np.isnan(ref))
    keep = present & (error > 0) & (ref > 0)
    slope = _fit(error[keep], ref[keep], codes[keep], use_t, level)
    return slope._replace(n_zero=int((present & ~keep).sum()), n_missing=int((~present).sum()))


def _fit(error: np.ndarray, ref: np.ndarray, codes: np.ndarray, use_t: bool, level: float) -> Slope:
    """The slope of complete, positive rows; the counts of what was left out are 0."""
    n, n_sites = len(error), int(np.count_nonzero(np.bincount(codes)))
    centred = ref - ref.mean() if n else ref
    spread = float(centred @ centred)
    if n < 3 or spread <= 1e-12 * float(ref @ ref):
        why = "all hints lie at one distance" if n >= 3 else f"{n} usable row(s), at least 3 are needed"
        nothing = dict.fromkeys(Slope._fields[5:12], _NAN)
        return Slope(_NAN, _NAN, _NAN, n, n_sites, **nothing, n_zero=0, n_missing=0, reason=why)
    outcome = np.log10(error)
    beta = float(centred @ outcome) / spread
    intercept = float(outcome.mean() - beta * ref.mean())
    endpoint = float(centred @ np.log10(ref)) / spread
    se = p = half = _NAN
    reason = "one site: nothing is known about the spread between sites, so there is no se and no p"
    if n_sites > 1:
        residual = outcome - intercept - beta * ref
        meat = np.bincount(codes, centred * residual)
        scale = n_sites / (n_sites - 1) * (n - 1) / (n - 2)
        se = float(np.sqrt(scale * float(meat @ meat))) / spread
        p, half = _inference(beta, se, n_sites - 1 if use_t else None, level)
        reason = ""
    return Slope(
        beta=beta,
        se=se,
        p=p,
        n=n,
        n_sites=n_sites,
        low=beta - half,
        high=beta + half,
        intercept=intercept,
        endpoint=endpoint,
        share=beta / endpoint,
        factor=10.0 ** (beta * (FACTOR_KM[1] - FACTOR_KM[0])),
        spearman=_spearman(error, ref),
        n_zero=0,
        n_missing=0,
        reason=reason,
    )


def _inference(beta: float, se: float, df: int | None, level: float) -> tuple[float, float]:
    """Two-sided p and the half width of the interval, from t with `df` or from the normal (None)."""
    from scipy import special

    tail = (1.0 + level) / 2.0
    quantile = special.ndtri(tail) if df is None else special.stdtrit(df, tail)
    if se == 0:
        return (1.0 if beta == 0 else 0.0), 0.0
    z = -abs(beta / se)
    p = 2.0 * (special.ndtr(z) if df is None else special.stdtr(df, z))
    return float(p), float(quantile) * se


def _spearman(error: np.ndarray, ref: np.ndarray) -> float:
    """Rank correlation; NaN when either side is constant."""
    a, b = _mean_ranks(error), _mean_ranks(ref)
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else _NAN


def _mean_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1, ties sharing their mean; as scipy's `rankdata`, in a quarter of its time."""
    order = np.argsort(values)
    ordered = values[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(values))
    ranks = np.empty(len(values))
    ranks[order] = ((starts + 1 + ends) / 2)[np.cumsum(new) - 1]
    return ranks


def _distances(values: ArrayLike, what: str) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} must hold numbers of km: {error}") from error
    if array.ndim != 1:
        raise DataError(f"{what} must be one-dimensional, got shape {array.shape}")
    wrong = array[(array < 0) | np.isinf(array)]
    if wrong.size:
        raise DataError(f"{what} holds {wrong[0]:g}: a distance is 0 or more and finite; use NaN for a missing one")
    return array
