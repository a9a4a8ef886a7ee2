"""The paper's tables of a run, from tidy frames of scores; how they are written is in tables_format.py."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from signpost_kit.figures.cells import READING, in_order, mean_over_models, pick, rows_of, with_providers
from signpost_kit.frames import VARIANTS
from signpost_kit.tables_format import Column, Row, SavedTable, Score, Table, save_table

__all__ = ["Column", "Row", "SavedTable", "Score", "Table", "save_table", "tab01", "tab08", "tab13"]


def _score(rows: pd.DataFrame, model: str, factor: float = 1.0) -> Score:
    found = rows_of(rows, "model", model)
    if found.empty:
        return Score()
    first = found.iloc[0]
    return Score(*(float(first[c]) for c in ("value", "low", "high", "coverage"))).scaled(factor)


def _coverage(wla: pd.DataFrame, model: str) -> float:
    """Answered of all asked questions of one model, over the variants that `wla` has rows of."""
    mine = rows_of(wla, "model", model)
    asked, answered = mine["n_asked"].sum(), mine["n_answered"].sum()
    return float(answered / asked) if asked > 0 else math.nan


def _ordered(macro: pd.DataFrame, metric: str, reading: str, *, grouped: bool) -> list[tuple[str, str]]:
    """(model, provider) of every model in the frame, best `metric` first, those without one last."""
    if macro.empty:
        return []
    everyone = with_providers(macro).drop_duplicates(subset=["model"]).loc[:, ["model", "provider"]]
    values = pick(macro, metric, variant="Original" if metric == "wla" else None, reading=reading)
    merged = everyone.merge(values.drop_duplicates(["model"])[["model", "value"]], on="model", how="left")
    return list(zip(*in_order(merged, grouped=grouped), strict=True))


def _note(reading: str) -> str:
    failed = "a failed reply is left out" if reading == READING else "a failed reply scores 0"
    return f"Brackets: 95 % intervals from resampled scenes; {failed}. Bold: best, underlined: worst."


def tab01(macro: pd.DataFrame, *, reading: str = READING) -> Table:
    """Table 1, overall: WLA of the five variants, adversarial TBS, TFR, C, R and MCRS, by provider.

    `macro` is the frame of that name. A model without any score keeps its row.
    """
    wla = {v: pick(macro, "wla", variant=v, reading=reading) for v in VARIANTS}
    columns = [Column(f"wla_{v}", f"WLA {v}", "%", 1, 1) for v in VARIANTS]
    columns += [
        Column("tbs", "TBS", "km", 0, -1), Column("tfr", "TFR", "%", 1, -1), Column("c", "C", "%", 1, 1),
        Column("r", "R", "%", 1, 1), Column("mcrs", "MCRS", "", 1, 1),
    ]  # fmt: skip
    others = {
        "tbs": (pick(macro, "tbs_km", variant="Adversarial", reading=reading), 1.0),
        "tfr": (pick(macro, "tfr", reading=reading), 100.0),
        "c": (pick(macro, "capability", reading=reading), 100.0),
        "r": (pick(macro, "robustness", reading=reading), 100.0),
        "mcrs": (pick(macro, "mcrs", reading=reading), 1.0),
    }
    asked = pd.concat(list(wla.values()))
    rows = [
        Row(
            model,
            {f"wla_{v}": _score(wla[v], model, 100.0) for v in VARIANTS}
            | {key: _score(found, model, factor) for key, (found, factor) in others.items()},
            provider,
            _coverage(asked, model),
        )
        for model, provider in _ordered(macro, "wla", reading, grouped=True)
    ]
    return Table("tab01", "Overall performance, plain mean over data sets.", tuple(columns), tuple(rows),
                 section_head="Provider", note=_note(reading))  # fmt: skip


_UPPER = (("wla", "WLA (%)", 100.0), ("acc_25", "Acc@25 (%)", 100.0), ("acc_200", "Acc@200 (%)", 100.0),
          ("acc_750", "Acc@750 (%)", 100.0), ("acc_2500", "Acc@2500 (%)", 100.0),
          ("median_error_km", "Median error (km)", 1.0))  # fmt: skip


def _change(label: str, pair: Sequence[Score], section: str, coverage: float, *, ranked: bool = False) -> Row:
    """Original, Adversarial, and the change in units and in per cent of Original."""
    before, after = pair
    change = after.value - before.value
    relative = 100 * change / before.value if math.isfinite(before.value) and before.value != 0 else math.nan
    scores = {"original": before, "adversarial": after, "change": Score(change), "percent": Score(relative)}
    return Row(label, scores, section, coverage, ranked)


def tab08(cells: pd.DataFrame, macro: pd.DataFrame, *, reading: str = READING) -> Table:
    """Table 8, degradation from Original to Adversarial: means over models, then by data set, then by model.

    `cells` and `macro` are the frames of those names. Means over models have no interval: models are no sample.
    """
    rows: list[Row] = []
    n = macro["model"].nunique() if len(macro) else 0
    section = f"Mean of {n} models" if n != 1 else "The model"
    for metric, label, factor in _UPPER:
        pair = [pick(macro, metric, variant=v, reading=reading) for v in ("Original", "Adversarial")]
        if any(len(p) for p in pair):
            rows.append(_change(label, [_mean(p, factor) for p in pair], section, _share(pair)))
    cells = cells.loc[cells["dataset"] != "macro", :] if len(cells) else cells
    pair = [pick(cells, "wla", variant=v, reading=reading) for v in ("Original", "Adversarial")]
    datasets = list(dict.fromkeys(pd.concat(pair)["dataset"]))
    for dataset in datasets:
        here = [rows_of(p, "dataset", dataset) for p in pair]
        rows.append(_change(dataset, [_mean(p, 100.0) for p in here], "WLA by data set", _share(here)))
    for dataset in datasets:
        here = [rows_of(p, "dataset", dataset) for p in pair]
        for model, _ in (
            _ordered(rows_of(cells, "dataset", dataset), "wla", reading, grouped=False) if n > 1 else []
        ):
            mine = [rows_of(p, "model", model) for p in here]
            scores = [_score(p, model, 100.0) for p in mine]
            rows.append(_change(model, scores, f"WLA in {dataset}", _share(mine), ranked=len(datasets) == 1))
    columns = (Column("original", "Original"), Column("adversarial", "Adversarial"),
               Column("change", "Change", better=1, arrow=False),
               Column("percent", "Change", "%", better=1, arrow=False))  # fmt: skip
    return Table("tab08", "Degradation from Original to Adversarial pictures.", columns, tuple(rows),
                 label_head="Measure", section_head="Part", note=_note(reading))  # fmt: skip


def _mean(rows: pd.DataFrame, factor: float) -> Score:
    """Mean over models; one model alone keeps its interval."""
    if rows.empty:
        return Score()
    if len(rows["model"].unique()) == 1:
        return _score(rows, str(rows["model"].iloc[0]), factor)
    first = mean_over_models(rows).iloc[0]
    return Score(float(first["value"]), coverage=float(first["coverage"])).scaled(factor)


def _share(pair: Sequence[pd.DataFrame]) -> float:
    asked, answered = (sum(float(p[c].sum()) for p in pair) for c in ("n_asked", "n_answered"))
    return answered / asked if asked > 0 else math.nan


_PARTS = (("rho_rnd", "ρ Random", "retention", "Random"), ("rho_adv", "ρ Adversarial", "retention", "Adversarial"),
          ("q_tbs", "q TBS", "q_tbs", None), ("q_tfr", "q TFR", "q_tfr", None), ("c", "C", "capability", None),
          ("r", "R", "robustness", None))  # fmt: skip


def tab13(macro: pd.DataFrame, *, published: pd.DataFrame | None = None, reading: str = READING) -> Table:
    """Table 13, the leaderboard: components of R, then C, R and MCRS, best MCRS first.

    `published` (rank, model, mcrs, capability_pct, robustness_pct) adds the study's models as a section of its
    own with its own ranks: their scenes are other scenes. A model without MCRS comes last, without a rank.
    """
    found = {key: pick(macro, metric, variant=variant, reading=reading) for key, _, metric, variant in _PARTS}
    mcrs = pick(macro, "mcrs", reading=reading)
    asked = pd.concat([pick(macro, "wla", variant=v, reading=reading) for v in VARIANTS])
    rows = []
    for place, (model, _) in enumerate(_ordered(macro, "mcrs", reading, grouped=False), start=1):
        score = _score(mcrs, model)
        scores = {key: _score(part, model, 100.0) for key, part in found.items()} | {"mcrs": score}
        scores["rank"] = Score(float(place) if math.isfinite(score.value) else math.nan)
        rows.append(Row(model, scores, "This run", _coverage(asked, model)))
    for line in published.to_dict("records") if published is not None else []:
        numbers = {
            "rank": line["rank"],
            "c": line["capability_pct"],
            "r": line["robustness_pct"],
            "mcrs": line["mcrs"],
        }
        scores = {key: Score(float(value)) for key, value in numbers.items()}
        rows.append(Row(str(line["model"]), scores, "Published, other scenes", ranked=False))
    columns = [Column("rank", "Rank", "", 0, whole=True)]
    columns += [Column(key, head, "%", 1, 1) for key, head, *_ in _PARTS]
    columns += [Column("mcrs", "MCRS", "", 1, 1)]
    return Table("tab13", "Leaderboard by MCRS with its components.", tuple(columns), tuple(rows),
                 section_head="Source" if published is not None else "", note=_note(reading))  # fmt: skip
