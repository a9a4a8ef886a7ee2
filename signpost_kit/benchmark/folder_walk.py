"""What is in a folder: ordinary files to open, and everything else with the reason why it is not opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from signpost_kit.errors import DataError

__all__ = ["walk_folder"]


def walk_folder(
    folder: Path, *, recursive: bool = True, skip: Path | None = None
) -> Iterator[tuple[str, str, str]]:
    """Yield (relative path, why not, kind) of everything in the folder, in order of path.

    "Why not" is empty for an ordinary file that may be opened. Hidden files and folders, links that lead out of the
    folder or nowhere, links to folders, pipes and devices are named and never opened.

    Parameters
    ----------
    skip
        A resolved path that is left out without a word: the folder that results go into.

    Raises
    ------
    DataError
        The folder itself cannot be read.
    """
    base = folder.resolve()
    pending = [folder]
    found: list[tuple[str, str, str]] = []
    while pending:
        current = pending.pop()
        try:
            entries = sorted(os.scandir(current), key=lambda entry: entry.name)
        except OSError as error:
            if current == folder:
                raise DataError(f"the folder {folder} cannot be read ({error.strerror or error})") from error
            found.append((_shown(folder, current), f"the folder cannot be read ({error.strerror})", "unreadable"))
            continue
        for entry in entries:
            path = Path(entry.path)
            if skip is not None and path.resolve() == skip:
                continue
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                pending += [path] if recursive else []
                continue
            reason, kind = _why_not(path, base)
            found.append((_shown(folder, path), reason, kind))
    yield from sorted(found)


def _why_not(path: Path, base: Path) -> tuple[str, str]:
    """Why something in the folder is not even opened, and the kind; empty for an ordinary file."""
    try:
        path.name.encode()
    except UnicodeEncodeError:
        return "its name is not valid UTF-8; rename it", "unreadable"
    try:
        if path.is_symlink():
            target = path.resolve()
            if not target.is_relative_to(base):
                return "a link that leads out of the folder is not followed", "link"
            if target.is_dir():
                return "a link to a folder is not followed", "link"
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "a link that leads nowhere", "link"
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before Python 3.13
        return f"cannot be read ({getattr(error, 'strerror', None) or error})", "unreadable"
    if path.name.startswith("."):
        return f"not a picture: a hidden {'folder' if stat.S_ISDIR(mode) else 'file'}", "not a picture"
    if not stat.S_ISREG(mode):
        return "not a picture: no regular file", "not a picture"
    return "", ""


def _shown(folder: Path, path: Path) -> str:
    relative = path.relative_to(folder).as_posix()
    return relative.encode("utf-8", "replace").decode()
