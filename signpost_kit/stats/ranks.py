"""Rankings: how alike two are, and how sure one is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.stats.intervals import percentile_bounds

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RankAgreement", "order_probability", "rank_agreement", "rank_probabilities", "rank_table"]

_NAN = float("nan")


class RankAgreement(NamedTuple):
    """How alike two rankings of the same models are; NaN with a reason where it is not defined."""

    kendall: float
    """tau-b, -1..1; ties allowed."""
    kendall_p: float
    spearman: float
    spearman_p: float
    n: int
    """Models with both scores."""
    reason: str


def rank_agreement(first: ArrayLike, second: ArrayLike) -> RankAgreement:
    """Kendall's tau-b and Spearman's rho of two scores of the same models, in the same order.

    Models with a NaN in either are left out. Fewer than two models, or a score that is the same for all, gives NaN.

    Examples
    --------
    >>> result = rank_agreement([10, 20, 30, 40], [1, 2, 4, 3])
    >>> round(result.kendall, 3), round(result.spearman, 3), result.n
    (0.667, 0.8, 4)
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.ndim != 1 or a.shape != b.shape:
        raise DataError(f"two rankings need one score per model each; got shapes {a.shape} and {b.shape}")
    keep = ~(np.isnan(a) | np.isnan(b))
    a, b = a[keep], b[keep]
    n = len(a)
    if n < 2:
        return RankAgreement(_NAN, _NAN, _NAN, _NAN, n, f"{n} model(s) with both scores, at least 2 are needed")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return RankAgreement(_NAN, _NAN, _NAN, _NAN, n, "one of the scores is the same for all models")
    from scipy import stats

    tau, tau_p = _pair(stats.kendalltau(a, b))
    if n == 2:  # scipy divides by n - 2
        return RankAgreement(tau, tau_p, tau, _NAN, n, "two models: no p for Spearman")
    rho, rho_p = _pair(stats.spearmanr(a, b))
    return RankAgreement(tau, tau_p, rho, rho_p, n, "")


def rank_probabilities(draws: ArrayLike, *, higher_is_better: bool = True) -> np.ndarray:
    """Probability of each rank for each model, from draws in which all models share the same resample.

    Parameters
    ----------
    draws
        (models, draws) bootstrap draws of a score; column j must come from one resample of the groups, else the
        pairing between models is lost and close models look less separated than they are.
    higher_is_better
        Rank 1 is the highest score; False for distances.

    Returns
    -------
    (models, models) array: row = model, column = rank - 1. Rows sum to 1; models that tie share their ranks
    evenly. A model that is NaN in a draw is not ranked in it; NaN throughout gives a row of NaN.

    Examples
    --------
    >>> rank_probabilities([[3, 3, 1, 3], [2, 4, 2, 2]]).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    values = _draws(draws)
    values = -values if higher_is_better else values
    n_models = len(values)
    total = np.zeros((n_models, n_models + 1))
    for i in range(n_models):
        mine = values[i]
        known = ~np.isnan(mine)
        better = (values < mine).sum(axis=0)[known]
        ties = (values == mine).sum(axis=0)[known]  # itself among them
        share = 1.0 / ties
        # A tie of k models at rank r has 1/k on ranks r .. r + k - 1: a step up and a step down, summed below.
        np.add.at(total[i], better, share)
        np.add.at(total[i], better + ties, -share)
    counts = np.cumsum(total, axis=1)[:, :n_models]
    n_known = (~np.isnan(values)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = counts / n_known[:, None]
    return np.where(n_known[:, None] > 0, np.clip(out, 0.0, 1.0), np.nan)


def rank_table(
    draws: ArrayLike, models: Sequence[str], *, higher_is_better: bool = True, level: float = 0.95
) -> pd.DataFrame:
    """One row per model: mean rank, its percentile bounds, probability of rank 1, and of every rank.

    Columns: model, mean_rank, low, high, p_first, then rank_1 .. rank_k. Sorted as given.
    """
    import pandas as pd
    from scipy.stats import rankdata

    if not 0 < level < 1:
        raise ConfigError(f"level must lie between 0 and 1, got {level!r}")
    values = _draws(draws)
    if len(models) != len(values):
        raise DataError(f"{len(values)} rows of draws for {len(models)} models")
    probability = rank_probabilities(values, higher_is_better=higher_is_better)
    ranks = rankdata(-values if higher_is_better else values, axis=0, nan_policy="omit")
    low, high = percentile_bounds(ranks, level)
    expected = probability @ np.arange(1, len(values) + 1)
    table = pd.DataFrame({"model": list(models), "mean_rank": expected, "low": low, "high": high})
    table["p_first"] = probability[:, 0] if len(values) else []
    for rank in range(len(values)):
        table[f"rank_{rank + 1}"] = probability[:, rank]
    return table


def order_probability(draws: ArrayLike, *, higher_is_better: bool = True) -> np.ndarray:
    """(models, models) share of draws in which the row's model is better than the column's; ties count half.

    The diagonal is 0.5; NaN where no draw has both.
    """
    values = _draws(draws)
    values = values if higher_is_better else -values
    n_models = len(values)
    out = np.full((n_models, n_models), np.nan)
    for i in range(n_models):
        both = ~(np.isnan(values[i]) | np.isnan(values))
        won = ((values[i] > values) + 0.5 * (values[i] == values)) * both
        n = both.sum(axis=1)
        out[i] = np.where(n > 0, won.sum(axis=1) / np.maximum(n, 1), np.nan)
    return out


def _pair(result: Any) -> tuple[float, float]:
    return float(result.statistic), float(result.pvalue)


def _draws(draws: ArrayLike) -> np.ndarray:
    values = np.asarray(draws, dtype=float)
    if values.ndim != 2:
        raise DataError(f"draws must have the shape (models, draws), got {values.shape}")
    return values
