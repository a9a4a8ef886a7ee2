"""A model that says what a script tells it to: for tests and for teaching, through the same path as a paid one."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from signpost_kit.models.base import Answer, ProviderError, Request

__all__ = ["HANG", "Delayed", "ScriptedProvider", "Step"]


class _Hang:
    """The type of :data:`HANG`."""

    def __repr__(self) -> str:
        return "HANG"


HANG = _Hang()
"""A step that never answers: what a timeout is for."""


@dataclass(frozen=True)
class Delayed:
    """A step that comes after a pause."""

    seconds: float
    step: str | Answer | BaseException | _Hang


Step = str | Answer | BaseException | _Hang | Delayed
"""What happens on one call: a text, an answer with a status, an exception to raise, HANG, or one of them later."""


class ScriptedProvider:
    """Answers call after call from a queue, or by a function of the request.

    Parameters
    ----------
    script
        Steps in the order of the calls (a retry is a call of its own); or a function of the request, which makes
        the answers independent of the order.
    default
        The step when the queue is used up. None: such a call fails, and says so.
    name, concurrency
        The pool it shares and how many calls may be under way.
    latency_s
        Seconds before each answer.

    Attributes
    ----------
    history
        The requests of all calls, in order; also those that failed.
    most_in_flight
        The highest number of calls that were under way at once.
    closed
        How often the runner closed it.

    Example
    -------
    >>> model = ScriptedProvider(script=['{"lat": 48.9, "lon": 2.4}', ProviderError("busy", retry_after_s=1)])
    """

    def __init__(
        self,
        name: str = "scripted",
        script: Iterable[Step] | Callable[[Request], Step] = (),
        *,
        default: Step | None = None,
        concurrency: int = 4,
        latency_s: float = 0.0,
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self.latency_s = latency_s
        self.history: list[Request] = []
        self.most_in_flight = 0
        self.closed = 0
        self._function = script if callable(script) else None
        self._queue: deque[Step] = deque() if callable(script) else deque(script)
        self._default = default
        self._in_flight = 0
        self._lock = threading.Lock()

    async def ask(self, request: Request) -> Answer:
        """Answer one request as the script says."""
        with self._lock:  # one provider may be asked from two event loops
            self.history.append(request)
            step = self._function(request) if self._function else self._next()
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            return await self._play(step)
        finally:
            with self._lock:
                self._in_flight -= 1

    async def close(self) -> None:
        """Count the call; a script can go on afterwards."""
        self.closed += 1

    def _next(self) -> Step:
        if self._queue:
            return self._queue.popleft()
        if self._default is not None:
            return self._default
        return ProviderError(f"the script of {self.name!r} has no step left", retryable=False)

    async def _play(self, step: Step) -> Answer:
        if self.latency_s > 0:
            await asyncio.sleep(self.latency_s)
        if isinstance(step, Delayed):
            await asyncio.sleep(step.seconds)
            step = step.step
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, _Hang):
            await asyncio.Event().wait()
        return step if isinstance(step, Answer) else Answer(text=str(step))
