"""Replies in the SIGNPOST release's layout, read as a predictions frame.

`<root>/<dataset>/results/<model>/results_<Variant>_<model>.jsonl`, one reply per line. Only the few fields that
scoring needs are decoded. A torn last line (a run that was killed) and torn lines in the middle are left out and
reported, each with its number; of two lines for one picture the last wins.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.frames import VARIANTS

__all__ = ["Problem", "Results", "group_id_of", "read_results"]

_IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif")
_STATUSES = ["ok", "unparseable", "out_of_range"]


@dataclass(frozen=True)
class Problem:
    """A line that was left out."""

    path: Path
    line: int
    """Counted from 1."""
    is_last: bool
    """The file's last line: most likely a write that was cut off."""
    reason: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}{' (the last)' if self.is_last else ''}: {self.reason}"


@dataclass(frozen=True)
class Results:
    """The replies and what could not be read."""

    predictions: pd.DataFrame
    """The `predictions` frame; text columns are categorical. Status: ok, unparseable (the release does not say
    why a reply failed) or out_of_range."""
    problems: tuple[Problem, ...]
    n_duplicates: int
    """Lines overruled by a later line for the same picture."""


class _Line(msgspec.Struct, gc=False):
    original_source: str
    pred_lat: float | None = None
    pred_lon: float | None = None
    parse_failed: bool = False


@dataclass
class _Block:
    """The rows of one file."""

    model: str
    dataset: int
    variant: int
    group: np.ndarray
    lat: np.ndarray
    lon: np.ndarray
    failed: np.ndarray


def read_results(root: Path | str) -> Results:
    """Read every results file below `root`.

    Raises
    ------
    DataError
        The folder is missing or holds no results file, or a file's name has no known variant.
    """
    folder = Path(root)
    files = sorted(folder.glob("*/results/*/results_*.jsonl"))
    if not files:
        raise DataError(
            f"{folder} holds no results; expected files <dataset>/results/<model>/results_<Variant>_<model>.jsonl"
        )
    decoder = msgspec.json.Decoder(_Line)
    datasets: dict[str, int] = {}
    groups: dict[str, int] = {}
    blocks: list[_Block] = []
    problems: list[Problem] = []
    n_duplicates = 0
    for path in files:
        lines, torn = _decode(path, decoder)
        problems += torn
        names = [line.original_source for line in lines]
        codes = np.fromiter(
            (groups.setdefault(name, len(groups)) for name in names), dtype=np.int32, count=len(names)
        )
        keep = _last_of_each(codes)
        n_duplicates += len(codes) - len(keep)
        block = _Block(
            model=path.parent.name,
            dataset=datasets.setdefault(path.parents[2].name, len(datasets)),
            variant=VARIANTS.index(_variant(path)),
            group=codes[keep],
            lat=np.array([line.pred_lat for line in lines], dtype=np.float64)[keep],
            lon=np.array([line.pred_lon for line in lines], dtype=np.float64)[keep],
            failed=np.fromiter((line.parse_failed for line in lines), dtype=bool, count=len(lines))[keep],
        )
        blocks.append(block)
    return Results(_frame(blocks, list(datasets), list(groups)), tuple(problems), n_duplicates)


def group_id_of(original_source: str) -> str:
    """The group's id: the source picture's file name without folder and image suffix."""
    name = original_source.replace("\\", "/").rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return stem if stem and f"{dot}{suffix}".lower() in _IMAGE_SUFFIXES else name


def _variant(path: Path) -> str:
    variant = path.stem.removeprefix("results_").partition("_")[0]
    if variant not in VARIANTS:
        raise DataError(
            f"{path}: no variant {variant!r}; the name is results_<Variant>_<model>.jsonl with one of "
            f"{', '.join(VARIANTS)}"
        )
    return variant


def _decode(path: Path, decoder: msgspec.json.Decoder[_Line]) -> tuple[list[_Line], list[Problem]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        return decoder.decode_lines(data), []
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # some line is damaged: one by one, to say which
    lines: list[_Line] = []
    problems: list[Problem] = []
    rows = [(number, row) for number, row in enumerate(data.split(b"\n"), start=1) if row.strip()]
    for number, row in rows:
        try:
            lines.append(decoder.decode(row))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            rescued = _with_nan(row)
            if rescued is None:
                problems.append(Problem(path, number, number == rows[-1][0], str(error)))
            else:
                lines.append(rescued)
    return lines, problems


def _with_nan(row: bytes) -> _Line | None:
    """A line that holds NaN, which is not JSON but what other writers make of a missing number."""
    try:
        value: Any = json.loads(row)
        lat, lon = (None if value.get(name) is None else float(value[name]) for name in ("pred_lat", "pred_lon"))
        return _Line(str(value["original_source"]), lat, lon, value.get("parse_failed") is True)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _last_of_each(codes: np.ndarray) -> np.ndarray:
    """Row numbers, in order, of the last row of each code."""
    n = len(codes)
    last = np.full(int(codes.max(initial=-1)) + 1, -1, dtype=np.int64)
    last[codes] = np.arange(n)  # later rows overwrite earlier ones
    return np.arange(n) if len(codes) == np.count_nonzero(last >= 0) else np.sort(last[last >= 0])


def _frame(blocks: list[_Block], datasets: list[str], sources: list[str]) -> pd.DataFrame:
    sizes = [len(block.group) for block in blocks]
    models = list(dict.fromkeys(block.model for block in blocks))
    place = {model: number for number, model in enumerate(models)}
    lat, lon = np.concatenate([b.lat for b in blocks]), np.concatenate([b.lon for b in blocks])
    missing = np.concatenate([b.failed for b in blocks]) | np.isnan(lat) | np.isnan(lon)
    outside = ~missing & ~((np.abs(lat) <= 90) & (np.abs(lon) <= 180))
    status = np.where(missing, 1, np.where(outside, 2, 0)).astype(np.int8)
    lat[status > 0], lon[status > 0] = np.nan, np.nan
    ids = [group_id_of(source) for source in sources]
    distinct = list(dict.fromkeys(ids))
    rank = {identity: number for number, identity in enumerate(distinct)}
    group = np.array([rank[identity] for identity in ids], dtype=np.int32)[
        np.concatenate([b.group for b in blocks])
    ]

    def repeated(values: list[int]) -> np.ndarray:
        return np.repeat(np.array(values, dtype=np.int16), sizes)

    categorical = pd.Categorical.from_codes
    return pd.DataFrame(
        {
            "model": categorical(repeated([place[b.model] for b in blocks]), models),
            "dataset": categorical(repeated([b.dataset for b in blocks]), datasets),
            "group_id": categorical(group, distinct),
            "variant": categorical(repeated([b.variant for b in blocks]), list(VARIANTS)),
            "lat": lat,
            "lon": lon,
            "status": categorical(status, _STATUSES),
        }
    )
