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
from signpost_kit.metrics.paper import TFR_RADIUS_KM, WLA_ALPHA
from signpost_kit.metrics.ratios import READINGS, Key, MedianSeries, Ratio, median_series, ratios
from signpost_kit.stats.intervals import bootstrap_ratios, mean_over_datasets, ratio, segment_sums
from signpost_kit.stats.medians import bootstrap_medians, segment_medians

__all__ = ["MACRO", "SCORE_COLUMNS", "score_signpost"]

MACRO = "macro"
SCORE_COLUMNS = (
    "model",
    "dataset",
    "metric",
    "variant",
    "tier",
    "value",
    "low",
    "high",
    "n_asked",
    "n_answered",
    "coverage",
    "reading",
)
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
    sums = _Sums(cube.starts)
    keys = [score.key for score in scores]
    cells = np.stack([ratio(sums(s.numerator), sums(s.denominator)) for s in scores])  # (k, m, d)
    asked = np.stack([sums(s.asked) for s in scores])
    answered = np.stack([sums(s.answered) for s in scores])
    derive = Derivation(keys)
    macro = mean_over_datasets(np.moveaxis(cells, -1, 0))
    place = {key: number for number, key in enumerate(keys)}
    source = [place[key] for key in derive.sources]
    values = np.concatenate([_with_macro(cells, macro), _with_macro(derive(cells), derive(macro))])
    counts = [np.concatenate([part, part[source]]) for part in (asked, answered)]
    low = high = np.full(values.shape, np.nan)
    if n_resamples and cube.models and cube.datasets:
        columns, numerator, denominator = _columns(scores)
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
        low = _with_macro(np.moveaxis(bounds.cells_low, 0, -1), bounds.low)
        high = _with_macro(np.moveaxis(bounds.cells_high, 0, -1), bounds.high)
    return _long(cube, [*keys, *derive.keys], values, bounds=(low, high), counts=counts)


def _median_rows(cube: Cube, series: list[MedianSeries], n_resamples: int, seed: int) -> pd.DataFrame:
    sums = _Sums(cube.starts)
    shape = (len(series), len(cube.models))
    stacked = np.concatenate([s.values for s in series]) if cube.models else np.empty((0, len(cube.tier)))
    medians, ordered = segment_medians(stacked, cube.starts)
    cells = medians.reshape(*shape, len(cube.datasets))
    values = _with_macro(cells, mean_over_datasets(np.moveaxis(cells, -1, 0)))
    low = high = np.full(values.shape, np.nan)
    if n_resamples and cube.models and cube.datasets:
        bounds = bootstrap_medians(ordered, cube.datasets, n_resamples=n_resamples, seed=seed)
        cells_low, cells_high, macro_low, macro_high = bounds
        low = _with_macro(cells_low.reshape(cells.shape), macro_low.reshape(shape))
        high = _with_macro(cells_high.reshape(cells.shape), macro_high.reshape(shape))
    asked = np.stack([sums(s.asked) for s in series])
    answered = np.stack([sums(s.answered) for s in series])
    return _long(cube, [s.key for s in series], values, bounds=(low, high), counts=[asked, answered])


class _Sums:
    """Per-dataset sums; many scores share an array, which is then summed once."""

    def __init__(self, starts: np.ndarray) -> None:
        self._starts = starts
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        if id(rows) not in self._known:  # the array is kept, so its id stays its own
            self._known[id(rows)] = (rows, segment_sums(rows, self._starts))
        return self._known[id(rows)][1]


def _columns(scores: list[Ratio]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct (model, group) arrays stacked to rows, and which rows each score divides.

    Arrays are shared between scores, and a count that is the same for all models is one row.
    """
    blocks: list[np.ndarray] = []
    place: dict[int, np.ndarray] = {}
    height = 0
    for score in scores:
        for rows in (score.numerator, score.denominator):
            if id(rows) in place:
                continue
            same = bool(np.all(rows[1:] == rows[:1]))
            block = rows[:1] if same else rows
            place[id(rows)] = np.full(len(rows), height) if same else height + np.arange(len(rows))
            blocks.append(block.astype(np.float32))
            height += len(block)
    numerator = np.stack([place[id(score.numerator)] for score in scores])
    denominator = np.stack([place[id(score.denominator)] for score in scores])
    return np.concatenate(blocks), numerator, denominator


def _with_macro(cells: np.ndarray, macro: np.ndarray) -> np.ndarray:
    """(k, m, d) and (k, m) to (k, m, d + 1)."""
    return np.concatenate([cells, macro[..., None]], axis=-1)


def _long(
    cube: Cube,
    keys: list[Key],
    values: np.ndarray,
    *,
    bounds: tuple[np.ndarray, np.ndarray],
    counts: list[np.ndarray],
) -> pd.DataFrame:
    """Arrays (key, model, dataset + macro) to the long frame, model by model.

    `counts` are asked and answered, without the macro entry, which is their sum.
    """
    datasets = [*cube.datasets, MACRO]
    shape = (len(cube.models), len(datasets), len(keys))
    asked, answered = (_with_macro(part, part.sum(axis=-1)) for part in counts)
    names = [np.array(column, dtype=object) for column in zip(*keys, strict=True)]

    def spread(labels: Any, axis: int) -> np.ndarray:
        view = np.asarray(labels, dtype=object).reshape([-1 if a == axis else 1 for a in range(3)])
        return np.broadcast_to(view, shape).ravel()

    def flat(array: np.ndarray) -> np.ndarray:
        return np.moveaxis(array, 0, -1).ravel()

    metric, variant, tier, reading = (spread(name, 2) for name in names)
    frame = {
        "model": spread(cube.models, 0),
        "dataset": spread(datasets, 1),
        "metric": metric,
        "variant": variant,
        "tier": tier,
        "value": flat(values),
        "low": flat(bounds[0]),
        "high": flat(bounds[1]),
        "n_asked": flat(asked).astype(np.int64),
        "n_answered": flat(answered).astype(np.int64),
        "coverage": flat(ratio(answered, asked)),
        "reading": reading,
    }
    return pd.DataFrame(frame, columns=list(SCORE_COLUMNS))
