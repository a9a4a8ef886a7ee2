"""Paired tests: the same pictures under two conditions, or answered by two models.

Two resampling units occur. The Wilcoxon test takes every pair as its own unit, as the SIGNPOST-Bench study does;
the sign-flip test turns whole clusters (a site, a scene) together, so that answers about one place never count as
independent evidence.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError, DataError

__all__ = [
    "SignFlip",
    "Wilcoxon",
    "holm",
    "paired_sign_flip",
    "paired_wilcoxon",
]

Alternative = Literal["greater", "less", "two-sided"]
_ALTERNATIVES = ("greater", "less", "two-sided")
_NAN = float("nan")
_TIE = 1e-9  # flips whose sum differs from the observed one by rounding only are ties, and count
_BLOCK_CELLS = 2_000_000  # flips times bytes of signs held at once


class Wilcoxon(NamedTuple):
    """A paired signed-rank test; NaN with a reason where fewer than two pairs differ."""

    statistic: float
    """Sum of the ranks of x > y for "greater" and "less"; the smaller of the two rank sums for "two-sided"."""
    p: float
    n: int
    """Pairs that differ: what the test is made of."""
    n_zero: int
    """Pairs without a difference; they are dropped."""
    n_missing: int
    """Pairs with a NaN on either side; they are dropped too."""
    rank_biserial: float
    """(favourable - unfavourable) / total rank sum, -1..1; positive when x tends to be larger."""
    reason: str


class SignFlip(NamedTuple):
    """A paired test that flips whole clusters; NaN with a reason where there is no pair."""

    mean: float
    """Mean of the differences over pairs, in their unit."""
    p: float
    """Two-sided, (b + 1) / (m + 1): never 0. With one cluster it is 1."""
    n: int
    n_clusters: int
    n_missing: int
    """NaN differences, left out."""
    reason: str
    """Why there is no p, or why it cannot be small; empty otherwise."""


def paired_wilcoxon(
    x: ArrayLike,
    y: ArrayLike,
    *,
    alternative: Alternative = "greater",
    method: Literal["auto", "exact", "approx"] = "auto",
) -> Wilcoxon:
    """Wilcoxon signed-rank test of paired values, zeros dropped, with the matched-pairs rank-biserial correlation.

    Parameters
    ----------
    x, y
        (n,) paired values, such as WLA under Original and Adversarial of the same group.
    alternative
        "greater": x is larger than y, the study's one-sided question.
    method
        As scipy's: "auto" is exact for few pairs (up to 50 without ties or zeros), else the normal approximation.

    Returns
    -------
    Wilcoxon
        No or one differing pair: statistic, p and rank-biserial are NaN, and `reason` says so.

    References
    ----------
    Kerby (2014) for the rank-biserial; `scipy.stats.wilcoxon(zero_method="wilcox")`.

    Examples
    --------
    >>> result = paired_wilcoxon([5, 4, 3, 2, 7], [1, 2, 4, 2, 2])
    >>> result.statistic, result.p, result.n, result.n_zero, result.rank_biserial
    (9.0, 0.125, 4, 1, 0.8)
    """
    if alternative not in _ALTERNATIVES:
        raise ConfigError(f"alternative must be one of {', '.join(_ALTERNATIVES)}, got {alternative!r}")
    difference, n_missing = _differences(x, y)
    moved = difference[difference != 0]
    n, n_zero = len(moved), len(difference) - len(moved)
    if n < 2:
        what = f"{n} pair that differs" if n == 1 else "no pair that differs"
        return Wilcoxon(_NAN, _NAN, n, n_zero, n_missing, _NAN, f"{what}, at least 2 are needed")
    from scipy import stats

    ranks = stats.rankdata(np.abs(moved))
    favourable = float(ranks[moved > 0].sum())
    total = n * (n + 1) / 2
    test: Any = stats.wilcoxon(difference, alternative=alternative, zero_method="wilcox", method=method)
    return Wilcoxon(
        float(test.statistic), float(test.pvalue), n, n_zero, n_missing, (2 * favourable - total) / total, ""
    )


def paired_sign_flip(delta: ArrayLike, cluster: ArrayLike, n_flips: int = 20_000, seed: int = 42) -> SignFlip:
    """Is the mean difference 0? A permutation test in which whole clusters change sign together.

    Every flip gives each cluster one random sign, so its mean is the cluster sums times the signs; b flips reach
    the observed mean in size, and p = (b + 1) / (m + 1) for m flips. Same seed, same p, in any order of rows.

    Parameters
    ----------
    delta
        (n,) differences of pairs, NaN where one side is missing.
    cluster
        (n,) labels of what flips together, such as the site.
    n_flips
        m, at least 1.

    Returns
    -------
    SignFlip
        No pair: mean and p are NaN. One cluster: p is 1, since no flip changes the size of its sum.
        With G clusters no p below 2 / 2**G can be reached; `reason` says so when that is above 0.05.

    Examples
    --------
    >>> result = paired_sign_flip([1, 1, 0, 1, 1, 0], ["a", "a", "a", "b", "b", "c"])
    >>> round(result.mean, 3), result.n, result.n_clusters
    (0.667, 6, 3)
    """
    values = number_vector(delta, "delta")
    codes = cluster_codes(cluster, len(values))
    present = ~np.isnan(values)
    values, codes = values[present], codes[present]
    n_missing = int((~present).sum())
    if len(values) == 0:
        return SignFlip(_NAN, _NAN, 0, 0, n_missing, "no complete pair")
    sums = np.bincount(codes, values)
    sums = sums[np.bincount(codes) > 0]
    p = flip_p(sums, n_flips=n_flips, seed=seed)
    return SignFlip(float(values.mean()), p, len(values), len(sums), n_missing, few_clusters_reason(len(sums)))


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's step-down adjusted p values, in the order given.

    NaN stays NaN and is not part of the family: a test that could not be made makes no other harder. Empty gives
    empty.

    Raises
    ------
    DataError
        A value outside 0..1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, float("nan")]).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    p = np.asarray(p_values, dtype=float)
    flat = np.ravel(p)
    known = np.flatnonzero(~np.isnan(flat))
    wrong = flat[known][(flat[known] < 0) | (flat[known] > 1)]
    if wrong.size:
        raise DataError(f"p values lie between 0 and 1, got {wrong[0]:g}")
    out = np.full(flat.shape, np.nan)
    order = known[np.argsort(flat[known], kind="stable")]
    steps = flat[order] * np.arange(len(order), 0, -1)
    out[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return out.reshape(p.shape)


def flip_p(sums: np.ndarray, *, n_flips: int, seed: int) -> float:
    """(b + 1) / (m + 1) over m random sign vectors of cluster sums (g,), two-sided.

    The product of signs and sums is made eight clusters at a time: a random byte picks one of the 256 signed sums
    of its clusters. The same product without a matrix, and without a BLAS whose rounding differs by machine.
    """
    if n_flips < 1:
        raise ConfigError(f"n_flips must be 1 or more, got {n_flips!r}")
    if seed < 0:
        raise ConfigError(f"a seed must be 0 or more, got {seed!r}")
    rng = np.random.default_rng(seed)
    n_bytes = -(-len(sums) // 8)
    padded = np.zeros(8 * n_bytes)
    padded[: len(sums)] = sums
    signs = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1.0
    tables = (padded.reshape(n_bytes, 1, 8) * signs).sum(axis=-1)
    observed = abs(float(sums.sum()))
    reached = observed - _TIE * float(np.abs(sums).sum())
    b = 0
    block = max(1, _BLOCK_CELLS // n_bytes)
    for first in range(0, n_flips, block):
        size = min(block, n_flips - first)
        drawn = rng.integers(0, 256, size=(n_bytes, size), dtype=np.uint8)
        total = np.zeros(size)
        for table, picks in zip(tables, drawn, strict=True):
            total += table.take(picks)
        b += int(np.count_nonzero(np.abs(total) >= reached))
    return (b + 1) / (n_flips + 1)


def cluster_codes(labels: ArrayLike, length: int, what: str = "cluster") -> np.ndarray:
    """Labels as whole numbers from 0 in sorted order, maybe with gaps.

    A missing label, or another number of labels than of values, is a DataError.
    """
    array = np.asarray(labels)
    if array.shape != (length,):
        raise DataError(f"{what} needs one label per value: {length} values, labels of shape {array.shape}")
    if array.dtype.kind in "iub":
        if length and array.dtype.kind != "b" and int(array.min()) >= 0 and int(array.max()) < 4 * length:
            return array.astype(np.int64)  # codes already: whoever counts them leaves out those that do not occur
        return np.unique(array, return_inverse=True)[1]
    import pandas as pd

    codes, _ = pd.factorize(array, sort=True)
    if (codes < 0).any():
        raise DataError(f"{int((codes < 0).sum())} row(s) have no {what} label; every pair must belong to one")
    return codes


def few_clusters_reason(n_clusters: int) -> str:
    """Why a sign-flip p over so few clusters cannot be small; empty from six clusters on."""
    if n_clusters == 1:
        return "one cluster: its sign says nothing about others, so p is 1"
    if n_clusters < 6:
        return f"{n_clusters} clusters: no p below {2 / 2**n_clusters:.3g} can be reached"
    return ""


def _differences(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, int]:
    a, b = number_vector(x, "x"), number_vector(y, "y")
    if a.shape != b.shape:
        raise DataError(f"pairs need two arrays in the same order; got {len(a)} and {len(b)} values")
    difference = a - b
    present = ~np.isnan(difference)
    return difference[present], int((~present).sum())


def number_vector(values: ArrayLike, what: str) -> np.ndarray:
    """Finite numbers or NaN in one dimension as floats; anything else is a DataError."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} must hold numbers: {error}") from error
    if array.ndim != 1:
        raise DataError(f"{what} must be one-dimensional, got shape {array.shape}")
    if np.isinf(array).any():
        raise DataError(f"{what} holds an infinite value; use NaN for a missing one")
    return array
