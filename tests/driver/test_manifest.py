"""The manifest: what it says about the project, and what it keeps to itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from signpost_kit import manifest
from signpost_kit.run import open_run


def test_git_state(tmp_path: Path) -> None:
    assert manifest.git_state(tmp_path) is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    (tmp_path / "file").write_text("1")
    for arguments in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    state = manifest.git_state(tmp_path)
    assert state is not None and len(state["commit"]) == 40 and state["dirty"] is False
    (tmp_path / "file").write_text("2")
    assert manifest.git_state(tmp_path)["dirty"] is True  # type: ignore[index]


def test_packages_are_the_declared_ones() -> None:
    versions = manifest.package_versions()
    assert {"signpost_kit", "papermill", "numpy", "pandas"} <= set(versions)
    assert "pytest" not in versions  # an extra


def test_redact(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_TOKEN", "abcdefgh12345")
    monkeypatch.setenv("SHORT_KEY", "ab")  # would blot out half of every text
    monkeypatch.setattr(Path, "home", lambda: Path("/home/someone"))
    text = f"{tmp_path}/runs/x: abcdefgh12345 about /home/someone/pictures"
    assert manifest.redact(text, tmp_path) == "runs/x: [MY_TOKEN] about ~/pictures"


def test_a_damaged_or_foreign_manifest_is_none(toy: Path) -> None:
    run = open_run("tiny")
    assert manifest.read(run) == {}
    run.dir.mkdir(parents=True)
    for text in ("{", "[]", '{"format": 99}'):
        (run.dir / "manifest.json").write_text(text)
        assert manifest.read(run) == {}


def test_the_profile_and_inputs_in_it_say_what_was_run(toy: Path) -> None:
    run = open_run("tiny", sets=["source.n=5"])
    run.save_profile()
    entry = {"id": "fig01", "status": "failed", "message": "no"}
    data = manifest.build(run, status="failed", started=manifest.now(), seconds=1, command={}, notebooks=[entry])
    path = manifest.write(run, data)
    assert manifest.read(run)["profile"]["source"]["n"] == 5
    assert set(data["inputs"]) == {"profile.yml", "params/tiny.yml"}
    assert data["failures"] == [{"id": "fig01", "message": "no"}]
    assert path == run.dir / "manifest.json"
