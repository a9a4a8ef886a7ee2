"""GeoVerify: put true claims and decoys about every picture, with both controls, and read the verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signpost_kit.stages.common import recording
from signpost_kit.stages.context_common import RELEASE, ask, asked_models, released, sites_of_run

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["claims"]


def claims(run: Run) -> None:
    """Fill the table `trials`; replies that the store already holds are not asked again."""
    from signpost_kit.claims import claim_pictures, claim_plan, judged_frame, make_trials
    from signpost_kit.models.base import Decoding

    options = run.profile.context.claims
    with recording(run, "claims") as record:
        if run.profile.source.kind == RELEASE:
            trials = released(run).trials
            run.save_table("trials", trials)
            record.counts |= {"trials": len(trials), "models": int(trials["model"].nunique())}
            return
        if options is None:
            record.counts["trials"] = 0
            return
        sites, points = sites_of_run(run), run.table("points")
        names, models = asked_models(run, sites, points)
        asking = run.profile.evaluation
        trials = make_trials(
            sites,
            points,
            per_band=options.per_band,
            tolerance_km=options.tolerance_km,
            seed=options.seed,
            controls=options.controls,
        )
        run.save_table("claims_asked", trials)
        plan = claim_plan(
            trials,
            claim_pictures(sites, run.dir / "benchmark" / "controls"),
            names,
            tolerance_km=options.tolerance_km,
            decoding=Decoding(asking.temperature, asking.max_tokens),
        )
        ask(run, record, plan, models)
        with run.store() as store:
            judged = judged_frame(trials, store.planned(plan, extra=("fields", "text", "reason")))
        run.save_table("trials", judged)
        record.counts |= {"trials": len(trials), "verdicts": int(judged["verdict"].notna().sum())}
