"""The replies to the questions of one plan, whatever their prompts: found by key, so that nothing is mixed up."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.evaluation.plan import Plan

__all__ = ["NOT_ASKED", "read_plan"]

NOT_ASKED = "not_asked"
"""The status of a question that has no reply yet."""
_CHUNK = 500  # host parameters per statement


def read_plan(db: sqlite3.Connection, plan: Plan, extra: Sequence[str] = ()) -> pd.DataFrame:
    """One row per question of `plan`, in its order; see :meth:`ReplyStore.planned`. Call in a read transaction."""
    import pandas as pd

    wanted = ["key", "status", "lat", "lon", *(name for name in extra if name != "key")]
    chosen = ", ".join(f"r.{name}" for name in wanted[2:])
    keys = [request.key for request in plan]
    found: dict[str, tuple] = {}
    for start in range(0, len(keys), _CHUNK):
        part = list(dict.fromkeys(keys[start : start + _CHUNK]))
        rows = db.execute(
            f"SELECT r.key, s.name, {chosen} FROM replies r JOIN statuses s ON s.id = r.status_id "
            f"WHERE r.key IN ({', '.join('?' * len(part))})",
            part,
        )
        found.update((row[0], row) for row in rows)
    absent = (NOT_ASKED, *(None for _ in wanted[2:]))
    rows = [
        (r.model, r.dataset, r.group_id, r.variant, r.sample_index, *found.get(key, ("", *absent))[1:])
        for r, key in zip(plan, keys, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["model", "dataset", "group_id", "variant", "sample", *wanted[1:]])
    for name in ("fields", "notes"):
        if name in frame:
            frame[name] = [json.loads(value) if isinstance(value, str) and value else None for value in frame[name]]
    if "key" in extra:
        frame["key"] = keys
    return frame.astype({"lat": "float64", "lon": "float64"})
