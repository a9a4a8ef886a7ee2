"""Intervals of medians by the same cluster bootstrap, drawn exactly without building a resample.

Each group holds at most one value of a series, so the median of a resample of n values is the empirical quantile
at a uniform order statistic, whose distribution is a Beta. Drawing that Beta and looking the quantile up in the
sorted values gives medians with exactly the distribution of "resample the groups and take the median", in time that
does not depend on the number of groups. Groups without a value make the size of a resample's sample binomial.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from signpost_kit.stats.intervals import dataset_rng, mean_over_datasets, percentile_bounds

__all__ = ["bootstrap_medians", "segment_medians"]


def segment_medians(series: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Median of each series within each dataset, and the sorted values for :func:`bootstrap_medians`.

    Parameters
    ----------
    series
        (s, g) one value per group, NaN where there is none; infinity is a value (a failure, as far as can be).
    starts
        (d + 1,) first group of each dataset, and the end.

    Returns
    -------
    medians (s, d), NaN where there is no value or the median lies at infinity; sorted values per dataset.
    """
    ordered = [np.sort(series[:, a:b], axis=1) for a, b in itertools.pairwise(starts)]
    medians = np.full((len(series), len(ordered)), np.nan)
    for d, values in enumerate(ordered):
        n = values.shape[1] - np.isnan(values).sum(axis=1)
        if values.shape[1]:
            medians[:, d] = _middle(values, np.maximum(n - 1, 0) // 2, np.maximum(n, 1) // 2)
        medians[n == 0, d] = np.nan
    return medians, ordered


def bootstrap_medians(
    ordered: Sequence[np.ndarray],
    names: Sequence[str],
    *,
    n_resamples: int = 2000,
    seed: int = 42,
    level: float = 0.95,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Percentile bounds of medians per dataset (s, d) and of their mean over datasets (s,).

    The resampling unit is the group, within its dataset; `ordered` comes from :func:`segment_medians`. Fewer than
    two groups with a value: NaN.

    Returns
    -------
    cells_low, cells_high (s, d); low, high (s,).
    """
    n_series = len(ordered[0]) if ordered else 0
    draws = np.full((len(ordered), n_series, n_resamples), np.nan, dtype=np.float32)
    held = np.zeros((len(ordered), n_series), dtype=np.int64)
    for d, (values, name) in enumerate(zip(ordered, names, strict=True)):
        held[d] = values.shape[1] - np.isnan(values).sum(axis=1)
        draws[d] = _drawn_medians(values, held[d], n_resamples, dataset_rng(seed, name, 1))
    low, high = percentile_bounds(mean_over_datasets(draws), level)
    cells_low, cells_high = percentile_bounds(draws, level)
    low[held.sum(axis=0) < 2], high[held.sum(axis=0) < 2] = np.nan, np.nan
    cells_low[held < 2], cells_high[held < 2] = np.nan, np.nan
    return cells_low.T, cells_high.T, low, high


def _drawn_medians(values: np.ndarray, held: np.ndarray, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """(s, n_resamples) medians of resamples of one dataset's groups."""
    n_groups = values.shape[1]
    n = held[:, None]
    if n_groups == 0 or n_resamples == 0:
        return np.full((len(values), n_resamples), np.nan)
    if np.all(held == n_groups):
        size = np.full((len(values), n_resamples), n_groups)
    else:
        size = rng.binomial(n_groups, n / n_groups, size=(len(values), n_resamples))
    m = np.maximum(size, 1)
    rank = (m + 1) // 2  # of the lower middle value
    lower = rng.beta(rank, m + 1 - rank)
    # The next order statistic, given this one, is the smallest of the m - rank values above it.
    gap = 1.0 - rng.random(m.shape) ** (1.0 / np.maximum(m - rank, 1))
    upper = np.where(m % 2 == 0, lower + (1.0 - lower) * gap, lower)
    top = np.maximum(n - 1, 0)
    first, second = (np.clip(np.ceil(n * u).astype(np.int64) - 1, 0, top) for u in (lower, upper))
    medians = np.take_along_axis(values, first, 1) * 0.5 + np.take_along_axis(values, second, 1) * 0.5
    return np.where((size > 0) & (n > 0) & np.isfinite(medians), medians, np.nan)


def _middle(values: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    rows = np.arange(len(values))
    middle = values[rows, first] * 0.5 + values[rows, second] * 0.5
    return np.where(np.isfinite(middle), middle, np.nan)
