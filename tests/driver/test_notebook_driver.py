"""The driver, with real papermill and real kernels on notebooks that take no time."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from signpost_kit.errors import ConfigError, DataError, StorageError
from signpost_kit.notebooks import run_notebooks
from signpost_kit.notebooks.kernel import remove_socket_dir, socket_dir
from signpost_kit.notebooks.worker import Task, execute
from signpost_kit.run import open_run

DRAW = (
    "from signpost_kit.run import open_run\n"
    "run = open_run(profile, run_dir)\n"
    "run.figures_dir.mkdir(parents=True, exist_ok=True)\n"
    "(run.figures_dir / '{0}.png').write_bytes(b'{0}')"
)
STAGE = (
    "from signpost_kit.run import open_run\n"
    "run = open_run(profile, run_dir)\n"
    "(run.dir / 'benchmark').mkdir(exist_ok=True)\n"
    "_ = (run.dir / 'benchmark/groups.jsonl').write_text('')\n"
    "import pandas\n_ = run.save_table('scores', pandas.DataFrame({'a': [1]}))\n"
    "_ = run.record('sources', {'groups': 2})"
)


def run_all(**options):
    return run_notebooks(open_run("tiny"), quiet=True, report=False, workers=2, **options)


def statuses(summary) -> dict[str, str]:
    return {entry["id"]: entry["status"] for entry in summary.entries}


def message(summary, name: str) -> str:
    return next(entry["message"] for entry in summary.entries if entry["id"] == name)


def top_of(toy: Path, name: str) -> str:
    return "".join(nbformat.read(toy / f"runs/tiny/notebooks/{name}.ipynb", as_version=4).cells[0]["source"])


def running(marker: str) -> list[str]:
    """Command lines of live processes that hold `marker` in their command or environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if marker.encode() in text and state != "Z" and int(folder.name) != os.getpid():
            found.append(f"{folder.name}: {text[:80]!r}")
    return found


def test_a_failure_stops_only_what_needs_it(toy: Path, write_notebook) -> None:
    """A raised error and a dead kernel at once; what does not depend on them is done."""
    write_notebook("01_sources", STAGE, kind="stage")
    write_notebook("02_screening", "1/0", kind="stage", needs=["01_sources"])
    write_notebook("03_taxonomy", "1", kind="stage", needs=["02_screening"])
    write_notebook("fig01", DRAW.format("fig01"), needs=["01_sources"])
    write_notebook("fig02", "import os, signal\nprint('so far')\nos.kill(os.getpid(), signal.SIGKILL)")
    write_notebook("fig03", "1", needs=["03_taxonomy"])
    write_notebook("fig05", "from signpost_kit.errors import DataError\nraise DataError('no table; run x first')")
    summary = run_all()
    assert statuses(summary) == {
        "01_sources": "ok",
        "02_screening": "failed",
        "03_taxonomy": "skipped",
        "fig01": "ok",
        "fig02": "failed",
        "fig03": "skipped",
        "fig05": "failed",
    }
    assert not summary.ok and summary.status == "failed"
    assert message(summary, "02_screening") == "ZeroDivisionError: division by zero"
    assert message(summary, "03_taxonomy") == message(summary, "fig03") == "needs 02_screening, which failed"
    assert "the kernel died" in message(summary, "fig02")
    assert message(summary, "fig05") == "no table; run x first"  # our own errors need no type

    # Failed notebooks are kept with the error on top, and with what they had printed.
    assert "error" in top_of(toy, "02_screening").lower()
    assert "the kernel died" in top_of(toy, "fig02")
    assert "so far" in (toy / "runs/tiny/notebooks/fig02.ipynb").read_text()
    assert not list((toy / "runs/tiny/notebooks").glob(".*"))

    manifest = json.loads((toy / "runs/tiny/manifest.json").read_text())
    assert manifest["status"] == "failed"
    assert {f["id"] for f in manifest["failures"]} == {"02_screening", "fig02", "fig05"}
    entries = {entry["id"]: entry for entry in manifest["notebooks"]}
    assert entries["fig03"]["cause"] == "02_screening"
    assert list(entries["fig01"]["outputs"]) == ["figures/tiny/fig01.png"]
    assert manifest["stages"]["sources"]["counts"] == {"groups": 2}


def test_a_notebook_that_hangs_is_stopped_and_kept(toy: Path, write_notebook) -> None:
    write_notebook("fig01", "print('so far')\nimport time\ntime.sleep(300)")
    summary = run_all(timeout_s=2)
    assert statuses(summary) == {"fig01": "failed"}
    assert message(summary, "fig01") == "stopped after the time limit of 2 s; raise it with --timeout"
    assert "time limit" in top_of(toy, "fig01")


def test_notebooks_run_at_the_same_time(toy: Path, write_notebook) -> None:
    """Each of two notebooks waits for the other's file: one after the other they would never end."""
    wait = "import time, pathlib\npathlib.Path('{0}').touch()\nwhile not pathlib.Path('{1}').exists(): time.sleep(0.01)"
    write_notebook("fig01", wait.format("one", "two"))
    write_notebook("fig02", wait.format("two", "one"))
    assert statuses(run_all(timeout_s=30)) == {"fig01": "ok", "fig02": "ok"}


def test_kernels_are_this_interpreter_in_the_notebooks_folder(
    toy: Path, write_notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No installed kernelspec is needed, and a temporary folder whose name is too long for sockets is no obstacle."""
    deep = toy / ("long" * 25)
    deep.mkdir()
    monkeypatch.setenv("JUPYTER_PATH", "/nonexistent")
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    write_notebook(
        "fig01",
        f"import sys, os\nassert sys.executable == {sys.executable!r}\n"
        f"assert os.getcwd() == {str(toy / 'notebooks/figures')!r}\n"
        "assert (profile, run_dir) == ('runs/tiny/profile.yml', 'runs/tiny'), (profile, run_dir)",
    )
    summary = run_all()
    assert statuses(summary) == {"fig01": "ok"}, message(summary, "fig01")


def test_a_second_run_keeps_what_is_fresh_and_redoes_what_is_not(toy: Path, write_notebook) -> None:
    write_notebook("01_sources", STAGE, kind="stage")
    write_notebook("fig01", DRAW.format("fig01"), needs=["01_sources"])
    write_notebook("fig02", DRAW.format("fig02"), needs=["01_sources"])
    assert set(statuses(run_all()).values()) == {"ok"}
    assert set(statuses(run_all()).values()) == {"cached"}

    (toy / "figures/tiny/fig01.png").write_bytes(b"someone drew over it")
    assert statuses(run_all()) == {"01_sources": "cached", "fig01": "ok", "fig02": "cached"}
    assert (toy / "figures/tiny/fig01.png").read_bytes() == b"fig01"

    write_notebook("fig02", DRAW.format("fig02"), "2", needs=["01_sources"])
    assert statuses(run_all()) == {"01_sources": "cached", "fig01": "cached", "fig02": "ok"}

    (toy / "runs/tiny/tables/scores.csv").write_text("a\n1\n2\n")
    assert statuses(run_all(only="fig01")) == {"fig01": "ok"}
    # Notebooks that were not asked for stay in the manifest.
    manifest = json.loads((toy / "runs/tiny/manifest.json").read_text())
    assert [entry["id"] for entry in manifest["notebooks"]] == ["01_sources", "fig01", "fig02"]
    assert manifest["rows"] == {"scores": 2}

    assert statuses(run_all(only="fig01", force=True)) == {"fig01": "ok"}


def test_figures_bring_along_the_stages_they_lack(toy: Path, write_notebook) -> None:
    write_notebook("01_sources", "1/0", kind="stage")
    write_notebook("fig01", "1", needs=["01_sources"])
    write_notebook("fig02", "1", needs=["01_sources"])
    write_notebook("tab01", "1", kind="table")
    failed = {"01_sources": "failed", "fig01": "skipped", "fig02": "skipped"}
    assert statuses(run_all(only="figures")) == failed
    write_notebook("01_sources", STAGE, kind="stage")
    assert statuses(run_all(only="figures")) == {"01_sources": "ok", "fig01": "ok", "fig02": "ok"}
    assert statuses(run_all(only="figures")) == {"fig01": "ok", "fig02": "ok"}  # they draw nothing: never kept


def test_a_stage_notebook_of_ones_own_is_always_run(toy: Path, write_notebook) -> None:
    write_notebook("01_extra", "1", kind="stage")
    write_notebook("fig01", DRAW.format("fig01"), needs=["01_extra"])
    for _ in range(2):
        assert statuses(run_all()) == {"01_extra": "ok", "fig01": "ok"}


def test_a_failing_figure_leaves_no_old_drawing(toy: Path, write_notebook) -> None:
    write_notebook("fig01", DRAW.format("fig01"))
    assert run_all().ok
    write_notebook("fig01", "1/0")
    assert not run_all().ok
    assert not (toy / "figures/tiny/fig01.png").exists()


def test_the_progress_of_a_notebook_is_passed_on(toy: Path, write_notebook) -> None:
    source = write_notebook("fig01", "import sys\nsys.stderr.write('x\\rasking:  40%|███▌   | 2/5\\n')")
    sockets, said = socket_dir(), []
    try:
        outcome = execute(Task("fig01", source, toy / "done.ipynb"), sockets, says=said.append)
    finally:
        remove_socket_dir(sockets)
    assert outcome.ok and said == ["asking: 40% 2/5"]


def test_nothing_starts_and_nothing_is_written_when_something_is_wrong(
    toy: Path, write_notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_notebook("fig01", parameters='profile: str = "tiny"')
    with pytest.raises(ConfigError, match="no parameter 'run_dir'"):
        run_all()
    write_notebook("fig01")
    with pytest.raises(ConfigError, match="unknown notebook 'figg'"):
        run_all(only="figg")
    with pytest.raises(ConfigError, match="no parameter 'n'"):
        run_all(parameters={"n": 3})
    with pytest.raises(ConfigError, match="workers"):
        run_notebooks(open_run("tiny"), workers=0)
    with pytest.raises(DataError, match="does not exist: check source.path"):
        run_notebooks(open_run("tiny", sets=["source.kind=photos", "source.path=nowhere"]))
    (toy / "empty").mkdir()
    with pytest.raises(DataError, match="is empty: check source.path"):
        run_notebooks(open_run("tiny", sets=["source.kind=photos", "source.path=empty"]))
    with pytest.raises(ConfigError, match="add --set source.path=FOLDER"):
        run_notebooks(open_run("tiny", sets=["source.kind=photos"]))
    with pytest.raises(ConfigError, match="needs a folder of the released data"):
        run_notebooks(open_run("tiny", sets=["source.kind=signpost-release"]))
    assert not (toy / "runs").exists() and not (toy / "figures").exists()


def test_a_damaged_store_and_a_busy_run_are_refused(toy: Path, write_notebook) -> None:
    write_notebook("fig01")
    folder = toy / "runs/tiny"
    folder.mkdir(parents=True)
    (folder / "replies.sqlite").write_bytes(b"SQLite format 3\0 and then nothing")
    with pytest.raises(StorageError, match=r"replies\.sqlite is damaged"):
        run_all()
    (folder / "replies.sqlite").unlink()
    code = (
        "import sys, pathlib\nfrom signpost_kit.run_lock import locked\n"
        "with locked(pathlib.Path(sys.argv[1])):\n  print('held', flush=True); sys.stdin.readline()"
    )
    command = [sys.executable, "-c", code, str(folder / ".driver.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(StorageError, match="another signpost command is at work"):
            run_all()
        other.kill()


def test_no_secret_reaches_the_manifest_or_a_notebook(
    toy: Path, write_notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-do-not-write-me")
    write_notebook("fig01", "import os\nraise RuntimeError('refused: ' + os.environ['OPENAI_API_KEY'])")
    write_notebook("fig02", "import os\nassert os.environ['OPENAI_API_KEY']  # kernels have it")
    summary = run_all()
    assert statuses(summary) == {"fig01": "failed", "fig02": "ok"}
    assert message(summary, "fig01") == "RuntimeError: refused: [OPENAI_API_KEY]"
    text = (toy / "runs/tiny/manifest.json").read_text()
    assert "sk-do-not-write-me" not in text and str(toy) not in text
    assert "sk-do-not-write-me" not in (toy / "runs/tiny/notebooks/fig02.ipynb").read_text()


def _interrupted(toy: Path, how: int, marker: str) -> subprocess.Popen[str]:
    """Start `signpost run tiny`, wait until both notebooks are at work, send a signal to the command alone."""
    environment = os.environ | {"SIGNPOST_TEST_MARKER": marker}
    command = [sys.executable, "-m", "signpost_kit.cli", "run", "tiny", "-j", "2"]
    process = subprocess.Popen(
        command, cwd=toy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while len(list(toy.glob("notebooks/figures/started-*"))) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(how)
    return process


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_leaves_no_process_and_can_be_resumed(toy: Path, write_notebook, how: int) -> None:
    sleeper = "import pathlib, time\npathlib.Path('started-{0}').touch()\ntime.sleep(300)"
    for name in ("fig01", "fig02"):
        write_notebook(name, sleeper.format(name))
    marker = f"marker-{os.getpid()}-{int(how)}"
    process = _interrupted(toy, how, marker)
    _, errors = process.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while left := running(marker):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    if how == signal.SIGKILL:
        return
    assert process.returncode == 130
    assert "interrupted; finished work is kept, go on with: signpost run tiny -j 2" in errors
    manifest = json.loads((toy / "runs/tiny/manifest.json").read_text())
    assert manifest["status"] == "interrupted"
    assert {entry["status"] for entry in manifest["notebooks"]} == {"interrupted"}
    assert not list((toy / "runs/tiny/notebooks").glob("*"))


def test_the_callers_script_is_not_run_again_in_the_workers(toy: Path, write_notebook) -> None:
    """A script without a `__main__` guard, as people write them."""
    write_notebook("fig01", "1")
    script = toy / "mine.py"
    script.write_text(
        "print('once')\nfrom signpost_kit.notebooks import run_notebooks\nfrom signpost_kit.run import open_run\n"
        "print(run_notebooks(open_run('tiny'), quiet=True, report=False).ok)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=toy, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["once", "True"], done.stderr
    assert not multiprocessing.active_children()
