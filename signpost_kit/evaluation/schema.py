"""The store's file: its tables, how it is created whole, and how a damaged or foreign one is told apart.

Why WAL with synchronous=FULL. A killed process loses nothing that reached the operating system, whatever the level;
a power cut loses what was not yet on the disk, and with NORMAL that is every commit since the last checkpoint.
Replies cost money, so each commit is synced; the writer puts all replies that wait into one commit, so the price is
one fsync per batch and not per reply (tests/bench/test_store.py measures it).

Versions. 1: the first. 2: what was different about asking (`notes`), and batches under way at a provider. A store
of an older version is brought up to date when it is opened, in one transaction: a kill leaves it as it was.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import tempfile
from pathlib import Path

from signpost_kit.errors import StorageError
from signpost_kit.files import storage_error

__all__ = ["BUSY_S", "connect", "create", "explain", "open_store"]

APPLICATION_ID = 0x53504B54  # "SPKT"
VERSION = 2
BUSY_S = 30.0
_MAGIC = b"SQLite format 3\x00"
_CHECK_BYTES = 16 << 20  # files up to this size are checked page by page when opened: milliseconds

_REPLY_COLUMNS = """
    prompt_id INTEGER NOT NULL, model_id INTEGER NOT NULL, decoding_id INTEGER NOT NULL, sample INTEGER NOT NULL,
    image_hash TEXT NOT NULL, status_id INTEGER NOT NULL, said TEXT, lat REAL, lon REAL, n_candidates INTEGER,
    form TEXT, reason TEXT, text TEXT, fields TEXT, finish_reason TEXT, input_tokens INTEGER, output_tokens INTEGER,
    cached_tokens INTEGER, price_usd REAL, latency_s REAL, attempts INTEGER, request_id TEXT, time REAL,
    notes TEXT"""

# A batch is written here before it is sent, under a name of ours that the provider keeps: after a crash in between
# the provider is asked whether it knows that name. `remote` is its own id, empty until the batch was sent.
_BATCHES = """
CREATE TABLE batches (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, model TEXT NOT NULL, remote TEXT NOT NULL,
    size INTEGER NOT NULL, done INTEGER NOT NULL, created REAL NOT NULL);
CREATE TABLE batch_keys (batch_id INTEGER NOT NULL, key TEXT NOT NULL, notes TEXT,
    PRIMARY KEY (batch_id, key)) WITHOUT ROWID;
"""

# `asks` says which reply stands for which (model, group, variant): rows with the same picture share one reply. The
# triggers count every change of what `predictions` shows, by whatever program, so a packed copy is never stale.
_SCHEMA = f"""
CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE variants (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE statuses (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE decodings (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE groups (id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (dataset, name));
CREATE TABLE prompts (id INTEGER PRIMARY KEY, task TEXT NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL,
    used_at REAL NOT NULL, UNIQUE (task, hash));
CREATE TABLE replies (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, {_REPLY_COLUMNS});
CREATE TABLE superseded (id INTEGER PRIMARY KEY, key TEXT NOT NULL, {_REPLY_COLUMNS});
CREATE TABLE asks (prompt_id INTEGER NOT NULL, sample INTEGER NOT NULL, model_id INTEGER NOT NULL,
    group_id INTEGER NOT NULL, variant_id INTEGER NOT NULL, reply_id INTEGER NOT NULL,
    PRIMARY KEY (prompt_id, sample, model_id, group_id, variant_id)) WITHOUT ROWID;
CREATE TABLE state (only INTEGER PRIMARY KEY CHECK (only = 1), changes INTEGER NOT NULL);
CREATE TABLE packed (prompt_id INTEGER NOT NULL, sample INTEGER NOT NULL, changes INTEGER NOT NULL,
    rows INTEGER NOT NULL, layout TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (prompt_id, sample));
INSERT INTO state VALUES (1, 0);
{_BATCHES}""" + "".join(
    f"CREATE TRIGGER {table}_{event.split()[0].lower()} AFTER {event} ON {table} "
    "BEGIN UPDATE state SET changes = changes + 1; END;\n"
    for table, events in (
        ("asks", ("INSERT", "UPDATE", "DELETE")),
        ("replies", ("UPDATE OF id, status_id, lat, lon", "DELETE")),
    )
    for event in events
)

_UPGRADES = {
    1: "ALTER TABLE replies ADD COLUMN notes TEXT;\nALTER TABLE superseded ADD COLUMN notes TEXT;" + _BATCHES,
}
"""From a version to the next one."""

_REMEDIES = (
    ("full", "the disk is full: free some space and run again, finished replies are kept"),
    ("readonly", "it is read-only: choose another folder or change its rights"),
    ("read-only", "it is read-only: choose another folder or change its rights"),
    ("unable to open", "the folder is missing or cannot be written: choose another folder or change its rights"),
    ("locked", f"another process has held it for {BUSY_S:.0f} s: wait for it, or stop it, and run again"),
    ("i/o error", "the disk reports an error: check it, or move the run to another disk"),
)


def explain(error: sqlite3.Error, path: Path) -> StorageError:
    """Turn an SQLite error into one clear line with the remedy."""
    message = str(error).lower()
    for part, remedy in _REMEDIES:
        if part in message:
            return StorageError(f"cannot use the store {path}: {remedy}")
    if any(part in message for part in ("malformed", "not a database", "no such table", "no such column")):
        return _damaged(path, str(error))
    return StorageError(f"the store {path} failed: {error}")


def _damaged(path: Path, detail: str) -> StorageError:
    return StorageError(
        f"the store {path} is damaged ({detail}): move it away and run again to ask anew, or put back a copy; "
        f"`sqlite3 {path.name} .recover` may save its replies. It was left as it is"
    )


def open_store(path: Path, *, create_missing: bool) -> sqlite3.Connection:
    """A connection to the store at `path`, made first if it is absent and `create_missing`.

    Raises
    ------
    StorageError
        The place cannot be written, or the file is damaged, half-written, foreign, or of another version. The file
        is never changed or removed in that case.
    """
    try:
        if path.is_dir():
            raise StorageError(f"{path} is a folder, not a store: give the name of a file in it")
        if not path.exists():
            if not create_missing:
                raise StorageError(f"there is no store {path}: run the evaluation first")
            create(path)
        version = _check_header(path)
    except OSError as error:
        raise storage_error(error, path) from error
    connection = connect(path)
    try:
        if path.stat().st_size <= _CHECK_BYTES:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise _damaged(path, " ".join(str(verdict).split())[:120])
        connection.execute("SELECT changes FROM state").fetchone()
        connection.execute("BEGIN IMMEDIATE")  # says now, not after the first paid reply, if it cannot be written
        if version != VERSION:
            _upgrade(connection)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _upgrade(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date inside the open transaction; another process may have done it meanwhile."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    while version in _UPGRADES:
        for statement in _UPGRADES[version].split(";"):
            if statement.strip():
                connection.execute(statement)
        version += 1
        connection.execute(f"PRAGMA user_version = {version}")


def connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode, usable from any one thread at a time."""
    try:
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise explain(error, path) from error
    return connection


def create(path: Path) -> None:
    """Make an empty store beside `path` and move it there whole; a store that appears meanwhile is left alone."""
    wal = path.with_name(path.name + "-wal")
    if wal.exists():
        # SQLite would replay it into the new file.
        raise StorageError(
            f"{wal} lies there without its store {path.name}: put the store back beside it, or move {wal.name} away"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            connection.execute("PRAGMA page_size = 8192")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
        finally:
            connection.close()
        temporary.chmod(0o644)
        _place(temporary, path)
    except sqlite3.Error as error:
        raise explain(error, path) from error
    finally:
        temporary.unlink(missing_ok=True)


def _place(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)  # unlike a rename it never replaces what another process has put there
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            temporary.replace(path)


def _check_header(path: Path) -> int:
    """The version told by the first bytes, looked at before SQLite does: opening a foreign file could change it."""
    with path.open("rb") as handle:
        head = handle.read(100)
    if len(head) < 100 or not head.startswith(_MAGIC):
        what = "is empty" if not head else "is no SQLite file" if head[:16] != _MAGIC[: len(head)] else "is cut off"
        raise _damaged(path, f"it {what}")
    version, application = struct.unpack(">I", head[60:64])[0], struct.unpack(">I", head[68:72])[0]
    if application != APPLICATION_ID:
        raise StorageError(f"{path} is another program's SQLite file, not a store of replies: choose another name")
    if version != VERSION and version not in _UPGRADES:
        age, remedy = ("newer", "update signpost_kit") if version > VERSION else ("older", "use a new run folder")
        raise StorageError(
            f"the store {path} has the {age} format {version}, this version reads {VERSION}: {remedy}, or export "
            "it with the version that wrote it (`signpost export`) and import the lines"
        )
    return version
