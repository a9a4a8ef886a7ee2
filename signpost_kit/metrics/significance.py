"""Does conflicting text cost accuracy? One-sided paired tests of per-picture WLA, Original against Adversarial.

The study pools the pictures of all datasets (so that a large dataset decides); here the datasets stand beside it.
The unit of every test is the group: one pair of pictures each, several samples of one request averaged before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from signpost_kit.frames import VARIANTS
from signpost_kit.metrics.cube import Cube
from signpost_kit.metrics.ratios import ANSWERED, Ratio
from signpost_kit.stats.intervals import percentile_bounds
from signpost_kit.stats.paired import holm, paired_wilcoxon
from signpost_kit.stats.rank_biserial import rank_biserial_draws
from signpost_kit.stats.resampling import Resamples

__all__ = ["POOLED", "original_against_adversarial"]

POOLED = ""
"""`dataset` of the study's test, over the pictures of all datasets."""
_ORIGINAL, _ADVERSARIAL = (VARIANTS.index(name) for name in ("Original", "Adversarial"))


def original_against_adversarial(
    cube: Cube, scores: list[Ratio], resamples: Resamples, *, reading: str = ANSWERED
) -> pd.DataFrame:
    """Wilcoxon signed-rank tests, WLA Original > Adversarial, for each model: pooled and by dataset.

    Parameters
    ----------
    scores
        Of :func:`signpost_kit.metrics.ratios.ratios`, which hold the WLA of every group.
    reading
        `answered_only`: pairs that were both answered. `as_failures`: pairs that were both asked, a failure is 0.

    Returns
    -------
    model, dataset ("" is the pooled test), n_pairs, n_used (pairs that differ; zeros are dropped), n_missing (pairs
    asked for that are not complete), statistic (rank sum of Original > Adversarial), p (one-sided), p_holm (over
    the models, within the dataset's family), rank_biserial (matched pairs, -1..1), low, high (of it, groups
    resampled within dataset), reason (why there is no test), reading.
    """
    before, after = (_wla(scores, variant, reading) for variant in ("Original", "Adversarial"))
    both = before.denominator & after.denominator
    asked = (cube.n_asked[:, _ORIGINAL] > 0) & (cube.n_asked[:, _ADVERSARIAL] > 0)
    difference = np.where(both, before.numerator - after.numerator, np.nan)
    spans = [(POOLED, 0, len(cube.tier)), *zip(cube.datasets, cube.starts[:-1], cube.starts[1:], strict=True)]
    drawn = np.concatenate([resamples.counts(d) for d in range(len(resamples))])
    rows: list[dict[str, Any]] = []
    for dataset, first, last in spans:
        family = []
        for m, model in enumerate(cube.models):
            delta = difference[m, first:last]
            found = paired_wilcoxon(delta, np.zeros_like(delta))
            low = high = float("nan")
            if found.n >= 2:
                low, high = percentile_bounds(rank_biserial_draws(delta, drawn[first:last]))
            n_pairs = int(both[m, first:last].sum())
            family.append(
                {
                    "model": model,
                    "dataset": dataset,
                    "n_pairs": n_pairs,
                    "n_used": found.n,
                    "n_missing": int(asked[m, first:last].sum()) - n_pairs,
                    "statistic": found.statistic,
                    "p": found.p,
                    "p_holm": float("nan"),
                    "rank_biserial": found.rank_biserial,
                    "low": float(low),
                    "high": float(high),
                    "reason": found.reason,
                }
            )
        for row, adjusted in zip(family, holm([row["p"] for row in family]), strict=True):
            row["p_holm"] = float(adjusted)
        rows += family
    return pd.DataFrame(rows).assign(reading=reading)


def _wla(scores: list[Ratio], variant: str, reading: str) -> Ratio:
    return next(s for s in scores if s.key == ("wla", variant, "", reading))
