"""SIGNPOST-Bench's published scores in the run's own terms, to be drawn beside a run ("your model among the 20").

    theirs = published_frames()["macro"]
    pick(theirs, "mcrs", reading=PUBLISHED)      # as `pick(run.table("macro"), "mcrs")` is for the run

They were measured on other scenes (the study's 5,111): a run's models are set beside them, and no test compares the
two. What the text of the paper does not give can be added as CSV, see `params/published/README.md`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.metrics.longform import MACRO, SCORE_COLUMNS
from signpost_kit.published import published, published_names, published_text
from signpost_kit.published_layouts import USER_TABLES, Field, Layout, read_layout

__all__ = ["MEAN_MODEL", "PUBLISHED", "among", "published_frames", "study_name", "users_tables"]

PUBLISHED = "published"
"""What `reading` and `source` say in these frames."""
MEAN_MODEL = "mean of 20 models"
_COLUMNS = (*SCORE_COLUMNS, "provider", "source")
_UNITS = {"%": 0.01, "WLA %": 0.01}
_POINTS = frozenset({"drop_percent"})
"""Metrics that the run's frames hold in per cent too."""

# What single quantities of the text are called in the run's frames: quantity -> metric, variant, tier, factor.
_MEANS: dict[str, tuple[str, str, str, float]] = {
    "mean_wla_original": ("wla", "Original", "", 0.01),
    "mean_wla_adversarial": ("wla", "Adversarial", "", 0.01),
    "median_error_original": ("median_error_km", "Original", "", 1),
    "median_error_adversarial": ("median_error_km", "Adversarial", "", 1),
    **{
        f"acc{km}_{variant.lower()}": (f"acc_{km}", variant, "", 0.01)
        for km in (25, 200, 750)
        for variant in ("Original", "Adversarial")
    },
    **{f"mean_tbs_{v.lower()}": ("tbs_km", v, "", 1) for v in ("Similar", "Random", "Adversarial")},
    "T3_wla_original": ("wla", "Original", "T3", 0.01),
    **{f"{tier}_wla_drop": ("drop_points", "Adversarial", tier, 1) for tier in ("T1", "T2", "T3")},
    **{f"{tier}_relative_drop": ("drop_percent", "Adversarial", tier, 1) for tier in ("T1", "T2", "T3")},
}
_TASKS: dict[str, tuple[str, str, str]] = {
    "probe_wla": ("probing", "wla", "Adversarial"),
    "probe_cda": ("probing", "cda", "Adversarial"),
    "defense_cda": ("defense", "cda", "Adversarial"),
    "conflict_recall": ("consistency", "conflict_recall", "Adversarial"),
    "text_dominance": ("country", "text_dominance", ""),
}
_TWO = {"gemini25flash": "Gemini-2.5-Flash", "gpt4omini": "GPT-4o-mini"}
_COMPONENTS = {"capability_pct": "capability", "robustness_pct": "robustness", "mcrs": "mcrs"}


def published_frames() -> dict[str, pd.DataFrame]:
    """Every published score as rows of the run's frames.

    Returns
    -------
    dict of frames
        `macro` (means over the data sets), `cells` (by data set), `tiers`, `alpha` (with a column alpha), `radius`
        (with radius_km) of the 20 models: columns `SCORE_COLUMNS`, provider, source. `means`: the same columns,
        scores averaged over the 20 models. `tasks`: the same and `task`. `reading` and `source` are "published";
        units as in the run's frames (fractions, km); bounds, counts and coverage are NaN. A score that a user's
        table and the shipped numbers both give is the user's. A frame of which nothing is published has no rows.

    Raises
    ------
    DataError
        A table is damaged: the file, the line and what is allowed are named.
    """
    models = published("signpost/models")
    providers = dict(zip(models["model"].astype(str), models["provider"].astype(str), strict=True))
    datasets = [str(name) for name in published("signpost/composition")["dataset"]]
    rows = _shipped_rows()
    for name in users_tables():
        layout = USER_TABLES[name]
        found = read_layout(name, published_text(f"signpost/{name}"), models=list(providers), datasets=datasets)
        rows += [_score(layout, entry) for entry in found]
    frames: dict[str, pd.DataFrame] = {}
    for kind, extra in _KINDS.items():
        mine = [row for row in rows if row["frame"] == kind and not math.isnan(row["value"])]
        frames[kind] = _frame(mine, providers, extra)
    return frames


_KINDS: dict[str, tuple[str, ...]] = {
    "macro": (),
    "cells": (),
    "tiers": (),
    "means": (),
    "tasks": ("task",),
    "alpha": ("alpha",),
    "radius": ("radius_km",),
}


def among(frame: pd.DataFrame, kind: str = "macro", *, models: Iterable[str] | None = None) -> pd.DataFrame:
    """A run's frame with the published rows of the same kind below; a column `source` tells them apart.

    Parameters
    ----------
    frame
        `run.table(kind)`; its rows get the source "this run".
    kind
        A key of :func:`published_frames`.
    models
        Only these published models; None: all. Names as published, or the providers' identifiers.

    Returns
    -------
    DataFrame
        Both, with a column `provider` where either has one. Published rows keep `reading` = "published".

    Raises
    ------
    DataError
        No such kind, or no such model.
    """
    frames = published_frames()
    if kind not in frames:
        raise DataError(f"nothing is published as {kind!r}; there are: {', '.join(frames)}")
    theirs = frames[kind]
    if models is not None:
        wanted = [study_name(model) for model in models]
        if "" in wanted:
            unknown = list(models)[wanted.index("")]
            raise DataError(f"{unknown!r} is none of the 20 published models: {', '.join(_names())}")
        theirs = theirs.loc[theirs["model"].isin(wanted), :]
    return pd.concat([frame.assign(source="this run"), theirs], ignore_index=True)


def study_name(model: str) -> str:
    """The published name of a model that a run or a release spells otherwise or by its identifier; "" if none.

    Capitals, dashes, dots and underscores do not matter: `gemini_2.5_flash` is Gemini-2.5-Flash.
    """
    return _names_by_spelling().get(_plain(model), "")


def users_tables() -> list[str]:
    """Ids of the tables added by the user that can be turned into frames.

    Raises
    ------
    DataError
        A file is called almost like a table (`tab1.csv`).
    """
    found = [name.removeprefix("signpost/") for name in published_names() if name.startswith("signpost/")]
    paper = [f"tab{i:02d}" for i in range(1, 24)]
    for name in found:
        if re.fullmatch(r"tab(le)?[ _-]?\d+", name, re.IGNORECASE) and name not in paper:
            number = int(re.sub(r"\D", "", name))
            near = difflib.get_close_matches(f"tab{number:02d}", paper, n=1)
            hint = f"call it {near[0]}.csv" if near else f"the paper's tables are {paper[0]} to {paper[-1]}"
            raise DataError(f"params/published/signpost/{name}.csv is not read: {hint}")
    return [name for name in found if name in USER_TABLES]


def _shipped_rows() -> list[dict[str, Any]]:
    board = published("signpost/mcrs_leaderboard")
    rows = [
        _row("macro", str(line["model"]), metric, value=float(line[column]) * (1 if metric == "mcrs" else 0.01))
        for line in board.to_dict("records")
        for column, metric in _COMPONENTS.items()
    ]
    facts = published("signpost/aggregate_facts")
    for quantity, value in zip(facts["quantity"].astype(str), facts["value"].astype(float), strict=True):
        if quantity in _MEANS:
            metric, variant, tier, factor = _MEANS[quantity]
            rows.append(_row("means", MEAN_MODEL, metric, variant, tier=tier, value=value * factor))
        name, _, model = quantity.rpartition("_")
        if name in _TASKS and model in _TWO:
            task, metric, variant = _TASKS[name]
            rows.append(_row("tasks", _TWO[model], metric, variant, value=value * 0.01, task=task))
    return rows


def _score(layout: Layout, entry: Mapping[str, Any]) -> dict[str, Any]:
    """One number of a user's table as a row."""
    field: Field = entry["field"]
    label, section, place = (str(entry[key]) for key in ("label", "section", "place"))
    factor = 1.0 if field.metric in _POINTS else _UNITS.get(field.unit, 1.0)
    value = float(entry["value"]) * factor
    model, tier, dataset, frame, extra = label, layout.tier, layout.dataset, layout.frame, {}
    if layout.label == "Tier":
        model, tier = section or MEAN_MODEL, label
    if layout.frame == "cells" and layout.others:
        dataset = place or MACRO
        frame = "cells" if place else "macro"
    if layout.frame == "alpha":
        extra = {"alpha": float(place)}
    if layout.frame == "radius":
        extra = {"radius_km": float(place)}
        dataset = MACRO if section in ("", "All data sets", MACRO) else section
    if layout.section == "Model" and model == MEAN_MODEL:
        frame = "means"
    variant = field.variant or ("Adversarial" if field.metric == "wla" else "")
    return _row(frame, model, field.metric, variant, tier=tier, dataset=dataset, value=value, **extra)


def _row(
    frame: str,
    model: str,
    metric: str,
    variant: str = "",
    *,
    value: float,
    tier: str = "",
    dataset: str = MACRO,
    **extra: Any,
) -> dict[str, Any]:
    names = {"frame": frame, "model": model, "dataset": dataset, "metric": metric, "variant": variant, "tier": tier}
    return names | {"value": value} | extra


def _frame(rows: list[dict[str, Any]], providers: Mapping[str, str], extra: tuple[str, ...]) -> pd.DataFrame:
    columns = [*_COLUMNS, *extra]
    out = pd.DataFrame(rows, columns=pd.Index(["frame", *columns]))
    out = out.assign(reading=PUBLISHED, source=PUBLISHED)
    out["provider"] = [providers.get(str(model), "") for model in out["model"]]
    keys = ["model", "dataset", "metric", "variant", "tier", *extra]
    out = out.drop_duplicates(keys, keep="last")  # the user's tables come after the shipped numbers
    numbers = ["value", "low", "high", "n_asked", "n_answered", "coverage"]
    out[numbers] = out[numbers].astype(float)
    return pd.DataFrame(out[columns]).reset_index(drop=True)


def _names() -> list[str]:
    return [str(name) for name in published("signpost/models")["model"]]


def _names_by_spelling() -> dict[str, str]:
    models = published("signpost/models")
    known: dict[str, str] = {}
    for column in ("api_identifier", "model"):
        known |= {
            _plain(str(label)): str(name) for label, name in zip(models[column], models["model"], strict=True)
        }
    return known


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.rsplit("/", 1)[-1].casefold())
