"""The first stage: where the pictures come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.stages.common import publish, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["sources"]


def sources(run: Run) -> None:
    """Draw the teaching set, or read a folder of photos: Original pictures with known positions."""
    source = run.profile.source
    folder = run.dir / "benchmark"
    with recording(run, "sources") as record:
        if source.kind == "town":
            from signpost_kit.benchmark import town

            groups = town.build(source.n, source.seed, out_dir=folder).groups
        else:
            from signpost_kit.benchmark import photos

            imported = photos.import_photos(
                Path(source.path or ""), folder, positions=source.positions, limit=source.limit
            )
            groups = imported.benchmark.groups
            for item in imported.rejected:
                record.reject(item.item, item.reason)
        record.counts |= {"groups": len(groups), "rejected": len(record.rejected)}
        record.counts["datasets"] = len({group.dataset for group in groups})
        save_groups(run, "sources", groups)
        publish(run, groups)
