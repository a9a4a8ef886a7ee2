"""The last lines of `signpost estimate`: how many scenes a given precision needs.

From the run's own scores when there are any, else from an assumption that is said.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.run import Run

__all__ = ["show_plan"]

_MOST_LINES = 6
_FEW = 30
_POOL = "mean_wla_adversarial"


def show_plan(run: Run, *, width: float = 5.0, difference: float = 5.0) -> str:
    """What an interval of `width` points of Adversarial WLA needs, and telling models `difference` points apart.

    Raises
    ------
    ConfigError
        A width or difference that is not above 0 and at most 100 points.
    """
    from signpost_kit.metrics.pilot import planned_pairs, planned_widths

    scores = _scores(run)
    n_models = len(run.profile.models)
    if scores is None:
        return "\n".join(_assumed(run, width, difference, n_models))
    pilot = planned_widths(scores, width=width)
    if not pilot["n_groups"].notna().any():
        told = "; ".join(sorted({str(reason) for reason in pilot["reason"]})) or "nothing was answered"
        return "\n".join(_assumed(run, width, difference, n_models, why=f"the run's scores cannot tell ({told})"))
    n_pairs = _pairs_of(max(n_models, len(pilot)))
    pairs = planned_pairs(scores, difference=difference, n_comparisons=n_pairs)
    return "\n".join([*_own_widths(pilot, width), *_own_pairs(pairs, difference, n_pairs)])


def _scores(run: Run) -> pd.DataFrame | None:
    """The scores of the profile's models on Adversarial pictures, as far as the run has any."""
    try:
        scores = run.table("scores")
    except DataError:
        return None
    wanted = scores["variant"].astype(str) == "Adversarial"
    if not run.profile.evaluation.stored_only:
        wanted &= scores["model"].isin(run.profile.models)
    return scores.loc[wanted, :] if wanted.any() else None


def _pairs_of(n_models: int) -> int:
    return max(math.comb(n_models, 2), 1)


def _own_widths(pilot: pd.DataFrame, width: float) -> list[str]:
    rows: list[Mapping[str, Any]] = pilot.to_dict("records")  # pyright: ignore[reportAssignmentType]
    known = [row for row in rows if math.isfinite(row["n_groups"])]
    n = max(int(row["n_pilot"]) for row in known)
    lines = [
        f"Scenes for a 95 % interval of {width:g} points of Adversarial WLA, from the run's scores of {n:,} scenes:"
    ]
    known.sort(key=lambda row: (-row["n_groups"], row["model"]))
    shown = known if len(known) <= _MOST_LINES else known[: _MOST_LINES - 1]
    name = max(len(str(row["model"])) for row in shown)
    for row in shown:
        now = "over 100" if row["width"] > 100 else f"{row['width']:.1f}"
        lines.append(f"  {row['model']:{name}}  WLA {row['mean']:4.1f}, interval now {now:>5}: {_scenes(row)}")
    if len(shown) < len(known):
        lines.append(f"  {len(known) - len(shown)} more models: {_scenes(known[-1])} or more")
    without = [f"{row['model']} ({row['reason']})" for row in rows if not math.isfinite(row["n_groups"])]
    if without:
        lines.append(f"  no number for {', '.join(without)}")
    return lines


def _own_pairs(pairs: pd.DataFrame, difference: float, n_pairs: int) -> list[str]:
    if pairs.empty:
        return []
    rows: list[Mapping[str, Any]] = pairs.to_dict("records")  # pyright: ignore[reportAssignmentType]
    known = sorted((row for row in rows if math.isfinite(row["n_groups"])), key=lambda row: row["n_groups"])
    head = f"Scenes to tell two models apart that differ by {difference:g} points ({_how(n_pairs)}):"
    if not known:
        return [head, f"  no number: {rows[0]['reason']}"]
    more = len(known) > 1 and known[0]["n_groups"] >= _FEW
    ends = [known[-1], known[0]] if more else [known[-1]]
    words = ["most", "fewest"] if len(known) > 1 else [""]
    lines = [head]
    for word, row in zip(words, ends, strict=False):
        pair = f"{row['model_a']} and {row['model_b']}"
        lines.append(f"  {f'{word}, ' if word else ''}{pair}: {_scenes(row)}; {_found(row)}")
    return lines


def _found(row: Mapping[str, Any]) -> str:
    return f"the present ones tell {_points(row['least'])}"


def _how(n_pairs: int) -> str:
    return "power 80 %" + (f", all {n_pairs} pairs at 5 % together" if n_pairs > 1 else ", at 5 %")


def _scenes(row: Mapping[str, Any]) -> str:
    """`650 (470–980)`: the bounds are those of the pilot's spread. No pilot can promise that a few will do."""
    if row["n_groups"] < _FEW:
        return f"under {_FEW}, if further scores are as much alike"
    return f"{row['n_groups']:,.0f} ({row['n_low']:,.0f}–{row['n_high']:,.0f})"


def _assumed(run: Run, width: float, difference: float, n_models: int, *, why: str = "") -> list[str]:
    from signpost_kit.metrics.pilot import assume
    from signpost_kit.published import published

    facts = published("signpost/aggregate_facts")
    mean = float(facts.loc[facts["quantity"] == _POOL, "value"].iloc[0])
    groups = _groups(run)
    n_pairs = _pairs_of(n_models)
    plan = assume(mean, width=width, difference=difference, n_comparisons=n_pairs, groups=groups)
    here = sum(groups)
    own, least = _here(plan, here, n_pairs)
    lines = [
        f"Scenes needed, assumed ({why or 'the run has no scores yet'}): scores of a mean like the study's, "
        f"{mean:g} points of Adversarial WLA,",
        f"spread by at most {plan.sd:.1f} between scenes; two models are taken as unrelated. Real ones need fewer.",
        f"  for a 95 % interval of {width:g} points: {plan.width.n_groups:,.0f}{own}",
    ]
    if n_models > 1:
        lines.append(
            f"  to tell two models {difference:g} points apart ({_how(n_pairs)}): "
            f"{plan.difference.n_groups:,.0f}{least}"
        )
    return lines


def _here(plan: Any, n: int, n_pairs: int) -> tuple[str, str]:
    """What the run's own scenes would give."""
    from signpost_kit.metrics.pilot import POWER
    from signpost_kit.stats.planning import difference_at, width_at

    if n < 2:
        return "", ""
    own = float(width_at(plan.width, n))
    least = float(difference_at(plan.difference, n, power=POWER, n_comparisons=n_pairs))
    return f"; this run's {n:,} give {_points(own)}", f"; this run's {n:,} tell {_points(least)}"


def _points(value: float) -> str:
    return f"{value:.1f} points" if value <= 100 else "nothing (above 100 points)"


def _groups(run: Run) -> Sequence[int]:
    """Scenes of each data set, as far as the benchmark is built."""
    try:
        groups = run.benchmark().groups
    except DataError:
        return ()
    return list(Counter(group.dataset for group in groups).values())
