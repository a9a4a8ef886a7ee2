"""All model-level scores at once, with bootstrap draws that every model and score shares.

Ranks, differences, correlations over models and means over models are computed from these: in each draw all models
answer about the same scenes, so what they have in common cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from signpost_kit.metrics.cube import Cube
from signpost_kit.metrics.derived import Derivation
from signpost_kit.metrics.longform import DatasetSums, drawn
from signpost_kit.metrics.ratios import ANSWERED, READINGS, Key, Ratio
from signpost_kit.stats.intervals import mean_over_datasets, ratio
from signpost_kit.stats.resampling import Resamples

__all__ = ["Joint", "joint_scores"]

_BY_DATASET = frozenset({"wla", "tbs_km", "tfr"})
"""Metrics whose draws are kept by dataset too."""


@dataclass(frozen=True)
class Joint:
    """Model-level scores (mean over datasets) and their draws, found by key. Units as in the tables of scores."""

    models: list[str]
    datasets: list[str]
    keys: list[Key]
    values: np.ndarray
    """(k, m)"""
    draws: np.ndarray
    """(k, m, draws); NaN where a score rests on fewer than two groups."""
    coverage: np.ndarray
    """(k, m) answered of asked, over all datasets; of the score that a derived one follows most."""
    cells: dict[Key, np.ndarray]
    """(m, d) values by dataset, of WLA, TBS and TFR over all tiers."""
    cell_draws: dict[Key, np.ndarray]
    """(d, m, draws) of the same."""
    cell_coverage: dict[Key, np.ndarray]
    """(m, d) of the same."""

    def place(self, metric: str, variant: str = "", tier: str = "", reading: str = ANSWERED) -> int:
        """Row of a score."""
        return self.keys.index(Key(metric, variant, tier, reading))

    def value(self, metric: str, variant: str = "", tier: str = "", reading: str = ANSWERED) -> np.ndarray:
        """(m,) of one score."""
        return self.values[self.place(metric, variant, tier, reading)]

    def drawn(self, metric: str, variant: str = "", tier: str = "", reading: str = ANSWERED) -> np.ndarray:
        """(m, draws) of one score."""
        return self.draws[self.place(metric, variant, tier, reading)]

    def covered(self, metric: str, variant: str = "", tier: str = "", reading: str = ANSWERED) -> np.ndarray:
        """(m,) coverage of one score."""
        return self.coverage[self.place(metric, variant, tier, reading)]


def joint_scores(cube: Cube, scores: list[Ratio], resamples: Resamples) -> Joint:
    """Every linear score in `scores` and all that is derived from them (retention, q terms, C, R, MCRS, drops).

    `scores` is what :func:`signpost_kit.metrics.ratios.ratios` gives: the derived ones need them all. `drop_points`
    over all tiers, 100 (WLA Original - WLA Adversarial), comes to these.
    """
    keys = [score.key for score in scores]
    derive = Derivation(keys)
    by_dataset = [n for n, key in enumerate(keys) if key.metric in _BY_DATASET and not key.tier]
    found = drawn(scores, resamples, cells=by_dataset)
    sums = DatasetSums(cube.starts)
    cells = np.stack([ratio(sums(s.numerator), sums(s.denominator)) for s in scores])
    macro = mean_over_datasets(np.moveaxis(cells, -1, 0))
    asked, answered = (
        np.stack([sums(part) for part in parts]) for parts in zip(*(s[3:] for s in scores), strict=True)
    )
    followed = [keys.index(key) for key in derive.sources]
    followed += [keys.index(Key("wla", "Adversarial", "", reading)) for reading in READINGS]
    coverage = ratio(answered.sum(axis=-1), asked.sum(axis=-1))
    drops = [Key("drop_points", "Adversarial", "", reading) for reading in READINGS]
    return Joint(
        models=[str(name) for name in cube.models],
        datasets=[str(name) for name in cube.datasets],
        keys=[*keys, *derive.keys, *drops],
        values=np.concatenate([macro, derive(macro), _drops(keys, macro)]),
        draws=np.concatenate([found.macro, derive(found.macro), _drops(keys, found.macro)]),
        coverage=np.concatenate([coverage, coverage[followed]]),
        cells={keys[n]: cells[n] for n in by_dataset},
        cell_draws={keys[n]: found.cells[:, i] for i, n in enumerate(by_dataset)},
        cell_coverage={keys[n]: ratio(answered[n], asked[n]) for n in by_dataset},
    )


def _drops(keys: list[Key], scores: np.ndarray) -> np.ndarray:
    """(2, ...) loss of WLA from Original to Adversarial in points, for both readings."""
    place = {key: number for number, key in enumerate(keys)}
    parts = [
        scores[place[Key("wla", "Original", "", r)]] - scores[place[Key("wla", "Adversarial", "", r)]]
        for r in READINGS
    ]
    return np.stack([100.0 * part for part in parts]).astype(scores.dtype)
