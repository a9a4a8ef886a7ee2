"""What the tables of a run share: frames that may be absent, rows of a frame as scores, models in order, notes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.figures.cells import READING, in_order, rows_of, with_providers
from signpost_kit.tables_format import Score

__all__ = [
    "MEAN_LABEL",
    "PUBLISHED",
    "RUN",
    "coverage_of",
    "number",
    "of_reading",
    "ordered_models",
    "records",
    "run_frame",
    "said",
    "score",
    "score_of",
]

RUN, PUBLISHED = "This run", "Published, other scenes"
MEAN_LABEL = "mean of {n} models"


_KEYS = ("model", "dataset", "metric", "variant", "tier", "value", "reading")


class _HasTables(Protocol):
    def table(self, name: str, /) -> pd.DataFrame: ...


def run_frame(run: _HasTables, name: str) -> pd.DataFrame:
    """A frame of the run; when the run has none, one without rows, so that its table says so."""
    try:
        return run.table(name)
    except DataError:
        return pd.DataFrame(columns=list(_KEYS))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as dictionaries."""
    return [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]


def number(row: Mapping[str, Any], name: str, factor: float = 1.0) -> float:
    """A number of a row in another unit; NaN where there is none."""
    value = row.get(name)
    if value is None or isinstance(value, str) or pd.isna(value):
        return math.nan
    return float(value) * factor


def score(
    row: Mapping[str, Any], name: str = "value", factor: float = 1.0, *, bounds: tuple[str, str] = ("low", "high")
) -> Score:
    """A number of a row with its bounds and coverage, where the row has them."""
    value, low, high = (number(row, key, factor) for key in (name, *bounds))
    return Score(value, low, high, number(row, "coverage"))


def score_of(rows: pd.DataFrame, model: str, factor: float = 1.0) -> Score:
    """The first row of a model as a score; a dash when it has none."""
    found = rows_of(rows, "model", model) if len(rows) else rows
    return score(records(found.head(1))[0], factor=factor) if len(found) else Score()


def of_reading(frame: pd.DataFrame, reading: str) -> pd.DataFrame:
    """The rows of one reading of failed replies; all where the frame does not tell readings apart."""
    if frame.empty or "reading" not in frame.columns:
        return frame
    return rows_of(frame, "reading", reading, "")


def ordered_models(
    frame: pd.DataFrame, values: pd.DataFrame, *, grouped: bool = False, ascending: bool = False
) -> list[tuple[str, str]]:
    """(model, provider) of every model in `frame`, by `value` in `values`: highest first, those without one last.

    Parameters
    ----------
    grouped
        Provider by provider, that of the best model first.
    ascending
        The lowest first.
    """
    if frame.empty:
        return []
    columns = ["model", *(["provider"] if "provider" in frame.columns else [])]
    everyone = (
        with_providers(pd.DataFrame(frame[columns])).drop_duplicates(subset=["model"]).loc[:, ["model", "provider"]]
    )
    known = values.drop_duplicates(["model"])[["model", "value"]] if len(values) else values
    if known.empty:
        merged = everyone.assign(value=math.nan)
    else:
        sign = -1.0 if ascending else 1.0
        merged = everyone.astype({"model": str}).merge(
            known.assign(value=sign * known["value"].astype(float), model=known["model"].astype(str)),
            on="model",
            how="left",
        )
    return list(zip(*in_order(merged, grouped=grouped), strict=True))


def coverage_of(rows: pd.DataFrame) -> float:
    """Answered of all asked questions in `rows`; NaN when nothing was asked."""
    if rows.empty or "n_asked" not in rows.columns:
        return math.nan
    asked, answered = float(rows["n_asked"].sum()), float(rows["n_answered"].sum())
    return answered / asked if asked > 0 else math.nan


def said(*parts: str, reading: str | None = READING, intervals: bool = True) -> str:
    """A table's note: `parts`, then what brackets are and how failed replies count (`reading` None: not told)."""
    notes = [part.strip() for part in parts if part.strip()]
    if intervals:
        notes.append("Brackets: 95 % intervals from resampled scenes.")
    if reading is not None:
        failed = "is left out" if reading == READING else "scores 0"
        notes.append(f"A failed reply {failed}.")
    return " ".join(notes)


def joined(names: Sequence[str], most: int = 5) -> str:
    """A few names in a sentence."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
