"""One SDK object, and so one pool of connections, per address, key and event loop, for all models behind it."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Connections", "Lease", "http_library", "http_settings"]

_KEEP_IDLE_S = 30.0  # servers close idle connections after 5 to 60 s; a long pause then opens new ones
_CONNECT_S = 15.0


@dataclass
class _Opened:
    opening: asyncio.Task[Any]
    shut: Callable[[Any], Awaitable[None]]
    users: int = 0


@dataclass
class Lease:
    """The right to use an SDK object in one event loop."""

    sdk: Any
    release: Callable[[], Awaitable[None]] = field(repr=False)
    """Gives it back, in that loop; the last one closes it."""


class Connections:
    """What is open. Safe to use from several threads, each with its own loop."""

    def __init__(self) -> None:
        self._opened: dict[tuple[Hashable, asyncio.AbstractEventLoop], _Opened] = {}
        self._lock = threading.Lock()

    async def lease(
        self, about: Hashable, open_sdk: Callable[[], Any], shut: Callable[[Any], Awaitable[None]]
    ) -> Lease:
        """A lease on the SDK object of `about` in the running loop.

        If there is none yet it is opened, in a worker thread: importing an SDK takes up to seconds, in which other
        models go on. Whatever opening raises is raised here.
        """
        loop = asyncio.get_running_loop()
        place = (about, loop)
        with self._lock:
            for other in [key for key in self._opened if key[1].is_closed()]:
                del self._opened[other]
            entry = self._opened.get(place)
            if entry is None:
                entry = self._opened[place] = _Opened(loop.create_task(asyncio.to_thread(open_sdk)), shut)
            entry.users += 1

        async def give_back() -> None:
            with self._lock:
                entry.users -= 1
                last = entry.users == 0 and self._opened.get(place) is entry
                if last:
                    del self._opened[place]
            if last:
                await entry.shut(await entry.opening)

        try:
            sdk = await asyncio.shield(entry.opening)  # one who gives up does not end it for the others
        except BaseException:
            with self._lock:
                entry.users -= 1
                if self._opened.get(place) is entry and (entry.users == 0 or entry.opening.done()):
                    del self._opened[place]
            raise
        return Lease(sdk, give_back)


def http_library(client_class: type) -> Any:
    """The module (httpx2, or httpx in older SDKs) that an SDK's asynchronous HTTP client is built on."""
    packages = [base.__module__.partition(".")[0] for base in client_class.__mro__]
    return importlib.import_module(next(name for name in packages if name in ("httpx2", "httpx")))


def http_settings(http: Any, *, timeout_s: float, concurrency: int) -> dict[str, Any]:
    """`limits` and `timeout` for an AsyncClient of `http`, the httpx2 or httpx module that an SDK uses.

    As many connections stay open as requests are in flight, with room for a pool that grows; the time limit holds
    for every step (connecting has a shorter one).
    """
    room = max(128, 4 * concurrency)
    return {
        "limits": http.Limits(max_connections=room, max_keepalive_connections=room, keepalive_expiry=_KEEP_IDLE_S),
        "timeout": http.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s)),
    }
