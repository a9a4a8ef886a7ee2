"""One reply as it is kept: what came back for one question, and what was read out of it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

from signpost_kit.errors import DataError
from signpost_kit.models.base import Usage

__all__ = ["Reply"]


@dataclass(frozen=True)
class Reply:
    """Everything known about one answered (or failed) question. lat and lon are None unless status is "ok"."""

    status: str
    """One of :data:`signpost_kit.frames.STATUSES`."""
    said: str = "ok"
    """The provider's own word on it. "ok": the status is a reading of the text, and can be read anew."""
    reason: str = ""
    """Why it is not "ok", in words; empty for "ok"."""
    text: str | None = None
    """What the model said, unchanged."""
    finish_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    price_usd: float | None = None
    latency_s: float | None = None
    """Seconds of the last attempt, without waiting for a free slot or between attempts."""
    attempts: int = 1
    request_id: str = ""
    """The provider's own."""
    time: float = field(default_factory=time.time)
    """Unix seconds, when the reply arrived."""
    lat: float | None = None
    """Degrees north."""
    lon: float | None = None
    """Degrees east."""
    n_candidates: int | None = None
    """How many different pairs of coordinates the text held."""
    form: str = ""
    """How the coordinates were written (json, dms, ...)."""
    fields: dict[str, Any] | None = None
    """What a structured task's reply said, as plain JSON values."""
    notes: dict[str, str] = field(default_factory=dict)
    """What was different about the asking: a parameter that the model refused, a larger limit of tokens, ..."""

    def __post_init__(self) -> None:
        from signpost_kit.frames import STATUSES

        if self.status not in STATUSES:
            raise DataError(f"a reply has the status {self.status!r}; allowed: {', '.join(STATUSES)}")
        for name, value in (("lat", self.lat), ("lon", self.lon)):
            if value is not None and not math.isfinite(value):
                object.__setattr__(self, name, None)  # SQLite and JSON know no NaN: missing is None
        if self.status != "ok" and (self.lat is not None or self.lon is not None):
            raise DataError(f"a reply with the status {self.status!r} carries coordinates; only 'ok' may")
