"""The reproduction page: published numbers beside what comes out when they are computed again."""

from __future__ import annotations

import math

import pandas as pd

from signpost_kit.reproduction import VERDICTS, summary
from signpost_kit.tables_format import Column, Row, Score, Table
from signpost_kit.tables_rows import records

__all__ = ["reproduction_summary", "reproduction_table"]

_COLUMNS = (
    Column("published", "Published", text_em=5),
    Column("unit", "Unit", text_em=4),
    Column("ours", "Ours", text_em=6),
    Column("difference", "Difference", text_em=5),
    Column("verdict", "Verdict", text_em=5),
    Column("basis", "From", text_em=6),
    Column("reason", "How, or why not", text_em=18),
    Column("source", "Where", text_em=5),
)
_UNITS = {
    "percent": "%",
    "fraction": "share",
    "of 80 model-dataset cells": "of 80",
    "percent no-context hit rate": "%",
}
_MORE = 2
"""Digits that ours has beyond those that are printed."""


def reproduction_table(rows: pd.DataFrame, *, id: str = "reproduction", title: str = "", note: str = "") -> Table:
    """Every published number: what is printed, ours, the difference, and how it came out or why it did not.

    Parameters
    ----------
    rows
        From :func:`signpost_kit.reproduction.compare`.
    id, title
        Of the table; a file name, and the study's name.
    note
        Said after what the table says of itself.
    """
    lines = tuple(
        Row(_label(row), {}, str(row["section"]), ranked=False, texts=_texts(row)) for row in records(rows)
    )
    words = "; ".join(f"{name}: {meaning}" for name, meaning in VERDICTS.items())
    told = f"{_counted(rows)} {words[0].upper()}{words[1:]}. {note}".strip()
    caption = f"Published numbers{' of ' + title if title else ''} computed again."
    return Table(id, caption, _COLUMNS, lines, label_head="Quantity", section_head="Section", note=told)


def reproduction_summary(rows: pd.DataFrame, *, id: str = "reproduction_summary", title: str = "") -> Table:
    """How many published numbers came out, by section."""
    counts = summary(rows)
    columns = (
        Column("numbers", "Numbers", whole=True),
        *(Column(name, name.capitalize(), whole=True) for name in VERDICTS),
    )
    lines = tuple(
        Row(str(row["section"]), {column.key: Score(float(row[column.key])) for column in columns}, ranked=False)
        for row in records(counts)
    )
    caption = f"How many published numbers{' of ' + title if title else ''} come out."
    return Table(id, caption, columns, lines, label_head="Section")


def _counted(rows: pd.DataFrame) -> str:
    counts = records(summary(rows).tail(1))
    if not counts or not counts[0]["numbers"]:
        return "No published number is known."
    parts = [f"{counts[0][name]:.0f} {name}" for name in VERDICTS if counts[0][name]]
    return f"{counts[0]['numbers']:.0f} numbers: {', '.join(parts)}."


def _label(row: dict[str, object]) -> str:
    n = int(str(row["numbers"]))
    name = str(row["quantity"])
    return f"{name} ({n} numbers)" if n > 1 and str(n) not in name else name


def _texts(row: dict[str, object]) -> dict[str, str]:
    published, half = float(str(row["published"])), float(str(row["tolerance"]))
    digits = max(0, round(-math.log10(2 * half))) if half > 0 else 0
    ours = float(str(row["ours"]))
    exact = half == 0 and math.isfinite(ours) and ours == round(ours)
    more = 0 if exact else digits + _MORE
    return {
        "published": _number(published, digits),
        "unit": _UNITS.get(str(row["unit"]), str(row["unit"])),
        "ours": _number(ours, more),
        "difference": _number(float(str(row["difference"])), more),
        **{name: str(row[name]) for name in ("verdict", "basis", "reason", "source")},
    }


def _number(value: float, digits: int) -> str:
    """Plain decimals, so that the CSV holds numbers; "" where there is none."""
    if not math.isfinite(value):
        return ""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text
