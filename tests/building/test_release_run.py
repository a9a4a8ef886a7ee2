"""A released benchmark as a run: imported with one command, scored without asking, exported again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from signpost_kit.cli import app
from signpost_kit.errors import DataError
from signpost_kit.run import open_run


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> tuple[Path, Path]:
    """A tiny run, and its export in the release's layout."""
    folder = tmp_path_factory.mktemp("release")
    run = open_run("tiny", str(folder / "run"))
    run.ensure("scoring")
    result = CliRunner().invoke(
        app, ["export", "tiny", str(folder / "out"), "--layout", "signpost", "--run-dir", str(run.dir)]
    )
    assert result.exit_code == 0, result.output
    return run.dir, folder / "out"


def test_import_scores_as_the_run_did_and_asks_nothing(released, tmp_path, monkeypatch):
    source, out = released
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    result = CliRunner().invoke(app, ["import", str(out), "--run-dir", str(tmp_path / "again")])
    assert result.exit_code == 0, result.output
    assert "6 groups" in result.output and "replies from" in result.output
    again = open_run(str(tmp_path / "again"), str(tmp_path / "again"))
    assert again.profile.evaluation.stored_only and again.profile.source.kind == "signpost-release"
    again.ensure("scoring")
    assert again.stage_record("evaluation")["counts"]["asked"] == 0
    before = open_run("tiny", str(source)).table("macro")
    after = again.table("macro")
    keys = ["model", "metric", "variant", "tier", "reading"]
    both = before.merge(after, on=keys, suffixes=("", "_again"))
    assert len(both) == len(before) and set(after["model"]) == set(before["model"])
    both = both.dropna(subset=["value"])
    assert (both["value"] - both["value_again"]).abs().max() < 1e-6
    targets = again.table("targets")
    assert (targets["status"] == "found").sum() == sum(g.trap is not None for g in again.benchmark().groups) > 0
    stages = [
        again.stage_record(s)["counts"]["as_released"]
        for s in ("screening", "replacements", "targets", "synthesis")
    ]
    assert stages == [6, 6, 6, 6]


def test_without_replies_it_says_what_to_do(released, tmp_path):
    _, out = released
    run = open_run(
        "tiny",
        str(tmp_path / "r"),
        sets={"source.kind": "signpost-release", "source.path": str(out), "evaluation.stored_only": True},
    )
    with pytest.raises(DataError, match=r"holds no replies and may ask nothing.*signpost import"):
        run.ensure("scoring")
    assert not (tmp_path / "r/stages/evaluation.json").exists()


def test_wrong_calls_end_in_one_line(released, tmp_path):
    runner = CliRunner()
    result = runner.invoke(
        app, ["export", "tiny", str(tmp_path / "x"), "--layout", "zip", "--run-dir", str(released[0])]
    )
    assert result.exit_code == 2
    result = runner.invoke(app, ["import", str(tmp_path / "nowhere"), "--run-dir", str(tmp_path / "r")])
    assert result.exit_code == 2 and not (tmp_path / "r").exists()


def test_a_model_can_be_asked_about_an_imported_release(released, tmp_path):
    _, out = released
    profile = tmp_path / "p.yml"
    profile.write_text(
        json.dumps(
            {
                "source": {"kind": "signpost-release", "path": str(out)},
                "models": ["prior"],
                "scoring": {"n_resamples": 20},
            }
        )
    )
    run = open_run(str(profile), str(tmp_path / "run"))
    run.ensure("scoring")
    counts = run.stage_record("evaluation")["counts"]
    assert counts["ok"] == counts["requests"] == 30
