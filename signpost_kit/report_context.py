"""What a run of the second study found, in sentences made from its tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import DataError
from signpost_kit.metrics.verification import DECOY_BANDS

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.run import Run

__all__ = ["context_facts", "context_headline", "context_sentences"]


def context_sentences(run: Run) -> list[str]:
    """One sentence per model on hints and one on claims; [] where nothing was asked."""
    hints = [
        _hint_sentence(row, _table(run, "hint_slope"))
        for row in _rows(_table(run, "hint_models"))
        if row["model"] != "all"
    ]
    claims = [
        _claim_sentence(row, _table(run, "claims"))
        for row in _rows(_table(run, "claims_summary"))
        if row["model"] != "pooled"
    ]
    return [sentence for sentence in (*hints, *claims) if sentence]


def context_headline(run: Run) -> str:
    """The main result of the second study in one line; empty without one."""
    models, claims = _table(run, "hint_models"), _table(run, "claims")
    parts = []
    pooled = (
        models.loc[models["model"] == ("all" if "all" in set(models["model"]) else models["model"].iloc[0])]
        if len(models)
        else models
    )
    if len(pooled) and math.isfinite(float(pooled["echo"].iloc[0])):
        parts.append(f"answers name the place of a hint {pooled['echo'].iloc[0]:.0%} of the time")
    near = claims.loc[claims["band"] == DECOY_BANDS[0]] if len(claims) else claims
    near = near.loc[near["model"] != "pooled"].dropna(subset=["dprime"]) if len(near) else near
    if len(near):
        able = int((near["dprime"] >= 1).sum())
        parts.append(f"{able} of {len(near)} models tell a true claim from one a street away (d′ of 1 or more)")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + "." if text else ""


def context_facts(run: Run) -> list[dict[str, str]]:
    """Counts for the head of the page."""
    answers, trials = _table(run, "answers"), _table(run, "trials")
    facts = []
    if len(answers):
        facts += [
            {"value": f"{len(answers):,}", "label": "answers with and without hints"},
            {"value": str(answers["site"].nunique()), "label": "sites"},
        ]
    if len(trials):
        facts.append({"value": f"{len(trials):,}", "label": "verdicts on claims"})
    return facts


def _table(run: Run, name: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return run.table(name)
    except DataError:
        return pd.DataFrame()


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]


def _hint_sentence(row: dict[str, Any], slopes: pd.DataFrame) -> str:
    if not math.isfinite(row["hit"]):
        return ""
    said = f"{row['model']}: {_share(row, 'hit')} of its answers with a hint lie within 1 km"
    if math.isfinite(row["no_context"]):
        said += f", {_share(row, 'no_context')} without one"
    if math.isfinite(row["echo"]):
        said += f"; {_share(row, 'echo')} name the hint's place"
    mine = (
        slopes.loc[(slopes["subset"] == row["model"]) & ~slopes["fine_only"].astype(bool)]
        if len(slopes)
        else slopes
    )
    if len(mine) and math.isfinite(float(mine["share"].iloc[0])):
        share = f"{float(mine['share'].iloc[0]):.0%}".replace("-", "−")
        said += f"; its error grows {share} of the way to always answering the hint"
    return said + "."


def _claim_sentence(row: dict[str, Any], claims: pd.DataFrame) -> str:
    bands = claims.loc[claims["model"] == row["model"]].set_index("band") if len(claims) else claims
    if not len(bands) or not math.isfinite(float(bands.loc["all", "hit_rate"])):
        return ""
    accepted = [f"{float(bands.loc['all', 'hit_rate']):.0%} of true claims"]
    if math.isfinite(float(bands.loc["all", "false_alarm_rate"])):
        accepted.append(f"{float(bands.loc['all', 'false_alarm_rate']):.0%} of false ones")
    radius = row.get("radius")
    tells = "tells decoys apart at no distance"
    if isinstance(radius, str) and radius:
        tells = f"first tells decoys apart at {radius.replace('km', ' km').replace('-', '–')}"
    said = f"{row['model']}: accepts {' and '.join(accepted)}; it {tells}"
    return f"{said}; pre-registered reading: {row['verdict']}."


def _share(row: dict[str, Any], name: str) -> str:
    text = f"{row[name]:.0%}"
    low, high = row.get(f"{name}_low", math.nan), row.get(f"{name}_high", math.nan)
    return f"{text} [{low:.0%}, {high:.0%}]" if math.isfinite(low) and math.isfinite(high) else text
