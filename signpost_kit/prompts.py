"""Prompts: templates in params/prompts/, one file per task, each known by a hash of its text.

A file may be replaced (by a study's exact wording, say): the hash changes, and so do the keys of the replies, so
that answers to two wordings never mix in one store.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from signpost_kit.errors import ConfigError
from signpost_kit.files import hash_bytes

__all__ = ["Prompt", "load", "tasks"]

_SUFFIXES = (".md", ".txt")
_TASK = re.compile(r"[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True)
class Prompt:
    """The text that goes out with a picture."""

    task: str
    """coordinate, probing, defense, or the name of a file a user added."""
    text: str
    """As sent: UTF-8, line ends as LF, no blank lines at either end."""
    hash: str
    """:func:`signpost_kit.files.hash_bytes` of `text`; part of every reply's key."""
    path: Path
    """The file it was read from."""


def load(task: str, *, folder: Path | str | None = None) -> Prompt:
    """Read the prompt of one task.

    Parameters
    ----------
    task
        A file's name without its ending (`.md`, or else `.txt`).
    folder
        Where to look. By default every `params/prompts` from the working directory upwards and the one beside the
        package are searched, the nearest first, so that one file can be replaced without copying the others.

    Raises
    ------
    ConfigError
        No such task (the known ones are named), the folder is missing, or the file is empty or not UTF-8.
    """
    folders = _folders(folder)
    if _TASK.fullmatch(task):  # also keeps `..` and separators out of the path
        for place in folders:
            for suffix in _SUFFIXES:
                path = place / f"{task}{suffix}"
                if path.is_file():
                    return _read(task, path)
    known = ", ".join(tasks(folder=folder)) or "none"
    raise ConfigError(
        f"no prompt for the task {task!r}; known tasks: {known}. Add {folders[0] / 'NAME.md'} for another one"
    )


def tasks(*, folder: Path | str | None = None) -> tuple[str, ...]:
    """Every task that has a prompt, in alphabetical order."""
    found = {
        path.stem
        for place in _folders(folder)
        for path in place.iterdir()
        if path.suffix in _SUFFIXES and path.is_file() and _TASK.fullmatch(path.stem)
    }
    return tuple(sorted(found))


def _folders(folder: Path | str | None) -> list[Path]:
    if folder is not None:
        given = Path(folder)
        if not given.is_dir():
            raise ConfigError(
                f"there is no folder of prompts at {given}; give a folder with files like coordinate.md"
            )
        return [given]
    here = Path.cwd()
    roots = [here, *here.parents, Path(__file__).resolve().parents[1]]
    found = list(dict.fromkeys(place for root in roots if (place := root / "params" / "prompts").is_dir()))
    if not found:
        raise ConfigError(
            f"no folder params/prompts at or above {here}; start in the project's folder, or pass folder="
        )
    return found


def _read(task: str, path: Path) -> Prompt:
    try:
        # utf-8-sig: an editor's byte-order mark is not part of the question. Line ends are made equal because a
        # checkout on Windows must not change the hash.
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").strip()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from error
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    if not text:
        raise ConfigError(f"{path} is empty; a prompt needs a question")
    return Prompt(task=task, text=text, hash=hash_bytes(text.encode()), path=path)
