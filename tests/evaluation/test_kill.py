"""A run of 400 requests, killed with SIGKILL at 20 random moments, loses nothing and repeats nothing."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from signpost_kit.evaluation import ReplyStore

CHILD = Path(__file__).with_name("kill_child.py")
KILLS, CONCURRENCY = 20, 8


def lines(path: Path) -> list[str]:
    """Whole lines only: a kill can cut the last one, and then it was not told."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a matter of POSIX")
def test_a_run_killed_at_20_random_moments(toy, tmp_path):
    benchmark = toy(80)
    store, finished_log = tmp_path / "r.sqlite", tmp_path / "finished"
    rng = random.Random(7)
    # Most moments are a count of finished replies and a few ms; some fall before, between or into the first writes.
    # They lie apart, so that a machine that is busy just then does not skip one.
    moments = [1 + 24 * i + rng.randrange(6) for i in range(KILLS - 4)]
    finished: set[str] = set()
    asked_in_all: Counter[str] = Counter()
    killed_while_asking = 0
    for number in range(KILLS + 1):
        asked_log = tmp_path / f"asked-{number}"
        child = start(benchmark.root, store, asked_log, finished_log, number)
        if number < 4:
            wait_for(store.exists, child)
            time.sleep(rng.uniform(0, 0.02))
        elif number < KILLS:
            goal = moments[number - 4]
            wait_for(lambda goal=goal: len(lines(finished_log)) >= goal, child)
            time.sleep(rng.uniform(0, 0.006))
        if number < KILLS:
            child.send_signal(signal.SIGKILL)
        error = child.communicate(timeout=60)[1].decode()
        assert child.returncode == (-signal.SIGKILL if number < KILLS else 0), error
        asked = set(lines(asked_log))
        assert not asked & finished, "a finished reply was asked for again"
        assert max(Counter(lines(asked_log)).values(), default=1) == 1
        asked_in_all.update(asked)
        killed_while_asking += bool(asked) and number < KILLS
        with ReplyStore(store) as opened:
            kept = opened.done_keys()
        assert set(lines(finished_log)) <= kept, "a finished reply was lost"
        assert finished <= kept <= finished | asked
        finished = kept  # with what was written but could not be told any more
    assert killed_while_asking >= 14
    assert len(finished) == len(asked_in_all) == 400
    # Only what was under way at a kill was asked twice.
    assert sum(asked_in_all.values()) <= 400 + KILLS * CONCURRENCY
    told = Counter(lines(finished_log))
    assert max(told.values()) == 1
    check_content(store)


def check_content(store: Path) -> None:
    with ReplyStore(store) as opened:
        frame = opened.predictions("told", extra=("text",))
    assert len(frame) == 400 and set(frame["status"]) == {"ok"}
    assert not frame.duplicated(["model", "group_id", "variant"]).any()
    assert list(frame["text"]) == [f"{g} {v}" for g, v in zip(frame["group_id"], frame["variant"], strict=True)]
    with sqlite3.connect(store) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*), count(DISTINCT key) FROM replies").fetchone() == (400, 400)


def start(*arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(CHILD), *map(str, arguments)], stderr=subprocess.PIPE)


def wait_for(condition: Callable[[], bool], child: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while not condition() and child.poll() is None:
        assert time.monotonic() < end, "the run does not get on"
        time.sleep(0.0005)
