"""Groups between stages: one at a time, whole or not at all, damage named by line."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from signpost_kit.benchmark import Benchmark, Group, Span
from signpost_kit.benchmark.group_lines import unhindered
from signpost_kit.errors import DataError, StorageError
from signpost_kit.stages.common import count_groups, iter_groups, load_groups, publish, publish_stage, save_groups


def group(number: int) -> Group:
    return Group(
        f"g{number}", "d", 1.0 * number, 2.0, spans=(Span("Café 東\u2028京\n", polygon=((0.5, 1.0),)),),
        images={"Original": "images/Original/o.png"}, generation={"Blank": {"seed": number}},
    )  # fmt: skip


@pytest.fixture
def run(tmp_path) -> SimpleNamespace:
    return SimpleNamespace(dir=tmp_path / "run", name="toy")


def test_what_is_saved_comes_back_one_by_one(run):
    groups = tuple(group(n) for n in range(5))
    assert save_groups(run, "sources", iter(groups)) == 5
    assert load_groups(run, "sources") == groups == tuple(iter_groups(run, "sources"))
    assert count_groups(run, "sources") == 5
    assert save_groups(run, "none", ()) == 0 == count_groups(run, "none") and load_groups(run, "none") == ()


def test_a_stage_reads_and_writes_at_the_same_time(run):
    save_groups(run, "a", (group(n) for n in range(100)))
    under_way = []

    def passed():
        for one in iter_groups(run, "a"):
            under_way.append(one.group_id)
            yield replace(one, tier="T1")

    assert save_groups(run, "b", passed()) == 100 == len(under_way)
    assert {one.tier for one in iter_groups(run, "b")} == {"T1"}


@pytest.mark.parametrize("error", [DataError("no good"), FileNotFoundError("gone.png"), KeyboardInterrupt()])
def test_a_stage_that_fails_half_way_leaves_what_was_there(run, error):
    save_groups(run, "a", [group(1)])

    def failing():
        yield group(2)
        raise error

    with pytest.raises(type(error)):
        save_groups(run, "a", failing())
    assert load_groups(run, "a") == (group(1),)
    assert [p.name for p in (run.dir / "stages").iterdir()] == ["a.groups.jsonl"]


def test_publishing_both_ways_gives_the_same_bytes(run):
    groups = [group(n) for n in range(4)]
    save_groups(run, "a", groups)
    files = [run.dir / "benchmark" / name for name in ("groups.jsonl", "benchmark.json")]
    publish(run, groups)
    first = [path.read_bytes() for path in files]
    for path in files:
        path.unlink()
    assert publish_stage(run, "a") == 4
    assert [path.read_bytes() for path in files] == first
    assert Benchmark.read(run.dir / "benchmark").groups == tuple(groups)
    lean = Benchmark.read(run.dir / "benchmark", generation=False).groups
    assert lean == tuple(replace(one, generation={}) for one in groups)


def test_twins_are_refused_and_the_benchmark_stays(run):
    publish(run, [group(1)])
    save_groups(run, "a", [group(2), group(2)])
    with pytest.raises(DataError, match="two groups are called 'g2'"):
        publish_stage(run, "a")
    assert Benchmark.read(run.dir / "benchmark").groups == (group(1),)


def test_a_torn_line_is_named(run):
    save_groups(run, "a", [group(1), group(2), group(3)])
    path = run.dir / "stages" / "a.groups.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    groups = iter_groups(run, "a")
    assert [next(groups).group_id, next(groups).group_id] == ["g1", "g2"]
    with pytest.raises(DataError, match=r"line 3 is damaged .*run the stage 'a' again"):
        next(groups)
    with pytest.raises(DataError, match="line 3 is damaged"):
        load_groups(run, "a")


def test_a_stage_that_has_not_run_is_named_at_once(run):
    for function in (iter_groups, load_groups, count_groups, publish_stage):
        with pytest.raises(DataError, match="run the stage 'taxonomy' first"):
            function(run, "taxonomy")


def test_a_place_that_cannot_be_written(run):
    run.dir.mkdir()
    (run.dir / "stages").touch()
    with pytest.raises(StorageError, match="file, not a folder"):
        save_groups(run, "a", [group(1)])


def test_the_collector_is_as_before():
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            with pytest.raises(ValueError), unhindered():
                raise ValueError
            assert gc.isenabled() is enabled
        finally:
            gc.enable()


def test_groups_are_small(tmp_path: Path):
    assert not hasattr(group(1), "__dict__") and not hasattr(group(1).spans[0], "__dict__")


def test_what_a_killed_process_was_writing_is_swept_away(run, monkeypatch):
    from signpost_kit.files import atomic_path
    from signpost_kit.stages.common import recording

    stages, images = run.dir / "stages", run.dir / "benchmark" / "images" / "Blank"
    recorded = []
    run.record = lambda stage, **what: recorded.append(stage)
    kept = [stages / "a.json", stages / ".hidden", images / "g.png", images / ".g.png", images / ".x.abcdefgh.d"]
    for path in kept[:-1]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    kept[-1].mkdir()
    left = []
    for path in (stages / "a.groups.jsonl", stages / "b.json", images / "g.png", images / ("n" * 60 + ".png")):
        with pytest.raises(ZeroDivisionError), atomic_path(path) as temporary:
            left.append(temporary)
            raise ZeroDivisionError
        left[-1].touch()
    with recording(run, "synthesis"):
        assert not any(path.exists() for path in left)
    assert all(path.exists() for path in kept) and recorded == ["synthesis"]
