"""Parameters that a model refuses: asked once more within the same attempt, remembered, and written down."""

from __future__ import annotations

import asyncio

import pytest
from fault_server import Manners, step

from signpost_kit.models.client import make_client
from signpost_kit.models.failures import ClientError

KEY = "sk-planted-0123456789abcdefXYZ"


@pytest.fixture
def ask_in_turn(serve, spec_for, question):
    """ask_in_turn(wire, how often, steps, ...) -> results in order, and the server."""

    def run(wire, times, steps=(), *, manners=None, together=False, decoding=None, **fields):
        server = serve(wire, steps, manners=manners)
        request = question(**(decoding or {}))

        async def one(client):
            try:
                return await client.ask(request)
            except ClientError as error:
                return error

        async def main():
            client = make_client(spec_for(wire, **fields), key=KEY, base_url=server.url)
            if together:
                results = await asyncio.gather(*[one(client) for _ in range(times)])
            else:
                results = [await one(client) for _ in range(times)]
            await client.close()
            return results

        return asyncio.run(main()), server

    return run


def fields_sent(server) -> list[list[str]]:
    names = ("max_tokens", "max_completion_tokens", "maxOutputTokens", "temperature")
    return [[name for name in names if name in server.wire.options(call)] for call in server.calls]


@pytest.mark.parametrize(
    ("wire", "given", "taken"),
    [
        ("compatible", "max_tokens", "max_completion_tokens"),
        ("compatible", "max_completion_tokens", "max_tokens"),
        ("openai", "max_completion_tokens", "max_tokens"),
    ],
)
def test_the_other_token_field(ask_in_turn, wire, given, taken):
    manners = Manners(token_fields=frozenset({taken}))
    (first, second), server = ask_in_turn(wire, 2, manners=manners, token_field=given)
    assert (first.status, second.status) == ("ok", "ok")
    assert fields_sent(server) == [[given, "temperature"], [taken, "temperature"], [taken, "temperature"]]
    note = f"sent as {taken}: the model refused {given}"
    assert first.notes["max_tokens"] == second.notes["max_tokens"] == note
    assert server.wire.options(server.calls[1])[taken] == 1024


@pytest.mark.parametrize("wire", ["openai", "compatible", "anthropic", "google"])
def test_without_temperature(ask_in_turn, wire):
    (first, second), server = ask_in_turn(wire, 2, manners=Manners(takes_temperature=False))
    assert (first.status, second.status) == ("ok", "ok")
    assert ["temperature" in fields for fields in fields_sent(server)] == [True, False, False]
    assert first.notes["temperature"] == second.notes["temperature"] == "not sent: the model refused it"


def test_both_in_one_attempt(ask_in_turn):
    manners = Manners(token_fields=frozenset({"max_completion_tokens"}), takes_temperature=False)
    (first, second), server = ask_in_turn("compatible", 2, manners=manners)
    assert set(first.notes) == set(second.notes) == {"picture", "max_tokens", "temperature"}
    assert fields_sent(server) == [
        ["max_tokens", "temperature"],
        ["max_completion_tokens", "temperature"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]


def test_known_beforehand(ask_in_turn):
    (answer,), server = ask_in_turn("openai", 1, takes_temperature=False)
    assert fields_sent(server) == [["max_completion_tokens"]]
    assert answer.notes["temperature"] == "not sent: the model takes none"
    assert "max_tokens" not in answer.notes


def test_requests_that_learn_together(ask_in_turn):
    """Eight are under way before the first refusal is back: each is asked at most once more, none fails."""
    manners = Manners(token_fields=frozenset({"max_completion_tokens"}))
    answers, server = ask_in_turn("compatible", 8, manners=manners, together=True)
    assert [answer.status for answer in answers] == ["ok"] * 8
    assert server.count <= 16


def test_a_gateway_that_refuses_both_names(ask_in_turn):
    refusals = [step("refuses_field", name="max_tokens"), step("refuses_field", name="max_completion_tokens")]
    (error,), server = ask_in_turn("compatible", 1, refusals)
    assert isinstance(error, ClientError)
    assert (error.retryable, error.fatal) == (False, False)
    assert "max_completion_tokens" in error.reason
    assert server.count == 2


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
        "This model's maximum context length is 8192 tokens. Please reduce max_tokens.",
    ],
)
def test_too_many_tokens_is_no_question_of_the_name(ask_in_turn, message):
    (error,), server = ask_in_turn("compatible", 1, [step("status", code=400, message=message)])
    assert (error.retryable, error.fatal, server.count) == (False, False, 1)
    assert message in error.reason


def test_zero_is_too_cold_for_some(ask_in_turn):
    message = "temperature: Input should be greater than 0"
    (answer,), server = ask_in_turn("compatible", 1, [step("status", code=400, message=message)])
    assert answer.status == "ok"
    assert fields_sent(server) == [["max_tokens", "temperature"], ["max_tokens"]]


def test_camel_case_counts_as_the_name(ask_in_turn):
    message = 'Invalid JSON payload received. Unknown name "maxTokens": Cannot find field.'
    (answer,), server = ask_in_turn("compatible", 1, [step("status", code=400, message=message)])
    assert answer.status == "ok"
    assert fields_sent(server)[1] == ["max_completion_tokens", "temperature"]


def test_learned_for_this_model_only(serve, spec_for, question):
    server = serve("compatible", [step("refuses_field", name="max_tokens")])

    async def main():
        answers = []
        for name in ("m-1", "m-2"):
            client = make_client(spec_for("compatible", model_id=name), key=KEY, base_url=server.url)
            answers.append(await client.ask(question()))
            await client.close()
        return answers

    first, second = asyncio.run(main())
    assert "max_tokens" in first.notes
    assert "max_tokens" not in second.notes
    assert fields_sent(server)[-1] == ["max_tokens", "temperature"]
