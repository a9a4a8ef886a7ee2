"""What the checks of a list found: every row accounted for, and for each doubt how sure it is and what to do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark.lists.layout import Layout

__all__ = ["Check", "ListReport", "RejectedRow"]

_EXAMPLES = 20  # of each kind


@dataclass(frozen=True)
class RejectedRow:
    """One row of a list that is not used."""

    line: int
    """Of the file, counted from 1."""
    id: str
    kind: str
    reason: str


@dataclass(frozen=True)
class Check:
    """One question asked of a whole list."""

    name: str
    verdict: str
    """fine · note · doubtful · wrong."""
    found: str
    remedy: str = ""


@dataclass
class ListReport:
    """The account of one list."""

    layout: Layout
    rows: int = 0
    usable: int = 0
    """Rows that pass every check (and have a picture, where that was asked)."""
    chosen: int = 0
    """Usable rows that go on: all, or the sample."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Kind -> rows of no use. `rows` = `usable` + the sum."""
    examples: list[RejectedRow] = field(default_factory=list)
    """The first 20 rows of each kind."""
    checks: list[Check] = field(default_factory=list)
    strata: list[tuple[str, int, int]] = field(default_factory=list)
    """Stratum, usable rows, rows drawn; empty when nothing is sampled."""

    def reject(self, row: RejectedRow) -> None:
        """Count a row that is not used, and keep it if it is one of the first of its kind."""
        self.reasons[row.kind] += 1
        if self.reasons[row.kind] <= _EXAMPLES:
            self.examples.append(row)

    def summary(self) -> str:
        """One line for a log or an error."""
        counted = ", ".join(f"{count:,} {kind}" for kind, count in self.reasons.most_common()) or "none left out"
        return f"{self.layout.path.name}: {self.rows:,} rows, {self.usable:,} usable ({counted})"

    def frame(self) -> pd.DataFrame:
        """One row per check: check, verdict, found, remedy; then one per reason why rows are not used."""
        import pandas as pd

        rows = [
            ("form", "fine", self.layout.describe(), ""),
            ("rows", "fine" if self.usable else "wrong", f"{self.rows:,} read, {self.usable:,} usable", ""),
        ]
        rows += [(check.name, check.verdict, check.found, check.remedy) for check in self.checks]
        for kind, count in self.reasons.most_common():
            example = next(row for row in self.examples if row.kind == kind)
            found = f"{count:,} rows, the first on line {example.line}: {example.reason}"
            rows.append((kind, "note", found, ""))
        return pd.DataFrame(rows, columns=pd.Index(["check", "verdict", "found", "remedy"]))

    def strata_frame(self) -> pd.DataFrame:
        """One row per stratum of the sample: stratum, rows, drawn; the largest first."""
        import pandas as pd

        ordered = sorted(self.strata, key=lambda row: (-row[1], row[0]))
        return pd.DataFrame(ordered, columns=pd.Index(["stratum", "rows", "drawn"]))
