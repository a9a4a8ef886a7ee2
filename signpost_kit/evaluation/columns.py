"""Replies as columns: the fast way from the store's rows to a `predictions` frame.

Half a million rows take most of a second to come out of SQLite one by one, and a few milliseconds as packed arrays.
The arrays are kept in the store itself with the count of changes they were made at (triggers count every change to
what they show); a reader takes both in one transaction and reads the rows themselves whenever the counts differ.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["EXTRA", "PACK_FROM", "pack", "read_frame", "read_packed", "read_rows"]

PACK_FROM = 20_000
"""Rows from which a packed copy pays: below, reading the rows takes about 20 ms."""
EXTRA = (
    *("key", "image_hash", "n_candidates", "form", "reason", "text", "fields", "finish_reason", "input_tokens"),
    *("output_tokens", "cached_tokens", "price_usd", "latency_s", "attempts", "request_id", "time", "notes"),
)
"""Columns that `predictions(extra=...)` can add."""
_COLUMNS = [(name, "<i4") for name in ("model", "group", "variant", "status")] + [("lat", "<f8"), ("lon", "<f8")]
# SQLite knows no NaN; an infinity cannot be a coordinate and stands for it on the way.
_ROWS = """
    SELECT a.model_id, a.group_id, a.variant_id, r.status_id, ifnull(r.lat, 9e999), ifnull(r.lon, 9e999){extra}
    FROM asks a JOIN replies r ON r.id = a.reply_id WHERE a.prompt_id = ? AND a.sample = ?
    ORDER BY a.model_id, a.group_id, a.variant_id"""


def read_packed(db: sqlite3.Connection, prompt: int, sample: int) -> dict[str, np.ndarray] | None:
    """The packed columns, or None when there are none or anything changed since. Call inside a read transaction."""
    import numpy as np

    row = db.execute(
        "SELECT p.rows, p.layout, p.content FROM packed p, state s "
        "WHERE p.prompt_id = ? AND p.sample = ? AND p.changes = s.changes",
        (prompt, sample),
    ).fetchone()
    if row is None:
        return None
    count, layout, content = row
    found, offset = {}, 0
    for name, kind in json.loads(layout):
        found[name] = np.frombuffer(content, dtype=kind, count=count, offset=offset)
        offset += found[name].nbytes
    return found


def read_rows(db: sqlite3.Connection, prompt: int, sample: int) -> dict[str, np.ndarray]:
    """The same columns, row by row from the tables: codes of the names; lat and lon, NaN where there is none."""
    import numpy as np

    table = np.fromiter(db.execute(_ROWS.format(extra=""), (prompt, sample)), dtype=_COLUMNS)
    found = {name: table[name].copy() for name, _ in _COLUMNS}
    for name in ("lat", "lon"):
        found[name][np.isinf(found[name])] = np.nan
    return found


def pack(db: sqlite3.Connection, prompt: int, sample: int) -> int:
    """Keep a packed copy of the rows as they are in this (writing) transaction; return how many there are."""
    import numpy as np

    parts = []
    for name, values in read_rows(db, prompt, sample).items():
        narrow = np.min_scalar_type(values.max(initial=0)) if values.dtype.kind == "i" else values.dtype
        parts.append((name, values.astype(narrow.newbyteorder("<"))))
    layout = json.dumps([(name, values.dtype.str) for name, values in parts])
    db.execute(
        "INSERT OR REPLACE INTO packed SELECT ?, ?, changes, ?, ?, ? FROM state",
        (prompt, sample, len(parts[0][1]), layout, b"".join(values.tobytes() for _, values in parts)),
    )
    return len(parts[0][1])


def read_frame(
    db: sqlite3.Connection,
    prompt: int,
    samples: Sequence[int],
    *,
    models: Collection[str] | None,
    extra: Sequence[str],
    numbered: bool,
) -> pd.DataFrame:
    """A `predictions` frame of one prompt; text columns are categorical and hold only categories that occur.

    Variants and statuses keep the order of :mod:`signpost_kit.frames`, the others the order of the first asking.
    `numbered` adds the column `sample`. Call inside a read transaction.
    """
    import numpy as np
    import pandas as pd

    parts = [_read(db, prompt, sample, extra) for sample in samples] or [_read(db, prompt, 0, extra)]
    found = parts[0]
    if numbered:
        for part, sample in zip(parts, samples, strict=False):
            part["sample"] = np.full(len(part["lat"]), sample)
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if models is not None:
        wanted = [i for i, name in db.execute("SELECT id, name FROM models") if name in set(models)]
        keep = np.isin(found["model"], wanted)
        found = {name: values[keep] for name, values in found.items()}
    added = [name for name in (*extra, "sample") if name in found]
    return pd.DataFrame(_named(db, found) | {name: found[name].tolist() for name in added}, copy=False)


def _read(db: sqlite3.Connection, prompt: int, sample: int, extra: Sequence[str]) -> dict[str, np.ndarray]:
    import numpy as np

    found = read_packed(db, prompt, sample) or read_rows(db, prompt, sample)
    if extra:
        chosen = ", ".join(f"r.{name}" for name in extra)
        rows = db.execute(_ROWS.format(extra=", " + chosen), (prompt, sample)).fetchall()
        for i, name in enumerate(extra):
            found[name] = np.empty(len(rows), dtype=object)
            found[name][:] = [row[6 + i] for row in rows]
    return found


def _named(db: sqlite3.Connection, found: dict[str, np.ndarray]) -> dict[str, Any]:
    """The columns of the frame, names in place of codes."""
    from signpost_kit.frames import STATUSES, VARIANTS

    groups = db.execute("SELECT id, dataset, name FROM groups").fetchall()
    names = {t: dict(db.execute(f"SELECT id, name FROM {t}")) for t in ("models", "variants", "statuses")}
    return {
        "model": _categorical(found["model"], names["models"]),
        "dataset": _categorical(found["group"], {i: dataset for i, dataset, _ in groups}),
        "group_id": _categorical(found["group"], {i: name for i, _, name in groups}),
        "variant": _categorical(found["variant"], names["variants"], VARIANTS),
        "lat": found["lat"].copy(),
        "lon": found["lon"].copy(),
        "status": _categorical(found["status"], names["statuses"], STATUSES),
    }


def _categorical(ids: np.ndarray, names: dict[int, str], order: tuple[str, ...] = ()) -> pd.Categorical:
    """Names by code; categories in the given order, then by code."""
    import numpy as np
    import pandas as pd

    present = np.flatnonzero(np.bincount(ids)).tolist()
    rank = {name: i for i, name in enumerate(order)}
    labels = sorted(dict.fromkeys(names[i] for i in present), key=lambda name: rank.get(name, len(rank)))
    position = {label: i for i, label in enumerate(labels)}
    codes = np.zeros(max(present, default=0) + 1, dtype=np.min_scalar_type(-max(len(labels), 1)))
    codes[present] = [position[names[i]] for i in present]
    return pd.Categorical.from_codes(codes[ids], categories=pd.Index(labels, dtype="str"))
