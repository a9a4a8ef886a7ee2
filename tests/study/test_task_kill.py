"""A stage that asks further tasks, killed with SIGKILL while it asks: it goes on where it was."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
import yaml


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a matter of POSIX")
def test_a_killed_stage_goes_on_where_it_was(tmp_path):
    path = tmp_path / "small.yml"
    tasks = {task: {"per_dataset": 6} for task in ("consistency", "country", "language")}
    profile = {"name": "small", "models": ["study-one", "study-two"], "source": {"kind": "town", "n": 2}}
    path.write_text(yaml.safe_dump({**profile, "tasks": tasks}))
    child = [sys.executable, str(Path(__file__).with_name("task_child.py")), str(path), str(tmp_path / "run")]
    asked: list[list[tuple[str, ...]]] = []
    for goal in (20, 150, 10_000):  # in the first question, in a later one, to the end
        log = tmp_path / f"asked-{goal}"
        process = subprocess.Popen([*child, str(log)], stderr=subprocess.PIPE)
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until and count(log) < goal:
            time.sleep(0.005)
        if goal < 10_000:
            process.send_signal(signal.SIGKILL)
            assert not (tmp_path / "run" / "stages" / "cross_task.json").exists()
        error = process.communicate(timeout=60)[1].decode()
        assert process.returncode == (-signal.SIGKILL if goal < 10_000 else 0), error
        asked.append([tuple(json.loads(line)) for line in log.read_text().split("\n")[:-1]])
    everything = Counter(question for run in asked for question in run)
    assert len(everything) == 3 * 2 * 12 * 5
    repeated = sum(everything.values()) - len(everything)
    assert repeated <= 2 * 4  # only what was under way at a kill
    table = pd.read_csv(tmp_path / "run" / "tables" / "cross_task.csv")
    assert len(table) == len(everything) and set(table["status"]) == {"ok"}
    assert not table.duplicated(["task", "model", "group_id", "variant"]).any()
    counts = json.loads((tmp_path / "run" / "stages" / "cross_task.json").read_text())["counts"]
    assert counts["asked"] == len(asked[-1]) < 200 and counts["requests"] == len(everything)


def count(log: Path) -> int:
    return log.read_text().count("\n") if log.exists() else 0
