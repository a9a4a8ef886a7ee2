"""Tables of GeoVerify from judged trials: H, F, d' and c per band with intervals, confidence, calibration, ROC.

The resampling unit is the site: all trials of a site, of every model, are drawn together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.metrics.verification import (
    DECOY_BANDS,
    SIGNAL,
    Detection,
    ReadOut,
    detection_z,
    discrimination_radius,
    dprime,
    read_out,
)
from signpost_kit.stats.agreement import wilson
from signpost_kit.stats.intervals import dataset_rng, percentile_bounds

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ARMS",
    "Calibration",
    "Roc",
    "calibration",
    "false_acceptances",
    "score_claims",
    "summarise_claims",
    "verdict_roc",
]

ARMS = ("main", "mismatched", "grey")
"""The question itself, and the two controls: a picture of another continent, and a uniform grey field."""
POOLED = "pooled"
SURE = 0.8
"""Confidence from which a false acceptance counts as confident (section 6.4)."""

_NAN = float("nan")
_COLUMNS = ("model", "site", "arm", "band", "truth", "verdict")


class Calibration(NamedTuple):
    """How far stated confidence means what it says."""

    table: pd.DataFrame
    """low, high (edges of the bin), n, confidence (mean), accuracy, accuracy_low, accuracy_high (Wilson)."""
    ece: float
    """Expected calibration error: mean absolute gap of the bins, weighted by their size; NaN without answers."""
    brier: float
    """Mean squared distance of confidence to right (1) or wrong (0)."""
    overconfidence: float
    """Mean confidence minus accuracy; positive is overconfident."""
    n: int
    n_missing: int


class Roc(NamedTuple):
    """The receiver operating curve of a graded verdict."""

    false_alarm_rate: np.ndarray
    hit_rate: np.ndarray
    """From (0, 0) to (1, 1)."""
    auc: float
    """Area under it: 0.5 cannot tell; NaN with a reason when one of the two kinds of claim is absent."""
    n_signal: int
    n_noise: int
    reason: str


def score_claims(
    trials: pd.DataFrame, *, n_resamples: int = 2000, seed: int = 42, level: float = 0.95
) -> pd.DataFrame:
    """H, F, d' and c of every model and decoy band of the main arm, and of all models pooled, with intervals.

    Parameters
    ----------
    trials
        One row per judged trial: model, site, arm ("main"), band ("signal" or a decoy band), truth and verdict
        ("yes" / "no"; a missing verdict is left out and counted).

    Returns
    -------
    model, band, hits, n_signal, false_alarms, n_noise, n_missing, hit_rate, false_alarm_rate, dprime, criterion,
    each of the last four with `_low` and `_high` from a bootstrap that draws whole sites. The hits are those of the
    model, the same in all its bands; the band "all" takes all decoys together. NaN where there is no trial; bounds
    are NaN with fewer than two sites.
    """
    import pandas as pd

    rows = _checked(trials)
    rows = rows.loc[rows["arm"] == "main"]
    sites = sorted(set(rows["site"]))
    weights = _site_counts(len(sites), n_resamples, seed)
    place = {name: i for i, name in enumerate(sites)}
    models = sorted(set(rows["model"]))
    out = []
    for model in [*models, POOLED] if len(models) > 1 else models:
        mine = rows if model == POOLED else rows.loc[rows["model"] == model]
        for band in (*DECOY_BANDS, "all"):
            noise = mine["band"] != SIGNAL if band == "all" else mine["band"] == band
            sums = np.zeros((4, len(sites)))
            n_missing = 0
            for k, part in ((0, mine.loc[mine["band"] == SIGNAL]), (2, mine.loc[noise])):
                answered = part.loc[part["verdict"].isin(["yes", "no"])]
                code = answered["site"].map(place).to_numpy(dtype=np.int64)
                sums[k] = np.bincount(code, answered["verdict"].eq("yes"), minlength=len(sites))
                sums[k + 1] = np.bincount(code, minlength=len(sites))
                n_missing += len(part) - len(answered)
            out.append({"model": model, "band": band} | _cell(sums, weights, level) | {"n_missing": n_missing})
    return pd.DataFrame(out)


def summarise_claims(trials: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """One row per model of `scores` (from :func:`score_claims`): the columns of the study's Table 12.

    Returns
    -------
    model, hit_rate, false_alarm_rate, mismatched_f, grey_f, n_mismatched, n_grey, radius (missing: no band
    reaches d' = 1), criterion_nearest, criterion_farthest, fa_confidence_median, fa_confident_share, n_false,
    verdict and reason of the pre-registered read-out.
    """
    import pandas as pd

    rows = _checked(trials)
    out = []
    for model, mine in scores.groupby("model", sort=False):
        bands = mine.set_index("band")
        own = rows if model == POOLED else rows.loc[rows["model"] == model]
        controls = {arm: _accepted(own.loc[own["arm"] == arm]) for arm in ARMS[1:]}
        false = false_acceptances(own)
        main = bands.loc["all"]
        nearest, farthest = bands.loc[DECOY_BANDS[0]], bands.loc[DECOY_BANDS[-1]]
        reading: ReadOut = read_out(
            mismatched_f=controls["mismatched"][0],
            grey_f=controls["grey"][0],
            main_f=float(main["false_alarm_rate"]),
            nearest_dprime=float(nearest["dprime"]),
            farthest_dprime=float(farthest["dprime"]),
        )
        out.append(
            {
                "model": model,
                "hit_rate": main["hit_rate"],
                "false_alarm_rate": main["false_alarm_rate"],
                "mismatched_f": controls["mismatched"][0],
                "grey_f": controls["grey"][0],
                "n_mismatched": controls["mismatched"][1],
                "n_grey": controls["grey"][1],
                "radius": discrimination_radius({b: float(bands.loc[b, "dprime"]) for b in DECOY_BANDS}),
                "criterion_nearest": nearest["criterion"],
                "criterion_farthest": farthest["criterion"],
                "fa_confidence_median": false["median"],
                "fa_confident_share": false["confident_share"],
                "n_false": false["n"],
                "verdict": reading.verdict,
                "reason": reading.reason,
            }
        )
    return pd.DataFrame(out)


def false_acceptances(trials: pd.DataFrame, *, sure: float = SURE) -> dict[str, float]:
    """Confidence of false and of right acceptances in the main arm.

    Returns
    -------
    n (false acceptances), n_stated (with a confidence), median, confident_share (at or above `sure`), and
    right_median over right acceptances. NaN where there is none.
    """
    rows = _checked(trials)
    yes = rows.loc[(rows["arm"] == "main") & (rows["verdict"] == "yes")]
    truth = yes["truth"].to_numpy(dtype=object)
    given = yes["confidence"].to_numpy(dtype=float) if "confidence" in yes.columns else np.full(len(yes), _NAN)
    false, right = (given[(truth == kind) & ~np.isnan(given)] for kind in ("no", "yes"))
    return {
        "n": int((truth == "no").sum()),
        "n_stated": len(false),
        "median": float(np.median(false)) if len(false) else _NAN,
        "confident_share": float((false >= sure).mean()) if len(false) else _NAN,
        "right_median": float(np.median(right)) if len(right) else _NAN,
    }


def calibration(confidence: ArrayLike, correct: ArrayLike, *, n_bins: int = 10) -> Calibration:
    """Accuracy by stated confidence in equal bins of 0..1, the last one closed.

    Parameters
    ----------
    confidence
        (n,) 0..1, NaN where not stated.
    correct
        (n,) 1 or 0 (or bool), NaN where it cannot be judged.

    Examples
    --------
    >>> result = calibration([0.9, 0.9, 0.1, 0.1], [1, 0, 0, 0], n_bins=2)
    >>> round(result.ece, 3), result.n
    (0.25, 4)
    """
    import pandas as pd

    if n_bins < 1:
        raise ConfigError(f"n_bins must be 1 or more, got {n_bins!r}")
    stated, right = np.asarray(confidence, dtype=float), np.asarray(correct, dtype=float)
    if stated.ndim != 1 or stated.shape != right.shape:
        raise DataError(f"confidence and correctness must pair up; got shapes {stated.shape} and {right.shape}")
    keep = ~(np.isnan(stated) | np.isnan(right))
    n_missing = int((~keep).sum())
    stated, right = stated[keep], right[keep]
    if ((stated < 0) | (stated > 1)).any():
        raise DataError("a confidence lies between 0 and 1; divide per cent by 100")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    code = np.clip(np.searchsorted(edges, stated, side="right") - 1, 0, n_bins - 1)
    n, said, won = (np.bincount(code, w, minlength=n_bins) for w in (None, stated, right))
    share = wilson(won, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(n > 0, said / n, np.nan)
    table = pd.DataFrame({"low": edges[:-1], "high": edges[1:], "n": n, "confidence": mean})
    table["accuracy"], table["accuracy_low"], table["accuracy_high"] = share
    if not len(stated):
        return Calibration(table, _NAN, _NAN, _NAN, 0, n_missing)
    return Calibration(
        table,
        float(np.abs(said - won).sum() / len(stated)),
        float(((stated - right) ** 2).mean()),
        float(stated.mean() - right.mean()),
        len(stated),
        n_missing,
    )


def verdict_roc(verdict: ArrayLike, confidence: ArrayLike, truth: ArrayLike) -> Roc:
    """ROC of the graded verdict: confidence for "yes", 1 - confidence for "no".

    Rows with a missing verdict, confidence or truth are left out. Ties share one step of the curve.

    Examples
    --------
    >>> verdict_roc(["yes", "yes", "no"], [0.9, 0.6, 0.8], ["yes", "no", "no"]).auc
    1.0
    """
    said, true = np.asarray(verdict, dtype=object), np.asarray(truth, dtype=object)
    stated = np.asarray(confidence, dtype=float)
    if not said.shape == true.shape == stated.shape:
        raise DataError(
            f"verdicts, confidences and truths must pair up; got {said.shape}, {stated.shape}, {true.shape}"
        )
    keep = np.isin(said, ["yes", "no"]) & np.isin(true, ["yes", "no"]) & ~np.isnan(stated)
    graded = np.where(said[keep] == "yes", stated[keep], 1.0 - stated[keep])
    signal = true[keep] == "yes"
    n_signal, n_noise = int(signal.sum()), int((~signal).sum())
    if not n_signal or not n_noise:
        missing = "true" if not n_signal else "false"
        return Roc(np.array([]), np.array([]), _NAN, n_signal, n_noise, f"no judged {missing} claim: no curve")
    from sklearn.metrics import auc, roc_curve

    false_rate, hit_rate, _ = roc_curve(signal, graded, drop_intermediate=False)
    return Roc(false_rate, hit_rate, float(auc(false_rate, hit_rate)), n_signal, n_noise, "")


def _cell(sums: np.ndarray, weights: np.ndarray, level: float) -> dict[str, float]:
    """Point values and bounds from per-site hits, n_signal, false alarms, n_noise (4, sites)."""
    h, n_s, f, n_n = (round(v) for v in sums.sum(axis=1))
    point: Detection = dprime(h, n_s, f, n_n)
    drawn = sums @ weights
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = (
            np.where(drawn[1] > 0, drawn[0] / drawn[1], np.nan),
            np.where(drawn[3] > 0, drawn[2] / drawn[3], np.nan),
        )
    z = detection_z(*drawn)
    held = [np.count_nonzero(sums[1]), np.count_nonzero(sums[3])]
    cell: dict[str, float] = {"hits": h, "n_signal": n_s, "false_alarms": f, "n_noise": n_n}
    for name, value, draws, n_sites in (
        ("hit_rate", point.hit_rate, rates[0], held[0]),
        ("false_alarm_rate", point.false_alarm_rate, rates[1], held[1]),
        ("dprime", point.dprime, z[0], min(held)),
        ("criterion", point.criterion, z[1], min(held)),
    ):
        low, high = percentile_bounds(draws, level) if n_sites > 1 else (_NAN, _NAN)
        cell |= {name: value, f"{name}_low": float(low), f"{name}_high": float(high)}
    return cell


def _site_counts(n_sites: int, n_resamples: int, seed: int) -> np.ndarray:
    """(sites, resamples) how often each site is drawn: one set for all models and bands, so they stay paired."""
    if n_resamples < 0:
        raise ConfigError(f"n_resamples must be 0 or more, got {n_resamples!r}")
    if n_sites == 0:
        return np.zeros((0, n_resamples))
    rng = dataset_rng(seed, "sites")
    return rng.multinomial(n_sites, np.full(n_sites, 1.0 / n_sites), size=n_resamples).T.astype(float)


def _accepted(rows: pd.DataFrame) -> tuple[float, int]:
    """Share of accepted claims among the answered, and how many were answered."""
    answered = rows["verdict"].isin(["yes", "no"])
    n = int(answered.sum())
    return (float(rows["verdict"].eq("yes").sum() / n) if n else _NAN), n


def _checked(trials: pd.DataFrame) -> pd.DataFrame:
    absent = [name for name in _COLUMNS if name not in trials.columns]
    if absent:
        raise DataError(f"the trials lack the column(s) {', '.join(absent)}; they need {', '.join(_COLUMNS)}")
    for name, allowed in (
        ("arm", ARMS),
        ("band", (SIGNAL, *DECOY_BANDS)),
        ("truth", ("yes", "no")),
        ("verdict", ("yes", "no")),
    ):
        rows = trials if name != "band" else trials.loc[trials["arm"] == "main"]
        unknown = [v for v in set(rows[name].tolist()) if isinstance(v, str) and v not in allowed]
        if unknown:
            raise DataError(f"the trials have the {name} {unknown[0]!r}; allowed: {', '.join(allowed)}")
    return trials
