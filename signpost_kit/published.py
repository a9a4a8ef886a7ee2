"""The papers' own numbers, from `params/published/`: for comparison beside a run, never mixed into one."""

from __future__ import annotations

import difflib
from pathlib import Path

import pandas as pd

from signpost_kit.errors import DataError

__all__ = ["published", "published_names"]

_FOLDER = Path("params") / "published"


def published(name: str) -> pd.DataFrame:
    """A published table, columns as in the source.

    Parameters
    ----------
    name
        Study and table, such as `signpost/mcrs_leaderboard`; see :func:`published_names`.

    Raises
    ------
    DataError
        No such table (the nearest name is given), the folder is missing, or the file is damaged.
    """
    names = published_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise DataError(f"no published table {name!r}; {hint}there are: {', '.join(names)}")
    path = _folder() / f"{name}.csv"
    try:
        return pd.read_csv(path, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}; restore it from the repository") from error


def published_names() -> list[str]:
    """All tables there are, as `study/table`."""
    folder = _folder()
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob("*/*.csv"))


def _folder() -> Path:
    """From the current folder upwards, else beside the package."""
    here = Path.cwd().resolve()
    for root in (here, *here.parents, Path(__file__).resolve().parents[1]):
        if (root / _FOLDER).is_dir():
            return root / _FOLDER
    raise DataError(
        f"the folder {_FOLDER} is missing; run from the project's folder, or restore it from the repository"
    )
