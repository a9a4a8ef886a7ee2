"""The formats of a table: CSV (numbers), LaTeX (booktabs) and HTML (escaped).

A score is printed with its 95 % interval, `47.1 [44.0, 50.2]`; a row says which share of its questions was
answered, and a score whose own share differs says so itself, `47.1 [44.0, 50.2] (93 %)`. A missing score is a
dash in print and empty in the CSV, never 0. Bold marks the best of a column, underline the worst.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd

from signpost_kit.errors import ConfigError
from signpost_kit.files import safe_name, write_text

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler
    from pandas.io.formats.style_render import CSSDict

__all__ = ["Column", "Row", "SavedTable", "Score", "Table", "save_table"]

DASH = "–"


@dataclass(frozen=True)
class Score:
    """One number in printed units, its interval, and the share of its questions that was answered (0..1)."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    coverage: float = math.nan

    def scaled(self, factor: float) -> Score:
        """The same score in another unit."""
        return Score(self.value * factor, self.low * factor, self.high * factor, self.coverage)


@dataclass(frozen=True)
class Column:
    """One column: `better` is 1 where high is good, -1 where low is good, 0 where neither is."""

    key: str
    head: str
    unit: str = ""
    digits: int = 1
    better: int = 0
    arrow: bool = True
    """Whether the head shows which way is better (not where rows differ in that)."""
    whole: bool = False
    """Whether its numbers are counts or ranks (printed without decimals)."""
    is_p: bool = False
    """Whether it holds p-values: one that rounds to nothing is printed as < the smallest one, never as 0."""
    text_em: float = 0.0
    """Above 0 it holds words (`Row.texts`), in lines of about so many em; none are printed as a dash."""


@dataclass(frozen=True)
class Row:
    """One line: a label, the section it stands in, its scores by column key, and its overall coverage (0..1)."""

    label: str
    scores: Mapping[str, Score]
    section: str = ""
    coverage: float = math.nan
    ranked: bool = True
    """Whether it competes for best and worst."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Its words by column key, of the columns that hold words."""


@dataclass(frozen=True)
class Table:
    """A table ready for any format."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    label_head: str = "Model"
    section_head: str = ""
    note: str = field(default="")

    def to_frame(self) -> pd.DataFrame:
        """Numbers only: per column the value and, where any row has them, `low`, `high` and `coverage`."""
        data: dict[str, list[object]] = {}
        if self.section_head:
            data[self.section_head] = [row.section for row in self.rows]
        data[self.label_head] = [row.label for row in self.rows]
        for column in self.columns:
            name = f"{column.head} ({column.unit})" if column.unit else column.head
            if column.text_em:
                data[name] = [row.texts.get(column.key, "") for row in self.rows]
                continue
            scores = [row.scores.get(column.key, Score()) for row in self.rows]
            data[name] = [_round(s.value) for s in scores]
            if column.whole:
                data[name] = list(pd.array(data[name], dtype="Int64"))
            for part in ("low", "high", "coverage"):
                values = [getattr(s, part) for s in scores]
                if any(math.isfinite(v) for v in values):
                    data[f"{column.head} {part}"] = [_round(v) for v in values]
        data["coverage"] = [_round(row.coverage) for row in self.rows]
        return pd.DataFrame(data)

    def to_csv(self) -> str:
        """CSV with a header; missing numbers are empty."""
        return self.to_frame().to_csv(index=False, lineterminator="\n")

    def to_html(self) -> str:
        """An HTML table; every name and label is escaped."""
        style = self._styled(html.escape, "font-weight: bold", "text-decoration: underline")
        style = style.set_table_attributes('class="signpost-table"')
        head = html.escape(self.caption) + (f" <small>{html.escape(self.note)}</small>" if self.note else "")
        return style.set_caption(head if self.rows else head + " <em>No rows.</em>").to_html() + "\n"

    def to_latex(self) -> str:
        """A LaTeX `table*` for booktabs (and graphicx when wide); names are escaped."""
        style = self._styled(_latex, "textbf: --rwrap;", "underline: --rwrap;", math=True)
        names = 2 if self.section_head else 1
        kinds = [_WRAPPED.format(c.text_em) if c.text_em else "r" for c in self.columns]
        kinds += ["r"] if self._covered else []
        body = style.to_latex(hrules=True, column_format="l" * names + "".join(kinds))
        lines = body.rstrip().splitlines()
        start = lines.index(r"\midrule") + 1
        for i in reversed(self._breaks()):
            lines.insert(start + i, r"\midrule")
        tabular = "\n".join(lines)
        if len(self.columns) > 6:
            tabular = "\\resizebox{\\textwidth}{!}{%\n" + tabular + "}"
        wrapped = any(column.text_em for column in self.columns)
        packages = "array, booktabs and graphicx" if wrapped else "booktabs and graphicx"
        caption = _latex(self.caption) + (f" {_latex(self.note)}" if self.note else "")
        return (
            f"% needs {packages}; compile with xelatex or lualatex where names are not Latin\n"
            f"\\begin{{table*}}[t]\n\\centering\\small\n\\caption{{{caption}}}\n\\label{{tab:{self.id}}}\n"
            f"{tabular}\n\\end{{table*}}\n"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    @property
    def _covered(self) -> bool:
        """Whether any row says what share of its questions was answered."""
        return not self.rows or any(math.isfinite(row.coverage) for row in self.rows)

    def _breaks(self) -> list[int]:
        """Rows before which a new section begins, the first row left out."""
        return [i for i in range(1, len(self.rows)) if self.rows[i].section != self.rows[i - 1].section]

    def _styled(self, escape: Callable[[str], str], bold: str, underline: str, *, math: bool = False) -> Styler:
        """Text of every cell, escaped already, and the marks of best and worst."""
        covered = self._covered
        heads = [escape(self.label_head), *(_head(c, escape, math=math) for c in self.columns)]
        heads += [escape("Coverage")] if covered else []
        texts, marks = [], []
        breaks = {0, *self._breaks()}
        for i, row in enumerate(self.rows):
            cells = [
                escape(row.texts.get(c.key, "")) or _dash(math=math)
                if c.text_em
                else _text(row.scores.get(c.key, Score()), c, row, math=math)
                for c in self.columns
            ]
            cells = [_guard(escape(row.label), math=math), *cells]
            cells += [_percent(row.coverage, math=math)] if covered else []
            if self.section_head:
                cells.insert(0, _guard(escape(row.section), math=math) if i in breaks else "")
            texts.append(cells)
            marks.append([""] * len(cells))
        if self.section_head:
            heads.insert(0, escape(self.section_head))
        first = len(heads) - len(self.columns) - int(covered)
        for j, column in enumerate(self.columns, start=first):
            values = [
                row.scores.get(column.key, Score()).value if row.ranked else float("nan") for row in self.rows
            ]
            for i, best in _extremes(values, column):
                marks[i][j] = bold if best else underline
        # Numbers stand for the heads until the end: two columns may be called alike.
        frame = pd.DataFrame(texts, columns=pd.RangeIndex(len(heads)), dtype=object)
        style = frame.style.hide(axis="index")
        style.format_index(lambda j: heads[j], axis=1)
        if self.rows:
            style = style.apply(lambda _: np.array(marks, dtype=object), axis=None)
        style.set_uuid(self.id)
        if not math:
            style.set_table_styles([_wrapping(j, c) for j, c in enumerate(self.columns, first) if c.text_em])
        style.cell_ids = False
        return style


def _round(value: float) -> float:
    return round(float(value), 6) if math.isfinite(value) else math.nan


def _number(value: float, digits: int, *, math: bool) -> str:
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")  # -0.0 is 0.0
    return text.replace("-", "$-$" if math else "−")


def _percent(share: float, *, math: bool) -> str:
    if not _finite(share):
        return _dash(math=math)
    return f"{100 * share:.0f}" + (r"\,\%" if math else " %")


def _dash(*, math: bool) -> str:
    return "--" if math else DASH


def _text(score: Score, column: Column, row: Row, *, math: bool) -> str:
    """`47.1 [44.0, 50.2] (93 %)`: interval and own coverage only where there is something to say."""
    if not _finite(score.value):
        return _dash(math=math)
    digits = 0 if column.whole else column.digits
    if column.is_p and 0 < score.value < 0.5 * 10.0**-digits:
        return f"{'$<$' if math else '&lt;'} {10.0**-digits:.{digits}f}"
    text = _number(score.value, digits, math=math)
    own, usual = (_percent(c, math=math) for c in (score.coverage, row.coverage))
    covered = f" ({own})" if _finite(score.coverage) and own != usual else ""
    if not (_finite(score.low) and _finite(score.high)):
        return text + covered
    bounds = ", ".join(_number(v, digits, math=math) for v in (score.low, score.high))
    if math:
        return f"{text} {{\\scriptsize[{bounds}]}}{covered}"
    return f"{text} <small>[{bounds}]{covered}</small>"  # one piece: what stood behind it would be drawn over it


def _wrapping(position: int, column: Column) -> CSSDict:
    """HTML's style of a column of words, in the table's own style block: a report drops the styles of cells."""
    width = f"min-width: {column.text_em:g}em; max-width: {1.5 * column.text_em:g}em"
    props = f"text-align: left; white-space: normal; overflow-wrap: anywhere; {width}"
    return {"selector": f"td.col{position}", "props": props}


_WRAPPED = r">{{\raggedright\arraybackslash}}p{{{:g}em}}"
"""LaTeX's column of words in lines so many em long (package array)."""


def _finite(value: float) -> bool:
    return math.isfinite(value)


def _head(column: Column, escape: Callable[[str], str], *, math: bool) -> str:
    text = escape(column.head)
    if column.unit:
        text += f" ({escape(column.unit)})"
    if column.better and column.arrow:
        arrows = (r"$\uparrow$", r"$\downarrow$") if math else ("↑", "↓")
        text += f" {arrows[0] if column.better > 0 else arrows[1]}"
    return text


def _extremes(values: Sequence[float], column: Column) -> list[tuple[int, bool]]:
    """(row, is best) of the best and the worst as printed; nothing when fewer than two rows differ."""
    printed = {i: float(f"{v:.{column.digits}f}") for i, v in enumerate(values) if _finite(v)}
    if not column.better or len(set(printed.values())) < 2:
        return []
    high, low = max(printed.values()), min(printed.values())
    best, worst = (high, low) if column.better > 0 else (low, high)
    return [(i, v == best) for i, v in printed.items() if v in (best, worst)]


_LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
          "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
          ">": r"\textgreater{}", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "−": "$-$", "–": "--"}  # fmt: skip


def _latex(text: str) -> str:
    """Escape for LaTeX; line breaks become spaces."""
    return "".join(_LATEX.get(char, char) for char in " ".join(text.split()))


def _guard(text: str, *, math: bool) -> str:
    r"""In LaTeX a row that began with [ would be read as the length of the line break (\\[2mm]); * likewise."""
    return "{}" + text if math and text.startswith(("[", "*")) else text


class _HasTables(Protocol):
    @property
    def tables_dir(self) -> Path: ...


@dataclass(frozen=True)
class SavedTable:
    """Where a table was written. Shown in a notebook it is the HTML on disk."""

    csv: Path
    tex: Path
    html: Path

    def _repr_html_(self) -> str:
        return self.html.read_text(encoding="utf-8")


def save_table(table: Table, run: _HasTables | Path) -> SavedTable:
    """Write `<tables_dir>/<id>.csv`, `.tex` and `.html`, each whole or not at all; `run` is a run or a folder.

    Raises
    ------
    ConfigError
        The table's id is no plain file name.
    StorageError
        The folder cannot be written.
    """
    if safe_name(table.id) != table.id:
        raise ConfigError(f"{table.id!r} is no plain file name for a table; use letters, digits, '-' and '_'")
    folder = run if isinstance(run, Path) else run.tables_dir
    saved = SavedTable(*(folder / f"{table.id}.{ending}" for ending in ("csv", "tex", "html")))
    write_text(saved.csv, table.to_csv())
    write_text(saved.tex, table.to_latex())
    write_text(saved.html, table.to_html())
    return saved
