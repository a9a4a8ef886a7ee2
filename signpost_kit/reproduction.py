"""Which published numbers can be recomputed, and what comes out: a row per number with its verdict and reason.

Numbers are recomputed from what else is published (a total from its parts, MCRS from C and R), from tables of the
paper that a user has added, and from the replies of an imported release, in which case nearly all of them are. A
published number is rounded, and so is what it is recomputed from: both are carried through.

The numbers themselves are in `reproduction_signpost.py`, `reproduction_scores.py` and `reproduction_geocontext.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from signpost_kit.published import published_text
from signpost_kit.rounding import Printed, Range, printed

__all__ = ["COLUMNS", "VERDICTS", "Claim", "Found", "claims_of", "compare", "exactly", "summary"]

VERDICTS: dict[str, str] = {
    "same": "comes out as printed",
    "rounding": "as near as the rounding of what goes in allows",
    "holds": "a bound or a possibility, which is true",
    "differs": "does not come out",
    "open": "needs what is not at hand",
}
COLUMNS: tuple[str, ...] = (
    "section", "quantity", "numbers", "published", "unit", "ours", "low", "high", "difference", "tolerance",
    "verdict", "basis", "reason", "source",
)  # fmt: skip
_EXACT = ("count", "of ", "rank")


class Claim(NamedTuple):
    """A published number."""

    quantity: str
    number: Printed
    unit: str = ""
    source: str = ""
    section: str = ""
    numbers: int = 1
    """How many published numbers the row stands for: those of a column that nothing is known about go together."""


class Found(NamedTuple):
    """What came out for a claim, on some basis; or, without a range, why nothing did."""

    range: Range | None
    basis: str
    reason: str
    """How it was calculated, or why not, or why it may differ."""
    bound: str = ""
    """"": to be equal. `above`, `least`: the published number is a bound (ours is above it; ours is it or more).
    `possible`: the nearest value that is possible."""


def exactly(value: float) -> Range:
    """A number without any rounding in it."""
    return Range(float(value), float(value), float(value))


def claims_of(name: str, section: str = "") -> list[Claim]:
    """The claims of a table of facts (quantity, value, unit, source), digits as printed."""
    frame = published_text(name)
    return [
        Claim(
            str(row["quantity"]),
            printed(str(row["value"]), exact=str(row["unit"]).startswith(_EXACT)),
            str(row["unit"]),
            str(row["source"]),
            section,
        )
        for row in frame.to_dict("records")
    ]


def compare(
    claims: Sequence[Claim], found: Mapping[str, Sequence[Found]], *, missing: Mapping[str, str] | str = ""
) -> pd.DataFrame:
    """One row per claim and basis.

    Parameters
    ----------
    found
        Quantity -> what came out. A claim that nothing (or no range) came out for is "open".
    missing
        Quantity -> why nothing can come out, for claims that are not in `found`; or one reason for all of them.

    Returns
    -------
    Columns :data:`COLUMNS`. published and ours in the published unit; low and high: what ours can be, given the
    rounding of what went in; difference = ours - published; tolerance: half a unit of the last printed digit;
    verdict: a key of :data:`VERDICTS`. Numbers that are not there are NaN. What is open comes last in its section.
    """
    rows = []
    for claim in claims:
        results = list(found.get(claim.quantity, ()))
        able = [result for result in results if result.range is not None and not math.isnan(result.range.value)]
        if able:
            rows += [_row(claim, result) for result in able]
            continue
        told = missing if isinstance(missing, str) else missing.get(claim.quantity, "")
        reason = " ".join(dict.fromkeys(r.reason for r in results if r.reason)) or told
        rows.append(_row(claim, Found(None, "", reason or "No calculation is known.")))
    sections = list(dict.fromkeys(claim.section for claim in claims))
    rows.sort(key=lambda row: (sections.index(str(row["section"])), row["verdict"] == "open"))
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS))


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """section, numbers (published), one column per verdict: how many of them, each by its best row; "All" last."""
    order = {name: place for place, name in enumerate(VERDICTS)}
    best = rows.assign(place=rows["verdict"].map(order)).sort_values("place", kind="stable")
    # A number that comes out on one basis and differs on another is counted as differing.
    differs = best[best["verdict"] == "differs"]
    best = pd.DataFrame(pd.concat([differs, best])).drop_duplicates(subset=["section", "quantity"])
    sections = list(dict.fromkeys(rows["section"]))
    table = []
    for section in [*sections, *(["All"] if len(sections) > 1 else [])]:
        mine = best if section == "All" else best[best["section"] == section]
        counts = {name: int(mine.loc[mine["verdict"] == name, "numbers"].sum()) for name in VERDICTS}
        table.append({"section": section, "numbers": sum(counts.values())} | counts)
    return pd.DataFrame(table, columns=pd.Index(["section", "numbers", *VERDICTS]))


def merged(parts: Iterable[Mapping[str, Sequence[Found]]]) -> dict[str, list[Found]]:
    """Results of several bases, in order."""
    out: dict[str, list[Found]] = {}
    for part in parts:
        for quantity, results in part.items():
            out.setdefault(quantity, []).extend(results)
    return out


def _row(claim: Claim, result: Found) -> dict[str, object]:
    number, got = claim.number, result.range
    ours = (math.nan,) * 3 if got is None else got
    return {
        "section": claim.section,
        "quantity": claim.quantity,
        "numbers": claim.numbers,
        "published": number.value,
        "unit": claim.unit,
        "ours": ours[0],
        "low": ours[1],
        "high": ours[2],
        "difference": ours[0] - number.value,
        "tolerance": number.half,
        "verdict": "open" if got is None else _verdict(number, got, result.bound),
        "basis": result.basis if got is not None else "",
        "reason": result.reason,
        "source": claim.source,
    }


def _verdict(number: Printed, got: Range, bound: str) -> str:
    slack = number.half + 1e-9 * max(1.0, abs(number.value))
    if bound == "above":
        return "holds" if got.high > number.value else "differs"
    if bound == "least":
        return "holds" if got.high >= number.value - slack else "differs"
    if bound == "possible":
        return "holds" if number.shows(got.value) else "differs"
    if number.shows(got.value):
        return "same"
    overlap = got.low <= number.value + slack and got.high >= number.value - slack
    return "rounding" if overlap else "differs"
