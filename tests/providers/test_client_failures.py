"""How providers word their failures, and what each means: wordings as their servers send them."""

from __future__ import annotations

import pytest

from signpost_kit.models.base import Answer
from signpost_kit.models.failures import ClientError, Failure, NoReply, read_failure
from signpost_kit.models.judging import judge
from signpost_kit.models.pauses import pause_of

URL = "https://api.example.com/v1"


@pytest.fixture
def verdict(spec_for):
    """verdict(status, message, code=...) -> what it means for a model m-1 at URL."""

    def make(status, message, *, code="", url=URL, reached=True, **more):
        failure = Failure("status", message, status, code=code, **more)
        return judge(failure, spec_for("compatible", base_url=URL), url=url, reached=reached)

    return make


# (status, code, message) as sent by the named service.
CREDIT = [
    (429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
    (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
    (402, "", "Insufficient Balance"),  # DeepSeek
    (402, "", "This request requires more credits, or fewer max_tokens."),  # OpenRouter
    (429, "exceeded_current_quota_error", "Your account is suspended, please check your plan and billing details."),
    (400, "Arrearage", "Access denied, please make sure your account is in good standing."),  # DashScope
    (403, "AccountOverdueError", "The request failed because your account has an overdue balance."),  # Ark
    (403, "", "Your team has either used all available credits or reached its monthly spending limit."),  # xAI
    (429, "billing_not_active", "Your account is not active, please check your billing details on our website."),
]
KEY = [
    (401, "invalid_api_key", "Incorrect API key provided."),
    (401, "authentication_error", "invalid x-api-key"),
    (400, "INVALID_ARGUMENT API_KEY_INVALID", "API key not valid. Please pass a valid API key."),
    (400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."),
    (400, "", "Incorrect API key provided: xa***. You can obtain an API key from the console."),  # xAI
    (401, "", "No auth credentials found"),  # OpenRouter
    (403, "", "Invalid API-key provided."),
]
MODEL = [
    (404, "model_not_found", "The model `m-1` does not exist or you do not have access to it."),
    (404, "not_found_error", "model: m-1"),
    (404, "NOT_FOUND", "models/m-1 is not found for API version v1beta, or is not supported for generateContent."),
    (400, "", "m-1 is not a valid model ID"),  # OpenRouter
    (404, "api_error", 'model "m-1" not found, try pulling it first'),  # Ollama
    (400, "invalid_request_error", "Model Not Exist"),  # DeepSeek
    (404, "NotFoundError", "The model `m-1` does not exist."),  # vLLM
    (404, "InvalidEndpointOrModel.NotFound", "The model or endpoint m-1 does not exist"),  # Ark
    (404, "not_found_error", "The model `m-1` has been deprecated"),
]
NO_PICTURES = [
    (404, "", "No endpoints found that support image input"),
    (400, "BadRequestError", "m-1 is not a multimodal model"),
    (422, "", "unknown variant `image_url`, expected `text`"),
    (400, "", "At most 0 image(s) may be provided in one prompt."),
    (500, "", "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
]
BLOCKED = [
    (
        400,
        "content_filter",
        "The response was filtered due to the prompt triggering the content management policy.",
    ),
    (400, "data_inspection_failed", "Input data may contain inappropriate content."),  # DashScope
    (400, "content_filter", "The request was rejected because it was considered high risk"),  # Moonshot
    (403, "", "Content violates usage guidelines."),  # xAI
    (
        400,
        "SensitiveContentDetected",
        "The request failed because the input text may contain sensitive information.",
    ),
    (400, "invalid_request_error content_policy_violation", "Your request was rejected by our safety system."),
]
JUST_WRONG = [
    (400, "invalid_image_format", "The image was specified using image/jpeg but the data appears to be image/png"),
    (400, "invalid_request_error", "Could not process image"),
    (400, "", "You uploaded an unsupported image. Supported formats: png, jpeg, gif, webp."),
    (400, "", "image/avif does not support decoding"),
    (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    (413, "request_too_large", "Request exceeds the maximum allowed number of bytes."),
    (422, "", "Input should be a valid string"),
    (501, "", "Not implemented"),
]
AGAIN = [
    (408, "", "Request timeout"),
    (409, "", "Conflict"),
    (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."),
    (429, "", "Engine is currently overloaded, please try again later"),
    (500, "INTERNAL", "An internal error has occurred."),
    (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    (504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
    (524, "", "A timeout occurred"),
    (529, "overloaded_error", "Overloaded"),
    (403, "", "Rate limit exceeded"),
]


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        (CREDIT, "credit is used up"),
        (KEY, "key is refused"),
        (MODEL, "knows no model"),
        (NO_PICTURES[:4], "no pictures"),
    ],
    ids=["credit", "key", "model", "no pictures"],
)
def test_fatal(verdict, cases, words):
    for status, code, message in cases:
        error = verdict(status, message, code=code)
        assert isinstance(error, ClientError), message
        assert error.fatal, message
        assert words in error.reason, message
        assert message in error.reason


def test_text_only_server_that_says_500(verdict):
    """llama.cpp: no client's fault by its number, but asking again cannot help."""
    error = verdict(*NO_PICTURES[4][::2])
    assert error.fatal


def test_blocked(verdict):
    for status, code, message in BLOCKED:
        answer = verdict(status, message, code=code)
        assert isinstance(answer, Answer), message
        assert answer.status == "blocked"
        assert message in answer.reason


def test_not_again_but_not_the_end(verdict):
    for status, code, message in JUST_WRONG:
        error = verdict(status, message, code=code)
        assert isinstance(error, ClientError), message
        assert (error.fatal, error.retryable) == (False, False), message
        assert message in error.reason


def test_again(verdict):
    for status, code, message in AGAIN:
        error = verdict(status, message, code=code)
        assert isinstance(error, ClientError), message
        assert (error.fatal, error.retryable) == (False, True), message


def test_no_quota_at_all(verdict):
    message = "Quota exceeded for metric: free_tier_requests, limit: 0, model: m-1"
    assert "no quota for m-1" in verdict(429, message, code="RESOURCE_EXHAUSTED").reason


def test_the_server_may_say_whether_to_ask_again(verdict):
    assert not verdict(500, "broken for good", headers={"x-should-retry": "false"}).retryable
    assert verdict(400, "odd moment", headers={"x-should-retry": "true"}).retryable
    assert verdict(429, "slow down", headers={"x-should-retry": "false"}).retryable


def test_not_reachable(spec_for):
    failure = Failure("unreachable", "Connection refused")
    spec = spec_for("compatible")
    first = judge(failure, spec, url="http://localhost:11434/v1", reached=False)
    assert first.fatal
    assert "is the server running there?" in first.reason
    far = judge(failure, spec, url=URL, reached=False)
    assert "check the address and the network" in far.reason
    later = judge(failure, spec, url=URL, reached=True)
    assert (later.fatal, later.retryable) == (False, True)


def test_ollama_is_told_how_to_fetch(verdict):
    error = verdict(404, 'model "m-1" not found, try pulling it first', url="http://localhost:11434/v1")
    assert "ollama pull m-1" in error.reason


def test_an_sdk_that_cannot_be_used(spec_for):
    error = judge(Failure("unusable", "No module named 'openai'"), spec_for("openai"), url=URL, reached=False)
    assert error.fatal
    assert "No module named" in error.reason


def test_long_messages_are_cut(verdict):
    assert len(verdict(500, "x" * 5000).reason) < 330


# -- reading


def test_bodies_of_all_kinds():
    class Response:
        def __init__(self, status, body, headers=None):
            self.status_code, self.headers, self._body = status, headers or {}, body
            self.text = body if isinstance(body, str) else ""

        def json(self):
            if isinstance(self._body, str):
                raise ValueError
            return self._body

    class Raised(Exception):
        def __init__(self, *args):
            super().__init__("HTTP")
            self.response = Response(*args)

    google = [{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT", "details": [{"reason": "R"}]}}]
    read = read_failure(Raised(400, google))
    assert (read.message, read.code, read.status) == ("no", "INVALID_ARGUMENT R", 400)
    vllm = {"object": "error", "message": "no", "type": "BadRequestError", "param": "temperature", "code": 400}
    read = read_failure(Raised(400, vllm))
    assert (read.message, read.code, read.param) == ("no", "BadRequestError", "temperature")
    assert read_failure(Raised(422, {"detail": [{"loc": ["body", "max_tokens"]}]})).message == (
        '[{"loc": ["body", "max_tokens"]}]'
    )
    assert read_failure(Raised(500, {"error": "a plain text"})).message == "a plain text"
    page = "<html><head><style>p {}</style><title>502 Bad Gateway</title></head><body>nginx</body></html>"
    assert read_failure(Raised(502, page, {"Retry-After": "3"})).message.split() == [
        "502",
        "Bad",
        "Gateway",
        "nginx",
    ]
    assert read_failure(Raised(502, page, {"Retry-After": "3"})).headers == {"retry-after": "3"}
    assert read_failure(Raised(500, None)).status == 500


def test_other_exceptions():
    assert read_failure(NoReply(body="<!DOCTYPE html>")).kind == "page"
    assert read_failure(NoReply(body='{"id": "x", "ch')).kind == "garbled"
    assert read_failure(TimeoutError()).kind == "timeout"
    assert read_failure(ConnectionResetError("reset by peer")).kind == "cut"
    failure = read_failure(KeyError("choices"))
    assert (failure.kind, failure.message) == ("other", "KeyError: 'choices'")


# -- pauses


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0),
        ({"retry-after": " 12 "}, 12),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "1500", "retry-after": "1"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, 30),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT"}, 0),  # past
        # The server's clock is five minutes behind ours: the date is by its clock.
        ({"retry-after": "Wed, 21 Oct 2026 07:24:00 GMT", "date": "Wed, 21 Oct 2026 07:23:00 GMT"}, 60),
        ({"retry-after": "Wednesday"}, None),
    ],
)
def test_pauses_in_headers(headers, pause):
    now = 1792567680.0  # Wed, 21 Oct 2026 07:28:00 GMT, by `date -u -d @1792567680`
    assert pause_of(headers, now=now) == pause


@pytest.mark.parametrize(
    ("message", "pause"),
    [
        ("Rate limit reached ... Please try again in 20s. Visit", 20),
        ("Please try again in 6m0s.", 360),
        ("Please try again in 1h2m3.5s.", 3723.5),
        ("Please try again in 120ms.", 0.12),
        ("Please retry in 53.204s.", 53.204),
        ("try again in 7 seconds", 7),
        ("Please try again later", None),
        ("Please try again in a moment", None),
    ],
)
def test_pauses_in_words(message, pause):
    assert pause_of({}, message=message) == (None if pause is None else pytest.approx(pause))


def test_a_header_goes_before_words():
    assert pause_of({"retry-after": "2"}, message="try again in 20s") == 2


def test_retry_info_as_an_object():
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": {"seconds": "41", "nanos": 5}}
    assert pause_of({}, [detail]) == 41
    assert pause_of({}, [{"@type": "type.googleapis.com/google.rpc.Help", "retryDelay": "5s"}]) is None
