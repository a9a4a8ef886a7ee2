"""The ComfyUI editor: the four edited variants of a picture, made by Qwen-Image-Edit on one or more servers.

Contract (for stages/synthesis.py)::

    from signpost_kit.editing.comfyui.edit import make_variants, workers
    from signpost_kit.editing.comfyui.pool import ServerPool

    with ServerPool(editing) as pool:                      # the first edit checks the servers, once
        make = partial(make_variants, benchmark, editing=editing, pool=pool, checks=CheckSettings(...))
        map_items(make, groups, workers=workers(editing))  # scheduler "threads" or "serial"
    # pool=None: a pool of this process's own, kept until it ends (scheduler "processes" or Dask; picklable)
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.benchmark.groups import Benchmark, Group
from signpost_kit.errors import ConfigError
from signpost_kit.files import inside, write_bytes
from signpost_kit.frames import EDITED_VARIANTS
from signpost_kit.profile_sections import Editing

if TYPE_CHECKING:
    from signpost_kit.editing.checks import CheckSettings
    from signpost_kit.editing.comfyui.pool import ServerPool

__all__ = ["make_variants", "workers"]


def make_variants(
    benchmark: Benchmark,
    group: Group,
    *,
    editing: Editing,
    pool: ServerPool | None = None,
    seed: int | None = None,
    variants: tuple[str, ...] = EDITED_VARIANTS,
    attempts: int | None = None,
    checks: CheckSettings | None = None,
    journal: Path | None = None,
) -> Group:
    """Have the variants of one group made, each from the Original, and write them.

    The result is as that of :func:`signpost_kit.editing.paint.make_variants`: the group with the new pictures'
    paths and a generation record for each variant; a variant that failed has a record with `status` "failed", the
    `reason`, and no path. Pictures are written whole, in the Original's size. An edit that an earlier, perhaps
    interrupted call finished with the same Original, texts, seed and settings is not made again (`journal`).

    Parameters
    ----------
    editing
        The profile's section: servers, steps, cfg, time limit, attempts.
    pool
        Open servers, shared by all groups; None: this process's own, opened at the first call.
    seed
        None: `editing.seed`. The sampler's seed, which is in the record, also depends on the group and the attempt.
    variants
        Which ones to make.
    attempts
        Seeds tried until the checks pass; None: `editing.attempts`. Without `checks` the first one is taken.
    checks
        What an edit has to pass (:mod:`signpost_kit.editing.checks`); None: nothing is checked. `exact` has no
        effect: an editing model draws the whole picture anew.
    journal
        Folder for the notes of finished edits; None: `edits` in the benchmark's folder.

    Raises
    ------
    ConfigError
        A variant or a server's address is unknown, or the servers lack models or nodes (before the first job).
    DataError
        The Original is missing or is no picture.
    ModelError
        No server answers any more; finished pictures are kept.
    StorageError
        The pictures cannot be written.
    """
    from signpost_kit.editing.checks import Attempt, attempted
    from signpost_kit.editing.comfyui.editor import Editor
    from signpost_kit.editing.comfyui.pool import shared_pool
    from signpost_kit.images import encode_png, load_rgb

    for variant in variants:
        if variant not in EDITED_VARIANTS:
            raise ConfigError(f"unknown variant {variant!r}; the editor makes {', '.join(EDITED_VARIANTS)}")
    if pool is None:
        pool = shared_pool(editing)
    root = Path(benchmark.root)
    image = load_rgb(benchmark.image_path(group, "Original"))
    targets = {variant: inside(root, benchmark.image_name(group, variant)) for variant in variants}
    editor = Editor(
        image,
        group,
        pool,
        seed=editing.seed if seed is None else seed,
        journal=root / "edits" if journal is None else journal,
        targets=targets,
    )
    if checks is None:
        made = editor.make_all({variant: Attempt(0) for variant in variants})
    else:
        tries = editing.attempts if attempts is None else attempts
        settings = replace(checks, exact=False)
        made = attempted(image, group, variants, editor.make_all, attempts=tries, settings=settings)
    images, generation = dict(group.images), dict(group.generation)
    for variant in variants:
        picture, record = made[variant]
        generation[variant] = record
        images.pop(variant, None)
        if picture is not None and record["status"] == "ok":
            write_bytes(targets[variant], encode_png(picture))
            images[variant] = benchmark.image_name(group, variant)
    if editor.journal is not None:
        editor.journal.settle()
    return replace(group, images=images, generation=generation)


def workers(editing: Editing) -> int:
    """How many groups are worth working on at once: as many as all servers together take jobs."""
    return max(1, len(set(editing.servers)) * editing.per_server)
