"""What text does to a prediction: TBS, TFR, TDR and the attraction rate, always paired by group.

Arguments are arrays with one entry per group, in the same order; NaN where there is no answer or no trap.
Pairs with a NaN on either side leave the score, and say so by being NaN in the paired arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import DataError
from signpost_kit.metrics.paper import TFR_RADIUS_KM

__all__ = ["attraction_rate", "mean_of_pairs", "tbs_km", "tdr_km", "tfr"]


def tbs_km(variant_error_km: ArrayLike, blank_error_km: ArrayLike) -> np.ndarray:
    """Text Bias Score of each pair: error under the variant minus error under Blank, km.

    Positive: the text made the prediction worse than no text. Section 5, equation 2.
    """
    return _paired(variant_error_km, blank_error_km)


def tdr_km(blank_trap_km: ArrayLike, adversarial_trap_km: ArrayLike) -> np.ndarray:
    """Trap Distance Reduction of each pair: distance Blank to trap minus distance Adversarial to trap, km.

    Positive: the adversarial text drew the prediction towards the place it names. Section 5, equation 4.
    """
    return _paired(blank_trap_km, adversarial_trap_km)


def tfr(trap_km: ArrayLike, *, radius_km: float = TFR_RADIUS_KM, n_asked: int | None = None) -> float:
    """Trap-Fit Rate: share of Adversarial predictions strictly closer than `radius_km` to the trap.

    Parameters
    ----------
    trap_km
        Distance of each Adversarial prediction to the trap; NaN where there is no answer or no trap.
    radius_km
        Radius in km.
    n_asked
        How many Adversarial pictures with a trap were asked about. Without it the share is of the answered
        ones; with it a failed reply stays in the denominator as not trapped.

    Returns
    -------
    A fraction 0..1; NaN when nothing is in the denominator.
    """
    distance = np.ravel(np.asarray(trap_km, dtype=float))
    total = np.count_nonzero(~np.isnan(distance)) if n_asked is None else n_asked
    return float(np.count_nonzero(distance < radius_km) / total) if total else float("nan")


def attraction_rate(reduction_km: ArrayLike) -> float:
    """Share of pairs whose TDR is above 0; NaN without pairs."""
    reduction = np.ravel(np.asarray(reduction_km, dtype=float))
    total = np.count_nonzero(~np.isnan(reduction))
    return float(np.count_nonzero(reduction > 0) / total) if total else float("nan")


def mean_of_pairs(paired: ArrayLike) -> float:
    """Mean of the complete pairs of :func:`tbs_km` or :func:`tdr_km`; NaN without pairs."""
    values = np.ravel(np.asarray(paired, dtype=float))
    values = values[~np.isnan(values)]
    return float(values.mean()) if values.size else float("nan")


def _paired(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.shape != b.shape:
        raise DataError(f"pairs need two arrays in the same group order; got shapes {a.shape} and {b.shape}")
    return a - b
