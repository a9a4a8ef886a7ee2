"""A limit of money that is never passed: what is under way is reserved at the highest price it can have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from signpost_kit.evaluation.asking import StopModel
from signpost_kit.models.base import Request

__all__ = ["Budget"]


class Budget:
    """What may still be spent in one run of asking.

    Parameters
    ----------
    most_usd
        The limit.
    at_most
        The highest price of one request: its input, and as many output tokens as it may use.

    Belongs to one event loop.
    """

    def __init__(self, most_usd: float, at_most: Callable[[Request], float]) -> None:
        self.most_usd = most_usd
        self.spent_usd = 0.0
        """By answers that came back; a request that timed out counts in full, for it may be charged."""
        self.reserved_usd = 0.0
        """For requests under way."""
        self.at_most = at_most
        self._changed: asyncio.Event = asyncio.Event()

    async def reserve(self, request: Request) -> None:
        """Wait until the request fits beside those that are under way.

        Raises
        ------
        StopModel
            It does not fit, and nothing is under way that could leave room for it.
        """
        price = self.at_most(request)
        while price > 0 and self.spent_usd + self.reserved_usd + price > self.most_usd:
            if self.reserved_usd <= 1e-12:
                raise StopModel(
                    f"the limit of ${self.most_usd:g} would be passed: ${self.spent_usd:.4f} are spent, one more "
                    f"request may cost up to ${price:.4f}. Raise --max-cost and run again; what is answered is kept"
                )
            self._changed.clear()
            await self._changed.wait()
        self.reserved_usd += price

    def try_reserve(self, usd: float) -> bool:
        """Set money aside at once, for a part of a batch; False when it does not fit."""
        if usd > 0 and self.spent_usd + self.reserved_usd + usd > self.most_usd:
            return False
        self.reserved_usd += usd
        return True

    def release(self, usd: float, spent_usd: float) -> None:
        """What was set aside is settled: so much of it was spent."""
        self.reserved_usd = max(0.0, self.reserved_usd - usd)
        self.spent_usd += spent_usd
        self._changed.set()

    def settle(self, request: Request, spent_usd: float | None) -> None:
        """A request has ended. None: nobody knows what it cost, so it counts in full."""
        price = self.at_most(request)
        self.release(price, price if spent_usd is None else spent_usd)
