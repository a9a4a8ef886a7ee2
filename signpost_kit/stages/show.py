"""What a stage did, as small tables for a notebook; the numbers come from the stage's own record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.stages.common import load_groups

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["counts", "groups_table", "rejected", "spans_table"]


def _record(run: Run, stage: str) -> dict[str, Any]:
    record = run.stage_record(stage)
    if record is None:
        raise DataError(f"the run {run.name!r} has no sound record of the stage {stage!r}: run that stage first")
    return record


def counts(run: Run, stage: str) -> pd.DataFrame:
    """One column of numbers: how many came in, went on, were left out, and how long it took."""
    record = _record(run, stage)
    numbers = {**record["counts"], "seconds": round(record["seconds"], 1)}
    return pd.DataFrame({"count": pd.Series(numbers, dtype=object)})


def rejected(run: Run, stage: str) -> pd.DataFrame:
    """Every item that went no further, with its reason; empty when all did."""
    return pd.DataFrame(_record(run, stage)["rejected"], columns=pd.Index(["item", "reason"]))


def groups_table(run: Run, stage: str) -> pd.DataFrame:
    """One row per scene after `stage`: where it is, its tier, its trap."""
    rows = [
        {
            "dataset": group.dataset,
            "group_id": group.group_id,
            "city": group.city,
            "country": group.country,
            "lat": round(group.lat, 4),
            "lon": round(group.lon, 4),
            "tier": group.tier,
            "trap": group.trap.name if group.trap else "",
        }
        for group in load_groups(run, stage)
    ]
    return pd.DataFrame(rows)


def spans_table(run: Run, stage: str) -> pd.DataFrame:
    """One row per text after `stage`: what it says, its tier and why, and what replaces it."""
    rows = [
        {
            "group_id": group.group_id,
            "text": span.text,
            "tier": span.tier,
            "reason": span.tier_reason,
            **{kind: span.replacements.get(kind, "") for kind in ("similar", "random", "adversarial")},
        }
        for group in load_groups(run, stage)
        for span in group.spans
    ]
    return pd.DataFrame(rows)
