"""The last stage of the second study: every table of hints and claims, with intervals, from answers and trials."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from signpost_kit.stages.common import recording

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.run import Run

__all__ = ["context_scoring"]


def context_scoring(run: Run) -> None:
    """Score the tables `answers` and `trials` of the run; a part that was not asked has no table."""
    from signpost_kit.metrics.claim_tables import claim_tables
    from signpost_kit.metrics.hint_tables import hint_tables

    options = run.profile.scoring
    draw = {"n_resamples": options.n_resamples, "seed": options.seed}
    with recording(run, "context_scoring") as record:
        answers, trials = _asked(run, "answers"), _asked(run, "trials")
        tables: dict[str, pd.DataFrame] = {}
        if answers is not None:
            tables |= hint_tables(answers, **draw)
            tables["checklist"] = _checklist(run)
        if trials is not None:
            tables |= claim_tables(trials, **draw)
        for name, frame in tables.items():
            run.save_table(name, frame)
        record.counts |= {
            "answers": 0 if answers is None else len(answers),
            "trials": 0 if trials is None else len(trials),
            "tables": len(tables),
        }


def _asked(run: Run, name: str) -> pd.DataFrame | None:
    """A table of questions with replies, missing verdicts as missing; None where nothing was asked."""
    from signpost_kit.errors import DataError
    from signpost_kit.evaluation.planned import NOT_ASKED

    try:
        frame = run.table(name)
    except DataError:
        return None
    frame = frame.loc[frame["status"] != NOT_ASKED].reset_index(drop=True)
    if "verdict" in frame:
        frame["verdict"] = frame["verdict"].where(frame["verdict"] != "", None)
    return frame if len(frame) else None


def _checklist(run: Run) -> pd.DataFrame:
    """Compliance with the evidence checklist, per model."""
    import pandas as pd

    from signpost_kit.metrics.checklist import checklist_compliance

    chains = _asked(run, "chains")
    if chains is None:
        return pd.DataFrame(columns=["model", "category", "n", "present", "not_visible", "absent"])
    parts = [
        checklist_compliance([json.loads(text) if text else None for text in part["evidence"]]).assign(model=model)
        for model, part in chains.loc[chains["status"] == "ok"].groupby("model")
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["model", "category", "n"])
