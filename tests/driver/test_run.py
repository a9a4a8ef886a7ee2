"""A run's folder: what is up to date is not done again, what is not is done in order, tables come back as they went."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import signpost_kit.stages
from signpost_kit.errors import ConfigError, DataError, SignpostError, StorageError
from signpost_kit.run import RETRY_VARIABLE, Run, open_run
from signpost_kit.run_lock import locked

ALL = list(signpost_kit.stages.ORDER)
ORDER = ALL[: ALL.index("scoring") + 1]


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stages that only note that they ran."""
    log: list[str] = []

    def make(name: str):
        def stage(run: Run) -> None:
            log.append(name)
            (run.dir / "benchmark").mkdir(exist_ok=True)
            (run.dir / "benchmark/groups.jsonl").write_text("")
            if name == "evaluation":
                run.store_path.write_text("")
            if name == "scoring":
                run.save_table("scores", pd.DataFrame({"wla": [0.5]}))
                return  # a stage that records nothing is recorded by ensure
            run.record(name, {"groups": np.int64(3)}, [{"item": "a", "reason": "b"}], 0.1)

        return stage

    monkeypatch.setattr(signpost_kit.stages, "STAGES", {name: make(name) for name in ALL})
    return log


def test_ensure_does_what_is_missing_in_order_and_nothing_twice(toy: Path, done: list[str]) -> None:
    run = open_run("tiny")
    run.ensure("taxonomy")
    assert done == ORDER[:3]
    run.ensure("scoring")
    assert done == ORDER
    open_run("tiny").ensure("scoring")
    assert done == ORDER
    assert run.is_current("scoring")
    record = run.stage_record("sources")
    assert record is not None
    assert record["counts"] == {"groups": 3} and record["rejected"] == [{"item": "a", "reason": "b"}]
    assert run.stage_record("scoring")["outputs"] == ["tables/scores.csv"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ("scoring.seed=1", "scoring"),
        ("models=reader", "evaluation"),
        ("editing.seed=1", "synthesis"),
        ("replacements.seed=1", "replacements"),
        ("source.n=3", "sources"),
        ("evaluation.timeout_s=9", None),
        ("evaluation.concurrency=2", None),
        ("title=other", None),
    ],
)
def test_a_change_redoes_the_stage_it_concerns_and_what_follows(
    toy: Path, done: list[str], change: str, again: str | None
) -> None:
    open_run("tiny").ensure("scoring")
    done.clear()
    open_run("tiny", sets=[change]).ensure("scoring")
    assert done == (ORDER[ORDER.index(again) :] if again else [])


@pytest.mark.parametrize(
    ("lost", "again"),
    [
        ("stages/targets.json", "targets"),
        ("tables/scores.csv", "scoring"),
        ("replies.sqlite", "evaluation"),
        ("benchmark/groups.jsonl", "sources"),
    ],
)
def test_what_was_deleted_is_made_again(toy: Path, done: list[str], lost: str, again: str) -> None:
    run = open_run("tiny")
    run.ensure("scoring")
    done.clear()
    (run.dir / lost).unlink()
    run.ensure("scoring")
    assert done == ORDER[ORDER.index(again) :]


def test_stages_run_after_what_they_need_and_nothing_else(toy: Path, done: list[str]) -> None:
    needs = signpost_kit.stages.NEEDS
    assert set(needs) == set(ALL)
    assert all(ALL.index(before) < ALL.index(name) for name in ALL for before in needs[name])
    open_run("tiny").ensure("hints")
    assert done == ["sources", "ladder", "hints"]
    done.clear()
    open_run("tiny").ensure("analysis")
    assert done == [*ORDER[1:], "probing", "defense", "cross_task", "analysis"]
    done.clear()
    changed = open_run("tiny", sets=["tasks.probing.seed=1"])
    changed.ensure("analysis")
    changed.ensure("hints")
    assert done == ["probing", "analysis"]
    done.clear()
    open_run("tiny", sets=["tasks.probing.seed=1", "source.n=3"]).ensure("sources")
    assert not open_run("tiny", sets=["tasks.probing.seed=1", "source.n=3"]).is_current("hints")
    (changed.dir / "stages/sources.json").unlink()
    assert not changed.is_current("analysis") and not changed.is_current("hints")


def test_a_damaged_record_counts_as_none(toy: Path, done: list[str]) -> None:
    run = open_run("tiny")
    run.ensure("scoring")
    done.clear()
    (run.dir / "stages/scoring.json").write_text('{"stage": "scor')
    run.ensure("scoring")
    assert done == ["scoring"]


def test_changed_parameter_files_and_photos_are_noticed(toy: Path, done: list[str]) -> None:
    (toy / "pictures").mkdir()
    (toy / "pictures/a.jpg").write_bytes(b"a")
    sets = ["source.kind=photos", "source.path=pictures"]
    open_run("tiny", sets=sets).ensure("scoring")
    done.clear()
    (toy / "params/prompts").mkdir()
    (toy / "params/prompts/coordinate.md").write_text("Where is this?")
    open_run("tiny", sets=sets).ensure("scoring")
    assert done == ["evaluation", "scoring"]
    done.clear()
    (toy / "pictures/b.jpg").write_bytes(b"b")
    open_run("tiny", sets=sets).ensure("scoring")
    assert done == ORDER


def test_a_stage_that_dies_leaves_no_record_that_vouches_for_its_work(
    toy: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_run("tiny")
    run.ensure("scoring")

    def dies(run: Run) -> None:
        raise DataError("no")

    monkeypatch.setitem(signpost_kit.stages.STAGES, "synthesis", dies)
    with pytest.raises(DataError):
        open_run("tiny", sets=["editing.seed=5"]).ensure("scoring")
    # Back to the old settings: the pictures on disk may be half new, so the old record must be gone.
    assert not open_run("tiny").is_current("synthesis")
    assert open_run("tiny").is_current("targets")


def test_an_unknown_stage_names_the_known_ones(toy: Path) -> None:
    with pytest.raises(ConfigError, match="unknown stage 'scorring'.*sources, screening"):
        open_run("tiny").ensure("scorring")


def test_tables_come_back_as_they_went(toy: Path) -> None:
    frame = pd.DataFrame(
        {
            "group_id": ["007", "nan"],
            "tier": ["", ""],
            "country": ["NA", ""],
            "wla": [0.1 + 0.2, float("nan")],
            "note": ["a, b\nc", ""],
            "n": [3, 4],
        }
    )
    run = open_run("tiny")
    run.save_table("mine", frame)
    back = run.table("mine")
    pd.testing.assert_frame_equal(back, frame, check_dtype=False, check_exact=True)
    assert list(back["group_id"]) == ["007", "nan"] and list(back["country"]) == ["NA", ""]


def test_an_absent_or_damaged_table_is_explained(toy: Path) -> None:
    run = open_run("tiny")
    with pytest.raises(DataError, match="no table 'coverage'.*stage 'evaluation'"):
        run.table("coverage")
    with pytest.raises(ConfigError, match="cannot name a table"):
        run.save_table("../x", pd.DataFrame())
    (run.dir / "tables").mkdir(parents=True)
    (run.dir / "tables/torn.csv").write_text('a,b\n1,"2')
    with pytest.raises(DataError, match=r"torn\.csv is damaged"):
        run.table("torn")


def test_folders(toy: Path, tmp_path: Path) -> None:
    assert open_run("tiny").dir == toy / "runs/tiny"
    assert open_run("tiny").figures_dir == toy / "figures/tiny"
    assert open_run("tiny", "runs/other").figures_dir == toy / "figures/other"
    assert open_run("tiny", str(tmp_path / "far")).figures_dir == tmp_path / "far/figures"
    assert not (toy / "runs").exists()  # opening writes nothing
    (toy / "afile").write_text("")
    with pytest.raises(StorageError, match="is a file"):
        open_run("tiny", "afile")


def test_retry_comes_from_the_environment(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RETRY_VARIABLE, "empty, error")
    assert open_run("tiny").retry == ("empty", "error")
    monkeypatch.setenv(RETRY_VARIABLE, "ok")
    with pytest.raises(SignpostError, match="'ok'"):
        open_run("tiny")


def test_the_lock_keeps_others_out_and_lets_its_holder_in_again(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\nfrom signpost_kit.run_lock import locked\n"
        "with locked(pathlib.Path(sys.argv[1])):\n  print('held', flush=True); sys.stdin.readline()"
    )
    path = tmp_path / ".lock"
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(StorageError, match="another signpost command"), locked(path, wait=False):
            pass
        other.kill()  # the lock of a dead process is free
        other.wait(10)
        with locked(path), locked(path, wait=False):
            pass
