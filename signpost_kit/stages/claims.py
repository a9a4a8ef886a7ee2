"""GeoVerify: put true claims and decoys about every picture, with both controls, and read the verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

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
        release = released(run) if run.profile.source.kind == RELEASE else None
        sites = sites_of_run(run) if options is not None else []
        if release is not None and not sites:
            run.save_table("trials", release.trials)
            record.counts |= {"trials": len(release.trials), "models": int(release.trials["model"].nunique())}
            return
        if options is None:
            record.counts["trials"] = 0
            return
        points = run.table("points") if release is None else run.table("ladder")
        names, models = asked_models(run, sites, points)
        asking = run.profile.evaluation
        if release is not None:
            shown = {path for site in sites for path, _ in site.pictures}
            trials = release.claims.loc[release.claims["shown"].isin(shown)].reset_index(drop=True)
        else:
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
        if release is not None:
            judged = pd.concat([release.trials, judged], ignore_index=True)
        run.save_table("trials", judged)
        record.counts |= {"trials": len(trials), "verdicts": int(judged["verdict"].notna().sum())}
