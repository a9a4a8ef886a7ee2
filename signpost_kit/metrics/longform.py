"""How arrays of scores (score, model, dataset) become the long tidy frames, and ratios the rows of one matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from signpost_kit.metrics.cube import Cube
from signpost_kit.metrics.ratios import Key, Ratio
from signpost_kit.stats.intervals import mean_over_datasets, percentile_bounds, ratio, segment_sums
from signpost_kit.stats.resampling import RatioDraws, Resamples

__all__ = [
    "MACRO",
    "SCORE_COLUMNS",
    "DatasetSums",
    "drawn",
    "long_frame",
    "ratio_frame",
    "stacked_columns",
    "with_macro",
]

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


class DatasetSums:
    """Per-dataset sums; many scores share an array, which is then summed once."""

    def __init__(self, starts: np.ndarray) -> None:
        self._starts = starts
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        if id(rows) not in self._known:  # the array is kept, so its id stays its own
            self._known[id(rows)] = (rows, segment_sums(rows, self._starts))
        return self._known[id(rows)][1]


def stacked_columns(scores: list[Ratio]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


def with_macro(cells: np.ndarray, macro: np.ndarray) -> np.ndarray:
    """(k, m, d) and (k, m) to (k, m, d + 1)."""
    return np.concatenate([cells, macro[..., None]], axis=-1)


def long_frame(
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
    asked, answered = (with_macro(part, part.sum(axis=-1)) for part in counts)
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


def drawn(scores: list[Ratio], resamples: Resamples, *, cells: Sequence[int] | None = None) -> RatioDraws:
    """Draws (score, model, draw) of ratios, with those by dataset of the scores numbered in `cells` (None: all)."""
    return resamples.ratios(*stacked_columns(scores), cells=cells)


def ratio_frame(
    cube: Cube, scores: list[Ratio], draws: RatioDraws, extra: Mapping[str, Sequence[Any]] | None = None
) -> pd.DataFrame:
    """The long frame of ratios with percentile bounds from `draws`.

    Parameters
    ----------
    draws
        Of :func:`drawn`, with the cells of all scores.
    extra
        Further columns, one label per score; they stand before `value`.

    Returns
    -------
    :data:`SCORE_COLUMNS` and the extra columns; a row per model, dataset (and macro) and score.
    """
    sums = DatasetSums(cube.starts)
    cells = np.stack([ratio(sums(s.numerator), sums(s.denominator)) for s in scores])
    values = with_macro(cells, mean_over_datasets(np.moveaxis(cells, -1, 0)))
    counts = [np.stack([sums(part) for part in parts]) for parts in zip(*(s[3:] for s in scores), strict=True)]
    low, high = (
        with_macro(np.moveaxis(by_dataset, 0, -1), macro)
        for by_dataset, macro in zip(percentile_bounds(draws.cells), percentile_bounds(draws.macro), strict=True)
    )
    out = long_frame(cube, [s.key for s in scores], values, bounds=(low, high), counts=counts)
    for place, (name, labels) in enumerate((extra or {}).items()):
        repeated = np.tile(np.asarray(labels), len(out) // len(scores))
        out.insert(SCORE_COLUMNS.index("value") + place, name, repeated)
    return out
