"""The stage that paints the four edited variants of every picture."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from signpost_kit.benchmark import Benchmark, Group
from signpost_kit.errors import DataError
from signpost_kit.files import hash_bytes, hash_file, safe_name, write_bytes
from signpost_kit.frames import EDITED_VARIANTS
from signpost_kit.stages.common import load_groups, publish, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["synthesis"]


def synthesis(run: Run) -> None:
    """Paint Blank, Similar, Random and Adversarial from each Original; finished groups are not painted twice."""
    from tqdm.auto import tqdm

    from signpost_kit.editing import paint

    groups = load_groups(run, "targets")
    benchmark = Benchmark(name=run.name, groups=groups, root=run.dir / "benchmark")
    seed = run.profile.editing.seed
    done_dir = run.dir / "stages" / "synthesis"

    def one(group: Group) -> Group:
        key = _key(benchmark, group, seed)
        return _finished(benchmark, group, done_dir, key) or _paint(
            benchmark, group, done_dir, key, lambda: paint.make_variants(benchmark, group, seed=seed)
        )

    with recording(run, "synthesis") as record, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        # cv2 and the PNG encoder release the interpreter lock, so threads use all cores.
        made = list(tqdm(pool.map(one, groups), total=len(groups), desc="painting", unit="scene", mininterval=1))
        kept = []
        for group in made:
            missing = [variant for variant in EDITED_VARIANTS if variant not in group.images]
            if missing:
                reasons = {str(group.generation.get(v, {}).get("reason", "not painted")) for v in missing}
                record.reject(
                    group.source_id or group.group_id, f"{', '.join(missing)}: {'; '.join(sorted(reasons))}"
                )
            else:
                kept.append(group)
        if not kept:
            raise DataError("no group could be painted: " + record.rejected[0]["reason"])
        record.counts |= {"groups": len(kept), "pictures": len(kept) * 5, "rejected": len(record.rejected)}
        save_groups(run, "synthesis", kept)
        publish(run, kept)


def _key(benchmark: Benchmark, group: Group, seed: int) -> str:
    """What the pictures of a group depend on: the Original's bytes, the spans with their texts, the seed."""
    from signpost_kit import __version__

    original = hash_file(benchmark.image_path(group, "Original"))
    spans = [asdict(span) for span in group.spans]
    return hash_bytes(json.dumps([__version__, original, spans, seed], sort_keys=True).encode())


def _finished(benchmark: Benchmark, group: Group, folder: Path, key: str) -> Group | None:
    """The group as an earlier, perhaps interrupted run painted it, if nothing it depends on has changed."""
    path = folder / f"{safe_name(group.group_id)}.json"
    try:
        kept = json.loads(path.read_bytes())
        if kept["key"] != key:
            return None
        done = msgspec.convert(kept["group"], Group)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # absent or torn: paint it again
    if not all(benchmark.image_path(done, variant).is_file() for variant in done.images):
        return None
    return replace(group, images=done.images, generation=done.generation)


def _paint(benchmark: Benchmark, group: Group, folder: Path, key: str, make: Callable[[], Group]) -> Group:
    painted = make()
    write_bytes(folder / f"{safe_name(group.group_id)}.json", msgspec.json.encode({"key": key, "group": painted}))
    return painted
