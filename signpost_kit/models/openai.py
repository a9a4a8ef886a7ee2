"""OpenAI's models, through its SDK's chat completions."""

from __future__ import annotations

from typing import Any

from signpost_kit.models.adjusting import Asked
from signpost_kit.models.base import Answer, Usage
from signpost_kit.models.client import Client, complete_answer
from signpost_kit.models.connections import http_library, http_settings
from signpost_kit.models.failures import NoReply
from signpost_kit.models.pictures import Picture

__all__ = ["OpenAIClient"]


class OpenAIClient(Client):
    """A model of OpenAI."""

    token_fields = ("max_completion_tokens", "max_tokens")
    default_url = "https://api.openai.com/v1"

    def _open(self, key: str) -> Any:
        import openai

        http = http_library(openai.DefaultAsyncHttpxClient)
        settings = http_settings(http, timeout_s=self.http_timeout_s, concurrency=self.concurrency)
        sdk = openai.AsyncOpenAI(
            api_key=key,
            base_url=self.base_url,
            max_retries=0,
            timeout=settings["timeout"],
            http_client=openai.DefaultAsyncHttpxClient(**settings),
        )
        _ = sdk.chat.completions  # imports the better part of the SDK
        return sdk

    async def _send(self, sdk: Any, picture: Picture | None, prompt: str, asked: Asked) -> Any:
        body = self._body(picture, prompt, asked)
        # Through extra_body the SDK sends it as it is; otherwise it first walks through every value by its types,
        # which takes as long as all else that it does for a request.
        return await sdk.chat.completions.create(model=body.pop("model"), messages=[], extra_body=body)

    def _body(self, picture: Picture | None, prompt: str, asked: Asked) -> dict[str, Any]:
        content: Any = prompt
        if picture is not None:
            content = [
                {"type": "image_url", "image_url": {"url": f"data:{picture.mime};base64,{picture.base64}"}},
                {"type": "text", "text": prompt},
            ]
        body: dict[str, Any] = {"model": self.spec.model_id, "messages": [{"role": "user", "content": content}]}
        if asked.max_tokens is not None:
            body[asked.token_field] = asked.max_tokens
        if asked.temperature is not None:
            body["temperature"] = asked.temperature
        return {**body, **self.spec.options}

    def _parse(self, body: Any) -> Any:
        from openai.types.chat import ChatCompletion

        return ChatCompletion.construct(**body)

    def _read(self, reply: Any) -> Answer:
        if isinstance(reply, str):
            raise NoReply(body=reply)
        choices = getattr(reply, "choices", None)
        if not choices:
            raise _error_inside(reply)
        choice = choices[0]
        finish = str(getattr(choice, "finish_reason", None) or "")
        message = choice.message
        if message is None or finish == "error":
            raise _error_inside(choice)
        return complete_answer(
            _text(message.content),
            finish_reason=finish,
            cut=finish in ("length", "max_tokens"),
            blocked="content_filter" if finish == "content_filter" else "",
            refusal=str(getattr(message, "refusal", None) or ""),
            usage=_usage(getattr(reply, "usage", None)),
            request_id=str(getattr(reply, "_request_id", None) or getattr(reply, "id", None) or ""),
            notes=_other_model(self.spec.model_id, getattr(reply, "model", None)),
        )


def _text(content: Any) -> str | None:
    """Text as it should be, or as some servers give it: in parts."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text", "") if isinstance(part, dict) else getattr(part, "text", "") for part in content]
        return "".join(part or "" for part in parts)
    return str(content)


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    inward, outward = usage.prompt_tokens, usage.completion_tokens
    total = getattr(usage, "total_tokens", None)
    if None not in (inward, outward, total) and total > inward + outward:
        outward = total - inward  # servers that count the thinking beside the completion
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(inward, outward, getattr(details, "cached_tokens", None))


def _error_inside(reply: Any) -> NoReply:
    """Gateways answer 200 with an error of the provider behind them inside."""
    error = getattr(reply, "error", None)
    if error is None:
        return NoReply("the reply holds no choice")
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 502
    return NoReply("the provider behind the gateway failed", body={"error": error}, status=status)


def _other_model(asked: str, answered: Any) -> dict[str, str]:
    """Which model answered, where it is called otherwise than the one asked for (a dated version, a substitute)."""
    return {"model": str(answered)} if answered and str(answered) != asked else {}
