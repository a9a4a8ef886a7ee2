"""Limits: of money, of failures one after another, of what a provider allows; and what is kept of an answer's price."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import pytest

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.evaluation import evaluate
from signpost_kit.models.base import Answer, ProviderError, Usage
from signpost_kit.models.catalogue import ModelSpec, Price
from signpost_kit.models.scripted import Delayed, ScriptedProvider

ASK = {"task": "toy", "prompt": "Where?", "progress": False}
PRICE = Price(input=2.0, output=8.0, cached_input=0.5, batch_discount=0.5, date="2026-01", source="a test")


async def at_once(seconds: float) -> None:
    await asyncio.sleep(0)


def spec(name: str = "m", **fields) -> ModelSpec:
    given = {"provider": "openai", "model_id": name, "price": PRICE, "image_tokens": "gemini-1120"}
    return ModelSpec(name=name, **(given | fields))


def priced(text: str = "1, 2", tokens: int = 100) -> Answer:
    return Answer(text, usage=Usage(1000, tokens, 200))


ONE = (800 * 2.0 + 200 * 0.5 + 100 * 8.0) / 1e6


# --- one failure after another -----------------------------------------------------------------------------------


def test_a_model_that_only_fails_is_stopped(toy, store):
    bad = ScriptedProvider("bad", lambda r: ProviderError("HTTP 400: no", retryable=False), concurrency=1)
    good = ScriptedProvider("good", lambda r: "1, 2")
    summary = evaluate(toy(12), {"bad": bad, "good": good}, store=store, **ASK)
    assert len(bad.history) == 20 and len(good.history) == 60
    assert summary.failures == {"error": 20} and summary.unasked == 40 and not summary.complete
    assert summary.stopped["bad"].startswith("20 questions in a row failed, the last one with: HTTP 400: no")
    assert "--retry error" in summary.stopped["bad"]


def test_an_answer_in_between_begins_the_count_anew(toy, store):
    calls = Counter()

    def script(request):
        calls["n"] += 1
        return Answer(None, "refused") if calls["n"] % 20 == 0 else ProviderError("no", retryable=False)

    summary = evaluate(toy(12), {"m": ScriptedProvider(script=script, concurrency=1)}, store=store, **ASK)
    assert summary.complete and summary.failures == {"error": 57, "refused": 3}


def test_broken_pictures_stop_no_model(toy, store):
    model = ScriptedProvider(script=lambda r: DataError("broken.jpg: its pixels are damaged"), concurrency=1)
    summary = evaluate(toy(12), {"m": model}, store=store, **ASK)
    assert summary.complete and summary.failures == {"error": 60} and len(model.history) == 60


def test_retries_that_are_used_up_count_as_failures(toy, store):
    model = ScriptedProvider(script=lambda r: ProviderError("HTTP 500"), concurrency=1)
    summary = evaluate(toy(12), {"m": model}, store=store, attempts=3, sleep=at_once, **ASK)
    # A question that waits for its next attempt holds no slot: the last ones are given up half-way.
    assert summary.failures == {"error": 20} and 60 <= len(model.history) <= 62
    assert "HTTP 500 (after 3 attempts)" in summary.stopped["m"]


# --- pauses ------------------------------------------------------------------------------------------------------


def test_a_pause_holds_for_the_whole_model_and_for_no_other(toy, store):
    """One 429, then nobody asks that model until it is over; the other model of the pool goes on."""
    asked: list[tuple[str, float]] = []

    def script(request):
        asked.append((request.model, time.monotonic()))
        first = sum(model == "busy" for model, _ in asked) == 1 and request.model == "busy"
        return ProviderError("429", retry_after_s=0.3) if first else Delayed(0.005, "1, 2")

    pool = {name: ScriptedProvider("pool", script, concurrency=4) for name in ("busy", "free")}
    summary = evaluate(toy(6), pool, store=store, **ASK)
    assert summary.ok == 60
    start = next(t for model, t in asked if model == "busy")
    early = [model for model, t in asked if t < start + 0.29]
    assert early.count("busy") <= 4  # those that were under way already
    assert early.count("free") == 30


def test_a_waiting_question_holds_no_slot(toy, store):
    """With a single slot, all other questions are answered while one waits out its pause."""
    waits = Counter()
    order = []

    async def sleep(seconds: float) -> None:
        waits["n"] += 1
        await asyncio.sleep(0.15)

    def script(request):
        order.append(request.key)
        return ProviderError("reset") if len(order) == 1 else "1, 2"

    model = ScriptedProvider(script=script, concurrency=1)
    summary = evaluate(toy(2), {"m": model}, store=store, sleep=sleep, **ASK)
    assert summary.ok == 10 and waits["n"] == 1
    assert order[-1] == order[0] and len(order) == 11


def test_too_long_a_pause_stops_one_model_and_keeps_what_is_there(toy, store):
    def script(request):
        return ProviderError("quota", retry_after_s=3600) if request.group_id == "g003" else "1, 2"

    model = ScriptedProvider(script=script, concurrency=1)
    summary = evaluate(toy(6), {"m": model}, store=store, **ASK)
    assert summary.ok == 15 and summary.failures == {} and summary.unasked == 15 and len(model.history) == 16
    assert "run again after that" in summary.stopped["m"]
    again = ScriptedProvider(script=lambda r: "1, 2")
    assert evaluate(toy(6), {"m": again}, store=store, **ASK).complete and len(again.history) == 15


def test_too_many_requests_halve_what_is_under_way(toy, store):
    """A provider that takes four at once and refuses the rest: few refusals, and all rows in the end."""
    state = Counter()

    class Four(ScriptedProvider):
        async def ask(self, request):
            state["now"] += 1
            try:
                if state["now"] > 4:
                    state["refused"] += 1
                    raise ProviderError("429", retry_after_s=0.001)
                await asyncio.sleep(0.002)
                return Answer("1, 2")
            finally:
                state["now"] -= 1

    summary = evaluate(toy(60), {"m": Four(concurrency=64)}, store=store, **ASK)
    assert summary.ok == 300 and 0 < state["refused"] < 100


# --- money -------------------------------------------------------------------------------------------------------


def test_replies_are_priced_by_what_they_took(toy, store):
    model = ScriptedProvider(script=lambda r: priced())
    summary = evaluate(toy(2), {"m": model}, store=store, specs={"m": spec()}, **ASK)
    assert summary.cost_usd == pytest.approx(10 * ONE) and store.spent_usd() == pytest.approx(10 * ONE)
    assert store.get(model.history[0].key).price_usd == pytest.approx(ONE)


def test_what_the_provider_says_it_cost_goes_before_the_table(toy, store):
    model = ScriptedProvider(script=lambda r: Answer("1, 2", usage=Usage(10, 10), price_usd=0.5))
    assert evaluate(toy(1), {"m": model}, store=store, specs={"m": spec()}, **ASK).cost_usd == 2.5


def test_an_unknown_price_stays_unknown(toy, store):
    model = ScriptedProvider(script=lambda r: priced())
    summary = evaluate(toy(1), {"m": model}, store=store, specs={"m": spec(price=None)}, **ASK)
    assert summary.cost_usd == 0 and store.get(model.history[0].key).price_usd is None
    assert "$" not in str(summary)


def test_cut_off_answers_are_paid_for_and_noted(toy, store):
    cut = Answer(None, "truncated", "no room", usage=Usage(1000, 1024, 0))
    model = ScriptedProvider(script=[cut, priced()], concurrency=1)
    summary = evaluate(toy(1), {"m": model}, store=store, variants=["Blank"], specs={"m": spec()}, **ASK)
    reply = store.get(model.history[0].key)
    assert reply.status == "ok" and reply.attempts == 2 and reply.notes == {"cut_off_at": "1024"}
    assert reply.usage == Usage(2000, 1124, 200)
    assert reply.price_usd == pytest.approx(ONE + (1000 * 2 + 1024 * 8) / 1e6) == summary.cost_usd
    frame = store.predictions("toy", extra=("notes",))
    assert list(frame["notes"]) == ['{"cut_off_at": "1024"}']


def test_what_a_client_notes_is_kept(toy, store):
    answer = Answer("1, 2", notes={"temperature": "not sent: the model refused it"})
    model = ScriptedProvider(script=[answer])
    evaluate(toy(1), {"m": model}, store=store, variants=["Blank"], **ASK)
    assert store.get(model.history[0].key).notes == answer.notes


@pytest.mark.parametrize("concurrency", [1, 16])
def test_the_limit_of_costs_is_never_passed(toy, store, concurrency):
    """The dearest replies there can be: each uses all of its tokens."""
    dear = ONE - 800e-6 + 1024 * 8 / 1e6
    limit = 7.5 * dear
    script = lambda r: Delayed(0.001, priced(tokens=1024))  # noqa: E731
    model = ScriptedProvider(script=script, concurrency=concurrency)
    summary = evaluate(toy(20), {"m": model}, store=store, specs={"m": spec()}, max_cost_usd=limit, **ASK)
    assert 5 * dear <= summary.cost_usd <= limit
    assert summary.ok == len(model.history) == round(summary.cost_usd / dear)
    assert summary.stopped["m"].startswith(f"the limit of ${limit:g} would be passed")
    more = evaluate(toy(20), {"m": model}, store=store, specs={"m": spec()}, max_cost_usd=1, **ASK)
    assert more.complete and len(model.history) == 100


def test_a_timed_out_request_may_have_been_charged(toy, store):
    from signpost_kit.models.scripted import HANG

    model = ScriptedProvider(script=lambda r: HANG, concurrency=2)
    summary = evaluate(
        toy(6),
        {"m": model},
        store=store,
        specs={"m": spec()},
        max_cost_usd=0.05,
        timeout_s=0.01,
        attempts=1,
        **ASK,
    )
    assert summary.cost_usd == 0 and len(model.history) <= 4 and "limit of $0.05" in summary.stopped["m"]


def test_a_free_model_needs_no_money(toy, store):
    free = Price(input=0, output=0, date="2026-01", source="a test")
    model = ScriptedProvider(script=lambda r: priced())
    summary = evaluate(toy(2), {"m": model}, store=store, specs={"m": spec(price=free)}, max_cost_usd=0, **ASK)
    assert summary.complete and summary.cost_usd == 0


@pytest.mark.parametrize(
    ("specs", "limit", "message"),
    [
        ({"m": spec(price=None)}, 1.0, r"price of m is unknown.*fill in params/models.yml: models.m.price"),
        ({}, 1.0, "price of m is unknown.*it is not in params/models.yml"),
        ({"m": spec()}, -1.0, "max_cost_usd is -1.0"),
        ({"m": spec()}, float("nan"), "max_cost_usd is nan"),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused_before_anything_is_asked(toy, store, specs, limit, message):
    model = ScriptedProvider(script=lambda r: pytest.fail("it was asked"))
    with pytest.raises(ConfigError, match=message):
        evaluate(toy(1), {"m": model}, store=store, specs=specs, max_cost_usd=limit, **ASK)


def test_the_bar_shows_money_spent_and_what_is_to_go(toy, store, monkeypatch, capsys):
    from signpost_kit.evaluation import progress

    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.0)
    model = ScriptedProvider(script=lambda r: Delayed(0.06, Answer("1, 2", price_usd=0.5)), concurrency=1)
    evaluate(
        toy(1), {"m": model}, "toy", prompt="W", store=store, specs={"m": spec()}, max_cost_usd=9, progress=None
    )
    lines = capsys.readouterr().err.splitlines()
    assert any("$0.5000 of $9, ~$2 to go" in line for line in lines), lines
