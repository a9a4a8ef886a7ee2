"""Published rows below a run's own, from a CSV that a user puts into params/published/.

The CSV `params/published/signpost/<id>.csv` has the heads of the table as the kit itself writes it
(`runs/<name>/tables/out/<id>.csv`): that file is its own template. What is left out is a dash.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.tables_format import Column, Row, Score, Table
from signpost_kit.tables_rows import PUBLISHED, RUN

__all__ = ["users_rows", "with_rows"]

_BOUNDS = ("low", "high")
_EMPTY = frozenset(("", "nan", "–", "-", "--"))


def users_rows(name: str, *, study: str = "signpost") -> pd.DataFrame:
    """The user's CSV of a published table as text; without rows or columns when there is none.

    Raises
    ------
    DataError
        The file cannot be read, or a name or number in it cannot be right.
    """
    from signpost_kit.published import published, published_names, published_text
    from signpost_kit.published_layouts import USER_TABLES, read_layout

    try:
        known = published_names()
    except DataError:  # no folder of published numbers: then there are none
        return pd.DataFrame()
    if f"{study}/{name}" not in known:
        return pd.DataFrame()
    frame = published_text(f"{study}/{name}")
    if study == "signpost" and name in USER_TABLES:
        models = published("signpost/models")["model"].astype(str).tolist()
        datasets = published("signpost/composition")["dataset"].astype(str).tolist()
        read_layout(name, frame, models=models, datasets=datasets)
    return frame


def with_rows(
    table: Table,
    frame: pd.DataFrame,
    *,
    new_column: Callable[[str], Column] | None = None,
    before: str = "",
) -> Table:
    """The table with the rows of `frame` below its own; they compete for no mark. Without rows: the table as it is.

    Parameters
    ----------
    frame
        The label under the table's own head for it (or `label`, `model`), optionally the section, and any of the
        columns by head with unit, head, or key, each with `<head> low` and `<head> high`. The coverage is not read.
    new_column
        Makes a column for a head that the table does not have (a data set that the run lacks); None: an error.
    before
        Key of the column that new ones stand before; empty: they come last.

    Raises
    ------
    DataError
        A head is unknown (the nearest is named) or stands twice, a label is missing, or text stands where a number
        belongs.
    """
    if frame.empty:
        return table
    reader = _Heads(table, new_column)
    places = reader.read([str(name) for name in frame.columns])
    columns = list(table.columns)
    at = next((i for i, c in enumerate(columns) if c.key == before), len(columns))
    columns[at:at] = reader.new
    by_key = {column.key: column for column in columns}
    rows = []
    for line, values in enumerate(frame.itertuples(index=False, name=None), start=2):
        row = _row(table.id, line, places, values, by_key)
        section = f"{PUBLISHED}: {row.section}" if row.section and row.section != PUBLISHED else PUBLISHED
        rows.append(replace(row, section=section))
    rows = [row for section in dict.fromkeys(r.section for r in rows) for row in rows if row.section == section]
    own = tuple(replace(row, section=row.section or RUN) for row in table.rows)
    head = table.section_head or "Source"
    return replace(table, columns=tuple(columns), rows=(*own, *rows), section_head=head)


class _Heads:
    """Which column of a table each head of a CSV means."""

    def __init__(self, table: Table, new_column: Callable[[str], Column] | None) -> None:
        self.table, self.new_column = table, new_column
        self.new: list[Column] = []
        label, section = ("", "label"), ("", "section")
        self._known: dict[str, tuple[str, str]] = {"coverage": ("", "coverage"), "label": label, "section": section}
        if table.section_head:
            self._known[table.section_head.casefold()] = section
        self._known[table.label_head.casefold()] = label
        for column in table.columns:
            self._add(column)
        # What rows and their parts are called elsewhere, unless this table means something by it.
        self._known.setdefault("model", label)
        self._known.setdefault("source", section)

    def _add(self, column: Column) -> None:
        with_unit = f"{column.head} ({column.unit})" if column.unit else column.head
        # The head with its unit is what the kit writes, so it goes before a key or head of the same spelling.
        for name in (with_unit, column.head, column.key):
            self._known.setdefault(name.casefold(), (column.key, "text" if column.text_em else "value"))
            for part in (*_BOUNDS, "coverage"):
                self._known.setdefault(f"{name} {part}".casefold(), (column.key, part))

    def read(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """(column key, part) of each head; key "" for label, section and coverage."""
        out: list[tuple[str, str]] = []
        for name in names:
            place = self._known.get(name.strip().casefold())
            if place is None and self.new_column is not None:
                column = self.new_column(name.strip())
                self.new.append(column)
                self._add(column)
                place = (column.key, "value")
            if place is None:
                raise DataError(self._unknown(name))
            if place in out:
                raise DataError(f"the published {self.table.id}.csv has the column {name!r} twice; keep one")
            out.append(place)
        if ("", "label") not in out:
            raise DataError(
                f"the published {self.table.id}.csv lacks the column {self.table.label_head!r}: its rows' names"
            )
        return out

    def _unknown(self, name: str) -> str:
        heads = [c for c in self.table.to_frame().columns if c != "coverage"]
        near = difflib.get_close_matches(name, heads, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return (
            f"the published {self.table.id}.csv has the column {name!r}, which the table does not: {hint}"
            f"it has: {', '.join(heads)}"
        )


def _row(
    table: str, line: int, places: list[tuple[str, str]], values: Iterable[object], columns: dict[str, Column]
) -> Row:
    label = section = ""
    parts: dict[str, dict[str, float]] = {}
    texts: dict[str, str] = {}
    for (key, part), value in zip(places, values, strict=True):
        text = "" if value is None or bool(pd.isna(value)) else str(value).strip()
        if part == "coverage" or text.casefold() in _EMPTY:
            continue
        if part == "label":
            label = text
        elif part == "section":
            section = text
        elif part == "text":
            texts[key] = text
        else:
            parts.setdefault(key, {})[part] = _number(table, line, columns[key].head, text)
    if not label:
        raise DataError(f"the published {table}.csv, line {line}: a row needs a name")
    scores = {
        key: Score(found.get("value", math.nan), *(found.get(part, math.nan) for part in _BOUNDS))
        for key, found in parts.items()
    }
    return Row(label, scores, section, ranked=False, texts=texts)


def _number(table: str, line: int, head: str, text: str) -> float:
    try:
        value = float(text.replace("−", "-").replace(",", "").rstrip("% "))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(
            f"the published {table}.csv, line {line}: {text!r} is no number for {head!r}; leave it empty when it "
            "is not known"
        )
    return value
