"""Long runs through the real clients while one request in twenty fails: complete, nothing twice, kills included."""

from __future__ import annotations

import asyncio
import io
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fault_server import Call, FaultServer, Step, mixed_faults, step
from PIL import Image

from signpost_kit.benchmark import Benchmark, Group
from signpost_kit.evaluation import ReplyStore, evaluate
from signpost_kit.frames import VARIANTS
from signpost_kit.models.client import make_client

KEY = "sk-planted-0123456789abcdefXYZ"
CHILD = Path(__file__).with_name("fault_child.py")
KILLS, CONCURRENCY, ROWS = 8, 8, 500
PASSING = (
    *(step("rate_limited", retry_after="0.2"), step("rate_limited", retry_after="90")),
    *(step("rate_limited", retry_info="53s"), step("rate_limited"), step("empty_length"), step("truncated_json")),
    *(step("status", code=500), step("status", code=502), step("overloaded", code=503), step("reset")),
    *(step("overloaded", code=529), step("refuses_field", name="temperature")),
)


def pictures(folder: Path, groups: int) -> Benchmark:
    """Five distinct small JPEGs per group."""
    rng, made = np.random.default_rng(5), []
    for i in range(groups):
        images = {v: f"images/{v}/{i:04d}.jpg" for v in VARIANTS}
        for relative in images.values():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            data = io.BytesIO()
            Image.fromarray(rng.integers(0, 255, (16, 24, 3), dtype=np.uint8)).save(data, "JPEG", quality=60)
            path.write_bytes(data.getvalue())
        made.append(Group(f"g{i:04d}", "d", 1.0, 2.0, images=images))
    benchmark = Benchmark("many", tuple(made), folder)
    benchmark.write()
    return benchmark


def one_in_twenty(seed: int) -> Callable[[Call], Step | None]:
    """The schedule; a temperature is refused only where one was sent."""
    mixed = mixed_faults(0.05, seed=seed, faults=PASSING)

    def choose(call: Call) -> Step | None:
        chosen = mixed(call)
        sent = call.json.get("generationConfig", call.json)
        return None if chosen and chosen.kind == "refuses_field" and "temperature" not in sent else chosen

    return choose


def in_turn(server: FaultServer) -> dict[str, int]:
    """How often each kind of step was played."""
    return Counter(call.step.kind for call in server.calls if call.step is not None)


@pytest.mark.parametrize(
    ("wire", "groups"), [("openai", 400), ("anthropic", 60), ("google", 60), ("compatible", 60)]
)
def test_many_requests_with_mixed_faults_end_complete(serve, spec_for, tmp_path, wire, groups):
    server = serve(wire, one_in_twenty(3), keep_bodies=False)
    benchmark, n = pictures(tmp_path / "b", groups), 5 * groups
    spec = spec_for(wire, concurrency=32, **({"base_url": server.url} if wire == "compatible" else {}))
    client = make_client(spec, key=KEY, base_url=server.url)
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    with ReplyStore(tmp_path / "r.sqlite") as store:
        summary = evaluate(
            benchmark, {"m": client}, store=store, prompt="Where is this?", progress=False, sleep=sleep
        )
        frame = store.predictions(extra=("attempts",))
    assert (summary.ok, summary.failures, summary.stopped) == (n, {}, {}) and summary.complete
    assert len(frame) == n and set(frame["status"]) == {"ok"}
    assert len(server.answered) == n and set(server.answered.values()) == {1}  # by the server's own count
    played = in_turn(server)
    # A parameter that was refused is asked again within the attempt, and only until that is known.
    assert summary.attempts == server.count - played["refuses_field"] == int(frame["attempts"].sum())
    assert server.count == n + sum(played[kind] for kind in played if kind != "ok")
    assert (
        0.03 * n < server.count - n < 0.08 * n and len(played) == 8 and {90.0, 53.0} <= {round(p) for p in pauses}
    )
    assert server.most_in_flight <= 32


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a matter of POSIX")
def test_killed_again_and_again_while_requests_fail(tmp_path):
    """The server counts: a finished reply is never asked for again, and a kill repeats no more than was under way."""
    benchmark, finished_log = pictures(tmp_path / "b", ROWS // 5), tmp_path / "finished"
    store, rng = tmp_path / "r.sqlite", random.Random(11)
    with FaultServer("openai", one_in_twenty(9), latency_s=0.004) as server:
        kept: set[str] = set()
        for number in range(KILLS + 1):
            before = Counter(server.answered)
            child = subprocess.Popen(
                [sys.executable, str(CHILD), str(benchmark.root), str(store), server.url, str(finished_log)],
                stderr=subprocess.PIPE,
            )
            if number < KILLS:
                goal = (number + 1) * ROWS // (KILLS + 1)
                wait_for(lambda goal=goal: len(lines(finished_log)) >= goal, child)
                time.sleep(rng.uniform(0, 0.01))
                child.send_signal(signal.SIGKILL)
            error = child.communicate(timeout=60)[1].decode()
            assert child.returncode == (-signal.SIGKILL if number < KILLS else 0), error
            time.sleep(0.05)  # what was under way at the kill comes to its end at the server
            with ReplyStore(store) as opened:
                now = opened.done_keys()
            assert kept <= now and set(lines(finished_log)) <= now, "a finished reply was lost"
            again = sum(1 for question, n in server.answered.items() if before[question] and n > before[question])
            assert again <= CONCURRENCY, "more was asked again than was under way"
            kept = now
        with ReplyStore(store) as opened:
            frame = opened.predictions()
        assert (
            len(frame) == ROWS
            and set(frame["status"]) == {"ok"}
            and not frame.duplicated(["group_id", "variant"]).any()
        )
        assert len(server.answered) == ROWS
        assert sum(server.answered.values()) - ROWS <= KILLS * CONCURRENCY
        told = Counter(lines(finished_log))
        assert max(told.values()) == 1, "a reply was stored twice"
        assert server.most_in_flight <= CONCURRENCY


def lines(path: Path) -> list[str]:
    """Whole lines only: a kill can cut the last one."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


def wait_for(condition, child: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while not condition() and child.poll() is None:
        assert time.monotonic() < end, "the run does not get on"
        time.sleep(0.0005)
