"""How much MCRS and its ranking depend on its own weights: other weights and exponents, and one component dropped.

SIGNPOST-Bench, appendix D (tables 4 and 5). All from the model-level scores of :mod:`signpost_kit.metrics.joint`:
a ranking under other weights is compared with the study's in the same bootstrap draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from signpost_kit.metrics.joint import Joint
from signpost_kit.metrics.mcrs import mcrs, robustness, weights_with, weights_without
from signpost_kit.metrics.paper import (
    CAPABILITY_EXPONENT,
    ROBUSTNESS_WEIGHTS,
    SENSITIVITY_ADVERSARIAL_WEIGHTS,
    SENSITIVITY_EXPONENTS,
)
from signpost_kit.metrics.ratios import ANSWERED
from signpost_kit.metrics.standings import rank_of
from signpost_kit.stats.concordance import kendall, spearman
from signpost_kit.stats.intervals import percentile_bounds
from signpost_kit.stats.ranks import rank_agreement

__all__ = ["NOTHING_DROPPED", "ablation", "agreement", "sensitivity"]

NOTHING_DROPPED = "none"
"""The row of the ablation with the study's full formula."""


def sensitivity(joint: Joint, *, reading: str = ANSWERED) -> tuple[pd.DataFrame, pd.DataFrame]:
    """MCRS under every weight of adversarial retention with every capability exponent, and the rankings compared.

    Returns
    -------
    sensitivity
        model, rho_adv_weight, capability_exponent, mcrs (0-100), low, high, rank (1 is best, NaN without MCRS),
        reading. The other weights of R are scaled so that they sum to 1.
    sensitivity_ranks
        rho_adv_weight, capability_exponent, kendall_tau, kendall_low, kendall_high, spearman_rho, spearman_low,
        spearman_high (against the study's setting 0.44 and 0.40), n_models, reason, reading.
    """
    study = _scores(joint, ROBUSTNESS_WEIGHTS, CAPABILITY_EXPONENT, reading)
    parts, rows = [], []
    for weight in SENSITIVITY_ADVERSARIAL_WEIGHTS:
        for exponent in SENSITIVITY_EXPONENTS:
            setting = {"rho_adv_weight": weight, "capability_exponent": exponent}
            scores = _scores(joint, weights_with(weight), exponent, reading)
            parts.append(_table(joint, scores, setting))
            rows.append(setting | agreement(scores, study))
    return (
        pd.concat(parts, ignore_index=True).assign(reading=reading),
        pd.DataFrame(rows).assign(reading=reading),
    )


def ablation(joint: Joint, *, reading: str = ANSWERED) -> pd.DataFrame:
    """MCRS with one component of R dropped and the rest renormalised, compared with the study's formula.

    Without `tfr` a benchmark that has no geocoded trap has an MCRS too; there is no full formula to agree with.

    Returns
    -------
    dropped (`none`, `random`, `adversarial`, `tbs`, `tfr`), model, mcrs, low, high, rank, then the agreement of the
    ranking with the full formula, the same for all models of a `dropped`: kendall_tau, kendall_low, kendall_high,
    spearman_rho, spearman_low, spearman_high, n_models, reason; reading.
    """
    study = _scores(joint, ROBUSTNESS_WEIGHTS, CAPABILITY_EXPONENT, reading)
    parts = []
    for name in (NOTHING_DROPPED, *ROBUSTNESS_WEIGHTS):
        weights = ROBUSTNESS_WEIGHTS if name == NOTHING_DROPPED else weights_without(name)
        scores = _scores(joint, weights, CAPABILITY_EXPONENT, reading)
        parts.append(_table(joint, scores, {"dropped": name}).assign(**agreement(scores, study)))
    out = pd.concat(parts, ignore_index=True).assign(reading=reading)
    return out.loc[:, ["dropped", *(name for name in out.columns if name != "dropped")]]


def agreement(scores: tuple[np.ndarray, np.ndarray], reference: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """Kendall's tau-b and Spearman's rho of two scores of the same models, with bounds from their shared draws.

    `scores` and `reference` are (models,) values and (models, draws). Fewer than two models with both, or a score
    that is the same for all: NaN with a reason.
    """
    found = rank_agreement(scores[0], reference[0])
    tau = _bounds(kendall(scores[1], reference[1]), found.kendall)
    rho = _bounds(spearman(scores[1], reference[1]), found.spearman)
    return {
        "kendall_tau": found.kendall,
        "kendall_low": tau[0],
        "kendall_high": tau[1],
        "spearman_rho": found.spearman,
        "spearman_low": rho[0],
        "spearman_high": rho[1],
        "n_models": found.n,
        "reason": "" if found.n == 2 else found.reason,  # two models have a tau, only no p
    }


def _scores(
    joint: Joint, weights: Mapping[str, float], exponent: float, reading: str
) -> tuple[np.ndarray, np.ndarray]:
    """(m,) MCRS and (m, draws) of it."""

    def one(find: Any) -> np.ndarray:
        able = find("capability", reading=reading)
        blank, random, adversarial = (find("wla", v, reading=reading) for v in ("Blank", "Random", "Adversarial"))
        tbs, tfr = (find(metric, "Adversarial", reading=reading) for metric in ("tbs_km", "tfr"))
        robust = robustness(blank, random, adversarial, tbs, tfr, weights=weights)
        return mcrs(able, robust, capability_exponent=exponent)

    return one(joint.value), one(joint.drawn)


def _table(joint: Joint, scores: tuple[np.ndarray, np.ndarray], setting: Mapping[str, Any]) -> pd.DataFrame:
    low, high = percentile_bounds(scores[1])
    columns = {"mcrs": scores[0], "low": low, "high": high, "rank": rank_of(scores[0])}
    return pd.DataFrame({"model": joint.models, **setting, **columns})


def _bounds(draws: np.ndarray, value: float) -> tuple[float, float]:
    """Percentile bounds of one correlation; none where there is no value."""
    if np.isnan(value):
        return float("nan"), float("nan")
    low, high = percentile_bounds(draws)
    return float(low), float(high)
