"""Who is counted in TFR and TDR: the groups with a geocoded trap, and those of them that a model answered.

Denominators only: TFR needs the Adversarial prediction, TDR the Blank one too. SIGNPOST-Bench, appendix D, table 6.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from signpost_kit.frames import TIERS, VARIANTS
from signpost_kit.metrics.cube import Cube
from signpost_kit.stats.agreement import wilson

__all__ = ["ALL", "cohort", "cohort_of_models"]

ALL = "all"
"""The row over all datasets."""
_BLANK, _ADVERSARIAL = VARIANTS.index("Blank"), VARIANTS.index("Adversarial")


def cohort(cube: Cube) -> pd.DataFrame:
    """The geocodable cohort of each dataset, of all together, and of each tier in them.

    Returns
    -------
    dataset (`all` for the total), tier ("" for all groups), n_groups, n_geocodable, share, low, high. `share` is a
    fraction of the groups with Wilson's 95 % interval, NaN where there is no group. Groups without a tier are
    counted under "" only.
    """
    rows = []
    for dataset, inside in _datasets(cube):
        for tier, among in _tiers(cube):
            n_groups = int((inside & among).sum())
            n_traps = int((inside & among & cube.has_trap).sum())
            share = wilson(n_traps, n_groups)
            rows.append((dataset, tier, n_groups, n_traps, share.estimate, share.low, share.high))
    names = ["dataset", "tier", "n_groups", "n_geocodable", "share", "low", "high"]
    return pd.DataFrame(rows, columns=pd.Index(names))


def cohort_of_models(cube: Cube) -> pd.DataFrame:
    """What is left of the geocodable cohort for each model.

    Returns
    -------
    model, dataset (`all` for the total), tier ("" for all), n_geocodable, tfr_asked, tfr_answered (Adversarial),
    tdr_asked, tdr_answered (Blank and Adversarial both). The answered ones are the denominators of the study's
    reading, the asked ones those of `as_failures`.
    """
    rows = []
    asked, answered = cube.n_asked > 0, cube.n_answered > 0
    for m, model in enumerate(cube.models):
        for dataset, inside in _datasets(cube):
            for tier, among in _tiers(cube):
                counted = inside & among & cube.has_trap
                parts = [
                    int((counted & part[m, _ADVERSARIAL] & other).sum())
                    for other_of in (None, _BLANK)
                    for part in (asked, answered)
                    for other in [True if other_of is None else part[m, other_of]]
                ]
                rows.append((model, dataset, tier, int(counted.sum()), *parts))
    names = ["model", "dataset", "tier", "n_geocodable", "tfr_asked", "tfr_answered", "tdr_asked", "tdr_answered"]
    return pd.DataFrame(rows, columns=pd.Index(names))


def _datasets(cube: Cube) -> list[tuple[str, np.ndarray]]:
    """Name and (g,) mask of each dataset, then of all."""
    n = np.arange(len(cube.tier))
    parts = [
        (str(name), (n >= first) & (n < last))
        for name, first, last in zip(cube.datasets, cube.starts[:-1], cube.starts[1:], strict=True)
    ]
    return [*parts, (ALL, np.full(len(n), True))]


def _tiers(cube: Cube) -> list[tuple[str, np.ndarray]]:
    parts = [(tier, cube.tier == number) for number, tier in enumerate(TIERS)]
    return [("", np.full(len(cube.tier), True)), *parts]
