"""Parameters that a model refuses: asked once more with the other name, or without, remembered, and written down.

Which model takes which parameter is data (params/models.yml), but models change, and gateways differ. What is
learned holds for the model at its address, in this process. A temperature is left out, never raised.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from signpost_kit.models.base import Decoding
from signpost_kit.models.failures import Failure

if TYPE_CHECKING:
    from signpost_kit.models.catalogue import ModelSpec

__all__ = ["Asked", "adjust", "decoding_for", "forget"]


_TOO_LARGE = re.compile(
    r"too (large|many|high|long)|at most|maximum|\bmax(imum)? (value|allowed)|exceed|less than|greater than"
    r"|larger than|context (length|window)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Asked:
    """What a request really carries."""

    token_field: str
    max_tokens: int | None
    temperature: float | None
    notes: dict[str, str] = field(default_factory=dict)
    """Where that differs from what was asked for."""


@dataclass(frozen=True)
class _Learned:
    token_field: str | None = None
    no_temperature: bool = False


_learned: dict[tuple[str, str], _Learned] = {}
_lock = threading.Lock()


def decoding_for(spec: ModelSpec, url: str, decoding: Decoding, fields: tuple[str, ...]) -> Asked:
    """What to send to a model: `decoding`, as far as it takes it."""
    known = _learned.get((url, spec.model_id), _Learned())
    usual = spec.token_field if spec.token_field in fields else fields[0]
    token_field = known.token_field or usual
    notes = {}
    if token_field != usual and decoding.max_tokens is not None:
        notes["max_tokens"] = f"sent as {token_field}: the model refused {usual}"
    temperature = decoding.temperature
    if temperature is not None and (known.no_temperature or not spec.takes_temperature):
        temperature = None
        why = "the model refused it" if spec.takes_temperature else "the model takes none"
        notes["temperature"] = f"not sent: {why}"
    return Asked(token_field, decoding.max_tokens, temperature, notes)


def adjust(spec: ModelSpec, url: str, failure: Failure, asked: Asked, fields: tuple[str, ...]) -> bool:
    """Whether another form of the request may be taken: learned from `failure`, which was the answer to `asked`."""
    place = (url, spec.model_id)
    with _lock:
        known = _learned.get(place, _Learned())
        if asked.temperature is not None and _named(failure, "temperature"):
            _learned[place] = _Learned(known.token_field, no_temperature=True)
            return True
        if asked.max_tokens is None or len(fields) < 2 or not _named(failure, asked.token_field):
            return False
        if _TOO_LARGE.search(failure.message):  # it takes the field, but not so many: no other name would help
            return False
        if known.token_field is not None:  # learned meanwhile by another request; or both names were refused
            return known.token_field != asked.token_field
        other = next(name for name in fields if name != asked.token_field)
        _learned[place] = _Learned(other, known.no_temperature)
        return True


def forget() -> None:
    """Forget everything that was learned."""
    with _lock:
        _learned.clear()


def _named(failure: Failure, name: str) -> bool:
    """Whether a request was refused because of the field `name`."""
    if failure.status not in (400, 422):
        return False
    return failure.param == name or bool(re.search(rf"(?<![a-z_]){name}(?![a-z_])", _snake(failure.message)))


def _snake(text: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()
