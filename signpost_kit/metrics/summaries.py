"""Means over models, of all together and of each provider, by score, tier and dataset, with intervals over scenes.

The models are taken as they are, not as a sample of models: an interval says how far the mean would move with other
scenes. Models that lack a score leave its mean; `n_models` says how many it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from signpost_kit.frames import TIERS
from signpost_kit.metrics.cube import Cube
from signpost_kit.metrics.joint import Joint
from signpost_kit.metrics.longform import MACRO
from signpost_kit.metrics.ratios import ANSWERED, Key, median_series
from signpost_kit.stats.intervals import mean_over_datasets, percentile_bounds, ratio
from signpost_kit.stats.median_draws import median_draws
from signpost_kit.stats.medians import segment_medians
from signpost_kit.stats.resampling import Resamples

__all__ = ["NO_PROVIDER", "ModelScores", "aggregate", "joint_medians", "providers"]

NO_PROVIDER = "Other"


class ModelScores(NamedTuple):
    """One score of all models."""

    values: np.ndarray
    """(m,)"""
    draws: np.ndarray
    """(m, draws)"""
    coverage: np.ndarray
    """(m,) answered of asked."""

    def of(self, mine: np.ndarray) -> ModelScores:
        """The same with only some models, (m,) bool; the others have no value."""
        return self._replace(values=np.where(mine, self.values, np.nan))

    def map(self, change: Callable[[np.ndarray], np.ndarray]) -> ModelScores:
        """The score after a change of its values and draws."""
        return self._replace(values=change(self.values), draws=change(self.draws))


def joint_medians(cube: Cube, resamples: Resamples) -> dict[Key, ModelScores]:
    """Median error of each variant and model, mean over datasets, with draws shared by all models."""
    out: dict[Key, ModelScores] = {}
    seen: dict[str, tuple[np.ndarray, ModelScores]] = {}
    for series in median_series(cube):
        if series.key.metric != "median_error_km":
            continue
        known = seen.get(series.key.variant)
        if known is None or not np.array_equal(known[0], series.values, equal_nan=True):
            medians, _ = segment_medians(series.values, cube.starts)
            found = ModelScores(
                mean_over_datasets(medians.T),
                mean_over_datasets(median_draws(series.values, resamples)),
                ratio(series.answered.sum(axis=1).astype(float), series.asked.sum(axis=1).astype(float)),
            )
            seen[series.key.variant] = known = (series.values, found)
        out[series.key] = known[1]
    return out


def providers(
    joint: Joint, medians: Mapping[Key, ModelScores], provider_of: Mapping[str, str], *, reading: str = ANSWERED
) -> pd.DataFrame:
    """Every score averaged over the models of each provider.

    Parameters
    ----------
    provider_of
        Model -> provider; one that is not listed belongs to "Other".

    Returns
    -------
    provider, metric, variant, tier, value, low, high, lowest, lowest_model, highest, highest_model, coverage
    (mean over the models), n_models, reading. Providers in order of the models. Units as in the tables of scores.
    """
    owners = [provider_of.get(model) or NO_PROVIDER for model in joint.models]
    rows = []
    for provider in dict.fromkeys(owners):
        mine = np.array([owner == provider for owner in owners])
        for key, score in _scores(joint, medians, reading):
            names = {"provider": provider, "metric": key.metric, "variant": key.variant, "tier": key.tier}
            rows.append(names | _mean(joint.models, score.of(mine)))
    return pd.DataFrame(rows).assign(reading=reading)


def aggregate(joint: Joint, medians: Mapping[Key, ModelScores], *, reading: str = ANSWERED) -> pd.DataFrame:
    """Every score averaged over all models, and what the study says of all of them together.

    Besides the scores: `drop_points` by dataset; `drop_percent_of_means`, the loss of mean WLA in per cent, overall
    and by tier; `original_minus_blank_points`; `beyond_2500`, the share of errors from 2,500 km on; and counts over
    the model x dataset cells: `cells_declining` (WLA lower under Adversarial than under Original),
    `cells_similar_above_original`, `cells` (that have both).

    Returns
    -------
    metric, variant, tier, dataset, value, low, high, lowest, lowest_model, highest, highest_model, coverage,
    n_models, reading. `lowest` to `highest` is the range over models, NaN where the score belongs to all together.
    """
    rows: list[dict[str, Any]] = []
    for key, score in _scores(joint, medians, reading):
        rows.append(_names(key, MACRO) | _mean(joint.models, score))
        if key.metric == "acc_2500":
            beyond = key._replace(metric="beyond_2500")
            rows.append(_names(beyond, MACRO) | _mean(joint.models, score.map(lambda share: 1 - share)))
    for key in joint.cells:
        if key.reading == reading:
            for d, dataset in enumerate(joint.datasets):
                rows.append(_names(key, dataset) | _mean(joint.models, _cell(joint, key, d)))
    return pd.DataFrame(rows + _drops(joint, reading) + _counted_cells(joint, reading)).assign(reading=reading)


def _scores(joint: Joint, medians: Mapping[Key, ModelScores], reading: str) -> Iterator[tuple[Key, ModelScores]]:
    for key, *parts in zip(joint.keys, joint.values, joint.draws, joint.coverage, strict=True):
        if key.reading == reading:
            yield key, ModelScores(*parts)
    for key, score in medians.items():
        if key.reading == reading:
            yield key, score


def _cell(joint: Joint, key: Key, d: int) -> ModelScores:
    return ModelScores(joint.cells[key][:, d], joint.cell_draws[key][d], joint.cell_coverage[key][:, d])


def _names(key: Key, dataset: str) -> dict[str, Any]:
    return {"metric": key.metric, "variant": key.variant, "tier": key.tier, "dataset": dataset}


def _mean(models: list[str], score: ModelScores) -> dict[str, Any]:
    """Mean over the models that have a value, with bounds, their range, and their mean coverage."""
    kept = ~np.isnan(score.values)
    if not kept.any():
        nothing = dict.fromkeys(("value", "low", "high"), float("nan"))
        return nothing | _NO_RANGE | {"coverage": float("nan"), "n_models": 0}
    low, high = percentile_bounds(mean_over_datasets(score.draws[kept]))
    value = float(score.values[kept].mean())
    return {
        "value": value,
        "low": float(low),
        "high": float(high),
        **_range(models, score.values),
        "coverage": float(mean_over_datasets(score.coverage[kept])),
        "n_models": int(kept.sum()),
    }


_NO_RANGE = {"lowest": float("nan"), "lowest_model": "", "highest": float("nan"), "highest_model": ""}


def _range(models: list[str], values: np.ndarray) -> dict[str, Any]:
    """Both ends; of models that tie the first by name, whatever the order of rows."""
    ends = float(np.nanmin(values)), float(np.nanmax(values))
    names = [min(name for name, value in zip(models, values, strict=True) if value == end) for end in ends]
    return {"lowest": ends[0], "lowest_model": names[0], "highest": ends[1], "highest_model": names[1]}


def _drops(joint: Joint, reading: str) -> list[dict[str, Any]]:
    """Losses from Original: by dataset in points, of the means in per cent, and to Blank in points."""
    rows = []
    before, after = (Key("wla", variant, "", reading) for variant in ("Original", "Adversarial"))
    for d, dataset in enumerate(joint.datasets):
        key = Key("drop_points", "Adversarial", "", reading)
        rows.append(
            _names(key, dataset) | _mean(joint.models, _lost(_cell(joint, before, d), _cell(joint, after, d)))
        )
    for tier in ("", *TIERS):
        keys = [key._replace(tier=tier) for key in (before, after)]
        lost = [
            _share_lost(*(mean_over_datasets(part[joint.keys.index(key)]) for key in keys))
            for part in (joint.values, joint.draws)
        ]
        n_models = int(np.count_nonzero(~np.isnan(joint.value("wla", "Adversarial", tier, reading))))
        names = _names(Key("drop_percent_of_means", "Adversarial", tier, reading), MACRO)
        rows.append(names | _bounded(float(lost[0]), lost[1], n_models))
    original, blank = (
        ModelScores(*(find("wla", variant, "", reading) for find in (joint.value, joint.drawn, joint.covered)))
        for variant in ("Original", "Blank")
    )
    gap = _mean(joint.models, _lost(original, blank))
    return [*rows, _names(Key("original_minus_blank_points", "Blank", "", reading), MACRO) | gap]


def _lost(before: ModelScores, after: ModelScores) -> ModelScores:
    """Points of WLA, 0-100, that each model loses."""
    values, draws = (100.0 * (a - b) for a, b in zip(before[:2], after[:2], strict=True))
    return ModelScores(values, draws, after.coverage)


def _share_lost(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(before > 0, 100.0 * (before - after) / before, np.nan)


def _counted_cells(joint: Joint, reading: str) -> list[dict[str, Any]]:
    """In how many model x dataset cells one variant is worse, or better, than Original."""
    original = Key("wla", "Original", "", reading)
    n_models = len(joint.models)
    rows = []
    for metric, variant, sign in (
        ("cells_declining", "Adversarial", -1),
        ("cells_similar_above_original", "Similar", 1),
    ):
        other = Key("wla", variant, "", reading)
        change = sign * (joint.cells[other] - joint.cells[original])
        if np.isnan(change).all():
            value, draws = float("nan"), np.empty(0)
        else:
            value = float((change > 0).sum())
            shift = sign * (joint.cell_draws[other] - joint.cell_draws[original])
            # Cells of a single group have no draws: their number would seem lower in each.
            draws = (shift > 0).sum(axis=(0, 1)) if not np.isnan(shift).all(axis=-1).any() else np.empty(0)
        rows.append(_names(Key(metric, variant, "", reading), "") | _bounded(value, draws, n_models))
        if metric == "cells_declining":
            both = float(np.count_nonzero(~np.isnan(change)))
            rows.append(_names(Key("cells", variant, "", reading), "") | _bounded(both, np.empty(0), n_models))
    return rows


def _bounded(value: float, draws: Iterable[float] | np.ndarray, n_models: int) -> dict[str, Any]:
    low, high = percentile_bounds(np.asarray(draws, dtype=float)) if not np.isnan(value) else (np.nan, np.nan)
    bounds = {"value": value, "low": float(low), "high": float(high)}
    return bounds | _NO_RANGE | {"coverage": float("nan"), "n_models": n_models}
