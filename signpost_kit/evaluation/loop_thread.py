"""An event loop on a thread of its own: the same in a script and in a notebook, and open to interrupts."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

__all__ = ["run_in_thread"]

T = TypeVar("T")
_GRACE_S = 5.0  # for cancelled requests and connections to end after an interrupt


def run_in_thread(main: Callable[[], Coroutine[Any, Any, T]], tick: Callable[[], None]) -> T:
    """Run `main` in an event loop of its own, on a thread of its own, and wait for it, calling `tick` now and then.

    So it works the same in a script and where a loop is running already (a notebook), and an interrupt reaches the
    calling thread at once: the loop is then cancelled and the interrupt raised again.
    """
    with _interruptible():
        return _run_in_thread(main, tick)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt here although a loop is running in this thread.

    asyncio.run makes SIGINT cancel its task, which cannot happen while that task waits for us.
    """
    try:
        asyncio.get_running_loop()
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
    except (RuntimeError, ValueError):  # no loop here; or not the main thread, which no signal reaches
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _run_in_thread(main: Callable[[], Coroutine[Any, Any, T]], tick: Callable[[], None]) -> T:
    box: dict[str, Any] = {}
    started, finished = threading.Event(), threading.Event()

    async def body() -> T:
        box["loop"], box["task"] = asyncio.get_running_loop(), asyncio.current_task()
        started.set()
        return await main()

    def target() -> None:
        try:
            box["result"] = asyncio.run(body())
        except BaseException as error:
            box["error"] = error
        finally:
            started.set()
            finished.set()

    thread = threading.Thread(target=target, name="evaluate", daemon=True)
    thread.start()
    try:
        while not finished.wait(0.1):
            tick()
    except BaseException:
        started.wait(_GRACE_S)
        if "loop" in box:
            with contextlib.suppress(RuntimeError):  # it has just ended
                box["loop"].call_soon_threadsafe(box["task"].cancel)
        finished.wait(_GRACE_S)
        raise
    if "error" in box:
        raise box["error"]
    return box["result"]
