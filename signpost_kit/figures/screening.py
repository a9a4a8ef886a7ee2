"""What the OCR screening kept and what it left out, looked at: outlines, texts and reasons on the pictures."""

from __future__ import annotations

import itertools
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.figures.maps import shorten, show_picture
from signpost_kit.figures.style import DOUBLE, GREY, INK, canvas, empty, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from signpost_kit.run import Run

__all__ = ["SCREENING_COLUMNS", "fig_screening", "screened_picture", "screening_frame"]

SCREENING_COLUMNS = ("group_id", "label", "image", "kept", "reason", "strings")
"""One row per picture; `strings` is a list of dicts (text, polygon, confidence, kept, reason)."""

_KEPT, _LEFT_OUT = "#F0E442", "#56B4E9"
_SIDE = 520  # pixels of the longer side as shown
_LINE_COLUMNS, _MOST_LINES = 38, 4  # of the text below a picture


def screening_frame(run: Run, *, limit: int = 8, seed: int = 0) -> pd.DataFrame:
    """Up to `limit` pictures that went on and up to `limit` that did not, each drawn evenly from all by `seed`."""
    from signpost_kit.ocr.screened import iter_screened

    rng = np.random.default_rng(seed)
    chosen: dict[bool, list[tuple[int, Any]]] = {True: [], False: []}
    seen = {True: 0, False: 0}
    for number, picture in enumerate(iter_screened(run)):  # a reservoir: the file may be long
        bucket = chosen[picture.kept]
        seen[picture.kept] += 1
        if len(bucket) < limit:
            bucket.append((number, picture))
        elif (place := int(rng.integers(seen[picture.kept]))) < limit:
            bucket[place] = (number, picture)
    rows = [
        (
            picture.group_id,
            picture.source_id or picture.group_id,
            str(run.dir / "benchmark" / picture.image) if picture.image else "",
            picture.kept,
            picture.reason,
            [
                {
                    "text": item.line.text,
                    "polygon": [list(point) for point in item.line.polygon],
                    "confidence": item.line.confidence,
                    "kept": item.kept,
                    "reason": item.reason,
                }
                for item in picture.lines
            ],
        )
        for kept in (True, False)
        for _, picture in sorted(chosen[kept], key=lambda pair: pair[0])
    ]
    return pd.DataFrame(rows, columns=pd.Index(SCREENING_COLUMNS))


def fig_screening(frame: pd.DataFrame, *, columns: int = 4) -> Figure:
    """Two blocks: pictures that went on, and those left out.

    A string that counts is outlined and numbered, and stands below its picture; one that does not has a thin dashed
    outline. Below a picture left out stands why. Of `frame` (see
    :data:`SCREENING_COLUMNS`) every row is drawn; a block without pictures says so.
    """
    blocks: list[tuple[str, pd.DataFrame]] = [
        ("Kept", frame.loc[frame["kept"].astype(bool)]),
        ("Left out", frame.loc[~frame["kept"].astype(bool)]),
    ]
    heights = [max(-(-len(part) // columns), 1) * 1.55 if len(part) else 0.45 for _, part in blocks]
    with style():
        figure, _ = canvas(DOUBLE, sum(heights) + 0.5, squeeze=False)
        figure.clear()
        parts: Any = figure.subfigures(2, 1, height_ratios=heights)
        for part, (title, rows) in zip(parts, blocks, strict=True):
            part.suptitle(f"{title}: {_counted(rows)}", x=0.01, ha="left", fontsize=8, fontweight="bold")
            _block(part, rows, columns, title)
    return figure


def _counted(rows: pd.DataFrame) -> str:
    strings = list(itertools.chain.from_iterable(rows["strings"]))
    count = sum(bool(item["kept"]) for item in strings)
    return f"{len(rows)} picture{'s' * (len(rows) != 1)}, {count} of {len(strings)} strings count"


def _block(part: Any, rows: pd.DataFrame, columns: int, title: str) -> None:
    if rows.empty:
        empty(part.subplots(1, 1), f"No picture was {title.lower()}.")
        return
    n_rows = -(-len(rows) // columns)
    axes = np.ravel(part.subplots(n_rows, columns, squeeze=False))
    for ax in axes[len(rows) :]:
        ax.set_axis_off()
    for ax, row in zip(axes, rows.to_dict("records"), strict=False):
        screened_picture(ax, {str(key): value for key, value in row.items()})


def screened_picture(ax: Axes, row: dict[str, Any]) -> None:
    """One picture of a frame's row; below it its name, and the numbered texts that count or why it was left out."""
    pixels = show_picture(ax, row["image"], _SIDE)
    ax.set_anchor("N")
    counting = [item for item in row["strings"] if item["kept"]]
    if row["reason"]:
        said = _lines(row["reason"].removeprefix("no text that counts: ").split(" "), " ")
    else:
        said = _lines([f"{n} {shorten(item['text'], 28)}" for n, item in enumerate(counting, 1)], "  ")
    below = "\n".join([shorten(row["label"], 30), *said])
    ax.set_xlabel(below, fontsize=5.5, labelpad=2, color=INK if row["kept"] else GREY, linespacing=1.25)
    if pixels is None or not row["strings"]:
        return
    scale = pixels.shape[1] / _full_width(row["image"])
    for item in row["strings"]:
        _outline(ax, np.asarray(item["polygon"], dtype=float) * scale, counts=bool(item["kept"]))
    for number, item in enumerate(counting, 1):
        _badge(ax, number, np.asarray(item["polygon"], dtype=float) * scale)


def _lines(parts: Sequence[str], between: str) -> list[str]:
    """The parts laid out in lines, a wide character counting twice; what finds no room is counted at the end."""
    lines: list[str] = []
    for done, part in enumerate(parts):
        if lines and _columns(lines[-1] + between + part) <= _LINE_COLUMNS:
            lines[-1] += between + part
        elif len(lines) < _MOST_LINES:
            lines.append(part)
        else:
            lines[-1] += f"{between}+ {len(parts) - done} more" if between == "  " else " …"
            break
    return lines


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _full_width(path: str) -> int:
    from signpost_kit.images import read_metadata

    about = read_metadata(path)
    return about.height if about.orientation >= 5 else about.width


def _outline(ax: Axes, corners: np.ndarray, *, counts: bool) -> None:
    """A light line on a dark one reads on any ground."""
    from matplotlib.patches import Polygon

    kept = (("black", 2.2, "-"), (_KEPT, 1.0, "-"))
    left_out = (("black", 1.2, "-"), (_LEFT_OUT, 0.6, (0, (3, 2))))
    for colour, width, dashes in kept if counts else left_out:
        ax.add_patch(Polygon(corners, closed=True, fill=False, edgecolor=colour, linewidth=width, linestyle=dashes))


def _badge(ax: Axes, number: int, corners: np.ndarray) -> None:
    """The string's number, at its own top left."""
    ax.annotate(
        str(number),
        (corners[0, 0], corners[0, 1]),
        ha="right",
        va="center",
        fontsize=5.5,
        color="black",
        bbox={"boxstyle": "circle,pad=0.1", "facecolor": _KEPT, "edgecolor": "black", "linewidth": 0.4},
    )
