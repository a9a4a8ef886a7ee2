"""GeoVerify: can a model tell a true claim about a place from a false one nearby? Signal detection, per decoy band.

A claim names a place; it is true when the picture was taken within 150 m of it. H is the share of true claims that
are accepted, F the share of false ones. d' separates the two; the criterion c says how readily a model accepts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.geo import distance_bands

__all__ = [
    "CLAIM_KM",
    "DECOY_BANDS",
    "DECOY_EDGES_KM",
    "SIGNAL",
    "Detection",
    "ReadOut",
    "claim_band",
    "discrimination_radius",
    "dprime",
    "read_out",
]

CLAIM_KM = 0.15
"""A claim is true within this distance, strictly less (section 5.2)."""
DECOY_EDGES_KM = (0.15, 0.3, 0.7, 1.5, 3.0, 6.0)
DECOY_BANDS = ("0.15-0.3km", "0.3-0.7km", "0.7-1.5km", "1.5-3.0km", "3.0-6.0km")
"""Nearest first, spelt as in the released files."""
SIGNAL = "signal"

_NAN = float("nan")


class Detection(NamedTuple):
    """Sensitivity and bias; floats for scalar counts, else arrays of their shape. NaN where a total is 0."""

    dprime: Any
    """z(H) - z(F): 0 cannot tell, 1 is the usual threshold. Always finite where defined."""
    criterion: Any
    """-(z(H) + z(F)) / 2: positive is reluctant to accept, negative accepts readily."""
    hit_rate: Any
    """H as counted, without the correction."""
    false_alarm_rate: Any
    """F as counted, without the correction."""


class ReadOut(NamedTuple):
    """What the pre-registered rules say about a run."""

    verdict: str
    """invalid, uninformative, informative, inconclusive; undetermined when a number the rules need is missing."""
    reason: str


def dprime(hits: ArrayLike, n_signal: ArrayLike, false_alarms: ArrayLike, n_noise: ArrayLike) -> Detection:
    """d' and criterion from counts, with the log-linear correction: 0.5 is added to counts and 1 to totals.

    The correction keeps all hits and no hits finite, and shrinks d' a little towards 0 when totals are small.

    Parameters
    ----------
    hits, n_signal
        Accepted and all true claims; whole numbers that broadcast with the others.
    false_alarms, n_noise
        Accepted and all false claims.

    Returns
    -------
    Detection
        A total of 0 gives NaN: no trial shows nothing (the correction alone would say z = 0).

    Raises
    ------
    DataError
        A count is negative, not whole, or above its total.

    References
    ----------
    Hautus (1995), Behavior Research Methods 27, 46-51; GeoContext, section 5.3.

    Examples
    --------
    >>> result = dprime(17, 36, 0, 20)  # no false alarm, and yet finite
    >>> round(result.dprime, 3), round(result.criterion, 3)
    (1.913, 1.024)
    """
    h, n_s = _counts(hits, n_signal, "hits")
    f, n_n = _counts(false_alarms, n_noise, "false_alarms")
    try:
        h, n_s, f, n_n = np.broadcast_arrays(h, n_s, f, n_n)
    except ValueError as error:
        raise DataError(f"hits and false alarms do not fit together: {error}") from error
    sensitivity, criterion = detection_z(h, n_s, f, n_n)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = (sensitivity, criterion, h / n_s, f / n_n)
    if sensitivity.ndim == 0:
        return Detection(*(float(v) for v in values))
    return Detection(*values)


def detection_z(h: np.ndarray, n_s: np.ndarray, f: np.ndarray, n_n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """d' and c of unchecked counts (resampled sums); NaN where a total is 0."""
    from scipy.special import ndtri

    z_hit, z_false = ndtri((h + 0.5) / (n_s + 1.0)), ndtri((f + 0.5) / (n_n + 1.0))
    defined = (np.asarray(n_s) > 0) & (np.asarray(n_n) > 0)
    return np.where(defined, z_hit - z_false, _NAN), np.where(defined, -(z_hit + z_false) / 2.0, _NAN)


def discrimination_radius(
    dprimes: Mapping[str, float] | Sequence[float] | np.ndarray,
    bands: Sequence[str] = DECOY_BANDS,
    *,
    threshold: float = 1.0,
) -> str | None:
    """The nearest decoy band with d' at or above `threshold`, or None when there is none.

    Parameters
    ----------
    dprimes
        d' by band: a mapping from the names in `bands`, or values in their order. NaN bands are passed over.
    bands
        Names of the bands, nearest first.

    Examples
    --------
    >>> discrimination_radius([0.33, 0.65, 0.87, 1.03, 1.20])
    '1.5-3.0km'
    """
    if isinstance(dprimes, Mapping):
        unknown = [name for name in dprimes if name not in bands]
        if unknown:
            raise DataError(f"unknown decoy band {unknown[0]!r}; the bands are {', '.join(bands)}")
        values = [float(dprimes.get(name, _NAN)) for name in bands]
    else:
        values = [float(v) for v in dprimes]
    if len(values) != len(bands):
        raise DataError(f"{len(values)} values of d' for {len(bands)} bands; the bands are {', '.join(bands)}")
    return next((name for name, value in zip(bands, values, strict=True) if value >= threshold), None)


def claim_band(distance_km: ArrayLike) -> np.ndarray:
    """What a claim at each distance is: "signal" below 0.15 km, a decoy band, or "" from 6 km on and for NaN."""
    band = distance_bands(distance_km, DECOY_EDGES_KM)
    return np.array([SIGNAL, *DECOY_BANDS, "", ""], dtype=object)[band]


def read_out(
    *,
    mismatched_f: float,
    grey_f: float,
    main_f: float,
    nearest_dprime: float,
    farthest_dprime: float,
) -> ReadOut:
    """The pre-registered reading of a run (section 5.4), in its order: validity, then information.

    Parameters
    ----------
    mismatched_f, grey_f, main_f
        Shares 0..1 of accepted claims with a picture of another continent, with a grey field, and F of the main
        arm. Invalid: mismatched above 20 %, or grey within 5 points of main (both inclusive of rounding).
    nearest_dprime, farthest_dprime
        d' of the nearest and farthest decoy band. Uninformative: nearest above 2. Informative: nearest below 0.5
        and farthest above 1.5. Else inconclusive.

    Examples
    --------
    >>> read_out(mismatched_f=0.05, grey_f=0.0, main_f=0.377, nearest_dprime=0.33, farthest_dprime=1.20).verdict
    'inconclusive'
    """
    for name, value in (("mismatched_f", mismatched_f), ("grey_f", grey_f), ("main_f", main_f)):
        if not (math.isnan(value) or 0 <= value <= 1):
            raise ConfigError(f"{name} is a share between 0 and 1, got {value!r}")
    if mismatched_f > 0.20 + 1e-12:
        return ReadOut("invalid", f"{mismatched_f:.1%} of claims about another continent's picture were accepted")
    if abs(grey_f - main_f) <= 0.05 + 1e-12:
        return ReadOut("invalid", f"a grey field is accepted as often ({grey_f:.1%}) as a picture ({main_f:.1%})")
    missing = [
        name
        for name, value in (
            ("the mismatched control", mismatched_f),
            ("the grey control", grey_f),
            ("F of the main arm", main_f),
            ("d' of the nearest band", nearest_dprime),
            ("d' of the farthest band", farthest_dprime),
        )
        if math.isnan(value)
    ]
    if missing:
        return ReadOut("undetermined", f"missing: {', '.join(missing)}")
    if nearest_dprime > 2:
        return ReadOut("uninformative", f"even the nearest decoys are told apart: d' = {nearest_dprime:.2f}")
    if nearest_dprime < 0.5 and farthest_dprime > 1.5:
        return ReadOut(
            "informative", f"d' rises from {nearest_dprime:.2f} nearest to {farthest_dprime:.2f} farthest"
        )
    return ReadOut("inconclusive", f"d' is {nearest_dprime:.2f} nearest and {farthest_dprime:.2f} farthest")


def _counts(count: ArrayLike, total: ArrayLike, what: str) -> tuple[np.ndarray, np.ndarray]:
    k, n = np.asarray(count, dtype=float), np.asarray(total, dtype=float)
    for values in (k, n):
        if not np.all(np.isfinite(values)) or (values < 0).any() or (values != np.round(values)).any():
            raise DataError(
                f"{what} and their total must be whole numbers of 0 or more, got {count!r} of {total!r}"
            )
    if np.any(k > n):
        raise DataError(f"more {what} than trials: {count!r} of {total!r}")
    return k, n
