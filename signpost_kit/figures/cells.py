"""Picking from the tidy score frames what a figure or table shows: rows of one metric, models in order.

A score frame has one row per model, dataset, metric, variant, tier and reading, with `value`, its interval
(`low`, `high`), `n_asked`, `n_answered` and `coverage` (all floats, NaN where there is nothing to say).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.frames import STATUSES, TIERS, VARIANTS

__all__ = [
    "READING",
    "group_shares",
    "in_order",
    "mean_over_models",
    "pick",
    "published_beside",
    "status_shares",
    "wide",
    "with_providers",
]

READING = "answered_only"
"""The study's own reading of failed replies; the other one is `as_failures`."""

_KEYS = ("model", "dataset", "metric", "variant", "tier", "reading")
_NUMBERS = ("value", "low", "high", "n_asked", "n_answered", "coverage")
_OFFLINE = ("reader", "looker", "aligned", "hardened", "prior")


def _checked(frame: pd.DataFrame) -> pd.DataFrame:
    missing = [name for name in ("model", "metric", "value") if name not in frame.columns]
    if missing:
        raise DataError(
            f"a table of scores lacks the column(s) {', '.join(missing)}; run the stage 'scoring' again"
        )
    out = frame.copy()
    for name in _KEYS:  # a CSV gives NaN for "", an older table may lack a column
        out[name] = out[name].astype(object).where(out[name].notna(), "").astype(str) if name in out.columns else ""
    for name in _NUMBERS:
        out[name] = pd.to_numeric(out[name], errors="coerce") if name in out.columns else np.nan
    return out


def rows_of(frame: pd.DataFrame, column: str, *values: str) -> pd.DataFrame:
    """The rows whose text in `column` is one of `values` (also where the column is categorical)."""
    return frame.loc[frame[column].astype(str).isin(values), :]


def published_models() -> pd.DataFrame:
    """The study's leaderboard: rank, model, provider, mcrs, capability_pct, robustness_pct of 20 models."""
    from signpost_kit.published import published

    return published("signpost/mcrs_leaderboard")


def published_beside(kind: str) -> pd.DataFrame:
    """Published scores to draw beside a run's frame `kind` (macro, cells, tiers), with the means over models.

    Columns as in the run's frames, `reading` is "published"; see :mod:`signpost_kit.published_frames`.
    """
    from signpost_kit.published_frames import published_frames

    frames = published_frames()
    parts = [frames[kind], frames["means"]] if kind != "cells" else [frames[kind]]
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def pick(
    frame: pd.DataFrame,
    metric: str,
    *,
    variant: str | None = None,
    tier: str | None = "",
    reading: str = READING,
) -> pd.DataFrame:
    """Rows of one metric (and variant, and tier; None: any), one reading. No rows where there are none.

    Intervals are ordered and NaN bounds stay NaN. Metrics which know one reading only are taken as they are.
    """
    out = _checked(frame)
    keep = (out["metric"] == metric) & out["reading"].isin([reading, ""])
    if variant is not None:
        keep &= out["variant"] == variant
    if tier is not None:
        keep &= out["tier"] == tier
    return out.loc[keep, :].reset_index(drop=True)


def wide(rows: pd.DataFrame, models: Sequence[str], column: str = "value") -> np.ndarray:
    """`column` of `rows` for each of `models`, NaN where a model has no row."""
    if rows.empty:
        return np.full(len(models), np.nan)
    first = rows.drop_duplicates(["model"]).set_index("model")[column]
    return first.reindex(list(models)).to_numpy(dtype=float, na_value=np.nan)


def with_providers(frame: pd.DataFrame, providers: Mapping[str, str] | None = None) -> pd.DataFrame:
    """`frame` with a column `provider`: from `providers`, else its own, else the published list of models.

    The kit's own models are "Offline"; a model nobody knows is "Other".
    """
    known = dict.fromkeys(_OFFLINE, "Offline")
    try:
        from signpost_kit.published import published

        listed = published("signpost/models")
        known |= dict(zip(listed["model"], listed["provider"], strict=True))
        known |= dict(zip(listed["api_identifier"], listed["provider"], strict=True))
    except (ImportError, DataError):  # without the list every paid model is "Other", which draws as well
        pass
    known |= dict(providers or {})
    out = frame.copy()
    found = out["model"].astype(str).map(known)
    if "provider" in out.columns:
        found = found.where(out["model"].astype(str).isin(list(providers or {})), out["provider"])
    out["provider"] = found.fillna("Other").replace("", "Other")
    return out


def in_order(rows: pd.DataFrame, *, grouped: bool = True) -> tuple[list[str], list[str]]:
    """Models and their providers, best `value` first; with `grouped`, provider by provider (best provider first).

    Models without a value come last; ties go by name, so that the order never depends on the order of rows.
    """
    frame = with_providers(rows) if "provider" not in rows.columns else rows
    first = frame.drop_duplicates(["model"])[["model", "provider", "value"]].copy()
    first["model"] = first["model"].astype(str)
    first["key"] = -first["value"].astype(float).fillna(-np.inf)
    if grouped:
        first["block"] = first.groupby("provider")["key"].transform("min")
        first = first.sort_values(["block", "provider", "key", "model"], kind="stable")
    else:
        first = first.sort_values(["key", "model"], kind="stable")
    return first["model"].tolist(), first["provider"].astype(str).tolist()


def mean_over_models(rows: pd.DataFrame) -> pd.DataFrame:
    """The plain mean of each metric, variant and tier over models, as rows of a model called "mean of n models".

    A cell where a model is missing is a mean of the others; `n_models` says of how many. There is no interval:
    models are not a sample.
    """
    data = _checked(rows)
    keys = ["dataset", "metric", "variant", "tier", "reading"]
    out = data.groupby(keys, as_index=False).agg(
        value=("value", "mean"),
        n_models=("value", "count"),
        n_asked=("n_asked", "sum"),
        n_answered=("n_answered", "sum"),
    )
    out["coverage"] = out["n_answered"] / out["n_asked"].where(out["n_asked"] > 0)
    return out.assign(model=f"mean of {data['model'].nunique()} models", low=np.nan, high=np.nan)


def group_shares(groups: pd.DataFrame) -> dict[str, tuple[int, float]]:
    """Tier -> (number of groups, share of all groups with a tier); a tier without groups is absent."""
    tiers = groups["tier"].fillna("").astype(str)
    counts = tiers[tiers.isin(TIERS)].value_counts()
    total = int(counts.sum())
    return {tier: (int(counts[tier]), counts[tier] / total) for tier in TIERS if tier in counts.index}


def status_shares(predictions: pd.DataFrame) -> pd.DataFrame:
    """Rows (model, variant, status, n, share): how the asked questions ended, `share` of one model's variant.

    The variant "all" holds each model's total. An empty frame gives an empty frame.
    """
    columns = ["model", "variant", "status", "n", "share"]
    if predictions.empty:
        return pd.DataFrame(columns=columns)
    each = predictions[["model", "variant", "status"]].astype(str)
    both = pd.concat([each, each.assign(variant="all")])
    counts = both.value_counts().rename("n").reset_index()
    counts["share"] = counts["n"] / counts.groupby(["model", "variant"])["n"].transform("sum")
    ranks = {name: i for i, name in enumerate((*VARIANTS, "all", *STATUSES))}
    return (
        counts.sort_values(
            ["model", "variant", "status"], key=lambda c: c if c.name == "model" else c.map(ranks), kind="stable"
        )
        .reset_index(drop=True)
        .loc[:, columns]
    )
