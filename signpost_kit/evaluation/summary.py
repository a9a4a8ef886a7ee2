"""What an evaluation tells of itself when it has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from signpost_kit.evaluation.plan import MissingPicture

__all__ = ["EvaluationSummary"]


@dataclass(frozen=True)
class EvaluationSummary:
    """How an evaluation went. Rows are (model, group, variant, sample): planned = asked + reused + unasked."""

    task: str
    planned: int
    """Rows."""
    asked: int
    """Rows answered or failed by asking in this call."""
    reused: int
    """Rows whose reply was there already."""
    ok: int
    """Rows with a usable answer, asked and reused."""
    failures: dict[str, int]
    """Rows by status other than ok, asked and reused."""
    questions: int
    """Questions put to models in this call: rows with the same picture share one."""
    attempts: int
    """Calls made for them."""
    seconds: float
    cost_usd: float
    """Of this call, as far as prices are known."""
    batched: int = 0
    """Questions that are under way in batches: run again to collect the replies."""
    stopped: dict[str, str] = field(default_factory=dict)
    """Model -> why it was not asked to the end."""
    missing: tuple[MissingPicture, ...] = ()
    """Pictures that were not there to ask about."""
    costs: tuple[dict[str, Any], ...] = ()
    """Estimate against actual, per priced model; see :func:`signpost_kit.evaluation.cost.against_actual`."""

    @property
    def estimated_usd(self) -> float:
        """What the questions asked in this call were estimated to cost before; NaN where nothing was priced."""
        return sum(row["estimated_usd"] for row in self.costs) if self.costs else float("nan")

    @property
    def unasked(self) -> int:
        """Rows that are still to be asked: run again."""
        return self.planned - self.asked - self.reused

    @property
    def complete(self) -> bool:
        """Whether every planned row has a reply of some status."""
        return self.unasked == 0

    def __str__(self) -> str:
        parts = [f"{self.task}: {self.planned} rows, {self.asked} asked, {self.reused} reused, {self.ok} ok"]
        parts += [f"{n} {status}" for status, n in self.failures.items()]
        if self.unasked:
            parts.append(f"{self.unasked} still to ask")
        if self.batched:
            parts.append(f"{self.batched} under way in batches, run again to collect them")
        parts.append(f"{self.seconds:.1f} s")
        if self.cost_usd:
            estimated = f" (estimated ${self.estimated_usd:.4f})" if self.costs else ""
            parts.append(f"${self.cost_usd:.4f}{estimated}")
        parts += [f"{model} stopped: {reason}" for model, reason in self.stopped.items()]
        if self.missing:
            parts.append(f"{len(self.missing)} pictures missing")
        return "; ".join(parts)
