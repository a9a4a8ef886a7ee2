"""The loop behind :func:`map_items`: a bounded window of items under way, outcomes in the items' order."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from signpost_kit.errors import ConfigError, DataError, SignpostError
from signpost_kit.mapping.journal import Journal
from signpost_kit.mapping.outcome import Outcome, item_name

__all__ = ["SCHEDULERS", "check_scheduler", "map_items"]

SCHEDULERS = ("serial", "threads", "processes")
_CLUSTER = ("tcp://", "tls://")
_CHECK_S = 1.0  # how often a backend is asked whether it is still there while nothing comes
_PER_WORKER = 8  # items under way per worker: enough that one slow item does not keep the others waiting for long


class Backend(Protocol):
    """Where calls are made."""

    width: int
    """Calls at once."""

    def submit(self, item: Any) -> Future[Any]:
        """The value to come of one item."""
        ...

    def check(self) -> None:
        """Raise a SignpostError if nothing will come any more."""
        ...

    def close(self) -> None:
        """Cancel what waits and free everything."""
        ...


def check_scheduler(scheduler: str, workers: int | None = None) -> None:
    """Raise ConfigError unless these are a scheduler and a number of workers; connects to nothing."""
    if scheduler not in SCHEDULERS and not scheduler.startswith(_CLUSTER):
        raise ConfigError(
            f"unknown scheduler {scheduler!r}: allowed are {', '.join(SCHEDULERS)}, or the address of a running "
            "Dask scheduler, tcp://host:port"
        )
    if workers is not None and workers < 1:
        raise ConfigError(f"workers must be at least 1, got {workers}")


def map_items(
    function: Callable[[Any], Any],
    items: Iterable[Any],
    *,
    scheduler: str = "threads",
    workers: int | None = None,
    unit: str = "picture",
    describe: str = "",
    total: int | None = None,
    progress: bool = True,
    journal: Journal | None = None,
    window: int | None = None,
    on_stop: Callable[[], object] | None = None,
) -> Iterator[Outcome]:
    """Call `function` on every item and yield the outcomes in the items' order, the same for every scheduler.

    Parameters
    ----------
    function
        Item -> value. It must be picklable (at the top of a module; `functools.partial` for its options) when the
        scheduler is "processes" or a cluster, where it is sent once to each worker.
    items
        Any iterable, of any length: items are taken from it only as others are finished. Taken in this thread.
    scheduler
        "serial" (here), "threads", "processes" (spawned; each with one thread for numerical libraries), or
        "tcp://host:port" of a running Dask scheduler (extra `dask`), whose machines must see the same folders.
    workers
        Calls at once; None: one per core. A Dask cluster has its own.
    unit, describe, total, progress
        Of the progress bar. `total` is only needed for an iterable without a length.
    journal
        Where results are kept, each as soon as it is there. Items that it holds are not called again. Failures
        are not kept: they are tried again.
    window
        Items taken and not yet yielded, at most; None: 8 per worker (serial: 1). This bounds the memory.
    on_stop
        Called once when the call ends early (an error, an interrupt, the loop was left), before the calls under way
        are waited for: what they wait for themselves can be cancelled there.

    Yields
    ------
    Outcome
        One per item; no items, no outcome. A DataError of the function becomes the outcome's `error`, and so does
        an item whose worker process dies twice.

    Raises
    ------
    ConfigError
        Unknown scheduler, workers below 1, something that cannot be sent, a cluster that cannot be reached or has
        another version.
    SignpostError
        Anything but a DataError that the function raises ends the call, after the outcomes of the items before; so
        does whatever is no SignpostError.
    KeyboardInterrupt
        What waits is cancelled, worker processes end, calls in threads are waited for; what was kept stays.
    """
    check_scheduler(scheduler, workers)
    if window is not None and window < 1:
        raise ConfigError(f"window must be at least 1, got {window}")
    if total is None and isinstance(items, Sized):
        total = len(items)
    make = partial(_backend, function, scheduler, workers)
    if scheduler not in ("serial", "threads"):
        from signpost_kit.mapping.worker import pack_function

        pack_function(function, scheduler)  # now, not at the first item
    if scheduler == "serial":
        window = 1  # nothing goes on while the caller is busy, so doing several ahead would only be late
    loop = partial(_Loop, make, journal, window, on_stop)
    return _iterate(loop, items, partial(_Progress, progress, total, describe, unit))


def _iterate(
    loop: Callable[[_Progress], _Loop], items: Iterable[Any], show: Callable[[], _Progress]
) -> Iterator[Outcome]:
    """Nothing is started, and no bar drawn, before the first outcome is asked for."""
    yield from loop(show()).run(items)


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _backend(function: Callable[[Any], Any], scheduler: str, workers: int | None) -> Backend:
    if scheduler == "serial":
        return _Serial(function)
    if scheduler == "threads":
        return _Threads(function, workers or cores())
    if scheduler == "processes":
        from signpost_kit.mapping.processes import Processes

        return Processes(function, workers or cores())
    from signpost_kit.mapping.cluster import Cluster

    return Cluster(function, scheduler)


class _Serial:
    """Calls here and now."""

    width = 1

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def submit(self, item: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(self._function(item))
        except Exception as error:
            future.set_exception(error)
        return future

    def check(self) -> None:
        """Nothing is ever awaited."""

    def close(self) -> None:
        """Nothing is held."""


class _Threads:
    """Calls in threads of this process."""

    def __init__(self, function: Callable[[Any], Any], workers: int) -> None:
        self.width = workers
        self._function = function
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="signpost")

    def submit(self, item: Any) -> Future[Any]:
        return self._pool.submit(self._function, item)

    def check(self) -> None:
        """Threads do not vanish."""

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class _End:
    """The call ends at this item, with this error."""

    error: BaseException


@dataclass
class _Loop:
    """The state of one call."""

    make: Callable[[], Backend]
    journal: Journal | None
    window: int | None
    on_stop: Callable[[], object] | None
    bar: _Progress
    backend: Backend | None = None
    pending: dict[int, Future[Any]] = field(default_factory=dict)
    ready: dict[int, Outcome | _End] = field(default_factory=dict)
    arrived: SimpleQueue[tuple[int, Outcome | _End | None]] = field(default_factory=SimpleQueue)
    taken: int = 0
    exhausted: bool = False

    def run(self, items: Iterable[Any]) -> Iterator[Outcome]:
        source, due = iter(items), 0
        try:
            while True:
                while not self.exhausted and self.taken - due < self._limit():
                    self._take(source)
                self._collect(wait=False)
                if due in self.ready:
                    outcome = self.ready.pop(due)
                    if isinstance(outcome, _End):
                        raise outcome.error
                    due += 1
                    yield outcome
                elif self.pending:
                    self._collect(wait=True)
                    if self.backend is not None:
                        self.backend.check()
                else:
                    return
        finally:
            self.bar.close()
            for future in self.pending.values():
                future.cancel()
            if self.on_stop is not None and not (self.exhausted and due == self.taken):
                self.on_stop()
            if self.backend is not None:
                self.backend.close()

    def _limit(self) -> int:
        if self.window is not None:
            return self.window
        return _PER_WORKER * self.backend.width if self.backend is not None else 1

    def _take(self, source: Iterator[Any]) -> None:
        """Take one item: its kept result, or a call under way. The backend is made for the first call."""
        index = self.taken
        try:
            item = next(source)
        except StopIteration:
            self.exhausted = True
            return
        except Exception as error:
            self._end(index, error)
            return
        self.taken += 1
        try:
            key = None
            if self.journal is not None:
                key = self.journal.key(item)
                kept, value = self.journal.look_up(item, key)
                if kept:
                    self.ready[index] = outcome = Outcome(index, item, value, kept=True)
                    self.bar.step(outcome)
                    return
            if self.backend is None:
                self.backend = self.make()
            future = self.backend.submit(item)
        except Exception as error:
            self._end(index, error)
            return
        self.pending[index] = future
        future.add_done_callback(partial(self._settle, index, item, key))

    def _settle(self, index: int, item: Any, key: tuple[str, str] | None, future: Future[Any]) -> None:
        """Turn a finished call into an outcome and keep its value; in whichever thread it finished."""
        if future.cancelled():
            self.arrived.put((index, None))
            return
        try:
            error = future.exception()
            if isinstance(error, DataError):
                outcome: Outcome | _End = Outcome(index, item, error=str(error) or "no reason given")
            elif error is not None:
                raise error
            else:
                value = future.result()
                if self.journal is not None:
                    self.journal.keep(item, value, key)
                outcome = Outcome(index, item, value)
        except BaseException as fault:
            note = getattr(fault, "add_note", None)  # Python 3.11
            if note is not None and not isinstance(fault, SignpostError):
                note(f"while working on {item_name(item)}")
            outcome = _End(fault)
        self.arrived.put((index, outcome))

    def _collect(self, *, wait: bool) -> None:
        """Move what has arrived to where it waits for its turn."""
        with contextlib.suppress(Empty):
            while True:
                index, outcome = self.arrived.get(timeout=_CHECK_S) if wait else self.arrived.get_nowait()
                wait = False
                self.pending.pop(index, None)
                if isinstance(outcome, _End):
                    self._end(index, outcome.error)
                elif outcome is not None:
                    self.ready[index] = outcome
                    self.bar.step(outcome)

    def _end(self, index: int, error: BaseException) -> None:
        """No further items; those after `index` that have not begun never will."""
        self.exhausted = True
        self.ready[index] = _End(error)
        for later, future in list(self.pending.items()):
            if later > index:
                future.cancel()


class _Progress:
    """A bar with rate, time left, and how many failed or were kept from before; or nothing."""

    def __init__(self, wanted: bool, total: int | None, describe: str, unit: str) -> None:
        self._counts = {"failed": 0, "kept": 0}
        self._bar: Any = None
        if wanted and total != 0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a notebook without ipywidgets gets the plain bar, which is fine
                from tqdm.auto import tqdm

            self._bar = tqdm(total=total, desc=describe or None, unit=f" {unit}", mininterval=0.5)

    def step(self, outcome: Outcome) -> None:
        if self._bar is None:
            return
        for name, counts in (("failed", not outcome.ok), ("kept", outcome.kept)):
            if counts:
                self._counts[name] += 1
                self._bar.set_postfix({k: n for k, n in self._counts.items() if n}, refresh=False)
        self._bar.update()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
