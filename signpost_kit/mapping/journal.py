"""Results of finished items, kept on disk as soon as they are there, so that a killed stage goes on where it was.

SQLite, not lines in a file: a commit is whole or absent whatever is killed, two processes may write, a full disk
undoes the write that did not fit, and looking up one of 100,000 items takes no memory.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from signpost_kit.errors import StorageError
from signpost_kit.files import hash_bytes, storage_error

__all__ = ["Journal", "inputs_hash"]

_APPLICATION_ID = 0x53504A4C  # "SPJL"
_BUSY_S = 30.0
_REMEDIES = (
    ("full", "the disk is full: free some space and run again, finished work is kept"),
    ("readonly", "it is read-only: choose another folder or change its rights"),
    ("read-only", "it is read-only: choose another folder or change its rights"),
    ("unable to open", "the folder is missing or cannot be written: choose another folder or change its rights"),
    ("locked", f"another process has held it for {_BUSY_S:.0f} s: wait for it, or stop it, and run again"),
)


def inputs_hash(*parts: Any) -> str:
    """Hash of whatever a result depends on: plain values, dataclasses, paths. The order of keys is no matter."""
    return hash_bytes(msgspec.json.encode(parts, enc_hook=str, order="deterministic"))


class Journal:
    """Results by item. Use as a context manager, or call :meth:`close`; threads may share one.

    Parameters
    ----------
    path
        The file; made, with its folder, if it is absent.
    key
        Item -> (name, inputs): its name, unique among the items, and a hash of all that its result depends on (see
        :func:`inputs_hash`). A result whose inputs have changed is not used, and the new one takes its place.
    encode, decode
        Value -> bytes and back; JSON by default (`decode=msgspec.json.Decoder(Group).decode` gives back the class).
    usable
        (item, value) -> whether a kept value still counts, e.g. its pictures are still there.
    durable
        True: each result is on the disk before the next step, which survives a power cut and costs an fsync; for
        results that cost money. A kill of the process loses nothing either way.

    Raises
    ------
    StorageError
        The file cannot be made or written, is damaged, or is another program's.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        key: Callable[[Any], tuple[str, str]],
        encode: Callable[[Any], bytes] = msgspec.json.encode,
        decode: Callable[[bytes], Any] = msgspec.json.decode,
        usable: Callable[[Any, Any], bool] | None = None,
        durable: bool = False,
    ) -> None:
        self.path = Path(path)
        self.key = key
        self._encode, self._decode, self._usable = encode, decode, usable
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise storage_error(error, self.path) from error
        self._db = self._open(durable)

    def _open(self, durable: bool) -> sqlite3.Connection:
        try:
            db = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._explain(error) from error
        try:
            tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            owner = db.execute("PRAGMA application_id").fetchone()[0]
            if owner != _APPLICATION_ID and (tables or owner):
                raise StorageError(f"{self.path} is another program's SQLite file: choose another name")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            db.execute("BEGIN IMMEDIATE")  # says now, not after the first result, if it cannot be written
            db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            db.execute(
                "CREATE TABLE IF NOT EXISTS kept "
                "(name TEXT PRIMARY KEY, inputs TEXT NOT NULL, value BLOB NOT NULL) WITHOUT ROWID"
            )
            db.execute("COMMIT")
        except sqlite3.Error as error:
            db.close()
            raise self._explain(error) from error
        except BaseException:
            db.close()
            raise
        return db

    def look_up(self, item: Any, key: tuple[str, str] | None = None) -> tuple[bool, Any]:
        """(True, value) if the item's result is kept, has the same inputs and is usable; else (False, None).

        key is `self.key(item)`, for who has it already.
        """
        name, inputs = key or self.key(item)
        row = self._execute("SELECT value FROM kept WHERE name = ? AND inputs = ?", name, inputs)
        if not row:
            return False, None
        try:
            value = self._decode(row[0][0])
        except (msgspec.MsgspecError, ValueError, KeyError, TypeError):
            return False, None  # written by another version of the kit: made anew
        if self._usable is not None and not self._usable(item, value):
            return False, None
        return True, value

    def keep(self, item: Any, value: Any, key: tuple[str, str] | None = None) -> None:
        """Write an item's result; it is kept when this returns. key: as it was before the work began."""
        name, inputs = key or self.key(item)
        self._execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", name, inputs, self._encode(value))

    def names(self) -> Iterator[str]:
        """The names of all kept items, in their order as text."""
        last = ""
        while rows := self._execute("SELECT name FROM kept WHERE name > ? ORDER BY name LIMIT 1000", last):
            for (name,) in rows:
                yield name
            last = rows[-1][0]

    def forget(self, *names: str) -> None:
        """Drop the results of these items, or of all when none is named."""
        for name in names:
            self._execute("DELETE FROM kept WHERE name = ?", name)
        if not names:
            self._execute("DELETE FROM kept")

    def __len__(self) -> int:
        return int(self._execute("SELECT count(*) FROM kept")[0][0])

    def close(self) -> None:
        """Close the file; what was kept stays."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _execute(self, statement: str, *values: object) -> list[Any]:
        try:
            with self._lock:
                return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def _explain(self, error: sqlite3.Error) -> StorageError:
        message = str(error).lower()
        for part, remedy in _REMEDIES:
            if part in message:
                return StorageError(f"cannot use the journal {self.path}: {remedy}")
        return StorageError(
            f"the journal {self.path} is damaged ({error}): delete it and run again; what it held is made anew"
        )
