"""GeoVerify's tables from judged trials: per model and band, in summary, calibration, and ROC of the confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from signpost_kit.metrics.claims import calibration, score_claims, summarise_claims, verdict_roc

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["claim_tables"]


def claim_tables(trials: pd.DataFrame, *, n_resamples: int = 2000, seed: int = 42) -> dict[str, pd.DataFrame]:
    """All tables of GeoVerify.

    Returns
    -------
    dict of frames
        `claims` (:func:`score_claims`), `claims_summary` (:func:`summarise_claims`, and n, coverage), `claims_roc`
        (model, false_alarm_rate, hit_rate, auc, reason) and `claims_calibration` (model, low, high, n, confidence,
        accuracy with bounds, ece, brier, overconfidence), these two from the main arm.
    """
    import pandas as pd

    scores = score_claims(trials, n_resamples=n_resamples, seed=seed)
    every = pd.concat([trials, trials.assign(model="pooled")])
    answered = every.assign(coverage=every["status"].eq("ok").astype(float)).groupby("model")["coverage"]
    counts = pd.DataFrame({"n": answered.size(), "coverage": answered.mean()})
    summary = summarise_claims(trials, scores).set_index("model").join(counts).reset_index()
    main = trials.loc[trials["arm"] == "main"]
    curves, bins = [], []
    for model, part in main.groupby("model"):
        roc = verdict_roc(part["verdict"], part["confidence"], part["truth"])
        curve = pd.DataFrame({"false_alarm_rate": roc.false_alarm_rate, "hit_rate": roc.hit_rate})
        curves.append(curve.assign(model=model, auc=roc.auc, reason=roc.reason))
        answered = part.loc[part["verdict"].isin(["yes", "no"])]
        sure = calibration(answered["confidence"], (answered["verdict"] == answered["truth"]).to_numpy(float))
        bins.append(
            sure.table.assign(model=model, ece=sure.ece, brier=sure.brier, overconfidence=sure.overconfidence)
        )
    return {
        "claims": scores,
        "claims_summary": summary,
        "claims_roc": _joined(curves, ["model", "false_alarm_rate", "hit_rate", "auc", "reason"]),
        "claims_calibration": _joined(bins, ["model", "low", "high", "n", "confidence", "accuracy"]),
    }


def _joined(parts: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    if not parts:
        return pd.DataFrame({name: np.array([], dtype=object) for name in columns})
    out = pd.concat(parts, ignore_index=True)
    return out.loc[:, ["model", *(name for name in out.columns if name != "model")]]
