"""From stored replies to the `answers` frame: where each answer lies, how far off, whether it echoes the hint."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from signpost_kit.benchmark.geocontext.answers import NO_CONTEXT, band_of_key
from signpost_kit.geo import haversine_km
from signpost_kit.geocoding.base import Place
from signpost_kit.geocoding.resolve import Resolved, resolve
from signpost_kit.hints.plan import HintSite, read_variant
from signpost_kit.hints.schemas import BASELINE_OF
from signpost_kit.metrics.echoes import echo, echo_study
from signpost_kit.metrics.hints import hit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ANSWER_COLUMNS", "answers_frame", "chains_frame"]

ANSWER_COLUMNS = (
    *("site", "path", "model", "schema", "lang", "context", "sample", "qid", "ref_name", "ref_km", "band", "tier"),
    *("city", "answer_city", "area", "place", "conf_area", "conf_fine", "level", "label", "error_km", "hit"),
    *("hit_released", "echo", "echo_study", "ambiguous", "status", "reason"),
)


def answers_frame(
    replies: pd.DataFrame,
    sites: Sequence[HintSite],
    ladder: pd.DataFrame,
    lookup: Callable[[str], Sequence[Place]],
    *,
    schemas: Sequence[str] = (),
) -> pd.DataFrame:
    """One row per question, answered or not.

    Parameters
    ----------
    replies
        What :meth:`ReplyStore.planned` gives with the column `fields`, of a plan made by :func:`hint_plan`.
    sites, ladder
        Those of the plan: truth, and each hint's name and distance (ref_km).
    lookup
        Text -> candidates, see :func:`signpost_kit.geocoding.resolve.resolve`. Each answer is looked up once.
    schemas
        Schemas that share the baseline of another one get a copy of its rows.

    Returns
    -------
    Columns :data:`ANSWER_COLUMNS`: error_km is NaN without a position (nothing resolved, a failed lookup, no
    answer); status ok, unresolved, lookup_failed, or that of the reply, with its reason. hit: error_km < 1 at place
    or area level; a failed reply is a miss. lang is "en", hit_released NaN, ambiguous False: no released file.
    """
    import pandas as pd

    truth = {site.site: site for site in sites}
    rungs = {(str(r["site"]), str(r["qid"])): r for r in ladder.to_dict("records")}
    known: dict[tuple[str | None, ...], Resolved] = {}
    rows = []
    for row in replies.to_dict("records"):
        site = truth[str(row["dataset"])]
        schema, context = read_variant(str(row["variant"]))
        fields = _fields(row)
        rows.append(
            {"site": site.site, "path": row["group_id"], "model": row["model"], "schema": schema, "lang": "en"}
            | {"context": context, "sample": row["sample"], "city": site.city}
            | _hint(rungs, site.site, context)
            | _located(row, fields, site, lookup, known)
        )
    frame = pd.DataFrame(rows, columns=[c for c in ANSWER_COLUMNS if c not in _DERIVED])
    frame["hit"] = hit(frame["error_km"].to_numpy(float), frame["level"].to_numpy(object))
    names = [name or None for name in frame["ref_name"]]
    frame["echo"] = echo(frame["area"], frame["place"], names, list(frame["city"]))
    frame["echo_study"] = echo_study(frame["area"], frame["place"], names)
    frame["hit_released"], frame["ambiguous"] = np.nan, False
    copies = [
        frame.loc[(frame["schema"] == base) & (frame["context"] == NO_CONTEXT)].assign(schema=schema)
        for schema, base in BASELINE_OF.items()
        if schema in schemas and base in schemas
    ]
    return pd.concat([frame, *copies], ignore_index=True).loc[:, list(ANSWER_COLUMNS)]


_DERIVED = ("hit", "echo", "echo_study", "hit_released", "ambiguous")


def _hint(rungs: Mapping[tuple[str, str], Any], site: str, context: str) -> dict[str, Any]:
    key = band_of_key(context)
    if key is None:
        return {"qid": "", "ref_name": "", "ref_km": np.nan, "band": "", "tier": ""}
    rung = rungs[site, key[2]]
    return {
        "qid": key[2],
        "ref_name": rung["name_en"],
        "ref_km": float(rung["ref_km"]),
        "band": key[1],
        "tier": key[0],
    }


def _located(
    row: Mapping[Any, Any],
    fields: Mapping[str, Any],
    site: HintSite,
    lookup: Callable[[str], Sequence[Place]],
    known: dict[tuple[str | None, ...], Resolved],
) -> dict[str, Any]:
    said = fields.get("city"), fields.get("area"), fields.get("place")
    out: dict[str, Any] = dict(zip(("answer_city", "area", "place"), (text or "" for text in said), strict=True))
    out |= {name: _number(fields.get(name)) for name in ("conf_area", "conf_fine")}
    if row["status"] != "ok":
        failed = {"status": row["status"], "reason": str(row.get("reason") or "")}
        return out | {"level": "", "label": "", "error_km": np.nan} | failed
    if said not in known:
        known[said] = resolve(*said, lookup)
    found = known[said]
    error = float(haversine_km(found.lat, found.lon, site.lat, site.lon)) if found.level else np.nan
    status = {"ok": "ok", "unresolved": "unresolved", "error": "lookup_failed"}[found.status]
    return out | {
        "level": found.level,
        "label": found.label,
        "error_km": error,
        "status": status,
        "reason": found.reason,
    }


def _fields(row: Mapping[Any, Any]) -> Mapping[str, Any]:
    """What the parser read; {} for a failed reply."""
    found = row.get("fields")
    return found if isinstance(found, Mapping) else {}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else np.nan


def chains_frame(replies: pd.DataFrame) -> pd.DataFrame:
    """The checklists of the schema forced_chain: site, model, path, context, status, evidence (JSON or "")."""
    import pandas as pd

    rows = []
    for row in replies.to_dict("records"):
        schema, context = read_variant(str(row["variant"]))
        if schema != "forced_chain":
            continue
        fields = _fields(row)
        evidence = fields.get("evidence")
        rows.append(
            {
                "site": row["dataset"],
                "model": row["model"],
                "path": row["group_id"],
                "context": context,
                "status": row["status"],
                "evidence": json.dumps(evidence, ensure_ascii=False) if evidence else "",
            }
        )
    return pd.DataFrame(rows, columns=["site", "model", "path", "context", "status", "evidence"])
