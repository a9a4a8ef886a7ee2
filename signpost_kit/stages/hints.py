"""GeoHint: ask where each picture was taken, with and without every hint of its ladder, and resolve the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signpost_kit.stages.common import recording
from signpost_kit.stages.context_common import RELEASE, ask, asked_models, lookup_of, released, sites_of_run

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["hints"]


def hints(run: Run) -> None:
    """Fill the tables `answers` and `chains`; replies that the store already holds are not asked again."""
    from signpost_kit.hints import answers_frame, chains_frame, hint_plan
    from signpost_kit.models.base import Decoding

    options = run.profile.context.hints
    with recording(run, "hints") as record:
        if run.profile.source.kind == RELEASE:
            answers = released(run).answers
            run.save_table("answers", answers)
            record.counts |= {"answers": len(answers), "models": int(answers["model"].nunique())}
            return
        if options is None:
            record.counts["answers"] = 0
            return
        sites, points, rungs = sites_of_run(run), run.table("points"), run.table("ladder")
        names, models = asked_models(run, sites, points)
        asking = run.profile.evaluation
        plan = hint_plan(
            sites,
            rungs,
            names,
            schemas=options.schemas,
            baseline_samples=options.baseline_samples,
            decoding=Decoding(asking.temperature, asking.max_tokens),
        )
        ask(run, record, plan, models)
        with run.store() as store:
            replies = store.planned(plan, extra=("fields", "reason"))
        answers = answers_frame(replies, sites, rungs, lookup_of(run, sites, points), schemas=options.schemas)
        run.save_table("answers", answers)
        run.save_table("chains", chains_frame(replies))
        record.counts["answers"] = len(answers)
        for status, n in answers["status"].value_counts().items():
            record.counts[f"answer_{status}"] = int(n)
