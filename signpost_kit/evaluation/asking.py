"""One question to one model, politely: a time limit, pauses between attempts, and an end.

What is worth another attempt is the provider's judgement (:class:`~signpost_kit.models.base.ProviderError`); how
long to wait and when to stop is decided here, once for all of them. The clients' own retries are off.

What happens to                    it is asked again
    a refusal for a time (429 ...) after the pause that the provider names; above `patience_s` the model stops
    overload, 5xx, reset, time-out after a pause between 0 and 1, 2, 4 ... s (full jitter), `attempts` times in all
    an answer cut off by its limit with twice as many tokens, up to `most_tokens`; nothing else is changed
    blocked, refused, empty        never: it is an answer
    fatal (key, address, credit)   never, and the model is not asked any further
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from signpost_kit.errors import SignpostError
from signpost_kit.models.base import Answer, Provider, ProviderError, Request

__all__ = ["Failure", "Gate", "Outcome", "Politeness", "StopModel", "ask_with_retries", "backoff"]


@dataclass(frozen=True)
class Politeness:
    """How often and how patiently one question is asked."""

    attempts: int = 6
    """The first and five more (SIGNPOST-Bench)."""
    timeout_s: float = 120.0
    """Seconds for one attempt."""
    first_wait_s: float = 1.0
    """Before the second attempt at most; doubled each time. The pause is drawn between 0 and this (full jitter)."""
    longest_wait_s: float = 60.0
    """The doubling stops here."""
    patience_s: float = 600.0
    """A provider that asks for a longer pause stops its model: run again later."""
    most_tokens: int = 16_384
    """An answer that was cut off is asked again with twice its limit of tokens, up to this."""
    failures_in_a_row: int = 20
    """So many questions of a model that fail one after another stop it: something is wrong with all of them."""


@dataclass(frozen=True)
class Failure:
    """An attempt that brought no answer."""

    reason: str
    again: bool
    """Whether another attempt may help."""
    pause_s: float | None = None
    """What the provider asks for."""
    congested: bool = False
    """The provider has too much to do, or more than it allows this account."""
    timed_out: bool = False
    """It may have been answered, and charged, all the same."""
    ours: bool = False
    """It lies in the picture or in the kit, not in the model."""


@dataclass(frozen=True)
class Outcome:
    """What came of a question: an answer, or the reason why there is none."""

    answer: Answer | None
    reason: str
    attempts: int
    latency_s: float
    """Of the last attempt."""
    cut_off: tuple[tuple[int, Answer], ...] = ()
    """Earlier answers, paid for, that their limit of tokens (told first) cut off."""
    half: bool = False
    """The answer is the last of those that were cut off: asking for a whole one failed, for `reason`."""
    ours: bool = False
    """See :class:`Failure`."""

    @property
    def paid(self) -> tuple[Answer, ...]:
        """Every answer that the provider gave and counts."""
        answers = tuple(answer for _, answer in self.cut_off)
        return answers if self.answer is None or self.half else (*answers, self.answer)


class StopModel(Exception):
    """This model cannot be asked any further in this run; the reason is for the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Gate(Protocol):
    """What each attempt passes through: turns, budgets and what is learned for the next ones."""

    async def enter(self, request: Request) -> None:
        """Wait until the attempt may begin; raises StopModel when it never may."""
        ...

    def leave(self, request: Request, result: Answer | Failure | None) -> None:
        """The attempt has ended; None: by an interrupt, or by what stops the model."""
        ...


class _Open:
    """No gate at all."""

    async def enter(self, request: Request) -> None:
        pass

    def leave(self, request: Request, result: Answer | Failure | None) -> None:
        pass


async def ask_with_retries(
    provider: Provider,
    request: Request,
    *,
    politeness: Politeness,
    gate: Gate | None = None,
    cut_off: tuple[tuple[int, Answer], ...] = (),
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    rng: Callable[[], float] = random.random,
    clock: Callable[[], float] = time.perf_counter,
) -> Outcome:
    """Ask until there is an answer, the attempts are used up, or asking again is no use.

    A time-out counts as worth another attempt. An exception that is no ProviderError is a fault of the provider's
    code: it fails this one question, with its type and message, at once.

    Parameters
    ----------
    gate
        Passed by every attempt.
    cut_off
        Answers, paid for in a batch, that their limit of tokens (told first) cut off: it goes on from there.
    sleep, rng, clock
        How to pause, numbers from 0 to 1 for the jitter, and seconds.

    Raises
    ------
    StopModel
        The provider called the failure fatal, or asks for a longer pause than `politeness` allows.
    """
    gate = gate or _Open()
    sent, calls, failures = request, len(cut_off), 0
    for limit, answer in cut_off[-1:]:
        larger = _larger(_limited(request, limit), answer, politeness)
        if larger is None:
            return Outcome(answer, "", calls, 0.0, cut_off, half=True)
        sent = larger
    while True:
        await gate.enter(sent)
        start, result = clock(), None
        try:
            result = await _attempt(provider, sent, politeness)
        finally:
            gate.leave(sent, result)
        latency, calls = clock() - start, calls + 1
        if isinstance(result, Answer):
            larger = _larger(sent, result, politeness)
            if larger is None:
                return Outcome(result, "", max(calls, result.attempts), latency, cut_off)
            cut_off = (*cut_off, (sent.decoding.max_tokens or 0, result))
            sent = larger
            continue
        failures += 1
        if not result.again or failures >= politeness.attempts:
            if cut_off:  # half an answer, and why it is not a whole one, is more than an error
                return Outcome(cut_off[-1][1], result.reason, calls, latency, cut_off, half=True)
            said = f" (after {calls} attempts)" if result.again else ""
            return Outcome(None, result.reason + said, calls, latency, ours=result.ours)
        await sleep(backoff(result.pause_s, failures, politeness, rng))


async def _attempt(provider: Provider, request: Request, politeness: Politeness) -> Answer | Failure:
    try:
        answer = await asyncio.wait_for(provider.ask(request), politeness.timeout_s)
        if not isinstance(answer, Answer):
            raise TypeError(f"the provider returned {type(answer).__name__}, not an Answer")
    except ProviderError as error:
        if error.fatal:
            raise StopModel(error.reason) from error
        pause = error.retry_after_s
        if error.retryable and pause is not None and pause > politeness.patience_s:
            raise StopModel(_too_long(pause)) from error
        kind = {name: bool(getattr(error, name, False)) for name in ("congested", "timed_out", "ours")}
        kind["congested"] |= error.retryable and pause is not None  # who names a pause has too much to do
        return Failure(error.reason, error.retryable, pause, **kind)
    except (asyncio.TimeoutError, TimeoutError):  # two classes until Python 3.11
        return Failure(f"no answer within {politeness.timeout_s:g} s", again=True, timed_out=True)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        return Failure(reason, again=False, ours=isinstance(error, SignpostError))
    return answer


def _too_long(pause: float) -> str:
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(time.time() + pause))
    return f"it asks for a pause of {pause:.0f} s: run again after that ({until}), finished replies are kept"


def _larger(request: Request, answer: Answer, politeness: Politeness) -> Request | None:
    """The same question with twice the tokens, where the limit cut the answer off and may still grow."""
    limit = request.decoding.max_tokens
    if answer.status != "truncated" or limit is None or limit >= politeness.most_tokens:
        return None
    return _limited(request, min(2 * limit, politeness.most_tokens))


def _limited(request: Request, tokens: int) -> Request:
    return replace(request, decoding=replace(request.decoding, max_tokens=tokens))


def backoff(
    asked: float | None, failures: int, politeness: Politeness, rng: Callable[[], float] = random.random
) -> float:
    """Seconds before the next attempt: what the provider asks for, else drawn, up to more with each failure.

    Raises
    ------
    StopModel
        The provider asks for more than `politeness.patience_s`.
    """
    if asked is not None and asked > politeness.patience_s:
        raise StopModel(_too_long(asked))
    if asked is not None:
        return max(0.0, asked)
    return rng() * min(politeness.longest_wait_s, politeness.first_wait_s * 2 ** (failures - 1))
