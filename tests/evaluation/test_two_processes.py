"""Two processes on one store at once: nothing corrupt, nothing twice, nothing paid for twice."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from signpost_kit.evaluation import ReplyStore, evaluate
from signpost_kit.evaluation.claims import Claims
from signpost_kit.models.scripted import ScriptedProvider

CHILD = Path(__file__).with_name("kill_child.py")


@pytest.mark.skipif(sys.platform == "win32", reason="claims need fcntl")
def test_two_processes_share_the_work(toy, tmp_path):
    benchmark, store = toy(80), tmp_path / "r.sqlite"
    logs = [[str(tmp_path / f"{kind}-{i}") for kind in ("asked", "finished")] for i in range(2)]
    children = [
        subprocess.Popen(
            [sys.executable, str(CHILD), str(benchmark.root), str(store), *pair, "1", str(tmp_path / "go")],
            stderr=subprocess.PIPE,
        )
        for pair in logs
    ]
    end = time.monotonic() + 60
    while not all(Path(log).exists() for pair in logs for log in pair) and time.monotonic() < end:
        time.sleep(0.001)
    (tmp_path / "go").touch()  # both are ready: a busy machine must not let one finish before the other begins
    for child in children:
        error = child.communicate(timeout=60)[1].decode()
        assert child.returncode == 0, error
    asked = [Path(log).read_text().split() for log, _ in logs]
    assert min(len(part) for part in asked) > 0, "they did not run at once: the test shows nothing"
    assert Counter(asked[0] + asked[1]).most_common(1)[0][1] == 1
    assert len(asked[0]) + len(asked[1]) == 400
    with ReplyStore(store) as opened:
        assert len(opened) == len(opened.predictions("told")) == 400


def test_a_claim_holds_until_it_is_given_back(tmp_path):
    one, two = Claims(tmp_path / "r.sqlite"), Claims(tmp_path / "r.sqlite")
    assert one.take("a") and not two.take("a") and two.take("b")
    one.release("a")
    assert two.take("a")
    assert Claims(tmp_path / "other.sqlite").take("a")


CLAIMER = """
import sys, time
from pathlib import Path
from signpost_kit.evaluation.claims import Claims
taken = Claims(Path(sys.argv[1])).take(sys.argv[2])
print("taken" if taken else "refused", flush=True)
if taken:
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="claims need fcntl")
def test_a_question_claimed_by_a_process_that_dies_is_asked_after_all(toy, store, tmp_path):
    benchmark = toy(1)
    model = ScriptedProvider(script=lambda r: "1, 2")
    options = {"task": "toy", "prompt": "Where?", "progress": False, "variants": ["Blank"]}
    evaluate(benchmark, {"m": model}, store=tmp_path / "trial.sqlite", **options)
    (request,) = model.history
    other = subprocess.Popen(
        [sys.executable, "-c", CLAIMER, str(store.path), request.key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout and other.stdout.readline() == "taken\n"
    assert not Claims(store.path).take(request.key)

    threading.Timer(0.4, other.kill).start()
    summary = evaluate(benchmark, {"m": model}, store=store, **options)
    assert other.wait(10) != 0
    assert summary.ok == 1 and len(model.history) == 2
