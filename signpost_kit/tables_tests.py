"""Tables beyond the paper's: paired tests, correlations over models, probabilities of ranks, pairs of models."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from signpost_kit.figures.cells import READING, rows_of
from signpost_kit.tables_build import facts_of
from signpost_kit.tables_format import Column, Row, Score, Table
from signpost_kit.tables_published import users_rows, with_rows
from signpost_kit.tables_rows import RUN, joined, number, of_reading, ordered_models, records, said, score

__all__ = ["tab_correlations", "tab_pairs", "tab_ranks", "tab_tests"]

_LEVEL = 0.05
_FEW = "This run has no such frame: run the stage analysis."
_NAMES = {
    "wla": "WLA", "wla_original": "WLA Original", "wla_blank": "WLA Blank", "wla_adversarial": "WLA Adversarial",
    "drop_points": "WLA drop", "tbs_km": "TBS", "tbs_km_adversarial": "TBS", "tfr": "TFR", "tdr_km_mean": "TDR",
    "capability": "C", "robustness": "R", "mcrs": "MCRS",
}  # fmt: skip
_PERCENT = {"wla", "tfr", "capability", "robustness"}
_UNITS = {"drop_points": "points", "tbs_km": "km", "tdr_km_mean": "km", "mcrs": ""}


def metric_name(metric: str, variant: str = "") -> str:
    """A score as a table calls it; the variant only where the score has several."""
    name = _NAMES.get(metric, metric)
    return f"{name} {variant}" if variant and metric in ("wla", "retention") else name


def tab_tests(tests: pd.DataFrame, *, with_published: bool = False, reading: str = READING) -> Table:
    """Wilcoxon's signed-rank test of WLA Original > Adversarial for each model: pooled (the study's), by data set.

    `tests` is the frame of that name of the stage analysis.
    """
    columns = (
        Column("pairs", "Pairs", whole=True),
        Column("used", "Not tied", whole=True),
        Column("statistic", "W", "", 1),
        Column("p", "p", "", 4, is_p=True),
        Column("p_holm", "p (Holm)", "", 4, is_p=True),
        Column("biserial", "Rank-biserial", "", 3, 0),
    )
    frame = of_reading(tests, reading)
    rows, reasons = [], set()
    for dataset in dict.fromkeys(frame["dataset"].astype(str)) if len(frame) else ():
        here = rows_of(frame, "dataset", dataset)
        for model, _ in ordered_models(here, here.assign(value=here["rank_biserial"])):
            row = records(rows_of(here, "model", model))[0]
            pairs, missing = number(row, "n_pairs"), number(row, "n_missing")
            scores = {"pairs": Score(pairs), "used": Score(number(row, "n_used"))}
            scores |= {key: Score(number(row, key)) for key in ("statistic", "p", "p_holm")}
            scores["biserial"] = score(row, "rank_biserial")
            asked = pairs + (missing if math.isfinite(missing) else 0)
            section = dataset or "Pooled (the study's)"
            rows.append(Row(model, scores, section, pairs / asked if asked > 0 else math.nan, ranked=False))
            reasons.add(str(row.get("reason") or ""))
    told = said(
        "One-sided, WLA on Original above that on Adversarial, pairs of one scene, ties dropped; Holm over the",
        "models of a part. Rank-biserial: 1 when every scene loses, −1 when every scene gains. Pooled, a large",
        "data set decides. Coverage: complete pairs of those asked.",
        f"A dash: {'; '.join(sorted(reasons - {''}))}." if reasons - {""} else "",
        "" if rows else _FEW,
        reading=reading,
    )
    table = Table("tab_tests", "Does conflicting text cost accuracy?", columns, tuple(rows),
                  section_head="Data set", note=told)  # fmt: skip
    return with_rows(table, users_rows("tab_tests")) if with_published else table


def tab_correlations(correlations: pd.DataFrame, *, with_published: bool = False, reading: str = READING) -> Table:
    """Correlations over models between their scores; those that the paper's text quotes beside them.

    `correlations` is the frame of that name of the stage analysis.
    """
    kinds = {"spearman": "Spearman ρ", "kendall": "Kendall τ", "pearson": "Pearson r"}
    columns = [Column("n", "Models", whole=True), *(Column(key, head, "", 3) for key, head in kinds.items())]
    columns += [Column("p", "p (Spearman)", "", 4, is_p=True)]
    if with_published:
        columns.insert(1, Column("published", "Published ρ", "", 3))
    frame = of_reading(correlations, reading)
    facts = facts_of() if with_published else {}
    rows, reasons = [], set()
    pairs = dict.fromkeys(zip(frame["x"].astype(str), frame["y"].astype(str), strict=True)) if len(frame) else {}
    for x, y in pairs:
        mine = rows_of(rows_of(frame, "x", x), "y", y)
        scores = {str(row["kind"]): score(row) for row in records(mine)}
        spearman = next((row for row in records(mine) if row["kind"] == "spearman"), {})
        scores |= {"p": Score(number(spearman, "p")), "n": Score(number(spearman, "n"))}
        scores["published"] = Score(facts.get(str(spearman.get("quantity") or ""), math.nan))
        rows.append(
            Row(f"{metric_name(x)} and {metric_name(y)}", scores, RUN if with_published else "", ranked=False)
        )
        reasons.add(str(spearman.get("reason") or ""))
    told = said(
        "The models are the sample of p, so few of them say little; the intervals keep the models and resample the",
        "scenes.",
        f"A dash: {'; '.join(sorted(reasons - {''}))}." if reasons - {""} else "",
        "" if rows else _FEW,
        reading=reading,
    )
    table = Table("tab_correlations", "Correlations over models.", tuple(columns), tuple(rows), label_head="Scores",
                  section_head="Source" if with_published else "", note=told)  # fmt: skip
    return with_rows(table, users_rows("tab_correlations")) if with_published else table


def tab_ranks(
    ranks: pd.DataFrame, *, metrics: Sequence[str] = ("mcrs", "capability", "robustness"), reading: str = READING
) -> Table:
    """How sure each model's rank is: expected rank with its 95 % range, and the probability of first, top 3, last.

    Parameters
    ----------
    ranks
        The frame of that name of the stage analysis: model, metric, variant, rank, probability.
    metrics
        The scores that are shown, in this order, each over all variants that it has.
    """
    columns = (
        Column("expected", "Expected rank", "", 1, -1),
        Column("likely", "Likeliest rank", whole=True),
        Column("likely_p", "Its probability", "%", 0),
        Column("first", "First", "%", 0),
        Column("top3", "Top 3", "%", 0),
        Column("last", "Last", "%", 0),
    )
    frame = of_reading(ranks, reading)
    rows = []
    for metric in metrics if len(frame) else ():
        here = rows_of(frame, "metric", metric)
        for variant in dict.fromkeys(here["variant"].astype(str)) if "variant" in here.columns else ("",):
            part = rows_of(here, "variant", variant) if "variant" in here.columns else here
            made = [_ranked(str(m), rows_of(part, "model", str(m))) for m in dict.fromkeys(part["model"])]
            made.sort(key=lambda pair: (math.isnan(pair[0]), pair[0], pair[1].label))
            rows += [_in_section(row, metric_name(metric, variant)) for _, row in made]
    undefined = any(math.isnan(row.scores["expected"].value) for row in rows)
    told = said(
        "Shares of resamples of the scenes, the same for all models; brackets: from the 2.5 to the 97.5 % rank.",
        "A dash: no interval can be made (one scene, or a part of the score is missing)." if undefined else "",
        "" if rows else _FEW,
        reading=reading,
        intervals=False,
    )
    return Table("tab_ranks", "How sure the ranks are.", columns, tuple(rows), section_head="Score", note=told)


def _ranked(model: str, mine: pd.DataFrame) -> tuple[float, Row]:
    """(expected rank, row) of one model in one score."""
    found = mine.astype({"rank": float, "probability": float}).sort_values("rank")
    place, share = found["rank"].to_numpy(), found["probability"].to_numpy()
    if not len(share) or not all(math.isfinite(p) for p in share):
        return math.nan, Row(model, {"expected": Score()}, ranked=False)
    below = share.cumsum()
    # The smallest rank whose cumulated probability reaches the bound; rounding must not push it past the last.
    low, high = (float(place[min(int((below < bound - 1e-9).sum()), len(place) - 1)]) for bound in (0.025, 0.975))
    expected, top = float((place * share).sum()), int(share.argmax())
    scores = {
        "expected": Score(expected, low, high),
        "likely": Score(float(place[top])),
        "likely_p": Score(100 * float(share[top])),
        "first": Score(100 * float(share[0])),
        "top3": Score(100 * float(share[:3].sum())),
        "last": Score(100 * float(share[-1])),
    }
    return expected, Row(model, scores, ranked=False)


def _in_section(row: Row, section: str) -> Row:
    from dataclasses import replace

    return replace(row, section=section)


def tab_pairs(
    pairs: pd.DataFrame, *, metrics: Sequence[str] = ("mcrs",), model: str = "", reading: str = READING
) -> Table:
    """Two models on the same scenes: difference, interval, permutation p with Holm, and which is likelier ahead.

    Parameters
    ----------
    pairs
        The frame of that name of the stage analysis.
    metrics
        The scores that are compared, in this order.
    model
        Only pairs with this one, which is then the first of each; empty: all pairs.
    """
    columns = (
        Column("difference", "Difference", "", 2),
        Column("p", "p", "", 4, is_p=True),
        Column("p_holm", "p (Holm)", "", 4, is_p=True),
        Column("ahead", "First is higher", "%", 0),
        Column("groups", "Scenes", whole=True),
    )
    frame = of_reading(pairs, reading)
    rows, told, reasons = [], [], set()
    for metric in metrics if len(frame) else ():
        here = rows_of(frame, "metric", metric)
        for variant in dict.fromkeys(here["variant"].astype(str)) if "variant" in here.columns else ("",):
            part = records(rows_of(here, "variant", variant) if "variant" in here.columns else here)
            kept = [_turned(row, model) for row in part if not model or model in (row["model_a"], row["model_b"])]
            unit = "%" if metric in _PERCENT else _UNITS.get(metric, "")
            section = f"{metric_name(metric, variant)}{f' ({unit})' if unit else ''}"
            rows += [_pair_row(row, section, 100.0 if metric in _PERCENT else 1.0) for row in kept]
            apart = sum(number(row, "p_holm") < _LEVEL for row in kept)
            told.append(f"{section}: {apart} of {len(kept)} pairs differ at 5 % after Holm.")
            reasons |= {str(row.get("reason") or "") for row in kept}
    if len(frame) and not rows:
        known = sorted({*frame["model_a"].astype(str), *frame["model_b"].astype(str)})
        told.append(f"No pair has {model or joined(list(metrics))}; models: {joined(known)}.")
    elif not rows:
        told.append(f"There is no pair of models to compare. {_FEW}")
    note = said(
        "Difference: first less second, on the scenes that both answered, plain mean over data sets. p: two-sided,",
        "the two models' labels exchanged scene by scene; Holm over the pairs of all models, in each score.",
        "Coverage: scenes that both answered.",
        *told,
        f"Also: {'; '.join(sorted(reasons - {''}))}." if reasons - {""} else "",
        reading=reading,
    )
    return Table("tab_pairs", "Models compared on the same scenes.", columns, tuple(rows), label_head="Models",
                 section_head="Score", note=note)  # fmt: skip


def _turned(row: dict, model: str) -> dict:
    """The pair with `model` first."""
    if not model or row["model_a"] == model:
        return row
    turned = {"model_a": row["model_b"], "model_b": row["model_a"], "difference": -number(row, "difference")}
    turned |= {
        "low": -number(row, "high"),
        "high": -number(row, "low"),
        "probability": 1 - number(row, "probability"),
    }
    return row | turned


def _pair_row(row: dict, section: str, factor: float) -> Row:
    difference = Score(*(number(row, name, factor) for name in ("difference", "low", "high")))
    scores = {"difference": difference, "ahead": Score(number(row, "probability", 100.0))}
    scores |= {key: Score(number(row, key)) for key in ("p", "p_holm")} | {"groups": Score(number(row, "n_groups"))}
    label = f"{row['model_a']} – {row['model_b']}"
    return Row(label, scores, section, number(row, "coverage"), ranked=False)
