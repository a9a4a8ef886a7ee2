"""How the construction stages treat a release: its groups are complete, so each stage hands them on unchanged."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.frames import VARIANTS
from signpost_kit.stages.common import Record, load_groups, publish, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.benchmark import Group
    from signpost_kit.run import Run

__all__ = ["passed_on", "released_sources"]

RELEASE_FOLDER = "release"
"""Folder of the run that keeps what a release has beside its groups and pictures."""


def released_sources(run: Run, record: Record) -> tuple[Group, ...]:
    """Read the release that the profile names and bring its pictures into the run (for the stage `sources`).

    Counts of missing pictures by variant, and every item left out with its reason, go to `record`. What a release
    holds beside (geocoding cache, human tiers, replies to other tasks) is kept in the run's folder `release`.

    Raises
    ------
    DataError
        There is no release, or none of its groups can be used.
    """
    import msgspec

    from signpost_kit.benchmark.release_write import adopt_release, carry_files
    from signpost_kit.benchmark.released import read_release
    from signpost_kit.errors import DataError
    from signpost_kit.files import write_bytes

    source = run.profile.source
    found = read_release(Path(source.path or ""), name=run.name, limit=source.limit)
    adopted = adopt_release(found, run.dir / "benchmark")
    for item in (*found.rejected, *adopted.rejected):
        record.reject(item.item, item.reason)
    for problem in found.problems:
        record.reject(str(problem.path.name), f"line {problem.line}: {problem.reason}")
    if not adopted.groups:
        why = record.rejected[0]["reason"] if record.rejected else "it lists none"
        raise DataError(f"the release {found.benchmark.root} has no usable group: {why}")
    carry_files(found.benchmark.root, found.other_files, run.dir / RELEASE_FOLDER)
    if found.geocode_cache:
        cache = msgspec.json.format(msgspec.json.encode(found.geocode_cache), indent=1)
        write_bytes(run.dir / RELEASE_FOLDER / "geocode_cache.json", cache + b"\n")
    record.counts |= {f"missing_{variant}": n for variant, n in adopted.missing.items()}
    record.counts["repeated_lines"] = found.n_repeated
    return adopted.groups


def passed_on(run: Run, stage: str) -> bool:
    """Hand a release's groups from the stage before on to `stage`; False when the profile's source is no release.

    Each construction stage begins with `if passed_on(run, "<stage>"): return`. A group or text without a tier gets
    one by rule in the stage `taxonomy`; all else stays as it was released.
    """
    if run.profile.source.kind != "signpost-release":
        return False
    from signpost_kit.stages import ORDER

    with recording(run, stage) as record:
        groups = load_groups(run, ORDER[ORDER.index(stage) - 1])
        record.counts |= {"groups": len(groups), "as_released": len(groups)}
        if stage == "taxonomy":
            ruled = [_with_tier(group) for group in groups]
            record.counts["as_released"] = sum(a is b for a, b in zip(groups, ruled, strict=True))
            record.counts |= dict(sorted(Counter(group.tier for group in ruled).items()))
            groups = tuple(ruled)
        if stage == "targets":
            from signpost_kit.geocoding.traps import released_targets

            record.counts["geocoded"] = sum(group.trap is not None for group in groups)
            run.save_table("targets", released_targets(groups))
        if stage == "synthesis":
            record.counts["pictures"] = sum(variant in group.images for group in groups for variant in VARIANTS)
        save_groups(run, stage, groups)
        publish(run, groups)
    return True


def _with_tier(group: Group) -> Group:
    """A tier by rule where the release gives none; what it gives stays."""
    if group.tier:
        return group
    from signpost_kit.taxonomy import classify_group

    judged = classify_group(group)
    spans = tuple(old if old.tier else new for old, new in zip(group.spans, judged.spans, strict=True))
    return replace(judged, spans=spans)
