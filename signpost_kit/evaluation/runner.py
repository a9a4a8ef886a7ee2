"""`evaluate`: ask models about a benchmark's pictures, each question once, and say how it went."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError, StorageError
from signpost_kit.evaluation.asking import Politeness
from signpost_kit.evaluation.cost import charging
from signpost_kit.evaluation.loop_thread import run_in_thread
from signpost_kit.evaluation.money import Money
from signpost_kit.evaluation.plan import MissingPicture, Plan, PromptText, make_plan
from signpost_kit.evaluation.pools import Question, ask_all
from signpost_kit.evaluation.progress import Progress, Tally
from signpost_kit.evaluation.store import ReplyStore, check_statuses
from signpost_kit.evaluation.tasks import Parser, parser_of
from signpost_kit.files import hash_bytes
from signpost_kit.models.base import Decoding, Provider

if TYPE_CHECKING:
    from signpost_kit.benchmark import Benchmark
    from signpost_kit.models.catalogue import ModelSpec

__all__ = ["EvaluationSummary", "evaluate"]


@dataclass(frozen=True)
class EvaluationSummary:
    """How an evaluation went. Rows are (model, group, variant, sample): planned = asked + reused + unasked."""

    task: str
    planned: int
    """Rows."""
    asked: int
    """Rows answered or failed by asking in this call."""
    reused: int
    """Rows whose reply was there already."""
    ok: int
    """Rows with a usable answer, asked and reused."""
    failures: dict[str, int]
    """Rows by status other than ok, asked and reused."""
    questions: int
    """Questions put to models in this call: rows with the same picture share one."""
    attempts: int
    """Calls made for them."""
    seconds: float
    cost_usd: float
    """Of this call, as far as prices are known."""
    stopped: dict[str, str] = field(default_factory=dict)
    """Model -> why it was not asked to the end."""
    missing: tuple[MissingPicture, ...] = ()
    """Pictures that were not there to ask about."""
    costs: tuple[dict[str, Any], ...] = ()
    """Estimate against actual, per priced model; see :func:`signpost_kit.evaluation.cost.against_actual`."""

    @property
    def estimated_usd(self) -> float:
        """What the questions asked in this call were estimated to cost before; NaN where nothing was priced."""
        return sum(row["estimated_usd"] for row in self.costs) if self.costs else float("nan")

    @property
    def unasked(self) -> int:
        """Rows that are still to be asked: run again."""
        return self.planned - self.asked - self.reused

    @property
    def complete(self) -> bool:
        """Whether every planned row has a reply of some status."""
        return self.unasked == 0

    def __str__(self) -> str:
        parts = [f"{self.task}: {self.planned} rows, {self.asked} asked, {self.reused} reused, {self.ok} ok"]
        parts += [f"{n} {status}" for status, n in self.failures.items()]
        if self.unasked:
            parts.append(f"{self.unasked} still to ask")
        parts.append(f"{self.seconds:.1f} s")
        if self.cost_usd:
            estimated = f" (estimated ${self.estimated_usd:.4f})" if self.costs else ""
            parts.append(f"${self.cost_usd:.4f}{estimated}")
        parts += [f"{model} stopped: {reason}" for model, reason in self.stopped.items()]
        if self.missing:
            parts.append(f"{len(self.missing)} pictures missing")
        return "; ".join(parts)


def evaluate(
    benchmark: Benchmark,
    models: Sequence[str] | Mapping[str, Provider],
    task: str = "coordinate",
    *,
    store: ReplyStore | Path | str,
    variants: Sequence[str] | None = None,
    prompt: PromptText | str | None = None,
    decoding: Decoding | None = None,
    samples: int = 1,
    groups: Collection[str] | None = None,
    retry: Collection[str] = (),
    timeout_s: float = 120.0,
    attempts: int = 6,
    concurrency: int | None = None,
    max_cost_usd: float | None = None,
    specs: Mapping[str, ModelSpec] | None = None,
    progress: bool | None = None,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> EvaluationSummary:
    """Ask every model about every picture, unless the store has the reply already.

    Works in a script and in a notebook alike. An interrupt, a kill or a full disk loses no finished reply: call it
    again, and only what is missing is asked.

    Parameters
    ----------
    models
        Registered names, or name -> provider. Only models with something left to ask are set up.
    store
        A store, which stays open, or the path of one.
    variants, samples, groups
        See :func:`signpost_kit.evaluation.plan.make_plan`.
    prompt
        None: the one in params/prompts for the task.
    decoding
        None: temperature 0, 1024 tokens.
    retry
        Statuses that are asked again, e.g. ("error", "empty"). Never "ok".
    timeout_s, attempts
        Of one attempt; of all attempts for one question (the first included).
    concurrency
        Requests under way per provider at the most; None: the provider's own.
    max_cost_usd
        US dollars that this call may spend. A model whose next request could pass it is stopped; requests under way
        count at the highest price they can have. None: no limit.
    specs
        Model -> its entry in params/models.yml, for prices; None: looked up.
    progress
        True: a bar. False: nothing. None: a bar on a terminal, else a line about every ten seconds.
    sleep
        How to pause between attempts.

    Raises
    ------
    ConfigError
        An unknown model, task, variant or status; a number out of range; a limit of costs for a model whose price
        is unknown. Nothing has been asked then.
    DataError
        The benchmark holds no picture.
    StorageError
        The store cannot be opened or written.
    KeyboardInterrupt
        After an interrupt, at once; what was finished is kept.
    """
    parse = parser_of(task)
    retried = check_statuses(retry)
    if max_cost_usd is not None and not max_cost_usd >= 0:
        raise ConfigError(f"max_cost_usd is {max_cost_usd}; it must be 0 or more US dollars")
    if timeout_s <= 0 or attempts < 1 or (concurrency is not None and concurrency < 1):
        raise ConfigError(
            f"timeout_s ({timeout_s}) must be above 0, attempts ({attempts}) and concurrency ({concurrency}) "
            "at least 1"
        )
    names, provider_of = _resolve(models)
    planned = make_plan(
        benchmark,
        names,
        prompt=_prompt(task, prompt),
        task=task,
        variants=variants,
        decoding=decoding,
        samples=samples,
        groups=groups,
    )
    opened = store if isinstance(store, ReplyStore) else ReplyStore(store)
    try:
        summary = _run(
            planned,
            provider_of,
            task=task,
            parse=parse,
            store=opened,
            retried=retried,
            politeness=Politeness(attempts=attempts, timeout_s=timeout_s),
            concurrency=concurrency,
            money=Money(specs, max_cost_usd, by_name=not isinstance(models, Mapping)),
            progress=progress,
            sleep=sleep,
        )
        with contextlib.suppress(StorageError):  # only makes reading faster; the replies are kept
            for sample in range(samples):
                opened.pack(task, sample)
        return summary
    finally:
        if opened is not store:
            opened.close()


def _run(
    planned: Plan,
    provider_of: Callable[[str], Provider],
    *,
    task: str,
    parse: Parser,
    store: ReplyStore,
    retried: Sequence[str],
    politeness: Politeness,
    concurrency: int | None,
    money: Money,
    progress: bool | None,
    sleep: Callable[[float], Awaitable[object]],
) -> EvaluationSummary:
    start = time.perf_counter()
    keyed = [(request, request.key) for request in planned]
    found = store.link(keyed)
    rows_of: dict[str, list] = {}
    for request, key in keyed:
        rows_of.setdefault(key, []).append(request)
    done = {key for key, status in found.items() if status not in retried}
    questions = [Question(key, tuple(rows)) for key, rows in rows_of.items() if key not in done]
    tally = Tally(most_usd=money.most_usd)
    if questions:
        asked = dict.fromkeys(question.model for question in questions)
        providers = {model: provider_of(model) for model in asked}
        money.look_up(providers)
        money.estimate([question.requests[0] for question in questions], store, retried)
        display = Progress(task, tally, shown=progress)
        try:
            run_in_thread(
                lambda: ask_all(
                    questions,
                    providers,
                    store,
                    parse,
                    tally=tally,
                    politeness=politeness,
                    concurrency=concurrency,
                    again=retried,
                    charge=charging(money.specs),
                    budget=money.budget(),
                    sleep=sleep,
                ),
                display.refresh,
            )
        except KeyboardInterrupt:
            store.flush()
            kept = f"{tally.done} of {tally.total} questions are answered and kept; run again for the rest"
            raise KeyboardInterrupt(f"interrupted: {kept}") from None
        finally:
            display.close()
    statuses = tally.statuses.copy()
    for key in done:
        statuses[found[key]] += len(rows_of[key])
    return EvaluationSummary(
        task=task,
        planned=len(keyed),
        asked=tally.asked_rows,
        reused=tally.reused_rows + sum(len(rows_of[key]) for key in done),
        ok=statuses.pop("ok", 0),
        failures={status: n for status, n in statuses.most_common() if n},
        questions=tally.asked,
        attempts=tally.attempts,
        seconds=time.perf_counter() - start,
        cost_usd=tally.cost_usd,
        costs=money.against_actual(tally),
        stopped=dict(tally.stopped),
        missing=planned.missing,
    )


def _resolve(models: Sequence[str] | Mapping[str, Provider]) -> tuple[list[str], Callable[[str], Provider]]:
    """The models' names, each checked to be known before anything is asked, and how to set one up."""
    if isinstance(models, Mapping):
        return list(models), models.__getitem__
    from signpost_kit.models.registry import get_model, model_names

    names = [models] if isinstance(models, str) else list(models)
    for name in names:
        if name not in model_names():
            get_model(name)  # raises, with close matches
    return names, get_model


def _prompt(task: str, prompt: PromptText | str | None) -> PromptText:
    if prompt is None:
        from signpost_kit.prompts import load

        return load(task)
    if isinstance(prompt, str):
        return _Text(prompt, hash_bytes(prompt.encode()))
    return prompt


@dataclass(frozen=True)
class _Text:
    text: str
    hash: str
