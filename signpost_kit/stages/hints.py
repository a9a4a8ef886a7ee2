"""GeoHint: ask where each picture was taken, with and without every hint of its ladder, and resolve the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from signpost_kit.stages.common import recording
from signpost_kit.stages.context_common import RELEASE, ask, asked_models, lookup_of, released, sites_of_run

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["hints"]


def hints(run: Run) -> None:
    """Fill the tables `answers` and `chains`; replies that the store already holds are not asked again.

    Of a release the answers are taken as they are; where its pictures are at hand (source.images), the profile's
    models are asked about them with the released ladders, and their answers stand beside the others.
    """
    from signpost_kit.hints import answers_frame, chains_frame, hint_plan
    from signpost_kit.models.base import Decoding

    options = run.profile.context.hints
    with recording(run, "hints") as record:
        release = released(run).answers if run.profile.source.kind == RELEASE else None
        sites = sites_of_run(run) if options is not None else []
        if release is not None and not sites:
            run.save_table("answers", release)
            record.counts |= {"answers": len(release), "models": int(release["model"].nunique())}
            return
        if options is None:
            record.counts["answers"] = 0
            return
        rungs = run.table("ladder")
        points = run.table("points") if release is None else rungs
        if release is not None:
            rungs = rungs.loc[rungs["name_en"] != ""]
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
        if release is not None:
            answers = pd.concat([release, answers], ignore_index=True)
        run.save_table("answers", answers)
        run.save_table("chains", chains_frame(replies))
        record.counts["answers"] = len(answers)
        for status, n in answers["status"].value_counts().items():
            record.counts[f"answer_{status}"] = int(n)
