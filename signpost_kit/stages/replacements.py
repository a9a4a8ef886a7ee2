"""The stage that writes what replaces each text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signpost_kit.errors import DataError
from signpost_kit.stages.common import load_groups, publish, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["replacements"]


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
