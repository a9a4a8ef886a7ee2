"""What became of the rows of a file: kept, left out, ambiguous, each with a reason and a count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KINDS", "Account"]

KINDS = ("read", "kept", "dropped", "ambiguous", "differs", "missing")
"""read: rows in the file; kept: rows that went on; dropped: left out; ambiguous: kept, but another one disagrees;
differs: kept, but not what we compute; missing: a file or a value that is not there."""


@dataclass
class Account:
    """Counts by file, kind and reason, in the order in which they were noted."""

    _rows: list[tuple[str, str, str, int, str]] = field(default_factory=list)

    def note(self, file: str, kind: str, n: int, reason: str = "", example: object = "") -> None:
        """Note `n` rows; a count of 0 is noted only for `read` and `kept`."""
        if kind not in KINDS:
            raise ValueError(f"kind {kind!r}; allowed: {', '.join(KINDS)}")
        if n or kind in ("read", "kept"):
            self._rows.append((file, kind, reason, int(n), str(example)[:120]))

    def count(self, kind: str, *, file: str = "", reason: str = "") -> int:
        """How many rows of a kind, of files that begin with `file`, with `reason` somewhere in their reason."""
        return sum(n for f, k, r, n, _ in self._rows if k == kind and f.startswith(file) and reason in r)

    def frame(self) -> pd.DataFrame:
        """file, kind, reason, n, example."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=["file", "kind", "reason", "n", "example"])
