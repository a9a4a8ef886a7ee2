"""The stage that finds where the adversarial texts point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signpost_kit.stages.common import load_groups, publish, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["targets"]


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
