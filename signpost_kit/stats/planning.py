"""How many groups are needed: for an interval of a given width, or to tell two models apart.

Everything is scaled from pilot data: the standard error of a mean over clusters shrinks with the square root of
their number, as long as new groups are like those of the pilot. The pilot's own spread is only an estimate; the
plan therefore says how many groups a less lucky pilot would have asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError
from signpost_kit.stats.paired import cluster_codes, number_vector

__all__ = [
    "Plan",
    "assumed_for_difference",
    "assumed_for_width",
    "difference_at",
    "groups_for_difference",
    "groups_for_width",
    "power_of",
    "width_at",
]

_NAN = float("nan")
_MOST = 10_000_000


class Plan(NamedTuple):
    """Groups needed in all (not in addition to the pilot); NaN with a reason where the pilot cannot tell."""

    n_groups: float
    """Whole groups over all datasets, in the pilot's proportions."""
    n_low: float
    n_high: float
    """The same from the bounds of the pilot's spread (95 %): plan with `n_high` when the pilot is small."""
    sd: float
    """Spread between groups: standard error of the pilot's mean times the root of its number of groups."""
    mean: float
    """Mean of the pilot: per dataset, then over datasets."""
    n_pilot: int
    """Groups of the pilot that have a value."""
    reason: str


def groups_for_width(
    values: ArrayLike, cluster: ArrayLike, dataset: ArrayLike | None = None, *, width: float, level: float = 0.95
) -> Plan:
    """Groups for an interval of the whole width `width`, in the unit of `values`.

    Parameters
    ----------
    values
        (n,) pilot scores, NaN where there is no answer: WLA, hits, errors.
    cluster, dataset
        (n,) labels of what is sampled as a whole, and of datasets that have equal weight (None: one dataset).
    width
        High minus low bound, above 0.

    Returns
    -------
    Plan
        Fewer than two groups, or two only in some datasets: NaN with a reason. A pilot without any spread needs 2.

    Examples
    --------
    >>> groups_for_width([0, 1, 0, 1, 1, 0, 1, 0], range(8), width=0.2).n_groups
    113.0
    """
    return _for_width(_pilot(values, cluster, dataset), width, level)


def assumed_for_width(sd: float, *, width: float, level: float = 0.95, mean: float = _NAN) -> Plan:
    """The same without a pilot, for a spread between groups that is assumed; `n_low` and `n_high` are NaN.

    Examples
    --------
    >>> assumed_for_width(0.5, width=0.2).n_groups
    99.0
    """
    return _for_width(_assumed(sd, mean), width, level)


def groups_for_difference(
    delta: ArrayLike,
    cluster: ArrayLike,
    dataset: ArrayLike | None = None,
    *,
    difference: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    n_comparisons: int = 1,
) -> Plan:
    """Groups to tell two models apart, from pilot differences on the same groups (two-sided test).

    Parameters
    ----------
    delta
        (n,) paired differences first minus second, NaN where either is missing.
    difference
        The smallest difference worth finding; None takes the pilot's own, which is optimistic when the pair was
        picked because it looked different.
    power
        Probability of finding it, above `alpha` and below 1.
    n_comparisons
        Tests that share `alpha` (Bonferroni, which bounds what Holm needs).

    Returns
    -------
    Plan
        A difference of 0, or fewer than two groups: NaN with a reason.
    """
    pilot = _pilot(delta, cluster, dataset)
    factor = _factor(power, alpha, n_comparisons)
    target = abs(pilot.mean if difference is None else difference)
    if not pilot.reason and not target > 0:
        pilot = pilot._replace(
            reason="a difference of 0 cannot be found; give the smallest difference that matters"
        )
    return _plan(pilot, factor, target)


def assumed_for_difference(
    sd: float, *, difference: float, power: float = 0.8, alpha: float = 0.05, n_comparisons: int = 1
) -> Plan:
    """The same without a pilot, for a spread of the differences that is assumed; `n_low` and `n_high` are NaN.

    Examples
    --------
    >>> assumed_for_difference(0.5, difference=0.2).n_groups
    52.0
    """
    if not (math.isfinite(difference) and difference != 0):
        raise ConfigError(f"difference must be a number other than 0, got {difference!r}")
    return _plan(_assumed(sd, _NAN), _factor(power, alpha, n_comparisons), abs(difference))


def width_at(plan: Plan, n_groups: ArrayLike, *, level: float = 0.95) -> np.ndarray:
    """Expected whole width of the interval with `n_groups` groups like the pilot's; NaN below 2 groups."""
    _check(level=level)
    n = np.atleast_1d(np.asarray(n_groups, dtype=float))
    out = np.array([2 * _quantile((1 + level) / 2, k - 1) * plan.sd / math.sqrt(k) if k >= 2 else _NAN for k in n])
    return out.reshape(np.shape(n_groups))


def difference_at(
    plan: Plan, n_groups: ArrayLike, *, power: float = 0.8, alpha: float = 0.05, n_comparisons: int = 1
) -> np.ndarray:
    """Smallest difference that `n_groups` groups find with probability `power`; NaN below 2 groups.

    `plan` is one of differences: of :func:`groups_for_difference` or :func:`assumed_for_difference`.
    """
    factor = _factor(power, alpha, n_comparisons)
    n = np.atleast_1d(np.asarray(n_groups, dtype=float))
    out = np.array([factor(int(k)) * plan.sd / math.sqrt(k) if k >= 2 else _NAN for k in n])
    return out.reshape(np.shape(n_groups))


def power_of(plan: Plan, n_groups: ArrayLike, *, difference: float, alpha: float = 0.05) -> np.ndarray:
    """Probability of finding `difference` with `n_groups` groups, two-sided; NaN below 2 groups.

    From the noncentral t. With no spread at all it is 1 for any difference but 0.
    """
    from scipy import stats

    _check(alpha=alpha)
    n = np.atleast_1d(np.asarray(n_groups, dtype=float))
    out = np.full(n.shape, np.nan)
    usable = (n >= 2) & ~np.isnan(plan.sd)
    if plan.sd == 0:
        out[usable] = alpha if difference == 0 else 1.0
        return out.reshape(np.shape(n_groups))
    df, shift = n[usable] - 1, abs(difference) / plan.sd * np.sqrt(n[usable])
    edge = stats.t.ppf(1 - alpha / 2, df)
    out[usable] = stats.nct.sf(edge, df, shift) + stats.nct.cdf(-edge, df, shift)
    return out.reshape(np.shape(n_groups))


class _Pilot(NamedTuple):
    sd: float
    mean: float
    n: int
    df: float
    reason: str


def _pilot(values: ArrayLike, cluster: ArrayLike, dataset: ArrayLike | None) -> _Pilot:
    """Spread, mean, groups and degrees of freedom. The standard error is that of a ratio of cluster sums."""
    scores = number_vector(values, "values")
    codes = cluster_codes(cluster, len(scores))
    place = cluster_codes([""] * len(scores) if dataset is None else dataset, len(scores), "dataset")
    present = ~np.isnan(scores)
    scores, codes, place = scores[present], codes[present], place[present]
    means, variances, groups = [], [], []
    for name in np.unique(place):
        here = place == name
        _, unit = np.unique(codes[here], return_inverse=True)
        n, total = np.bincount(unit), np.bincount(unit, scores[here])
        mean = total.sum() / n.sum()
        g = len(n)
        residual = (total - mean * n) / n.sum()
        means.append(mean)
        groups.append(g)
        variances.append(float(residual @ residual) * g / (g - 1) if g > 1 else _NAN)
    n_groups = sum(groups)
    if n_groups < 2:
        return _Pilot(
            _NAN, means[0] if means else _NAN, n_groups, _NAN, f"a pilot of {n_groups} group(s) shows no spread"
        )
    mean = float(np.mean(means))
    if min(groups) < 2:
        return _Pilot(_NAN, mean, n_groups, _NAN, "a dataset has one pilot group; at least 2 in each are needed")
    parts = np.array(variances) / len(groups) ** 2
    se2 = float(parts.sum())
    # Satterthwaite: how well the pilot knows its own standard error.
    df = se2**2 / float((parts**2 / (np.array(groups) - 1)).sum()) if se2 > 0 else float(n_groups - len(groups))
    return _Pilot(math.sqrt(se2 * n_groups), mean, n_groups, df, "")


def _assumed(sd: float, mean: float) -> _Pilot:
    if not (math.isfinite(sd) and sd >= 0):
        raise ConfigError(f"a spread between groups must be a number from 0 on, got {sd!r}")
    return _Pilot(float(sd), mean, 0, _NAN, "")


def _for_width(pilot: _Pilot, width: float, level: float) -> Plan:
    _check(level=level)
    if not (math.isfinite(width) and width > 0):
        raise ConfigError(f"width must be above 0, got {width!r}")
    return _plan(pilot, lambda n: _quantile((1 + level) / 2, n - 1), width / 2)


def _factor(power: float, alpha: float, n_comparisons: int) -> Callable[[int], float]:
    """What a difference must be, in standard errors, to be found by n groups with this power."""
    _check(alpha=alpha, power=power)
    if power <= alpha:
        raise ConfigError(f"power must be above alpha = {alpha}, got {power!r}")
    if n_comparisons < 1:
        raise ConfigError(f"n_comparisons must be 1 or more, got {n_comparisons!r}")
    tail = 1 - alpha / (2 * n_comparisons)
    return lambda n: _quantile(tail, n - 1) + _quantile(power, n - 1)


def _plan(pilot: _Pilot, factor: Callable[[int], float], half: float) -> Plan:
    if pilot.reason:
        return Plan(_NAN, _NAN, _NAN, pilot.sd, pilot.mean, pilot.n, pilot.reason)
    from scipy.stats import chi2

    n = _smallest(pilot.sd, half, factor)
    if math.isnan(pilot.df):  # assumed: nothing is known of how well the spread is known
        return Plan(n, _NAN, _NAN, pilot.sd, pilot.mean, pilot.n, "")
    spread = [math.sqrt(pilot.df / chi2.ppf(q, pilot.df)) * pilot.sd for q in (0.975, 0.025)]
    low, high = (_smallest(s, half, factor) for s in spread)
    return Plan(n, low, high, pilot.sd, pilot.mean, pilot.n, "")


def _smallest(sd: float, half: float, factor: Callable[[int], float]) -> float:
    """Least n >= 2 with factor(n) * sd / sqrt(n) <= half, by bisection; infinite beyond ten million."""

    def enough(n: int) -> bool:
        return factor(n) * sd <= half * math.sqrt(n)

    if enough(2):
        return 2.0
    low, high = 2, 4
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)


def _quantile(q: float, df: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, q))


def _check(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 < value < 1:
            raise ConfigError(f"{name} must lie between 0 and 1, got {value!r}")
