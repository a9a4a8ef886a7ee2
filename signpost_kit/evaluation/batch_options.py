"""How batches are used in an evaluation."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BatchOptions"]


@dataclass(frozen=True)
class BatchOptions:
    """How batches are used; see :class:`signpost_kit.evaluation.batch.Batching`."""

    submit: bool = True
    """False: only what was submitted earlier is collected."""
    wait_s: float | None = None
    """How long to wait for replies; None: until they are there (providers promise a day). 0: not at all."""
    first_poll_s: float = 10.0
    """Between two looks at a batch at first; half as much more each time."""
    longest_poll_s: float = 120.0
    most_requests: int = 50_000
    """In one batch; a provider's own limit may be lower."""
