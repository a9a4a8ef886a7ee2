"""One question: attempts, pauses and ends. Time is injected; nothing sleeps."""

from __future__ import annotations

import asyncio

import pytest

from signpost_kit.evaluation.asking import Outcome, Politeness, StopModel, ask_with_retries
from signpost_kit.models.base import Answer, ProviderError
from signpost_kit.models.scripted import HANG, ScriptedProvider


def ask(question, script, **politeness) -> tuple[Outcome, list[float], ScriptedProvider]:
    provider, pauses = ScriptedProvider(script=script), []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    outcome = asyncio.run(
        ask_with_retries(
            provider, question(), politeness=Politeness(**politeness), sleep=sleep, clock=iter(range(99)).__next__
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


def test_pauses_double_with_a_jitter_that_repeats(question):
    script = [ProviderError("overloaded")] * 6
    outcome, pauses, provider = ask(question, script, first_wait_s=4.0, longest_wait_s=20.0)
    assert outcome == Outcome(None, "overloaded (after 6 attempts)", 6, 1.0)
    assert len(provider.history) == 6 and len(pauses) == 5
    for pause, most in zip(pauses, (4, 8, 16, 20, 20), strict=True):
        assert most / 2 <= pause <= most
    assert len({p / m for p, m in zip(pauses, (4, 8, 16, 20, 20), strict=True)}) == 5
    assert ask(question, script, first_wait_s=4.0, longest_wait_s=20.0)[1] == pauses


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
