"""From predictions to every score of SIGNPOST-Bench, with coverage, both readings of failures, and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from signpost_kit.errors import ConfigError
from signpost_kit.frames import COLUMNS
from signpost_kit.metrics.cube import Cube, build_cube
from signpost_kit.metrics.derived import Derivation
from signpost_kit.metrics.localization import wla
from signpost_kit.metrics.longform import MACRO, SCORE_COLUMNS, DatasetSums, long_frame, stacked_columns, with_macro
from signpost_kit.metrics.paper import TFR_RADIUS_KM, WLA_ALPHA
from signpost_kit.metrics.ratios import READINGS, MedianSeries, Ratio, median_series, ratios
from signpost_kit.stats.intervals import bootstrap_ratios, mean_over_datasets, ratio
from signpost_kit.stats.medians import bootstrap_medians, segment_medians

__all__ = ["MACRO", "SCORE_COLUMNS", "score_signpost"]

_MACRO_ONLY = frozenset({"retention", "q_tbs", "q_tfr", "capability", "robustness", "mcrs"})


def score_signpost(
    predictions: pd.DataFrame,
    groups: Any,
    *,
    alpha: float = WLA_ALPHA,
    tfr_radius_km: float = TFR_RADIUS_KM,
    n_resamples: int = 2000,
    seed: int = 42,
    failures: str = "both",
) -> dict[str, pd.DataFrame]:
    """Score any number of models on any number of datasets.

    Parameters
    ----------
    predictions
        One row per asked (model, group, variant): the `predictions` frame of :mod:`signpost_kit.frames`. Columns
        may be categorical, which is much faster. With a column `sample`, several rows per request are averaged.
    groups
        A Benchmark, or the `groups` frame. Groups without a trap stay, and leave TFR and TDR.
    alpha, tfr_radius_km
        Per km; km, strictly less.
    n_resamples
        Resamples of the cluster bootstrap (unit: the group, within its dataset); 0 leaves `low`, `high` NaN.
    seed
        Same seed, same intervals, whatever the order of the rows.
    failures
        Which readings of failed replies to return: `answered_only` (they leave the score, as in the study),
        `as_failures` (WLA 0, outside every Acc@k radius, behind every answer in the median error, not trapped), or
        `both`. Mean error, TBS, TDR and attraction rate have no value for a failure: both readings are equal.

    Returns
    -------
    dict of tidy frames
        `scores`: predictions + error_km, wla, trap_km. `cells` (per dataset) and `macro` (mean over the datasets
        that have a value, dataset = "macro"): columns :data:`SCORE_COLUMNS`, one row per score. `tiers`: the same
        columns, WLA by tier under Original, Blank and Adversarial, and the drop from Original to Adversarial in
        points (0-100) and per cent. wla, acc, tfr, rates, capability and robustness are fractions; mcrs 0-100;
        distances km. What is not defined (nothing answered, no trap, a variant never asked) is NaN, with its
        coverage; intervals need at least two groups.

    Raises
    ------
    DataError
        The frames do not fit together; see :func:`signpost_kit.metrics.cube.build_cube`.
    ConfigError
        An unknown reading, a radius or number of resamples out of range.
    """
    if failures not in (*READINGS, "both"):
        raise ConfigError(f"failures must be one of {', '.join(READINGS)}, both; got {failures!r}")
    if not tfr_radius_km > 0:
        raise ConfigError(f"tfr_radius_km must be above 0 km, got {tfr_radius_km!r}")
    frame = groups.to_frame() if hasattr(groups, "to_frame") else groups
    predictions, cube = build_cube(predictions, frame)
    parts = [
        _ratio_rows(cube, ratios(cube, alpha=alpha, tfr_radius_km=tfr_radius_km), n_resamples, seed),
        _median_rows(cube, median_series(cube), n_resamples, seed),
    ]
    long = pd.concat(parts, ignore_index=True)
    wanted = np.full(len(long), True) if failures == "both" else (long["reading"] == failures).to_numpy()
    by_tier, macro = (long["tier"] != "").to_numpy(), (long["dataset"] == MACRO).to_numpy()
    macro_only = long["metric"].isin(list(_MACRO_ONLY)).to_numpy()
    return {
        "scores": _scores(predictions, cube, alpha),
        "cells": _rows(long, wanted & ~by_tier & ~macro & ~macro_only),
        "macro": _rows(long, wanted & ~by_tier & macro),
        "tiers": _rows(long, wanted & by_tier),
    }


def _scores(predictions: pd.DataFrame, cube: Cube, alpha: float) -> pd.DataFrame:
    out = predictions.assign(error_km=cube.error_km, wla=wla(cube.error_km, alpha), trap_km=cube.trap_km)
    wanted = list(COLUMNS["scores"])
    return out.loc[:, [*wanted, *(name for name in out.columns if name not in wanted)]]


def _rows(long: pd.DataFrame, keep: np.ndarray) -> pd.DataFrame:
    return long.loc[keep].reset_index(drop=True)


def _ratio_rows(cube: Cube, scores: list[Ratio], n_resamples: int, seed: int) -> pd.DataFrame:
    sums = DatasetSums(cube.starts)
    keys = [score.key for score in scores]
    cells = np.stack([ratio(sums(s.numerator), sums(s.denominator)) for s in scores])  # (k, m, d)
    asked = np.stack([sums(s.asked) for s in scores])
    answered = np.stack([sums(s.answered) for s in scores])
    derive = Derivation(keys)
    macro = mean_over_datasets(np.moveaxis(cells, -1, 0))
    place = {key: number for number, key in enumerate(keys)}
    source = [place[key] for key in derive.sources]
    values = np.concatenate([with_macro(cells, macro), with_macro(derive(cells), derive(macro))])
    counts = [np.concatenate([part, part[source]]) for part in (asked, answered)]
    low = high = np.full(values.shape, np.nan)
    if n_resamples and cube.models and cube.datasets:
        columns, numerator, denominator = stacked_columns(scores)
        bounds = bootstrap_ratios(
            columns,
            numerator,
            denominator,
            cube.starts,
            cube.datasets,
            derive=derive,
            n_resamples=n_resamples,
            seed=seed,
        )
        low = with_macro(np.moveaxis(bounds.cells_low, 0, -1), bounds.low)
        high = with_macro(np.moveaxis(bounds.cells_high, 0, -1), bounds.high)
    return long_frame(cube, [*keys, *derive.keys], values, bounds=(low, high), counts=counts)


def _median_rows(cube: Cube, series: list[MedianSeries], n_resamples: int, seed: int) -> pd.DataFrame:
    sums = DatasetSums(cube.starts)
    shape = (len(series), len(cube.models))
    stacked = np.concatenate([s.values for s in series]) if cube.models else np.empty((0, len(cube.tier)))
    medians, ordered = segment_medians(stacked, cube.starts)
    cells = medians.reshape(*shape, len(cube.datasets))
    values = with_macro(cells, mean_over_datasets(np.moveaxis(cells, -1, 0)))
    low = high = np.full(values.shape, np.nan)
    if n_resamples and cube.models and cube.datasets:
        bounds = bootstrap_medians(ordered, cube.datasets, n_resamples=n_resamples, seed=seed)
        cells_low, cells_high, macro_low, macro_high = bounds
        low = with_macro(cells_low.reshape(cells.shape), macro_low.reshape(shape))
        high = with_macro(cells_high.reshape(cells.shape), macro_high.reshape(shape))
    asked = np.stack([sums(s.asked) for s in series])
    answered = np.stack([sums(s.answered) for s in series])
    return long_frame(cube, [s.key for s in series], values, bounds=(low, high), counts=[asked, answered])
