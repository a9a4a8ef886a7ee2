"""Anthropic's models, through its SDK's messages."""

from __future__ import annotations

from typing import Any

from signpost_kit.models.adjusting import Asked
from signpost_kit.models.base import Answer, Usage
from signpost_kit.models.client import Client, complete_answer
from signpost_kit.models.connections import http_library, http_settings
from signpost_kit.models.failures import NoReply
from signpost_kit.models.pictures import Picture

__all__ = ["AnthropicClient"]

_TOKENS = 4096  # the API insists on a limit; where none is asked for, room for any answer of ours


class AnthropicClient(Client):
    """A model of Anthropic."""

    default_url = "https://api.anthropic.com"

    def _open(self, key: str) -> Any:
        import anthropic

        http = http_library(anthropic.DefaultAsyncHttpxClient)
        settings = http_settings(http, timeout_s=self.http_timeout_s, concurrency=self.concurrency)
        sdk = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=self.base_url,
            max_retries=0,
            timeout=settings["timeout"],
            http_client=anthropic.DefaultAsyncHttpxClient(**settings),
        )
        _ = sdk.messages  # imports the better part of the SDK
        return sdk

    async def _send(self, sdk: Any, picture: Picture | None, prompt: str, asked: Asked) -> Any:
        body = self._body(picture, prompt, asked)
        own = {name: body.pop(name) for name in ("model", "max_tokens", "messages")}
        # The rest goes into the body by hand: this version of the SDK has no `temperature`, though models take it.
        # The time limit is given again, or the SDK refuses long answers that are not streamed.
        return await sdk.messages.create(**own, extra_body=body or None, timeout=sdk.timeout)

    def _body(self, picture: Picture | None, prompt: str, asked: Asked) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": prompt}]
        if picture is not None:
            source = {"type": "base64", "media_type": picture.mime, "data": picture.base64}
            content.insert(0, {"type": "image", "source": source})
        body: dict[str, Any] = {
            "model": self.spec.model_id,
            "max_tokens": asked.max_tokens or _TOKENS,
            "messages": [{"role": "user", "content": content}],
        }
        if asked.temperature is not None:
            body["temperature"] = asked.temperature
        return {**body, **self.spec.options}

    def _parse(self, body: Any) -> Any:
        from anthropic.types import Message

        return Message.construct(**body)

    def _read(self, reply: Any) -> Answer:
        if isinstance(reply, str) or getattr(reply, "content", None) is None:
            raise NoReply(body=reply if isinstance(reply, str) else None)
        texts = [block.text for block in reply.content if getattr(block, "type", "") == "text"]
        finish = str(reply.stop_reason or "")
        return complete_answer(
            "".join(text or "" for text in texts) if texts else None,
            finish_reason=finish,
            cut=finish in ("max_tokens", "model_context_window_exceeded"),
            refusal=_refusal(reply) if finish == "refusal" else "",
            usage=_usage(getattr(reply, "usage", None)),
            request_id=str(getattr(reply, "_request_id", None) or getattr(reply, "id", None) or ""),
            notes={} if reply.model in (None, self.spec.model_id) else {"model": str(reply.model)},
        )


def _refusal(reply: Any) -> str:
    details = getattr(reply, "stop_details", None)
    said = getattr(details, "explanation", None) or getattr(details, "category", None)
    return str(said or "the model declined to answer (stop_reason refusal)")


def _usage(usage: Any) -> Usage:
    """Anthropic counts what it read from and wrote to its cache beside the input; here it is part of it."""
    if usage is None:
        return Usage()
    cached = getattr(usage, "cache_read_input_tokens", None)
    written = getattr(usage, "cache_creation_input_tokens", None)
    inward = usage.input_tokens
    total = None if inward is None else inward + (cached or 0) + (written or 0)
    return Usage(total, usage.output_tokens, cached)
