"""The journal of finished items: what is kept, for whom it counts, and what trouble it tells."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from signpost_kit.benchmark import Group, Span
from signpost_kit.errors import ConfigError, DataError, StorageError
from signpost_kit.mapping import Journal, Outcome, inputs_hash, map_items


def by_name(item: str) -> tuple[str, str]:
    return item, "v1"


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "stages" / "work.sqlite"


def test_a_second_call_does_nothing_again(path):
    calls: list[str] = []

    def function(item: str) -> dict:
        calls.append(item)
        return {"name": item, "size": len(item)}

    runs = []
    for _ in range(2):
        with Journal(path, key=by_name) as journal:
            runs.append(list(map_items(function, ["a", "bb", "ccc"], journal=journal, progress=False)))
            assert len(journal) == 3 and list(journal.names()) == ["a", "bb", "ccc"]
    assert sorted(calls) == ["a", "bb", "ccc"]
    assert (
        [o.value for o in runs[0]]
        == [o.value for o in runs[1]]
        == [{"name": n, "size": len(n)} for n in ("a", "bb", "ccc")]
    )
    assert not any(o.kept for o in runs[0]) and all(o.kept for o in runs[1])


def test_other_inputs_are_done_again_and_take_the_old_ones_place(path):
    for inputs in ("v1", "v2", "v1"):
        with Journal(path, key=lambda item, inputs=inputs: (item, inputs)) as journal:
            (outcome,) = map_items(lambda item, inputs=inputs: inputs, ["a"], journal=journal, progress=False)
            assert outcome == Outcome(0, "a", inputs) and len(journal) == 1


def test_what_is_no_longer_usable_or_readable_is_done_again(path, tmp_path):
    picture = tmp_path / "a.png"

    def function(item: str) -> str:
        picture.write_bytes(b"x")
        return str(picture)

    for kept in (False, True, False):
        if not kept:
            picture.unlink(missing_ok=True)
        with Journal(path, key=by_name, usable=lambda item, value: Path(value).is_file()) as journal:
            (outcome,) = map_items(function, ["a"], journal=journal, progress=False)
        assert outcome.kept is kept and picture.is_file()
    with Journal(path, key=by_name, decode=msgspec.json.Decoder(Group).decode) as journal:
        assert journal.look_up("a") == (False, None), "a text is no Group"


def test_failures_are_tried_again(path):
    wanted = ["no", "yes"]
    for error in ("no file", ""):

        def function(item: str, error: str = error) -> str:
            if item == "no" and error:
                raise DataError(error)
            return item

        with Journal(path, key=by_name) as journal:
            outcomes = list(map_items(function, wanted, journal=journal, progress=False))
        assert [o.error for o in outcomes] == [error, ""]


def test_groups_come_back_as_they_were(path):
    group = Group(
        "g/1",
        "d",
        1.5,
        -2.0,
        spans=(Span("Café 東京", polygon=((0.1, 2.0), (3.0, 4.0))),),
        images={"Original": "o.png"},
    )
    decode = msgspec.json.Decoder(Group).decode
    for _ in range(2):
        with Journal(path, key=lambda g: (g.group_id, inputs_hash(g, 42)), decode=decode) as journal:
            (outcome,) = map_items(lambda g: g, [group], journal=journal, progress=False)
            assert outcome.value == group
    assert outcome.kept


def test_inputs_hash_tells_everything_apart_but_the_order_of_keys():
    group = Group("g", "d", 0.0, 0.0)
    assert inputs_hash({"a": 1, "b": 2}, group, Path("x")) == inputs_hash({"b": 2, "a": 1}, group, Path("x"))
    parts = [
        (),
        ("",),
        ("a", "b"),
        ("ab",),
        (1,),
        ("1",),
        (None,),
        (group,),
        (Group("g", "d", 0.0, 0.1),),
        (["a", "b"],),
    ]
    assert len({inputs_hash(*p) for p in parts}) == len(parts)


def test_forgetting(path):
    with Journal(path, key=by_name) as journal:
        for item in "abcd":
            journal.keep(item, 1)
        journal.forget("b", "x")
        assert list(journal.names()) == ["a", "c", "d"]
        journal.forget()
        assert len(journal) == 0
        for number in range(2500):
            journal.keep(f"{number:05}", number)
        assert [int(name) for name in journal.names()] == list(range(2500))


def test_results_are_kept_while_an_earlier_item_is_still_under_way(path):
    kept, first = [], threading.Event()

    def function(item: str) -> str:
        if item == "slow":
            assert first.wait(30)
        return item

    with Journal(path, key=by_name) as journal:
        keep = journal.keep

        def told(item, value, key):
            keep(item, value, key)
            kept.append(item)
            if len(kept) == 2:
                first.set()

        journal.keep = told  # type: ignore[method-assign]
        outcomes = list(map_items(function, ["slow", "a", "b"], workers=2, journal=journal, progress=False))
    assert [o.item for o in outcomes] == ["slow", "a", "b"]
    assert sorted(kept[:2]) == ["a", "b"] and kept[2] == "slow"


def test_two_processes_write_one_journal(path):
    script = (
        "import sys\nfrom signpost_kit.mapping import Journal\n"
        "with Journal(sys.argv[1], key=lambda item: (item, '')) as journal:\n"
        "    for number in range(200):\n        journal.keep(f'{sys.argv[2]}{number}', number)\n"
        "        journal.keep('shared', [sys.argv[2], number])\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in "ab"]
    assert [child.wait(60) for child in children] == [0, 0]
    with Journal(path, key=lambda item: (item, "")) as journal:
        assert len(journal) == 401
        assert journal.look_up("a199") == (True, 199) and journal.look_up("b0") == (True, 0)
        assert journal.look_up("shared")[1][1] == 199


def test_a_full_disk_ends_the_call_and_leaves_what_was_kept(path):
    with Journal(path, key=by_name) as journal:
        journal._db.execute("PRAGMA max_page_count = 12")  # what SQLite meets on a full disk: SQLITE_FULL
        seen = []
        with pytest.raises(StorageError, match=r"the disk is full.*finished work is kept"):
            for outcome in map_items(lambda item: item * 2000, "abcdefghijklmnop", journal=journal, progress=False):
                seen.append(outcome.item)
        assert 2 <= len(seen) < 14
    with Journal(path, key=by_name) as journal:
        assert set(seen) <= set(journal.names())
        again = list(map_items(lambda item: item * 2000, "abcdefghijklmnop", journal=journal, progress=False))
    assert [o.value for o in again] == [c * 2000 for c in "abcdefghijklmnop"]
    assert all(o.kept for o in again[: len(seen)])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}\n" * 50, "is damaged .*delete it and run again"),
        (b"SQLite format 3\0" + b"\xff" * 4080, "damaged|another"),
    ],
)
def test_damaged_files_are_told_and_left_alone(path, content, message):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StorageError, match=message):
        Journal(path, key=by_name)
    assert path.read_bytes() == content


def test_a_torn_middle_is_told(path):
    with Journal(path, key=by_name) as journal:
        for number in range(300):
            journal.keep(str(number), "x" * 100)
    data = bytearray(path.read_bytes())
    data[4096 : len(data)] = b"\xee" * (len(data) - 4096)
    path.write_bytes(bytes(data))
    with pytest.raises(StorageError, match="damaged"), Journal(path, key=by_name) as journal:
        list(map_items(str.upper, ["7"], journal=journal, progress=False))


def test_an_empty_file_and_anothers_database(path):
    path.parent.mkdir()
    path.touch()  # a kill between making the file and its first commit
    with Journal(path, key=by_name) as journal:
        journal.keep("a", 1)
    other = path.with_name("other.sqlite")
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE theirs (x)")
    with pytest.raises(StorageError, match="another program's"):
        Journal(other, key=by_name)


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file, not a folder"):
        Journal(tmp_path / "file" / "j.sqlite", key=by_name)
    with pytest.raises(StorageError, match="cannot use the journal"):
        Journal(tmp_path, key=by_name)


def test_an_error_of_the_key_ends_the_call(path):
    def key(item: str) -> tuple[str, str]:
        raise ConfigError("no such picture")

    with Journal(path, key=key) as journal, pytest.raises(ConfigError, match="no such picture"):
        list(map_items(str.upper, ["a"], journal=journal, progress=False))


def test_a_value_that_json_does_not_know(path):
    with Journal(path, key=by_name) as journal, pytest.raises(TypeError):
        list(map_items(lambda item: object(), ["a"], journal=journal, progress=False))


def test_a_result_is_kept_under_the_inputs_that_its_work_began_with(path, tmp_path):
    file = tmp_path / "input"
    file.write_text("before")

    def function(item: str) -> str:
        content = file.read_text()
        file.write_text("after")
        return content

    with Journal(path, key=lambda item: (item, file.read_text())) as journal:
        assert [o.value for o in map_items(function, ["a"], journal=journal, progress=False)] == ["before"]
        assert [o.value for o in map_items(function, ["a"], journal=journal, progress=False)] == ["after"]
