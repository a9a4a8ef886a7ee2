"""What keeping and reading replies costs, each beside its yardstick in the same run.

    pytest tests/bench/test_store.py -s

Goals of the issue: scoring 511,100 replies from the store in at most 0.22 of a plain Python loop over the same replies
as JSON lines (whole processes, imports included), in at most 350 MB.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import runpy
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from signpost_kit.benchmark import Benchmark, Group
from signpost_kit.evaluation import Parsed, Reply, ReplyStore, evaluate, register_task
from signpost_kit.frames import VARIANTS
from signpost_kit.models.base import Request
from signpost_kit.models.scripted import ScriptedProvider

HERE = Path(__file__).parent
GOAL, PEAK_MB = 0.22, 350


def timed(script: str, *arguments: object) -> tuple[float, float]:
    """Wall and CPU seconds of a whole process, imports included."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, HERE / script, *map(str, arguments)], check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory) -> tuple[Path, Path]:
    """The 511,100 replies of test_scoring.py as JSON lines, and in a store as an evaluation leaves it."""
    root = tmp_path_factory.mktemp("synthetic")
    written = runpy.run_path(str(HERE / "test_scoring.py"))["write_release"](root / "lines")
    with ReplyStore(root / "replies.sqlite") as store:
        done = store.import_jsonl(root / "lines")
    assert (done.rows, done.bad) == (written, [])
    return root / "lines", root / "replies.sqlite"


def test_scoring_from_the_store(benchmark, synthetic, tmp_path):
    lines, store = synthetic
    plain, ours = tmp_path / "plain.json", tmp_path / "ours.json"
    times: dict[str, list[tuple[float, float]]] = {"plain": [], "ours": []}

    def both() -> None:  # side by side, so that a busy machine is busy for both
        times["plain"].append(timed("scoring_yardstick.py", lines, plain))
        times["ours"].append(timed("scoring_from_store.py", store, lines / "groups.csv", ours))

    benchmark.pedantic(both, rounds=5, iterations=1)
    wall, cpu = ({kind: min(t[i] for t in times[kind]) for kind in times} for i in (0, 1))
    mine, ratio = json.loads(ours.read_text()), wall["ours"] / wall["plain"]
    print(
        f"\nscoring {mine['replies']} replies from the store: {wall['ours']:.2f} s, plain loop {wall['plain']:.2f} s, "
        f"ratio {ratio:.3f} (goal {GOAL}); CPU {cpu['ours']:.2f} / {cpu['plain']:.2f} s = "
        f"{cpu['ours'] / cpu['plain']:.3f}; peak {mine['peak_mb']:.0f} MB (goal {PEAK_MB})"
    )
    assert mine["replies"] == 511_100
    same(json.loads(plain.read_text()), mine["scores"])
    assert mine["peak_mb"] <= PEAK_MB
    assert ratio <= GOAL


def same(expected: dict, found: dict) -> None:
    """Both did the same work."""
    assert expected.keys() == found.keys()
    for key, value in expected.items():
        if isinstance(value, dict):
            same(value, found[key])
        else:
            assert found[key] == pytest.approx(value, rel=1e-9)


def test_reading_without_the_packed_copy(benchmark, synthetic):
    """What the packed copy saves: the same frame, row by row."""
    path = synthetic[1]
    with ReplyStore(path) as store:
        start = time.perf_counter()
        packed = store.predictions()
        fast = time.perf_counter() - start
        with sqlite3.connect(path) as other:
            other.execute("DELETE FROM packed")
        try:
            slow = benchmark.pedantic(store.predictions, rounds=2, iterations=1)
        finally:
            store.pack()
    assert packed.equals(slow)
    print(f"\n511,100 rows: {fast * 1e3:.0f} ms packed, {benchmark.stats['min'] * 1e3:.0f} ms row by row")
    assert fast < 0.5 * benchmark.stats["min"]


def request(i: int) -> Request:
    return Request("coordinate", "m", Path("x.png"), f"{i:032x}", "Where?", "p", group_id=str(i), variant="Blank")


def test_keeping_replies(benchmark, tmp_path):
    """Durable puts per second: one after the other, and 64 waiting at once, beside a bare file synced per line."""
    n = 2_000
    reply = Reply(status="ok", text='{"lat": 1.5, "lon": 2.5}' * 4, lat=1.5, lon=2.5)
    line = json.dumps({"key": "x" * 32, "text": reply.text, "lat": 1.5, "lon": 2.5}).encode() + b"\n"
    descriptor = os.open(tmp_path / "lines", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    start = time.perf_counter()
    for _ in range(n):
        os.write(descriptor, line)
        os.fsync(descriptor)
    bare = n / (time.perf_counter() - start)
    os.close(descriptor)

    async def together(store: ReplyStore) -> None:
        gate = asyncio.Semaphore(64)

        async def one(i: int) -> None:
            async with gate:
                await asyncio.wrap_future(store.submit(request(i), reply))

        await asyncio.gather(*(one(i) for i in range(n, 2 * n)))

    def run() -> tuple[float, float]:
        with ReplyStore(tmp_path / f"{time.perf_counter_ns()}.sqlite") as store:
            start = time.perf_counter()
            for i in range(n):
                store.put(request(i), reply)
            alone = time.perf_counter() - start
            start = time.perf_counter()
            asyncio.run(together(store))
            return n / alone, n / (time.perf_counter() - start)

    alone, grouped = benchmark.pedantic(run, rounds=3, iterations=1)
    print(
        f"\ndurable replies per second: {alone:.0f} alone, {grouped:.0f} with 64 waiting; bare synced lines {bare:.0f}"
    )
    assert alone > 0.1 * bare
    assert grouped > alone


def test_asking_overhead(benchmark, tmp_path):
    """evaluate per question, everything included, beside the bare calls of the same model in an event loop."""
    groups = []
    for i in range(400):
        images = {v: f"images/{v}/{i}.png" for v in VARIANTS}
        groups.append(Group(f"g{i}", "d", 1.0, 2.0, images=images))
        for relative in images.values():
            path = tmp_path / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(relative.encode() * 100)
    scenes, n = Benchmark("b", tuple(groups), tmp_path), 2_000
    register_task("bench", lambda text, prompt: Parsed("ok", "", 1.0, 2.0, 1, "bench"))
    model = ScriptedProvider(script=lambda r: "1, 2", concurrency=16)

    async def bare() -> None:
        gate = asyncio.Semaphore(16)

        async def one(i: int) -> None:
            async with gate:
                await model.ask(request(i))

        await asyncio.gather(*(one(i) for i in range(n)))

    start = time.perf_counter()
    asyncio.run(bare())
    yardstick = time.perf_counter() - start

    def run() -> None:
        store = tmp_path / f"{time.perf_counter_ns()}.sqlite"
        assert evaluate(scenes, {"m": model}, "bench", store=store, prompt="W", progress=False).ok == n

    cpu = time.process_time()
    benchmark.pedantic(run, rounds=3, iterations=1)
    each_cpu = (time.process_time() - cpu) / 3 / n
    each = benchmark.stats["min"] / n
    print(
        f"\nevaluate: {each * 1e3:.2f} ms a question ({each_cpu * 1e3:.2f} ms CPU), bare calls {yardstick / n * 1e3:.3f} ms"
    )
    assert each_cpu < 2e-3  # a paid client alone needs 2.7 ms of CPU a call
