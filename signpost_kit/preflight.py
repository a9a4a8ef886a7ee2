"""What is checked before a run starts, so that it ends in one clear line and not half way through."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from signpost_kit.errors import ConfigError, StorageError
from signpost_kit.files import storage_error
from signpost_kit.profiles import Profile
from signpost_kit.run import Run

__all__ = [
    "ASKING",
    "asking_stages",
    "check_building",
    "check_context",
    "check_keys",
    "check_run",
    "check_source",
    "check_writable",
]

ASKING = ("evaluation", "probing", "defense", "cross_task", "ladder", "hints", "claims")
"""Stages that may ask a model."""
_NEEDED_BYTES = 50_000_000
_PROBE_BYTES = 64 * 1024


def check_run(run: Run) -> None:
    """Source, folders and store of a run.

    Raises
    ------
    ConfigError, DataError
        The source is not given, is missing or empty; a construction stage lacks a setting, file, package or server.
    StorageError
        A folder cannot be written, the disk is full, the store is damaged.
    """
    check_source(run.profile)
    check_building(run)
    check_context(run)
    check_writable(run.dir)
    check_writable(run.figures_dir)
    if run.store_path.exists():
        from signpost_kit.evaluation import ReplyStore

        ReplyStore(run.store_path, create=False).close()


def check_keys(run: Run) -> None:
    """Raise ModelError if a model of the profile needs a key that is not there and is still to be asked."""
    from signpost_kit.ladder.checks import ladder_models
    from signpost_kit.models.catalogue import load_catalogue
    from signpost_kit.models.keys import find_key

    profile = run.profile
    open_stages = [stage for stage in asking_stages(run) if not run.is_current(stage)]
    if profile.evaluation.stored_only:
        open_stages = [stage for stage in open_stages if stage != "evaluation"]
    if profile.context.respondents or (profile.source.kind == "geocontext-release" and not profile.source.images):
        open_stages = [
            stage for stage in open_stages if stage not in ("hints", "claims")
        ]  # no model is asked there
    names = list(profile.models) if open_stages else []
    if "geocontext" in profile.studies and not run.is_current("ladder"):
        names += ladder_models(profile)
    catalogue = load_catalogue(run.root)
    for name in dict.fromkeys(names):
        spec = catalogue.get(name)
        if spec is not None and spec.key_env:
            find_key(spec.key_env)


def asking_stages(run: Run) -> list[str]:
    """The stages that ask models something in this run."""
    profile = run.profile
    tasks = profile.tasks
    wanted = {
        "evaluation": "signpost" in profile.studies,
        "probing": tasks.probing is not None,
        "defense": tasks.defense is not None,
        "cross_task": any(task is not None for task in (tasks.consistency, tasks.country, tasks.language)),
        "hints": profile.context.hints is not None,
        "claims": profile.context.claims is not None,
    }
    return [stage for stage, asked in wanted.items() if asked]


def check_source(profile: Profile) -> None:
    """Raise ConfigError or DataError if the pictures cannot be where the profile says."""
    from signpost_kit.benchmark.source_checks import check_source_section

    source = profile.source
    if source.kind in ("photos", "panoramas", "signpost-release", "geocontext-release") and source.path is None:
        what = "folder of pictures" if source.kind in ("photos", "panoramas") else "folder of the released data"
        raise ConfigError(f"the profile {profile.name!r} needs a {what}: add --set source.path=FOLDER")
    if source.kind == "geocontext-release":
        from signpost_kit.benchmark.geocontext import read_released

        read_released(str(source.path))
        return
    check_source_section(source)


def check_building(run: Run) -> None:
    """Check what the construction stages that are still to be done will need, each before the first of them starts.

    Raises
    ------
    ConfigError, DataError, MissingExtraError, ModelError
        A setting, file, package, key or server that is missing, with the remedy.
    """
    from signpost_kit.mapping import check_compute

    profile = run.profile
    check_compute(profile.compute, run.root)
    if "signpost" not in profile.studies or profile.source.kind == "signpost-release":
        return  # a release brings what these stages would make
    checks: dict[str, Callable[[], None]] = {
        "screening": lambda: _ocr(profile),
        "replacements": lambda: _replacements(profile),
        "targets": lambda: _targets(profile),
        "synthesis": lambda: _synthesis(profile),
    }
    for stage, check in checks.items():
        if not run.is_current(stage):
            check()


def check_context(run: Run) -> None:
    """Check what the ladder and the looking up of answers will need, as :func:`check_building` does."""
    if "geocontext" not in run.profile.studies:
        return
    from signpost_kit.ladder.checks import check_ladder, check_lookup

    if not run.is_current("ladder"):
        check_ladder(run.profile)
    if not run.is_current("hints"):
        check_lookup(run.profile)


def _ocr(profile: Profile) -> None:
    from signpost_kit.ocr.checks import check_ocr

    check_ocr(profile.screening)


def _replacements(profile: Profile) -> None:
    from signpost_kit.replacements.checks import check_replacements

    check_replacements(profile.replacements)


def _targets(profile: Profile) -> None:
    from signpost_kit.geocoding.choose import check_targets

    check_targets(profile.targets)


def _synthesis(profile: Profile) -> None:
    if profile.editing.editor == "comfyui":
        from signpost_kit.editing.comfyui.check import check_comfyui

        check_comfyui(profile.editing)


def check_writable(folder: Path) -> None:
    """Write and remove a small file there; a folder that had to be made for it is removed again.

    Raises
    ------
    StorageError
        No permission, a read-only or full disk, or a part of the path is a file.
    """
    made: list[Path] = []
    try:
        for place in reversed([folder, *folder.parents]):
            if not place.exists():
                place.mkdir()
                made.append(place)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0" * _PROBE_BYTES)
            probe.flush()
        free = shutil.disk_usage(folder).free
        if free < _NEEDED_BYTES:
            raise StorageError(
                f"cannot use {folder}: only {free / 1e6:.0f} MB are free on its disk, a run needs at least "
                f"{_NEEDED_BYTES / 1e6:.0f} MB: free some space or choose another folder"
            )
    except OSError as error:
        raise storage_error(error, folder) from error
    finally:
        for place in reversed(made):
            place.rmdir()
