"""Any server that speaks OpenAI's chat completions: by its address, and the variable that holds its key."""

from __future__ import annotations

from typing import Any

from signpost_kit.models.openai import OpenAIClient

__all__ = ["CompatibleClient"]


class CompatibleClient(OpenAIClient):
    """A model of DashScope, Moonshot, Ark, xAI, OpenRouter, DeepSeek, vLLM, Ollama, LM Studio, ..."""

    token_fields = ("max_tokens", "max_completion_tokens")

    def _open(self, key: str) -> Any:
        sdk = super()._open(key)
        sdk.organization = sdk.project = None  # OPENAI_ORG_ID and OPENAI_PROJECT_ID are no business of others
        return sdk
