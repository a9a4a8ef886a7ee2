"""How many requests of one provider are under way: more while it is calm, half when it says that it is too much."""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ["Limiter"]

_START = 8


class Limiter:
    """Slots for requests, additive increase and multiplicative decrease, as in TCP's congestion control.

    It begins with 8 slots (or `most`, if that is less) and gains one per answer until the first trouble; from then
    on one per round of answers. Trouble halves it, once for all requests that were under way together: they tell
    the same news. It is never below 1 nor above `most`, and grows only while the slots are used.

    Belongs to one event loop.
    """

    def __init__(self, most: int) -> None:
        self.most = max(1, most)
        self.used = 0
        """Slots taken."""
        self.highest = 0
        """Most slots taken at once."""
        self._limit = float(min(_START, self.most))
        self._steep = True
        self._round = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def slots(self) -> int:
        """How many requests may be under way now."""
        return int(self._limit)

    async def acquire(self) -> None:
        """Wait for a slot, first come, first served."""
        if self.used < self.slots and not self._waiting:
            self._take()
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn  # who frees a slot takes it for us
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give the slot back."""
        self.used -= 1
        self._wake()

    def begin(self) -> int:
        """A request starts; pass what this returns to :meth:`calm` or :meth:`trouble` when it ends."""
        return self._round

    def calm(self) -> None:
        """A request was answered."""
        if self._limit < self.most and self.used >= self.slots:
            self._limit = min(float(self.most), self._limit + (1.0 if self._steep else 1.0 / self._limit))
            self._wake()

    def trouble(self, begun: int) -> None:
        """A request was turned away because there were too many."""
        self._steep = False
        if begun == self._round:
            self._round += 1
            self._limit = max(1.0, self._limit / 2)

    def _wake(self) -> None:
        while self._waiting and self.used < self.slots:
            turn = self._waiting.popleft()
            if not turn.done():
                self._take()
                turn.set_result(None)

    def _take(self) -> None:
        self.used += 1
        self.highest = max(self.highest, self.used)
