"""Resamples drawn once and shared: every score of every model sees the same groups in the same draw.

:func:`signpost_kit.stats.intervals.bootstrap_ratios` throws its draws away once it has the bounds. Whoever compares
scores (ranks, differences between models, correlations over models, means over models) needs the draws themselves,
joint over models, else the pairing is lost. Here they are kept: as counts, one byte per group and resample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from signpost_kit.stats.intervals import count_blocks, dataset_rng, ratio

__all__ = ["RatioDraws", "Resamples"]

_BLOCK_CELLS = 4_000_000  # counts held as floats at once: 16 MB


class RatioDraws(NamedTuple):
    """Draws of ratios of sums; NaN where a score is not defined, or rests on fewer than two groups."""

    cells: np.ndarray
    """(dataset, score, ..., draw)"""
    macro: np.ndarray
    """(score, ..., draw): plain mean over the datasets that have a value in the draw."""


class Resamples:
    """The cluster bootstrap's resamples of one benchmark: groups drawn with replacement within their dataset.

    The same seed, dataset names and numbers of groups give the very resamples of `bootstrap_ratios`: bounds taken
    from these draws equal the bounds in the tables of scores.

    Parameters
    ----------
    starts
        (d + 1,) first group of each dataset, and the end.
    names
        The d datasets' names; each has its own random stream.
    n_resamples
        0 gives draws of length 0, whose bounds are NaN.
    """

    def __init__(self, starts: np.ndarray, names: Sequence[str], *, n_resamples: int, seed: int) -> None:
        self.starts = np.asarray(starts)
        self.n_resamples = n_resamples
        self._counts: list[np.ndarray] = []
        for name, first, last in zip(names, self.starts[:-1], self.starts[1:], strict=True):
            size = int(last - first)
            kept = np.empty((size, n_resamples), dtype=np.uint8)
            done = 0
            for counts in count_blocks(size, n_resamples, dataset_rng(seed, name)):
                kept[:, done : done + len(counts)] = np.minimum(counts, 255).T  # 255 of one group: never drawn
                done += len(counts)
            self._counts.append(kept)

    def __len__(self) -> int:
        """Number of datasets."""
        return len(self._counts)

    def counts(self, dataset: int) -> np.ndarray:
        """(groups of the dataset, resamples): how often each group was drawn."""
        return self._counts[dataset]

    def sums(self, columns: np.ndarray, dataset: int) -> np.ndarray:
        """(c, resamples): rows (c, groups of the dataset) summed over each resample; float32."""
        counts = self._counts[dataset]
        small = np.ascontiguousarray(columns, dtype=np.float32)
        out = np.empty((len(small), self.n_resamples), dtype=np.float32)
        block = max(1, _BLOCK_CELLS // max(len(counts), 1))
        for first in range(0, self.n_resamples, block):
            out[:, first : first + block] = small @ counts[:, first : first + block].astype(np.float32)
        return out

    def ratios(
        self,
        columns: np.ndarray,
        numerator: np.ndarray,
        denominator: np.ndarray,
        *,
        cells: Sequence[int] | None = None,
    ) -> RatioDraws:
        """Draws of many ratios of sums.

        Parameters
        ----------
        columns
            (c, g) per-group sums and counts over all datasets' groups.
        numerator, denominator
            Row numbers into `columns`, both of shape (k, ...): score k is the ratio of the two summed rows.
        cells
            Which of the k scores to keep by dataset; None: all.
        """
        kept = np.arange(len(numerator)) if cells is None else np.asarray(cells, dtype=np.int64)
        shape = (*numerator.shape, self.n_resamples)
        total, defined = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.int16)
        by_dataset = np.empty((len(self), len(kept), *shape[1:]), dtype=np.float32)
        for d, (first, last) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            part = columns[:, first:last]
            sums = self.sums(part, d)
            draws = ratio(sums[numerator], sums[denominator])
            known = ~np.isnan(draws)
            total += np.where(known, draws, 0)
            defined += known
            held = (part > 0).sum(axis=1)[denominator[kept]]
            by_dataset[d] = np.where(held[..., None] < 2, np.float32(np.nan), draws[kept])
        held = (columns > 0).sum(axis=1)[denominator]
        macro = np.where(held[..., None] < 2, np.float32(np.nan), ratio(total, defined))
        return RatioDraws(by_dataset, macro)
