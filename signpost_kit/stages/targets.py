"""The stage that finds where the adversarial texts point."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from signpost_kit.stages.common import load_groups, publish, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["KEPT_ANSWERS", "targets"]

KEPT_ANSWERS = "geocode_cache.sqlite"
"""In the run's folder: the answers that were used. As `targets.frozen` of another run they give the same traps."""


def targets(run: Run) -> None:
    """Find where the representative adversarial text lies; a group without a target leaves TFR and TDR only.

    Killed, it goes on where it was: each answer of a server is kept before the next text is asked.
    """
    from signpost_kit.geocoding.cache import write_cache
    from signpost_kit.geocoding.choose import open_finder
    from signpost_kit.geocoding.traps import STATUSES, find_targets
    from signpost_kit.stages.released import passed_on

    if passed_on(run, "targets"):
        return
    section = run.profile.targets
    with recording(run, "targets") as record:
        groups = load_groups(run, "replacements")
        with open_finder(section) as finder:
            asks = section.geocoder != "gazetteer" and section.frozen is None
            found = find_targets(groups, finder, failures=section.failures, progress=asks)
        table = found.table
        for row in table.loc[table["status"] != "found", :].to_dict("records"):
            record.reject(str(row["source_id"] or row["group_id"]), str(row["reason"]))
        kinds = Counter(table["status"].tolist())
        record.counts |= {"groups": len(groups), "geocoded": kinds["found"]}
        record.counts |= {f"without: {name}": kinds[name] for name in STATUSES[1:] if kinds[name]}
        record.counts |= {
            "ambiguous": int(table["ambiguous"].sum()),
            "trap near the photo": int((table["km_from_photo"] < run.profile.scoring.tfr_radius_km).sum()),
        }
        write_cache(run.dir / KEPT_ANSWERS, found.entries)
        run.save_table("targets", table)
        save_groups(run, "targets", found.groups)
        publish(run, found.groups)
