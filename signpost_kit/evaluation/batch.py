"""Asking through the providers' batch endpoints, at about half the price: submit, survive a restart, collect.

Every question goes into one batch at the most: a batch and its questions are written down before it is sent. After
a crash between sending and noting the provider's id, the provider is asked for a batch under our name. Replies are
matched by custom id, which is the question's key, and stored like any other. What failed in a batch (errors,
expired requests, answers that were cut off) is handed back, to be asked directly.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from signpost_kit.evaluation.asking import Outcome, Politeness, StopModel, backoff
from signpost_kit.evaluation.batch_apis import BatchApi, BatchResult, batch_api
from signpost_kit.evaluation.batch_options import BatchOptions
from signpost_kit.evaluation.batch_records import BatchRecord
from signpost_kit.evaluation.budget import Budget
from signpost_kit.evaluation.cost import price_of
from signpost_kit.evaluation.outcomes import to_reply
from signpost_kit.evaluation.pools import Question
from signpost_kit.evaluation.progress import Tally
from signpost_kit.evaluation.store import ReplyStore
from signpost_kit.evaluation.tasks import Parser
from signpost_kit.models.base import Answer, Provider, ProviderError

if TYPE_CHECKING:
    from signpost_kit.models.catalogue import ModelSpec

__all__ = ["Batching"]

T = TypeVar("T")
_LISTED_S = 60.0  # how long a batch that was just made may be missing from the provider's list
_ENCODED_AT_ONCE = 8  # pictures


class Batching:
    """The batches of one run of asking."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        store: ReplyStore,
        parse: Parser,
        *,
        options: BatchOptions,
        tally: Tally,
        politeness: Politeness,
        again: Sequence[str] = (),
        specs: Mapping[str, ModelSpec] | None = None,
        budget: Budget | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.providers, self.store, self.parse = providers, store, parse
        self.options, self.tally, self.politeness, self.again = options, tally, politeness, tuple(again)
        self.specs, self.budget, self.sleep, self.clock = dict(specs or {}), budget, sleep, clock

    async def run(self, questions: Sequence[Question]) -> list[Question]:
        """Ask what can be asked in batches; return what is to be asked directly, now.

        Questions whose reply is still to come are in neither: `tally.batched` counts them.
        """
        by_model: dict[str, list[Question]] = {}
        for question in questions:
            by_model.setdefault(question.model, []).append(question)
        parts = await asyncio.gather(*(self._model(model, mine) for model, mine in by_model.items()))
        return [question for part in parts for question in part]

    async def _model(self, model: str, questions: list[Question]) -> list[Question]:
        api, provider = batch_api(self.providers[model]), self.providers[model]
        if api is None:
            return questions
        self.tally.expect(provider.name, Counter(question.model for question in questions))
        by_key = {question.key: question for question in questions}
        direct: list[Question] = []
        try:
            await self._recover(api, model)
            under_way = {key for record in self.store.batches.open([model]) for key in record.keys}
            self._reserve(by_key, under_way)
            fresh = [question for question in questions if question.key not in under_way]
            if self.options.submit:
                await self._submit_all(api, model, fresh)
            else:
                direct += fresh
            direct += await self._collect_all(api, model, by_key)
        except StopModel as stop:
            self.tally.stopped.setdefault(model, stop.reason)
        except ProviderError as error:
            self.tally.stopped.setdefault(model, error.reason)
        waiting = {key for record in self.store.batches.open([model]) for key in record.keys} & by_key.keys()
        self.tally.batched[model] = len(waiting)
        for _ in range(self.tally.left[model]):  # counted again where they are asked
            self.tally.skip(provider.name, model)
        return [] if model in self.tally.stopped else direct

    # --- sending ------------------------------------------------------------------------------------------------

    async def _recover(self, api: BatchApi, model: str) -> None:
        """Find out what became of batches that were about to be sent when a run ended."""
        for record in self.store.batches.open([model]):
            if record.remote:
                continue
            remote = await self._find(api, record)
            young = _LISTED_S - (self.clock() - record.created)
            if remote is None and young > 0:
                await self.sleep(young)
                remote = await self._find(api, record)
            if remote is None:
                self._forget(record)
            else:
                self.store.batches.sent(record.name, remote)

    async def _submit_all(self, api: BatchApi, model: str, questions: list[Question]) -> None:
        with tempfile.TemporaryDirectory(prefix="signpost-batch-") as folder:
            left = questions
            while left and model not in self.tally.stopped:
                path = Path(folder) / "requests.jsonl"
                keys, taken, reason = await self._fill(api, model, left, path)
                left = left[taken:]
                if keys:
                    await self._submit(api, model, keys, path)
                if reason:
                    self.tally.stopped.setdefault(model, reason)

    async def _fill(
        self, api: BatchApi, model: str, questions: list[Question], path: Path
    ) -> tuple[dict[str, dict[str, str]], int, str]:
        """Write lines until the file is full: key -> notes, how many questions were looked at, why it ends."""
        keys: dict[str, dict[str, str]] = {}
        most, size, taken = min(api.most_requests, self.options.most_requests), 0, 0
        with path.open("wb") as file:
            while taken < len(questions) and len(keys) < most:
                part = questions[taken : taken + min(_ENCODED_AT_ONCE, most - len(keys))]
                for question, made in zip(part, await asyncio.gather(*map(self._line(api), part)), strict=True):
                    if isinstance(made, ProviderError):
                        await self._failed(question, made)
                        taken += 1
                        continue
                    line, notes = made
                    if keys and size + len(line) > api.most_bytes:
                        return keys, taken, ""
                    if self.budget is not None and not self.budget.try_reserve(self._at_most(question)):
                        return (
                            keys,
                            taken,
                            f"the limit of ${self.budget.most_usd:g} would be passed by a larger batch",
                        )
                    file.write(line)
                    keys[question.key], size, taken = notes, size + len(line), taken + 1
        return keys, taken, ""

    def _line(self, api: BatchApi) -> Callable[[Question], Awaitable[tuple[bytes, dict[str, str]] | ProviderError]]:
        async def make(question: Question) -> tuple[bytes, dict[str, str]] | ProviderError:
            client: Any = self.providers[question.model]
            try:
                body, notes = await client.body(question.requests[0])
            except ProviderError as error:
                if error.fatal:
                    raise
                return error
            return api.line(question.key, body), notes

        return make

    async def _submit(self, api: BatchApi, model: str, keys: dict[str, dict[str, str]], path: Path) -> None:
        """Write a batch down, send it, write its id down."""
        record = self.store.batches.prepare(f"signpost-{uuid.uuid4().hex}", model, keys)
        self.tally.batched[model] += len(keys)
        self.store.batches.sent(record.name, await self._send(api, record, path))

    async def _send(self, api: BatchApi, record: BatchRecord, path: Path) -> str:
        """The provider's id of a batch. Nothing is sent twice, also after a failure that leaves that open."""
        last = self.politeness.attempts
        for attempt in range(1, last + 1):
            try:
                return await self._call(record.model, lambda: api.send(record.name, path), attempts=1)
            except ProviderError as error:
                refused = not error.retryable or getattr(error, "status", None) == 429  # there is no such batch
                if not error.retryable or attempt == last:
                    if refused:
                        self._forget(record)
                    raise
                pause = backoff(error.retry_after_s, attempt, self.politeness)
            await self.sleep(pause if refused else max(pause, _LISTED_S))
            found = None if refused else await self._find(api, record)
            if found is not None:
                return found
        raise AssertionError("the last attempt returns or raises")

    async def _find(self, api: BatchApi, record: BatchRecord) -> str | None:
        known = self.store.batches.known()
        return await self._call(
            record.model, lambda: api.find(record.name, size=record.size, since=record.created, known=known)
        )

    # --- collecting ---------------------------------------------------------------------------------------------

    async def _collect_all(self, api: BatchApi, model: str, by_key: Mapping[str, Question]) -> list[Question]:
        """Wait for the batches that hold questions of this run; return what has to be asked directly."""
        direct: list[Question] = []
        pause, waited = self.options.first_poll_s, 0.0
        while True:
            records = [r for r in self.store.batches.open([model]) if r.remote and r.keys.keys() & by_key.keys()]
            self.tally.batched[model] = sum(len(r.keys.keys() & by_key.keys()) for r in records)
            for record in records:
                state = await self._call(model, lambda r=record: api.state(r.remote))
                if state.failed:
                    self._forget(record)
                    raise StopModel(
                        f"its batch {record.remote} failed: {state.failed}. Mend that, or run again without --batch"
                    )
                if state.ended:
                    direct += await self._collect(api, record, by_key)
            records = [r for r in records if r.name in {open_.name for open_ in self.store.batches.open([model])}]
            if not any(r.keys.keys() & by_key.keys() for r in records):
                return direct
            if self.options.wait_s is not None and waited >= self.options.wait_s:
                return direct
            rest = pause if self.options.wait_s is None else min(pause, self.options.wait_s - waited)
            await self.sleep(rest)
            waited += rest
            pause = min(self.options.longest_poll_s, 1.5 * pause)

    async def _collect(self, api: BatchApi, record: BatchRecord, by_key: Mapping[str, Question]) -> list[Question]:
        """Store the replies of a batch that has ended; return the questions that got none."""
        waiting = {key: notes for key, notes in record.keys.items() if key in by_key}
        direct: list[Question] = []

        async def fetch() -> None:
            async for result in api.results(record.remote):
                if result.custom_id in waiting:
                    question = by_key[result.custom_id]
                    again = await self._take(record, question, waiting.pop(result.custom_id), result)
                    if again is not None:
                        direct.append(again)

        await self._call(record.model, fetch)
        direct += [by_key[key] for key in waiting]  # never processed, or the batch was another's after all
        for question in direct:
            self._release(question, 0.0)
        self.store.batches.free(record.name, [question.key for question in direct])
        self.store.batches.close(record.name)
        if not waiting and not any(r.name == record.name for r in self.store.batches.open([record.model])):
            with contextlib.suppress(ProviderError):  # files that stay there for a while do no harm
                await self._call(record.model, lambda: api.tidy(record.remote), attempts=1)
        return direct

    async def _take(
        self, record: BatchRecord, question: Question, notes: dict[str, str], result: BatchResult
    ) -> Question | None:
        """Store one reply; or give the question back, to be asked directly."""
        client: Any = self.providers[record.model]
        if result.body is None:
            return question
        try:
            answer: Answer = client.read_body(
                result.body, status=result.status, notes={**notes, "batch": record.remote}
            )
        except ProviderError:
            return question
        spec = self.specs.get(record.model)
        if answer.price_usd is None and spec is not None:
            answer = replace(answer, price_usd=price_of(answer.usage, spec.price, batch=True))
        limit = question.requests[0].decoding.max_tokens
        if answer.status == "truncated" and limit is not None and limit < self.politeness.most_tokens:
            self._release(question, answer.price_usd or 0.0, keep=True)
            self.tally.spend(record.model, answer.price_usd or 0.0)
            return replace(question, cut_off=((limit, answer),))
        outcome = Outcome(answer, "", 1, 0.0)
        reply = replace(to_reply(outcome, question.requests[0].prompt, self.parse), latency_s=None)
        settled = self.store.batches.settle(record.name, question.requests, question.key, reply, replace=self.again)
        await asyncio.wrap_future(settled)
        self._release(question, answer.price_usd or 0.0)
        self.tally.spend(record.model, answer.price_usd or 0.0)
        self.tally.batched[record.model] -= 1
        provider = self.providers[record.model]
        self.tally.count(provider.name, record.model, reply.status, len(question.requests), 1)
        return None

    async def _failed(self, question: Question, error: ProviderError) -> None:
        """A picture that cannot be sent: one failed row."""
        outcome = Outcome(None, error.reason, 1, 0.0, ours=True)
        reply = to_reply(outcome, question.requests[0].prompt, self.parse)
        await asyncio.wrap_future(self.store.submit(question.requests, reply, key=question.key, replace=self.again))
        name = self.providers[question.model].name
        self.tally.count(name, question.model, reply.status, len(question.requests), 1)

    def _forget(self, record: BatchRecord) -> None:
        """There is no such batch: its questions may be asked otherwise."""
        self.store.batches.free(record.name)
        self.store.batches.close(record.name)

    # --- calls and money ----------------------------------------------------------------------------------------

    async def _call(self, model: str, call: Callable[[], Awaitable[T]], *, attempts: int | None = None) -> T:
        """One call of an SDK, judged and repeated as a question is."""
        client: Any = self.providers[model]
        for attempt in range(1, (attempts or self.politeness.attempts) + 1):
            try:
                return await call()
            except (ProviderError, StopModel):
                raise
            except Exception as error:
                failure = _judged(client, error)
            if not failure.retryable or attempt == (attempts or self.politeness.attempts):
                raise failure
            await self.sleep(backoff(failure.retry_after_s, attempt, self.politeness))
        raise AssertionError("unreachable")

    def _at_most(self, question: Question) -> float:
        if self.budget is None:
            return 0.0
        spec = self.specs.get(question.model)
        discount = (spec.price.batch_discount or 0.0) if spec is not None and spec.price is not None else 0.0
        return self.budget.at_most(question.requests[0]) * (1 - discount)

    def _reserve(self, by_key: Mapping[str, Question], under_way: set[str]) -> None:
        """Batches of an earlier run will be paid for as well."""
        if self.budget is not None:
            self.budget.reserved_usd += sum(self._at_most(by_key[key]) for key in under_way & by_key.keys())

    def _release(self, question: Question, spent_usd: float, *, keep: bool = False) -> None:
        if self.budget is not None:
            self.budget.release(0.0 if keep else self._at_most(question), spent_usd)


def _judged(client: Any, error: Exception) -> ProviderError:
    """What an SDK's exception means, as for a question."""
    from signpost_kit.models.failures import read_failure

    try:
        answer = client._verdict(read_failure(error), {})
    except ProviderError as judged:
        return judged
    return ProviderError(answer.reason, retryable=False)  # "blocked", of a whole batch
