"""The stage that says how tightly each text is tied to its place."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from signpost_kit.stages.common import load_groups, publish, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["taxonomy"]


def taxonomy(run: Run) -> None:
    """Give every span a tier with a reason; a group has the tier of its highest span."""
    from signpost_kit.taxonomy import classify_group

    with recording(run, "taxonomy") as record:
        groups = [classify_group(group) for group in load_groups(run, "screening")]
        record.counts["groups"] = len(groups)
        record.counts |= dict(sorted(Counter(group.tier for group in groups).items()))
        save_groups(run, "taxonomy", groups)
        publish(run, groups)
