"""The schemas: which sentence carries the hint, and what may be answered. The words stand in params/prompts/."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from signpost_kit.errors import ConfigError
from signpost_kit.files import hash_bytes
from signpost_kit.profile_context import SCHEMAS
from signpost_kit.prompts import Prompt, load

__all__ = ["BASELINE_OF", "question", "sentence"]

_PARTS: dict[str, tuple[str, str]] = {
    "v1": ("hint_context", "hint_v1"),
    "forced": ("hint_context", "hint_forced"),
    "forced_hedge": ("hint_context_hedge", "hint_forced"),
    "forced_warn": ("hint_context_warn", "hint_forced"),
    "forced_chain": ("hint_context", "hint_forced_chain"),
}
"""Schema -> the file of the hint's sentence and the file of the question."""
BASELINE_OF = {"forced_hedge": "forced", "forced_warn": "forced"}
"""Schemas that without a hint are word for word another one: that one's baseline is theirs."""


def question(schema: str, name: str | None, *, folder: Path | str | None = None) -> Prompt:
    """What is sent beside the picture: the hint's sentence, an empty line, the question. The same for every model.

    Parameters
    ----------
    schema
        One of :data:`signpost_kit.profile_context.SCHEMAS`.
    name
        The reference point as it is called in English; None asks without a hint.
    folder
        Where the prompts lie; None: params/prompts, the nearest first.

    Raises
    ------
    ConfigError
        An unknown schema, a missing prompt, or a sentence without `{name}`.
    """
    if schema not in _PARTS:
        raise ConfigError(f"unknown schema {schema!r}; allowed: {', '.join(SCHEMAS)}")
    body = _load(_PARTS[schema][1], folder)
    text = body.text if name is None else f"{sentence(schema, name, folder=folder)}\n\n{body.text}"
    return Prompt(task="hint", text=text, hash=hash_bytes(text.encode()), path=body.path)


def sentence(schema: str, name: str, *, folder: Path | str | None = None) -> str:
    """The sentence that carries the hint."""
    prompt = _load(_PARTS[schema][0], folder)
    if "{name}" not in prompt.text:
        raise ConfigError(f"{prompt.path} lacks {{name}}, where the name of the place goes")
    return prompt.text.replace("{name}", " ".join(name.split()))  # replace, not format: a name may hold braces


@lru_cache(maxsize=64)
def _load_once(task: str, folder: Path | str | None, here: Path) -> Prompt:
    return load(task, folder=folder)


def _load(task: str, folder: Path | str | None) -> Prompt:
    return _load_once(task, folder, Path.cwd())
