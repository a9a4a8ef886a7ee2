"""How many requests of a provider are under way: growing while it is calm, halved by trouble, within its bounds."""

from __future__ import annotations

import asyncio

import pytest

from signpost_kit.evaluation.limiter import Limiter


def serve(limiter: Limiter, n: int, trouble=lambda i: False) -> list[int]:
    """n requests, as many at once as there are slots; the slots after each answer."""

    async def main() -> list[int]:
        seen = []

        async def one(i: int) -> None:
            await limiter.acquire()
            begun = limiter.begin()
            await asyncio.sleep(0)
            if trouble(i):
                limiter.trouble(begun)
            else:
                limiter.calm()
            seen.append(limiter.slots)
            limiter.release()

        await asyncio.gather(*(one(i) for i in range(n)))
        return seen

    return asyncio.run(main())


def test_it_begins_small_and_soon_uses_what_is_allowed():
    limiter = Limiter(64)
    seen = serve(limiter, 200)
    assert seen[0] == 9 and seen == sorted(seen) and seen[60] == 64
    assert limiter.highest == 64 and limiter.used == 0


@pytest.mark.parametrize(("most", "first"), [(1, 1), (3, 3), (8, 8), (0, 1)])
def test_never_more_than_allowed_never_less_than_one(most, first):
    limiter = Limiter(most)
    assert limiter.slots == first
    seen = serve(limiter, 100, trouble=lambda i: i % 2 == 0)
    assert min(seen) == 1 and limiter.highest <= max(1, most)


def test_trouble_of_one_round_counts_once_and_growth_is_slow_afterwards():
    async def main() -> list[int]:
        limiter, seen = Limiter(64), []
        limiter._limit = 64.0
        for _ in range(64):
            await limiter.acquire()
        begun = limiter.begin()
        for _ in range(64):  # all of one round are turned away
            limiter.trouble(begun)
            seen.append(limiter.slots)
            limiter.release()
        later = limiter.begin()
        for i in range(32):
            await limiter.acquire()
            assert limiter.used == i + 1
        for _ in range(33):  # a full round of answers brings one slot
            limiter.calm()
        seen.append(limiter.slots)
        limiter.trouble(later)
        return [*seen, limiter.slots]

    assert asyncio.run(main()) == [32] * 64 + [33, 16]


def test_it_does_not_grow_while_slots_lie_idle():
    limiter = Limiter(64)

    async def main() -> None:
        for _ in range(50):
            await limiter.acquire()
            limiter.calm()
            limiter.release()

    asyncio.run(main())
    assert limiter.slots == 8


def test_an_interrupted_wait_loses_no_slot():
    async def main() -> int:
        limiter = Limiter(1)
        await limiter.acquire()
        waiters = [asyncio.create_task(limiter.acquire()) for _ in range(4)]
        await asyncio.sleep(0)
        waiters[0].cancel()
        limiter.release()  # the turn falls to the second, which is cancelled at that very moment
        waiters[1].cancel()
        await asyncio.gather(*waiters[:2], return_exceptions=True)
        await asyncio.wait_for(waiters[2], 1)
        assert not waiters[3].done()
        limiter.release()
        await asyncio.wait_for(waiters[3], 1)
        return limiter.used

    assert asyncio.run(main()) == 1
