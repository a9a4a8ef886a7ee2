"""The `signpost` command: what it says, and with which code it ends."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from signpost_kit.cli import app
from signpost_kit.errors import StorageError
from signpost_kit.preflight import check_writable
from signpost_kit.run import open_run


def signpost(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def one_line(result) -> str:
    """The single line of an error, with nothing on stdout."""
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("signpost: error: ")
    return lines[0]


def test_help_comes_at_once_and_shows_examples() -> None:
    # The yardstick is an interpreter that imports what any such command needs, in the same minute.
    bare = min(_seconds("-c", "import typer.main, typing, pathlib") for _ in range(3))
    ours = min(_seconds("-m", "signpost_kit.cli", "--help") for _ in range(3))
    assert ours < bare + 0.35
    text = signpost("run", "--help").stdout
    assert "signpost run demo" in text and "--set KEY=VALUE" in text and "--only WHAT" in text


def _seconds(*arguments: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - begin


def test_version() -> None:
    assert re.fullmatch(r"signpost_kit \d+\.\d+\.\d+\n", signpost("--version").stdout)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run", "tinny"], "no profile 'tinny': did you mean 'tiny'?"),
        (["run", "tiny", "--set", "sorce.n=3"], "did you mean 'source'?"),
        (["run", "tiny", "--set", "models=gpt"], "unknown model 'gpt'"),
        (["run", "tiny", "--only", "fig99"], "unknown notebook 'fig99'"),
        (["run", "tiny", "--set", "source.kind=photos", "--set", "source.path=nowhere"], "does not exist"),
        (["run", "tiny", "--run-dir", "params/tiny.yml"], "is a file: choose another with --run-dir"),
        (["run", "tiny", "--run-dir", "params/tiny.yml/below"], "is a file, not a folder"),
        (["run", "tiny", "--retry", "emty"], "'emty'; allowed: empty"),
        (["evaluate", "tiny", "--set", "source.kind=photos"], "add --set source.path=FOLDER"),
        (["figures", "tiny", "--set", "source.n=0"], "greater than or equal to 1"),
        (["report", "tiny"], "has no manifest.json yet: signpost run tiny first"),
        (["export", "tiny", "out"], "has no replies.sqlite yet"),
        (["import", "tiny", "nowhere.jsonl"], "nowhere.jsonl does not exist"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    toy: Path, write_notebook, arguments: list[str], part: str
) -> None:
    write_notebook("fig01")
    before = sorted(toy.rglob("*"))
    assert part in one_line(signpost(*arguments))
    assert sorted(toy.rglob("*")) == before


def test_a_half_written_store_is_one_line_and_stays_as_it_is(toy: Path, write_notebook) -> None:
    write_notebook("fig01")
    store = toy / "runs/tiny/replies.sqlite"
    store.parent.mkdir(parents=True)
    store.write_bytes(b"SQLite format 3\0" + b"\0" * 50)
    before = sorted(toy.rglob("*"))
    for command in ("run", "figures", "evaluate"):
        assert "replies.sqlite is damaged" in one_line(signpost(command, "tiny"))
    assert sorted(toy.rglob("*")) == before


def test_debug_shows_the_traceback(toy: Path) -> None:
    result = signpost("--debug", "run", "tinny")
    assert result.exit_code == 1 and type(result.exception).__name__ == "ConfigError"


def test_run_ends_well_or_names_what_failed(toy: Path, write_notebook) -> None:
    write_notebook("fig01", "1 + 1")
    good = signpost("run", "tiny", "--set", "title=Changed", "--run-dir", "here")
    assert good.exit_code == 0, good.output
    assert re.search(r"^here: 1 done in \d+ s; report: here/index\.html$", good.stdout, re.M), good.stdout
    assert "[ 1/1] done" in good.stderr
    assert "title: Changed" in (toy / "here/profile.yml").read_text()

    write_notebook("fig02", "raise ValueError('no\\nluck')")
    bad = signpost("run", "tiny", "--run-dir", "here", "--quiet")
    assert bad.exit_code == 1
    assert bad.stderr == "signpost: fig02 failed: ValueError: no luck (see here/notebooks/fig02.ipynb)\n"
    assert "1 failed" in bad.stdout


def test_retry_reaches_the_kernels_and_drops_the_record(
    toy: Path, write_notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIGNPOST_RETRY", raising=False)
    run = open_run("tiny")
    run.record("evaluation")
    run.record("scoring")
    check = (
        "from signpost_kit.run import open_run\nrun = open_run(profile, run_dir)\n"
        "assert run.retry == {}, run.retry\nassert (run.stage_record('evaluation') is None) == bool(run.retry)"
    )
    write_notebook("fig01", check.format(()))
    assert signpost("run", "tiny").exit_code == 0
    write_notebook("fig01", check.format(("empty", "error")))
    assert signpost("run", "tiny", "--retry", "empty,error").exit_code == 0
    assert run.stage_record("scoring") is not None


def test_models_that_were_stopped_are_asked_again(toy: Path, write_notebook) -> None:
    write_notebook("fig01")
    run = open_run("tiny")
    run.record("evaluation", rejected=[{"item": "prior", "reason": "the key is wrong"}])
    assert signpost("run", "tiny").exit_code == 0
    assert run.stage_record("evaluation") is None


def test_models_and_doctor(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert {"reader", "looker", "aligned", "hardened", "prior"} <= set(signpost("models").stdout.split())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-seen")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    result = signpost("doctor")
    assert result.exit_code == 0, result.output
    assert re.search(r"^ok +key OpenAI +OPENAI_API_KEY is set$", result.stdout, re.M)
    assert re.search(r"^note +key Anthropic +ANTHROPIC_API_KEY is not set$", result.stdout, re.M)
    assert re.search(r"^ok +kernel +started", result.stdout, re.M)
    assert "sk-not" not in result.output


def test_check_writable_leaves_no_trace(tmp_path: Path) -> None:
    check_writable(tmp_path / "a/b/c")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("code", "part"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EACCES, "no permission to write there"),
        (errno.EROFS, "the file system is read-only"),
    ],
)
def test_a_folder_that_takes_no_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, part: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(StorageError, match=part):
        check_writable(tmp_path / "runs/x")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="no permission"):
            check_writable(tmp_path / "runs")
    finally:
        tmp_path.chmod(0o700)


def test_a_nearly_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 1_000_000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(StorageError, match="only 1 MB are free"):
        check_writable(tmp_path)
