"""One question to one model, politely: a time limit, pauses between attempts, and an end.

What is worth another attempt is the provider's judgement (:class:`~signpost_kit.models.base.ProviderError`); how
long to wait and when to stop is decided here, once for all of them.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from signpost_kit.models.base import Answer, Provider, ProviderError, Request

__all__ = ["Outcome", "Politeness", "StopModel", "ask_with_retries"]


@dataclass(frozen=True)
class Politeness:
    """How often and how patiently one question is asked."""

    attempts: int = 6
    """The first and five more (SIGNPOST-Bench)."""
    timeout_s: float = 120.0
    """Seconds for one attempt."""
    first_wait_s: float = 1.0
    """Before the second attempt; doubled each time, less a jitter of up to a half."""
    longest_wait_s: float = 60.0
    """The doubling stops here."""
    patience_s: float = 600.0
    """A provider that asks for a longer pause stops its model: run again later."""


@dataclass(frozen=True)
class Outcome:
    """What came of a question: an answer, or the reason why there is none."""

    answer: Answer | None
    reason: str
    attempts: int
    latency_s: float
    """Of the last attempt."""


class StopModel(Exception):
    """This model cannot be asked any further in this run; the reason is for the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def ask_with_retries(
    provider: Provider,
    request: Request,
    *,
    politeness: Politeness,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = time.perf_counter,
) -> Outcome:
    """Ask until there is an answer, the attempts are used up, or asking again is no use.

    A time-out counts as worth another attempt. An exception that is no ProviderError is a fault of the provider's
    code: it fails this one question, with its type and message, at once.

    Raises
    ------
    StopModel
        The provider called the failure fatal, or asks for a longer pause than `politeness` allows.
    """
    reason, latency = "", 0.0
    for attempt in range(1, politeness.attempts + 1):
        start = clock()
        pause: float | None = None
        try:
            answer = await asyncio.wait_for(provider.ask(request), politeness.timeout_s)
            if not isinstance(answer, Answer):
                raise TypeError(f"the provider returned {type(answer).__name__}, not an Answer")
            return Outcome(answer, "", max(attempt, answer.attempts), clock() - start)
        except ProviderError as error:
            latency, reason = clock() - start, error.reason
            if error.fatal:
                raise StopModel(reason) from error
            if not error.retryable:
                return Outcome(None, reason, attempt, latency)
            pause = error.retry_after_s
        except (asyncio.TimeoutError, TimeoutError):  # two classes until Python 3.11
            latency, reason = clock() - start, f"no answer within {politeness.timeout_s:g} s"
        except Exception as error:
            return Outcome(None, f"{type(error).__name__}: {error}".rstrip(": "), attempt, clock() - start)
        if attempt < politeness.attempts:
            await sleep(_pause(pause, attempt, request, politeness))
    return Outcome(None, f"{reason} (after {politeness.attempts} attempts)", politeness.attempts, latency)


def _pause(asked: float | None, attempt: int, request: Request, politeness: Politeness) -> float:
    if asked is not None:
        if asked > politeness.patience_s:
            raise StopModel(
                f"it asks for a pause of {asked:.0f} s: run again after that, finished replies are kept"
            )
        return max(0.0, asked)
    wait = min(politeness.longest_wait_s, politeness.first_wait_s * 2 ** (attempt - 1))
    # The jitter spreads requests that failed together, and is the same in every run.
    share = zlib.crc32(f"{request.image_hash}/{request.variant}/{attempt}".encode()) / 2**32
    return wait * (1 - 0.5 * share)
