"""Replacements through the real OpenAI client, to be killed by test_generate_server.py.

    python generate_child.py BENCHMARK STORE URL FINISHED

FINISHED grows by one key per line, written with one system call, when the store has told that the reply is kept.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from signpost_kit.benchmark import Benchmark
from signpost_kit.evaluation import ReplyStore
from signpost_kit.models.catalogue import ModelSpec
from signpost_kit.models.client import make_client
from signpost_kit.replacements.generate import generate


class TellingStore(ReplyStore):
    """Tells each key as soon as its future is done, before anything else happens."""

    def __init__(self, path: Path, finished: int) -> None:
        super().__init__(path)
        self._finished = finished

    def submit(self, request, reply, *, key="", replace=()):
        future = super().submit(request, reply, key=key, replace=replace)
        future.add_done_callback(lambda done: done.exception() or os.write(self._finished, f"{key}\n".encode()))
        return future


def main(benchmark: str, store: str, url: str, finished: str) -> None:
    told = os.open(finished, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    spec = ModelSpec(name="m", provider="openai", model_id="m-1", concurrency=4)
    client = make_client(spec, key="sk-planted-0123456789abcdefXYZ", base_url=url)
    with TellingStore(Path(store), told) as replies:
        generate(Benchmark.read(benchmark), {"m": client}, store=replies, progress=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
