"""How near the truth a prediction is: WLA, Acc@k, error bins, medians. Errors in km, scores as fractions 0..1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import DataError
from signpost_kit.geo import distance_bands
from signpost_kit.metrics.paper import BIN_EDGES_KM, BIN_NAMES, WLA_ALPHA

__all__ = ["acc_at", "error_bins", "median_error_km", "wla"]


def wla(error_km: ArrayLike, alpha: float = WLA_ALPHA) -> Any:
    """Weighted Localization Accuracy of each error: exp(-alpha * error), 1 at 0 km, 0.5 at 138 km.

    Parameters
    ----------
    error_km
        Distances from the truth in km, any shape; NaN (no answer) stays NaN, infinity gives 0.
    alpha
        Decay per km, above 0.

    Returns
    -------
    A float for a scalar, else an array of the same shape; fractions, not per cent.

    Raises
    ------
    DataError
        alpha is not a positive number, or an error is negative.
    """
    if not alpha > 0:
        raise DataError(f"alpha must be above 0 (per km; the paper uses {WLA_ALPHA}), got {alpha!r}")
    error = np.asarray(error_km, dtype=float)
    if np.any(error < 0):
        raise DataError(f"an error in km cannot be negative, got {float(np.nanmin(error))}")
    score = np.exp(-alpha * error)
    return float(score) if score.ndim == 0 else score


def acc_at(error_km: ArrayLike, km: float, *, n_asked: int | None = None) -> float:
    """Share of errors strictly below `km`.

    Without `n_asked` the share is of the answered ones (NaN left out), with it of all that were asked, so a
    failure counts as a miss. Nothing answered (or asked): NaN.
    """
    error = np.ravel(np.asarray(error_km, dtype=float))
    total = np.count_nonzero(~np.isnan(error)) if n_asked is None else n_asked
    return float(np.count_nonzero(error < km) / total) if total else float("nan")


def error_bins(error_km: ArrayLike) -> np.ndarray:
    """Name of the bin of each error: street (< 1 km), city, region, country, continent, failed; "" for NaN."""
    names = np.array([*BIN_NAMES, ""])  # the index -1 of a NaN finds the empty name
    return names[distance_bands(error_km, BIN_EDGES_KM)]


def median_error_km(error_km: ArrayLike) -> float:
    """Median of the answered errors in km; NaN when none was answered."""
    error = np.ravel(np.asarray(error_km, dtype=float))
    error = error[~np.isnan(error)]
    return float(np.median(error)) if error.size else float("nan")
