"""Batches under way, kept in the store: what was sent to whom under which name, and which questions are in it.

A batch is written down before it is sent ("prepared") and again when the provider has given it an id ("sent"). A
question leaves its batch in the same transaction that stores its reply, so that whatever is cut short goes on where
it was, and nothing is sent or kept twice.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass

from signpost_kit.evaluation import rows
from signpost_kit.evaluation.reply import Reply
from signpost_kit.evaluation.writer import Writer
from signpost_kit.models.base import Request

__all__ = ["BatchRecord", "Batches"]


@dataclass(frozen=True)
class BatchRecord:
    """One batch that is not done with."""

    name: str
    """Ours; the provider keeps it where it can."""
    model: str
    remote: str
    """The provider's id; "" until it is known."""
    created: float
    """Unix seconds, before it was sent."""
    keys: dict[str, dict[str, str]]
    """Questions whose reply is still to come -> the client's notes on what was sent."""
    size: int
    """How many questions were in it at first."""


class Batches:
    """The batches of one store; see :attr:`signpost_kit.evaluation.store.ReplyStore.batches`."""

    def __init__(
        self, writer: Writer, reading: Callable[[], AbstractContextManager[sqlite3.Connection]], codes: rows.Codes
    ) -> None:
        self._writer, self._reading, self._codes = writer, reading, codes

    def open(self, models: Collection[str] | None = None) -> list[BatchRecord]:
        """Batches with questions whose reply is still to come, oldest first."""
        with self._reading() as db:
            found = db.execute(
                "SELECT id, name, model, remote, created, size FROM batches WHERE NOT done ORDER BY id"
            ).fetchall()
            records = []
            for batch, name, model, remote, created, size in found:
                keys = {
                    key: json.loads(notes) if notes else {}
                    for key, notes in db.execute("SELECT key, notes FROM batch_keys WHERE batch_id = ?", (batch,))
                }
                if keys and (models is None or model in models):
                    records.append(BatchRecord(name, model, remote, created, keys, size))
        return records

    def prepare(self, name: str, model: str, keys: Mapping[str, dict[str, str]]) -> BatchRecord:
        """Write down a batch that is about to be sent."""
        now = time.time()

        def job(db: sqlite3.Connection) -> None:
            batch = db.execute(
                "INSERT INTO batches (name, model, remote, size, done, created) VALUES (?, ?, '', ?, 0, ?)",
                (name, model, len(keys), now),
            ).lastrowid
            db.executemany(
                "INSERT INTO batch_keys (batch_id, key, notes) VALUES (?, ?, ?)",
                [(batch, key, json.dumps(notes) if notes else None) for key, notes in keys.items()],
            )

        self._writer.submit(job).result()
        return BatchRecord(name, model, "", now, dict(keys), len(keys))

    def sent(self, name: str, remote: str) -> None:
        """The provider has it, under this id."""
        self._do("UPDATE batches SET remote = ? WHERE name = ?", (remote, name))

    def free(self, name: str, keys: Collection[str] | None = None) -> None:
        """These questions (None: all) will get no reply from the batch; they may be asked otherwise."""

        def job(db: sqlite3.Connection) -> None:
            where = "batch_id = (SELECT id FROM batches WHERE name = ?)"
            if keys is None:
                db.execute(f"DELETE FROM batch_keys WHERE {where}", (name,))
            else:
                db.executemany(f"DELETE FROM batch_keys WHERE {where} AND key = ?", [(name, key) for key in keys])

        self._writer.submit(job).result()

    def close(self, name: str) -> None:
        """Nothing more is expected of a batch without questions."""
        self._do(
            "UPDATE batches SET done = 1 WHERE name = ? AND NOT EXISTS "
            "(SELECT 1 FROM batch_keys WHERE batch_id = batches.id)",
            (name,),
        )

    def known(self) -> set[str]:
        """The providers' ids of all batches ever sent from this store."""
        with self._reading() as db:
            return {remote for (remote,) in db.execute("SELECT remote FROM batches WHERE remote != ''")}

    def settle(
        self, name: str, requests: Sequence[Request], key: str, reply: Reply, *, replace: Collection[str]
    ) -> Future[bool]:
        """Keep a reply that came in a batch, and take its question out of it, in one transaction."""
        codes, replaced = self._codes, tuple(replace)

        def job(db: sqlite3.Connection) -> bool:
            written = rows.write(db, codes, requests, key, reply, replace=replaced)
            db.execute(
                "DELETE FROM batch_keys WHERE batch_id = (SELECT id FROM batches WHERE name = ?) AND key = ?",
                (name, key),
            )
            return written

        return self._writer.submit(job)

    def _do(self, sql: str, values: tuple[object, ...]) -> None:
        self._writer.submit(lambda db: db.execute(sql, values).rowcount).result()
