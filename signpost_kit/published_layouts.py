"""What the CSVs of published numbers hold: columns of the shipped ones, and of the tables that a user may add.

A user's CSV of a published table, `params/published/signpost/<id>.csv`, has the heads of the table as the kit
writes it (`runs/<name>/tables/out/<id>.csv` is its template); the heads may also be the short keys below.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.frames import VARIANTS

__all__ = ["LABEL", "SECTION", "SHIPPED", "USER_TABLES", "Field", "Layout", "check_shipped", "read_layout"]

LABEL, SECTION = "label", "section"
_IGNORED = frozenset({"coverage", "rank", "note"})
_PARTS = ("low", "high", "coverage")


class Field(NamedTuple):
    """One column of a table: its key, printed head and unit, and the score that it is."""

    key: str
    head: str
    unit: str
    metric: str
    variant: str = ""

    @property
    def heads(self) -> tuple[str, ...]:
        """The spellings of its head."""
        with_unit = f"{self.head} ({self.unit})" if self.unit else self.head
        return with_unit, self.head, self.key


@dataclass(frozen=True)
class Layout:
    """A table that a user may add."""

    frame: str
    """Which of the run's frames it belongs to: macro, cells, tiers, alpha, radius."""
    fields: tuple[Field, ...]
    label: str = "Model"
    """What the rows are: Model, or Tier."""
    section: str = "Source"
    """Head of the column that groups rows; what it says counts in tables by tier and by data set."""
    dataset: str = "macro"
    tier: str = ""
    others: str = ""
    """Metric of every further column, whose head is a data set, a decay or a radius; "": there are none."""


def _percent(key: str, head: str, metric: str, variant: str = "") -> Field:
    return Field(key, head, "%", metric, variant)


_WLA = tuple(_percent(f"wla_{v}", f"WLA {v}", "wla", v) for v in VARIANTS)
_TBS = Field("tbs", "TBS", "km", "tbs_km", "Adversarial")
_TFR = _percent("tfr", "TFR", "tfr", "Adversarial")
_SUM = (_percent("c", "C", "capability"), _percent("r", "R", "robustness"), Field("mcrs", "MCRS", "", "mcrs"))
_ONE_SET = (*(_percent(v, f"WLA {v}", "wla", v) for v in VARIANTS), _TBS, _TFR)
_SETS = ("IM2GPS3K", "YFCC4K", "GoogleSV", "BaiduSV")

USER_TABLES: dict[str, Layout] = {
    "tab01": Layout("macro", (*_WLA, _TBS, _TFR, *_SUM), section="Provider"),
    "tab07": Layout("cells", (_percent("macro", "Macro", "tfr", "Adversarial"),), others="tfr"),
    "tab11": Layout(
        "tiers",
        (
            *(Field(v, v, "WLA %", "wla", v) for v in ("Original", "Blank", "Adversarial")),
            Field("points", "Drop", "points", "drop_points", "Adversarial"),
            Field("percent", "Relative drop", "%", "drop_percent", "Adversarial"),
        ),
        label="Tier",
        section="Model",
    ),
    "tab12": Layout("alpha", (), others="wla"),
    "tab13": Layout(
        "macro",
        (
            _percent("rho_rnd", "ρ Random", "retention", "Random"),
            _percent("rho_adv", "ρ Adversarial", "retention", "Adversarial"),
            _percent("q_tbs", "q TBS", "q_tbs", "Adversarial"),
            _percent("q_tfr", "q TFR", "q_tfr", "Adversarial"),
            *_SUM,
        ),
    ),
    "tab17": Layout(
        "macro",
        (
            Field("mean", "Mean TDR", "km", "tdr_km_mean", "Adversarial"),
            Field("median", "Median TDR", "km", "tdr_km_median", "Adversarial"),
            _percent("rate", "Attraction rate", "attraction_rate", "Adversarial"),
        ),
    ),
    "tab18": Layout("radius", (), section="Data set", tier="T3", others="tfr"),
    **{f"tab{20 + i}": Layout("cells", _ONE_SET, section="Provider", dataset=name) for i, name in enumerate(_SETS)},
}
"""Tables that can be turned into the run's own frames; others (tab02, tab04 ...) stand below a run's table."""
_COUNTS = frozenset({"groups", "share", "share (%)", "n", "pairs", "answers"})
"""Columns of those tables that are no scores."""

SHIPPED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "signpost/aggregate_facts": (("quantity", "unit", "source"), ("value",)),
    "signpost/quoted_facts": (("quantity", "unit", "source"), ("value",)),
    "signpost/composition": (("dataset", "source"), ("groups",)),
    "signpost/mcrs_leaderboard": (
        ("model", "provider"),
        ("rank", "mcrs", "capability_pct", "robustness_pct"),
    ),
    "signpost/models": (("model", "api_identifier", "provider", "tier"), ()),
    "geocontext/aggregate_facts": (("quantity", "unit", "source"), ("value",)),
    "geocontext/quoted_facts": (("quantity", "unit", "source"), ("value",)),
    "geocontext/geohint_echo": (("tier",), ("near_pct", "mid_pct", "far_pct", "all_pct", "n_all")),
    "geocontext/geohint_interventions": (
        ("intervention", "regime", "schema"),
        ("near_pct", "mid_pct", "far_pct", "overall_pct", "delta_pts", "p", "n_pairs"),
    ),
    "geocontext/geohint_models": (
        ("model",),
        ("n", "hit_pct", "hit_near_pct", "hit_mid_pct", "hit_far_pct", "echo_pct"),
    ),
    "geocontext/geohint_ratio": (
        ("regime", "band_km"),
        ("n", "ref_km_geomean", "err_km_geomean", "median_ratio"),
    ),
    "geocontext/geohint_regimes": (
        ("regime", "model"),
        ("n", "no_context_pct", "with_context_pct", "hit_near_pct", "hit_mid_pct", "hit_far_pct", "echo_pct",
         "uncorrected_pts", "corrected_pts", "corrected_sd"),
    ),
    "geocontext/geohint_slope": (("subset",), ("n", "beta", "p", "beta_fine_only")),
    "geocontext/geohint_warn_by_model": (("model",), ("n_pairs", "all_pts", "illegible_pts", "legible_pts")),
    "geocontext/geoverify": (
        ("model", "delta1_band"),
        ("hit_pct", "false_alarm_pct", "swapped_image_pct", "gray_field_pct", "dprime_0.15_0.3", "dprime_0.3_0.7",
         "dprime_0.7_1.5", "dprime_1.5_3", "dprime_3_6", "criterion_nearest", "criterion_farthest",
         "fa_confidence_median", "fa_confidence_ge_0.8_pct"),
    ),
    "geocontext/models": (("model", "api_identifier", "route", "role"), ()),
}  # fmt: skip
"""Columns of the tables that come with the kit: of words, and of numbers. Further columns are kept."""


def check_shipped(name: str, frame: pd.DataFrame) -> None:
    """Whether a shipped table still has its columns, with numbers where numbers belong.

    Raises
    ------
    DataError
        A column is missing, or a cell of numbers holds words; the line is named.
    """
    if name not in SHIPPED:
        return
    words, numbers = SHIPPED[name]
    missing = [column for column in (*words, *numbers) if column not in frame.columns]
    if missing:
        raise DataError(f"the published table {name}.csv lacks the column(s) {', '.join(missing)}; restore it")
    for column in numbers:
        for line, cell in enumerate(frame[column], start=2):
            _number(f"{name}.csv", line, column, cell, "", empty_ok=True)
    if frame.empty:
        raise DataError(f"the published table {name}.csv has no rows; restore it")


def read_layout(
    name: str, frame: pd.DataFrame, *, models: Sequence[str], datasets: Sequence[str]
) -> list[dict[str, object]]:
    """The scores of a user's table: rows with label, section, place (head of a further column), field and value.

    Parameters
    ----------
    name
        A key of :data:`USER_TABLES`.
    frame
        The CSV as text, "" where a cell is empty.
    models, datasets
        Names that labels and sections may have.

    Raises
    ------
    DataError
        A head is unknown or stands twice, a label is missing, unknown or there twice, a cell is no number, or a
        number is out of range (fractions where per cent belong). The line, what is allowed and the nearest name are
        given.
    """
    layout, file = USER_TABLES[name], f"signpost/{name}.csv"
    places = _places(file, layout, [str(column) for column in frame.columns], datasets)
    out: list[dict[str, object]] = []
    seen: dict[tuple[str, str], int] = {}
    for line, cells in enumerate(frame.itertuples(index=False, name=None), start=2):
        row = dict(zip(places, (str(cell).strip() for cell in cells), strict=True))
        names = {key: text for (key, _), text in row.items() if key in (LABEL, SECTION)}
        label, section = names.get(LABEL, ""), names.get(SECTION, "")
        _check_names(file, line, layout, label, section, models=models, datasets=datasets)
        if (label, section) in seen:
            raise DataError(
                f"{file}, line {line}: {label!r} stands in line {seen[label, section]} already; keep one"
            )
        seen[label, section] = line
        for (key, field), text in row.items():
            if field is not None:
                value = _number(file, line, field.head, text, field.unit)
                out.append({"label": label, "section": section, "place": key, "field": field, "value": value})
    _check_percent(file, out)
    return out


def _places(
    file: str, layout: Layout, heads: Sequence[str], datasets: Sequence[str]
) -> list[tuple[str, Field | None]]:
    """What each column is: (LABEL or SECTION, None), (head, the field), or ("", None) for what is not read."""
    known: dict[str, tuple[str, Field | None]] = dict.fromkeys((*_IGNORED, *_COUNTS), ("", None))
    known |= dict.fromkeys(("label", "model", layout.label.casefold()), (LABEL, None))
    known |= dict.fromkeys(("section", "source", layout.section.casefold()), (SECTION, None))
    if layout.label != "Model" and layout.section == "Model":
        known["model"] = (SECTION, None)
    for field in layout.fields:
        for head in field.heads:
            known.setdefault(head.casefold(), ("", field))
    out: list[tuple[str, Field | None]] = []
    for number, head in enumerate(heads):
        plain = head.strip().casefold()
        base = plain.rsplit(" ", 1)[0] if plain.rsplit(" ", 1)[-1] in _PARTS else plain
        if plain != base and (base in known or layout.others):
            out.append((f"#{number}", None))
            continue
        place = known.get(plain) or _other(layout, head.strip(), datasets)
        if place is None:
            raise DataError(_unknown_head(file, layout, head, datasets))
        if (place[0] in (LABEL, SECTION) or place[1] is not None) and place in out:
            raise DataError(f"{file} has the column {head!r} twice; keep one")
        out.append(place if place != ("", None) else (f"#{number}", None))
    if (LABEL, None) not in out:
        raise DataError(f"{file} lacks the column {layout.label!r}, the names of its rows")
    return out


def _other(layout: Layout, head: str, datasets: Sequence[str]) -> tuple[str, Field | None] | None:
    """A further column: `IM2GPS3K (%)`, `α = 0.005 (WLA %)`, `< 50 km (%)`; its place is the data set or number."""
    bare = head.split("(", maxsplit=1)[0].strip()
    if not layout.others:
        return None
    if bare.casefold().startswith(("n ", "rank")):
        return ("", None)
    if layout.frame == "cells":
        named = {name.casefold(): name for name in datasets}
        key = bare.casefold().removeprefix("tfr_")
        return (named[key], Field(key, bare, "%", layout.others, "Adversarial")) if key in named else None
    text = bare.casefold().replace("α", "").replace("alpha", "").removeprefix("wla_").removeprefix("km_")
    text = text.replace("=", "").replace("<", "").removesuffix("km").strip(" _")
    try:
        value = float(text)
    except ValueError:
        return None
    if not (math.isfinite(value) and value > 0):
        return None
    return (f"{value:g}", Field(f"{value:g}", bare, "%", layout.others, "Adversarial"))


def _unknown_head(file: str, layout: Layout, head: str, datasets: Sequence[str]) -> str:
    heads = [layout.label, layout.section, *(field.heads[0] for field in layout.fields)]
    heads += {"cells": [*datasets], "alpha": ["α = 0.005 (WLA %)"], "radius": ["< 50 km (%)"]}.get(
        layout.frame if layout.others else "", []
    )
    near = difflib.get_close_matches(head, heads, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{file} has the column {head!r}, which the table does not: {hint}it has: {', '.join(heads)}"


def _check_names(
    file: str,
    line: int,
    layout: Layout,
    label: str,
    section: str,
    *,
    models: Sequence[str],
    datasets: Sequence[str],
) -> None:
    where = f"{file}, line {line}"
    if not label:
        raise DataError(f"{where}: a row needs a name in the column {layout.label!r}")
    kinds: Mapping[str, Sequence[str]] = {"Model": models, "Tier": ("T1", "T2", "T3")}
    _check_name(where, layout.label, label, kinds[layout.label])
    if section and layout.section == "Data set":
        _check_name(where, layout.section, section, [*datasets, "All data sets", "macro"])
    if section and layout.section == "Model":
        _check_name(where, layout.section, section, [*models, "mean of 20 models"])


def _check_name(where: str, what: str, name: str, allowed: Sequence[str]) -> None:
    if name in allowed:
        return
    near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise DataError(f"{where}: no published {what.casefold()} {name!r}; {hint}there are: {', '.join(allowed)}")


def _number(file: str, line: int, head: str, cell: object, unit: str, *, empty_ok: bool = True) -> float:
    text = "" if cell is None else str(cell).replace("−", "-").replace(",", "").strip().rstrip("%").strip()
    if empty_ok and text in ("", "nan", "–", "-", "--"):
        return math.nan
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(
            f"{file}, line {line}: {cell!r} is no number for {head!r}; leave it empty if it is not known"
        )
    if "%" in unit and not 0 <= value <= 100:
        raise DataError(f"{file}, line {line}: {head!r} is {value:g}; per cent from 0 to 100 belong there")
    return value


def _check_percent(file: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Fractions in a column of per cent: three or more numbers, none above 1."""
    columns: dict[str, list[float]] = {}
    for row in rows:
        field = row["field"]
        if isinstance(field, Field) and "%" in field.unit:
            columns.setdefault(field.head, []).append(float(str(row["value"])))
    for head, values in columns.items():
        known = [value for value in values if math.isfinite(value)]
        if len(known) >= 3 and 0 < max(known) <= 1:
            raise DataError(
                f"{file}: {head!r} holds {known[0]:g}, {known[1]:g} ...; it is in per cent: write 47.1, not 0.471"
            )
