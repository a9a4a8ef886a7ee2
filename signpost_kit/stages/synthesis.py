"""The stage that makes the four edited variants of every picture and has them checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from signpost_kit.benchmark import Group
from signpost_kit.errors import DataError
from signpost_kit.frames import EDITED_VARIANTS
from signpost_kit.stages.common import Record, count_groups, iter_groups, publish_stage, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.mapping import Outcome
    from signpost_kit.run import Run

__all__ = ["synthesis"]


def synthesis(run: Run) -> None:
    """Make Blank, Similar, Random and Adversarial from each Original; finished groups are not made twice.

    A group that lacks a variant because the edit itself failed goes no further. One whose edits were made but did
    not pass the checks stays and is marked (`generation[variant]["checks"]`): an OCR engine errs on small, slanted
    and decorated letters, and a benchmark without them would no longer be about the texts of real streets.
    """
    from signpost_kit.stages.released import passed_on

    if passed_on(run, "synthesis"):
        return
    with recording(run, "synthesis") as record:
        with ExitStack() as stack:
            tally = Counter[str]()
            save_groups(run, "synthesis", _kept(_outcomes(run, stack), record, tally))
        if not tally["groups"]:
            raise DataError("no group could be painted: " + record.rejected[0]["reason"])
        record.counts |= {"groups": tally["groups"], "pictures": tally["groups"] * 5}
        record.counts |= {"rejected": len(record.rejected)}
        if run.profile.editing.checks:
            names = ("edits passed", "edits marked", "edits made again", "texts read", "texts not read")
            record.counts |= {name: tally[name] for name in (*names, "texts the engine cannot read")}
        publish_stage(run, "synthesis")


def _outcomes(run: Run, stack: ExitStack) -> Iterator[Outcome]:
    """The groups with their variants, in the groups' order."""
    from signpost_kit.editing.comfyui.pool import ServerPool
    from signpost_kit.editing.production import Production, check_settings, whole, workers_for
    from signpost_kit.mapping import Journal, inputs_hash, map_items

    editing, compute = run.profile.editing, run.profile.compute
    root = run.dir / "benchmark"
    here = compute.scheduler in ("serial", "threads")
    pool = stack.enter_context(ServerPool(editing)) if editing.editor == "comfyui" and here else None
    produce = Production(root, run.name, editing, check_settings(editing, run.profile.screening, compute), pool)
    journal = stack.enter_context(
        Journal(
            run.dir / "stages" / "synthesis.sqlite",
            key=lambda group: (group.group_id, inputs_hash(produce.inputs(group))),
            decode=msgspec.json.Decoder(Group).decode,
            # A failed edit is made again: the server may be well now.
            usable=lambda _, done: whole(done, root),
        )
    )
    return map_items(
        produce,
        iter_groups(run, "targets"),
        scheduler=compute.scheduler,
        workers=workers_for(editing, compute),
        total=count_groups(run, "targets"),
        unit="scene",
        describe="editing pictures",
        journal=journal,
    )


def _kept(outcomes: Iterator[Outcome], record: Record, tally: Counter[str]) -> Iterator[Group]:
    """The groups that have all variants; the others are noted with the reasons."""
    for outcome in outcomes:
        asked: Group = outcome.item
        name = asked.source_id or asked.group_id
        if outcome.error:
            record.reject(name, outcome.error)
            continue
        made: Group = outcome.value
        missing = [variant for variant in EDITED_VARIANTS if variant not in made.images]
        if missing:
            reasons = {str(made.generation.get(v, {}).get("reason", "not painted")) for v in missing}
            record.reject(name, f"{', '.join(missing)}: {'; '.join(sorted(reasons))}")
            continue
        tally["groups"] += 1
        _count(made, tally)
        yield made


def _count(group: Group, tally: Counter[str]) -> None:
    """Add what the checks said of a group's edits."""
    from signpost_kit.editing.checks import UNREADABLE

    for variant in EDITED_VARIANTS:
        checks = group.generation.get(variant, {}).get("checks")
        if checks is None:
            continue
        tally["edits passed" if checks["passed"] else "edits marked"] += 1
        tally["edits made again"] += checks["attempts"] > 1
        for span in checks["spans"]:
            if span["verdict"] == UNREADABLE:
                tally["texts the engine cannot read"] += 1
            elif span["new_text"]:
                tally["texts read" if span["verdict"] == "read" else "texts not read"] += 1
