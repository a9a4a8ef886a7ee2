"""Tables 4, 5, 12 and 18: how far results depend on weights, components, the decay of WLA and the trap radius."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from signpost_kit.figures.cells import READING, rows_of
from signpost_kit.metrics.paper import CAPABILITY_EXPONENT, ROBUSTNESS_WEIGHTS, TFR_RADIUS_KM, WLA_ALPHA
from signpost_kit.tables_build import facts_of
from signpost_kit.tables_format import Column, Row, Score, Table
from signpost_kit.tables_published import users_rows, with_rows
from signpost_kit.tables_rows import (
    PUBLISHED,
    RUN,
    coverage_of,
    joined,
    number,
    of_reading,
    ordered_models,
    records,
    said,
    score,
    score_of,
)

__all__ = ["tab04", "tab04_ranks", "tab05", "tab05_ranks", "tab12", "tab18"]

_COMPARED = (
    Column("tau", "Kendall τ", "", 3),
    Column("rho", "Spearman ρ", "", 3),
    Column("moved", "Models moved", whole=True),
    Column("furthest", "Furthest move", "ranks", 0, whole=True),
    Column("n", "Models", whole=True),
    Column("first", "First", text_em=6),
)
_STUDY = {"rho_adv_weight": float(ROBUSTNESS_WEIGHTS["adversarial"]), "capability_exponent": CAPABILITY_EXPONENT}
_USUAL = f"{_STUDY['rho_adv_weight']:.2f} / {_STUDY['capability_exponent']:.2f}"
_COMPONENTS = {
    "none": "nothing",
    "random": "ρ Random",
    "adversarial": "ρ Adversarial",
    "tbs": "q TBS",
    "tfr": "q TFR",
}
_NO_ANALYSIS = "This run has no such analysis: run the stage analysis, with at least two models."


def tab04(
    sensitivity: pd.DataFrame, ranks: pd.DataFrame, *, with_published: bool = False, reading: str = READING
) -> Table:
    """Table 4: the ranking by MCRS under other weights and exponents, compared with the study's setting.

    Parameters
    ----------
    sensitivity, ranks
        The frames `sensitivity` and `sensitivity_ranks` of the stage analysis.
    """
    frame, compared = of_reading(sensitivity, reading), of_reading(ranks, reading)
    usual = _at(frame, _STUDY)
    rows, reasons = [], []
    for row in records(compared):
        setting = {name: number(row, name) for name in _STUDY}
        label = f"{setting['rho_adv_weight']:.2f} / {setting['capability_exponent']:.2f}"
        label += " (the study's)" if setting == _STUDY else ""
        rows.append(_compared_row(label, row, _at(frame, setting), usual))
        reasons.append(str(row.get("reason") or ""))
    rows += _lowest(rows, "mcrs_sensitivity", with_published=with_published)
    note = said(
        "Weight of ρ Adversarial in R (the others scaled) / exponent of C. Rankings are compared with that of",
        f"{_USUAL}.",
        _why(reasons, rows),
        reading=reading,
    )
    table = Table("tab04", "MCRS under other weights and exponents.", _COMPARED, tuple(rows),
                  label_head="Weight / exponent", section_head="Source", note=note)  # fmt: skip
    return with_rows(table, users_rows("tab04")) if with_published else table


def tab05(ablation: pd.DataFrame, *, with_published: bool = False, reading: str = READING) -> Table:
    """Table 5: the ranking by MCRS with one component of R left out, compared with the full formula.

    `ablation` is the frame of that name of the stage analysis.
    """
    frame = of_reading(ablation, reading)
    usual = rows_of(frame, "dropped", "none") if len(frame) else frame
    rows, reasons = [], []
    for dropped in dict.fromkeys(frame["dropped"].astype(str)) if len(frame) else ():
        mine = rows_of(frame, "dropped", dropped)
        row = records(mine.head(1))[0]
        rows.append(_compared_row(_COMPONENTS.get(str(dropped), str(dropped)), row, mine, usual))
        reasons.append(str(row.get("reason") or ""))
    rows += _lowest(rows, "mcrs_ablation", with_published=with_published)
    note = said(
        "R without one component, the other weights scaled to sum to 1.", _why(reasons, rows), reading=reading
    )
    table = Table("tab05", "MCRS with one component left out.", _COMPARED, tuple(rows), label_head="Left out",
                  section_head="Source", note=note)  # fmt: skip
    return with_rows(table, users_rows("tab05")) if with_published else table


def tab04_ranks(sensitivity: pd.DataFrame, *, reading: str = READING) -> Table:
    """Each model's rank by MCRS under every setting of table 4."""
    frame = of_reading(sensitivity, reading)
    if len(frame):
        weight, exponent = (frame[name].astype(float).map("{:.2f}".format) for name in _STUDY)
        frame = frame.assign(setting=weight + " / " + exponent)
    return _rank_table(
        frame,
        _USUAL,
        id="tab04_ranks",
        caption="Ranks by MCRS under other weights and exponents.",
        note="Heads: weight of ρ Adversarial / exponent of C.",
    )


def tab05_ranks(ablation: pd.DataFrame, *, reading: str = READING) -> Table:
    """Each model's rank by MCRS with each component left out."""
    frame = of_reading(ablation, reading)
    if len(frame):
        frame = frame.assign(setting=frame["dropped"].astype(str).map(lambda name: _COMPONENTS.get(name, name)))
    return _rank_table(
        frame,
        _COMPONENTS["none"],
        id="tab05_ranks",
        caption="Ranks by MCRS with one component left out.",
        note="Heads: what is left out.",
    )


def _rank_table(frame: pd.DataFrame, usual: str, *, id: str, caption: str, note: str) -> Table:
    """Rows of models by MCRS under `usual`, a column for each value of `setting`."""
    by = "setting"
    settings = list(dict.fromkeys(frame[by])) if len(frame) else []
    columns = [Column(name, name, whole=True) for name in settings]
    columns += [Column("best", "Best rank", whole=True), Column("worst", "Worst rank", whole=True)]
    values = rows_of(frame, by, usual).rename(columns={"mcrs": "value"}) if settings else frame
    rows = []
    for model, _ in ordered_models(frame, values):
        mine = rows_of(frame, "model", model)
        found = {str(r[by]): number(r, "rank") for r in records(mine)}
        known = [rank for rank in found.values() if math.isfinite(rank)]
        found |= {"best": min(known, default=math.nan), "worst": max(known, default=math.nan)}
        rows.append(Row(model, {key: Score(rank) for key, rank in found.items()}, ranked=False))
    note = note + " 1 is best; models of the same score share the better rank." if rows else _NO_ANALYSIS
    return Table(id, caption, tuple(columns), tuple(rows), note=note)


def _at(frame: pd.DataFrame, setting: Mapping[str, float]) -> pd.DataFrame:
    if frame.empty:
        return frame
    keep = pd.Series(True, index=frame.index)
    for name, value in setting.items():
        keep &= (frame[name].astype(float) - value).abs() < 1e-9
    return frame.loc[keep, :]


def _compared_row(label: str, row: Mapping[str, Any], here: pd.DataFrame, usual: pd.DataFrame) -> Row:
    scores = {
        "tau": score(row, "kendall_tau", bounds=("kendall_low", "kendall_high")),
        "rho": score(row, "spearman_rho", bounds=("spearman_low", "spearman_high")),
        "n": Score(number(row, "n_models")),
    }
    first = ""
    if len(here) and len(usual):
        both = here[["model", "rank"]].merge(usual[["model", "rank"]], on="model", suffixes=("", "_usual"))
        move = (both["rank"].astype(float) - both["rank_usual"].astype(float)).abs().dropna()
        if len(move):
            scores |= {"moved": Score(int((move > 0).sum())), "furthest": Score(float(move.max()))}
        first = joined([str(name) for name in here.loc[here["rank"].astype(float) == 1, "model"]])
    return Row(label, scores, RUN, ranked=False, texts={"first": first})


def _lowest(rows: Sequence[Row], fact: str, *, with_published: bool) -> list[Row]:
    """The lowest agreement of all settings, the run's and what the paper's text says of its own."""
    out = []
    found = {
        key: [r.scores[key].value for r in rows if math.isfinite(r.scores[key].value)] for key in ("tau", "rho")
    }
    if any(found.values()):
        scores = {key: Score(min(values, default=math.nan)) for key, values in found.items()}
        out.append(Row("lowest of all", scores, RUN, ranked=False))
    if with_published:
        facts = facts_of()
        scores = {"tau": Score(facts.get(f"{fact}_min_kendall", math.nan))}
        scores["rho"] = Score(facts.get(f"{fact}_min_spearman", math.nan))
        out.append(Row("lowest of all", scores, PUBLISHED, ranked=False))
    return out


def _why(reasons: Sequence[str], rows: Sequence[Row]) -> str:
    if not any(row.section == RUN for row in rows) and not reasons:
        return _NO_ANALYSIS
    told = sorted({reason for reason in reasons if reason})
    return f"A dash: {'; '.join(told)}." if told else ""


def tab12(
    alpha: pd.DataFrame,
    ranks: pd.DataFrame | None = None,
    *,
    variant: str = "Adversarial",
    own: float = WLA_ALPHA,
    with_published: bool = False,
    reading: str = READING,
) -> Table:
    """Table 12: WLA of one variant under other decays, and each model's rank under each.

    Parameters
    ----------
    alpha, ranks
        The frames `alpha` and `alpha_ranks` of the stage analysis.
    own
        The run's own decay per km, which orders the models.
    """
    frame = of_reading(alpha, reading)
    if len(frame):
        frame = rows_of(rows_of(frame, "variant", variant), "dataset", "macro")
    decays = sorted(set(frame["alpha"].astype(float))) if len(frame) else []
    at = {decay: _at(frame, {"alpha": decay}) for decay in decays}
    columns = [Column(f"wla_{decay:g}", f"α = {decay:g}", "WLA %", 1, 1) for decay in decays]
    columns += [Column(f"rank_{decay:g}", f"Rank, α = {decay:g}", whole=True) for decay in decays]
    order = ordered_models(frame, at.get(own, at[decays[0]]) if decays else frame)
    rows = []
    for model, _ in order:
        scores = {f"wla_{decay:g}": score_of(at[decay], model, 100.0) for decay in decays}
        scores |= {f"rank_{decay:g}": Score(_rank(at[decay], model)) for decay in decays}
        rows.append(Row(model, scores, RUN if with_published else "", coverage_of(rows_of(frame, "model", model))))
    told = f"WLA on {variant} pictures, plain mean over data sets; the run's own α is {own:g} per km."
    taus = [
        f"{number(r, 'kendall_tau'):.3f} at α = {number(r, 'alpha'):g}"
        for r in records(_of_variant(ranks, variant, reading))
        if math.isfinite(number(r, "kendall_tau")) and abs(number(r, "alpha") - own) > 1e-9
    ]
    kendall = f"Kendall's τ with the own order: {', '.join(taus)}." if taus else ""
    missing = "" if rows else f"No {variant} picture was scored under other decays. {_NO_ANALYSIS}"
    table = Table("tab12", f"{variant} WLA under other decays.", tuple(columns), tuple(rows),
                  section_head="Source" if with_published else "",
                  note=said(told, kendall, missing, reading=reading))  # fmt: skip
    return with_rows(table, users_rows("tab12"), new_column=_decay) if with_published else table


def _of_variant(ranks: pd.DataFrame | None, variant: str, reading: str) -> pd.DataFrame:
    if ranks is None or ranks.empty:
        return pd.DataFrame()
    return rows_of(of_reading(ranks, reading), "variant", variant)


def _rank(rows: pd.DataFrame, model: str) -> float:
    """Rank by value, 1 is the highest, ties share the better one; as printed, so that equal numbers rank equal."""
    values = {str(r["model"]): round(number(r, "value", 100.0), 6) for r in records(rows)}
    mine = values.get(model, math.nan)
    return 1.0 + sum(v > mine for v in values.values()) if math.isfinite(mine) else math.nan


def _decay(head: str) -> Column:
    return Column(head, head, "", 1)


def tab18(
    radius: pd.DataFrame,
    *,
    tier: str = "T3",
    own: float = TFR_RADIUS_KM,
    with_published: bool = False,
    reading: str = READING,
) -> Table:
    """Table 18: TFR under other radii on one tier, over all data sets and by data set.

    Parameters
    ----------
    radius
        The frame of that name of the stage analysis.
    tier
        T1, T2, T3, or "" for all groups.
    own
        The run's own radius in km, which orders the models: the most trapped first.
    """
    frame = of_reading(radius, reading)
    frame = rows_of(frame, "tier", tier) if len(frame) else frame
    radii = sorted(set(frame["radius_km"].astype(float))) if len(frame) else []
    columns = [Column("n", "Answers", whole=True)]
    columns += [Column(f"km_{km:g}", f"< {km:g} km", "%", 1, -1, arrow=False) for km in radii]
    rows = []
    places = list(dict.fromkeys(frame["dataset"].astype(str))) if len(frame) else []
    places.sort(key=lambda name: name != "macro")  # the mean first, the data sets as they come
    for place in places if len(places) != 2 else places[:1]:
        here = rows_of(frame, "dataset", place)
        at = {km: _at(here, {"radius_km": km}) for km in radii}
        for model, _ in ordered_models(here, at.get(own, at[radii[0]])):
            scores = {f"km_{km:g}": score_of(at[km], model, 100.0) for km in radii}
            mine = rows_of(at[radii[0]], "model", model)
            scores["n"] = Score(float(mine["n"].iloc[0]) if len(mine) else math.nan)
            section = "All data sets" if place == "macro" else place
            rows.append(Row(model, scores, section, coverage_of(mine), ranked=place == "macro"))
    name = tier or "all tiers"
    among = f"Groups of {name} whose adversarial text has a place; the run's own radius is {own:g} km."
    counted = any(row.scores["n"].value > 0 for row in rows)
    missing = "" if counted else f"No answer about such a group of {name} is there, so there is no rate."
    if not rows:
        missing = f"This run has no frame of radii. {_NO_ANALYSIS}"
    table = Table("tab18", f"Trap-fit rate under other radii, {name}.", tuple(columns), tuple(rows),
                  section_head="Data set", note=said(among, missing, reading=reading))  # fmt: skip
    return with_rows(table, users_rows("tab18"), new_column=_decay) if with_published else table
