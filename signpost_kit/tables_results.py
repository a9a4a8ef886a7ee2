"""Tables 7, 11, 17 and 20-23: trap-fit rate by data set, results by tier, trap distance reduction, one data set."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import pandas as pd

from signpost_kit.figures.cells import READING, group_shares, mean_over_models, pick, rows_of
from signpost_kit.frames import TIERS, VARIANTS
from signpost_kit.tables_build import facts_of
from signpost_kit.tables_format import Column, Row, Score, Table
from signpost_kit.tables_published import users_rows, with_rows
from signpost_kit.tables_rows import (
    MEAN_LABEL,
    PUBLISHED,
    RUN,
    coverage_of,
    joined,
    ordered_models,
    said,
    score_of,
)

__all__ = ["STUDY_DATASETS", "dataset_of", "tab07", "tab11", "tab17", "tab_dataset"]

STUDY_DATASETS = ("IM2GPS3K", "YFCC4K", "GoogleSV", "BaiduSV")
"""The study's data sets in the order of its tables 20 to 23."""
_FIRST_TABLE = 20


def _counted(rows: pd.DataFrame, model: str, reading: str) -> float:
    """Answers in a rate's denominator: the answered questions, or all asked where a failure stays in."""
    mine = rows_of(rows, "model", model)
    column = "n_answered" if reading == READING else "n_asked"
    return float(mine[column].sum()) if len(mine) else math.nan


def tab07(
    cells: pd.DataFrame,
    macro: pd.DataFrame,
    *,
    radius_km: float = 50.0,
    with_published: bool = False,
    reading: str = READING,
) -> Table:
    """Table 7: TFR of every model on every data set, the plain mean, and how many answers each rate is of.

    `cells` and `macro` are the frames of those names.
    """
    by_dataset, mean = (pick(frame, "tfr", reading=reading) for frame in (cells, macro))
    by_dataset = by_dataset.loc[by_dataset["dataset"] != "macro", :]
    datasets = list(dict.fromkeys(by_dataset["dataset"]))
    columns = [Column(f"tfr_{d}", d, "%", 1, -1) for d in datasets]
    columns += [Column("macro", "Macro", "%", 1, -1), *(Column(f"n_{d}", f"n {d}", whole=True) for d in datasets)]
    columns += [Column("n", "n", whole=True)]
    rows = []
    here = {d: rows_of(by_dataset, "dataset", d) for d in datasets}
    for model, _ in ordered_models(macro, mean, ascending=True):
        scores = {f"tfr_{d}": _uncovered(score_of(here[d], model, 100.0)) for d in datasets}
        scores |= {f"n_{d}": Score(_counted(here[d], model, reading)) for d in datasets}
        scores |= {"macro": score_of(mean, model, 100.0), "n": Score(_counted(by_dataset, model, reading))}
        rows.append(Row(model, scores, RUN if with_published else "", coverage_of(rows_of(mean, "model", model))))
    if with_published:
        facts = facts_of()
        n = Score(facts.get("geocodable_groups", math.nan))
        for label, key in (("lowest of 20 models", "tfr_min"), ("highest of 20 models", "tfr_max")):
            scores = {"macro": Score(facts.get(key, math.nan)), "n": n}
            rows.append(Row(label, scores, PUBLISHED, ranked=False))
    none = by_dataset.empty or not (by_dataset["n_asked"] > 0).any()
    missing = (
        "No group of this run has a geocoded target (or none was asked about), so there is no rate." if none else ""
    )
    about = (
        f"Answers on Adversarial pictures less than {radius_km:g} km from the place on the sign, of n answers about"
    )
    note = said(f"{about} groups with such a place.", missing, reading=reading)
    table = Table("tab07", "Trap-fit rate by data set, all tiers.", tuple(columns), tuple(rows),
                  section_head="Source" if with_published else "", note=note)  # fmt: skip
    if not with_published:
        return table
    return with_rows(table, users_rows("tab07"), new_column=_share_column, before="macro")


def _uncovered(score: Score) -> Score:
    """Without its own coverage, which the column n tells."""
    return Score(score.value, score.low, score.high)


def _share_column(head: str) -> Column:
    """A column that only published rows have: a data set that the run lacks."""
    whole = head.casefold().startswith("n ")
    return Column(f"published_{head}", head.removesuffix("(%)").strip(), "" if whole else "%", 1, whole=whole)


_TIER_COLUMNS = (
    Column("groups", "Groups", whole=True),
    Column("share", "Share", "%", 1),
    *(Column(v, v, "WLA %", 1, 1) for v in ("Original", "Blank", "Adversarial")),
    Column("points", "Drop", "points", 1, -1),
    Column("percent", "Relative drop", "%", 1, -1),
)


def tab11(
    tiers: pd.DataFrame,
    groups: pd.DataFrame,
    *,
    aggregate: pd.DataFrame | None = None,
    with_published: bool = False,
    reading: str = READING,
) -> Table:
    """Table 11: WLA by tier under Original, Blank and Adversarial, and the drop; mean over models, then each model.

    Parameters
    ----------
    tiers
        The frame of that name.
    groups
        The benchmark's frame of groups, for how many each tier has.
    aggregate
        The frame of that name of the stage analysis: gives the means their intervals. None: means without.
    """
    shares = group_shares(groups)
    parts = {
        v: pick(tiers, "wla", variant=v, tier=None, reading=reading) for v in ("Original", "Blank", "Adversarial")
    }
    parts |= {
        "points": pick(tiers, "drop_points", tier=None, reading=reading),
        "percent": pick(tiers, "drop_percent", tier=None, reading=reading),
    }
    parts = {key: rows_of(frame, "dataset", "macro") for key, frame in parts.items()}
    models = [model for model, _ in ordered_models(tiers, rows_of(parts["Adversarial"], "tier", TIERS[-1]))]
    rows = []
    for tier in TIERS if models else ():
        here = {key: rows_of(frame, "tier", tier) for key, frame in parts.items()}
        scores = _mean_scores(here, aggregate, tier, reading)
        coverage = coverage_of(here["Adversarial"])
        rows.append(_tier_row(tier, scores, shares, MEAN_LABEL.format(n=len(models)), coverage))
    if len(models) > 1:
        for model in models:
            for tier in TIERS:
                here = {key: rows_of(frame, "tier", tier) for key, frame in parts.items()}
                scores = {key: score_of(frame, model, _factor(key)) for key, frame in here.items()}
                coverage = coverage_of(rows_of(here["Adversarial"], "model", model))
                rows.append(_tier_row(tier, scores, shares, model, coverage))
    elif models:
        rows = [_renamed(row, models[0]) for row in rows]
    if with_published:
        rows += _published_tiers()
    empty = [tier for tier in TIERS if tier not in shares]
    missing = f"No group of this run is {joined(empty)}." if empty and models else ""
    note = said(
        "Drop: Original less Adversarial, in points and in per cent of Original (for the mean over models: of its",
        "own Original). Plain mean over the data sets that have the tier.",
        missing,
        _about_bounds(rows),
        reading=reading,
    )
    table = Table("tab11", "Results by scene-text coupling tier.", _TIER_COLUMNS, tuple(rows), label_head="Tier",
                  section_head="Model", note=note)  # fmt: skip
    return with_rows(table, users_rows("tab11")) if with_published else table


def _factor(key: str) -> float:
    """drop_points and drop_percent are 0-100 already."""
    return 1.0 if key in ("points", "percent") else 100.0


def _tier_row(tier: str, scores: dict[str, Score], shares: dict, section: str, coverage: float) -> Row:
    n, share = shares.get(tier, (0, 0.0))
    counts = {"groups": Score(n), "share": Score(100 * share), "percent": _bounded(scores["percent"])}
    return Row(tier, scores | counts, section, coverage, ranked=False)


def _bounded(score: Score) -> Score:
    """A relative drop without bounds that say nothing: in some resamples hardly anything was left to lose."""
    return score if not score.low < -_SENSELESS else Score(score.value, coverage=score.coverage)


_SENSELESS = 1000.0


def _about_bounds(rows: Sequence[Row]) -> str:
    """A sentence where bounds were left out that another drop of the same row has."""
    hidden = [
        math.isfinite(row.scores["points"].low)
        and math.isfinite(row.scores["percent"].value)
        and not math.isfinite(row.scores["percent"].low)
        for row in rows
    ]
    return "An interval of the relative drop that reaches below −1,000 % is left out." if any(hidden) else ""


def _renamed(row: Row, section: str) -> Row:
    from dataclasses import replace

    return replace(row, section=section)


def _mean_scores(here: dict[str, pd.DataFrame], aggregate: pd.DataFrame | None, tier: str, reading: str) -> dict:
    """Means over models; with intervals from `aggregate`, or of one model alone its own."""
    n_models = {len(frame["model"].unique()) for frame in here.values() if len(frame)}
    if n_models == {1}:
        model = str(here["Adversarial"]["model"].iloc[0])
        return {key: score_of(frame, model, _factor(key)) for key, frame in here.items()}
    out = {}
    metrics = {v: ("wla", v) for v in ("Original", "Blank", "Adversarial")}
    metrics |= {"points": ("drop_points", "Adversarial"), "percent": ("drop_percent_of_means", "Adversarial")}
    for key, (metric, variant) in metrics.items():
        found = _aggregate_row(aggregate, metric, variant, tier, reading)
        if found is not None:
            out[key] = found.scaled(_factor(key))
        elif key != "percent":
            mean = mean_over_models(here[key]) if len(here[key]) else here[key]
            out[key] = Score(float(mean["value"].iloc[0])).scaled(_factor(key)) if len(mean) else Score()
    if "percent" not in out:
        before, points = out["Original"].value, out["points"].value
        out["percent"] = Score(100 * points / before if before > 0 else math.nan)
    return out


def _aggregate_row(
    aggregate: pd.DataFrame | None, metric: str, variant: str, tier: str, reading: str
) -> Score | None:
    if aggregate is None or aggregate.empty:
        return None
    rows = rows_of(aggregate, "metric", metric)
    for column, value in (("variant", variant), ("tier", tier), ("reading", reading), ("dataset", "macro")):
        rows = rows_of(rows, column, value)
    if rows.empty:
        return None
    return Score(*(float(rows.iloc[0][name]) for name in ("value", "low", "high")))


def _published_tiers() -> list[Row]:
    facts = facts_of()
    rows = []
    for tier in TIERS:
        n = facts.get(f"tier_{tier}_groups", math.nan)
        scores = {
            "groups": Score(n),
            "share": Score(100 * n / facts.get("groups", math.nan)),
            "Original": Score(facts.get(f"{tier}_wla_original", math.nan)),
            "points": Score(facts.get(f"{tier}_wla_drop", math.nan)),
            "percent": Score(facts.get(f"{tier}_relative_drop", math.nan)),
        }
        rows.append(Row(tier, scores, f"{PUBLISHED}: mean of 20 models", ranked=False))
    return rows


_REDUCTION = (
    Column("mean", "Mean TDR", "km", 0),
    Column("median", "Median TDR", "km", 0),
    Column("rate", "Attraction rate", "%", 1),
    Column("n", "Pairs", whole=True),
)
_METRICS = {"mean": ("tdr_km_mean", 1.0), "median": ("tdr_km_median", 1.0), "rate": ("attraction_rate", 100.0)}


def tab17(
    cells: pd.DataFrame,
    macro: pd.DataFrame,
    *,
    by_dataset: bool = False,
    with_published: bool = False,
    reading: str = READING,
) -> Table:
    """Table 17: how much nearer to the trap answers come from Blank to Adversarial, in pairs of the same scene.

    Parameters
    ----------
    cells, macro
        The frames of those names.
    by_dataset
        Below the means over data sets, each data set.
    """
    parts = {key: pick(macro, metric, reading=reading) for key, (metric, _) in _METRICS.items()}
    rows = _reductions(macro, parts, "All data sets" if by_dataset else RUN)
    pairs = parts["mean"]
    if by_dataset:
        each = {key: pick(cells, metric, reading=reading) for key, (metric, _) in _METRICS.items()}
        for dataset in dict.fromkeys(each["mean"]["dataset"]):
            here = {key: rows_of(frame, "dataset", dataset) for key, frame in each.items()}
            rows += _reductions(rows_of(cells, "dataset", dataset), here, str(dataset))
    if with_published:
        facts = facts_of()
        for end in ("min", "max"):
            label = f"{'lowest' if end == 'min' else 'highest'} of 20 models"
            scores = {"mean": Score(facts.get(f"tdr_model_mean_{end}", math.nan))}
            scores["rate"] = Score(facts.get(f"attraction_rate_{end}", math.nan))
            rows.append(Row(label, scores, PUBLISHED, ranked=False))
    none = pairs.empty or not (pairs["n_answered"] > 0).any()
    missing = (
        "No pair of answers about a group with a geocoded target is there, so there is no reduction."
        if none
        else ""
    )
    note = said(
        "TDR: distance to the trap on Blank less that on Adversarial; above 0 the text drew the answer nearer.",
        "Attraction rate: share of pairs above 0. A failed reply leaves the pairs in either reading.",
        missing,
        reading=None,
    )
    table = Table("tab17", "Trap distance reduction from Blank to Adversarial.", _REDUCTION, tuple(rows),
                  section_head="Data set" if by_dataset else "Source", note=note)  # fmt: skip
    return with_rows(table, users_rows("tab17")) if with_published else table


def _reductions(frame: pd.DataFrame, parts: dict[str, pd.DataFrame], section: str) -> list[Row]:
    rows = []
    for model, _ in ordered_models(frame, parts["mean"], ascending=True):
        scores = {key: score_of(parts[key], model, factor) for key, (_, factor) in _METRICS.items()}
        mine = rows_of(parts["mean"], "model", model)
        scores["n"] = Score(float(mine["n_answered"].sum()) if len(mine) else math.nan)
        rows.append(Row(model, scores, section, coverage_of(mine), ranked=False))
    return rows


def dataset_of(table: int, datasets: Sequence[str]) -> str:
    """The data set that table 20, 21, 22 or 23 is about; "" when the run has none for it.

    The study's data sets have their own tables (20 IM2GPS3K, 21 YFCC4K, 22 GoogleSV, 23 BaiduSV, however they are
    spelt); others take the free ones in the order of the run.
    """
    slots = [_FIRST_TABLE + i for i in range(len(STUDY_DATASETS))]
    named = {_plain(name): _FIRST_TABLE + i for i, name in enumerate(STUDY_DATASETS)}
    place = {named[_plain(name)]: name for name in datasets if _plain(name) in named}
    free = (slot for slot in slots if slot not in place)
    others = [name for name in datasets if _plain(name) not in named]
    return (place | dict(zip(free, others, strict=False))).get(table, "")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def tab_dataset(
    table: int,
    cells: pd.DataFrame,
    *,
    dataset: str = "",
    with_published: bool = False,
    reading: str = READING,
) -> Table:
    """Tables 20 to 23: WLA of all five variants, adversarial TBS and TFR of every model on one data set.

    Parameters
    ----------
    table
        20, 21, 22 or 23.
    cells
        The frame of that name.
    dataset
        The data set; empty: by :func:`dataset_of`.
    """
    names = [str(name) for name in dict.fromkeys(cells["dataset"]) if name != "macro"] if len(cells) else []
    chosen = dataset or dataset_of(table, names)
    here = rows_of(cells, "dataset", chosen) if chosen and len(cells) else cells.iloc[:0]
    wla = {v: pick(here, "wla", variant=v, reading=reading) for v in VARIANTS} if len(here) else {}
    columns = [Column(v, f"WLA {v}", "%", 1, 1) for v in VARIANTS]
    columns += [Column("tbs", "TBS", "km", 0, -1), Column("tfr", "TFR", "%", 1, -1)]
    rows = []
    if wla:
        tbs = pick(here, "tbs_km", variant="Adversarial", reading=reading)
        tfr = pick(here, "tfr", reading=reading)
        asked = pd.concat(list(wla.values()))
        for model, provider in ordered_models(here, wla["Original"], grouped=True):
            scores = {v: score_of(part, model, 100.0) for v, part in wla.items()}
            scores |= {"tbs": score_of(tbs, model), "tfr": score_of(tfr, model, 100.0)}
            rows.append(Row(model, scores, provider, coverage_of(rows_of(asked, "model", model))))
    note = _about_dataset(table, chosen, names, rows)
    note = said(note, "TBS and TFR: on Adversarial.", reading=reading) if rows else note
    made = Table(f"tab{table}", f"Results on {chosen}." if chosen else "Results on one data set.", tuple(columns),
                 tuple(rows), section_head="Provider", note=note)  # fmt: skip
    return with_rows(made, users_rows(f"tab{table}")) if with_published else made


def _about_dataset(table: int, chosen: str, names: Sequence[str], rows: Sequence[Row]) -> str:
    studys = STUDY_DATASETS[table - _FIRST_TABLE] if table - _FIRST_TABLE in range(len(STUDY_DATASETS)) else ""
    have = f"This run has {len(names)} data set{'' if len(names) == 1 else 's'}"
    have += f" ({joined(list(names))})" if names else ""
    if chosen and not rows:
        return f"{have}, and {chosen} is none of them."
    if not chosen:
        return f"{have}: none for table {table}, which is about {studys} in the study."
    shown = {dataset_of(_FIRST_TABLE + i, names) for i in range(len(STUDY_DATASETS))}
    left = [name for name in names if name not in shown]
    more = (
        f"{have}; without a table of their own: {joined(left)} (name one by the parameter `dataset`)."
        if left
        else ""
    )
    own = (
        ""
        if _plain(chosen) == _plain(studys)
        else f"Table {table} is about {studys} in the study; here it is {chosen}."
    )
    return f"{own} {more}".strip()
