"""Correlations over models between model-level scores, those the study quotes and those its argument rests on.

`p` takes the models as the sample, as the study does; the interval keeps the models and resamples the scenes. The
two answer different questions: would other models show it, would other scenes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from signpost_kit.metrics.joint import Joint
from signpost_kit.metrics.ratios import ANSWERED
from signpost_kit.stats.concordance import kendall, pearson, spearman
from signpost_kit.stats.intervals import percentile_bounds
from signpost_kit.stats.ranks import RankAgreement, rank_agreement

__all__ = ["CORRELATED", "SCORES", "correlations"]

SCORES: dict[str, tuple[str, str]] = {
    "wla_original": ("wla", "Original"),
    "wla_blank": ("wla", "Blank"),
    "wla_adversarial": ("wla", "Adversarial"),
    "drop_points": ("drop_points", "Adversarial"),
    "tbs_km_adversarial": ("tbs_km", "Adversarial"),
    "tfr": ("tfr", "Adversarial"),
    "tdr_km_mean": ("tdr_km_mean", "Adversarial"),
    "capability": ("capability", ""),
    "robustness": ("robustness", ""),
    "mcrs": ("mcrs", ""),
}
"""Name in the columns x and y -> metric and variant."""
CORRELATED: tuple[tuple[str, str, str], ...] = (
    ("tbs_km_adversarial", "tfr", "spearman_tbs_tfr"),
    ("robustness", "wla_adversarial", "spearman_R_vs_wla_adversarial"),
    ("mcrs", "wla_adversarial", "spearman_mcrs_vs_wla_adversarial"),
    ("robustness", "tbs_km_adversarial", "spearman_R_vs_tbs"),
    ("robustness", "tfr", "spearman_R_vs_tfr"),
    ("capability", "robustness", ""),
    ("wla_original", "robustness", ""),
    ("wla_original", "wla_adversarial", ""),
    ("wla_original", "drop_points", ""),
    ("wla_original", "mcrs", ""),
    ("tdr_km_mean", "tfr", ""),
)
"""x, y, and the name of the Spearman correlation among the published facts ("" where the text has none).

Section 6 and appendix D; the others show how far performance on clean pictures foretells the rest.
"""
_Two = tuple[np.ndarray, np.ndarray]
"""x and y of all models."""
_KINDS = {"spearman": spearman, "kendall": kendall, "pearson": pearson}


def correlations(joint: Joint, *, reading: str = ANSWERED) -> pd.DataFrame:
    """Each pair of :data:`CORRELATED` by Spearman's rho, Kendall's tau-b and Pearson's r.

    Returns
    -------
    x, y, kind, value, low, high (resampled scenes, the models kept), p (two-sided, models as the sample), n (models
    with both), reason, quantity (among the published facts, for Spearman), reading. Fewer than two models, or a
    score that is the same for all: NaN with a reason. Two models have a value of 1 or -1 and no p.
    """
    rows = []
    for x, y, quantity in CORRELATED:
        first, second = ((find(*SCORES[x], reading=reading), find(*SCORES[y], reading=reading))
                         for find in (joint.value, joint.drawn))  # fmt: skip
        for kind in _KINDS:
            quoted = quantity if kind == "spearman" else ""
            rows.append({"x": x, "y": y, "kind": kind} | _numbers(kind, first, second) | {"quantity": quoted})
    return pd.DataFrame(rows).assign(reading=reading)


def _numbers(kind: str, values: _Two, draws: _Two) -> dict[str, Any]:
    found = rank_agreement(*values)
    value = float(_KINDS[kind](*values))
    bounds = (float("nan"), float("nan"))
    if not np.isnan(value):
        low, high = percentile_bounds(_KINDS[kind](*draws))
        bounds = (float(low), float(high))
    return {
        "value": value,
        "low": bounds[0],
        "high": bounds[1],
        "p": _p(kind, values, found),
        "n": found.n,
        "reason": found.reason.replace(" for Spearman", ""),
    }


def _p(kind: str, values: _Two, found: RankAgreement) -> float:
    if found.n < 3 or np.isnan(found.spearman):
        return float("nan")
    if kind == "kendall":
        return found.kendall_p
    if kind == "spearman":
        return found.spearman_p
    from scipy.stats import pearsonr

    a, b = values
    keep = ~(np.isnan(a) | np.isnan(b))
    found_r: Any = pearsonr(a[keep], b[keep])
    return float(found_r.pvalue)
