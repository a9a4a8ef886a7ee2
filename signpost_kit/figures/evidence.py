"""Frames behind the figures of probing and defense: which case tells most, and what a model said about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.figures.cells import rows_of
from signpost_kit.figures.story import sign_text
from signpost_kit.geo import haversine_km
from signpost_kit.metrics.task_replies import text_column

if TYPE_CHECKING:
    from signpost_kit.benchmark.groups import Benchmark

__all__ = ["CASE_COLUMNS", "FIELDS", "case_frame", "choose_case"]

FIELDS: dict[str, dict[str, str]] = {
    "probing": {
        "visual": "visual_evidence",
        "visual_region": "visual_region",
        "textual": "textual_evidence",
        "textual_region": "textual_region",
        "judgement": "consistent",
        "judgement_why": "consistency_explanation",
        "trusted": "trusted_source",
        "trusted_why": "trust_explanation",
    },
    "defense": {"visual": "visual", "textual": "text", "judgement": "conflict", "trusted": "trusted"},
}
"""Task -> what a case shows, and the column of the task's replies that holds it."""
_SAID = tuple(FIELDS["probing"])
CASE_COLUMNS = (
    *("model", "group_id", "task", "variant", "status", "lat", "lon", "error_km", "trap_km", *_SAID),
    *("image", "image_original", "text", "text_original", "polygon", "truth_lat", "truth_lon", "truth_name"),
    *("trap_lat", "trap_lon", "trap_name"),
)


def choose_case(
    probing: pd.DataFrame,
    defense: pd.DataFrame,
    benchmark: Benchmark,
    *,
    model: str = "",
    group_id: str = "",
    variant: str = "Adversarial",
) -> tuple[str, str]:
    """The (model, group_id) on which the warning changed most; ("", "") when no such picture was asked about.

    Cases come first in which probing trusted the text and defense the sights, among them the one whose answer came
    nearest to the truth (in km gained); then cases answered both ways, then any. Ties go by name. A `model` or a
    `group_id` narrows the choice.

    Raises
    ------
    DataError
        There are replies, but none of that model or scene; the models there are, are named.
    """
    sides = {"probing": _about(probing, variant), "defense": _about(defense, variant)}
    both = pd.concat([frame.loc[:, ["model", "group_id"]] for frame in sides.values() if len(frame)] or [_NOBODY])
    if both.empty:
        return "", ""
    for column, wanted in (("model", model), ("group_id", group_id)):
        if wanted:
            known = ", ".join(sorted(both["model"].astype(str).unique()))
            both = rows_of(both, column, wanted)
            if both.empty:
                raise DataError(
                    f"the replies about {variant} pictures hold no {column} {wanted!r}; models: {known}"
                )
    truth = {group.group_id: (group.lat, group.lon) for group in benchmark.groups}
    table = both.drop_duplicates().astype(str).set_index(["model", "group_id"])
    for task, frame in sides.items():
        table = table.join(_outcome(frame, FIELDS[task]["trusted"], truth).add_prefix(f"{task}_"))
    gain = table["probing_error"] - table["defense_error"]
    turned = (table["probing_trusted"] == "Textual") & (table["defense_trusted"] == "Visual") & gain.notna()
    order = table.assign(turned=turned, told=gain.notna(), gain=gain.fillna(-np.inf)).reset_index()
    order = order.sort_values(
        ["turned", "told", "gain", "model", "group_id"], ascending=[False, False, False, True, True], kind="stable"
    )
    return str(order["model"].iloc[0]), str(order["group_id"].iloc[0])


_NOBODY = pd.DataFrame({"model": pd.Series(dtype=str), "group_id": pd.Series(dtype=str)})


def _about(frame: pd.DataFrame, variant: str) -> pd.DataFrame:
    """The replies about one variant, the first of several samples."""
    if frame.empty or "variant" not in frame:
        return _NOBODY
    return rows_of(frame, "variant", variant).drop_duplicates(["model", "group_id"])


def _outcome(frame: pd.DataFrame, column: str, truth: Mapping[str, tuple[float, float]]) -> pd.DataFrame:
    """Per model and scene: what was trusted, and the error in km (NaN without a position)."""
    index = pd.MultiIndex.from_arrays([frame["model"].astype(str), frame["group_id"].astype(str)])
    if frame.empty:
        return pd.DataFrame({"trusted": pd.Series(dtype=str), "error": pd.Series(dtype=float)}, index=index)
    places = np.array([truth.get(str(name), (np.nan, np.nan)) for name in frame["group_id"]], dtype=float)
    answers = frame.loc[:, ["lat", "lon"]].to_numpy(float)
    error = np.asarray(haversine_km(answers[:, 0], answers[:, 1], places[:, 0], places[:, 1]))
    return pd.DataFrame({"trusted": text_column(frame, column), "error": error}, index=index)


def case_frame(
    probing: pd.DataFrame,
    defense: pd.DataFrame,
    benchmark: Benchmark,
    model: str,
    group_id: str,
    *,
    variant: str = "Adversarial",
) -> pd.DataFrame:
    """One row per task: what the model said about one picture, where it put it, and the truth and the trap.

    A task that was not asked about it has status "". Without a model (see :func:`choose_case`) there are no rows.

    Raises
    ------
    DataError
        The benchmark has no such group.
    """
    if not model:
        return pd.DataFrame(columns=list(CASE_COLUMNS))
    found = [group for group in benchmark.groups if group.group_id == group_id]
    if not found:
        raise DataError(f"the benchmark has no group {group_id!r}: it and the replies are from different runs")
    group, span = found[0], found[0].representative
    images = {
        name: str(benchmark.image_path(group, name)) if name in group.images else "" for name in _shown(variant)
    }
    trap = (group.trap.lat, group.trap.lon) if group.trap else (np.nan, np.nan)
    rows: list[dict[str, Any]] = []
    for task, frame in (("probing", probing), ("defense", defense)):
        mine = _about(frame, variant)
        row = rows_of(rows_of(mine, "model", model), "group_id", group_id).head(1)
        said: Mapping[str, Any] = {str(k): v for k, v in row.iloc[0].items()} if len(row) else {}
        lat, lon = (float(said.get(name, np.nan)) for name in ("lat", "lon"))
        rows.append(
            {name: _words(said.get(column)) for name, column in FIELDS[task].items()}
            | {
                "model": model,
                "group_id": group_id,
                "task": task,
                "variant": variant,
                "status": str(said.get("status", "")),
                "lat": lat,
                "lon": lon,
                "error_km": haversine_km(lat, lon, group.lat, group.lon),
                "trap_km": haversine_km(lat, lon, *trap),
                "image": images[variant],
                "image_original": images["Original"],
                "text": sign_text(group, variant),
                "text_original": sign_text(group, "Original"),
                "polygon": span.polygon if span is not None else (),
                "truth_lat": group.lat,
                "truth_lon": group.lon,
                "truth_name": ", ".join(part for part in (group.city, group.country) if part),
                "trap_lat": trap[0],
                "trap_lon": trap[1],
                "trap_name": group.trap.name if group.trap else "",
            }
        )
    frame = pd.DataFrame(rows).reindex(columns=list(CASE_COLUMNS))
    return frame.assign(**{name: frame[name].astype(object).where(frame[name].notna(), "") for name in _SAID})


def _shown(variant: str) -> tuple[str, str]:
    return "Original", variant


def _words(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and np.isnan(value)) else str(value)
