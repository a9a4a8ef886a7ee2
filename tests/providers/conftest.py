"""Fixtures of the provider tests: loopback servers in each wire format, and models that ask them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent / "servers"))

from fault_server import FaultServer

from signpost_kit.images import image_hash
from signpost_kit.models.base import Decoding, Request
from signpost_kit.models.catalogue import ModelSpec

KEY = "sk-planted-0123456789abcdefXYZ"


@pytest.fixture(autouse=True)
def _nothing_learned() -> Iterator[None]:
    """Each test begins without what the process learned of models and addresses, and without a proxy or a key."""
    from signpost_kit.models import adjusting, client

    adjusting.forget()
    client._REACHED.clear()
    yield


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_")):
            monkeypatch.delenv(name)


@pytest.fixture
def serve() -> Iterator[Callable[..., FaultServer]]:
    """serve("openai", ["ok", step(...)], ...) -> a running FaultServer."""
    with ExitStack() as stack:
        yield lambda *args, **named: stack.enter_context(FaultServer(*args, **named))


@pytest.fixture
def spec_for() -> Callable[..., ModelSpec]:
    """spec_for(provider, **fields) -> ModelSpec of a model called "m"."""
    usual = {"google": "max_output_tokens", "openai": "max_completion_tokens"}

    def make(provider: str, **fields: Any) -> ModelSpec:
        given: dict[str, Any] = {
            "name": "m",
            "provider": provider,
            "model_id": "m-1",
            "key_env": "M_API_KEY",
            "group": "Somebody",
            "token_field": usual.get(provider, "max_tokens"),
        }
        if provider == "compatible":
            given["base_url"] = "http://127.0.0.1:9/v1"
        return ModelSpec(**{**given, **fields})

    return make


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """A small picture on disk."""
    path = tmp_path / "secret-place-name.jpg"
    pixels = np.random.default_rng(3).integers(0, 255, (48, 64, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, quality=90)
    return path


@pytest.fixture
def question(photo: Path) -> Callable[..., Request]:
    """question(path=..., prompt=..., decoding fields) -> Request about a picture, with names that must not be sent."""

    def make(path: Path = photo, prompt: str = "Where is this?", **decoding: Any) -> Request:
        return Request(
            task="coordinate",
            model="m",
            image_path=path,
            image_hash=image_hash(path),
            prompt=prompt,
            prompt_hash="p",
            decoding=Decoding(**decoding),
            dataset="secret-dataset",
            group_id="secret-group-id",
            variant="SecretVariant",
        )

    return make
