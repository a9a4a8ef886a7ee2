"""Who stands where: each model's rank in each score, how sure it is, and the probability of every rank.

Probabilities are shares of bootstrap draws in which all models share the resampled scenes: how often the ranking
would come out so with other scenes of the same kind. They say nothing of other prompts or a model's later versions.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from signpost_kit.metrics.joint import Joint
from signpost_kit.metrics.ratios import ANSWERED
from signpost_kit.stats.intervals import percentile_bounds
from signpost_kit.stats.ranks import rank_probabilities, rank_table

__all__ = ["RANKED", "rank_of", "ranks", "standings"]

RANKED: tuple[tuple[str, str, bool], ...] = (
    ("mcrs", "", True),
    ("capability", "", True),
    ("robustness", "", True),
    *(("wla", variant, True) for variant in ("Original", "Blank", "Similar", "Random", "Adversarial")),
    ("drop_points", "Adversarial", False),
    ("tbs_km", "Adversarial", False),
    ("tfr", "Adversarial", False),
    ("tdr_km_mean", "Adversarial", False),
)
"""Metric, variant, and whether more is better."""


def rank_of(values: np.ndarray, *, higher_is_better: bool = True) -> np.ndarray:
    """Ranks of (m,) values, 1 is best, ties share the better one; NaN has no rank."""
    signed = values if higher_is_better else -values
    out = 1.0 + (signed[None, :] > signed[:, None]).sum(axis=1)
    return np.where(np.isnan(values), np.nan, out)


def ranks(joint: Joint, *, reading: str = ANSWERED) -> pd.DataFrame:
    """Probability of each rank.

    Returns
    -------
    model, metric, variant, rank (1 to the number of models), probability, reading. The probabilities of a model sum
    to 1; NaN where it has no draws (no answer, one group, no resamples). Models that tie share their ranks evenly.
    """
    n = len(joint.models)
    parts = []
    for metric, variant, up in RANKED:
        found = rank_probabilities(joint.drawn(metric, variant, reading=reading), higher_is_better=up)
        parts.append(
            pd.DataFrame(
                {
                    "model": np.repeat(np.array(joint.models, dtype=object), n),
                    "metric": metric,
                    "variant": variant,
                    "rank": np.tile(np.arange(1, n + 1), n),
                    "probability": found.ravel(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True).assign(reading=reading)


def standings(joint: Joint, *, reading: str = ANSWERED) -> pd.DataFrame:
    """Each model's value and rank in each score, with intervals of both.

    Returns
    -------
    model, metric, variant, value, low, high, rank (of the values), mean_rank, rank_low, rank_high (over the draws),
    p_first, coverage, n_models (that have a value), reading.
    """
    parts = []
    for metric, variant, up in RANKED:
        values, draws = (find(metric, variant, reading=reading) for find in (joint.value, joint.drawn))
        low, high = percentile_bounds(draws)
        table = rank_table(draws, joint.models, higher_is_better=up)
        columns = {
            "model": joint.models,
            "metric": metric,
            "variant": variant,
            "value": values,
            "low": low,
            "high": high,
            "rank": rank_of(values, higher_is_better=up),
            "mean_rank": table["mean_rank"].to_numpy(),
            "rank_low": table["low"].to_numpy(),
            "rank_high": table["high"].to_numpy(),
            "p_first": table["p_first"].to_numpy(),
            "coverage": joint.covered(metric, variant, reading=reading),
            "n_models": int(np.count_nonzero(~np.isnan(values))),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True).assign(reading=reading)
