"""Frames behind the pictures with maps: which scene tells the story, what its signs say, who answered what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.figures.cells import rows_of
from signpost_kit.frames import VARIANTS

if TYPE_CHECKING:
    from signpost_kit.benchmark.groups import Benchmark, Group

__all__ = ["answers_frame", "choose_story", "sheet_frame", "sign_text", "story_frame"]

STORY_COLUMNS = ("model", "group_id", "variant", "image", "text", "polygon", "lat", "lon", "status", "error_km",
                 "trap_km", "truth_lat", "truth_lon", "truth_name", "trap_lat", "trap_lon",
                 "trap_name")  # fmt: skip


def choose_story(scores: pd.DataFrame, *, model: str | None = None, group_id: str | None = None) -> tuple[str, str]:
    """The (model, group_id) whose answer the conflicting sign pulls furthest.

    The pull is how much nearer to the sign's place the Adversarial answer is than the Blank one; without a
    trap, how much further from the truth. Scenes that the model placed well in the Original (within 750 km) and
    answered in all five versions come first, because there the sign, not the scene, is to blame. Ties go by name.
    A `model` or a `group_id` narrows the choice.

    Raises
    ------
    DataError
        There is no score at all, or none of that model or scene; the models there are, are named.
    """
    data = scores
    for column, wanted in (("model", model), ("group_id", group_id)):
        if wanted is not None:
            data = rows_of(data, column, wanted)
            if data.empty and len(scores):
                known = ", ".join(sorted(scores["model"].astype(str).unique()))
                raise DataError(f"the scores hold no {column} {wanted!r}; their models: {known}")
    if data.empty:
        raise DataError("no scores to choose a scene from: run the stage 'scoring' first")
    keys = ["model", "group_id"]
    error, trap = (
        data.pivot_table(index=keys, columns="variant", values=c, aggfunc="first", dropna=False, observed=True)
        .reindex(columns=list(VARIANTS))
        .astype(float)
        for c in ("error_km", "trap_km")
    )
    toward, away = trap["Blank"] - trap["Adversarial"], error["Adversarial"] - error["Blank"]
    table = pd.DataFrame({"pull": toward.where(toward.notna(), away)})
    table["told"] = error.notna().all(axis=1) & toward.notna() & (error["Original"] < 750)
    table["answered"] = error.notna().sum(axis=1)
    table["pull"] = table["pull"].fillna(-np.inf)
    table = table.reset_index().sort_values(
        ["told", "pull", "answered", "model", "group_id"],
        ascending=[False, False, False, True, True],
        kind="stable",
    )
    return str(table["model"].iloc[0]), str(table["group_id"].iloc[0])


def sign_text(group: Group, variant: str) -> str:
    """What the representative sign says in one version; "" when it says nothing or nobody knows."""
    span = group.representative
    if span is None or variant == "Blank":
        return ""
    return span.text if variant == "Original" else span.replacements.get(variant.lower(), "")


def _place(group: Group) -> str:
    return ", ".join(part for part in (group.city, group.country) if part)


def story_frame(scores: pd.DataFrame, benchmark: Benchmark, model: str, group_id: str) -> pd.DataFrame:
    """Five rows, one per variant: picture, text on the sign, the model's answer, the truth and the trap.

    A variant without picture has image ""; one without answer has NaN and its status ("" if never asked).
    """
    found = [g for g in benchmark.groups if g.group_id == group_id]
    if not found:
        raise DataError(f"the benchmark has no group {group_id!r}: it and the scores are from different runs")
    group, trap = found[0], found[0].trap
    mine = rows_of(rows_of(scores, "model", model), "group_id", group_id)
    rows = []
    for variant in VARIANTS:
        row = rows_of(mine, "variant", variant).head(1)
        answer: Mapping[str, object] = row.iloc[0].to_dict() if len(row) else {}
        span = group.representative
        rows.append(
            {
                "model": model,
                "group_id": group_id,
                "variant": variant,
                "image": str(benchmark.image_path(group, variant)) if variant in group.images else "",
                "text": sign_text(group, variant),
                "polygon": span.polygon if span is not None else (),
                "status": str(answer.get("status", "")),
                "truth_name": _place(group),
                "trap_name": trap.name if trap else "",
                **{c: answer.get(c, np.nan) for c in ("lat", "lon", "error_km", "trap_km")},
                "truth_lat": group.lat,
                "truth_lon": group.lon,
                "trap_lat": trap.lat if trap else np.nan,
                "trap_lon": trap.lon if trap else np.nan,
            }
        )
    return pd.DataFrame(rows, columns=list(STORY_COLUMNS))


def sheet_frame(benchmark: Benchmark, *, limit: int = 6, seed: int | None = None) -> pd.DataFrame:
    """Rows (group_id, label, variant, image, text, polygon), five per group, of the first `limit` groups.

    Groups with pictures of every version come first; with a `seed` they are drawn at random instead.
    """
    groups = sorted(benchmark.groups, key=lambda g: -len(g.images))
    if seed is not None:
        picks = np.random.default_rng(seed).permutation(len(benchmark.groups))
        groups = [benchmark.groups[i] for i in picks]
    rows = [
        (
            group.group_id,
            _place(group) or group.group_id,
            variant,
            str(benchmark.image_path(group, variant)) if variant in group.images else "",
            sign_text(group, variant),
            group.representative.polygon if group.representative else (),
        )
        for group in groups[:limit]
        for variant in VARIANTS
    ]
    return pd.DataFrame(rows, columns=["group_id", "label", "variant", "image", "text", "polygon"])


def answers_frame(scores: pd.DataFrame, groups: pd.DataFrame, *, model: str = "") -> pd.DataFrame:
    """Scores of one model with truth_lat, truth_lon, trap_lat, trap_lon of each group: what the map draws.

    Without a `model` it is the `reader`, whose answers come from the text alone, or else the first there is.

    Raises
    ------
    DataError
        The scores hold no such model; those they hold are named.
    """
    names = list(dict.fromkeys(scores["model"].astype(str)))
    model = model or ("reader" if "reader" in names else next(iter(names), ""))
    mine = rows_of(scores, "model", model)
    if mine.empty:
        known = ", ".join(sorted(names)) or "none"
        raise DataError(f"the scores hold no model {model!r}; they hold: {known}")
    truth = groups.rename(columns={"lat": "truth_lat", "lon": "truth_lon"})
    keep = ["dataset", "group_id", "truth_lat", "truth_lon", "trap_lat", "trap_lon"]
    return mine.astype({"dataset": str, "group_id": str}).merge(
        truth[keep].astype({"dataset": str, "group_id": str}), on=["dataset", "group_id"], how="left"
    )
