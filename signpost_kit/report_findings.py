"""What a run found, in sentences made from its numbers, and the small tables a report shows beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from signpost_kit.figures.cells import READING, pick, rows_of
from signpost_kit.frames import STATUSES, VARIANTS

__all__ = ["Finding", "coverage_rows", "failed_replies", "findings", "headline"]


@dataclass(frozen=True)
class Finding:
    """What conflicting signs do to one model. Numbers are NaN where the run cannot tell."""

    model: str
    tbs: tuple[float, float, float]
    """Adversarial TBS in km with its interval."""
    tfr: tuple[float, float, float]
    """Trap-fit rate, 0..1, with its interval."""
    wla: tuple[float, float]
    """Original and Adversarial WLA, 0..1."""
    sentence: str


def _triple(rows: pd.DataFrame, model: str) -> tuple[float, float, float]:
    mine = rows_of(rows, "model", model)
    if mine.empty:
        return math.nan, math.nan, math.nan
    value, low, high = (float(mine.iloc[0][c]) for c in ("value", "low", "high"))
    return value, low, high


def _km(triple: tuple[float, float, float]) -> str:
    value, low, high = triple
    text = f"{abs(value):,.0f} km"
    if math.isfinite(low) and math.isfinite(high):
        ends = sorted((abs(low), abs(high))) if low * high >= 0 else (low, high)
        text += f" [{ends[0]:,.0f}, {ends[1]:,.0f}]".replace("-", "−")
    return text


def _percent(triple: tuple[float, float, float]) -> str:
    value, low, high = (100 * v for v in triple)
    text = f"{value:.0f} %"
    return text + (f" [{low:.0f}, {high:.0f}]" if math.isfinite(low) and math.isfinite(high) else "")


def _push(tbs: tuple[float, float, float]) -> str:
    """What the sign does to the distance from the truth, said no louder than the interval allows."""
    value, low, high = tbs
    if not math.isfinite(value):
        return "whether conflicting signs push its answers away from the truth cannot be told"
    if value == low == high == 0:
        return "conflicting signs do not change how far its answers are from the truth"
    if math.isfinite(low) and math.isfinite(high) and low <= 0 <= high:
        return f"no clear push by conflicting signs (text bias {value:+,.0f} km [{low:,.0f}, {high:,.0f}])".replace(
            "-", "−"
        )
    if value > 0:
        return f"conflicting signs push its answers {_km(tbs)} further from the truth"
    return f"conflicting signs bring its answers {_km(tbs)} nearer to the truth"


def findings(macro: pd.DataFrame, *, radius_km: float = 50.0, reading: str = READING) -> list[Finding]:
    """One finding per model of the frame `macro`, the most trapped first; models without any score come last."""
    if macro.empty:
        return []
    tbs = pick(macro, "tbs_km", variant="Adversarial", reading=reading)
    tfr = pick(macro, "tfr", reading=reading)
    wla = [pick(macro, "wla", variant=v, reading=reading) for v in ("Original", "Adversarial")]
    out = []
    for model in dict.fromkeys(macro["model"].astype(str)):
        push, trapped = _triple(tbs, model), _triple(tfr, model)
        accuracy = (_triple(wla[0], model)[0], _triple(wla[1], model)[0])
        sentence = f"{model}: {_push(push)}"
        if math.isfinite(trapped[0]):
            sentence += f"; {_percent(trapped)} of its answers lie within {radius_km:g} km of the place on the sign"
        if all(math.isfinite(v) for v in accuracy):
            sentence += f"; accuracy goes from {100 * accuracy[0]:.1f} to {100 * accuracy[1]:.1f} WLA"
        out.append(Finding(model, push, trapped, accuracy, sentence + "."))
    return sorted(out, key=lambda f: (-_or(f.tfr[0], -1.0), -_or(f.tbs[0], -math.inf), f.model))


def _or(value: float, other: float) -> float:
    return value if math.isfinite(value) else other


def headline(found: list[Finding], *, radius_km: float = 50.0) -> str:
    """The run's one sentence."""
    told = [f for f in found if math.isfinite(f.tfr[0])]
    if not found:
        return "No model has been scored yet."
    if not told:
        pushed = [f for f in found if math.isfinite(f.tbs[0])]
        if not pushed:
            return "The run cannot tell yet what conflicting signs do: no answers to compare."
        top = max(pushed, key=lambda f: f.tbs[0])
        return f"{top.sentence[:-1]}; no scene has a geocoded target, so whether answers land there is unknown."
    # Of models that are trapped equally seldom, the one that finds places is the telling contrast.
    most, least = told[0], min(told, key=lambda f: (f.tfr[0], -_or(f.wla[0], 0.0), f.model))
    first = (
        f"With a conflicting sign in the picture, {_percent(most.tfr)} of the answers of {most.model} "
        f"lie within {radius_km:g} km of the place on the sign"
    )
    if most.tbs[0] > 0 and not most.tbs[1] <= 0:  # not where the interval leaves the direction open
        first += f", and its error grows by {_km(most.tbs)}"
    if len(told) > 1 and f"{most.tfr[0]:.3f}" != f"{least.tfr[0]:.3f}":
        first += f"; for {least.model} it is {_percent(least.tfr)}"
    return first + "."


def coverage_rows(predictions: pd.DataFrame) -> list[dict[str, Any]]:
    """Per model: answered and asked per variant and in all, and the other statuses by count."""
    out = []
    for model, mine in predictions.groupby(predictions["model"].astype(str), sort=False):
        cells = []
        for variant in VARIANTS:
            here = rows_of(mine, "variant", variant)
            cells.append((int((here["status"].astype(str) == "ok").sum()), len(here)))
        counts = mine["status"].astype(str).value_counts()
        failed = {status: int(counts[status]) for status in STATUSES if status != "ok" and status in counts.index}
        out.append(
            {
                "model": str(model),
                "cells": cells,
                "ok": sum(c[0] for c in cells),
                "asked": len(mine),
                "failed": failed,
            }
        )
    return out


def failed_replies(predictions: pd.DataFrame, *, limit: int = 30) -> tuple[list[dict[str, str]], int]:
    """Up to `limit` replies that carry no position (every model's first ones), and how many there are.

    Columns `reason` and `text` are shown where the frame has them. Text is cut at 400 characters.
    """
    bad = predictions.loc[predictions["status"].astype(str) != "ok", :]
    per_model = max(1, limit // max(1, len(set(bad["model"].astype(str)))))
    shown = bad.groupby(bad["model"].astype(str), sort=False).head(per_model).head(limit)
    rows = []
    for record in shown.to_dict("records"):
        row = {str(k): "" if pd.isna(v) else str(v) for k, v in record.items() if not isinstance(v, (list, dict))}
        names = ("model", "group_id", "variant", "status", "reason")
        rows.append({k: row.get(k, "") for k in names} | {"text": row.get("text", "")[:400]})
    return rows, len(bad)
