"""Agreement of two judges, and the interval of a plain share."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError, DataError

__all__ = ["Kappa", "Share", "cohen_kappa", "kappa_from_counts", "wilson"]

Weights = Literal["linear", "quadratic"]
_NAN = float("nan")


class Share(NamedTuple):
    """A share with its Wilson interval; arrays when counts were arrays. NaN where n is 0."""

    estimate: Any
    low: Any
    high: Any


class Kappa(NamedTuple):
    """Cohen's kappa: agreement beyond what the judges' own frequencies would give, 1 perfect, 0 as by chance."""

    kappa: float
    """NaN with a reason when there is no item, or when both judges use one and the same label throughout."""
    se: float
    """Asymptotic standard error (Fleiss, Cohen and Everitt 1969)."""
    low: float
    high: float
    agreement: float
    """Share of items with the same label, 0..1."""
    agreement_low: float
    agreement_high: float
    """Wilson interval."""
    expected: float
    """Agreement by chance, from the two judges' frequencies."""
    n: int
    n_missing: int
    """Items that a judge left out."""
    reason: str


def wilson(count: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> Share:
    """Share with Wilson's score interval, for independent trials (use `cluster_bootstrap` when they are not).

    Parameters
    ----------
    count, n
        Successes and trials; scalars or arrays that broadcast. n = 0 gives NaN.

    Examples
    --------
    >>> share = wilson(8, 10)
    >>> round(share.low, 3), round(share.high, 3)
    (0.49, 0.943)
    """
    from scipy.special import ndtri

    _check_level(level)
    k, total = np.broadcast_arrays(np.asarray(count, dtype=float), np.asarray(n, dtype=float))
    if ((k < 0) | (k > total)).any():
        raise DataError("a share needs 0 <= count <= n")
    z = float(ndtri((1.0 + level) / 2.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = k / total
        centre = (share + z * z / (2 * total)) / (1 + z * z / total)
        half = z / (1 + z * z / total) * np.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
        low = np.where(k == 0, share, np.clip(centre - half, 0.0, 1.0))  # exactly 0 and 1, not 1e-17 beside
        high = np.where(k == total, share, np.clip(centre + half, 0.0, 1.0))
    if share.ndim == 0:
        return Share(float(share), float(low), float(high))
    return Share(share, low, high)


def cohen_kappa(
    a: ArrayLike,
    b: ArrayLike,
    *,
    weights: Weights | None = None,
    order: list[Any] | None = None,
    level: float = 0.95,
) -> Kappa:
    """Cohen's kappa and per cent agreement of two judges of the same items.

    Parameters
    ----------
    a, b
        (n,) labels in the same order; None, NaN and NA count as left out.
    weights
        None treats all disagreements alike; "linear" and "quadratic" weigh them by steps between ordered labels.
    order
        The labels in their order; needed with weights when sorting them does not give it ("low" before "mid").

    Returns
    -------
    Kappa
        n = 0, or one label only: NaN with a reason. With weights, `agreement` stays the unweighted share.

    Examples
    --------
    >>> round(cohen_kappa(list("yyynnn"), list("yynnnn")).kappa, 3)
    0.667
    """
    import pandas as pd

    first, second = pd.Series(np.asarray(a, dtype=object)), pd.Series(np.asarray(b, dtype=object))
    if len(first) != len(second):
        raise DataError(
            f"two judges need the same items in the same order; got {len(first)} and {len(second)} labels"
        )
    present = (first.notna() & second.notna()).to_numpy()
    used = [*first[present].tolist(), *second[present].tolist()]
    try:
        labels = sorted(set(used)) if order is None else list(order)
    except TypeError as error:
        raise DataError(f"labels must be of one kind (all text or all numbers): {error}") from error
    unknown = set(used) - set(labels)
    if unknown:
        raise DataError(f"the label {sorted(map(str, unknown))[0]!r} is not in the order {labels}")
    n = int(present.sum())
    codes = pd.Categorical(used, categories=labels).codes.astype(np.int64)
    table = np.bincount(codes[:n] * len(labels) + codes[n:], minlength=len(labels) ** 2)
    result = kappa_from_counts(table.reshape(len(labels), len(labels)), weights=weights, level=level)
    return result._replace(n_missing=int((~present).sum()))


def kappa_from_counts(table: ArrayLike, *, weights: Weights | None = None, level: float = 0.95) -> Kappa:
    """Cohen's kappa from a square table of counts: row = first judge's label, column = second judge's.

    See :func:`cohen_kappa`; the same interval as statsmodels' `cohens_kappa`.

    Examples
    --------
    >>> round(kappa_from_counts([[326, 21], [65, 17]]).kappa, 3)  # the image audit of GeoContext
    0.185
    """
    _check_level(level)
    if weights not in (None, "linear", "quadratic"):
        raise ConfigError(f"weights must be None, 'linear' or 'quadratic', got {weights!r}")
    counts = np.asarray(table, dtype=float)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise DataError(f"a kappa needs a square table of counts, got shape {counts.shape}")
    if not np.all(np.isfinite(counts)) or (counts < 0).any() or (counts != np.round(counts)).any():
        raise DataError("a kappa needs whole counts of 0 or more")
    n = int(counts.sum())
    if n == 0:
        return Kappa(_NAN, _NAN, _NAN, _NAN, _NAN, _NAN, _NAN, _NAN, 0, 0, "no item was judged by both")
    share = wilson(float(np.trace(counts)), n, level=level)
    expected = float(counts.sum(axis=0) @ counts.sum(axis=1)) / n**2
    if np.count_nonzero(counts.sum(axis=0) + counts.sum(axis=1)) < 2:
        why = "both judges gave one and the same label throughout: agreement by chance is already perfect"
        return Kappa(_NAN, _NAN, _NAN, _NAN, *share, expected, n, 0, why)
    from scipy.special import ndtri
    from statsmodels.stats.inter_rater import cohens_kappa

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # its test of kappa = 0, which is not used here
        result: Any = cohens_kappa(counts, wt=weights)
    half = float(ndtri((1.0 + level) / 2.0)) * float(result.std_kappa)
    kappa = float(result.kappa)
    return Kappa(
        kappa, float(result.std_kappa), max(kappa - half, -1.0), min(kappa + half, 1.0), *share, expected, n, 0, ""
    )


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ConfigError(f"level must lie between 0 and 1, got {level!r}")
