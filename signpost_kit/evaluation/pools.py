"""The asking itself: one pool of workers per provider, each reply stored before the next question is taken."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from signpost_kit.errors import SignpostError
from signpost_kit.evaluation.asking import Outcome, Politeness, StopModel, ask_with_retries
from signpost_kit.evaluation.claims import Claims
from signpost_kit.evaluation.progress import Tally
from signpost_kit.evaluation.reply import Reply
from signpost_kit.evaluation.store import ReplyStore
from signpost_kit.evaluation.tasks import Parsed, Parser, read_text
from signpost_kit.models.base import Provider, Request

__all__ = ["Question", "ask_all", "run_in_thread", "to_reply"]

T = TypeVar("T")
_CLAIMED_S = 0.25  # how often questions that another process is asking are looked at again
_GRACE_S = 5.0  # for cancelled requests and connections to end after an interrupt


@dataclass(frozen=True)
class Question:
    """One thing to ask, for every row that it answers (rows with the same picture share a key)."""

    key: str
    requests: tuple[Request, ...]

    @property
    def model(self) -> str:
        """Who is asked."""
        return self.requests[0].model


@dataclass
class _Pool:
    """The questions of all models behind one provider name, and how many may be under way."""

    name: str
    concurrency: int
    questions: deque[Question] = field(default_factory=deque)


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

    Raises
    ------
    StorageError
        A reply could not be stored; asking stops at once, for the next one would be paid for and lost as well.
    """
    pools = _pools(questions, providers, concurrency)
    tally.total = len(questions)
    tally.pools = {pool.name: [len(pool.questions), 0] for pool in pools}

    claims = Claims(store.path)

    async def work(pool: _Pool) -> None:
        while pool.questions:
            question = pool.questions.popleft()
            if question.model in tally.stopped:
                tally.skip(pool.name)
            elif claims.take(question.key):
                try:
                    await settle(pool, question)
                finally:
                    claims.release(question.key)
            else:  # another process is asking it: its reply will do, unless that process dies first
                pool.questions.append(question)
                await sleep(_CLAIMED_S / len(pool.questions))

    async def settle(pool: _Pool, question: Question) -> None:
        status = store.status(question.key)
        if status is not None and status not in again:
            await asyncio.to_thread(store.link, [(request, question.key) for request in question.requests])
            tally.reuse(pool.name, status, len(question.requests))
            return
        try:
            outcome = await ask_with_retries(
                providers[question.model], question.requests[0], politeness=politeness, sleep=sleep
            )
        except StopModel as stop:
            tally.stopped.setdefault(question.model, stop.reason)
            tally.skip(pool.name)
            return
        reply = to_reply(outcome, question.requests[0].prompt, parse)
        await asyncio.wrap_future(store.submit(question.requests, reply, key=question.key, replace=again))
        _count(tally, pool.name, question, reply)

    workers = [
        asyncio.create_task(work(pool)) for pool in pools for _ in range(min(pool.concurrency, len(pool.questions)))
    ]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await _close(providers)


def to_reply(outcome: Outcome, prompt: str, parse: Parser) -> Reply:
    """What is stored for an outcome: the provider's word on it first, then what the text says."""
    answer = outcome.answer
    if answer is None:
        return Reply(
            status="error",
            said="error",
            reason=outcome.reason,
            attempts=outcome.attempts,
            latency_s=outcome.latency_s,
        )
    text = answer.text
    parsed = read_text(text, prompt, parse) if answer.status == "ok" else Parsed(answer.status, answer.reason)
    reply = Reply(
        status="error",
        said=answer.status,
        text=text,
        finish_reason=answer.finish_reason,
        usage=answer.usage,
        price_usd=answer.price_usd,
        latency_s=outcome.latency_s,
        attempts=outcome.attempts,
        request_id=answer.request_id,
    )
    try:
        return replace(reply, **vars(parsed))
    except SignpostError as error:  # a status that does not exist, from a provider or a parser of the user's
        return replace(reply, reason=str(error))


def _pools(
    questions: Sequence[Question], providers: Mapping[str, Provider], concurrency: int | None
) -> list[_Pool]:
    pools: dict[str, _Pool] = {}
    for question in questions:
        provider = providers[question.model]
        size = max(1, provider.concurrency if concurrency is None else concurrency)
        pool = pools.setdefault(provider.name, _Pool(provider.name, size))
        pool.concurrency = min(pool.concurrency, size)
        pool.questions.append(question)
    return list(pools.values())


def _count(tally: Tally, pool: str, question: Question, reply: Reply) -> None:
    tally.asked += 1
    tally.asked_rows += len(question.requests)
    tally.statuses[reply.status] += len(question.requests)
    tally.cost_usd += reply.price_usd or 0.0
    tally.attempts += reply.attempts
    tally.finish(pool)


async def _close(providers: Mapping[str, Provider]) -> None:
    for provider in {id(p): p for p in providers.values()}.values():
        with contextlib.suppress(Exception):  # replies are safe by now; a connection that will not close is no news
            await asyncio.wait_for(provider.close(), _GRACE_S)


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
