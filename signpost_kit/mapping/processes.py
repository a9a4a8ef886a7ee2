"""Worker processes, one behind each thread of a pool: the thread sends an item and waits for its answer.

A pipe of its own per worker says at once, and for certain, which item a worker held when the system killed it, and
leaves no lock behind that others would wait for; multiprocessing's and concurrent.futures' pools know neither.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from multiprocessing.connection import wait
from typing import Any

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.mapping.outcome import item_name
from signpost_kit.mapping.worker import READY, open_answer, pack_function, pack_item, serve

__all__ = ["Processes"]

_PATIENCE_S = 5.0  # for a worker to leave by itself
_start_lock = threading.Lock()  # multiprocessing keeps its children in a plain set


class _Died(Exception):
    """A worker's process is gone; the argument says how."""


class Processes:
    """Calls in processes of their own. Nothing is started before the first call."""

    def __init__(self, function: Callable[[Any], Any], workers: int) -> None:
        self.width = workers
        self._function = pack_function(function, "processes")
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="signpost-process")
        self._local = threading.local()
        self._lock = threading.Lock()
        self._alone = threading.Lock()
        self._children: set[_Child] = set()
        self._closing = False
        self._deaths = 0

    def submit(self, item: Any) -> Future[Any]:
        """The value to come of one item."""
        return self._pool.submit(self._ask, item)

    def check(self) -> None:
        """Nothing: a worker that dies is noticed by the thread that waits for it."""

    def close(self) -> None:
        """Cancel what waits and end the workers: idle ones leave by themselves, busy ones by a signal."""
        with self._lock:
            self._closing = True
            children = list(self._children)
        for child in children:
            child.end()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for child in children:
            child.reap()

    def _ask(self, item: Any) -> Any:
        payload = pack_item(item, item_name(item))
        try:
            return self._once(payload)
        except _Died as first:
            # Perhaps another item took the memory: once more, and no second doubtful item at the same time.
            with self._alone:
                try:
                    return self._once(payload)
                except _Died as second:
                    raise DataError(
                        f"its worker process died twice, {first}, then {second}; if memory ran out, use fewer "
                        "workers (compute.workers) or smaller pictures"
                    ) from second

    def _once(self, payload: bytes) -> Any:
        child = self._child()
        try:
            packed = child.ask(payload)
        except _Died:
            self._bury(child)
            raise
        with self._lock:
            self._deaths = 0
        return open_answer(packed)

    def _child(self) -> _Child:
        child = getattr(self._local, "child", None)
        if child is None:
            with self._lock:
                if self._closing:
                    raise CancelledError
                child = _Child(self._function)
                self._children.add(child)
            self._local.child = child
            child.await_ready()
        return child

    def _bury(self, child: _Child) -> None:
        self._local.child = None
        with self._lock:
            self._children.discard(child)
            if self._closing:
                raise CancelledError
            self._deaths += 1
            deaths = self._deaths
        child.reap()
        if deaths > 2 * self.width + 2:
            raise ConfigError(
                f"{deaths} worker processes died one after the other, the last {child.cause()}, and none finished "
                "an item: if memory ran out, use fewer workers (compute.workers), else try the scheduler 'serial'"
            )


class _Child:
    """One worker process and the near end of its pipe."""

    def __init__(self, function: bytes) -> None:
        context = multiprocessing.get_context("spawn")
        self._near, far = context.Pipe()
        self._process = context.Process(target=serve, args=(far, function), name="signpost-worker", daemon=True)
        self._idle = True
        try:
            with _start_lock:
                self._process.start()
        except RuntimeError as error:  # this very process is being started by another one's pool
            raise ConfigError(f"worker processes cannot be started here: {_GUARD}") from error
        except AssertionError as error:
            raise ConfigError(
                "a worker process cannot have workers of its own: use the scheduler 'serial' or 'threads' in it"
            ) from error
        finally:
            far.close()

    def await_ready(self) -> None:
        """Wait until the worker has loaded the function."""
        try:
            message = self._receive()
        except _Died as error:
            raise ConfigError(f"a worker process ended before its first item, {error}: {_GUARD}") from error
        if message != READY:
            try:
                open_answer(message)
            except Exception as error:
                raise ConfigError(
                    f"a worker process cannot load the function ({type(error).__name__}: {error}): define it in a "
                    "module that can be imported, or use the scheduler 'threads'"
                ) from error

    def ask(self, payload: bytes) -> bytes:
        """The answer to one packed item."""
        self._idle = False
        try:
            self._near.send_bytes(payload)
        except OSError as error:
            raise _Died(self.cause()) from error
        packed = self._receive()
        self._idle = True
        return packed

    def _receive(self) -> bytes:
        try:
            wait([self._near, self._process.sentinel])
            if self._near.poll():
                return self._near.recv_bytes()
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise _Died(self.cause()) from error
        raise _Died(self.cause())

    def cause(self) -> str:
        """How the process ended, in words."""
        self._process.join(_PATIENCE_S)
        code = self._process.exitcode
        if code is None:
            return "without a word"
        if code >= 0:
            return f"with exit code {code}"
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            return f"by {name}" + (" (the system's, if memory ran out)" if name == "SIGKILL" else "")
        return f"by signal {-code}"

    def end(self) -> None:
        """Ask the process to leave; does not wait."""
        if self._idle:
            with contextlib.suppress(OSError):
                self._near.close()  # it reads the end of the pipe and returns
        else:
            self._process.terminate()

    def reap(self) -> None:
        """Wait until the process is gone; kill it if it does not leave."""
        self._process.join(_PATIENCE_S)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        with contextlib.suppress(OSError):
            self._near.close()


_GUARD = (
    "a script that uses the scheduler 'processes' must do its work under `if __name__ == \"__main__\":` and come "
    "from a file; or use the scheduler 'threads'"
)
