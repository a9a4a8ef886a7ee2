"""How requests and replies become rows: names to integer codes, one reply per key, one pointer per question."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from signpost_kit.evaluation.reply import Reply
from signpost_kit.evaluation.tasks import Parsed
from signpost_kit.models.base import Decoding, Request, Usage

__all__ = ["USED", "Codes", "find", "link", "read_reply", "reparse", "status", "used", "write"]

_PLACE = ("prompt_id", "model_id", "decoding_id", "sample", "image_hash", "status_id")
_CONTENT = (
    *("said", "lat", "lon", "n_candidates", "form", "reason", "text", "fields", "finish_reason", "input_tokens"),
    *("output_tokens", "cached_tokens", "price_usd", "latency_s", "attempts", "request_id", "time", "notes"),
)
_NAMES = (*_PLACE, *_CONTENT)
_INSERT = (
    f"INSERT INTO replies (key, {', '.join(_NAMES)}) VALUES (?{', ?' * len(_NAMES)}) ON CONFLICT (key) DO NOTHING"
)
_UPDATE = f"UPDATE replies SET {', '.join(f'{n} = ?' for n in _NAMES)} WHERE id = ?"
_KEEP_OLD = (
    f"INSERT INTO superseded (key, {', '.join(_NAMES)}) SELECT key, {', '.join(_NAMES)} FROM replies WHERE id = ?"
)
_POINT = (
    "INSERT INTO asks (prompt_id, sample, model_id, group_id, variant_id, reply_id) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (prompt_id, sample, model_id, group_id, variant_id) "
    "DO UPDATE SET reply_id = excluded.reply_id WHERE reply_id != excluded.reply_id"
)
_UNPOINT = (
    "DELETE FROM asks WHERE prompt_id = ? AND sample = ? AND model_id = ? AND group_id = ? AND variant_id = ?"
)
_CHUNK = 500  # host parameters per statement; SQLite's old limit is 999


class Codes:
    """Integer codes of names, remembered between transactions; a rolled-back transaction clears them."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], int] = {}
        self._decodings: dict[Decoding, str] = {}

    def clear(self) -> None:
        """Forget everything: codes made in a transaction that was rolled back do not exist."""
        self._known.clear()

    def of(self, db: sqlite3.Connection, table: str, *names: str) -> int:
        """The code of a name in a table of names, or of (dataset, name) in `groups`."""
        found = self._known.get((table, *names))
        if found is None:
            names_clean = tuple(_clean(name) or "" for name in names)
            columns = ("dataset", "name") if len(names) == 2 else ("name",)
            db.execute(
                f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                names_clean,
            )
            where = " AND ".join(f"{column} = ?" for column in columns)
            found = int(db.execute(f"SELECT id FROM {table} WHERE {where}", names_clean).fetchone()[0])
            self._known[(table, *names)] = found
        return found

    def prompt(self, db: sqlite3.Connection, request: Request) -> int:
        """The code of a task's prompt; its text is kept once."""
        found = self._known.get(("prompts", request.task, request.prompt_hash))
        if found is None:
            db.execute(
                "INSERT OR IGNORE INTO prompts (task, hash, text, used_at) VALUES (?, ?, ?, ?)",
                (request.task, request.prompt_hash, _clean(request.prompt), time.time()),
            )
            row = db.execute(
                "SELECT id FROM prompts WHERE task = ? AND hash = ?", (request.task, request.prompt_hash)
            ).fetchone()
            found = self._known["prompts", request.task, request.prompt_hash] = int(row[0])
        return found

    def decoding(self, db: sqlite3.Connection, decoding: Decoding) -> int:
        """The code of decoding options, kept as JSON."""
        name = self._decodings.get(decoding)
        if name is None:
            name = self._decodings[decoding] = json.dumps(asdict(decoding), sort_keys=True)
        return self.of(db, "decodings", name)

    def place(self, db: sqlite3.Connection, request: Request) -> tuple[int, int, int, int, int]:
        """Where a request stands in `asks`: prompt, sample, model, group, variant."""
        return (
            self.prompt(db, request),
            request.sample_index,
            self.of(db, "models", request.model),
            self.of(db, "groups", request.dataset, request.group_id),
            self.of(db, "variants", request.variant),
        )


def write(
    db: sqlite3.Connection,
    codes: Codes,
    requests: Sequence[Request],
    key: str,
    reply: Reply,
    *,
    replace: Collection[str],
) -> bool:
    """Keep `reply` under `key` and point every one of `requests` to it; False when an earlier reply was kept.

    An earlier reply gives way only if its status is in `replace` and is not "ok"; it then moves to `superseded`
    (it was paid for, and its text is evidence).
    """
    first = requests[0]
    values = _values(db, codes, first, reply)
    cursor = db.execute(_INSERT, (key, *values))
    written = cursor.rowcount == 1
    if written:
        reply_id = cursor.lastrowid
    else:
        reply_id, old = db.execute(
            "SELECT r.id, s.name FROM replies r JOIN statuses s ON s.id = r.status_id WHERE r.key = ?", (key,)
        ).fetchone()
        if old != "ok" and old in replace:
            db.execute(_KEEP_OLD, (reply_id,))
            db.execute(_UPDATE, (*values, reply_id))
            written = True
    for request in requests:
        db.execute(_POINT, (*codes.place(db, request), reply_id))
    return written


def find(db: sqlite3.Connection, keys: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Key -> (reply's row, status) for those of `keys` that are stored."""
    wanted = list(keys)
    names = dict(db.execute("SELECT id, name FROM statuses"))
    found: dict[str, tuple[int, str]] = {}
    for start in range(0, len(wanted), _CHUNK):
        part = wanted[start : start + _CHUNK]
        rows = db.execute(
            f"SELECT key, id, status_id FROM replies WHERE key IN ({', '.join('?' * len(part))})", part
        )
        found.update((key, (row, names[status])) for key, row, status in rows)
    return found


def status(db: sqlite3.Connection, key: str) -> str | None:
    """The status of the reply to one key, if there is one."""
    sql = "SELECT s.name FROM replies r JOIN statuses s ON s.id = r.status_id WHERE r.key = ?"
    found = db.execute(sql, (key,)).fetchone()
    return None if found is None else found[0]


def link(db: sqlite3.Connection, codes: Codes, planned: Sequence[tuple[Request, str]]) -> dict[str, str]:
    """Point planned requests to replies that are there already, and away from replies to another picture.

    Returns key -> status of the stored replies among `planned`.
    """
    found = find(db, {key for _, key in planned})
    point, unpoint = [], []
    for request, key in planned:
        place = codes.place(db, request)
        if key in found:
            point.append((*place, found[key][0]))
        else:
            unpoint.append(place)
    db.executemany(_POINT, point)
    db.executemany(_UNPOINT, unpoint)
    now = time.time()
    for prompt in {codes.prompt(db, request) for request, _ in planned}:
        db.execute("UPDATE prompts SET used_at = max(?, used_at + 1e-3) WHERE id = ?", (now, prompt))
    return {key: status for key, (_, status) in found.items()}


def reparse(db: sqlite3.Connection, codes: Codes, task: str, parse: Callable[[str | None, str], Parsed]) -> int:
    """Read the texts of one task anew; return how many replies changed their status, place or fields."""
    changed = 0
    names = dict(db.execute("SELECT id, name FROM statuses"))
    sql = (
        "SELECT r.id, r.text, p.text, r.status_id, r.lat, r.lon, r.fields FROM replies r "
        "JOIN prompts p ON p.id = r.prompt_id WHERE p.task = ? AND r.said = 'ok'"
    )
    for reply_id, text, prompt, status, lat, lon, fields in db.execute(sql, (task,)).fetchall():
        new = parse(text, prompt)
        new_fields = None if new.fields is None else json.dumps(new.fields)
        if (names[status], lat, lon, fields) == (new.status, new.lat, new.lon, new_fields):
            continue
        changed += 1
        status_id, reason = codes.of(db, "statuses", new.status), _clean(new.reason)
        db.execute(
            "UPDATE replies SET status_id = ?, lat = ?, lon = ?, n_candidates = ?, form = ?, reason = ?, "
            "fields = ? WHERE id = ?",
            (status_id, new.lat, new.lon, new.n_candidates, new.form, reason, new_fields, reply_id),
        )
    return changed


def read_reply(db: sqlite3.Connection, key: str) -> Reply | None:
    """The stored reply of one key."""
    row = db.execute(
        f"SELECT s.name, {', '.join('r.' + n for n in _CONTENT)} FROM replies r "
        "JOIN statuses s ON s.id = r.status_id WHERE r.key = ?",
        (key,),
    ).fetchone()
    if row is None:
        return None
    kept: dict[str, Any] = dict(zip(("status", *_CONTENT), row, strict=True))
    usage = Usage(*(kept.pop(n) for n in ("input_tokens", "output_tokens", "cached_tokens")))
    fields, notes = kept.pop("fields"), kept.pop("notes")
    kept |= {"fields": None if fields is None else json.loads(fields), "notes": json.loads(notes) if notes else {}}
    return Reply(usage=usage, **kept)


USED = (
    *("key", "model", "status", "current", "input_tokens", "output_tokens", "cached_tokens", "price_usd"),
    *("latency_s", "attempts", "notes"),
)
"""What :func:`used` tells of each reply."""


def used(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """What each reply took, those that were replaced included (`current` is then False); notes are dicts."""
    taken = ", ".join(f"r.{name}" for name in USED[4:])
    found = []
    for table, current in (("replies", True), ("superseded", False)):
        sql = (
            f"SELECT {taken}, r.key, m.name, s.name FROM {table} r JOIN models m ON m.id = r.model_id "
            "JOIN statuses s ON s.id = r.status_id ORDER BY r.id"
        )
        for *numbers, notes, key, model, status in db.execute(sql):
            found.append((key, model, status, current, *numbers, json.loads(notes) if notes else {}))
    return found


def _values(db: sqlite3.Connection, codes: Codes, request: Request, reply: Reply) -> tuple[Any, ...]:
    usage = reply.usage
    return (
        codes.prompt(db, request),
        codes.of(db, "models", request.model),
        codes.decoding(db, request.decoding),
        request.sample_index,
        request.image_hash,
        codes.of(db, "statuses", reply.status),
        reply.said,
        reply.lat,
        reply.lon,
        reply.n_candidates,
        reply.form,
        _clean(reply.reason),
        _clean(reply.text),
        None if reply.fields is None else json.dumps(reply.fields),
        _clean(reply.finish_reason),
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        reply.price_usd,
        reply.latency_s,
        reply.attempts,
        _clean(reply.request_id),
        reply.time,
        json.dumps(reply.notes) if reply.notes else None,
    )


def _clean(text: str | None) -> str | None:
    r"""Text that SQLite takes: a lone surrogate, which JSON can smuggle in, is written out as \udXXX."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
