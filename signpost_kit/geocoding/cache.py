"""Answers of geocoders, kept: one file format for all of them, each text asked once.

Why SQLite, and why not in WAL mode. Answers arrive about once a second from perhaps two processes: transactions
keep every one that was written, whole, whatever is killed, and two writers never mix their lines, which a text file
cannot promise. With a rollback journal (synchronous=FULL) the cache at rest is one plain file that can be copied,
published and read from a read-only disk; WAL would need side files next to it for speed that nobody needs here.
A new cache is made beside its place and moved there whole, so a file that is empty or cut off is never a new one:
it is reported, left as it is, and never taken for a cache without answers.

A row is one question: geocoder, server, language, number of candidates asked for, options, and the text's key
(:func:`signpost_kit.geocoding.queries.key_of`). All candidates stand in it, best first, with what later uses
of them need (kind, level, sitelinks, language), and the reply as it came. No candidates means "asked, nothing
found".
"""

from __future__ import annotations

import os
import sqlite3
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from signpost_kit.errors import StorageError
from signpost_kit.files import storage_error
from signpost_kit.geocoding.base import Place
from signpost_kit.geocoding.queries import key_of

__all__ = ["Entry", "GeocodeCache", "Settings", "write_cache"]

APPLICATION_ID = 0x53504743  # "SPGC"
VERSION = 1
BUSY_S = 30.0
_MAGIC = b"SQLite format 3\x00"
_SCHEMA = """
CREATE TABLE answers (id INTEGER PRIMARY KEY, geocoder TEXT NOT NULL, server TEXT NOT NULL, language TEXT NOT NULL,
    candidates_asked INTEGER NOT NULL, options TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
    query TEXT NOT NULL, candidates TEXT NOT NULL, n_candidates INTEGER NOT NULL, origin TEXT NOT NULL,
    asked_at REAL, reply BLOB, UNIQUE (geocoder, server, language, candidates_asked, options, key));
CREATE INDEX answers_by_query ON answers (query COLLATE NOCASE);
"""
_SETTING = "geocoder = ? AND server = ? AND language = ? AND candidates_asked = ? AND options = ?"
_COLUMNS = (
    "geocoder, server, language, candidates_asked, options, "
    "key, text, query, candidates, n_candidates, origin, asked_at, reply"
)
_PLACES = msgspec.json.Decoder(tuple[Place, ...])


@dataclass(frozen=True)
class Settings:
    """What an answer depends on besides the text. Answers of other settings are other answers."""

    geocoder: str
    """`nominatim`, `wikidata`, `gazetteer`."""
    language: str = ""
    """Of the names asked for."""
    limit: int = 1
    """Candidates asked for."""
    server: str = ""
    """Address of a server of one's own; empty for the public one."""
    options: str = ""
    """Anything else that changes the answer, such as a version of the data."""

    def __str__(self) -> str:
        parts = [self.geocoder, self.language and f"language {self.language}", f"limit {self.limit}"]
        parts += [self.server and f"server {self.server}", self.options]
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Entry:
    """The answer to one text."""

    settings: Settings
    text: str
    """As it was first asked, or as it stands in the imported file."""
    query: str
    """What was sent."""
    places: tuple[Place, ...] = ()
    """All candidates, best first; none: nothing was found."""
    origin: str = "asked"
    """`asked`, or the file it was imported from."""
    asked_at: float | None = None
    """Unix seconds."""
    reply: bytes = field(default=b"", repr=False)
    """The reply as it came (JSON)."""

    @property
    def key(self) -> str:
        """What it is kept under."""
        return key_of(self.text)


class GeocodeCache:
    """The file of answers. Threads and processes may share it; use it in a `with` statement.

    Parameters
    ----------
    path
        Made when it is absent, unless `read_only`.
    read_only
        Nothing is written, also not where the file lies on a read-only disk.

    Raises
    ------
    StorageError
        The place cannot be written, or the file is empty, cut off, damaged, foreign or of a newer version. It is
        left as it is.
    """

    def __init__(self, path: Path | str, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        try:
            if self.path.is_dir():
                raise StorageError(f"{self.path} is a folder, not a cache of answers: give the name of a file")
            if not self.path.exists():
                if read_only:
                    raise StorageError(f"there is no cache of answers {self.path}: check the path")
                _create(self.path)
            _check_header(self.path)
        except OSError as error:
            raise storage_error(error, self.path) from error
        self._connection = self._open(read_only)

    def _open(self, read_only: bool) -> sqlite3.Connection:
        connection = None
        try:
            address = f"{self.path.resolve().as_uri()}?mode={'ro' if read_only else 'rw'}"
            connection = sqlite3.connect(
                address, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
            if not read_only:
                connection.execute("PRAGMA journal_mode = DELETE")
                connection.execute("PRAGMA synchronous = FULL")
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise _damaged(self.path, " ".join(str(verdict).split())[:120])
            connection.execute(f"SELECT {_COLUMNS} FROM answers LIMIT 1").fetchone()
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise _explain(error, self.path) from error
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        return connection

    # -- one answer -----------------------------------------------------------------------------------------------

    def get(self, settings: Settings, text: str, query: str = "") -> Entry | None:
        """The answer to a text under these settings, or None when it was never answered.

        With `query`, the answer to another text that was sent as the same query will do (`"Lima"` and `(Lima)`).
        """
        where = f"SELECT {_COLUMNS} FROM answers WHERE {_SETTING} AND "
        rows = self._run(where + "key = ?", (*_values(settings), key_of(text)))
        if not rows and query:
            rows = self._run(
                where + "query = ? COLLATE NOCASE ORDER BY id LIMIT 1", (*_values(settings), query.lower())
            )
        return self._entry(rows[0]) if rows else None

    def put(self, entry: Entry) -> Entry:
        """Keep an answer; it is on the disk when this returns. An answer that stands there already stays.

        Returns
        -------
        Entry
            The answer that stands in the cache now.
        """
        self.add([entry])
        return self.get(entry.settings, entry.text) or entry

    def add(self, entries: Iterable[Entry], *, replace: bool = False) -> int:
        """Keep many answers in one transaction, all or none; those that stand there stay unless `replace`.

        Returns
        -------
        int
            How many were written.
        """
        rows = [_row(entry) for entry in entries]
        if not rows:
            return 0
        verb = "INSERT OR REPLACE" if replace else "INSERT OR IGNORE"
        marks = ", ".join("?" * 13)
        with self._lock:
            try:
                before = self._connection.total_changes
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    self._connection.executemany(f"{verb} INTO answers ({_COLUMNS}) VALUES ({marks})", rows)
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
                return self._connection.total_changes - before
            except sqlite3.Error as error:
                raise _explain(error, self.path) from error

    # -- all of them ----------------------------------------------------------------------------------------------

    def settings(self) -> dict[Settings, int]:
        """The settings there are answers of, most answers first, and how many."""
        names = "geocoder, language, candidates_asked, server, options"
        rows = self._run(f"SELECT {names}, COUNT(*) FROM answers GROUP BY {names} ORDER BY COUNT(*) DESC, {names}")
        return {Settings(*row[:5]): int(row[5]) for row in rows}

    def entries(self, settings: Settings | None = None) -> Iterator[Entry]:
        """All answers, or those of some settings, in the order in which they came."""
        where, values = (f"WHERE {_SETTING} AND", _values(settings)) if settings else ("WHERE", ())
        last = 0
        while rows := self._run(
            f"SELECT {_COLUMNS}, id FROM answers {where} id > ? ORDER BY id LIMIT 500", (*values, last)
        ):
            yield from (self._entry(row[:-1]) for row in rows)
            last = rows[-1][-1]

    def __len__(self) -> int:
        return int(self._run("SELECT COUNT(*) FROM answers")[0][0])

    def close(self) -> None:
        """Close the file; it can be closed twice."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> GeocodeCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise _explain(error, self.path) from error

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        geocoder, server, language, limit, options, key, text, query, candidates, n, origin, asked_at, reply = row
        try:
            places = _PLACES.decode(candidates)
            if len(places) != n or key_of(text) != key:
                raise ValueError(f"it should hold {n} candidates of {key!r}")
            if any(not (-90 <= p.lat <= 90 and -180 <= p.lon <= 180) for p in places):
                raise ValueError("a candidate is not on the globe")
            plain = zlib.decompress(reply) if reply else b""
        except (msgspec.DecodeError, msgspec.ValidationError, ValueError, TypeError, zlib.error) as error:
            raise _damaged(self.path, f"the answer to {str(text)[:60]!r}: {error}") from error
        settings = Settings(geocoder, language, int(limit), server, options)
        return Entry(settings, text, query, places, origin, asked_at, plain)


def _values(settings: Settings) -> tuple[str, str, str, int, str]:
    return settings.geocoder, settings.server, settings.language, settings.limit, settings.options


def _row(entry: Entry) -> tuple[Any, ...]:
    candidates = msgspec.json.encode(entry.places).decode()
    reply = zlib.compress(entry.reply, 6) if entry.reply else None
    asked_at = entry.asked_at if entry.asked_at is not None or entry.origin != "asked" else time.time()
    return (
        *_values(entry.settings),
        *(entry.key, entry.text, entry.query, candidates, len(entry.places), entry.origin, asked_at, reply),
    )


def write_cache(path: Path, entries: Iterable[Entry]) -> None:
    """Make a new cache that holds just these answers, in place of what stands at `path`; whole or not at all."""
    from signpost_kit.files import atomic_path

    with atomic_path(path) as temporary:
        temporary.unlink()
        with GeocodeCache(temporary) as cache:
            cache.add(entries)


def _create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
        finally:
            connection.close()
        temporary.chmod(0o644)
        try:
            os.link(temporary, path)  # unlike a rename it never replaces what another process has put there
        except FileExistsError:
            return
        except OSError:  # a file system without hard links
            if not path.exists():
                temporary.replace(path)
    except sqlite3.Error as error:
        raise _explain(error, path) from error
    finally:
        temporary.unlink(missing_ok=True)


def _check_header(path: Path) -> None:
    """Look at the first bytes before SQLite does: it takes an empty file for a new one."""
    with path.open("rb") as handle:
        head = handle.read(100)
    if len(head) < 100 or not head.startswith(_MAGIC):
        what = "is empty" if not head else "is no cache" if head[:16] != _MAGIC[: len(head)] else "is cut off"
        raise _damaged(path, f"it {what}")
    version, application = struct.unpack(">I", head[60:64])[0], struct.unpack(">I", head[68:72])[0]
    if application != APPLICATION_ID:
        raise StorageError(f"{path} is another program's SQLite file, not a cache of answers: choose another name")
    if version != VERSION:
        raise StorageError(
            f"the cache {path} has the format {version}, this version reads {VERSION}: update signpost_kit, or "
            "move the file away and ask anew"
        )


def _damaged(path: Path, detail: str) -> StorageError:
    return StorageError(
        f"the cache of answers {path} is damaged ({detail}): put back a copy, or move it away to ask everything "
        "again. It was left as it is"
    )


def _explain(error: sqlite3.Error, path: Path) -> StorageError:
    message = str(error).lower()
    for part, remedy in (
        ("full", "the disk is full: free some space and run again, kept answers stay"),
        ("readonly", "it is read-only: choose another folder (SIGNPOST_CACHE) or change its rights"),
        ("unable to open", "it cannot be opened: choose another folder (SIGNPOST_CACHE) or change its rights"),
        ("locked", f"another process has held it for {BUSY_S:.0f} s: stop it and run again"),
        ("i/o error", "the disk reports an error: check it"),
    ):
        if part in message:
            return StorageError(f"cannot use the cache of answers {path}: {remedy}")
    return _damaged(path, str(error))
