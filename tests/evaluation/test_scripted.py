"""The scripted model: it goes through the ordinary path, so its own behaviour has to be exact."""

from __future__ import annotations

import asyncio

import pytest

from signpost_kit.models.base import Answer, Provider, ProviderError
from signpost_kit.models.scripted import HANG, Delayed, ScriptedProvider


def test_it_is_a_provider_and_plays_its_queue_in_order(question):
    answer = Answer(None, status="blocked", reason="safety")
    model = ScriptedProvider("pool", ["one", answer, ProviderError("busy"), Delayed(0.001, "late")], default="rest")
    assert isinstance(model, Provider) and model.name == "pool"

    async def talk() -> list[object]:
        return await asyncio.gather(*(model.ask(question(i)) for i in range(6)), return_exceptions=True)

    one, blocked, busy, late, rest, more = asyncio.run(talk())
    assert (one, blocked, late) == (Answer("one"), answer, Answer("late"))
    assert isinstance(busy, ProviderError) and busy.reason == "busy"
    assert rest == more == Answer("rest")
    assert [request.group_id for request in model.history] == [f"g{i:03d}" for i in range(6)]


def test_a_function_makes_answers_independent_of_the_order(question):
    model = ScriptedProvider(script=lambda request: request.group_id, latency_s=0.001)

    async def talk(order: list[int]) -> dict[int, str | None]:
        answers = await asyncio.gather(*(model.ask(question(i)) for i in order))
        return {i: answer.text for i, answer in zip(order, answers, strict=True)}

    assert asyncio.run(talk([0, 1, 2])) == asyncio.run(talk([2, 0, 1])) == {i: f"g{i:03d}" for i in range(3)}
    assert model.most_in_flight == 3


def test_an_empty_script_says_so_and_a_hang_can_be_cancelled(question):
    model = ScriptedProvider("short", ["one", HANG])
    asyncio.run(model.ask(question()))
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(asyncio.wait_for(model.ask(question()), 0.01))
    with pytest.raises(ProviderError, match="the script of 'short' has no step left") as caught:
        asyncio.run(model.ask(question()))
    assert not caught.value.retryable
    asyncio.run(model.close())
    assert model.closed == 1 and model._in_flight == 0
