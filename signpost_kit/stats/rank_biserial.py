"""The matched-pairs rank-biserial correlation of many resamples of the pairs at once."""

from __future__ import annotations

import numpy as np

__all__ = ["rank_biserial_draws"]

_BLOCK_CELLS = 500_000  # pairs times draws held at once: what stays in a cache


def rank_biserial_draws(difference: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(favourable - unfavourable) / total rank sum in every resample.

    A pair drawn twice is two pairs that tie, as they would be in a resample written out.

    Parameters
    ----------
    difference
        (g,) differences of pairs; zeros and NaN are dropped.
    counts
        (g, draws) how often each group was drawn.

    Returns
    -------
    (draws,) values -1..1, NaN where a resample holds no pair that differs.
    """
    used = np.flatnonzero(np.nan_to_num(difference) != 0)
    size = np.abs(difference[used])
    order = np.argsort(size, kind="stable")
    used, size = used[order], size[order]
    first_of_tie = np.flatnonzero(np.diff(size, prepend=-1.0) > 0)
    favourable = difference[used] > 0
    out = np.full(counts.shape[1], np.nan)
    block = max(1, _BLOCK_CELLS // max(len(used), 1))
    for first in range(0, len(out) if len(used) else 0, block):
        drawn = counts[used, first : first + block].astype(np.int32)
        out[first : first + block] = _correlations(drawn, favourable, first_of_tie)
    return out


def _correlations(drawn: np.ndarray, favourable: np.ndarray, first_of_tie: np.ndarray) -> np.ndarray:
    """Of pairs (pair, draw) sorted by size; those from one entry of `first_of_tie` to the next are of one size."""
    if len(first_of_tie) == len(drawn):
        rows, for_it = np.flatnonzero(favourable), None
    else:
        for_it = np.add.reduceat(drawn * favourable[:, None], first_of_tie, axis=0)
        drawn = np.add.reduceat(drawn, first_of_tie, axis=0)
        rows = np.arange(len(drawn))
    upto = np.cumsum(drawn, axis=0, dtype=np.int32)
    n = upto[-1].astype(float)
    twice = 2 * upto - drawn + 1  # twice the mean rank of a tie that ends at place `upto` and holds `drawn` pairs
    twice *= drawn if for_it is None else for_it
    won = twice[rows].sum(axis=0, dtype=np.float64) / 2.0
    total = n * (n + 1) / 2
    return np.where(n > 0, (2 * won - total) / np.maximum(total, 1), np.nan)
