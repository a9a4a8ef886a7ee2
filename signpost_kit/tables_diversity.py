"""The table of a benchmark's diversity: how often targets, continents and scripts come up, how wide texts are."""

from __future__ import annotations

import pandas as pd

from signpost_kit.replacements.diversity import REPEATED
from signpost_kit.tables_format import Column, Row, Score, Table

__all__ = ["diversity_table"]

_SECTIONS = {
    "targets": "Targets",
    "continents": "Continents of the targets",
    "scripts": "Scripts, {kind}",
    "lengths": "Width against the original's",
}
_UNKNOWN = "no known place"
_LONGEST_LABEL = 60


def diversity_table(summary: pd.DataFrame, *, warning: str = "") -> Table:
    """Targets, continents, scripts and widths of a set of replacements.

    Parameters
    ----------
    summary
        Of :func:`signpost_kit.replacements.diversity.diversity_summary`.
    warning
        Of :func:`signpost_kit.replacements.diversity.repeat_warning`; it stands below the table.
    """
    columns = (
        Column("texts", "Texts", whole=True, digits=0),
        Column("share", "Share", "%", 1),
        Column("median", "Median width", "times", 2),
    )
    rows = [_row(line) for line in summary.to_dict("records")]
    note = (
        "Targets and continents count one adversarial text per picture, the one that decides on the trap; coverage "
        "is the share of pictures whose text names a known place. A target of more than "
        f"{100 * REPEATED:.0f} % of the pictures comes up too often. Brackets: 5 % and 95 % quantiles."
    )
    if warning:
        note += f" Warning: {warning}."
    return Table("tab_diversity", "Diversity of the replacement texts.", columns, tuple(rows),
                 label_head="What", section_head="Part", note=note)  # fmt: skip


def _row(line: dict[str, object]) -> Row:
    part, kind, label = (str(line[name]) for name in ("part", "kind", "label"))
    numbers = {name: _float(line[name]) for name in ("texts", "share", "median", "low", "high", "coverage")}
    scores = {"texts": Score(numbers["texts"]), "share": Score(100 * numbers["share"])}
    if part == "lengths":
        scores["median"] = Score(numbers["median"], numbers["low"], numbers["high"])
    shown = label[:_LONGEST_LABEL] or _UNKNOWN
    return Row(shown, scores, _SECTIONS.get(part, part).format(kind=kind), numbers["coverage"], ranked=False)


def _float(value: object) -> float:
    return float(str(value))
