"""Files are written whole or not at all, and names from data stay inside their folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost_kit.errors import DataError, StorageError
from signpost_kit.files import atomic_path, hash_bytes, hash_file, inside, safe_name, write_text


@given(st.text(max_size=300), st.text(max_size=300))
def test_safe_names_are_safe_and_distinct(a: str, b: str) -> None:
    name = safe_name(a)
    assert name and "/" not in name and "\\" not in name and "\0" not in name
    assert name not in (".", "..") and name[0] not in ".-" and len(name.encode()) <= 140
    assert (safe_name(b) == name) == (a == b)


def test_ids_of_the_field_stay_readable() -> None:
    assert safe_name("a40b@N02_12345") == "a40b@N02_12345"
    assert safe_name("12/34/56.jpg").startswith("12_34_56.jpg-")


def test_inside_refuses_every_way_out(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    for bad in ("../x", "/etc/passwd", "a/../../x", "link/etc"):
        with pytest.raises(DataError, match="outside"):
            inside(tmp_path, bad)
    assert inside(tmp_path, "a/b") == tmp_path.resolve() / "a/b"


def test_a_failed_write_leaves_the_old_file_and_no_crumbs(tmp_path: Path) -> None:
    target = tmp_path / "t.txt"
    write_text(target, "old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_an_unwritable_place_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot write .*not a folder"):
        write_text(tmp_path / "file" / "t.txt", "x")


def test_file_hash_is_the_hash_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"abc" * 100_000)
    assert hash_file(path) == hash_bytes(path.read_bytes())
    # SHA-256 of the empty string, FIPS 180-4 example value.
    assert hash_bytes(b"") == "e3b0c44298fc1c149afbf4c8996fb924"
