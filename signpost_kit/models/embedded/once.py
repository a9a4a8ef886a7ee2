"""Compute once, share between threads: five models that look at one picture read it a single time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

__all__ = ["Once"]

T = TypeVar("T")


class Once(Generic[T]):
    """A bounded memory of results by key. A failure is raised to all who waited for it and is not remembered."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Future[T]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result for `key`; `make` runs in the first thread that asks, the others wait for it."""
        with self._lock:
            future = self._kept.get(key)
            mine = future is None
            if future is None:
                future = self._kept[key] = Future()
                while len(self._kept) > self._limit:
                    self._kept.popitem(last=False)
            else:
                self._kept.move_to_end(key)
        if mine:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    if self._kept.get(key) is future:
                        del self._kept[key]
                future.set_exception(error)
        return future.result()

    def clear(self) -> None:
        """Forget everything (results in the making still reach those who wait)."""
        with self._lock:
            self._kept.clear()
