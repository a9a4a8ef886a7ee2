"""The linear scores of SIGNPOST-Bench as ratios of per-group sums, ready to be summed, averaged and resampled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from signpost_kit.frames import TIERS, VARIANTS
from signpost_kit.metrics.cube import Cube
from signpost_kit.metrics.localization import wla
from signpost_kit.metrics.paper import ACC_KM

__all__ = ["ANSWERED", "AS_FAILURES", "READINGS", "Key", "MedianSeries", "Ratio", "median_series", "ratios"]

ANSWERED, AS_FAILURES = "answered_only", "as_failures"
READINGS = (ANSWERED, AS_FAILURES)
_ORIGINAL, _BLANK, _ADVERSARIAL = (VARIANTS.index(name) for name in ("Original", "Blank", "Adversarial"))
_COMPARED = tuple(VARIANTS.index(name) for name in ("Similar", "Random", "Adversarial"))


class Key(NamedTuple):
    """What a score is called in the long frames."""

    metric: str
    variant: str
    tier: str
    reading: str


class Ratio(NamedTuple):
    """A score: the sum of `numerator` over groups divided by the sum of `denominator`; arrays (model, group)."""

    key: Key
    numerator: np.ndarray
    denominator: np.ndarray
    asked: np.ndarray
    answered: np.ndarray


class MedianSeries(NamedTuple):
    """A median: one value per (model, group), NaN where there is none, infinity for a failure."""

    key: Key
    values: np.ndarray
    asked: np.ndarray
    answered: np.ndarray


def ratios(cube: Cube, *, alpha: float, tfr_radius_km: float) -> list[Ratio]:
    """Every linear score, both readings of failures.

    A score of distances (mean error, TBS, TDR, attraction rate) has no value for a failed reply, so its two
    readings are equal: over the answered pairs.
    """
    return [
        *_localization(cube, alpha),
        *_text_bias(cube),
        *_trap(cube, tfr_radius_km),
    ]


def median_series(cube: Cube) -> list[MedianSeries]:
    """Errors per variant (as failures: a failure ranks behind every answer) and TDR."""
    error = cube.distances(cube.error_km)
    out = []
    for v, variant in enumerate(VARIANTS):
        asked, answered = cube.n_asked[:, v], cube.n_answered[:, v]
        failed = np.where((asked > 0) & (answered == 0), np.inf, error[:, v])
        for reading, values in ((ANSWERED, error[:, v]), (AS_FAILURES, failed)):
            out.append(MedianSeries(Key("median_error_km", variant, "", reading), values, asked, answered))
    reduction, asked, answered = _reduction(cube)
    for reading in READINGS:
        out.append(MedianSeries(Key("tdr_km_median", "Adversarial", "", reading), reduction, asked, answered))
    return out


def _localization(cube: Cube, alpha: float) -> list[Ratio]:
    error = cube.average(cube.error_km)
    score = cube.average(np.nan_to_num(wla(cube.error_km, alpha)))
    within = {km: cube.average(cube.error_km < km) for km in ACC_KM}
    share = None if cube.single else cube.n_answered / np.maximum(cube.n_asked, 1)
    out: list[Ratio] = []
    for v, variant in enumerate(VARIANTS):
        counts, distance = (cube.n_asked[:, v], cube.n_answered[:, v]), error[:, v]
        some_asked, some_answered = counts[0] > 0, counts[1] > 0
        measures = {"wla": score[:, v]} | {f"acc_{km}": within[km][:, v] for km in ACC_KM}
        for metric, values in measures.items():
            failed = values if share is None else values * share[:, v]
            out.append(Ratio(Key(metric, variant, "", ANSWERED), values, some_answered, *counts))
            out.append(Ratio(Key(metric, variant, "", AS_FAILURES), failed, some_asked, *counts))
        for reading in READINGS:
            out.append(Ratio(Key("mean_error_km", variant, "", reading), distance, some_answered, *counts))
        if v in (_ORIGINAL, _BLANK, _ADVERSARIAL):
            for wanted in [r for r in out if r.key[:3] == ("wla", variant, "")]:
                out.extend(_by_tier(cube, wanted))
    return out


def _by_tier(cube: Cube, whole: Ratio) -> list[Ratio]:
    return [
        Ratio(whole.key._replace(tier=tier), *(part * (cube.tier == number) for part in whole[1:]))
        for number, tier in enumerate(TIERS)
    ]


def _text_bias(cube: Cube) -> list[Ratio]:
    error = cube.average(cube.error_km)
    out: list[Ratio] = []
    for v in _COMPARED:
        asked, answered = _pairs(cube, v)
        shift = np.where(answered, error[:, v] - error[:, _BLANK], 0.0)
        for reading in READINGS:
            out.append(Ratio(Key("tbs_km", VARIANTS[v], "", reading), shift, answered, asked, answered))
    return out


def _trap(cube: Cube, radius_km: float) -> list[Ratio]:
    eligible = cube.has_trap[None, :]
    trapped = cube.average(cube.trap_km < radius_km)[:, _ADVERSARIAL] * eligible
    asked, answered = (part[:, _ADVERSARIAL] * eligible for part in (cube.n_asked, cube.n_answered))
    share = 1.0 if cube.single else answered / np.maximum(asked, 1)
    out = [
        Ratio(Key("tfr", "Adversarial", "", ANSWERED), trapped, answered > 0, asked, answered),
        Ratio(Key("tfr", "Adversarial", "", AS_FAILURES), trapped * share, asked > 0, asked, answered),
    ]
    reduction, asked, answered = _reduction(cube)
    drawn, length = (reduction > 0).astype(float), np.nan_to_num(reduction)
    for reading in READINGS:
        for metric, values in (("tdr_km_mean", length), ("attraction_rate", drawn)):
            out.append(Ratio(Key(metric, "Adversarial", "", reading), values, answered, asked, answered))
    return out


def _reduction(cube: Cube) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """TDR per (model, group), NaN without a trap or an answer on either side; pairs asked; pairs answered."""
    trap = cube.distances(cube.trap_km)
    asked, answered = _pairs(cube, _ADVERSARIAL)
    return (
        trap[:, _BLANK] - trap[:, _ADVERSARIAL],
        asked & cube.has_trap[None, :],
        answered & cube.has_trap[None, :],
    )


def _pairs(cube: Cube, v: int) -> tuple[np.ndarray, np.ndarray]:
    asked = (cube.n_asked[:, v] > 0) & (cube.n_asked[:, _BLANK] > 0)
    return asked, (cube.n_answered[:, v] > 0) & (cube.n_answered[:, _BLANK] > 0)
