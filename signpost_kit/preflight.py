"""What is checked before a run starts, so that it ends in one clear line and not half way through."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from signpost_kit.errors import ConfigError, DataError, StorageError
from signpost_kit.files import storage_error
from signpost_kit.profiles import Profile
from signpost_kit.run import Run

__all__ = ["check_keys", "check_run", "check_source", "check_writable"]

_PLANNED = {
    "signpost-release": "reading the released SIGNPOST-Bench pictures",
    "geocontext-release": "reading the released GeoContext pictures",
}
_NEEDED_BYTES = 50_000_000
_PROBE_BYTES = 64 * 1024


def check_run(run: Run) -> None:
    """Source, folders and store of a run.

    Raises
    ------
    ConfigError, DataError
        The source is not one that this version reads, is not given, is missing or empty.
    StorageError
        A folder cannot be written, the disk is full, the store is damaged.
    """
    check_source(run.profile)
    check_writable(run.dir)
    check_writable(run.figures_dir)
    if run.store_path.exists():
        from signpost_kit.evaluation import ReplyStore

        ReplyStore(run.store_path, create=False).close()


def check_keys(run: Run) -> None:
    """Raise ModelError if a model of the profile needs a key that is not there, unless nothing is left to ask."""
    from signpost_kit.models.catalogue import load_catalogue
    from signpost_kit.models.keys import find_key

    if run.is_current("evaluation"):
        return
    catalogue = load_catalogue(run.root)
    for name in run.profile.models:
        spec = catalogue.get(name)
        if spec is not None and spec.key_env:
            find_key(spec.key_env)


def check_source(profile: Profile) -> None:
    """Raise ConfigError or DataError if the pictures cannot be where the profile says."""
    source = profile.source
    if source.kind in _PLANNED:
        raise ConfigError(
            f"the profile {profile.name!r} needs {_PLANNED[source.kind]}, which this version cannot do yet; "
            "run `demo` or `photos` instead"
        )
    if source.kind != "photos":
        return
    if source.path is None:
        raise ConfigError(f"the profile {profile.name!r} needs a folder of pictures: add --set source.path=FOLDER")
    folder = Path(source.path)
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise DataError(f"the folder of pictures {folder} {what}: check source.path")
    try:
        empty = not any(path.is_file() for path in folder.rglob("*"))
    except OSError as error:
        raise DataError(f"cannot read the folder of pictures {folder}: {error.strerror or error}") from error
    if empty:
        raise DataError(f"the folder of pictures {folder} is empty: check source.path")
    if source.positions is not None and not Path(source.positions).is_file():
        raise DataError(f"the file of positions {source.positions} does not exist: check source.positions")


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
