"""The last two stages: ask every model about every picture, and score the replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.stages.common import recording

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["evaluation", "scoring"]


def evaluation(run: Run) -> None:
    """Ask every model about every variant; replies that the store already holds are not asked again."""
    from signpost_kit.evaluation import evaluate
    from signpost_kit.models.base import Decoding
    from signpost_kit.models.embedded import prepare

    options, models = run.profile.evaluation, run.profile.models
    if options.stored_only:
        _take_stock(run)
        return
    prepare(models)
    with recording(run, "evaluation") as record, run.store() as store:
        summary = evaluate(
            run.benchmark(),
            models,
            task=options.task,
            store=store,
            variants=options.variants,
            samples=options.samples,
            decoding=Decoding(options.temperature, options.max_tokens),
            timeout_s=options.timeout_s,
            concurrency=options.concurrency,
            retry=run.retry,
            max_cost_usd=options.max_cost_usd,
            batch=options.batch,
        )
        record.counts |= {
            "models": len(models),
            "requests": summary.asked + summary.reused,
            "asked": summary.asked,
            "reused": summary.reused,
            "ok": summary.ok,
        }
        record.counts |= {f"status_{name}": n for name, n in sorted(summary.failures.items())}
        for model, reason in summary.stopped.items():
            record.reject(model, reason)
        if summary.batched:
            record.reject(
                "batches", f"{summary.batched} questions are with the providers: run again to collect them"
            )
        run.save_table("coverage", store.coverage())
        if summary.costs:
            run.save_table("costs", pd.DataFrame(list(summary.costs)))


def _take_stock(run: Run) -> None:
    """Ask nothing: note what the store holds."""
    with recording(run, "evaluation") as record, run.store() as store:
        replies = store.predictions(run.profile.evaluation.task)
        if replies.empty:
            raise DataError(
                f"the run {run.name!r} holds no replies and may ask nothing (evaluation.stored_only): import "
                "some with `signpost import`, or set evaluation.stored_only to false"
            )
        statuses = replies["status"].astype(str).value_counts()
        record.counts |= {"models": int(replies["model"].nunique()), "requests": len(replies), "asked": 0}
        record.counts |= {"reused": len(replies), "ok": int(statuses.get("ok", 0))}
        record.counts |= {f"status_{name}": int(n) for name, n in statuses.items() if name != "ok"}
        run.save_table("coverage", store.coverage())


def scoring(run: Run) -> None:
    """Score the replies: every number with its coverage, both readings of failures, and an interval."""
    from signpost_kit.metrics import score_signpost

    options = run.profile.scoring
    benchmark = run.benchmark()
    with recording(run, "scoring") as record, run.store() as store:
        sample = None if run.profile.evaluation.samples > 1 else 0
        asked = run.profile.evaluation
        models = None if asked.stored_only else run.profile.models
        predictions = store.predictions(asked.task, sample, models=models)
        predictions = _current(predictions, benchmark.to_frame())
        frames = score_signpost(
            predictions,
            benchmark,
            alpha=options.alpha,
            tfr_radius_km=options.tfr_radius_km,
            n_resamples=options.n_resamples,
            seed=options.seed,
        )
        for name, frame in frames.items():
            run.save_table(name, frame)
        record.counts |= {"replies": len(predictions), "answered": int((predictions["status"] == "ok").sum())}
        record.counts["models"] = int(predictions["model"].nunique())


def _current(predictions: pd.DataFrame, groups: pd.DataFrame) -> pd.DataFrame:
    """Only the groups of this benchmark: a store may hold replies of groups that have left it."""
    kept = predictions[predictions["group_id"].isin(groups["group_id"])]
    if kept.empty:
        raise DataError("no reply of this run's models and groups is stored: run the stage 'evaluation' first")
    return pd.DataFrame(kept)
