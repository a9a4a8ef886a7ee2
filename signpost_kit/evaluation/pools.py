"""The asking itself: one pool of workers per provider, each reply stored before its slot is given to another."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from signpost_kit.evaluation.asking import Failure, Outcome, Politeness, StopModel, ask_with_retries
from signpost_kit.evaluation.budget import Budget
from signpost_kit.evaluation.claims import Claims
from signpost_kit.evaluation.limiter import Limiter
from signpost_kit.evaluation.outcomes import to_reply
from signpost_kit.evaluation.progress import Tally
from signpost_kit.evaluation.store import ReplyStore
from signpost_kit.evaluation.tasks import Parser
from signpost_kit.models.base import Answer, Provider, Request

__all__ = ["Charge", "Question", "ask_all", "close_all"]

Charge = Callable[[str, Answer], "float | None"]
"""What an answer of a model costs in US dollars; None: unknown."""
_CLAIMED_S = 0.25  # how often questions that another process is asking are looked at again
_GRACE_S = 5.0  # for connections to close


@dataclass(frozen=True)
class Question:
    """One thing to ask, for every row that it answers (rows with the same picture share a key)."""

    key: str
    requests: tuple[Request, ...]
    cut_off: tuple[tuple[int, Answer], ...] = ()
    """What a batch brought of it: answers that were cut off, each after its limit of tokens."""

    @property
    def model(self) -> str:
        """Who is asked."""
        return self.requests[0].model


@dataclass
class _Pool:
    """The questions of all models behind one provider name, and how many may be under way."""

    name: str
    concurrency: int
    queues: dict[str, deque[Question]] = field(default_factory=dict)
    """By model; they take turns."""
    resume: dict[str, float] = field(default_factory=dict)
    """Model -> the moment before which its provider wants no further request."""
    size: int = 0
    """Questions in the queues."""

    def __post_init__(self) -> None:
        self._order: deque[str] = deque()

    def start(self) -> None:
        """All questions are there, and the concurrency is known."""
        self.limiter = Limiter(self.concurrency)

    def put(self, question: Question) -> None:
        """Queue a question at the end."""
        if question.model not in self.queues:
            self.queues[question.model] = deque()
            self._order.append(question.model)
        self.queues[question.model].append(question)
        self.size += 1

    def take(self, now: float) -> Question | None:
        """The next question: of the next model that may be asked now, else of the one that may be first."""
        waiting: list[tuple[float, str]] = []
        for _ in range(len(self._order)):
            model = self._order[0]
            self._order.rotate(-1)
            if self.queues[model]:
                waiting.append((self.resume.get(model, 0.0), model))
                if waiting[-1][0] <= now:
                    break
        if not waiting:
            return None
        self.size -= 1
        return self.queues[min(waiting)[1]].popleft()


async def ask_all(
    questions: Sequence[Question],
    providers: Mapping[str, Provider],
    store: ReplyStore,
    parse: Parser,
    *,
    tally: Tally,
    politeness: Politeness,
    concurrency: int | None = None,
    again: Sequence[str] = (),
    charge: Charge = lambda model, answer: answer.price_usd,
    budget: Budget | None = None,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """Ask every question and store every reply; `tally` tells how it went.

    Parameters
    ----------
    providers
        Model -> provider. Providers of one `name` share a pool, whose size is the smallest of their `concurrency`
        (or the argument); pools do not wait for each other. All are closed at the end.
    again
        Statuses of stored replies that a new reply replaces.
    budget
        Stops a model before it spends more.

    Raises
    ------
    StorageError
        A reply could not be stored; asking stops at once, for the next one would be paid for and lost as well.
    """
    pools = _pools(questions, providers, concurrency)
    for pool in pools:
        tally.expect(pool.name, Counter(question.model for queue in pool.queues.values() for question in queue))
    run = _Run(providers, store, parse, tally, politeness, tuple(again), charge, budget, sleep)
    # Twice as many workers as slots: a question that waits for its next attempt holds a worker, but no slot.
    workers = [
        asyncio.create_task(run.work(pool)) for pool in pools for _ in range(min(2 * pool.concurrency, pool.size))
    ]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await close_all(providers)


@dataclass
class _Run:
    """What all workers of one run of asking share."""

    providers: Mapping[str, Provider]
    store: ReplyStore
    parse: Parser
    tally: Tally
    politeness: Politeness
    again: tuple[str, ...]
    charge: Charge
    budget: Budget | None
    sleep: Callable[[float], Awaitable[object]]
    clock: Callable[[], float] = time.monotonic
    failed_in_a_row: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.claims = Claims(self.store.path)

    async def work(self, pool: _Pool) -> None:
        """Take questions until there are none."""
        while (question := pool.take(self.clock())) is not None:
            if question.model in self.tally.stopped:
                self.tally.skip(pool.name, question.model)
            elif self.claims.take(question.key):
                try:
                    async with _Turn(self, pool) as turn:
                        await self.settle(pool, question, turn)
                finally:
                    self.claims.release(question.key)
            else:  # another process is asking it: its reply will do, unless that process dies first
                pool.put(question)
                await self.sleep(_CLAIMED_S / pool.size)

    async def settle(self, pool: _Pool, question: Question, turn: _Turn) -> None:
        """Ask one question and store its reply, unless it is there already."""
        status = self.store.status(question.key)
        if status is not None and status not in self.again:
            await asyncio.to_thread(self.store.link, [(request, question.key) for request in question.requests])
            self.tally.reuse(pool.name, question.model, status, len(question.requests))
            return
        try:
            outcome = await ask_with_retries(
                self.providers[question.model],
                question.requests[0],
                politeness=self.politeness,
                gate=turn,
                cut_off=question.cut_off,
                sleep=turn.rest,
            )
        except StopModel as stop:
            self.tally.stopped.setdefault(question.model, stop.reason)
            self.tally.skip(pool.name, question.model)
            return
        prices = [self.charge(question.model, answer) for answer in outcome.paid]
        reply = to_reply(outcome, question.requests[0].prompt, self.parse, prices=prices)
        await asyncio.wrap_future(self.store.submit(question.requests, reply, key=question.key, replace=self.again))
        self.tally.count(pool.name, question.model, reply.status, len(question.requests), reply.attempts)
        self._watch(question.model, outcome)

    def _watch(self, model: str, outcome: Outcome) -> None:
        """Stop a model whose questions fail one after another: a full run of failures helps nobody."""
        if outcome.ours:  # a broken picture says nothing about the model
            return
        self.failed_in_a_row[model] = 0 if outcome.answer else self.failed_in_a_row[model] + 1
        if self.failed_in_a_row[model] >= self.politeness.failures_in_a_row:
            self.tally.stopped.setdefault(
                model,
                f"{self.failed_in_a_row[model]} questions in a row failed, the last one with: {outcome.reason}. "
                "Mend that and run again; `--retry error` asks the failed ones too",
            )


class _Turn:
    """A slot of a pool for one question, and the gate that each of its attempts passes."""

    def __init__(self, run: _Run, pool: _Pool) -> None:
        self._run, self._pool = run, pool
        self._held = False
        self._begun = 0

    async def __aenter__(self) -> _Turn:
        await self._take()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._give()

    async def rest(self, seconds: float) -> None:
        """Pause without holding the slot, then queue for one again."""
        self._give()
        await self._run.sleep(seconds)
        await self._take()

    async def enter(self, request: Request) -> None:
        """Wait for the moment that the provider named, and for the money."""
        wait = self._pool.resume.get(request.model, 0.0) - self._run.clock()
        if wait > 0:
            await self.rest(wait)
        self._check(request.model)
        if self._run.budget is not None:
            await self._run.budget.reserve(request)
            try:
                self._check(request.model)
            except StopModel:
                self._run.budget.settle(request, 0.0)
                raise
        self._begun = self._pool.limiter.begin()

    def leave(self, request: Request, result: Answer | Failure | None) -> None:
        """Learn from the attempt how many may be under way, when, and what was spent."""
        limiter, spent = self._pool.limiter, 0.0
        if isinstance(result, Answer):
            limiter.calm()
            spent = self._run.charge(request.model, result) or 0.0
            self._run.tally.spend(request.model, spent)
        elif result is not None and result.congested:
            limiter.trouble(self._begun)
            if result.pause_s:
                until = self._run.clock() + result.pause_s
                self._pool.resume[request.model] = max(self._pool.resume.get(request.model, 0.0), until)
        if self._run.budget is not None:
            # A request that timed out may have been answered: it counts as spent in full.
            lost = isinstance(result, Failure) and result.timed_out
            self._run.budget.settle(request, None if lost else spent)

    def _check(self, model: str) -> None:
        if model in self._run.tally.stopped:
            raise StopModel(self._run.tally.stopped[model])

    async def _take(self) -> None:
        await self._pool.limiter.acquire()
        self._held = True

    def _give(self) -> None:
        if self._held:
            self._held = False
            self._pool.limiter.release()


def _pools(
    questions: Sequence[Question], providers: Mapping[str, Provider], concurrency: int | None
) -> list[_Pool]:
    pools: dict[str, _Pool] = {}
    for question in questions:
        provider = providers[question.model]
        size = max(1, provider.concurrency if concurrency is None else concurrency)
        pool = pools.setdefault(provider.name, _Pool(provider.name, size))
        pool.concurrency = min(pool.concurrency, size)
        pool.put(question)
    for pool in pools.values():
        pool.start()
    return list(pools.values())


async def close_all(providers: Mapping[str, Provider]) -> None:
    """Close each provider once, within a few seconds."""
    for provider in {id(p): p for p in providers.values()}.values():
        with contextlib.suppress(Exception):  # replies are safe by now; a connection that will not close is no news
            await asyncio.wait_for(provider.close(), _GRACE_S)
