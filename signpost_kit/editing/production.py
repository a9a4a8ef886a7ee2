"""The variants of one group, made by the editor that a profile names and checked; what the synthesis stage maps."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.benchmark.groups import Benchmark, Group
from signpost_kit.editing.checks import CheckSettings
from signpost_kit.files import hash_file
from signpost_kit.frames import EDITED_VARIANTS
from signpost_kit.profile_sections import Compute, Editing, Screening

if TYPE_CHECKING:
    from signpost_kit.editing.comfyui.pool import ServerPool

__all__ = ["Production", "check_settings", "whole", "workers_for"]


def check_settings(editing: Editing, screening: Screening, compute: Compute) -> CheckSettings | None:
    """What the edits of a profile have to pass: its OCR engine reads them. None when `editing.checks` is off."""
    from signpost_kit.ocr.checks import settings_for

    if not editing.checks:
        return None
    return CheckSettings(
        engine=screening.engine,
        languages=tuple(screening.languages),
        ocr=settings_for(screening, compute),
        exact=editing.editor == "paint",
    )


def whole(group: Group, root: Path) -> bool:
    """Whether all four variants of a group are there."""
    return all(v in group.images and (root / group.images[v]).is_file() for v in EDITED_VARIANTS)


@dataclass(frozen=True)
class Production:
    """Group in, group with its variants out. Can be sent to other processes as long as it has no pool."""

    root: Path
    """The benchmark's folder."""
    name: str
    editing: Editing
    checks: CheckSettings | None
    pool: ServerPool | None = None
    """Open servers (comfyui); None: each process opens its own."""

    def __call__(self, group: Group) -> Group:
        """Make, check and write the variants; the pictures that failed have a reason in the group's record.

        Raises
        ------
        DataError
            The Original is missing or is no picture.
        """
        if self.editing.editor == "paint":
            from signpost_kit.editing import paint

            return paint.make_variants(
                self._benchmark,
                group,
                seed=self.editing.seed,
                attempts=self.editing.attempts,
                checks=self.checks,
            )
        from signpost_kit.editing.comfyui import edit

        return edit.make_variants(self._benchmark, group, editing=self.editing, pool=self.pool, checks=self.checks)

    @property
    def _benchmark(self) -> Benchmark:
        return Benchmark(name=self.name, groups=(), root=self.root)

    def inputs(self, group: Group) -> dict[str, Any]:
        """What a group's pictures depend on: the Original's bytes, the spans with their texts, the settings."""
        from signpost_kit import __version__

        editing = self.editing.model_dump(exclude={"servers", "allow_remote_http", "timeout_s", "per_server"})
        checks = asdict(self.checks) if self.checks else None
        if checks and checks["ocr"]:
            checks["ocr"].pop("threads", None)
        original = hash_file(self._benchmark.image_path(group, "Original"))
        spans = [asdict(span) for span in group.spans]
        wording = {}
        if self.editing.editor == "comfyui":
            from signpost_kit.prompts import load

            wording = {"wording": [load(name).hash for name in ("removal", "replacement")]}
        made_of = {"kit": __version__, "original": original, "spans": spans, "editing": editing, "checks": checks}
        return made_of | wording


def workers_for(editing: Editing, compute: Compute) -> int | None:
    """Groups worked on at once: one per core, or as many as the servers take; a Dask cluster has its own."""
    if compute.workers is not None or ":" in compute.scheduler:
        return compute.workers
    if editing.editor == "comfyui":
        from signpost_kit.editing.comfyui.edit import workers

        return workers(editing)
    return os.cpu_count() or 1
