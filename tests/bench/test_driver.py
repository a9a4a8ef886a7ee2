"""The driver beside its yardstick: 24 trivial figure notebooks, in-process papermill one by one.

pytest tests/bench/test_driver.py
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from signpost_kit.notebooks import run_notebooks
from signpost_kit.run import open_run

N = 24
GOAL = 0.62  # of the yardstick's time, with 2 workers on 2 cores
RUNS = 10


@pytest.fixture
def figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A project of 24 notebooks that do next to nothing."""
    (tmp_path / "params").mkdir()
    (tmp_path / "params/tiny.yml").write_text("models: [prior]\n")
    folder = tmp_path / "notebooks/figures"
    folder.mkdir(parents=True)
    parameters = new_code_cell(
        'profile: str = "tiny"  # p\nrun_dir: str = ""  # r', metadata={"tags": ["parameters"]}
    )
    paths = []
    for number in range(N):
        metadata = {
            "kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"},
            "signpost": {"title": str(number), "needs": [], "kind": "figure"},
        }
        notebook = new_notebook(cells=[parameters, new_code_cell("1 + 1")], metadata=metadata)
        paths.append(folder / f"fig{number:02}.ipynb")
        nbformat.write(notebook, paths[-1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    return paths


def drive() -> None:
    summary = run_notebooks(open_run("tiny"), workers=2, force=True, quiet=True, report=False)
    assert summary.ok, summary.of("failed")
    assert len(summary.entries) == N


def one_by_one(paths: list[Path], folder: Path) -> None:
    import papermill

    for path in paths:
        papermill.execute_notebook(
            str(path),
            str(folder / path.name),
            parameters={"profile": "tiny", "run_dir": ""},
            progress_bar=False,
        )


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_two_workers_against_papermill_one_by_one(benchmark, figures: list[Path], tmp_path: Path) -> None:
    import papermill  # noqa: F401  its import is not counted for the yardstick; the driver's own is counted

    logging.getLogger("papermill").setLevel(logging.ERROR)
    benchmark.pedantic(drive, rounds=2)
    ours = min(benchmark.stats.stats.data)
    begin = time.perf_counter()
    one_by_one(figures, tmp_path)
    yardstick = time.perf_counter() - begin
    benchmark.extra_info |= {"yardstick_s": yardstick, "ratio": ours / yardstick, "goal": GOAL}
    assert ours / yardstick <= GOAL


@pytest.mark.slow
@pytest.mark.parametrize("run", range(RUNS))
def test_every_kernel_starts_at_the_first_attempt(figures: list[Path], run: int) -> None:
    summary = run_notebooks(open_run("tiny"), workers=2, force=True, quiet=True, report=False)
    assert [entry["kernel_starts"] for entry in summary.of("ok")] == [1] * N, summary.of("failed")
