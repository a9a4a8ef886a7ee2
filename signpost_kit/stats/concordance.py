"""Correlations of two scores over models, for many draws at once: Pearson's r, Spearman's rho, Kendall's tau-b.

:func:`signpost_kit.stats.ranks.rank_agreement` gives one value with its p; these give the value of every bootstrap
draw, with whole arrays. Models lie on axis 0, draws on the others. A model that is NaN in either score leaves that
draw; fewer than two models, or a score that is the same for all of them, gives NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import DataError
from signpost_kit.stats.intervals import ratio

__all__ = ["kendall", "pearson", "ranks", "spearman"]


def pearson(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """Pearson's r over axis 0, -1..1.

    Examples
    --------
    >>> pearson([1.0, 2.0, 4.0], [2.0, 4.0, 8.0]).round(3).tolist()
    1.0
    """
    a, b = _both(first, second)
    a, b = _centred(a), _centred(b)
    spread = np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
    return np.clip(ratio((a * b).sum(axis=0), spread), -1.0, 1.0)


def spearman(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """Spearman's rho over axis 0: Pearson's r of the mean ranks.

    Examples
    --------
    >>> spearman([10, 20, 30, 40], [1, 2, 4, 3]).round(3).tolist()
    0.8
    """
    a, b = _both(first, second)
    return pearson(ranks(a), ranks(b))


def kendall(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """Kendall's tau-b over axis 0; pairs of models that tie in either score count as in tau-b.

    Examples
    --------
    >>> kendall([10, 20, 30, 40], [1, 2, 4, 3]).round(3).tolist()
    0.667
    """
    a, b = _both(first, second)
    agree, moved_a, moved_b = (np.zeros(a.shape[1:]) for _ in range(3))
    for i in range(1, len(a)):
        in_a, in_b = np.sign(a[i] - a[:i]), np.sign(b[i] - b[:i])
        agree += np.nansum(in_a * in_b, axis=0)
        moved_a += np.nansum(np.abs(in_a), axis=0)
        moved_b += np.nansum(np.abs(in_b), axis=0)
    return np.clip(ratio(agree, np.sqrt(moved_a * moved_b)), -1.0, 1.0)


def ranks(values: ArrayLike) -> np.ndarray:
    """Mean ranks over axis 0, 1 for the smallest; NaN is not ranked."""
    data = np.asarray(values, dtype=float)
    out = np.full(data.shape, np.nan)
    for i in range(len(data)):
        below, same = (data < data[i]).sum(axis=0), (data == data[i]).sum(axis=0)
        out[i] = np.where(np.isnan(data[i]), np.nan, below + (same + 1) / 2)
    return out


def _both(first: ArrayLike, second: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.ndim == 0 or a.shape != b.shape:
        raise DataError(f"two scores need one value per model each; got shapes {a.shape} and {b.shape}")
    absent = np.isnan(a) | np.isnan(b)
    return np.where(absent, np.nan, a), np.where(absent, np.nan, b)


def _centred(values: np.ndarray) -> np.ndarray:
    """Minus the mean; 0 where absent, and exactly 0 throughout where all values are equal."""
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    mean = ratio(filled.sum(axis=0), known.sum(axis=0).astype(float))
    largest = np.max(np.where(known, values, -np.inf), axis=0, initial=-np.inf)
    smallest = np.min(np.where(known, values, np.inf), axis=0, initial=np.inf)
    return np.where(known & (largest > smallest), values - mean, 0.0)
