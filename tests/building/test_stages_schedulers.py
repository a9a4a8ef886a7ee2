"""All construction stages give the same pictures and groups wherever their work is done."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from signpost_kit.run import Run, open_run

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from dask_cluster import running  # noqa: E402

pytestmark = pytest.mark.slow
STAGES = ("sources", "screening", "taxonomy", "replacements", "targets", "synthesis")


def build(folder: Path, scheduler: str) -> Run:
    sets = ["source.n=4", f"compute.scheduler={scheduler}", "compute.workers=2"]
    run = open_run("tiny", str(folder), sets=sets)
    run.ensure("synthesis")
    return run


def made(run: Run) -> dict[str, object]:
    """Every picture and the groups byte by byte, every table, and what the stages counted."""
    root = run.dir / "benchmark"
    files = [*sorted(root.rglob("*.png")), root / "groups.jsonl", *sorted((run.dir / "tables").glob("*.csv"))]
    found: dict[str, object] = {str(path.relative_to(run.dir)): path.read_bytes() for path in files}
    for stage in STAGES:
        record = json.loads((run.dir / "stages" / f"{stage}.json").read_bytes())
        found[stage] = (record["counts"], record["rejected"])
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("serial")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIGNPOST_CACHE", str(folder / "cache"))
        return made(build(folder / "run", "serial"))


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_threads_and_processes_make_what_a_plain_loop_makes(tmp_path, monkeypatch, plain, scheduler):
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path / "cache"))
    assert made(build(tmp_path / "run", scheduler)) == plain
    assert len([name for name in plain if name.endswith(".png")]) == 4 * 5


def test_a_cluster_makes_what_a_plain_loop_makes(tmp_path, monkeypatch, plain):
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path / "cache"))
    with running(tmp_path) as address:
        assert made(build(tmp_path / "run", address)) == plain
