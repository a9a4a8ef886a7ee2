"""The main job as a user does it: the command, in its own process, on drawn scenes and on real photos."""

from __future__ import annotations

import html
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from signpost_kit.notebooks.graph import discover

NOTEBOOKS = discover(Path(__file__).parents[2])
FIGURES = [n.id for n in NOTEBOOKS.values() if n.kind == "figure"]
TABLES = [n.id for n in NOTEBOOKS.values() if n.kind == "table"]
# Approximate places of real photos, read off the signs in them.
POSITIONS = "file,lat,lon\neasyocr_chinese.jpg,31.22,121.43\neasyocr_japanese.jpg,35.658,139.751\n"


def _signpost(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "signpost_kit.cli", *arguments]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=280, check=False)


def _replies(run_dir: Path) -> list[tuple]:
    with sqlite3.connect(run_dir / "replies.sqlite") as db:
        return sorted(db.execute("SELECT key, text, time FROM replies").fetchall())


@pytest.fixture(scope="module")
def tiny(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run of the smallest profile: what every notebook does on its defaults."""
    run_dir = tmp_path_factory.mktemp("whole") / "tiny"
    done = _signpost(project, "run", "tiny", "--run-dir", str(run_dir))
    assert done.returncode == 0, done.stderr[-3000:]
    return run_dir


def test_every_notebook_figure_and_table_is_there(tiny: Path) -> None:
    manifest = json.loads((tiny / "manifest.json").read_text(encoding="utf-8"))
    assert {e["id"]: e["status"] for e in manifest["notebooks"]} == dict.fromkeys(NOTEBOOKS, "ok")
    assert {"fig01", "fig19", "fig_echo", "error_cdf"} <= set(FIGURES)
    assert {"tab01", "tab23", "tab_verify", "reproduction"} <= set(TABLES)
    for name in FIGURES:
        assert (tiny / "figures" / f"{name}.png").stat().st_size > 5_000, name
        assert (tiny / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    for name in TABLES:
        for suffix in ("csv", "tex", "html"):
            assert (tiny / "tables" / "out" / f"{name}.{suffix}").stat().st_size > 30, name
    page = (tiny / "index.html").read_text(encoding="utf-8")
    for name in (*FIGURES, *TABLES):
        assert NOTEBOOKS[name].title.split(":")[0].split(",")[0][:20] in html.unescape(page), name


def test_every_question_was_answered_once(tiny: Path) -> None:
    scores = pd.read_csv(tiny / "tables" / "scores.csv")
    assert len(scores) == 6 * 5 * 5
    assert not scores.duplicated(["model", "group_id", "variant"]).any()
    assert (scores["status"] == "ok").all()


def test_a_second_run_asks_nothing(project: Path, tiny: Path) -> None:
    before = _replies(tiny)
    done = _signpost(project, "run", "tiny", "--run-dir", str(tiny))
    assert done.returncode == 0, done.stderr[-3000:]
    assert _replies(tiny) == before and len(before) > 100


def test_an_interrupted_stage_redoes_no_finished_picture(project: Path, tiny: Path) -> None:
    picture = next((tiny / "benchmark/images/Blank").glob("*.png"))
    stamp = picture.stat().st_mtime_ns
    (tiny / "stages" / "synthesis.json").unlink()  # as if the process had died just before the record
    done = _signpost(project, "run", "tiny", "--run-dir", str(tiny), "--only", "06_synthesis")
    assert done.returncode == 0, done.stderr[-3000:]
    assert picture.stat().st_mtime_ns == stamp


def test_real_photos_with_a_csv_of_positions(project: Path, shared_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in ("easyocr_chinese.jpg", "easyocr_japanese.jpg", "anytext_ref3.jpg"):
        shutil.copy(shared_data / "photos/text" / name, folder / name)
    table, run_dir = tmp_path / "places.csv", tmp_path / "run"
    table.write_text(POSITIONS, encoding="utf-8")
    sets = {
        "source.path": folder,
        "source.positions": table,
        "models": "[reader, prior]",
        "scoring.n_resamples": 50,
    }
    arguments = [part for key, value in sets.items() for part in ("--set", f"{key}={value}")]
    only = "scoring,fig01,fig03,variants,answers_map,screening,tab01,tab19"  # the whole graph is run above
    done = _signpost(project, "run", "photos", "--run-dir", str(run_dir), "--only", only, *arguments)
    assert done.returncode == 0, done.stderr[-3000:]
    page = (run_dir / "index.html").read_text(encoding="utf-8")
    assert "anytext_ref3.jpg" in page and "no position" in page
    scores = pd.read_csv(run_dir / "tables" / "scores.csv")
    reader = scores[(scores["model"] == "reader") & (scores["variant"] == "Adversarial")]
    assert len(reader) == 2 and reader["trap_km"].min() < 50  # the reader follows what was painted


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "photos", "--set", "source.path=/nowhere/at/all"], "/nowhere/at/all"),
        (["run", "photos", "--set", "source.path=EMPTY"], "EMPTY"),
        (["run", "tiny", "--set", "sorce.n=3"], "source"),
        (["run", "tiny", "--set", "models=[readr]"], "reader"),
        (["run", "tiny", "--only", "fig99"], "fig99"),
        (["run", "nosuchprofile"], "nosuchprofile"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    project: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    empty = tmp_path / "EMPTY"
    empty.mkdir()
    run_dir = tmp_path / "run"
    arguments = [part.replace("source.path=EMPTY", f"source.path={empty}") for part in arguments]
    done = _signpost(project, *arguments, "--run-dir", str(run_dir))
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode != 0 and len(lines) == 1 and says in lines[0], done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert not (run_dir / "benchmark").exists() and not (run_dir / "replies.sqlite").exists()
