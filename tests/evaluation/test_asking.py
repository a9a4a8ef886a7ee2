"""One question: attempts, pauses and ends. Time is injected; nothing sleeps."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from signpost_kit.evaluation.asking import Outcome, Politeness, StopModel, ask_with_retries
from signpost_kit.models.base import Answer, Decoding, ProviderError, Usage
from signpost_kit.models.scripted import HANG, ScriptedProvider


def ask(question, script, rng=random.random, **politeness) -> tuple[Outcome, list[float], ScriptedProvider]:
    provider, pauses = ScriptedProvider(script=script), []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    outcome = asyncio.run(
        ask_with_retries(
            provider,
            question(),
            politeness=Politeness(**politeness),
            sleep=sleep,
            rng=rng,
            clock=iter(range(99)).__next__,
        )
    )
    return outcome, pauses, provider


def test_an_answer_at_once(question):
    outcome, pauses, provider = ask(question, ["1, 2"])
    assert outcome == Outcome(Answer("1, 2"), "", 1, 1.0)
    assert pauses == [] and provider.history == [question()]


def test_the_provider_names_the_pause(question):
    outcome, pauses, _ = ask(question, [ProviderError("busy", retry_after_s=53.0), "1, 2"])
    assert outcome.answer and outcome.attempts == 2 and pauses == [53.0]


@pytest.mark.parametrize("shares", [[0.0] * 5, [0.5, 0.25, 1.0, 0.125, 0.75], [1.0] * 5])
def test_pauses_double_and_are_drawn_from_nothing_up_to_that(question, shares):
    script, drawn = [ProviderError("overloaded")] * 6, iter(shares)
    outcome, pauses, provider = ask(
        question, script, rng=drawn.__next__, first_wait_s=4.0, longest_wait_s=20.0
    )  # full jitter
    assert outcome == Outcome(None, "overloaded (after 6 attempts)", 6, 1.0)
    assert len(provider.history) == 6 and len(pauses) == 5
    assert pauses == [share * most for share, most in zip(shares, (4, 8, 16, 20, 20), strict=True)]


def test_what_is_not_worth_another_attempt(question):
    outcome, pauses, _ = ask(question, [ProviderError("bad picture", retryable=False), "1, 2"])
    assert outcome == Outcome(None, "bad picture", 1, 1.0) and pauses == []


def test_a_fault_of_the_provider_fails_one_question_with_its_type(question):
    outcome, pauses, _ = ask(question, [KeyError("choices"), "1, 2"])
    assert outcome.reason == "KeyError: 'choices'" and pauses == []
    assert ask(question, [ValueError()])[0].reason == "ValueError"

    class Odd(ScriptedProvider):
        async def ask(self, request):
            return "a plain string"

    found = asyncio.run(ask_with_retries(Odd(), question(), politeness=Politeness()))
    assert found.reason == "TypeError: the provider returned str, not an Answer"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (ProviderError("wrong key", fatal=True), "wrong key"),
        (ProviderError("quota", retry_after_s=3600.0), "it asks for a pause of 3600 s: run again after that"),
    ],
)
def test_what_stops_the_model(question, step, reason):
    with pytest.raises(StopModel, match=reason):
        ask(question, [step, "1, 2"])


def test_a_hang_ends_in_a_time_out_and_is_asked_again(question):
    outcome, pauses, _ = ask(question, [HANG, "1, 2"], timeout_s=0.02)
    assert outcome.answer and outcome.attempts == 2 and len(pauses) == 1
    outcome, _, _ = ask(question, [HANG] * 2, timeout_s=0.02, attempts=2)
    assert outcome.reason == "no answer within 0.02 s (after 2 attempts)"


def test_an_answer_may_count_attempts_of_its_own(question):
    assert ask(question, [Answer("1, 2", attempts=3)])[0].attempts == 3


def cut(tokens: int | None = None, text: str | None = None) -> Answer:
    return Answer(text, "truncated", "cut off", usage=Usage(100, tokens))


def test_a_cut_off_answer_is_asked_again_with_twice_the_tokens_and_nothing_else(question):
    outcome, pauses, provider = ask(question, [cut(1024), cut(2048), "1, 2"])
    assert outcome.answer == Answer("1, 2") and outcome.attempts == 3 and pauses == []
    assert [limit for limit, _ in outcome.cut_off] == [1024, 2048] and len(outcome.paid) == 3
    first, *others = provider.history
    assert [r.decoding.max_tokens for r in provider.history] == [1024, 2048, 4096]
    assert all(replace(r, decoding=first.decoding) == first for r in others)
    assert {r.decoding.temperature for r in provider.history} == {0.0}


def test_the_tokens_grow_up_to_a_cap(question):
    outcome, _, provider = ask(question, [cut(text="{")] * 9, most_tokens=3000)
    assert [r.decoding.max_tokens for r in provider.history] == [1024, 2048, 3000]
    assert outcome.answer and outcome.answer.status == "truncated" and outcome.attempts == 3
    assert len(outcome.paid) == 3  # three equal answers, each of them paid for


def test_a_limit_of_ones_own_choice_or_the_models_own_is_not_raised(question):
    provider = ScriptedProvider(script=[cut()] * 2)
    unlimited = question(decoding=Decoding(0.0, None))
    outcome = asyncio.run(ask_with_retries(provider, unlimited, politeness=Politeness()))
    assert outcome.answer and outcome.answer.status == "truncated" and len(provider.history) == 1


def test_half_an_answer_is_kept_when_the_larger_request_fails(question):
    refusal = ProviderError("max_tokens is too large: 2048", retryable=False)
    outcome, _, _ = ask(question, [cut(1024, '{"lat": 4'), refusal])
    assert outcome.answer and outcome.answer.text == '{"lat": 4' and outcome.reason == refusal.reason
    assert outcome.attempts == 2 and len(outcome.paid) == 1


def test_failures_before_and_after_a_cut_are_counted_together(question):
    busy = ProviderError("overloaded")
    outcome, pauses, _ = ask(question, [busy, cut(), busy, "1, 2"], rng=lambda: 1.0)
    assert outcome.answer == Answer("1, 2") and outcome.attempts == 4 and pauses == [1.0, 2.0]


@pytest.mark.parametrize("status", ["blocked", "refused", "empty"])
def test_an_answer_that_says_no_is_an_answer(question, status):
    outcome, pauses, provider = ask(question, [Answer(None, status, "policy"), "1, 2"])
    assert outcome.answer and outcome.answer.status == status and pauses == [] and len(provider.history) == 1


def test_a_pause_that_is_too_long_says_until_when(question):
    with pytest.raises(StopModel, match=r"3600 s: run again after that \(\d{4}-\d\d-\d\d \d\d:\d\d\), finished"):
        ask(question, [ProviderError("quota", retry_after_s=3600.0)])
    outcome, pauses, _ = ask(question, [ProviderError("busy", retry_after_s=600.0), "1, 2"])
    assert outcome.answer and pauses == [600.0]  # ten minutes are waited for


class Told(ProviderError):
    """An error that knows more, as the clients' do."""

    congested = timed_out = ours = False


@pytest.mark.parametrize(
    ("error", "congested"),
    [
        (ProviderError("429", retry_after_s=1.0), True),
        (ProviderError("reset"), False),
        (Told("503"), True),
        (Told("500"), False),
    ],
)
def test_the_gate_learns_what_each_attempt_brought(question, error, congested):
    if isinstance(error, Told):
        error.congested = congested
    seen = []

    class Watcher:
        async def enter(self, request):
            seen.append("in")

        def leave(self, request, result):
            seen.append(getattr(result, "congested", None))

    provider = ScriptedProvider(script=[error, "1, 2"])
    asyncio.run(
        ask_with_retries(
            provider, question(), politeness=Politeness(), gate=Watcher(), sleep=lambda s: asyncio.sleep(0)
        )
    )
    assert seen == ["in", congested, "in", None]
