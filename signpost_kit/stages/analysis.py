"""The last stage of the first study: rankings, tests, comparisons and summaries of scores that are there already.

It asks nobody. What the further tasks brought in is scored here too; a task that was not asked has no rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from signpost_kit.stages.common import Record, recording

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark import Benchmark
    from signpost_kit.run import Run

__all__ = ["TASK_TABLES", "analysis"]

TASK_TABLES: tuple[str, ...] = ("probing", "defense", "cross_task")
"""Tables of replies that the stages of the further tasks leave behind."""
_TEXT = ("model", "dataset", "group_id", "variant", "status")


def analysis(run: Run) -> None:
    """Make every frame of :func:`signpost_kit.metrics.analysis.analyse`, and the scores of the further tasks."""
    from signpost_kit.metrics.analysis import analyse
    from signpost_kit.models.providers import provider_names

    options = run.profile.scoring
    with recording(run, "analysis") as record:
        benchmark = run.benchmark()
        scores = run.table("scores")
        models = [str(name) for name in dict.fromkeys(scores["model"])]
        frames = analyse(
            _narrow(scores),
            benchmark,
            provider_of=provider_names(models),
            alpha=options.alpha,
            tfr_radius_km=options.tfr_radius_km,
            n_resamples=options.n_resamples,
            seed=options.seed,
        )
        frames |= _task_scores(run, benchmark, scores, record)
        for name, frame in frames.items():
            run.save_table(name, frame)
        record.counts |= {"models": len(models), "replies": len(scores), "tables": len(frames)}


def _task_scores(run: Run, benchmark: Benchmark, scores: pd.DataFrame, record: Record) -> dict[str, pd.DataFrame]:
    """The frame `tasks`; without a row where no task was asked, so that none of an earlier run stays."""
    from signpost_kit.metrics.tasks import task_tables

    asked = {name: frame for name in TASK_TABLES if (frame := _replies(run, name)) is not None}
    record.counts |= {f"{name}_replies": len(asked[name]) if name in asked else 0 for name in TASK_TABLES}
    groups: Any = benchmark
    if asked:
        from signpost_kit.geocoding.group_places import with_places

        groups = with_places(benchmark)
    options = run.profile.scoring
    return task_tables(
        asked,
        groups,
        scores,
        alpha=options.alpha,
        tfr_radius_km=options.tfr_radius_km,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )


def _narrow(scores: pd.DataFrame) -> pd.DataFrame:
    """The same with its text as categories, in the order in which they appear: a tenth of the memory and time."""
    import pandas as pd

    categories = {name: pd.CategoricalDtype(list(dict.fromkeys(scores[name]))) for name in _TEXT}
    return scores.astype(categories)


def _replies(run: Run, name: str) -> pd.DataFrame | None:
    """A task's replies; None where nothing was asked."""
    from signpost_kit.errors import DataError

    try:
        frame = run.table(name)
    except DataError:
        return None
    return frame if len(frame) else None
