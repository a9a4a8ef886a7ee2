"""CSV and JSON-lines files as released: UTF-8 with or without BOM, text as text, every bad line counted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark.geocontext.account import Account

__all__ = ["numbers", "plain_path", "read_csv", "read_csvs", "read_jsonl"]

_TRUE, _FALSE = frozenset({"true", "1", "yes", "1.0"}), frozenset({"false", "0", "no", "0.0"})


def read_csv(path: Path, needs: Sequence[str], account: Account) -> pd.DataFrame:
    """All cells as text ("" where empty: NA is a continent and a country, never a missing value).

    Raises
    ------
    DataError
        The file is not UTF-8, no CSV, or lacks one of the columns in `needs`.
    """
    import pandas as pd

    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except pd.errors.EmptyDataError:
        frame = pd.DataFrame()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from error
    except (pd.errors.ParserError, ValueError) as error:
        raise DataError(f"{path} is no sound CSV file ({str(error).strip()}); fetch or save it again") from error
    absent = [name for name in needs if name not in frame.columns]
    if absent:
        have = ", ".join(map(str, frame.columns)) or "none"
        raise DataError(f"{path} lacks the column(s) {', '.join(absent)}; it has: {have}")
    account.note(path.name, "read", len(frame))
    return frame


def read_csvs(paths: Iterable[Path], needs: Sequence[str], account: Account) -> pd.DataFrame:
    """Several files of one kind below each other, with a column `file`; rows that stand in two files count once."""
    import pandas as pd

    parts = [read_csv(path, needs, account).assign(file=path.name) for path in sorted(paths)]
    if not parts:
        return pd.DataFrame(columns=[*needs, "file"], dtype=str)
    frame = pd.concat(parts, ignore_index=True).fillna("")
    twice = frame.duplicated([name for name in frame.columns if name != "file"])
    for name, n in frame.loc[twice].groupby("file").size().items():
        account.note(str(name), "dropped", int(n), "an identical row stands before it")
    return frame.loc[~twice].reset_index(drop=True)


def read_jsonl(path: Path, account: Account) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file; a line that is none is counted with its number, a torn last line too."""
    found: list[dict[str, Any]] = []
    bad: list[int] = []
    text = path.read_bytes()
    if text.startswith(b"\xef\xbb\xbf"):
        text = text[3:]
    lines = text.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if isinstance(value, dict):
            found.append(value)
        else:
            bad.append(number)
    account.note(path.name, "read", len(found) + len(bad))
    if bad:
        torn = bad == [len(lines)]
        reason = "the last line is torn" if torn else "the line is no JSON object"
        account.note(path.name, "dropped", len(bad), reason, f"line {bad[0]}")
    return found


def numbers(column: pd.Series) -> pd.Series:
    """Text to floats, NaN where it is empty or no number."""
    import pandas as pd

    found: Any = pd.to_numeric(column, errors="coerce")
    return found.astype("float64")


def truths(column: pd.Series) -> pd.Series:
    """True / False / NaN as 1.0, 0.0, NaN."""
    text = column.str.strip().str.lower()
    return text.map(lambda t: 1.0 if t in _TRUE else 0.0 if t in _FALSE else float("nan")).astype("float64")


def plain_path(text: str) -> str:
    """A picture's path with forward slashes, without the folder `streetview`: "site/1234.jpg"."""
    parts = PurePosixPath(text.strip().replace("\\", "/")).parts
    return "/".join(part for part in parts if part not in ("streetview", ".", "..", "/"))
