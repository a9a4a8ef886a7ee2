"""Table 19: scenes in which an answer followed the text on the sign, chosen by a rule and not by hand."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import pandas as pd

from signpost_kit.figures.cells import rows_of
from signpost_kit.geo import haversine_km
from signpost_kit.tables_format import Column, Row, Score, Table
from signpost_kit.tables_published import users_rows, with_rows
from signpost_kit.tables_rows import number, records

if TYPE_CHECKING:
    from signpost_kit.benchmark import Benchmark, Group

__all__ = ["KNOWN_KM", "redirected_cases", "tab19"]

KNOWN_KM = 200.0
"""An answer on Blank nearer to the truth than this knew the region without the text."""
_SHOWN = ("Original", "Blank", "Adversarial")
_GRADES = (
    "Knew the region, went to the trap",
    "Went to the trap",
    "Went nearer to the trap",
)


def redirected_cases(
    scores: pd.DataFrame, *, n: int = 8, radius_km: float = 50.0, known_km: float = KNOWN_KM
) -> pd.DataFrame:
    """The most telling pairs of a model and a scene, best first.

    The rule. Candidates are the pairs of a model and a group with a trap whose Blank and Adversarial were both
    answered, and whose Adversarial answer lies nearer to the trap than the Blank one. They come in three grades:
    (1) the Blank answer lies less than `known_km` from the truth and the Adversarial one less than `radius_km` from
    the trap; (2) the latter alone; (3) neither. Within a grade the larger trap distance reduction comes first, ties
    by dataset, group and model. Each scene is taken once and each model at most ceil(n / models) times; when that
    leaves room, models are taken again.

    Parameters
    ----------
    scores
        The frame of that name: one row per model, group and variant; of several samples the first is taken.

    Returns
    -------
    grade (1, 2, 3), model, dataset, group_id, reduction_km, and for Original, Blank and Adversarial
    `<variant>_lat`, `_lon`, `_error_km`, `_trap_km` (NaN where there is no answer). No rows when nothing was drawn
    nearer.
    """
    if scores.empty or n < 1:
        return pd.DataFrame(columns=["grade", "model", "dataset", "group_id", "reduction_km"])
    wide = _side_by_side(scores)
    wide["reduction_km"] = wide["Blank_trap_km"] - wide["Adversarial_trap_km"]
    wide = pd.DataFrame(wide.loc[wide["reduction_km"] > 0, :])
    trapped = wide["Adversarial_trap_km"] < radius_km
    known = wide["Blank_error_km"] < known_km
    wide["grade"] = (3 - trapped.astype(int) - (trapped & known).astype(int)).astype(int)
    order = ["grade", "reduction_km", "dataset", "group_id", "model"]
    wide = wide.sort_values(order, ascending=[True, False, True, True, True], kind="stable", ignore_index=True)
    n_models = max(1, scores["model"].nunique())
    return wide.loc[_chosen(wide, n, math.ceil(n / n_models)), :].reset_index(drop=True)


def _side_by_side(scores: pd.DataFrame) -> pd.DataFrame:
    """One row per model and group, the variants' numbers beside each other."""
    keys = ["model", "dataset", "group_id"]
    names = ["lat", "lon", "error_km", "trap_km"]
    out: pd.DataFrame | None = None
    for variant in _SHOWN:
        mine = rows_of(scores, "variant", variant).drop_duplicates(keys)
        renamed = {f"{variant}_{name}": mine[name].astype(float) for name in names}
        mine = pd.DataFrame({key: mine[key].astype(str) for key in keys} | renamed)
        out = mine if out is None else out.merge(mine, on=keys, how="outer")
    assert out is not None
    return out


def _chosen(wide: pd.DataFrame, n: int, per_model: int) -> list[int]:
    """Positions of up to `n` rows: each scene once, models in turn as long as there are others."""
    chosen: list[int] = []
    scenes: set[tuple[str, str]] = set()
    of_model: Counter[str] = Counter()
    pairs = list(zip(wide["model"], wide["dataset"], wide["group_id"], strict=True))
    for limit in (per_model, n):
        for i, (model, dataset, group) in enumerate(pairs):
            if len(chosen) < n and (dataset, group) not in scenes and of_model[model] < limit:
                chosen.append(i)
                scenes.add((dataset, group))
                of_model[model] += 1
    return sorted(chosen)


_COLUMNS = (
    Column("text", "Text or name", text_em=12),
    Column("position", "Position", text_em=10),
    Column("to_truth", "To truth", "km", 0),
    Column("to_trap", "To trap", "km", 0),
    Column("reduction", "TDR", "km", 0),
    Column("why", "Why it is here", text_em=11),
)


def tab19(
    cases: pd.DataFrame,
    benchmark: Benchmark,
    *,
    radius_km: float = 50.0,
    known_km: float = KNOWN_KM,
    with_published: bool = False,
) -> Table:
    """Table 19, five lines a case: the truth, the answers on Original, Blank and Adversarial, and the trap.

    Parameters
    ----------
    cases
        From :func:`redirected_cases`.
    benchmark
        The run's, for truth, texts and trap.
    radius_km, known_km
        As for :func:`redirected_cases`; the note tells the rule.
    """
    groups = {group.group_id: group for group in benchmark.groups}
    rows: list[Row] = []
    for place, case in enumerate(records(cases), start=1):
        rows += _case(place, case, groups.get(str(case["group_id"])))
    note = (
        f"Chosen by rule: first answers that were less than {known_km:g} km from the truth on Blank and less than "
        f"{radius_km:g} km from the trap on Adversarial, then others at the trap, then others drawn nearer; the "
        "larger trap distance reduction (TDR) first, each scene once, models in turn. Extreme cases, not typical "
        "ones: rates are in Tables 7 and 17. Text: what the sign says on that picture."
    )
    if not rows:
        note = "No answer of this run was drawn nearer to a trap: " + _nothing(benchmark)
    table = Table("tab19", "Answers redirected by the text.", _COLUMNS, tuple(rows), label_head="Answer",
                  section_head="Case", note=note)  # fmt: skip
    return with_rows(table, users_rows("tab19")) if with_published else table


def _nothing(benchmark: Benchmark) -> str:
    if not any(group.trap for group in benchmark.groups):
        return "none of its scenes has a geocoded target."
    return "none was answered both on Blank and on Adversarial, or none moved that way."


def _case(place: int, case: dict[str, Any], group: Group | None) -> list[Row]:
    """Truth, the three answers, and the trap."""
    section = f"{place}. {case['model']}, {case['dataset']} {case['group_id']}"
    texts, truth, trap = _of_group(group)
    apart = _apart(group)
    why = _GRADES[int(case["grade"]) - 1]
    rows = [Row("truth", {"to_trap": Score(apart)}, section, ranked=False, texts=truth | {"why": why})]
    for variant in _SHOWN:
        scores = {"to_truth": Score(number(case, f"{variant}_error_km"))}
        scores["to_trap"] = Score(number(case, f"{variant}_trap_km"))
        if variant == "Adversarial":
            scores["reduction"] = Score(number(case, "reduction_km"))
        position = _point(number(case, f"{variant}_lat"), number(case, f"{variant}_lon"))
        said = {"text": texts.get(variant, ""), "position": position or "no answer"}
        rows.append(Row(f"on {variant}", scores, section, ranked=False, texts=said))
    return [*rows, Row("trap", {"to_truth": Score(apart)}, section, ranked=False, texts=trap)]


def _apart(group: Group | None) -> float:
    """Kilometres from the truth to the trap."""
    if group is None or group.trap is None:
        return math.nan
    return float(haversine_km(group.lat, group.lon, group.trap.lat, group.trap.lon))


def _of_group(group: Group | None) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """What the sign says by variant; the words of the truth's line; those of the trap's line."""
    if group is None:
        return {}, {}, {}
    span, trap = group.representative, group.trap
    place = ", ".join(part for part in (group.city, group.country) if part)
    truth = {"text": place, "position": _point(group.lat, group.lon)}
    where = {"text": trap.name or trap.query, "position": _point(trap.lat, trap.lon)} if trap else {}
    if span is None:
        return {}, truth, where
    return {"Original": span.text, "Adversarial": span.replacements.get("adversarial", "")}, truth, where


def _point(lat: float, lon: float) -> str:
    """`52.37° N, 4.90° E`; empty without a position."""
    if not (math.isfinite(lat) and math.isfinite(lon)):
        return ""
    return f"{abs(lat):.2f}° {'N' if lat >= 0 else 'S'}, {abs(lon):.2f}° {'E' if lon >= 0 else 'W'}"
