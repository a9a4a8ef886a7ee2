"""Prompt cards (fig. 5 to 11): the text that goes out with a picture, as it stands in its file, on a ruled card."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from signpost_kit.figures.style import DOUBLE, GREY, INK, SMALLEST, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PROMPT_COLUMNS", "draw_prompt_card", "fig_prompt_card", "prompts_frame", "wrapped_lines"]

PROMPT_COLUMNS = ("task", "text", "hash", "file", "missing")
"""One row per task; `missing` says why there is no text ("": there is)."""

_SLOT = re.compile(r"\$\w+|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|<[^<>\n]+>")
"""What is filled in for each picture, or by the model: `$place`, `{{ span.text }}`, `<latitude>`."""
_PAPER, _HEAD, _SLOT_INK = "#f7f7f4", "#3a3a3a", "#0b5394"
_PT, _LEADING = 6.4, 1.42
_MARGIN, _HEAD_PT = 9.0, 17.0  # points


def prompts_frame(tasks: Sequence[str], *, folder: Path | str | None = None) -> pd.DataFrame:
    """:data:`PROMPT_COLUMNS` of the named prompts, from params/prompts or `folder`; a missing one is a row too."""
    from signpost_kit import prompts
    from signpost_kit.errors import ConfigError

    rows = []
    for task in tasks:
        try:
            found = prompts.load(task, folder=folder)
        except ConfigError as error:
            rows.append((task, "", "", "", str(error).split(";")[0]))
        else:
            rows.append((task, found.text, found.hash, f"params/prompts/{found.path.name}", ""))
    return pd.DataFrame(rows, columns=pd.Index(PROMPT_COLUMNS))


def fig_prompt_card(prompt: pd.DataFrame, title: str) -> Figure:
    """One card, as high as its text is long; `prompt` is one row of :func:`prompts_frame`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as _Figure

    row = {str(key): value for key, value in prompt.iloc[0].to_dict().items()}
    with style():
        measure = _measure(str(row["text"]) or " ")
        size = _size(str(row["text"]), measure)
        lines = wrapped_lines(str(row["text"]), lambda text: measure(text, size), _room())
        n = max(len(lines), 3)
        height = (2 * _MARGIN + _HEAD_PT + n * size * _LEADING) / 72 + 0.06
        figure = _Figure(figsize=(DOUBLE, height))
        FigureCanvasAgg(figure)
        ax = figure.add_axes((0.004, 0.004, 0.992, 0.992))
        draw_prompt_card(row, ax, title=title, lines=lines, size=size, measure=measure)
    return figure


def _room() -> float:
    """Points that a line may take."""
    return DOUBLE * 0.992 * 72 - 2 * _MARGIN


def _size(text: str, measure: Callable[[str, float], float]) -> float:
    """Points of the letters: a little smaller where that keeps every line of the file on one line."""
    widest = max((measure(line, 1.0) for line in text.split("\n")), default=0.0)
    fitting = _room() / widest if widest else _PT
    return min(_PT, fitting) if fitting >= SMALLEST + 0.2 else _PT


def _measure(text: str) -> Callable[[str, float], float]:
    """(text, points) -> its width in points, in the fonts that all of `text` needs."""
    from functools import lru_cache

    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    from signpost_kit.figures.typeface import families_for

    families = families_for(text)

    @lru_cache(maxsize=8192)
    def unit(part: str) -> float:
        prop = FontProperties(family=list(families), size=100)
        return text_to_path.get_text_width_height_descent(part, prop, ismath=False)[0] / 100 if part else 0.0

    return lambda part, size: unit(part) * size


def wrapped_lines(text: str, width: Callable[[str], float], room: float) -> list[tuple[str, bool]]:
    """Lines of a text that are at most `room` wide: (line, whether it goes on one above).

    Lines of the file stay lines. One that is too long is parted at a blank, or within a word that is longer than a
    line (Chinese has no blanks), and goes on indented.
    """
    out: list[tuple[str, bool]] = []
    for line in text.split("\n"):
        rest, continued = line.replace("\t", "    ").rstrip(), False
        indent = " " * (len(rest) - len(rest.lstrip()) + 2)
        while width(rest) > room:
            fits = max((i for i in range(1, len(rest)) if width(rest[:i].rstrip()) <= room), default=1)
            blank = rest.rfind(" ", len(indent) + 1 if continued else 1, fits + 1)
            cut = blank if blank > 0 and rest[:blank].strip() else fits
            out.append((rest[:cut].rstrip(), continued))
            rest, continued = indent + rest[cut:].lstrip(), True
        out.append((rest, continued))
    return out


def draw_prompt_card(
    row: dict[str, Any], ax: Axes, *, title: str, lines: Sequence[tuple[str, bool]], size: float,
    measure: Callable[[str, float], float],
) -> None:  # fmt: skip
    """The card: a dark head with title, file and hash, and the text; what is filled in is blue.

    `ax` has to be measured in points from its lower left corner outwards, which this sets.
    """
    from matplotlib.patches import Rectangle

    figure: Any = ax.figure
    width, height = (side * 72 for side in figure.get_size_inches() * ax.get_position().size)
    ax.set_xlim(0, width)
    ax.set_ylim(0, height)
    ax.set_axis_off()
    ax.add_patch(Rectangle((0, 0), width, height, fc=_PAPER, ec=_HEAD, lw=0.8))
    ax.add_patch(Rectangle((0, height - _HEAD_PT), width, _HEAD_PT, fc=_HEAD, ec=_HEAD, lw=0.8))
    middle = height - _HEAD_PT / 2
    ax.text(_MARGIN, middle, title, va="center", ha="left", color="white", fontsize=8, fontweight="bold",
            gid="title")  # fmt: skip
    source = f"{row['file']} · {str(row['hash'])[:8]}" if row["file"] else ""
    ax.text(width - _MARGIN, middle, source, va="center", ha="right", color="white", fontsize=6.5, gid="source")
    if row["missing"]:
        ax.text(width / 2, (height - _HEAD_PT) / 2, f"No prompt yet: {row['missing']}.", ha="center", va="center",
                color=GREY, gid="missing")  # fmt: skip
        return
    y = height - _HEAD_PT - _MARGIN
    for line, _ in lines:
        y -= size * _LEADING
        _line(ax, line, y + size * 0.35, size, measure)


def _line(ax: Axes, line: str, y: float, size: float, measure: Callable[[str, float], float]) -> None:
    x = _MARGIN
    for part, slot in _parts(line):
        if part.strip():
            lead = measure(part[: len(part) - len(part.lstrip())] or "", size) if part[0] == " " else 0.0
            ax.text(x + lead, y, part.strip(" "), va="baseline", ha="left", fontsize=size, parse_math=False,
                    color=_SLOT_INK if slot else INK, gid="slot" if slot else "line")  # fmt: skip
        x += measure(part, size)


def _parts(line: str) -> Iterator[tuple[str, bool]]:
    """Pieces of a line: (text, whether it is a slot)."""
    last = 0
    for found in _SLOT.finditer(line):
        if found.start() > last:
            yield line[last : found.start()], False
        yield found.group(), True
        last = found.end()
    if last < len(line):
        yield line[last:], False
