"""A few long-lived worker processes, and the certainty that none of them outlives its owner.

Workers are forked from a server that has imported papermill once, so that a new one costs milliseconds.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import ModuleType
from typing import Any

from signpost_kit.notebooks import worker as notebook_worker
from signpost_kit.notebooks.kernel import kill_kernel, remove_socket_dir, socket_dir
from signpost_kit.notebooks.worker import Outcome, Task

__all__ = ["Pool"]


@dataclass
class _Worker:
    process: Any
    tasks: Connection
    lifeline: Connection
    task: Task | None = None
    since: float = 0.0
    kernel: int = 0
    line: str = ""


class Pool:
    """Up to `size` notebooks at once; use it in a `with` statement."""

    def __init__(self, size: int) -> None:
        self.size = max(1, size)
        method = "spawn" if sys.platform == "win32" else "forkserver"
        self._context = multiprocessing.get_context(method)
        if method == "forkserver":
            self._context.set_forkserver_preload(["signpost_kit.notebooks.worker", "papermill", "nbclient"])
        self._workers: list[_Worker] = []
        self._sockets: Path | None = None

    def __enter__(self) -> Pool:
        self._sockets = socket_dir()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def idle(self) -> int:
        """How many more tasks can be started now."""
        return self.size - len(self.running)

    @property
    def lines(self) -> dict[str, str]:
        """What each task at work wrote last, by id; "" for those that write nothing."""
        return {worker.task.id: worker.line for worker in self._workers if worker.task is not None}

    @property
    def running(self) -> list[str]:
        """Ids of the tasks at work."""
        return [worker.task.id for worker in self._workers if worker.task is not None]

    def start(self, task: Task) -> None:
        """Give a task to a free worker, which is made if there is none yet."""
        worker = next((w for w in self._workers if w.task is None), None) or self._spawn()
        worker.task, worker.since, worker.kernel, worker.line = task, time.perf_counter(), 0, ""
        with contextlib.suppress(OSError):  # it has died; outcomes() says so
            worker.tasks.send(task)

    def outcomes(self, timeout: float | None = None) -> Iterator[Outcome]:
        """Wait up to `timeout` seconds for news; yield what has finished. A worker that died fails its task."""
        by_handle: dict[Any, _Worker] = {}
        for worker in self._workers:
            by_handle[worker.tasks] = by_handle[worker.process.sentinel] = worker
        gone: list[_Worker] = []
        for handle in wait(list(by_handle), timeout):
            worker = by_handle[handle]
            if worker in gone:
                continue
            yield from self._news(worker)
            if not worker.process.is_alive() and worker not in gone:
                gone.append(worker)
        for worker in gone:
            yield from self._bury(worker)

    def _news(self, worker: _Worker) -> list[Outcome]:
        found: list[Outcome] = []
        with contextlib.suppress(EOFError, OSError):
            while worker.tasks.poll():
                kind, value = worker.tasks.recv()
                if kind == "kernel":
                    worker.kernel = value
                elif kind == "says":
                    worker.line = value
                else:
                    worker.task, worker.kernel = None, 0
                    found.append(value)
        return found

    def _bury(self, worker: _Worker) -> Iterator[Outcome]:
        self._workers.remove(worker)
        if worker.kernel:
            kill_kernel(worker.kernel)
        worker.tasks.close()
        worker.lifeline.close()
        if worker.task is not None:
            seconds = time.perf_counter() - worker.since
            code = worker.process.exitcode
            yield Outcome(worker.task.id, False, seconds, f"its worker process ended (exit code {code}); run again")

    def _spawn(self) -> _Worker:
        assert self._sockets is not None, "use the pool in a with statement"
        ours, theirs = self._context.Pipe()
        watched, lifeline = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=notebook_worker.main, args=(theirs, watched, self._sockets, dict(os.environ)), daemon=True
        )
        with _no_main_module():
            process.start()
        theirs.close()
        watched.close()
        worker = _Worker(process, ours, lifeline)
        self._workers.append(worker)
        return worker

    def stop(self) -> None:
        """End every worker and every kernel, whatever they are doing; safe to call twice."""
        with _undisturbed():
            for worker in self._workers:
                self._news(worker)
                if worker.task is None:
                    with contextlib.suppress(OSError):
                        worker.tasks.send(None)
                else:
                    worker.process.terminate()
            for worker in self._workers:
                worker.process.join(5)
                if worker.process.is_alive():
                    worker.process.kill()
                    worker.process.join(5)
                self._news(worker)
                if worker.kernel:
                    kill_kernel(worker.kernel)
                worker.tasks.close()
                worker.lifeline.close()
            self._workers.clear()
            if self._sockets is not None:
                remove_socket_dir(self._sockets)
                self._sockets = None


@contextlib.contextmanager
def _no_main_module() -> Iterator[None]:
    """Keep multiprocessing from running the caller's script once more in every worker: they need nothing of it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back an impatient second Ctrl-C while things are being put away."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not in the main thread, where no interrupt arrives anyway
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
