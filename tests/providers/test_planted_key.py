"""The helper that searches everything a run wrote for a planted key finds it in each form."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
import zipfile
from pathlib import Path

from planted_key import find_key_in

KEY = "sk-planted-0123456789abcdefXYZ"


def test_each_form_is_found(tmp_path: Path) -> None:
    (tmp_path / "clean.log").write_text("nothing here: sk-planted-0123456789 only in part")
    assert find_key_in(tmp_path, KEY) == []

    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "run.log").write_text(f"Authorization: Bearer {KEY}")
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [{"source": [f"key = '{KEY}'"]}]}))
    (tmp_path / "log.gz").write_bytes(gzip.compress(KEY.encode()))
    (tmp_path / "wide.txt").write_bytes(KEY.encode("utf-16-le"))
    for shift in range(3):
        (tmp_path / f"b{shift}.txt").write_bytes(base64.b64encode(b"x" * shift + KEY.encode() + b"yy"))
    with zipfile.ZipFile(tmp_path / "z.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.txt", KEY * 3)
    with sqlite3.connect(tmp_path / "replies.sqlite") as database:
        database.execute("create table t (x text)")
        database.execute("insert into t values (?)", (f"error: {KEY}",))
    database.close()
    (tmp_path / f"{KEY}.txt").write_text("")

    found = {line.partition(":")[0].partition(" ")[0] for line in find_key_in(tmp_path, KEY)}
    expected = {"deep/er/run.log", "a.ipynb", "log.gz", "wide.txt", "z.zip", "replies.sqlite", f"{KEY}.txt"}
    assert found == expected | {f"b{shift}.txt" for shift in range(3)}


def test_one_file(tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text(KEY)
    assert find_key_in(path, KEY) == ["one.txt: as it is"]
