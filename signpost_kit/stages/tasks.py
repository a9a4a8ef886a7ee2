"""Asking besides the coordinates: probing, defense, and the three cross-task questions.

Each asks every model about the same scenes, drawn by seed before anything is asked, and saves one row per reply:
failed ones stay, with their status and reason, and no other scene takes their place. A task that the profile leaves
out asks nothing; its table is empty. With `evaluation.stored_only` nothing is asked at all: the tables hold the
replies that are stored, such as those of an imported release.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from signpost_kit.stages.common import Record, recording

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark import Benchmark
    from signpost_kit.evaluation import Plan
    from signpost_kit.run import Run

__all__ = [
    "COLUMNS",
    "CROSS_TASKS",
    "FIELDS",
    "cross_task",
    "defense",
    "probing",
    "replies_table",
    "tally",
    "task_plans",
]

CROSS_TASKS: tuple[str, ...] = ("consistency", "country", "language")
FIELDS: dict[str, tuple[str, ...]] = {
    "probing": (
        *("visual_evidence", "visual_region", "textual_evidence", "textual_region"),
        *("consistent", "consistency_explanation", "trusted_source", "trust_explanation"),
    ),
    "defense": ("visual", "text", "conflict", "trusted", "final"),
    "consistency": ("consistent", "confidence", "explanation"),
    "country": ("visual_country", "textual_country", "trusted_source", "final_country", "explanation"),
    "language": ("text_found", "texts", "languages"),
}
"""What a reply to each task says, as columns. consistent, conflict and text_found are "yes", "no" or ""; lists are
joined by "; "; what a reply leaves out is "", and a number that is left out is NaN."""
_NUMBERS = frozenset({"confidence"})
_ROW = ("model", "dataset", "group_id", "variant", "sample", "status", "lat", "lon", "reason")
COLUMNS: dict[str, tuple[str, ...]] = {
    "probing": (*_ROW, *FIELDS["probing"]),
    "defense": (*_ROW, *FIELDS["defense"]),
    "cross_task": ("task", *_ROW, *dict.fromkeys(name for task in CROSS_TASKS for name in FIELDS[task])),
}
"""Columns of the tables. lat, lon in degrees are NaN unless status is "ok", and always so in `cross_task`."""


def probing(run: Run) -> None:
    """Ask for both kinds of evidence apart, whether they agree, and what was trusted."""
    _stage(run, "probing", ("probing",))


def defense(run: Run) -> None:
    """Ask for the coordinates with a warning that writing may lie."""
    _stage(run, "defense", ("defense",))


def cross_task(run: Run) -> None:
    """Ask whether sights and writing agree, which country it is, and which languages can be read."""
    _stage(run, "cross_task", CROSS_TASKS)


def task_plans(run: Run, tasks: Sequence[str] = ("probing", "defense", *CROSS_TASKS)) -> dict[str, Plan]:
    """Task -> all its questions, for those tasks that the profile asks. The pictures must have been made.

    Raises
    ------
    DataError
        There is no benchmark yet, or it has no picture to ask about.
    """
    wanted = [task for task in tasks if getattr(run.profile.tasks, task) is not None]
    if not wanted:
        return {}
    benchmark = run.benchmark()
    return {task: _plan(run, benchmark, task) for task in wanted}


def _plan(run: Run, benchmark: Benchmark, task: str) -> Plan:
    from signpost_kit.evaluation import make_plan
    from signpost_kit.evaluation.sampling import draw_groups
    from signpost_kit.models.base import Decoding
    from signpost_kit.prompts import load

    sample, options = getattr(run.profile.tasks, task), run.profile.evaluation
    drawn = draw_groups(
        benchmark.groups, per_dataset=sample.per_dataset, seed=sample.seed, variants=sample.variants
    )
    return make_plan(
        benchmark,
        run.profile.models,
        prompt=load(task),
        task=task,
        variants=sample.variants,
        decoding=Decoding(options.temperature, options.max_tokens),
        groups=drawn,
    )


def _stage(run: Run, stage: str, tasks: Sequence[str]) -> None:
    import pandas as pd

    with recording(run, stage) as record:
        if run.profile.evaluation.stored_only:
            frames, costs = _stored(run, record, tasks), []
        else:
            frames, costs = _asked(run, record, tasks)
        table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
        run.save_table(stage, table.reindex(columns=list(COLUMNS[stage])))
        if costs:
            run.save_table(f"costs_{stage}", pd.DataFrame(costs))


def _asked(run: Run, record: Record, tasks: Sequence[str]) -> tuple[list[pd.DataFrame], list[dict[str, Any]]]:
    """Ask what the profile says: the replies of each task, and what each model cost."""
    from signpost_kit.models.embedded import prepare

    plans = task_plans(run, tasks)
    _count_groups(record, {task: _groups(plans.get(task)) for task in tasks})
    frames: list[pd.DataFrame] = []
    costs: list[dict[str, Any]] = []
    if plans:
        prepare(run.profile.models)
    for task, plan in plans.items():
        costs += _ask(run, record, task, plan, spent=sum(row["actual_usd"] for row in costs))
        with run.store() as store:
            replies = store.planned(plan, extra=("reason", "fields"))
        frames.append(replies_table(task, replies))
    return frames, costs


def _stored(run: Run, record: Record, tasks: Sequence[str]) -> list[pd.DataFrame]:
    """Ask nothing: the stored replies of whatever models about scenes of this benchmark."""
    import pandas as pd

    present = {group.group_id for group in run.benchmark().groups}
    frames: dict[str, pd.DataFrame] = {}
    with run.store() as store:
        for task in tasks:
            if getattr(run.profile.tasks, task) is None:
                continue
            replies = store.predictions(task, extra=("reason", "fields")).assign(sample=0)
            replies["fields"] = [json.loads(value) if value else None for value in replies["fields"]]
            frames[task] = replies_table(task, pd.DataFrame(replies[replies["group_id"].isin(present)]))
    _count_groups(record, {task: set(frames[task]["group_id"]) if task in frames else set() for task in tasks})
    rows = sum(map(len, frames.values()))
    if frames:
        ok = sum(int((frame["status"] == "ok").sum()) for frame in frames.values())
        record.counts |= {"requests": rows, "asked": 0, "reused": rows, "ok": ok}
    return [frame for frame in frames.values() if len(frame)]


def _count_groups(record: Record, groups: dict[str, set[str]]) -> None:
    record.counts["groups"] = len(set().union(*groups.values()))
    if len(groups) > 1:
        record.counts |= {f"groups {task}": len(ids) for task, ids in groups.items()}


def _groups(plan: Plan | None) -> set[str]:
    return set() if plan is None else {request.group_id for request in plan}


def _ask(run: Run, record: Record, task: str, plan: Plan, *, spent: float) -> list[dict[str, Any]]:
    """Put one task's questions as the profile says, note how it went, and return what each model cost."""
    from signpost_kit.evaluation import ask_plan

    options = run.profile.evaluation
    limit = options.max_cost_usd
    with run.store() as store:
        summary = ask_plan(
            plan,
            run.profile.models,
            store=store,
            retry=run.retry,
            timeout_s=options.timeout_s,
            concurrency=options.concurrency,
            max_cost_usd=None if limit is None else max(0.0, limit - spent),
            batch=options.batch,
        )
    counts: dict[str, int] = {
        "requests": summary.asked + summary.reused,
        "asked": summary.asked,
        "reused": summary.reused,
        "ok": summary.ok,
        **{f"status_{name}": n for name, n in sorted(summary.failures.items())},
    }
    if summary.unasked:
        counts["unasked"] = summary.unasked
    for name, n in counts.items():
        record.counts[name] = int(record.counts.get(name, 0)) + n
    record.counts["models"] = len(run.profile.models)
    for model, reason in summary.stopped.items():
        record.reject(model, f"{task}: {reason}")
    for picture in plan.missing:
        record.reject(picture.group_id, f"{task}: {picture.reason}")
    if summary.batched:
        record.reject(
            "batches", f"{task}: {summary.batched} questions are with the providers: run again to collect them"
        )
    return [{"task": task, **row} for row in summary.costs]


def replies_table(task: str, replies: pd.DataFrame) -> pd.DataFrame:
    """Replies to one task as a table with a column per field; questions without a reply are left out.

    Parameters
    ----------
    replies
        Of :meth:`signpost_kit.evaluation.ReplyStore.planned`, with `reason` and `fields`.
    """
    import pandas as pd

    from signpost_kit.evaluation.planned import NOT_ASKED

    kept = pd.DataFrame(replies[replies["status"] != NOT_ASKED]).reset_index(drop=True)
    kept = kept.astype(dict.fromkeys(("model", "dataset", "group_id", "variant", "status"), "str"))
    said = [value if isinstance(value, dict) else {} for value in kept["fields"]]
    out = kept.drop(columns="fields")
    out.insert(0, "task", task)
    for name in FIELDS[task]:
        values = [fields.get(name) for fields in said]
        if name in _NUMBERS:
            out[name] = pd.Series(
                [float("nan") if value is None else float(value) for value in values], dtype=float
            )
        else:
            out[name] = pd.Series([_words(value) for value in values], dtype="str")
    return out.fillna({"reason": ""})


def tally(replies: pd.DataFrame, field: str) -> pd.DataFrame:
    """How many replies say what in one field: a row per model and variant, a column per value.

    Replies that do not say it, failed ones included, are counted under "not said".
    """
    import pandas as pd

    from signpost_kit.frames import VARIANTS

    said = replies[field].astype("str").where(replies[field].notna() & (replies[field] != ""), "not said")
    table = pd.crosstab([replies["model"], replies["variant"]], said.rename(field))
    order = [(model, variant) for model in replies["model"].unique() for variant in VARIANTS]
    return table.reindex([pair for pair in order if pair in table.index])


def _words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return str(value)
