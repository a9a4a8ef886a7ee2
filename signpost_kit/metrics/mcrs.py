"""Capability, conflict robustness and their product, MCRS (SIGNPOST-Bench, section 5 and appendix C).

All inputs are macro-averaged quantities: WLA and TFR as fractions 0..1, TBS in km. Everything broadcasts; NaN in
gives NaN out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.metrics.paper import (
    CAPABILITY_EXPONENT,
    CAPABILITY_WEIGHTS,
    RETENTION_FLOOR,
    ROBUSTNESS_WEIGHTS,
    TBS_ANCHOR_KM,
    TFR_ANCHOR,
)

__all__ = [
    "capability",
    "mcrs",
    "quality_tbs",
    "quality_tfr",
    "retention",
    "robustness",
    "weights_with",
    "weights_without",
]


def capability(w_original: ArrayLike, w_blank: ArrayLike) -> Any:
    """C = 0.5 WLA(Original) + 0.5 WLA(Blank), a fraction."""
    original, blank = _fraction("w_original", w_original), _fraction("w_blank", w_blank)
    return _plain(CAPABILITY_WEIGHTS["Original"] * original + CAPABILITY_WEIGHTS["Blank"] * blank)


def retention(variant_wla: ArrayLike, blank_wla: ArrayLike, *, floor: float = RETENTION_FLOOR) -> Any:
    """Share of Blank's WLA that the variant keeps, 0..1: gains over Blank count as 1.

    `floor` is the lowest denominator, so that a model that is lost anyway does not get a wild ratio.
    """
    variant, blank = _fraction("variant_wla", variant_wla), _fraction("blank_wla", blank_wla)
    loss = np.maximum(0.0, blank - variant) / np.maximum(blank, floor)
    return _plain(np.clip(1.0 - loss, 0.0, 1.0))


def quality_tbs(tbs_km: ArrayLike, *, anchor_km: float = TBS_ANCHOR_KM) -> Any:
    """q_TBS: 1 when adversarial text does not add error, 0 from `anchor_km` of added error on."""
    added = np.maximum(0.0, np.asarray(tbs_km, dtype=float))
    return _plain(1.0 - np.clip(added / anchor_km, 0.0, 1.0))


def quality_tfr(tfr: ArrayLike, *, anchor: float = TFR_ANCHOR) -> Any:
    """q_TFR: 1 when no prediction falls into the trap, 0 when `anchor` (a fraction) of them or more do."""
    return _plain(1.0 - np.clip(_fraction("tfr", tfr) / anchor, 0.0, 1.0))


def robustness(
    w_blank: ArrayLike,
    w_random: ArrayLike,
    w_adversarial: ArrayLike,
    tbs_km: ArrayLike,
    tfr: ArrayLike,
    *,
    weights: Mapping[str, float] = ROBUSTNESS_WEIGHTS,
    floor: float = RETENTION_FLOOR,
    tbs_anchor_km: float = TBS_ANCHOR_KM,
    tfr_anchor: float = TFR_ANCHOR,
) -> Any:
    """R, a fraction: weighted sum of retention under Random and Adversarial, q_TBS and q_TFR.

    Parameters
    ----------
    w_blank, w_random, w_adversarial, tfr
        Fractions 0..1.
    tbs_km
        Adversarial TBS in km.
    weights
        Keys `random`, `adversarial`, `tbs`, `tfr`; must sum to 1. See :func:`weights_with` and
        :func:`weights_without` for the paper's sensitivity and ablation. A term of weight 0 is left out, also
        when it is NaN.

    Raises
    ------
    DataError
        A fraction lies outside 0..1 (per cent given?).
    ConfigError
        The weights have other keys or do not sum to 1.

    Examples
    --------
    >>> round(robustness(0.40, 0.38, 0.30, 900.0, 0.10), 4)
    0.7855
    """
    _check_weights(weights)
    terms = {
        "random": retention(w_random, w_blank, floor=floor),
        "adversarial": retention(w_adversarial, w_blank, floor=floor),
        "tbs": quality_tbs(tbs_km, anchor_km=tbs_anchor_km),
        "tfr": quality_tfr(tfr, anchor=tfr_anchor),
    }
    return _plain(sum(weight * np.asarray(terms[name]) for name, weight in weights.items() if weight > 0))


def mcrs(capability: ArrayLike, robustness: ArrayLike, *, capability_exponent: float = CAPABILITY_EXPONENT) -> Any:
    """Multimodal Conflict Robustness Score, 0..100, from capability and robustness as fractions 0..1.

    The exponent of robustness is one minus `capability_exponent`.

    Examples
    --------
    >>> round(mcrs(0.5658, 0.8593), 2)  # the paper's first row
    72.7
    """
    if not 0 <= capability_exponent <= 1:
        raise ConfigError(f"capability_exponent must lie in 0..1, got {capability_exponent!r}")
    c, r = _fraction("capability", capability), _fraction("robustness", robustness)
    return _plain(100.0 * c**capability_exponent * r ** (1.0 - capability_exponent))


def weights_with(adversarial: float) -> dict[str, float]:
    """The paper's weights with another weight of adversarial retention, the others scaled to sum to 1 (table 4)."""
    if not 0 <= adversarial <= 1:
        raise ConfigError(f"the weight of adversarial retention must lie in 0..1, got {adversarial!r}")
    others = {name: weight for name, weight in ROBUSTNESS_WEIGHTS.items() if name != "adversarial"}
    scale = (1.0 - adversarial) / sum(others.values())
    return {
        name: adversarial if name == "adversarial" else ROBUSTNESS_WEIGHTS[name] * scale
        for name in ROBUSTNESS_WEIGHTS
    }


def weights_without(component: str) -> dict[str, float]:
    """The paper's weights with one component dropped and the rest renormalised (table 5)."""
    if component not in ROBUSTNESS_WEIGHTS:
        raise ConfigError(f"no component {component!r} in robustness; there are {', '.join(ROBUSTNESS_WEIGHTS)}")
    rest = 1.0 - ROBUSTNESS_WEIGHTS[component]
    return {name: 0.0 if name == component else weight / rest for name, weight in ROBUSTNESS_WEIGHTS.items()}


def _fraction(name: str, value: ArrayLike) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    wrong = (array < -1e-6) | (array > 1 + 1e-6)
    if np.any(wrong):
        bad = float(array[wrong].flat[0])
        raise DataError(f"{name} is a fraction from 0 to 1, got {bad:g}; divide per cent by 100")
    return np.clip(array, 0.0, 1.0)


def _check_weights(weights: Mapping[str, float]) -> None:
    if set(weights) != set(ROBUSTNESS_WEIGHTS):
        raise ConfigError(
            f"weights need exactly the keys {', '.join(ROBUSTNESS_WEIGHTS)}; got {', '.join(weights)}"
        )
    total = sum(weights.values())
    if abs(total - 1.0) > 1e-9 or min(weights.values()) < 0:
        raise ConfigError(f"weights must be 0 or more and sum to 1, got {dict(weights)} (sum {total:g})")


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value
