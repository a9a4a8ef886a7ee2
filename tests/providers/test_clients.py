"""Each failure and each kind of answer, over HTTP through the real SDKs: the right status, the right number of requests."""

from __future__ import annotations

import asyncio
import email.utils
import time

import pytest
from fault_server import REPLY, Manners, step

from signpost_kit.models.base import Answer, Usage
from signpost_kit.models.client import make_client
from signpost_kit.models.failures import ClientError

KEY = "sk-planted-0123456789abcdefXYZ"
WIRES = ("openai", "compatible", "anthropic", "google")


@pytest.fixture(params=WIRES)
def wire(request) -> str:
    return request.param


@pytest.fixture
def ask_once(serve, spec_for, question):
    """ask_once(wire, steps, **spec) -> what came of one question (an Answer or a ClientError), and the server."""

    def run(wire, steps, *, timeout_s=5.0, manners=None, first_ok=False, decoding=None, **fields):
        server = serve(wire, [*(["ok"] if first_ok else []), *steps], manners=manners)

        async def main():
            client = make_client(spec_for(wire, **fields), key=KEY, http_timeout_s=timeout_s, base_url=server.url)
            try:
                if first_ok:
                    await client.ask(question())
                return await client.ask(question(**(decoding or {})))
            except ClientError as error:
                return error
            finally:
                await client.close()

        result = asyncio.run(main())
        if first_ok:
            del server.calls[0]
        return result, server

    return run


def test_ok(ask_once, wire):
    answer, server = ask_once(wire, ["ok"])
    assert isinstance(answer, Answer)
    assert (answer.status, answer.text, answer.reason) == ("ok", REPLY, "")
    assert answer.usage == Usage(812, 34, 100 if wire == "anthropic" else 128)
    assert answer.finish_reason in ("stop", "end_turn", "STOP")
    assert answer.request_id in ("req_0", "resp_0")
    assert server.count == 1
    assert server.calls[0].model == "m-1"
    assert server.calls[0].prompt == "Where is this?"
    assert server.wire.key(server.calls[0]) == KEY
    options = server.wire.options(server.calls[0])
    assert options["temperature"] == 0
    field = {"openai": "max_completion_tokens", "google": "maxOutputTokens"}.get(wire, "max_tokens")
    assert options[field] == 1024
    assert sum(name in options for name in server.wire.token_fields()) == 1


def test_nothing_asked_nothing_sent(ask_once, wire):
    _, server = ask_once(wire, ["ok"], decoding={"temperature": None, "max_tokens": None})
    options = server.wire.options(server.calls[0])
    assert "temperature" not in options
    sent = [name for name in server.wire.token_fields() if name in options]
    assert sent == (["max_tokens"] if wire == "anthropic" else [])  # Anthropic's API insists on one


def test_options_go_into_the_body(ask_once, wire):
    _, server = ask_once(wire, ["ok"], options={"enable_thinking": False})
    assert server.calls[0].json["enable_thinking"] is False


# One failure each: what is sent · pause · again? · fatal? · congested? · words of the reason.
PAUSES = {
    "0.2": ({"retry_after": "0.2"}, 0.2),
    "90": ({"retry_after": "90"}, 90),
    "3600": ({"retry_after": "3600"}, 3600),
    "milliseconds": ({"retry_after_ms": "250"}, 0.25),
    "RetryInfo": ({"retry_info": "53s"}, 53),
    "RetryInfo, fraction": ({"retry_info": "33.5s"}, 33.5),
    "the longer one": ({"retry_after": "33", "retry_info": "53s"}, 53),
    "nothing": ({}, None),
}


@pytest.mark.parametrize("case", PAUSES)
def test_429(ask_once, wire, case):
    settings, pause = PAUSES[case]
    error, server = ask_once(wire, [step("rate_limited", **settings)])
    assert isinstance(error, ClientError)
    assert error.retry_after_s == pause
    assert (error.retryable, error.fatal, error.congested, error.status) == (True, False, True, 429)
    assert error.reason == "HTTP 429: Rate limit reached for requests"
    assert server.count == 1


def test_429_with_a_date(ask_once, wire):
    until = email.utils.formatdate(time.time() + 90, usegmt=True)
    error, _ = ask_once(wire, [step("rate_limited", retry_after=until)])
    assert error.retry_after_s == pytest.approx(90, abs=5)


TRANSIENT = {
    "500": (step("status", code=500), "HTTP 500", False),
    "502": (step("status", code=502), "HTTP 502", False),
    "503": (step("overloaded", code=503, retry_after="7"), "HTTP 503: Overloaded", True),
    "529": (step("overloaded", code=529), "HTTP 529: Overloaded", True),
    "reset": (step("reset"), "the connection broke", False),
    "truncated": (step("truncated_json"), "the reply is broken off", False),
}


@pytest.mark.parametrize("case", TRANSIENT)
def test_worth_asking_again(ask_once, wire, case):
    fault, words, congested = TRANSIENT[case]
    error, server = ask_once(wire, [fault])
    assert isinstance(error, ClientError)
    assert (error.retryable, error.fatal, error.congested) == (True, False, congested)
    assert error.reason.startswith(words)
    assert error.retry_after_s == (7 if case == "503" else None)
    assert server.count == 1


def test_a_hanging_server_is_left(ask_once, wire):
    start = time.monotonic()
    error, server = ask_once(wire, ["hang"], timeout_s=0.3)
    assert time.monotonic() - start < 3
    assert (error.reason, error.retryable, error.timed_out) == ("no answer in time", True, True)
    assert server.count == 1


FATAL = {
    "wrong_key": (step("wrong_key"), ("the key is refused", "M_API_KEY")),
    "forbidden": (step("status", code=403, message="not allowed"), ("may not use m-1", "Somebody")),
    "unknown_model": (step("unknown_model"), ("knows no model 'm-1'", "model_id of m in params/models.yml")),
    "wrong_url": (step("wrong_url"), ("no such service at http://127.0.0.1", "base_url of m")),
    "no_credit": (step("no_credit"), ("credit is used up", "Somebody")),
    "402": (
        step("status", code=402, message="Insufficient Balance"),
        ("credit is used up", "Insufficient Balance"),
    ),
    "html": (step("html"), ("web page", "base_url")),
}


@pytest.mark.parametrize("case", FATAL)
def test_stops_the_model_with_the_remedy(ask_once, wire, case):
    fault, words = FATAL[case]
    error, server = ask_once(wire, [fault])
    assert isinstance(error, ClientError)
    assert (error.fatal, error.retryable) == (True, False)
    for word in words:
        assert word in error.reason
    assert KEY not in error.reason
    assert server.count == 1


def test_a_web_page_in_between_is_no_wrong_address(ask_once, wire):
    error, _ = ask_once(wire, ["html"], first_ok=True)
    assert (error.fatal, error.retryable) == (False, True)


def test_wrong_type_of_picture(ask_once, wire):
    error, server = ask_once(wire, ["wrong_mime"])
    assert (error.fatal, error.retryable, error.status) == (False, False, 400)
    assert "the data appears to be image/png" in error.reason
    assert server.count == 1


# What a provider answers: status, words of the reason, where the families differ.
ANSWERS = {
    "empty": (step("ok", text=""), dict.fromkeys(WIRES, ("empty", "no text"))),
    "length": (step("empty_length"), dict.fromkeys(WIRES, ("truncated", "used up before"))),
    "cut number": (step("cut_text", text="48.85, 2.3"), dict.fromkeys(WIRES, ("truncated", "cut the answer off"))),
    "cut JSON": (step("cut_text", text='{"lat": 48.8,'), dict.fromkeys(WIRES, ("truncated", "cut the answer off"))),
    "cut chatter": (step("cut_text", text=REPLY + " This is the tower of"), dict.fromkeys(WIRES, ("ok", ""))),
    "blocked": (
        step("blocked"),
        {
            "openai": ("blocked", "content_filter"),
            "compatible": ("blocked", "content_filter"),
            "anthropic": ("refused", "declined"),
            "google": ("blocked", "SAFETY"),
        },
    ),
    "prompt blocked": (
        step("prompt_blocked"),
        {
            "openai": ("blocked", "management policy"),
            "compatible": ("blocked", "management policy"),
            "anthropic": ("refused", "declined"),
            "google": ("blocked", "the prompt was blocked: PROHIBITED_CONTENT"),
        },
    ),
    "recitation": (step("recitation"), {"google": ("blocked", "RECITATION")}),
    "refused": (
        step("refused"),
        {
            "openai": ("refused", "can't help with locating"),
            "compatible": ("refused", "can't help with locating"),
            "anthropic": ("refused", "declined"),
        },
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers(ask_once, wire, case):
    said, expected = ANSWERS[case]
    if wire not in expected:
        pytest.skip("this family has no such answer")
    answer, server = ask_once(wire, [said])
    assert isinstance(answer, Answer), answer
    status, words = expected[wire]
    assert answer.status == status
    assert words in answer.reason
    assert server.count == 1


def test_an_error_inside_a_good_answer(ask_once):
    """OpenRouter answers 200 and puts the error of the model's provider inside."""
    inside = {"error": {"code": 429, "message": "Provider returned error", "metadata": {"raw": "slow down"}}}
    error, _ = ask_once("compatible", [step("raw", body=inside)])
    assert (error.status, error.retryable, error.congested) == (429, True, True)
    assert error.reason == "HTTP 429: Provider returned error: slow down"
    error, _ = ask_once("compatible", [step("raw", body={"choices": [], "id": "x"})])
    assert (error.retryable, error.reason) == (True, "the reply holds no choice")


def test_thinking_counts_as_output(ask_once):
    """Some servers count it beside the completion; the total tells."""
    body = {
        "id": "x",
        "model": "m-1-2026-05-01",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 150},
    }
    answer, _ = ask_once("compatible", [step("raw", body=body)])
    assert answer.usage == Usage(100, 50, None)
    assert answer.notes["model"] == "m-1-2026-05-01"
    assert answer.request_id == "x"


def test_gemini_without_candidates(ask_once):
    body = {"usageMetadata": {"promptTokenCount": 10}, "modelVersion": "m-1", "responseId": "r"}
    answer, _ = ask_once("google", [step("raw", body=body)])
    assert (answer.status, answer.reason) == ("blocked", "no candidate was returned")
    error, _ = ask_once("google", [step("raw", body={})])
    assert (error.retryable, error.reason) == (True, "the reply holds no candidate")


def test_gemini_thoughts_are_no_answer(ask_once):
    parts = [{"text": "Hmm, 10, 20?", "thought": True}, {"text": REPLY}]
    body = {"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}]}
    answer, _ = ask_once("google", [step("raw", body=body)])
    assert answer.text == REPLY


def test_gemini_finish_reason_of_a_later_version(ask_once):
    body = {"candidates": [{"content": {"role": "model"}, "finishReason": "SOME_NEW_FILTER"}]}
    answer, _ = ask_once("google", [step("raw", body=body)])
    assert (answer.status, answer.reason) == ("blocked", "SOME_NEW_FILTER")


def test_gemini_quota_of_the_day(ask_once):
    kind = "type.googleapis.com/google.rpc."
    details = [
        {"@type": kind + "QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject-FreeTier"}]},
        {"@type": kind + "RetryInfo", "retryDelay": "53s"},
    ]
    message = "You exceeded your current quota, please check your plan and billing details."
    body = {"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}}
    error, _ = ask_once("google", [step("raw", status=429, body=body)])
    assert error.fatal
    assert "run again tomorrow" in error.reason
    details[0]["violations"][0]["quotaId"] = "GenerateRequestsPerMinutePerProject"
    error, _ = ask_once("google", [step("raw", status=429, body=body)])
    assert (error.fatal, error.retry_after_s) == (False, 53)


def test_a_server_that_insists(ask_once, wire):
    manners = Manners(keys=frozenset({KEY}), models=frozenset({"m-1"}))
    answer, _ = ask_once(wire, [], manners=manners)
    assert answer.status == "ok"
    error, server = ask_once(wire, [], manners=manners, model_id="m-2")
    assert error.fatal
    assert "'m-2'" in error.reason
    assert server.count == 1
