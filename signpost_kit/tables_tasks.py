"""Tables of the further tasks: probing and defense summed up (9) and by data set (14), cross-task by data set (15).

`tasks` is the frame of that name of the stage `analysis`; see :func:`signpost_kit.metrics.tasks.task_tables`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from signpost_kit.figures.cells import READING, in_order, pick, rows_of
from signpost_kit.tables_format import Column, Row, Score, Table
from signpost_kit.tables_published import users_rows, with_rows
from signpost_kit.tables_rows import PUBLISHED, coverage_of, said, score_of

__all__ = ["tab09", "tab14", "tab15"]

MACRO = "macro"
_QUESTIONS = {"coordinate": "Plain question", "probing": "Probing", "defense": "Defense"}
_UNTOLD = "Neither probing nor defense was asked in this run."
_UNASKED = "None of the cross-task questions was asked in this run."


class _Measure(NamedTuple):
    """One column: where its score is found."""

    column: Column
    metric: str
    variant: str = "Adversarial"
    task: str = ""
    factor: float = 100.0


def _share(
    key: str, head: str, metric: str, variant: str = "Adversarial", *, better: int = 0, task: str = ""
) -> _Measure:
    return _Measure(Column(key, head, "%", 1, better), metric, variant, task)


def _points(key: str, head: str, metric: str, variant: str = "Adversarial", *, better: int = 0) -> _Measure:
    return _Measure(Column(key, head, "points", 1, better), metric, variant, factor=1.0)


_SUMMARY = (
    _share("wla", "WLA", "wla", better=1),
    _points("change", "Change", "wla_change_points", better=1),
    _share("tfr", "TFR", "tfr", better=-1),
    _share("cda", "CDA", "cda", better=1),
    _share("false", "Said of Original", "conflict_said", "Original", better=-1),
    *(_share(f"mpr_{s}", f"Trusts {s}", f"mpr_{s}") for s in ("visual", "textual", "both", "unknown")),
    _share("rcs", "RCS", "rcs", better=1),
    _share("caa", "CAA", "caa_wla", better=1),
    _points("csg", "CSG", "csg_points", better=1),
    _points("tpg", "TPG", "tpg_points", "", better=-1),
)


def tab09(tasks: pd.DataFrame, *, with_published: bool = False, reading: str = READING) -> Table:
    """Table 9: probing and defense, plain mean over data sets, beside the plain question on the same pictures.

    Parameters
    ----------
    with_published
        Add what the paper's text says of two models, and the rows of a user's `tab09.csv`, as rows of their own.
    """
    macro = rows_of(tasks, "dataset", MACRO) if len(tasks) else tasks
    rows: list[Row] = []
    for task, name in _QUESTIONS.items():
        mine = rows_of(macro, "task", task) if len(macro) else macro
        order = _ordered(mine, reading)
        rows += [
            _row(mine, _SUMMARY, model, label=model, section=name, covered="wla", reading=reading)
            for model in order
        ]
    asked = any(row.section != _QUESTIONS["coordinate"] for row in rows)
    note = said(
        "Adversarial pictures, unless the head says otherwise. Change: WLA minus that of the plain question, by "
        "pairs. CDA: conflict said, of the replies that say yes or no; the same of Originals, where there is none. "
        "RCS: the answer lies nearer to what is said to be trusted (truth, trap). CAA: WLA where the conflict was "
        "said; CSG: that minus WLA where it was denied. TPG: TFR on Random and Adversarial minus TFR on Blank.",
        "" if asked else _UNTOLD,
        reading=reading,
    )  # fmt: skip
    table = Table("tab09", "Probing and defense, plain mean over data sets.", tuple(m.column for m in _SUMMARY),
                  tuple(rows), section_head="Question", note=note)  # fmt: skip
    return _beside(table, ("probing", "defense"), _SUMMARY) if with_published else table


def _sided(task: str, mark: str) -> tuple[_Measure, ...]:
    def side(measure: _Measure) -> _Measure:
        column = measure.column
        return measure._replace(
            column=Column(f"{column.key}_{mark}", f"{column.head} {mark}", column.unit, 1, column.better), task=task
        )

    wanted = ("wla", "tfr", "cda", "false", "mpr_visual", "mpr_textual", "rcs", "csg")
    return tuple(side(measure) for measure in _SUMMARY if measure.column.key in wanted)


_BY_DATASET = tuple(
    part for pair in zip(_sided("probing", "p"), _sided("defense", "d"), strict=True) for part in pair
)  # fmt: skip


def tab14(tasks: pd.DataFrame, *, with_published: bool = False, reading: str = READING) -> Table:
    """Table 14: probing (p) and defense (d) of every model on every data set."""
    mine = rows_of(tasks, "task", "probing", "defense") if len(tasks) else tasks
    order = _ordered(rows_of(mine, "dataset", MACRO) if len(mine) else mine, reading)
    rows = [
        _row(
            rows_of(mine, "dataset", dataset),
            _BY_DATASET,
            model,
            label=_label(dataset),
            section=model,
            covered="wla",
            reading=reading,
        )
        for model in order
        for dataset in _datasets(rows_of(mine, "model", model))
    ]
    note = said("Adversarial pictures; p: probing, d: defense. Heads as in table 9.", "" if rows else _UNTOLD,
                reading=reading)  # fmt: skip
    table = Table("tab14", "Probing and defense by data set.", tuple(m.column for m in _BY_DATASET), tuple(rows),
                  label_head="Data set", section_head="Model", note=note)  # fmt: skip
    return with_rows(table, users_rows("tab14")) if with_published else table


_CROSS = (
    _share("recall", "Conflict recall", "conflict_recall", better=1, task="consistency"),
    _share("precision", "Precision", "precision", "", better=1, task="consistency"),
    _share("f1", "F1", "f1", "", better=1, task="consistency"),
    _share("accuracy", "Accuracy", "accuracy", "", better=1, task="consistency"),
    _share("dominance", "Text dominance", "text_dominance", "", better=-1, task="country"),
    *(
        _share(f"region_{s}", f"Country as {head}", f"region_{s}", task="country")
        for s, head in (("scene", "sights"), ("text", "writing"), ("both", "both"), ("neither", "neither"))
    ),
    _share("truth", "True country", "final_truth", better=1, task="country"),
    _share("trap", "Trap's country", "final_trap", better=-1, task="country"),
    _share("found", "Text found", "text_found", "Original", better=1, task="language"),
    _share("blank", "Text found, Blank", "text_found", "Blank", better=-1, task="language"),
    _share("script", "Script named", "script_named", better=1, task="language"),
)


def tab15(tasks: pd.DataFrame, *, with_published: bool = False, reading: str = READING) -> Table:
    """Table 15: consistency, country and language of every model on every data set.

    Parameters
    ----------
    with_published
        Add what the paper's text says of two models, and the rows of a user's `tab15.csv`.
    """
    mine = rows_of(tasks, "task", "consistency", "country", "language") if len(tasks) else tasks
    macro = rows_of(mine, "dataset", MACRO) if len(mine) else mine
    order = _ordered(macro, reading, metric="accuracy", variant="")
    rows = [
        _row(
            rows_of(mine, "dataset", dataset), _CROSS, model, label=_label(dataset), section=model, reading=reading
        )
        for model in order
        for dataset in _datasets(rows_of(mine, "model", model))
    ]
    note = said(
        "Conflict recall, countries and script: Adversarial pictures; precision, F1 and accuracy: all, with Random "
        "and Adversarial in conflict; text dominance: Random and Adversarial, of the replies that name a trusted "
        "source. Countries are compared by ISO code: with what the reply takes sights and writing to suggest, with "
        "the truth, and with the trap's. Script named: a language that is written in the sign's script.",
        "" if rows else _UNASKED,
        reading=reading,
    )  # fmt: skip
    table = Table("tab15", "Cross-task questions by data set.", tuple(m.column for m in _CROSS), tuple(rows),
                  label_head="Data set", section_head="Model", note=note)  # fmt: skip
    return _beside(table, ("consistency", "country"), _CROSS, by_model=True) if with_published else table


def _ordered(macro: pd.DataFrame, reading: str, *, metric: str = "wla", variant: str = "Adversarial") -> list[str]:
    """Every model of the rows, best `metric` first."""
    if macro.empty:
        return []
    values = (
        pick(macro, metric, variant=variant, reading=reading).drop_duplicates("model").loc[:, ["model", "value"]]
    )
    everyone = macro.loc[:, ["model"]].astype(str).drop_duplicates()
    return in_order(everyone.merge(values, on="model", how="left"), grouped=False)[0]


def _datasets(rows: pd.DataFrame) -> list[str]:
    """The data sets, and their mean last where there are several."""
    names = [name for name in dict.fromkeys(rows["dataset"].astype(str)) if name != MACRO]
    return [*names, MACRO] if len(names) != 1 else names


def _label(dataset: str) -> str:
    return "Mean" if dataset == MACRO else dataset


def _row(
    rows: pd.DataFrame,
    measures: Sequence[_Measure],
    model: str,
    *,
    label: str,
    section: str,
    reading: str,
    covered: str = "",
) -> Row:
    """One line; its coverage is that of the score `covered`, or of all columns that are about every reply."""
    mine = rows_of(rows, "model", model) if len(rows) else rows
    scores: dict[str, Score] = {}
    for column, metric, variant, task, factor in measures:
        here = rows_of(mine, "task", task) if task and len(mine) else mine
        if len(here):
            scores[column.key] = score_of(pick(here, metric, variant=variant, reading=reading), model, factor)
    counted = pick(mine, covered, variant="Adversarial", reading=reading) if covered and len(mine) else mine
    if not covered and len(mine):
        counted = pd.concat([pick(mine, m, variant=v, reading=reading) for m, v in _WHOLE])
    return Row(label, scores, section, coverage_of(counted))


_WHOLE = (("accuracy", ""), ("text_dominance", ""), ("text_found", "Original"))
"""Scores about (nearly) every reply to the three cross-task questions."""


def _beside(table: Table, tasks: Sequence[str], measures: Sequence[_Measure], *, by_model: bool = False) -> Table:
    """The table with published rows below: what the paper's text says, then a user's CSV."""
    from signpost_kit.published_frames import published_frames

    theirs = published_frames()["tasks"]
    rows: list[Row] = []
    for model in dict.fromkeys(theirs["model"].astype(str)):
        mine = rows_of(theirs, "model", model)
        for name, part in [("", tasks)] if by_model else [(_QUESTIONS[task], (task,)) for task in tasks]:
            found = rows_of(mine, "task", *part)
            scores = {m.column.key: _published(found, m) for m in measures}
            if any(pd.notna(score.value) for score in scores.values()):
                label = model if by_model else f"{model}, {name.lower()}"
                rows.append(Row(label, scores, PUBLISHED, ranked=False))
    return with_rows(replace(table, rows=(*table.rows, *rows)), users_rows(table.id))


def _published(rows: pd.DataFrame, measure: _Measure) -> Score:
    """A published score; the text does not always say of which pictures, so the variant is not asked for."""
    found = rows_of(rows, "metric", measure.metric) if len(rows) else rows
    if measure.task and len(found):
        found = rows_of(found, "task", measure.task)
    return Score(float(found["value"].iloc[0])).scaled(measure.factor) if len(found) else Score()
