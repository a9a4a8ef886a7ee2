"""The wire formats: how each family of providers is asked, answers and fails."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from fault_server import REPLY, Call, Manners, Response, Step, step


def sniff(data: bytes) -> str:
    """The type of a picture, by its first bytes; "" if it is none that providers take."""
    for beginning, mime in (
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF8", "image/gif"),
        (b"RIFF", "image/webp"),
    ):
        if data.startswith(beginning):
            return mime
    return ""


class Wire:
    """One family: subclasses say where things stand in a request, and what answers and errors look like."""

    base_path = ""
    path = re.compile("")

    # -- a request

    def takes(self, call: Call) -> bool:
        return call.method == "POST" and bool(self.path.fullmatch(call.path.partition("?")[0]))

    def key(self, call: Call) -> str:
        raise NotImplementedError

    def model(self, call: Call) -> str:
        return call.json["model"]

    def prompt(self, call: Call) -> str:
        raise NotImplementedError

    def picture(self, call: Call) -> tuple[str, bytes]:
        """Declared type and bytes."""
        raise NotImplementedError

    def options(self, call: Call) -> dict[str, Any]:
        """Decoding options by the names of the wire."""
        return call.json

    def token_fields(self) -> tuple[str, ...]:
        return ("max_tokens", "max_completion_tokens")

    def complaint(self, call: Call, manners: Manners) -> Step | None:
        """What the server objects to before it answers, as real ones do."""
        if manners.keys and self.key(call) not in manners.keys:
            return step("wrong_key")
        if manners.models and self.model(call) not in manners.models:
            return step("unknown_model")
        options = self.options(call)
        for name in self.token_fields():
            if manners.token_fields and name in options and name not in manners.token_fields:
                return step("refuses_field", name=name)
        if not manners.takes_temperature and "temperature" in options:
            return step("refuses_field", name="temperature")
        mime, data = self.picture(call)
        return step("wrong_mime") if data and sniff(data) != mime else None

    # -- an answer

    def render(self, one: Step, call: Call) -> Response:
        method = getattr(self, f"do_{one.kind}", None)
        if method is None:
            raise ValueError(f"{type(self).__name__} has no step {one.kind!r}")
        return method(one, call)

    def reply(self, call: Call, text: str | None, finish: str = "", **more: Any) -> Response:
        raise NotImplementedError

    def error(self, status: int, message: str, *, code: str = "", kind: str = "", param: str = "") -> Response:
        raise NotImplementedError

    length = "length"

    def do_ok(self, one: Step, call: Call) -> Response:
        return self.reply(call, dict(one.settings).get("text", REPLY))

    def do_empty(self, one: Step, call: Call) -> Response:
        return self.reply(call, "")

    def do_empty_length(self, one: Step, call: Call) -> Response:
        return self.reply(call, None, self.length)

    def do_cut_text(self, one: Step, call: Call) -> Response:
        return self.reply(call, one.text, self.length)

    def do_slow_body(self, one: Step, call: Call) -> Response:
        response = self.reply(call, REPLY)
        response.pause_s = one.seconds
        return response

    def do_truncated_json(self, one: Step, call: Call) -> Response:
        response = self.reply(call, REPLY)
        response.body = response.body[: len(response.body) * 2 // 3]
        return response

    def do_reset(self, one: Step, call: Call) -> Response:
        response = self.reply(call, REPLY)
        response.cut = len(response.body) // 2
        return response

    def do_hang(self, one: Step, call: Call) -> Response:
        return Response(hang=True)

    def do_html(self, one: Step, call: Call) -> Response:
        return Response(200, b"<!doctype html><title>Welcome</title>", content_type="text/html")

    def do_raw(self, one: Step, call: Call) -> Response:
        """settings: status, body (bytes, str or JSON value), headers."""
        given = dict(one.settings)
        body = given.get("body", b"")
        if not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        data = body.encode() if isinstance(body, str) else body
        return Response(
            given.get("status", 200),
            data,
            dict(given.get("headers", {})),
            content_type=given.get("content_type", "application/json"),
        )

    def do_rate_limited(self, one: Step, call: Call) -> Response:
        response = self.error(429, "Rate limit reached for requests", code="rate_limit_exceeded", kind="requests")
        return _with_pauses(response, one)

    def do_status(self, one: Step, call: Call) -> Response:
        given = dict(one.settings)
        return _with_pauses(self.error(one.code, given.get("message", "The server had an error")), one)

    def do_overloaded(self, one: Step, call: Call) -> Response:
        given = dict(one.settings)
        return _with_pauses(self.error(given.get("code", 529), "Overloaded", kind="overloaded_error"), one)

    def do_wrong_mime(self, one: Step, call: Call) -> Response:
        message = "The image was specified using image/jpeg but the data appears to be image/png"
        return self.error(400, message, code="invalid_image_format", kind="invalid_request_error")

    def do_wrong_url(self, one: Step, call: Call) -> Response:
        return Response(404, b"404 page not found", content_type="text/plain")

    def do_wrong_key(self, one: Step, call: Call) -> Response:
        # Some gateways repeat the key: nothing of it may come through.
        message = f"Incorrect API key provided: {self.key(call)}."
        return self.error(
            dict(one.settings).get("status", 401), message, code="invalid_api_key", kind="authentication_error"
        )

    def do_refuses_field(self, one: Step, call: Call) -> Response:
        message = f"Unsupported parameter: '{one.name}' is not supported with this model."
        return self.error(400, message, code="unsupported_parameter", kind="invalid_request_error", param=one.name)


class OpenAIWire(Wire):
    """POST /v1/chat/completions."""

    base_path = "/v1"
    path = re.compile("/v1/chat/completions")

    def key(self, call: Call) -> str:
        return call.headers.get("authorization", "").removeprefix("Bearer ")

    def _parts(self, call: Call) -> list[dict[str, Any]]:
        content = call.json["messages"][-1]["content"]
        return [{"type": "text", "text": content}] if isinstance(content, str) else content

    def prompt(self, call: Call) -> str:
        return "".join(part["text"] for part in self._parts(call) if part["type"] == "text")

    def picture(self, call: Call) -> tuple[str, bytes]:
        for part in self._parts(call):
            if part["type"] == "image_url":
                head, _, text = part["image_url"]["url"].partition(";base64,")
                return head.removeprefix("data:"), base64.b64decode(text, validate=True)
        return "", b""

    def reply(self, call: Call, text: str | None, finish: str = "stop", **more: Any) -> Response:
        message = {"role": "assistant", "content": text, "refusal": more.get("refusal")}
        body = {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion",
            "created": 1_800_000_000,
            "model": more.get("model") or self.model(call),
            "choices": [{"index": 0, "message": message, "finish_reason": finish or "stop", "logprobs": None}],
            "usage": {
                "prompt_tokens": 812,
                "completion_tokens": 34,
                "total_tokens": 846,
                "prompt_tokens_details": {"cached_tokens": 128},
                "completion_tokens_details": {"reasoning_tokens": 16},
            },
        }
        return Response(200, json.dumps(body).encode(), {"x-request-id": f"req_{call.number}"})

    def error(self, status: int, message: str, *, code: str = "", kind: str = "", param: str = "") -> Response:
        error = {"message": message, "type": kind or None, "param": param or None, "code": code or None}
        return Response(status, json.dumps({"error": error}).encode(), {"x-request-id": "req_failed"})

    def do_blocked(self, one: Step, call: Call) -> Response:
        return self.reply(call, None, "content_filter")

    do_recitation = do_blocked

    def do_prompt_blocked(self, one: Step, call: Call) -> Response:
        message = "The response was filtered due to the prompt triggering the content management policy."
        return self.error(400, message, code="content_filter")

    def do_refused(self, one: Step, call: Call) -> Response:
        return self.reply(call, None, refusal="I'm sorry, I can't help with locating people.")

    def do_unknown_model(self, one: Step, call: Call) -> Response:
        message = f"The model `{self.model(call)}` does not exist or you do not have access to it."
        return self.error(404, message, code="model_not_found", kind="invalid_request_error")

    def do_no_credit(self, one: Step, call: Call) -> Response:
        message = "You exceeded your current quota, please check your plan and billing details."
        return self.error(429, message, code="insufficient_quota", kind="insufficient_quota")


class AnthropicWire(Wire):
    """POST /v1/messages."""

    path = re.compile("/v1/messages")
    length = "max_tokens"

    def key(self, call: Call) -> str:
        return call.headers.get("x-api-key") or call.headers.get("authorization", "").removeprefix("Bearer ")

    def _parts(self, call: Call) -> list[dict[str, Any]]:
        return call.json["messages"][-1]["content"]

    def prompt(self, call: Call) -> str:
        return "".join(part["text"] for part in self._parts(call) if part["type"] == "text")

    def picture(self, call: Call) -> tuple[str, bytes]:
        for part in self._parts(call):
            if part["type"] == "image":
                return part["source"]["media_type"], base64.b64decode(part["source"]["data"], validate=True)
        return "", b""

    def reply(self, call: Call, text: str | None, finish: str = "end_turn", **more: Any) -> Response:
        body = {
            "id": f"msg_{call.number}",
            "type": "message",
            "role": "assistant",
            "model": more.get("model") or self.model(call),
            "content": [] if text is None else [{"type": "text", "text": text}],
            "stop_reason": finish or "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 684,
                "output_tokens": 34,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 28,
            },
        }
        return Response(200, json.dumps(body).encode(), {"request-id": f"req_{call.number}"})

    def error(self, status: int, message: str, *, code: str = "", kind: str = "", param: str = "") -> Response:
        names = {429: "rate_limit_error", 529: "overloaded_error", 404: "not_found_error"}
        error = {"type": names.get(status) or kind or "api_error", "message": message}
        body = {"type": "error", "error": error, "request_id": "req_failed"}
        return Response(status, json.dumps(body).encode(), {"request-id": "req_failed"})

    def do_refused(self, one: Step, call: Call) -> Response:
        return self.reply(call, None, "refusal")

    do_blocked = do_recitation = do_prompt_blocked = do_refused

    def do_unknown_model(self, one: Step, call: Call) -> Response:
        return self.error(404, f"model: {self.model(call)}")

    def do_no_credit(self, one: Step, call: Call) -> Response:
        message = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."
        return self.error(400, message, kind="invalid_request_error")


class GoogleWire(Wire):
    """POST /v1beta/models/<model>:generateContent (or v1, v1alpha: the SDK chooses)."""

    path = re.compile(r"/v1(alpha|beta)?/models/[^/]+:generateContent")
    length = "MAX_TOKENS"

    def key(self, call: Call) -> str:
        return call.headers.get("x-goog-api-key", "")

    def model(self, call: Call) -> str:
        return call.path.rpartition("/")[2].partition(":")[0]

    def _parts(self, call: Call) -> list[dict[str, Any]]:
        return call.json["contents"][-1]["parts"]

    def prompt(self, call: Call) -> str:
        return "".join(part.get("text", "") for part in self._parts(call))

    def picture(self, call: Call) -> tuple[str, bytes]:
        for part in self._parts(call):
            blob = part.get("inlineData") or part.get("inline_data")
            if blob:  # as JSON of protocol buffers: names in either case, base64 in either alphabet
                text = blob["data"].replace("-", "+").replace("_", "/")
                return blob.get("mimeType") or blob["mime_type"], base64.b64decode(text, validate=True)
        return "", b""

    def options(self, call: Call) -> dict[str, Any]:
        return call.json.get("generationConfig", {})

    def token_fields(self) -> tuple[str, ...]:
        return ("maxOutputTokens",)

    def reply(self, call: Call, text: str | None, finish: str = "STOP", **more: Any) -> Response:
        content = {"role": "model"} if text is None else {"role": "model", "parts": [{"text": text}]}
        body: dict[str, Any] = {
            "candidates": [{"content": content, "finishReason": finish or "STOP", "index": 0}],
            "usageMetadata": {
                "promptTokenCount": 812,
                "candidatesTokenCount": 18,
                "thoughtsTokenCount": 16,
                "cachedContentTokenCount": 128,
                "totalTokenCount": 846,
            },
            "modelVersion": more.get("model", self.model(call)),
            "responseId": f"resp_{call.number}",
        }
        if "block_reason" in more:
            body["promptFeedback"] = {"blockReason": more["block_reason"]}
            del body["candidates"]
        return Response(200, json.dumps(body).encode())

    def error(self, status: int, message: str, *, code: str = "", kind: str = "", param: str = "") -> Response:
        names = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
        error = {"code": status, "message": message, "status": names.get(status, "UNAVAILABLE")}
        return Response(status, json.dumps({"error": error}).encode())

    def do_blocked(self, one: Step, call: Call) -> Response:
        return self.reply(call, None, "SAFETY")

    def do_prompt_blocked(self, one: Step, call: Call) -> Response:
        return self.reply(call, None, block_reason="PROHIBITED_CONTENT")

    def do_recitation(self, one: Step, call: Call) -> Response:
        return self.reply(call, None, "RECITATION")

    do_refused = do_blocked

    def do_wrong_key(self, one: Step, call: Call) -> Response:
        response = self.error(400, f"API key not valid. Please pass a valid API key. ({self.key(call)})")
        body = json.loads(response.body)
        body["error"]["details"] = [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        ]
        response.body = json.dumps(body).encode()
        return response

    def do_unknown_model(self, one: Step, call: Call) -> Response:
        message = f"models/{self.model(call)} is not found for API version v1beta, or is not supported."
        return self.error(404, message)

    def do_no_credit(self, one: Step, call: Call) -> Response:
        message = "Your prepayment credits are depleted. Please go to AI Studio to manage your billing."
        return self.error(429, message)


def _with_pauses(response: Response, one: Step) -> Response:
    given = dict(one.settings)
    if given.get("retry_after") is not None:
        response.headers["retry-after"] = given["retry_after"]
    if given.get("retry_after_ms") is not None:
        response.headers["retry-after-ms"] = given["retry_after_ms"]
    if given.get("retry_info") is not None:
        body = json.loads(response.body)
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        body["error"].setdefault("details", []).append({"@type": kind, "retryDelay": given["retry_info"]})
        response.body = json.dumps(body).encode()
    return response


WIRES = {"openai": OpenAIWire, "compatible": OpenAIWire, "anthropic": AnthropicWire, "google": GoogleWire}
