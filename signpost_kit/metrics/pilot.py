"""How many scenes a study needs, from the scores of a pilot or, without one, from a stated assumption.

Everything in points of WLA (0-100) on Adversarial pictures, which spread most; intervals are 95 %. From per-scene
scores, so for means only: the interval of MCRS shrinks likewise with the root of the number of scenes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from signpost_kit.errors import ConfigError
from signpost_kit.metrics.ratios import ANSWERED
from signpost_kit.stats.planning import (
    Plan,
    assumed_for_difference,
    assumed_for_width,
    difference_at,
    groups_for_difference,
    groups_for_width,
    width_at,
)

__all__ = [
    "POWER",
    "Assumption",
    "assume",
    "planned_pairs",
    "planned_widths",
    "planning_curves",
    "uneven",
]

POWER = 0.8
"""Probability of telling two models apart that are the given difference apart."""
_ALPHA = 0.05
_WIDTH_COLUMNS = ("model", "n_pilot", "coverage", "mean", "sd", "width", "n_groups", "n_low", "n_high", "reason")
_PAIR_COLUMNS = ("model_a", "model_b", "n_pilot", "coverage", "mean", "sd", "least", *_WIDTH_COLUMNS[-4:])


class Assumption(NamedTuple):
    """Plans without a pilot, in points of WLA."""

    width: Plan
    difference: Plan
    sd: float
    """Of one model's scores between scenes: the most that its mean allows."""
    mean: float


def planned_widths(
    scores: pd.DataFrame, *, width: float = 5.0, variant: str = "Adversarial", reading: str = ANSWERED
) -> pd.DataFrame:
    """Scenes that each model needs for an interval of WLA of the whole width `width`, in points.

    Parameters
    ----------
    scores
        The frame of that name: model, dataset, group_id, variant, wla (fraction, NaN where there is no answer).
    reading
        `answered_only`, or `as_failures`: a scene without an answer scores 0.

    Returns
    -------
    model, n_pilot (scenes with a score), coverage (of the asked), mean and sd (points), width (expected of the
    pilot itself), n_groups, n_low, n_high (scenes to ask about: what is needed divided by the coverage; the bounds
    are those of the pilot's spread), reason (why there is no number). A model per row, in order of `scores`.
    """
    _check_points("width", width)
    table = _by_scene(scores, variant, reading)
    rows = []
    for model in table.columns:
        values = table[model].to_numpy(float)
        asked = _asked(scores, variant, [model])
        plan = groups_for_width(values, np.arange(len(values)), _dataset(table), width=width)
        now = float(width_at(plan, plan.n_pilot)) if not plan.reason else math.nan
        rows.append({"model": model} | _numbers(plan, asked, "width", now))
    return pd.DataFrame(rows, columns=pd.Index(_WIDTH_COLUMNS))


def planned_pairs(
    scores: pd.DataFrame,
    *,
    difference: float = 5.0,
    variant: str = "Adversarial",
    reading: str = ANSWERED,
    n_comparisons: int | None = None,
) -> pd.DataFrame:
    """Scenes needed to tell each pair of models apart that are `difference` points of WLA apart.

    Power 80 %, two-sided at 5 % over all pairs together (`n_comparisons`, None: as many as there are pairs).

    Returns
    -------
    model_a, model_b, n_pilot (scenes that both answered), coverage, mean and sd of the difference, least (the
    smallest difference that the pilot itself could find), n_groups, n_low, n_high, reason.
    """
    _check_points("difference", difference)
    table = _by_scene(scores, variant, reading)
    pairs = list(itertools.combinations(table.columns, 2))
    count = n_comparisons or max(len(pairs), 1)
    place = _dataset(table)
    rows = []
    for first, second in pairs:
        delta = (table[first] - table[second]).to_numpy(float)
        plan = groups_for_difference(
            delta, np.arange(len(delta)), place, difference=difference, power=POWER, n_comparisons=count
        )
        asked = _asked(scores, variant, [first, second])
        least = math.nan
        if not plan.reason:
            least = float(difference_at(plan, plan.n_pilot, power=POWER, n_comparisons=count))
        rows.append({"model_a": first, "model_b": second} | _numbers(plan, asked, "least", least))
    return pd.DataFrame(rows, columns=pd.Index(_PAIR_COLUMNS))


def assume(
    mean: float,
    *,
    width: float = 5.0,
    difference: float = 5.0,
    n_comparisons: int = 1,
    groups: Sequence[int] = (),
) -> Assumption:
    """Plans for models of which only a mean WLA (points) is known, or supposed.

    WLA lies between 0 and 100, so scores of mean m spread by at most sqrt(m (100 - m)); two models are taken as
    unrelated. Real ones find the same scenes hard, so that fewer scenes will do.

    Parameters
    ----------
    groups
        Scenes per data set, for what unequal data sets cost when each has the same weight; empty: one data set.
    """
    _check_points("width", width)
    _check_points("difference", difference)
    if not 0 <= mean <= 100:
        raise ConfigError(f"a mean WLA lies between 0 and 100 points, got {mean!r}")
    sd = math.sqrt(mean * (100 - mean))
    spread = sd * uneven(groups)
    return Assumption(
        assumed_for_width(spread, width=width, mean=mean),
        assumed_for_difference(
            math.sqrt(2) * spread, difference=difference, power=POWER, n_comparisons=n_comparisons
        ),
        sd,
        mean,
    )


def uneven(groups: Sequence[int]) -> float:
    """By what factor the standard error of a plain mean over data sets is above that of as many equal data sets."""
    sizes = [n for n in groups if n > 0]
    if not sizes:
        return 1.0
    return math.sqrt(sum(sizes) * sum(1 / n for n in sizes)) / len(sizes)


def planning_curves(
    widths: pd.DataFrame,
    pairs: pd.DataFrame,
    *,
    n_groups: Sequence[float] = (),
    n_comparisons: int | None = None,
) -> pd.DataFrame:
    """What the pilot's spread means for other numbers of scenes.

    Parameters
    ----------
    widths, pairs
        From :func:`planned_widths` and :func:`planned_pairs`.
    n_groups
        Numbers of scenes; empty: from 10 to 20,000.

    Returns
    -------
    kind (`width`, one line per model; `difference`, one per pair), name, n_groups, value (points). Lines without a
    plan are absent.
    """
    count = n_comparisons or max(len(pairs), 1)
    n = np.asarray(sorted(set(n_groups)) if len(n_groups) else np.geomspace(10, 20_000, 40), dtype=float)
    parts = []
    for row in widths.to_dict("records"):
        if math.isfinite(row["sd"]):
            parts.append(_curve("width", str(row["model"]), n, width_at(_plan(row["sd"]), n)))
    for row in pairs.to_dict("records"):
        if math.isfinite(row["sd"]):
            value = difference_at(_plan(row["sd"]), n, power=POWER, n_comparisons=count)
            parts.append(_curve("difference", f"{row['model_a']} – {row['model_b']}", n, value))
    names = ["kind", "name", "n_groups", "value"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=pd.Index(names))


def _curve(kind: str, name: str, n: np.ndarray, value: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"kind": kind, "name": name, "n_groups": n, "value": value})


def _plan(sd: float) -> Plan:
    return Plan(math.nan, math.nan, math.nan, sd, math.nan, 0, "")


def _by_scene(scores: pd.DataFrame, variant: str, reading: str) -> pd.DataFrame:
    """WLA in points: a row per (dataset, group_id), a column per model; several samples are averaged."""
    rows = pd.DataFrame(scores.loc[scores["variant"].astype(str) == variant, :])
    points = 100.0 * rows["wla"].astype(float)
    points = points if reading == ANSWERED else points.fillna(0.0)
    keys = [rows[name].astype(str) for name in ("dataset", "group_id", "model")]
    table = points.groupby(keys, sort=False).mean().unstack("model")
    models = [name for name in dict.fromkeys(scores["model"].astype(str)) if name in table.columns]
    return pd.DataFrame(table).reindex(columns=models)


def _dataset(table: pd.DataFrame) -> list[str]:
    return [str(name) for name in table.index.get_level_values("dataset")]


def _asked(scores: pd.DataFrame, variant: str, models: Sequence[str]) -> int:
    """Scenes that all of these models were asked about."""
    rows = scores.loc[(scores["variant"].astype(str) == variant) & scores["model"].astype(str).isin(models), :]
    n_models = pd.DataFrame(rows).groupby(["dataset", "group_id"], observed=True)["model"].nunique()
    return int((n_models == len(models)).sum())


def _numbers(plan: Plan, asked: int, name: str, now: float) -> dict[str, object]:
    coverage = plan.n_pilot / asked if asked else math.nan
    needed: dict[str, float] = dict.fromkeys(("n_groups", "n_low", "n_high"), math.nan)
    if not plan.reason and coverage > 0:
        counts = zip(needed, (plan.n_groups, plan.n_low, plan.n_high), strict=True)
        needed = {key: float(np.ceil(n / coverage - 1e-9)) for key, n in counts}
    reason = plan.reason
    if plan.n_pilot == 0:
        reason = "no answer yet"
    known: dict[str, object] = {"n_pilot": plan.n_pilot, "coverage": coverage, "mean": plan.mean, "sd": plan.sd}
    return {**known, name: now, **needed, "reason": reason}


def _check_points(name: str, value: float) -> None:
    if not 0 < value <= 100:
        raise ConfigError(f"{name} is in points of WLA, above 0 and at most 100; got {value!r}")
