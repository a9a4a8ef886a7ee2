"""What every model is to the kit: something asynchronous that answers a request in words.

A provider is a small class with one method; concurrency, retries, storage, parsing and cost live elsewhere, once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from signpost_kit.files import hash_bytes

__all__ = ["Answer", "Decoding", "Provider", "ProviderError", "Request", "Usage"]


@dataclass(frozen=True)
class Decoding:
    """How the text is sampled. None leaves the model's own default."""

    temperature: float | None = 0.0
    max_tokens: int | None = 1024


@dataclass(frozen=True)
class Request:
    """One question, mostly about one picture. group_id, dataset and variant are ours; a provider must never send
    them."""

    task: str
    """coordinate, probing, defense, ..."""
    model: str
    """Registered name."""
    image_path: Path | None
    """None: the question is about words alone."""
    image_hash: str
    """Empty without a picture."""
    prompt: str
    prompt_hash: str
    decoding: Decoding = field(default_factory=Decoding)
    sample_index: int = 0
    dataset: str = ""
    group_id: str = ""
    variant: str = ""

    @property
    def key(self) -> str:
        """The reply's key: (task, model, image hash, prompt hash, decoding, sample index), nothing else."""
        parts = [
            self.task,
            self.model,
            self.image_hash,
            self.prompt_hash,
            vars(self.decoding),
            self.sample_index,
        ]
        return hash_bytes(json.dumps(parts, sort_keys=True).encode())


@dataclass(frozen=True)
class Usage:
    """Tokens as the provider counted them; None where it did not say."""

    input_tokens: int | None = None
    """All of them, cached ones included."""
    output_tokens: int | None = None
    """All that are charged as output, thinking included."""
    cached_tokens: int | None = None
    """Those of input_tokens that were read from the provider's cache, at its lower price."""


@dataclass(frozen=True)
class Answer:
    """What a provider gives back for one request that it could answer or that it declined."""

    text: str | None
    status: str = "ok"
    """ok, or what the provider itself reports: empty, refused, blocked, truncated. Parsing comes later."""
    reason: str = ""
    finish_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    request_id: str = ""
    attempts: int = 1
    price_usd: float | None = None
    notes: dict[str, str] = field(default_factory=dict)
    """What was sent otherwise than asked for (a refused parameter), and which bytes the picture became."""


class ProviderError(Exception):
    """A request that failed. `fatal` stops the model (wrong key, unknown model): asking on would only cost."""

    def __init__(
        self, reason: str, *, retry_after_s: float | None = None, retryable: bool = True, fatal: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.retryable = retryable and not fatal
        self.fatal = fatal


@runtime_checkable
class Provider(Protocol):
    """One family of models behind one pool of connections."""

    name: str
    """The pool this provider's requests share, e.g. "openai", "embedded"."""
    concurrency: int
    """How many requests may be in flight at once."""

    async def ask(self, request: Request) -> Answer:
        """Answer one request, or raise ProviderError."""
        ...

    async def close(self) -> None:
        """Release connections; called once by the runner."""
        ...
