"""Predictions laid out as a cube: model x variant x group, groups of one dataset side by side.

Everything that is scored is an average within a cell of this cube (one reply, or the mean of several samples of
one request), so scores become sums over its last axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.frames import TIERS, VARIANTS, check_frame
from signpost_kit.geo import haversine_km

__all__ = ["Cube", "build_cube"]


@dataclass(frozen=True)
class Cube:
    """Where each prediction row belongs, and the row-level distances.

    Arrays over groups follow `datasets`: the groups of dataset i are `starts[i]` up to `starts[i + 1]`.
    """

    models: list[str]
    datasets: list[str]
    starts: np.ndarray
    tier: np.ndarray
    """(g,) 0, 1, 2 for T1, T2, T3; -1 for none."""
    has_trap: np.ndarray
    """(g,) bool."""
    cell: np.ndarray
    """(n,) flat index of each row's cell."""
    answered_row: np.ndarray
    """(n,) bool: status ok with a position on the globe."""
    error_km: np.ndarray
    """(n,) distance to the truth, NaN where not answered."""
    trap_km: np.ndarray
    """(n,) distance to the trap, NaN where not answered or no trap."""
    n_asked: np.ndarray
    """(m, v, g) requests per cell."""
    n_answered: np.ndarray
    """(m, v, g) answers per cell."""
    single: bool
    """No cell holds more than one row."""

    def average(self, rows: np.ndarray) -> np.ndarray:
        """(m, v, g) mean over the answered rows of each cell, 0 where there is none."""
        shape = self.n_asked.shape
        if self.single:
            flat = np.zeros(self.n_asked.size)
            flat[self.cell] = np.where(self.answered_row, rows, 0.0)
            return flat.reshape(shape)
        total = np.bincount(self.cell, np.where(self.answered_row, rows, 0.0), self.n_asked.size).reshape(shape)
        return total / np.maximum(self.n_answered, 1)

    def distances(self, rows: np.ndarray) -> np.ndarray:
        """:meth:`average`, but NaN where the cell has no answer (or no trap)."""
        if self.single:
            flat = np.full(self.n_asked.size, np.nan)
            flat[self.cell] = rows
            return flat.reshape(self.n_asked.shape)
        return np.where(self.n_answered > 0, self.average(rows), np.nan)


def build_cube(predictions: pd.DataFrame, groups: pd.DataFrame) -> tuple[pd.DataFrame, Cube]:
    """Check both frames against each other and lay the predictions out.

    Returns
    -------
    The checked predictions (an `ok` without a position on the globe becomes `out_of_range` or `unparseable`), and
    the cube.

    Raises
    ------
    DataError
        A column is missing, a name is unknown, a prediction belongs to no group, a group stands twice, a group
        has no position, or a request was answered twice (without a `sample` column that tells the two apart).
    """
    predictions = check_frame(predictions, "predictions")
    groups = _sorted_groups(check_frame(groups, "groups"))
    model, models = _codes(predictions["model"], "model")
    variant = _fixed_codes(predictions["variant"], VARIANTS)
    group = _group_index(predictions, groups)
    predictions, answered = _settle_status(predictions)

    lat, lon = predictions["lat"].to_numpy(), predictions["lon"].to_numpy()
    truth_lat, truth_lon = groups["lat"].to_numpy(), groups["lon"].to_numpy()
    error = np.asarray(haversine_km(lat, lon, truth_lat[group], truth_lon[group]), dtype=float).reshape(len(lat))
    error[~answered] = np.nan
    trap_lat, trap_lon = groups["trap_lat"].to_numpy(), groups["trap_lon"].to_numpy()
    has_trap = ~np.isnan(trap_lat) & ~np.isnan(trap_lon)
    trap = np.full(len(predictions), np.nan)
    rows = np.flatnonzero(has_trap[group] & answered)
    trap[rows] = haversine_km(lat[rows], lon[rows], trap_lat[group[rows]], trap_lon[group[rows]])

    shape = (len(models), len(VARIANTS), len(groups))
    cell = (model.astype(np.int64) * shape[1] + variant) * shape[2] + group
    n_asked = np.bincount(cell, minlength=int(np.prod(shape))).astype(np.int32).reshape(shape)
    single = bool(n_asked.max(initial=0) <= 1)
    if not single and "sample" not in predictions.columns:
        _refuse_duplicates(predictions, cell)
    n_answered = np.bincount(cell[answered], minlength=n_asked.size).astype(np.int32).reshape(shape)
    dataset_code, datasets = _codes(groups["dataset"], "dataset")
    cube = Cube(
        models=models,
        datasets=datasets,
        starts=np.searchsorted(dataset_code, np.arange(len(datasets) + 1)),
        tier=_fixed_codes(groups["tier"], TIERS),
        has_trap=has_trap,
        cell=cell,
        answered_row=answered,
        error_km=error,
        trap_km=trap,
        n_asked=n_asked,
        n_answered=n_answered,
        single=single,
    )
    return predictions, cube


def _sorted_groups(groups: pd.DataFrame) -> pd.DataFrame:
    """Datasets in their order of appearance, groups by id: the order of rows never changes a result."""
    if groups["group_id"].isna().any() or groups["dataset"].isna().any():
        raise DataError("the groups table has a row without dataset or group_id; each group needs both")
    place = ~(groups["lat"].abs().le(90) & groups["lon"].abs().le(180))
    if place.any():
        row = groups[place].iloc[0]
        raise DataError(
            f"group {row['group_id']!r} has no position on the globe (lat {row['lat']}, lon {row['lon']}); "
            "latitude lies in -90..90, longitude in -180..180"
        )
    twice = groups.duplicated(["dataset", "group_id"])
    if twice.any():
        raise DataError(f"group {groups.loc[twice, 'group_id'].iloc[0]!r} stands twice in its dataset")
    rank = pd.factorize(groups["dataset"].astype(object))[0]
    order = np.lexsort((groups["group_id"].astype(str).to_numpy(dtype=object), rank))
    return groups.iloc[order].reset_index(drop=True)


def _group_index(predictions: pd.DataFrame, groups: pd.DataFrame) -> np.ndarray:
    """Row number in `groups` of each prediction, by dataset and id."""
    dataset, dataset_names = _codes(predictions["dataset"], "dataset")
    identity, ids = _codes(predictions["group_id"], "group_id")
    known_datasets = pd.Index(dataset_names, dtype=object).get_indexer(groups["dataset"].astype(object))
    known_ids = pd.Index(ids, dtype=object).get_indexer(groups["group_id"].astype(object))
    table = np.full((len(dataset_names), len(ids)), -1, dtype=np.int64)
    here = (known_datasets >= 0) & (known_ids >= 0)
    table[known_datasets[here], known_ids[here]] = np.flatnonzero(here)
    index = table[dataset, identity]
    lost = np.flatnonzero(index < 0)
    if lost.size:
        row = predictions.iloc[lost[0]]
        raise DataError(
            f"{lost.size} prediction(s) belong to no group, first: {row['group_id']!r} of dataset "
            f"{row['dataset']!r}; score them with the benchmark they were made for"
        )
    return index


def _settle_status(predictions: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    lat, lon = predictions["lat"].to_numpy(), predictions["lon"].to_numpy()
    status = predictions["status"]
    if isinstance(status.dtype, pd.CategoricalDtype):
        has_ok = "ok" in status.cat.categories
        ok = status.cat.codes.to_numpy() == (status.cat.categories.get_loc("ok") if has_ok else -2)
    else:
        ok = (status == "ok").to_numpy(dtype=bool)
    with np.errstate(invalid="ignore"):
        valid = (np.abs(lat) <= 90) & (np.abs(lon) <= 180)
    wrong = ok & ~valid
    if wrong.any():
        settled = status.astype(object).to_numpy(copy=True)
        settled[wrong] = np.where(np.isnan(lat[wrong]) | np.isnan(lon[wrong]), "unparseable", "out_of_range")
        predictions = predictions.assign(status=settled)
    return predictions, ok & valid


def _codes(column: pd.Series, what: str) -> tuple[np.ndarray, list[Any]]:
    """Integer codes and the names in order of appearance (of the categories, for a categorical)."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, names = column.cat.codes.to_numpy(), list(column.cat.categories)
        used = np.bincount(codes[codes >= 0], minlength=len(names)) > 0
        if not used.all():
            codes = np.where(codes >= 0, (np.cumsum(used) - 1)[codes], -1)
            names = [name for name, keep in zip(names, used, strict=True) if keep]
    else:
        codes, uniques = pd.factorize(column)
        names = list(uniques)
    if codes.size and codes.min() < 0:
        raise DataError(f"the table has a row without {what} (row {int(np.argmin(codes))}); each row needs one")
    return codes, names


def _fixed_codes(column: pd.Series, names: tuple[str, ...]) -> np.ndarray:
    """Codes in the order of `names`; -1 for anything else (an empty tier)."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        lookup = np.array([*(names.index(c) if c in names else -1 for c in column.cat.categories), -1])
        return lookup[column.cat.codes.to_numpy()]
    codes, uniques = pd.factorize(column)
    lookup = np.array([*(names.index(u) if u in names else -1 for u in uniques), -1])
    return lookup[codes]


def _refuse_duplicates(predictions: pd.DataFrame, cell: np.ndarray) -> None:
    first = int(np.flatnonzero(pd.Series(cell).duplicated())[0])
    row = predictions.iloc[first]
    raise DataError(
        f"model {row['model']!r} has two predictions for group {row['group_id']!r}, {row['variant']}; "
        "keep the last, or add a column 'sample' when it was asked several times on purpose"
    )
