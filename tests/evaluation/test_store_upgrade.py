"""A store of the first version is brought up to date when it is opened: whole, or not at all, and nothing is lost."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from signpost_kit.errors import StorageError
from signpost_kit.evaluation import Reply, ReplyStore, schema

NEW_TABLES = ("batches", "batch_keys")


@pytest.fixture
def first_version(tmp_path, question) -> Path:
    """As version 1 left it: the same tables without notes and batches."""
    path = tmp_path / "r.sqlite"
    with ReplyStore(path) as store:
        for i in range(50):
            store.submit(question(i), Reply(status="ok", text=f"{i}, 2", lat=float(i), lon=2.0))
        store.put(question(7), Reply(status="error", reason="kept aside"), replace=("error",))
    db = sqlite3.connect(path, isolation_level=None)
    for table in ("replies", "superseded"):
        db.execute(f"ALTER TABLE {table} DROP COLUMN notes")
    for table in NEW_TABLES:
        db.execute(f"DROP TABLE {table}")
    db.execute("PRAGMA user_version = 1")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return path


def version(path: Path) -> int:
    with sqlite3.connect(path) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


def test_its_replies_are_all_there_and_new_ones_carry_notes(first_version, question):
    with ReplyStore(first_version) as store:
        frame = store.predictions("toy", extra=("text", "notes"))
        assert list(frame["lat"]) == [float(i) for i in range(50)] and frame["notes"].isna().all()
        assert store.get(question(3).key).notes == {}
        store.put(question(99), Reply(status="ok", notes={"max_tokens": "no"}))
        assert store.get(question(99).key).notes == {"max_tokens": "no"}
    assert version(first_version) == schema.VERSION == 2
    with ReplyStore(first_version) as again:
        assert len(again) == 51


def test_it_has_the_tables_of_a_new_store(first_version, tmp_path):
    ReplyStore(first_version).close()
    ReplyStore(tmp_path / "new.sqlite").close()
    layouts = []
    for path in (first_version, tmp_path / "new.sqlite"):
        with sqlite3.connect(path) as db:
            names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            columns = {n: [row[1:] for row in db.execute(f"PRAGMA table_info({n})")] for n in names}
            triggers = db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY name").fetchall()
            layouts.append((columns, triggers))
    assert layouts[0] == layouts[1]


def test_an_upgrade_that_is_cut_short_leaves_the_store_as_it_was(first_version, monkeypatch):
    broken = schema._UPGRADES[1] + "CREATE TABLE replies (id);"  # fails as the last of its statements
    monkeypatch.setitem(schema._UPGRADES, 1, broken)
    with pytest.raises(StorageError):
        ReplyStore(first_version)
    assert version(first_version) == 1
    monkeypatch.undo()
    with ReplyStore(first_version) as store:
        assert len(store) == 50


KILLED = """
import os, sys
from pathlib import Path
from signpost_kit.evaluation import schema
text = schema._UPGRADES[1].split(";")
db = schema.connect(Path(sys.argv[1]))
db.execute("BEGIN IMMEDIATE")
for statement in text[: int(sys.argv[2])]:
    if statement.strip():
        db.execute(statement)
if len(sys.argv) > 3:
    db.execute("PRAGMA user_version = 2")
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("moment", [("1",), ("3",), ("9", "versioned")])
def test_a_kill_in_the_middle_of_it(first_version, moment):
    child = subprocess.run([sys.executable, "-c", KILLED, str(first_version), *moment], check=False)
    assert child.returncode == -9 and version(first_version) == 1
    with ReplyStore(first_version) as store:
        assert len(store) == 50 and store.put is not None
    assert version(first_version) == 2


def test_two_openings_at_once(first_version):
    opened, errors = [], []

    def run() -> None:
        try:
            opened.append(ReplyStore(first_version))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and [len(store) for store in opened] == [50] * 6
    for store in opened:
        store.close()
