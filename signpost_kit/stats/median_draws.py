"""Medians of given resamples, so that medians of several models can be averaged draw by draw.

:mod:`signpost_kit.stats.medians` draws a median from its own distribution, which is faster but leaves each series
on its own. Here the resamples are given. Only a window around the middle is looked at: eight standard deviations of
the number of drawn values below it.
"""

from __future__ import annotations

import math

import numpy as np

from signpost_kit.stats.resampling import Resamples

__all__ = ["median_draws"]


def median_draws(series: np.ndarray, resamples: Resamples) -> np.ndarray:
    """Medians of every resample of every dataset.

    Parameters
    ----------
    series
        (s, g) one value per group, NaN where there is none; infinity is a value.

    Returns
    -------
    (d, s, draws): NaN where a resample drew no value, fewer than two groups have one, or the median is infinite.
    """
    out = np.full((len(resamples), len(series), resamples.n_resamples), np.nan, dtype=np.float32)
    for d, (first, last) in enumerate(zip(resamples.starts[:-1], resamples.starts[1:], strict=True)):
        known = [np.flatnonzero(~np.isnan(row[first:last])) for row in series]
        order = [at[np.argsort(row[first + at], kind="stable")] for row, at in zip(series, known, strict=True)]
        windows = [_window(len(at)) for at in order]
        marks = np.zeros((2, len(series), int(last - first)), dtype=np.float32)
        for i, (at, (low, _)) in enumerate(zip(order, windows, strict=True)):
            marks[0, i, at], marks[1, i, at[:low]] = 1.0, 1.0
        sums = resamples.sums(marks.reshape(-1, marks.shape[-1]), d).astype(np.int64).reshape(2, len(series), -1)
        counts = resamples.counts(d)
        for i, (at, (low, high)) in enumerate(zip(order, windows, strict=True)):
            if len(at) >= 2:
                inside = counts[at[low:high]]
                out[d, i] = _medians(series[i, first:last][at[low:high]], inside, sums[0, i], sums[1, i])
    return out


def _window(n: int) -> tuple[int, int]:
    """Places of the sorted values among which the median of every resample lies."""
    half = math.ceil(4.0 * math.sqrt(n)) + 2
    return max(0, n // 2 - half), min(n, n // 2 + half)


def _medians(values: np.ndarray, counts: np.ndarray, total: np.ndarray, below: np.ndarray) -> np.ndarray:
    upto = np.cumsum(counts, axis=0, dtype=np.int32)  # (value, draw)
    places = [(upto <= (middle - below).astype(np.int32)).sum(axis=0) for middle in ((total - 1) // 2, total // 2)]
    lower, upper = (values[np.minimum(place, len(values) - 1)] for place in places)
    middle = lower * 0.5 + upper * 0.5
    return np.where((total > 0) & np.isfinite(middle), middle, np.nan)
