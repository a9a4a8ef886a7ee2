"""How far judges agree, and what the ratings of edited pictures amount to."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.frames import TIERS
from signpost_kit.stats import cohen_kappa, wilson

__all__ = ["READABILITY", "SCALES", "edit_summary", "tier_agreement"]

SCALES: tuple[str, ...] = ("naturalness", "artefacts", "context_damage")
"""1 to 5. Naturalness: 5 is best; the other two: 1 (none) is best."""
READABILITY: tuple[str, ...] = ("full", "partial", "none")
_PAIRS = (
    ("annotator1_tier", "annotator2_tier", "annotator 1 × 2"),
    ("annotator1_tier", "tier_auto", "annotator 1 × automatic"),
    ("annotator2_tier", "tier_auto", "annotator 2 × automatic"),
)
_NAN = math.nan


def tier_agreement(
    annotations: pd.DataFrame, *, n_resamples: int = 2000, seed: int = 42, level: float = 0.95
) -> pd.DataFrame:
    """Per cent agreement and unweighted Cohen's kappa, annotator 1 x 2 and each x automatic.

    Parameters
    ----------
    annotations
        One row per picture: annotator1_tier, annotator2_tier, tier_auto; "" or missing is left out of its pairs.
    n_resamples, seed
        Of the bootstrap. Pictures are resampled within their automatic tier, as they were drawn.

    Returns
    -------
    DataFrame
        pair, n, n_missing, agreement, agreement_low, agreement_high (0..1), kappa, kappa_low, kappa_high, reason.
        A pair without pictures, or with one label only, has NaN and the reason.

    Raises
    ------
    DataError
        A column is missing or a tier has an unknown name.
    """
    columns = ["annotator1_tier", "annotator2_tier", "tier_auto"]
    if missing := [name for name in columns if name not in annotations.columns]:
        raise DataError(f"the annotations lack the column(s) {', '.join(missing)}; needed are {', '.join(columns)}")
    cells = [[str(cell).strip() for cell in annotations[name].fillna("")] for name in columns]
    labels = pd.DataFrame(dict(zip(columns, cells, strict=True)))
    for name in columns:
        unknown = sorted(set(labels[name]) - {"", *TIERS})
        if unknown:
            raise DataError(f"the column {name} holds {unknown[0]!r}; tiers are {', '.join(TIERS)}")
    return pd.DataFrame([_pair(labels, *pair, n_resamples=n_resamples, seed=seed, level=level) for pair in _PAIRS])


def _pair(
    labels: pd.DataFrame, first: str, second: str, name: str, *, n_resamples: int, seed: int, level: float
) -> dict[str, object]:
    both = pd.DataFrame(labels[(labels[first] != "") & (labels[second] != "")])
    judged = cohen_kappa(list(both[first]), list(both[second]), order=list(TIERS))
    share = kappa = (_NAN, _NAN)
    if len(both):
        tails = [(1 - level) / 2, (1 + level) / 2]
        share, kappa = (_bounds(draws, tails) for draws in _resampled(both, first, second, n_resamples, seed))
    return {
        "pair": name,
        "n": len(both),
        "n_missing": len(labels) - len(both),
        "agreement": judged.agreement,
        "agreement_low": share[0],
        "agreement_high": share[1],
        "kappa": judged.kappa,
        "kappa_low": kappa[0],
        "kappa_high": kappa[1],
        "reason": judged.reason,
    }


def _bounds(draws: np.ndarray, tails: list[float]) -> tuple[float, float]:
    known = draws[np.isfinite(draws)]
    if not len(known):
        return _NAN, _NAN
    low, high = np.quantile(known, tails)
    return float(low), float(high)


def _resampled(
    both: pd.DataFrame, first: str, second: str, n_resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Agreement and kappa of every resample; resampling pictures is drawing counts of label pairs."""
    rng = np.random.default_rng(seed)
    k = len(TIERS)
    codes = np.array([TIERS.index(a) * k + TIERS.index(b) for a, b in zip(both[first], both[second], strict=True)])
    total = np.zeros((n_resamples, k * k))
    for _, rows in both.reset_index(drop=True).groupby("tier_auto", sort=True).groups.items():
        counts = np.bincount(codes[np.asarray(rows)], minlength=k * k)
        total += rng.multinomial(int(counts.sum()), counts / counts.sum(), size=n_resamples)
    tables = total.reshape(-1, k, k) / len(both)
    observed = np.trace(tables, axis1=1, axis2=2)
    expected = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = np.where(expected < 1, (observed - expected) / (1 - expected), _NAN)
    return observed, kappa


def edit_summary(
    ratings: pd.DataFrame, *, n_resamples: int = 2000, seed: int = 42, level: float = 0.95
) -> pd.DataFrame:
    """Mean and sample SD of the three scales, and shares of readability, over all completed ratings.

    Parameters
    ----------
    ratings
        naturalness, artefacts, context_damage (1..5), readability (full, partial, none); missing ones are left out.

    Returns
    -------
    DataFrame
        measure, kind ("mean" or "share"), n, n_missing, value, sd, low, high. The mean's interval is from a
        bootstrap of pictures, a share's is Wilson's. n = 0 gives NaN, n = 1 no SD.
    """
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for scale in SCALES:
        numbers = np.array([float(cell) if cell not in ("", None) else _NAN for cell in ratings[scale]])
        known = numbers[np.isfinite(numbers)]
        n = len(known)
        low = high = _NAN
        if n > 1:
            means = known[rng.integers(0, n, size=(n_resamples, n))].mean(axis=1)
            low, high = (float(v) for v in np.quantile(means, [(1 - level) / 2, (1 + level) / 2]))
        rows.append(
            {
                "measure": scale,
                "kind": "mean",
                "n": n,
                "n_missing": len(numbers) - n,
                "value": float(known.mean()) if n else _NAN,
                "sd": float(known.std(ddof=1)) if n > 1 else _NAN,
                "low": low,
                "high": high,
            }
        )
    read = ratings["readability"].fillna("").astype(str)
    n = int((read != "").sum())
    for grade in READABILITY:
        share = wilson(int((read == grade).sum()), n, level=level)
        rows.append(
            {
                "measure": f"readability {grade}",
                "kind": "share",
                "n": n,
                "n_missing": len(read) - n,
                "value": share.estimate,
                "sd": _NAN,
                "low": share.low,
                "high": share.high,
            }
        )
    return pd.DataFrame(rows)
