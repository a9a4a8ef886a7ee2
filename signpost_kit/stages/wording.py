"""The stages about words: how tightly a text is tied to its place, what replaces it, and where that lies."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from signpost_kit.errors import DataError
from signpost_kit.stages.common import load_groups, publish, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["replacements", "targets", "taxonomy"]


def taxonomy(run: Run) -> None:
    """Give every span a tier with a reason; a group has the tier of its highest span."""
    from signpost_kit.taxonomy import classify_group

    with recording(run, "taxonomy") as record:
        groups = [classify_group(group) for group in load_groups(run, "screening")]
        record.counts["groups"] = len(groups)
        record.counts |= dict(sorted(Counter(group.tier for group in groups).items()))
        save_groups(run, "taxonomy", groups)
        publish(run, groups)


def replacements(run: Run) -> None:
    """Write a similar, a random and an adversarial text for every span; what breaks a rule is left out."""
    from signpost_kit.replacements import gazetteer

    with recording(run, "replacements") as record:
        kept = []
        for group in load_groups(run, "taxonomy"):
            proposed = gazetteer.propose(group, seed=run.profile.replacements.seed)
            if faults := gazetteer.validate(proposed):
                record.reject(group.source_id or group.group_id, "; ".join(faults))
            else:
                kept.append(proposed)
        if not kept:
            raise DataError("no group got valid replacements: " + record.rejected[0]["reason"])
        record.counts |= {"groups": len(kept), "rejected": len(record.rejected)}
        run.save_table("diversity", gazetteer.diversity(kept))
        save_groups(run, "replacements", kept)
        publish(run, kept)


def targets(run: Run) -> None:
    """Find where the representative adversarial text lies; a group without a target leaves TFR and TDR only."""
    from signpost_kit.geocoding.gazetteer import Gazetteer
    from signpost_kit.replacements import gazetteer

    geocoder = Gazetteer()
    with recording(run, "targets") as record:
        groups = [gazetteer.targets(group, geocoder) for group in load_groups(run, "replacements")]
        for group in groups:
            if group.trap is None:
                span = group.representative
                text = span.replacements.get("adversarial", "") if span else ""
                record.reject(
                    group.source_id or group.group_id, f"no target found for {text!r}; stays without a trap"
                )
        record.counts |= {"groups": len(groups), "geocoded": sum(group.trap is not None for group in groups)}
        save_groups(run, "targets", groups)
        publish(run, groups)
