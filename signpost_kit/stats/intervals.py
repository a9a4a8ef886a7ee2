"""Confidence intervals by the cluster bootstrap: whole groups (scenes) are resampled within their dataset.

The resampling unit is the group, never the picture or the reply: the five variants of a scene, and every model's
answers to them, stay together, so differences between variants and models keep their pairing. Inside each resample
a score is computed per dataset and then averaged over datasets with equal weight, as the point estimate is.

No resample is ever built: a resample is a row of counts (how often each group was drawn), so that all sums of all
resamples are one matrix product, counts times per-group sums.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError, DataError

__all__ = ["Interval", "RatioBounds", "bootstrap_ratios", "cluster_bootstrap", "dataset_rng", "percentile_bounds"]

_BLOCK_CELLS = 4_000_000  # counts held at once: 16 MB of float32
Derive = Callable[[np.ndarray], np.ndarray]


class Interval(NamedTuple):
    """A score with its interval; arrays when several scores were given. NaN where it is not defined."""

    estimate: Any
    low: Any
    high: Any
    n_clusters: int


class RatioBounds(NamedTuple):
    """Bounds of many ratios: `cells_low`, `cells_high` (dataset, score, ...), `low`, `high` (score, ...) macro."""

    cells_low: np.ndarray
    cells_high: np.ndarray
    low: np.ndarray
    high: np.ndarray


def cluster_bootstrap(
    values: ArrayLike,
    cluster: ArrayLike,
    dataset: ArrayLike | None = None,
    *,
    n_resamples: int = 2000,
    seed: int = 42,
    level: float = 0.95,
) -> Interval:
    """Mean of `values` with a percentile interval; the resampling unit is the cluster, within its dataset.

    Parameters
    ----------
    values
        (n,) or (n, k) numbers; NaN entries are left out of the mean.
    cluster
        (n,) labels; rows with one label are drawn together. Labels are local to their dataset.
    dataset
        (n,) labels, or None for a single dataset. The estimate is the plain mean of the datasets' means, over the
        datasets that have a value.
    n_resamples
        0 gives the estimate with NaN bounds.
    seed
        Same seed, same bounds, in whatever order the rows come.
    level
        Coverage of the interval, 0 < level < 1.

    Returns
    -------
    Interval
        Floats for (n,) values, arrays (k,) else. No value at all: all NaN and 0 clusters; fewer than two clusters
        with a value: NaN bounds, since nothing is known about their spread.

    Examples
    --------
    >>> result = cluster_bootstrap([1.0, 2.0, 3.0, 4.0], ["a", "a", "b", "c"])
    >>> result.estimate, result.n_clusters
    (2.5, 3)
    """
    data = np.asarray(values, dtype=float)
    rows = np.atleast_1d(data)[:, None] if data.ndim < 2 else data
    cluster_labels = _labels(cluster, len(rows), "cluster")
    dataset_labels = np.full(len(rows), "") if dataset is None else _labels(dataset, len(rows), "dataset")
    names, dataset_code = np.unique(dataset_labels, return_inverse=True)
    _, cluster_code = np.unique(cluster_labels, return_inverse=True)
    order_key = dataset_code.astype(np.int64) * (int(cluster_code.max(initial=0)) + 1) + cluster_code
    keys, group = np.unique(order_key, return_inverse=True)
    group_dataset = np.zeros(len(keys), dtype=np.int64)
    group_dataset[group] = dataset_code
    present = ~np.isnan(rows)
    width = rows.shape[1]
    columns = np.zeros((2 * width, len(keys)))
    for k in range(width):
        columns[k] = np.bincount(group, np.where(present[:, k], rows[:, k], 0.0), len(keys))
        columns[width + k] = np.bincount(group, present[:, k], len(keys))
    starts = np.searchsorted(group_dataset, np.arange(len(names) + 1))
    numerator, denominator = np.arange(width), width + np.arange(width)
    cells = ratio(segment_sums(columns[:width], starts), segment_sums(columns[width:], starts)).T
    estimate = mean_over_datasets(cells)
    bounds = bootstrap_ratios(
        columns, numerator, denominator, starts, names.tolist(), n_resamples=n_resamples, seed=seed, level=level
    )
    n_clusters = int((columns[width:] > 0).any(axis=0).sum())
    if data.ndim <= 1:
        return Interval(float(estimate[0]), float(bounds.low[0]), float(bounds.high[0]), n_clusters)
    return Interval(estimate, bounds.low, bounds.high, n_clusters)


def bootstrap_ratios(
    columns: np.ndarray,
    numerator: np.ndarray,
    denominator: np.ndarray,
    starts: np.ndarray,
    names: Sequence[str],
    *,
    derive: Derive | None = None,
    n_resamples: int = 2000,
    seed: int = 42,
    level: float = 0.95,
) -> RatioBounds:
    """Bounds of many ratios of sums, and of scores derived from them, in one pass over the resamples.

    The resampling unit is the group (one column of `columns`), within its dataset.

    Parameters
    ----------
    columns
        (c, g) per-group sums and counts; groups of one dataset stand together.
    numerator, denominator
        Row numbers into `columns`, both of shape (k, ...): score k is the ratio of the two summed rows.
    starts
        (d + 1,) first group of each dataset, and the end.
    names
        The d datasets' names; they seed each dataset's own stream, so other datasets do not change it.
    derive
        Maps ratios (k, ...) to further scores (j, ...) along axis 0; applied per dataset and to the macro means.

    Returns
    -------
    RatioBounds
        First axis after the dataset's: the k ratios, then the j derived scores. NaN where fewer than two groups
        have a denominator above 0, and everywhere for `n_resamples=0`.
    """
    if not 0 < level < 1:
        raise ConfigError(f"level must lie between 0 and 1, got {level!r}")
    if n_resamples < 0:
        raise ConfigError(f"n_resamples must be 0 or more, got {n_resamples!r}")
    shape = numerator.shape
    small = np.ascontiguousarray(columns, dtype=np.float32)
    cells: list[tuple[np.ndarray, np.ndarray]] = []
    total = np.zeros((*shape, n_resamples), dtype=np.float32)
    defined = np.zeros((*shape, n_resamples), dtype=np.int16)
    for name, first, last in zip(names, starts[:-1], starts[1:], strict=True):
        sums = _resampled_sums(small[:, first:last], n_resamples, dataset_rng(seed, name))
        draws = ratio(sums[numerator], sums[denominator])
        held = (columns[:, first:last] > 0).sum(axis=1)[denominator]
        cells.append(_bounds(draws, held, derive, level))
        known = ~np.isnan(draws)
        total += np.where(known, draws, 0)
        defined += known
    macro = ratio(total, defined)
    held = (columns > 0).sum(axis=1)[denominator]
    low, high = _bounds(macro, held, derive, level)
    return RatioBounds(
        np.array([low for low, _ in cells]).reshape(len(cells), *low.shape),
        np.array([high for _, high in cells]).reshape(len(cells), *low.shape),
        low,
        high,
    )


def percentile_bounds(draws: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper percentile over the last axis, linear between draws; NaN draws are left out.

    All NaN, or no draws, gives NaN.
    """
    if draws.shape[-1] == 0:
        nothing = np.full(draws.shape[:-1], np.nan)
        return nothing, nothing.copy()
    ordered = np.sort(draws, axis=-1)  # NaN last
    n_known = draws.shape[-1] - np.isnan(ordered).sum(axis=-1)
    tail = (1.0 - level) / 2.0
    return _quantile(ordered, n_known, tail), _quantile(ordered, n_known, 1.0 - tail)


def dataset_rng(seed: int, name: str, purpose: int = 0) -> np.random.Generator:
    """The random stream of one dataset: depends on the seed, its name and the purpose only."""
    if seed < 0:
        raise ConfigError(f"a seed must be 0 or more, got {seed!r}")
    return np.random.default_rng([seed, zlib.crc32(str(name).encode("utf-8", "surrogatepass")), purpose])


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Elementwise ratio, NaN where the denominator is 0, without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.nan).astype(numerator.dtype, copy=False)


def segment_sums(rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums over the last axis within each segment [starts[i], starts[i + 1]); float64, exact for counts."""
    if len(starts) < 2 or rows.shape[-1] == 0:
        return np.zeros((*rows.shape[:-1], max(len(starts) - 1, 0)))
    return np.add.reduceat(rows, starts[:-1], axis=-1, dtype=np.float64)


def mean_over_datasets(cells: np.ndarray) -> np.ndarray:
    """Mean over axis 0 of the datasets that have a value; NaN where none has."""
    known = ~np.isnan(cells)
    return ratio(np.where(known, cells, 0.0).sum(axis=0), known.sum(axis=0))


def count_blocks(n_groups: int, n_resamples: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """How often each group of a dataset was drawn: blocks of rows, (resamples, n_groups) in all, whole numbers."""
    block = max(1, _BLOCK_CELLS // max(n_groups, 1))
    for first in range(0, n_resamples, block):
        size = min(block, n_resamples - first)
        drawn = rng.integers(0, n_groups, size=(size, n_groups), dtype=np.int32)
        drawn += np.arange(size, dtype=np.int32)[:, None] * np.int32(n_groups)
        yield np.bincount(drawn.ravel(), minlength=size * n_groups).reshape(size, n_groups)


def _resampled_sums(columns: np.ndarray, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """(c, n_resamples): every row summed over each resample of the groups of one dataset."""
    out = np.empty((len(columns), n_resamples), dtype=np.float32)
    first = 0
    for counts in count_blocks(columns.shape[1], n_resamples, rng):
        out[:, first : first + len(counts)] = columns @ counts.astype(np.float32).T
        first += len(counts)
    return out


def _bounds(
    draws: np.ndarray, held: np.ndarray, derive: Derive | None, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the draws and of what is derived from them; a score held by fewer than two groups has none."""
    draws = np.where(held[..., None] < 2, np.float32(np.nan), draws)
    low, high = percentile_bounds(draws, level)
    if derive is not None:
        more_low, more_high = percentile_bounds(derive(draws), level)
        low, high = np.concatenate([low, more_low]), np.concatenate([high, more_high])
    return low.astype(float), high.astype(float)


def _quantile(ordered: np.ndarray, n_known: np.ndarray, q: float) -> np.ndarray:
    position = q * np.maximum(n_known - 1, 0)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(n_known - 1, 0))
    first = np.take_along_axis(ordered, below[..., None], axis=-1)[..., 0].astype(float)
    second = np.take_along_axis(ordered, above[..., None], axis=-1)[..., 0].astype(float)
    part = position - below
    with np.errstate(invalid="ignore"):  # infinities: inf - inf
        value = np.where((part == 0) | (first == second), first, first + part * (second - first))
    return np.where(n_known > 0, value, np.nan)


def _labels(labels: ArrayLike, length: int, what: str) -> np.ndarray:
    array = np.asarray(labels)
    if array.shape != (length,):
        raise DataError(f"{what} needs one label per value: {length} values, labels of shape {array.shape}")
    return array.astype(str) if array.dtype == object else array
