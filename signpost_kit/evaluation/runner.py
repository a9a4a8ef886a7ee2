"""`evaluate`: ask models about a benchmark's pictures, each question once, and say how it went."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError, StorageError
from signpost_kit.evaluation.asking import Politeness
from signpost_kit.evaluation.batch_options import BatchOptions
from signpost_kit.evaluation.cost import charging
from signpost_kit.evaluation.loop_thread import run_in_thread
from signpost_kit.evaluation.money import Money
from signpost_kit.evaluation.plan import Plan, PromptText, make_plan
from signpost_kit.evaluation.pools import Question, ask_all, close_all
from signpost_kit.evaluation.progress import Progress, Tally
from signpost_kit.evaluation.store import ReplyStore, check_statuses
from signpost_kit.evaluation.summary import EvaluationSummary
from signpost_kit.evaluation.tasks import Parser, parser_of
from signpost_kit.files import hash_bytes
from signpost_kit.models.base import Decoding, Provider

if TYPE_CHECKING:
    from signpost_kit.benchmark import Benchmark
    from signpost_kit.models.catalogue import ModelSpec

__all__ = ["EvaluationSummary", "ask_plan", "evaluate"]


@dataclass(frozen=True)
class _Settings:
    """How one call of :func:`evaluate` asks."""

    task: str
    parse: Parser
    store: ReplyStore
    retried: tuple[str, ...]
    politeness: Politeness
    concurrency: int | None
    batch: BatchOptions | None
    money: Money
    progress: bool | None
    sleep: Callable[[float], Awaitable[object]]


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
    batch: bool | BatchOptions = False,
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
    batch
        Ask through the batch endpoints of providers that have one (OpenAI, Anthropic, Google), at about half the
        price and within a day; other models, and what fails in a batch, are asked directly. True: wait until the
        replies are there. What was submitted earlier is collected in any case, and never asked a second time.
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
    names, _ = _resolve(models)
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
    return ask_plan(
        planned,
        models,
        store=store,
        retry=retry,
        timeout_s=timeout_s,
        attempts=attempts,
        concurrency=concurrency,
        max_cost_usd=max_cost_usd,
        specs=specs,
        batch=batch,
        progress=progress,
        sleep=sleep,
    )


def ask_plan(
    planned: Plan,
    models: Sequence[str] | Mapping[str, Provider],
    *,
    store: ReplyStore | Path | str,
    retry: Collection[str] = (),
    timeout_s: float = 120.0,
    attempts: int = 6,
    concurrency: int | None = None,
    max_cost_usd: float | None = None,
    specs: Mapping[str, ModelSpec] | None = None,
    batch: bool | BatchOptions = False,
    progress: bool | None = None,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> EvaluationSummary:
    """Put the questions of a plan whose prompts may differ from picture to picture (hints, claims, replacements).

    All its requests belong to one task, and its models are among `models`. Everything else, and what is raised, is
    as in :func:`evaluate`, which makes a plan of one prompt and calls this.
    """
    tasks = sorted({request.task for request in planned})
    if len(tasks) != 1:
        raise ConfigError(f"a plan holds the questions of one task, this one has {', '.join(tasks) or 'none'}")
    parse = parser_of(tasks[0])
    retried = check_statuses(retry)
    if max_cost_usd is not None and not max_cost_usd >= 0:
        raise ConfigError(f"max_cost_usd is {max_cost_usd}; it must be 0 or more US dollars")
    if timeout_s <= 0 or attempts < 1 or (concurrency is not None and concurrency < 1):
        raise ConfigError(
            f"timeout_s ({timeout_s}) must be above 0, attempts ({attempts}) and concurrency ({concurrency}) "
            "at least 1"
        )
    names, provider_of = _resolve(models)
    strangers = sorted({request.model for request in planned} - set(names))
    if strangers:
        raise ConfigError(f"the plan asks {strangers[0]!r}, which is not among the models {', '.join(names)}")
    opened = store if isinstance(store, ReplyStore) else ReplyStore(store)
    try:
        settings = _Settings(
            task=tasks[0],
            parse=parse,
            store=opened,
            retried=retried,
            politeness=Politeness(attempts=attempts, timeout_s=timeout_s),
            concurrency=concurrency,
            batch=BatchOptions() if batch is True else (batch or None),
            money=Money(specs, max_cost_usd, by_name=not isinstance(models, Mapping)),
            progress=progress,
            sleep=sleep,
        )
        summary = _run(planned, provider_of, settings)
        if len({request.prompt_hash for request in planned}) == 1:
            with contextlib.suppress(StorageError):  # only makes reading faster; the replies are kept
                for sample in sorted({request.sample_index for request in planned}):
                    opened.pack(tasks[0], sample)
        return summary
    finally:
        if opened is not store:
            opened.close()


def _run(planned: Plan, provider_of: Callable[[str], Provider], settings: _Settings) -> EvaluationSummary:
    start = time.perf_counter()
    keyed = [(request, request.key) for request in planned]
    found = settings.store.link(keyed)
    rows_of: dict[str, list] = {}
    for request, key in keyed:
        rows_of.setdefault(key, []).append(request)
    done = {key for key, status in found.items() if status not in settings.retried}
    questions = [Question(key, tuple(rows)) for key, rows in rows_of.items() if key not in done]
    tally = Tally(most_usd=settings.money.most_usd)
    if questions:
        _ask(questions, provider_of, settings, tally)
    statuses = tally.statuses.copy()
    for key in done:
        statuses[found[key]] += len(rows_of[key])
    return EvaluationSummary(
        task=settings.task,
        planned=len(keyed),
        asked=tally.asked_rows,
        reused=tally.reused_rows + sum(len(rows_of[key]) for key in done),
        ok=statuses.pop("ok", 0),
        failures={status: n for status, n in statuses.most_common() if n},
        questions=tally.asked,
        attempts=tally.attempts,
        seconds=time.perf_counter() - start,
        cost_usd=tally.cost_usd,
        costs=settings.money.against_actual(tally),
        batched=sum(tally.batched.values()),
        stopped=dict(tally.stopped),
        missing=planned.missing,
    )


def _ask(
    questions: list[Question], provider_of: Callable[[str], Provider], settings: _Settings, tally: Tally
) -> None:
    """Put the questions, in batches and directly, and store the replies; `tally` tells how it went."""
    money, store = settings.money, settings.store
    providers = {model: provider_of(model) for model in dict.fromkeys(question.model for question in questions)}
    money.look_up(providers)
    money.estimate([question.requests[0] for question in questions], store, settings.retried)
    common: dict[str, Any] = {
        "tally": tally,
        "politeness": settings.politeness,
        "again": settings.retried,
        "sleep": settings.sleep,
    }

    async def ask() -> None:
        common["budget"] = money.budget()
        left = await _batched(questions, providers, settings, common)
        charge = charging(money.specs)
        await ask_all(
            left, providers, store, settings.parse, concurrency=settings.concurrency, charge=charge, **common
        )

    display = Progress(settings.task, tally, shown=settings.progress)
    try:
        run_in_thread(ask, display.refresh)
    except KeyboardInterrupt:
        store.flush()
        kept = f"{tally.done} of {tally.total} questions are answered and kept; run again for the rest"
        raise KeyboardInterrupt(f"interrupted: {kept}") from None
    finally:
        display.close()


async def _batched(
    questions: list[Question], providers: Mapping[str, Provider], settings: _Settings, common: Mapping[str, Any]
) -> list[Question]:
    """Submit and collect batches; what is left to be asked directly. Without `--batch`: only collect."""
    if settings.batch is None and not settings.store.batches.open(list(providers)):
        return questions
    from signpost_kit.evaluation.batch import Batching

    options = settings.batch or BatchOptions(submit=False, wait_s=0.0)
    try:
        batching = Batching(
            providers, settings.store, settings.parse, options=options, specs=settings.money.specs, **common
        )
        return await batching.run(questions)
    except BaseException:
        await close_all(providers)
        raise


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
