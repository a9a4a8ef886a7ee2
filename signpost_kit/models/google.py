"""Google's Gemini models, through the google-genai SDK (Gemini API, with a key)."""

from __future__ import annotations

import copy
import os
from typing import Any

from signpost_kit.models.adjusting import Asked
from signpost_kit.models.base import Answer, Usage
from signpost_kit.models.client import Client, complete_answer
from signpost_kit.models.connections import http_library, http_settings
from signpost_kit.models.failures import NoReply
from signpost_kit.models.pictures import Picture

__all__ = ["GoogleClient"]

_CUT = frozenset({"MAX_TOKENS", "CONTINUATION"})
_NOT_BLOCKED = frozenset(
    {"", "STOP", "FINISH_REASON_UNSPECIFIED", "MALFORMED_RESPONSE", "MALFORMED_FUNCTION_CALL", *_CUT}
)


class GoogleClient(Client):
    """A Gemini model."""

    token_fields = ("max_output_tokens",)
    default_url = "https://generativelanguage.googleapis.com"

    def _open(self, key: str) -> Any:
        from google import genai
        from google.genai import _api_client, types

        http = http_library(getattr(_api_client, "AsyncHttpx2Client", None) or _api_client.AsyncHttpxClient)
        settings = http_settings(http, timeout_s=self.http_timeout_s, concurrency=self.concurrency)
        # A client of our own: the SDK would take aiohttp where that is installed, with retries of its own.
        client = http.AsyncClient(**settings, follow_redirects=True)
        options = types.HttpOptions(
            base_url=self.base_url,
            api_version=os.environ.get("GOOGLE_GENAI_API_VERSION") or "v1beta",  # the one that has preview models
            timeout=round(1000 * self.http_timeout_s),
            httpx_async_client=client,
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        sdk = genai.Client(api_key=key, vertexai=False, http_options=options)
        return _Opened(sdk, client)

    async def _shut(self, sdk: Any) -> None:
        await sdk.http.aclose()
        sdk.client.close()

    async def _send(self, sdk: Any, picture: Picture | None, prompt: str, asked: Asked) -> Any:
        from google.genai import types

        config: dict[str, Any] = {
            "max_output_tokens": asked.max_tokens,
            "temperature": asked.temperature,
            "automatic_function_calling": {"disable": True},
        }
        if "automatic_continuation" in types.GenerateContentConfig.model_fields:
            config["automatic_continuation"] = False  # further requests are the one loop's business
        if self.spec.options:
            config["http_options"] = {"extra_body": self.spec.options}
        parts = [types.Part(text=prompt)]
        if picture is not None:
            parts.insert(0, types.Part(inline_data=types.Blob(data=picture.data, mime_type=picture.mime)))
        return await sdk.client.aio.models.generate_content(
            model=self.spec.model_id,
            contents=types.Content(role="user", parts=parts),
            config=types.GenerateContentConfig(**config),
        )

    def _body(self, picture: Picture | None, prompt: str, asked: Asked) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [{"text": prompt}]
        if picture is not None:
            parts.insert(0, {"inlineData": {"mimeType": picture.mime, "data": picture.base64}})
        config = {"maxOutputTokens": asked.max_tokens, "temperature": asked.temperature}
        return {
            "contents": [{"role": "user", "parts": parts}],
            "generationConfig": {name: value for name, value in config.items() if value is not None},
            **self.spec.options,
        }

    def _parse(self, body: Any) -> Any:
        from google.genai import types

        # As the SDK itself does it: fields that this version does not know are left out, not refused.
        return types.GenerateContentResponse._from_response(response=copy.deepcopy(body), kwargs={})

    def _read(self, reply: Any) -> Answer:
        feedback = reply.prompt_feedback
        candidate = (reply.candidates or [None])[0]
        blocked = _word(getattr(feedback, "block_reason", None))
        if blocked:
            said = getattr(feedback, "block_reason_message", None)
            blocked = f"the prompt was blocked: {blocked}" + (f" ({said})" if said else "")
        finish = _word(getattr(candidate, "finish_reason", None))
        if candidate is None and not blocked:
            if reply.usage_metadata is None and not reply.response_id and not reply.model_version:
                raise NoReply("the reply holds no candidate")
            blocked = "no candidate was returned"
        elif finish not in _NOT_BLOCKED:
            said = getattr(candidate, "finish_message", None)
            blocked = finish + (f" ({said})" if said else "")
        return complete_answer(
            _text(candidate),
            finish_reason=finish,
            cut=finish in _CUT,
            blocked=blocked,
            usage=_usage(reply.usage_metadata),
            request_id=reply.response_id or "",
            notes=_other_model(self.spec.model_id, reply.model_version),
        )


class _Opened:
    """The SDK, and the HTTP client that it was given (it closes only its own)."""

    def __init__(self, client: Any, http: Any) -> None:
        self.client = client
        self.http = http


def _word(value: Any) -> str:
    """An enumeration's name; also of a value that this version of the SDK does not know."""
    return "" if value is None else str(getattr(value, "value", value))


def _text(candidate: Any) -> str | None:
    """The text without the thoughts."""
    parts = getattr(getattr(candidate, "content", None), "parts", None) or []
    texts = [part.text for part in parts if part.text is not None and not part.thought]
    return "".join(texts) if texts else None


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    spoken, thought = usage.candidates_token_count, usage.thoughts_token_count
    outward = None if spoken is None and thought is None else (spoken or 0) + (thought or 0)
    return Usage(usage.prompt_token_count, outward, usage.cached_content_token_count)


def _other_model(asked: str, answered: str | None) -> dict[str, str]:
    return {"model": answered} if answered and answered != asked.removeprefix("models/") else {}
