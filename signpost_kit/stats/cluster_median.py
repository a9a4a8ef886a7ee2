"""The median with an interval that draws whole clusters: weighted medians of many resamples at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.stats.intervals import Interval, dataset_rng, percentile_bounds
from signpost_kit.stats.paired import cluster_codes, number_vector

__all__ = ["cluster_median"]

_BLOCK = 4_000_000  # counts held at once


def cluster_median(
    values: ArrayLike, cluster: ArrayLike, *, n_resamples: int = 2000, seed: int = 42, level: float = 0.95
) -> Interval:
    """Median of `values` with a percentile interval; the resampling unit is the cluster.

    Parameters
    ----------
    values
        (n,) numbers; NaN is left out.
    cluster
        (n,) labels; rows with one label are drawn together.

    Returns
    -------
    Interval
        Without values all NaN and 0 clusters; with fewer than two clusters that have a value NaN bounds. Same seed,
        same bounds, in whatever order the rows come.

    Examples
    --------
    >>> result = cluster_median([1.0, 2.0, 9.0, 4.0], ["a", "a", "b", "c"])
    >>> result.estimate, result.n_clusters
    (3.0, 3)
    """
    data = number_vector(values, "values")
    codes = cluster_codes(cluster, len(data))
    known = ~np.isnan(data)
    names, code = np.unique(codes[known], return_inverse=True)
    order = np.lexsort((code, data[known]))
    ordered, owner = data[known][order], code[order]
    nothing = float("nan")
    if not len(ordered):
        return Interval(nothing, nothing, nothing, 0)
    estimate = float(np.median(ordered))
    if len(names) < 2 or n_resamples < 1:
        return Interval(estimate, nothing, nothing, len(names))
    rng = dataset_rng(seed, "cluster_median")
    draws = []
    per_block = max(1, _BLOCK // len(ordered))
    for start in range(0, n_resamples, per_block):
        size = min(per_block, n_resamples - start)
        counts = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=size)
        draws.append(_weighted_medians(ordered, counts[:, owner]))
    low, high = percentile_bounds(np.concatenate(draws), level)
    return Interval(estimate, float(low), float(high), len(names))


def _weighted_medians(ordered: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Medians of the sorted values, each repeated as often as its weight says; one per row of weights."""
    upto = np.cumsum(weights, axis=1)
    total = upto[:, -1]
    middle = np.stack([(total - 1) // 2, total // 2])  # the two middle ones, 0-based; equal for odd totals
    places = [
        np.array([np.searchsorted(row, m, side="right") for row, m in zip(upto, at, strict=True)]) for at in middle
    ]
    places = [np.minimum(p, len(ordered) - 1) for p in places]
    out = (ordered[places[0]] + ordered[places[1]]) / 2
    return np.where(total > 0, out, np.nan)
