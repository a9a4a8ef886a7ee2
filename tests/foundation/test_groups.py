"""Benchmark folders: what is written is read back, and damage is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from signpost_kit.benchmark import Benchmark, Group, Span, Trap
from signpost_kit.errors import DataError
from signpost_kit.frames import check_frame, empty_frame


def _group(name: str, **fields: object) -> Group:
    return Group(group_id=name, dataset="d", lat=10.0, lon=20.0, **fields)  # type: ignore[arg-type]


def _benchmark(root: Path) -> Benchmark:
    span = Span("Rue X", ((0.0, 0.0), (9.0, 0.0), (9.0, 4.0), (0.0, 4.0)), tier="T3", replacements={"random": "茶"})
    first = _group("a", spans=(span,), trap=Trap(1.0, 2.0, "Lima"), images={"Original": "images/Original/a.png"})
    return Benchmark("demo", (first, _group("日本/../b")), root)


def test_write_then_read_is_the_same(tmp_path: Path) -> None:
    benchmark = _benchmark(tmp_path / "bench")
    benchmark.write()
    assert Benchmark.read(tmp_path / "bench") == benchmark


def test_representative_is_highest_tier_then_longer_then_first() -> None:
    spans = (Span("much longer text", tier="T2"), Span("Via A", tier="T3"), Span("Via BB", tier="T3"))
    assert _group("g", spans=spans).representative == spans[2]
    tied = (Span("one", tier="T1"), Span("two", tier="T1"))
    assert _group("g", spans=tied).representative == tied[0]
    assert _group("g").representative is None


def test_frame_has_nan_where_there_is_no_trap(tmp_path: Path) -> None:
    frame = _benchmark(tmp_path).to_frame()
    assert frame["trap_lat"].tolist()[0] == 1.0 and frame["trap_lat"].isna().tolist() == [False, True]
    assert Benchmark("x", (), tmp_path).to_frame().empty


def test_ids_never_become_paths_outside(tmp_path: Path) -> None:
    benchmark = _benchmark(tmp_path)
    name = benchmark.image_name(benchmark.groups[1], "Blank")
    assert name.count("/") == 2 and ".." not in name
    evil = _group("e", images={"Original": "../../etc/passwd"})
    with pytest.raises(DataError, match="outside"):
        benchmark.image_path(evil, "Original")
    with pytest.raises(DataError, match="no 'Blank' picture"):
        benchmark.image_path(evil, "Blank")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda root: (root / "groups.jsonl").unlink(), "groups.jsonl is missing"),
        (lambda root: (root / "benchmark.json").write_text("{"), "benchmark.json is damaged"),
        (
            lambda root: (root / "groups.jsonl").write_bytes((root / "groups.jsonl").read_bytes()[:-30]),
            "line 2",
        ),
        (lambda root: (root / "groups.jsonl").write_bytes(b""), "holds 0 groups"),
    ],
)
def test_damage_is_named(tmp_path: Path, damage, says: str) -> None:
    root = _benchmark(tmp_path).write()
    damage(root)
    with pytest.raises(DataError, match=says):
        Benchmark.read(root)


def test_two_groups_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two groups"):
        Benchmark("x", (_group("a"), _group("a")), tmp_path).write()
    assert not (tmp_path / "groups.jsonl").exists()


def test_frames_are_checked_once() -> None:
    frame = empty_frame("predictions")
    with pytest.raises(DataError, match="lacks the column"):
        check_frame(frame.drop(columns="lat"), "predictions")
    row = {
        "model": "m",
        "dataset": "d",
        "group_id": "g",
        "variant": "Blnk",
        "lat": 1,
        "lon": 2,
        "status": "ok",
    }
    with pytest.raises(DataError, match="'Blnk'"):
        check_frame(frame.from_records([row]), "predictions")
    with pytest.raises(DataError, match="text where numbers"):
        check_frame(frame.from_records([row | {"variant": "Blank", "lat": "north"}]), "predictions")
