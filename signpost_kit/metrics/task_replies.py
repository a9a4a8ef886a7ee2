"""Replies to one further task laid out as a cube, and scores over them as ratios of per-group sums.

Every score here is a mean over pictures (within a picture over its replies, where it was asked several times), of a
number that each reply has or lacks. What a reply does not say is lacking: it never counts as "no".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.frames import COLUMNS, VARIANTS
from signpost_kit.metrics.cube import Cube, build_cube
from signpost_kit.metrics.longform import SCORE_COLUMNS, DatasetSums, drawn, long_frame, with_macro
from signpost_kit.metrics.ratios import ANSWERED, AS_FAILURES, READINGS, Key, Ratio
from signpost_kit.stats.intervals import mean_over_datasets, percentile_bounds, ratio
from signpost_kit.stats.resampling import Resamples

__all__ = ["TASK_COLUMNS", "Contrast", "Replies", "lay_out", "score_frame", "text_column", "yes_no_column"]

TASK_COLUMNS = (*SCORE_COLUMNS, "task")
"""Columns of the frame `tasks`: those of every score frame, and the task."""


@dataclass(frozen=True)
class Replies:
    """The replies to one task, row by row, and where each belongs; without groups that were not asked about."""

    rows: pd.DataFrame
    """As saved by the stage, with a position for `ok` only."""
    cube: Cube
    groups: pd.DataFrame
    """One row per group, in the cube's order."""
    variant: np.ndarray
    """(n,) number of each row's variant in :data:`signpost_kit.frames.VARIANTS`."""
    group: np.ndarray
    """(n,) number of each row's group."""

    @property
    def placed(self) -> np.ndarray:
        """(n,) whether the reply has a position."""
        return self.cube.answered_row

    def of(self, *variants: str) -> np.ndarray:
        """(n,) whether the row is about one of these variants."""
        return np.isin(self.variant, [VARIANTS.index(name) for name in variants])

    def of_group(self, column: str) -> np.ndarray:
        """(n,) a text column of the groups' table for each row's group; "" where there is no such column."""
        if column not in self.groups:
            return np.full(len(self.rows), "", dtype=object)
        return text_column(self.groups, column)[self.group]

    def sums(self, values: np.ndarray) -> np.ndarray:
        """(m, v, g) sum of a number per row over each cell's rows."""
        shape = self.cube.n_asked.shape
        return np.bincount(self.cube.cell, np.asarray(values, dtype=float), int(np.prod(shape))).reshape(shape)

    def mean(
        self,
        metric: str,
        label: str,
        values: np.ndarray,
        usable: np.ndarray,
        eligible: np.ndarray,
        *,
        zero_if_missing: bool = True,
    ) -> list[Ratio]:
        """Mean over pictures of `values`, under both readings of failures.

        Parameters
        ----------
        metric, label
            What the score is called, and the variant it is listed under.
        values
            (n,) number of each row; read where `usable` only.
        usable
            (n,) the replies that say something to this score.
        eligible
            (n,) the questions that this score is about; `usable` beyond them is not read.
        zero_if_missing
            Whether an unusable reply scores 0 when read as a failure; without, both readings are over usable ones.
        """
        usable = usable & eligible
        n_eligible, n_usable = self.sums(eligible), self.sums(usable)
        total = self.sums(np.where(usable, values, 0.0))
        over_usable = (total / np.maximum(n_usable, 1)).sum(axis=1)
        some_usable = (n_usable > 0).sum(axis=1).astype(float)
        counts = n_eligible.sum(axis=1), n_usable.sum(axis=1)
        out = [Ratio(Key(metric, label, "", ANSWERED), over_usable, some_usable, *counts)]
        if zero_if_missing:
            over_eligible = (total / np.maximum(n_eligible, 1)).sum(axis=1)
            some_eligible = (n_eligible > 0).sum(axis=1).astype(float)
            return [*out, Ratio(Key(metric, label, "", AS_FAILURES), over_eligible, some_eligible, *counts)]
        return [*out, out[0]._replace(key=Key(metric, label, "", AS_FAILURES))]


class Contrast(NamedTuple):
    """A score that is the difference of two others, in points: 100 (first - second), taken within each dataset."""

    key: Key
    first: Key
    second: Key

    @classmethod
    def both_readings(
        cls, metric: str, label: str, first: tuple[str, str], second: tuple[str, str]
    ) -> list[Contrast]:
        """The contrast of two scores (metric, variant) under both readings of failures."""
        return [
            cls(Key(metric, label, "", reading), Key(*first, "", reading), Key(*second, "", reading))
            for reading in READINGS
        ]


def lay_out(frame: pd.DataFrame, groups: pd.DataFrame) -> Replies:
    """The replies of one task with their groups.

    Raises
    ------
    DataError
        The frames do not fit together; see :func:`signpost_kit.metrics.cube.build_cube`.
    """
    rows = frame.reset_index(drop=True)
    for name in ("lat", "lon"):
        rows[name] = pd.to_numeric(rows[name], errors="coerce") if name in rows else np.nan
    missing = [name for name in COLUMNS["predictions"] if name not in rows]
    if missing:
        raise DataError(
            f"the replies of a task lack the column(s) {', '.join(missing)}; run the task's stage again"
        )
    asked = set(zip(rows["dataset"].astype(str), rows["group_id"].astype(str), strict=True))
    pairs = zip(groups["dataset"].astype(str), groups["group_id"].astype(str), strict=True)
    kept = groups.loc[[pair in asked for pair in pairs]]
    checked, cube = build_cube(rows, kept)
    width = max(cube.n_asked.shape[2], 1)
    group = cube.cell % width
    _, first = np.unique(group, return_index=True)  # every group that was kept has a row
    keys = ["dataset", "group_id"]
    ids = checked.loc[:, keys].astype(str).iloc[first].reset_index(drop=True)
    ordered = ids.merge(kept.astype(dict.fromkeys(keys, str)), on=keys, how="left", validate="one_to_one")
    return Replies(
        rows=checked.reset_index(drop=True),
        cube=cube,
        groups=ordered,
        variant=(cube.cell // width) % len(VARIANTS),
        group=group,
    )


def score_frame(
    replies: Replies,
    ratios: Sequence[Ratio],
    contrasts: Sequence[Contrast] = (),
    *,
    task: str,
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """The rows of one task: every score per dataset and as the plain mean over datasets, with bounds.

    The resampling unit is the group, within its dataset. A score that nothing can be said about for any model (its
    pictures were never asked) has no rows.

    Returns
    -------
    :data:`TASK_COLUMNS`.
    """
    cube = replies.cube
    kept = [score for score in ratios if score.asked.any()]
    if not kept:
        return pd.DataFrame(columns=list(TASK_COLUMNS))
    place = {score.key: number for number, score in enumerate(kept)}
    pairs = [(c, place[c.first], place[c.second]) for c in contrasts if c.first in place and c.second in place]
    sums = DatasetSums(cube.starts)
    cells = np.stack([ratio(sums(s.numerator), sums(s.denominator)) for s in kept])  # (k, m, d)
    counts = [np.stack([sums(part) for part in parts]) for parts in zip(*(s[3:] for s in kept), strict=True)]
    resamples = Resamples(cube.starts, [str(name) for name in cube.datasets], n_resamples=n_resamples, seed=seed)
    draws = drawn(kept, resamples)
    by_dataset, macro = draws.cells, draws.macro  # (d, k, m, r), (k, m, r)
    if pairs:
        first, second = [a for _, a, _ in pairs], [b for _, _, b in pairs]
        change = 100.0 * (by_dataset[:, first] - by_dataset[:, second])
        macro = np.concatenate([macro, mean_over_datasets(change)])
        by_dataset = np.concatenate([by_dataset, change], axis=1)
        cells = np.concatenate([cells, 100.0 * (cells[first] - cells[second])])
        counts = [np.concatenate([part, part[first] + part[second]]) for part in counts]
    low, high = (
        with_macro(np.moveaxis(part, 0, -1), whole)
        for part, whole in zip(percentile_bounds(by_dataset), percentile_bounds(macro), strict=True)
    )
    values = with_macro(cells, mean_over_datasets(np.moveaxis(cells, -1, 0)))
    keys = [*(score.key for score in kept), *(contrast.key for contrast, *_ in pairs)]
    return long_frame(cube, keys, values, bounds=(low, high), counts=counts).assign(task=task)


def text_column(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A column of words as an array of text; "" for what is missing."""
    if name not in frame:
        return np.full(len(frame), "", dtype=object)
    column = frame[name]
    return column.astype(object).where(column.notna(), "").astype(str).str.strip().to_numpy(dtype=object)


_YES_NO: Mapping[str, float] = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0, "": np.nan}


def yes_no_column(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A yes/no column as 1, 0 and NaN for what the reply does not say.

    Raises
    ------
    DataError
        It holds another word.
    """
    words = text_column(frame, name)
    unknown = [word for word in dict.fromkeys(words) if word.lower() not in _YES_NO]
    if unknown:
        raise DataError(f"the column {name!r} holds {unknown[0]!r}; allowed: yes, no, or nothing")
    return np.array([_YES_NO[word.lower()] for word in words], dtype=float)
