"""What a reply means, task by task: text in, coordinates or fields and a status out."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from signpost_kit.errors import ConfigError

__all__ = ["Parsed", "Parser", "parser_of", "read_text", "register_task", "task_names"]


@dataclass(frozen=True)
class Parsed:
    """What was read out of one reply's text."""

    status: str = "ok"
    """ok, empty, refused, unparseable, out_of_range."""
    reason: str = ""
    lat: float | None = None
    lon: float | None = None
    n_candidates: int | None = None
    form: str = ""
    fields: dict[str, Any] | None = None
    """A structured task's values, as JSON takes them."""


class Parser(Protocol):
    """Reads one reply; `prompt` is what was asked, so that an example in it is not taken for an answer."""

    def __call__(self, text: str, prompt: str, /) -> Parsed:
        """Never returns coordinates with a status other than ok."""
        ...


_PARSERS: dict[str, Parser] = {}


def register_task(name: str, parser: Parser | None = None) -> Callable[[Parser], Parser]:
    """Register how a task's replies are read, directly or as a decorator; the latest registration wins."""

    def keep(made: Parser) -> Parser:
        _PARSERS[name] = made
        return made

    if parser is not None:
        keep(parser)
    return keep


def task_names() -> tuple[str, ...]:
    """Every task whose replies can be read."""
    return tuple(_PARSERS)


def parser_of(task: str) -> Parser:
    """The parser of a task's replies.

    Raises
    ------
    ConfigError
        No such task; the known ones are named.
    """
    if task not in _PARSERS:
        raise ConfigError(f"unknown task {task!r}; known tasks: {', '.join(_PARSERS)}")
    return _PARSERS[task]


def read_text(text: str | None, prompt: str, parse: Parser) -> Parsed:
    """What a model's words mean: no words are "empty", and a fault of a parser never loses a paid reply."""
    if text is None or not text.strip():
        return Parsed("empty", "the reply has no text")
    try:
        return parse(text, prompt)
    except Exception as error:
        return Parsed("unparseable", f"the parser failed: {type(error).__name__}: {error}")


@register_task("coordinate")
def _coordinate(text: str, prompt: str) -> Parsed:
    from signpost_kit.parsing import parse_coordinates

    return _adopt(parse_coordinates(text, echo=_examples(prompt)), structured=False)


@register_task("probing")
def _probing(text: str, prompt: str) -> Parsed:
    from signpost_kit.parsing import parse_probing

    return _adopt(parse_probing(text, echo=_examples(prompt)), structured=True)


@register_task("defense")
def _defense(text: str, prompt: str) -> Parsed:
    from signpost_kit.parsing import parse_defense

    return _adopt(parse_defense(text, echo=_examples(prompt)), structured=True)


@register_task("hint")
def _hint(text: str, prompt: str) -> Parsed:
    from signpost_kit.parsing.hints import parse_hint, spoken

    reply = parse_hint(text)
    return Parsed(reply.status, reply.reason, form="hint", fields=spoken(reply))


@register_task("claim")
def _claim(text: str, prompt: str) -> Parsed:
    from signpost_kit.parsing import parse_verdict

    reply = parse_verdict(text)
    fields = {"verdict": reply.verdict, "confidence": _number(reply.confidence)}
    return Parsed(reply.status, reply.reason, form="claim", fields=fields)


@register_task("audit_points")
def _audit_points(text: str, prompt: str) -> Parsed:
    from signpost_kit.parsing.audits import parse_points

    reply = parse_points(text)
    return Parsed(reply.status, reply.reason, form="audit", fields=reply.fields)


@register_task("audit_contentious")
def _audit_contentious(text: str, prompt: str) -> Parsed:
    from signpost_kit.parsing.audits import parse_contentious

    reply = parse_contentious(text)
    return Parsed(reply.status, reply.reason, form="audit", fields=reply.fields)


@register_task("image_audit")
def _image_audit(text: str, prompt: str) -> Parsed:
    from signpost_kit.parsing.audits import parse_image_audit

    reply = parse_image_audit(text)
    return Parsed(reply.status, reply.reason, form="audit", fields=reply.fields)


@register_task("consistency")
def _consistency(text: str, prompt: str) -> Parsed:
    from signpost_kit.parsing.cross_task import parse_consistency

    return _adopt(parse_consistency(_without_question(text, prompt)), structured=True)


@register_task("country")
def _country(text: str, prompt: str) -> Parsed:
    from signpost_kit.parsing.cross_task import parse_country

    return _adopt(parse_country(_without_question(text, prompt)), structured=True)


@register_task("language")
def _language(text: str, prompt: str) -> Parsed:
    from signpost_kit.parsing.cross_task import parse_language

    return _adopt(parse_language(_without_question(text, prompt)), structured=True)


@functools.lru_cache(maxsize=64)
def _examples(prompt: str) -> tuple[tuple[float, float], ...]:
    """The positions that a prompt shows as examples."""
    from signpost_kit.parsing.pairs import read_positions

    return tuple((found.lat, found.lon) for found in read_positions(prompt).candidates)


def _without_question(text: str, prompt: str) -> str:
    """The reply without lines of the question, which some models hand back before they answer."""
    asked = {line.strip() for line in prompt.splitlines() if line.strip()}
    return "\n".join(line for line in text.splitlines() if line.strip() not in asked)


def _adopt(result: Any, *, structured: bool) -> Parsed:
    """A parser's own result as the store keeps it."""
    status = result.status
    lat, lon = _number(getattr(result, "lat", None)), _number(getattr(result, "lon", None))
    if status != "ok":
        lat = lon = None
    return Parsed(
        status=status,
        reason=getattr(result, "reason", ""),
        lat=lat,
        lon=lon,
        n_candidates=getattr(result, "n_candidates", None),
        form=getattr(result, "form", "") or "",
        fields=_fields(result) if structured else None,
    )


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _fields(result: Any) -> dict[str, Any]:
    """What a structured result says beyond the columns that every reply has."""
    columns = {field.name for field in dataclasses.fields(Parsed)}
    return {name: _plain(value) for name, value in dataclasses.asdict(result).items() if name not in columns}


def _plain(value: Any) -> Any:
    """Values as JSON takes them: NaN is None."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
