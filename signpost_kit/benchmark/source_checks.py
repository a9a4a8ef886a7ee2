"""What can be said about a profile's `source` before a run starts: whether files are there, and lists readable."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from signpost_kit.profile_sections import Source

__all__ = ["check_source_section"]


def check_source_section(source: Source) -> None:
    """Check where the pictures come from; reads the beginning of lists and folders, and asks no server.

    Raises
    ------
    ConfigError
        A setting is missing, or does not go with the kind.
    DataError
        A file or folder is missing, empty or not readable, or a list lacks a column.
    """
    if source.kind == "list":
        _check_list(source)
    elif source.kind in ("photos", "panoramas"):
        _check_folder(source.path, "source.path")
        if source.positions is not None and not Path(source.positions).is_file():
            raise DataError(f"the file of positions {source.positions} does not exist: check source.positions")
        if source.kind == "panoramas":
            _check_panoramas(source)
    elif source.kind == "signpost-release":
        from signpost_kit.benchmark.released import check_release

        check_release(source.path)
    if source.sample_by is not None and source.kind not in ("list", "panoramas"):
        raise ConfigError(f"source.sample_by draws from a list or panoramas, not from the kind {source.kind!r}")
    if source.downloads is not None and source.kind != "list":
        raise ConfigError(f"source.downloads goes with the kind list, not with {source.kind!r}")


def _check_list(source: Source) -> None:
    from signpost_kit.benchmark.lists.layout import describe_list

    if source.path is None:
        raise ConfigError("the kind list needs its file: add --set source.path=FILE")
    if source.images is None and source.downloads is None:
        raise ConfigError(
            "a list needs its pictures: set source.images to the folder that they are in, or source.downloads to a "
            "list with their addresses"
        )
    layout = describe_list(source.path, source.format)
    _check_sample(source, "admin" in layout.columns, str(source.path))
    if source.images is not None:
        _check_folder(source.images, "source.images")
    if source.downloads is not None:
        from signpost_kit.benchmark.addresses import check_addresses

        check_addresses(Path(source.downloads))


def _check_panoramas(source: Source) -> None:
    from signpost_kit.benchmark.lists.layout import describe_list
    from signpost_kit.benchmark.panoramas import is_row_list

    table = Path(source.positions) if source.positions is not None else None
    is_list = table is not None and is_row_list(table, source.format)
    has_province = is_list and table is not None and "admin" in describe_list(table, source.format).columns
    _check_sample(source, has_province, source.positions or "the profile's source.positions")


def _check_sample(source: Source, has_province: bool, where: str) -> None:
    if source.sample_by == "province" and not has_province:
        raise ConfigError(
            f"{where} has no column for the province, so source.sample_by cannot be province; set it to country, "
            "or add a column `province`"
        )


def _check_folder(path: str | None, key: str) -> None:
    if path is None:
        raise ConfigError(f"the folder of pictures is not given: add --set {key}=FOLDER")
    folder = Path(path)
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise DataError(f"the folder of pictures {folder} {what}: check {key}")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise DataError(f"the folder of pictures {folder} cannot be read: change its rights, or {key}")
    if not any(names for _, _, names in os.walk(folder)):
        raise DataError(f"the folder of pictures {folder} is empty: check {key}")
