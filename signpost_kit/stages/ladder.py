"""The first stage of the second study: sites, the named points around them, and the ladder drawn from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.stages.common import recording
from signpost_kit.stages.context_common import RELEASE, released, save_sites, sites_of_run

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.hints.plan import HintSite
    from signpost_kit.run import Run

__all__ = ["ladder"]


def ladder(run: Run) -> None:
    """Find reference points around every site and draw the ladder; what a release brings is taken as it is."""
    from signpost_kit.ladder import draw_ladder

    options = run.profile.context.ladder
    with recording(run, "ladder") as record:
        if "geocontext" not in run.profile.studies:
            record.counts |= {"sites": 0, "points": 0}
            return
        if run.profile.source.kind == RELEASE:
            found = released(run)
            rungs = _with_sites(found.ladders, found.sites)
            run.save_table("ladder", rungs)
            run.save_table("context_account", found.account.frame())
            run.save_table("image_audit", found.image_audit)
            record.counts |= {"sites": len(found.sites), "points": len(rungs), "drawn": len(rungs)}
            for row in found.account.frame().query("kind in ('dropped', 'missing')").to_dict("records"):
                record.reject(str(row["file"]), f"{row['n']} x {row['reason']} {row['example']}".strip())
            return
        sites = sites_of_run(run)
        points = _points(run, sites)
        drawn, cells = draw_ladder(points, draws=options.draws, seed=options.seed)
        save_sites(run, sites)
        for name, frame in (("points", points), ("ladder", drawn), ("ladder_cells", cells)):
            run.save_table(name, frame)
        record.counts |= {
            "sites": len(sites),
            "points": len(points),
            "drawn": len(drawn),
            "short_cells": int(cells["short"].sum()),
        }
        if options.image_auditor or (run.dir / "audits" / "image_verdicts.csv").is_file():
            from signpost_kit.ladder.images import image_audit_of

            audited = image_audit_of(run)
            run.save_table("image_audit", audited)
            record.counts["audited_pictures"] = len(audited)
        for row in cells.loc[cells["n_found"] == 0].to_dict("records"):
            record.reject(str(row["site"]), f"no point in the cell {row['band']} {row['tier']}")


def _points(run: Run, sites: list[HintSite]) -> pd.DataFrame:
    options = run.profile.context.ladder
    if options.points == "local":
        from signpost_kit.ladder import local_points

        return local_points(sites, seed=options.seed)
    if options.points == "file":
        from signpost_kit.ladder.files import read_points

        return read_points(Path(options.path or ""), sites)
    from signpost_kit.ladder.wikidata import audited_points

    return audited_points(run, sites)


def _with_sites(ladders: pd.DataFrame, sites: pd.DataFrame) -> pd.DataFrame:
    """A release's ladders with the city and position of their sites."""
    return ladders.merge(sites[["site", "city", "country", "lat", "lon"]], on="site", how="left")
