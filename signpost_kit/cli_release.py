"""`signpost import FOLDER` and `signpost export PROFILE FOLDER --layout signpost`: a release in, a run out.

A release that was downloaded becomes a run: its groups, its pictures and its replies. Any run can be written in the
release's layout, for others to read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.errors import DataError

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["export_release", "import_release", "is_release"]

PROFILE = "paper-signpost"
_BUILT = "synthesis"
"""The last construction stage: after it, the benchmark is as it was released."""


def is_release(folder: Path | str) -> bool:
    """Whether a path is a folder in the release's layout (and not, say, one of replies)."""
    from signpost_kit.benchmark.released import check_release

    try:
        check_release(folder)
    except DataError:
        return False
    return True


def import_release(
    folder: Path | str, *, profile: str = PROFILE, run_dir: str = "", say: Callable[[str], None] = print
) -> bool:
    """Make a run of a release; False if something in it was left out (each is named).

    Parameters
    ----------
    folder
        The release's folder.
    profile
        Its models, prompts and scoring are used; its source becomes the release.
    run_dir
        Folder of the run; empty: runs/<profile's name>.
    say
        Takes each line for a person.

    Raises
    ------
    DataError
        There is no release at `folder`.
    """
    from signpost_kit.benchmark.released import check_release, read_release
    from signpost_kit.run import open_run

    path = Path(folder).expanduser().absolute()
    check_release(path)
    sets: dict[str, object] = {"source.kind": "signpost-release", "source.path": str(path)}
    replied = any(path.glob("*/results/*/results_*.jsonl"))
    if replied:
        sets["evaluation.stored_only"] = True  # a release is scored as it is; asking anew is a choice
    run = open_run(profile, run_dir, sets=sets)
    run.ensure(_BUILT)
    found = read_release(path, limit=run.profile.source.limit)
    for line in found.summary():
        say(line)
    clean = not found.problems and not found.rejected
    if replied:
        with run.store() as store:
            done = store.import_jsonl(found.benchmark.root)
        for bad in done.bad:
            say(f"left out: {bad}")
        say(f"{done.rows} replies from {done.files} file(s), {done.present} were there already")
        clean = clean and not done.bad
    say(f"run: {run.dir}; go on with: signpost run {run.dir}")
    return clean


def export_release(
    run: Run, folder: Path | str, *, pictures: bool = True, say: Callable[[str], None] = print
) -> Path:
    """Write a run's benchmark and replies in the release's layout; return the folder.

    What a release had beside its groups (human tiers, replies to other tasks) is written again where the run keeps
    it. Files of the same names are replaced.

    Raises
    ------
    DataError
        The run has no benchmark yet.
    StorageError
        The folder cannot be written.
    """
    from signpost_kit.benchmark.release_lines import read_cache
    from signpost_kit.benchmark.release_write import carry_files, write_release
    from signpost_kit.benchmark.released import read_release
    from signpost_kit.stages.released import RELEASE_FOLDER

    kept = run.dir / RELEASE_FOLDER
    cache = kept / "geocode_cache.json"
    benchmark = run.benchmark()
    written = write_release(
        benchmark, folder, pictures=pictures, geocode_cache=read_cache(cache) if cache.is_file() else None
    )
    others = (p.relative_to(kept).as_posix() for p in sorted(kept.rglob("*")) if p.is_file() and p != cache)
    carry_files(kept, others, written.folder)
    where = ", ".join(written.datasets) or "no data set"
    say(f"{written.n_groups} groups, {written.n_pictures} pictures in {where}")
    if written.missing:
        gaps = ", ".join(f"{variant} {n}" for variant, n in written.missing.items())
        say(f"pictures missing: {gaps}")
    if run.store_path.is_file() and benchmark.groups:
        there = read_release(written.folder, pictures=pictures).benchmark  # names of files as they are there
        with run.store() as store:
            for task in dict.fromkeys(store.prompts()["task"]):
                files = store.export_jsonl(written.folder, there, task=task)
                say(f"{task}: {len(files)} file(s) of replies")
    return written.folder
