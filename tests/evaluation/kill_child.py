"""A run of 400 requests that says what it asks and what is finished, to be killed by test_kill.py.

    python kill_child.py BENCHMARK STORE ASKED FINISHED SEED [GO]

ASKED and FINISHED grow by one key per line, written with one system call each: when a call to the model starts, and
when the store has told that the reply is kept. With GO it waits, ready to ask, until that file is there.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from signpost_kit.benchmark import Benchmark
from signpost_kit.evaluation import Parsed, ReplyStore, evaluate, register_task
from signpost_kit.models.scripted import Delayed, ScriptedProvider


class TellingStore(ReplyStore):
    """Tells each key as soon as its future is done, before anything else happens."""

    def __init__(self, path: Path, finished: int) -> None:
        super().__init__(path)
        self._finished = finished

    def submit(self, request, reply, *, key="", replace=()):
        future = super().submit(request, reply, key=key, replace=replace)
        future.add_done_callback(lambda done: done.exception() or os.write(self._finished, f"{key}\n".encode()))
        return future


def main(*arguments: str) -> None:
    benchmark, store, asked, finished, seed, go = (*arguments, "")[:6]
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    asked_file, finished_file = os.open(asked, flags), os.open(finished, flags)

    def script(request) -> Delayed:
        os.write(asked_file, f"{request.key}\n".encode())
        pause = (hash((request.group_id, request.variant, seed)) % 5) / 1000
        return Delayed(pause, f"{request.group_id} {request.variant}")

    register_task("told", lambda text, prompt: Parsed("ok", "", float(len(text)), 0.0, 1, "told"))
    while go and not Path(go).exists():
        time.sleep(0.001)
    with TellingStore(Path(store), finished_file) as replies:
        evaluate(
            Benchmark.read(benchmark),
            {"m": ScriptedProvider(script=script, concurrency=8)},
            task="told",
            store=replies,
            prompt="Where?",
            progress=False,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
