"""The papers' own numbers, from `params/published/`: for comparison beside a run, never mixed into one."""

from __future__ import annotations

import difflib
from pathlib import Path

import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.published_layouts import check_shipped

__all__ = ["published", "published_names", "published_text"]

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
    frame = _read(name)
    check_shipped(name, frame)
    return frame


def published_text(name: str) -> pd.DataFrame:
    """The same with every cell as it is written ("9.40", "" where empty): how many digits were printed counts."""
    frame = _read(name, dtype=str, keep_default_na=False)
    check_shipped(name, frame)
    return frame


def published_names() -> list[str]:
    """All tables there are, as `study/table`."""
    folder = _folder()
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob("*/*.csv"))


def _read(name: str, **how: object) -> pd.DataFrame:
    names = published_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise DataError(f"no published table {name!r}; {hint}there are: {', '.join(names)}")
    path = _folder() / f"{name}.csv"
    try:
        return pd.read_csv(path, encoding="utf-8-sig", **how)  # pyright: ignore[reportArgumentType, reportCallIssue]
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}; restore it, or write it again as CSV in UTF-8") from error


def _folder() -> Path:
    """From the current folder upwards, else beside the package."""
    here = Path.cwd().resolve()
    for root in (here, *here.parents, Path(__file__).resolve().parents[1]):
        if (root / _FOLDER).is_dir():
            return root / _FOLDER
    raise DataError(
        f"the folder {_FOLDER} is missing; run from the project's folder, or restore it from the repository"
    )
