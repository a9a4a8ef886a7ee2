"""Stores that cannot be used: one clear line with the remedy, and the user's file left as it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from signpost_kit.errors import StorageError
from signpost_kit.evaluation import Reply, ReplyStore

OK = Reply(status="ok", text="1, 2", lat=1.0, lon=2.0)


@pytest.fixture
def filled(tmp_path, question) -> Path:
    path = tmp_path / "r.sqlite"
    with ReplyStore(path) as store:
        for i in range(300):
            store.submit(question(i), Reply(status="ok", text="x" * 200, lat=1.0, lon=2.0))
    return path


def refused(path: Path, match: str) -> None:
    before = path.read_bytes()
    with pytest.raises(StorageError, match=match) as caught:
        ReplyStore(path)
    assert "\n" not in str(caught.value) and path.name in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("keep", [0, 1, 50, 100, 8192, 0.5, 0.99])
def test_a_half_written_store(filled, keep):
    content = filled.read_bytes()
    filled.write_bytes(content[: keep if isinstance(keep, int) else int(len(content) * keep)])
    refused(filled, "is damaged.*move it away and run again to ask anew")


def test_a_store_with_a_page_of_zeros(filled):
    content = bytearray(filled.read_bytes())
    middle = len(content) // 2 // 8192 * 8192
    content[middle : middle + 8192] = bytes(8192)
    filled.write_bytes(content)
    refused(filled, "is damaged")


def test_no_database_at_all(tmp_path):
    path = tmp_path / "r.sqlite"
    path.write_text("model,lat,lon\n" * 20)
    refused(path, "it is no SQLite file")


def test_another_programs_database(tmp_path):
    path = tmp_path / "places.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE moz_places (id)")
    refused(path, "another program's SQLite file")


@pytest.mark.parametrize(("version", "age"), [(0, "older"), (99, "newer")])
def test_another_format_version(filled, version, age):
    other = sqlite3.connect(filled)
    other.execute(f"PRAGMA user_version = {version}")
    other.execute("PRAGMA journal_mode = DELETE")
    other.close()
    refused(filled, f"has the {age} format {version}, this version reads 2")


def test_a_log_without_its_store(filled):
    filled.with_name("r.sqlite-wal").write_bytes(b"x" * 100)
    filled.unlink()
    with pytest.raises(StorageError, match="lies there without its store"):
        ReplyStore(filled)
    assert not filled.exists()


def test_a_folder_and_an_absent_store(tmp_path):
    with pytest.raises(StorageError, match="is a folder, not a store"):
        ReplyStore(tmp_path)
    with pytest.raises(StorageError, match="there is no store .* run the evaluation first"):
        ReplyStore(tmp_path / "absent.sqlite", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_place_below_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="a part of that path is a file, not a folder"):
        ReplyStore(tmp_path / "file" / "r.sqlite")


def as_ordinary_user(work: Callable[[], None]) -> str:
    """The StorageError that `work` raises without root's rights; "" when it raises none."""
    if os.geteuid() != 0:
        return _message(work)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        os.write(write, _message(work).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        message = pipe.read()
    os.waitpid(child, 0)
    return message


def _message(work: Callable[[], None]) -> str:
    try:
        work()
    except StorageError as error:
        return str(error)
    except BaseException as error:
        return f"not a StorageError: {error!r}"
    return ""


@pytest.mark.skipif(sys.platform == "win32", reason="rights of folders are a matter of POSIX")
def test_a_read_only_folder_and_a_read_only_file(filled):
    folder = Path(tempfile.mkdtemp(prefix="signpost-read-only-"))
    try:
        folder.chmod(0o555)
        message = as_ordinary_user(lambda: ReplyStore(folder / "r.sqlite").close())
        assert message.startswith(f"cannot write {folder / 'r.sqlite'}: no permission to write there")
        folder.chmod(0o755)
        path = Path(shutil.copy(filled, folder / "r.sqlite"))
        path.chmod(0o444)
        folder.chmod(0o555)
        message = as_ordinary_user(lambda: ReplyStore(path).close())
        assert message.startswith(f"cannot use the store {path}: ") and "change its rights" in message
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_full_disk_keeps_what_is_finished_and_goes_on_afterwards(tmp_path, question):
    path = tmp_path / "r.sqlite"
    with ReplyStore(path) as store:
        pages = store._writer.submit(lambda db: db.execute("PRAGMA page_count").fetchone()[0]).result()
        limit = f"PRAGMA max_page_count = {pages + 12}"  # SQLite then fails just as on a full disk
        store._writer.submit(lambda db: db.execute(limit).fetchone()).result()
        finished = []
        with pytest.raises(StorageError, match=r"cannot use the store .*r\.sqlite: the disk is full: free some"):
            for i in range(400):
                store.put(question(i), Reply(status="ok", text="x" * 1000, lat=1.0, lon=2.0))
                finished.append(question(i).key)
        assert 20 < len(finished) < 400
        assert store.done_keys() == set(finished)
        store._writer.submit(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone()).result()
        assert store.put(question(399), OK) is True
    with ReplyStore(path) as again:
        assert again.done_keys() == {*finished, question(399).key}
        assert len(again.predictions("toy")) == len(finished) + 1


def test_damage_found_while_reading(tmp_path, question, monkeypatch):
    from signpost_kit.evaluation import schema

    monkeypatch.setattr(schema, "_CHECK_BYTES", 0)  # as for a store too large to be checked when opened
    path = tmp_path / "r.sqlite"
    with ReplyStore(path) as store:
        for i in range(300):
            store.submit(question(i), Reply(status="ok", text="x" * 2000, lat=1.0, lon=2.0))
    content = bytearray(path.read_bytes())
    from_here = len(content) * 3 // 4 // 8192 * 8192
    content[from_here:] = b"\xff" * (len(content) - from_here)
    path.write_bytes(content)
    with ReplyStore(path) as store, pytest.raises(StorageError, match="is damaged"):
        store.predictions("toy", extra=("text",))


def test_a_store_that_another_process_holds(filled, question, monkeypatch):
    from signpost_kit.evaluation import schema

    monkeypatch.setattr(schema, "BUSY_S", 0.05)
    with ReplyStore(filled) as store:
        other = sqlite3.connect(filled, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="another process has held it"):
            store.put(question(999), OK)
        assert len(store) == 300  # reading goes on
        other.execute("ROLLBACK")
        other.close()
        assert store.put(question(999), OK) is True
