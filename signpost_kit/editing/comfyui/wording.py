"""What the edit model is told: templates in params/prompts/, filled with a picture's texts and their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from signpost_kit.benchmark.groups import Span
from signpost_kit.errors import ConfigError

if TYPE_CHECKING:
    from signpost_kit import prompts

__all__ = ["REMOVAL", "REPLACEMENT", "Instruction", "instruct", "where_in_words"]

REMOVAL, REPLACEMENT = "removal", "replacement"
"""Names of the templates. They are Jinja templates with one variable, `spans`: each has `text` (what stands there),
`where` (its place in words, perhaps empty) and `new` (what shall stand there; empty: it is removed)."""

_COLUMNS, _ROWS = ("left", "centre", "right"), ("top", "middle", "bottom")


@dataclass(frozen=True)
class Instruction:
    """What is said about one picture."""

    text: str
    template: str
    """Name of the template."""
    template_hash: str


@dataclass(frozen=True)
class _Line:
    text: str
    where: str
    new: str


def instruct(spans: Sequence[Span], variant: str, *, width: int, height: int) -> Instruction:
    """The instruction for one variant.

    Parameters
    ----------
    spans
        What is to be changed; a span that has no replacement for the variant is removed.
    variant
        Blank, Similar, Random or Adversarial.
    width, height
        Of the Original, in pixels: a span without words for its place is placed by its polygon.

    Raises
    ------
    ConfigError
        The template is missing or cannot be filled.
    """
    from signpost_kit import prompts

    name = REMOVAL if variant == "Blank" else REPLACEMENT
    template = prompts.load(name)
    key = variant.lower()
    lines = [
        _Line(
            text=_one_line(span.text),
            where=_one_line(span.location) or where_in_words(span.polygon, width, height),
            new="" if variant == "Blank" else _one_line(span.replacements.get(key, "")),
        )
        for span in spans
    ]
    return Instruction(_fill(template, lines), name, template.hash)


def where_in_words(polygon: Sequence[Sequence[float]], width: int, height: int) -> str:
    """The place of a polygon in a picture, such as "at the top left"; empty when there is no polygon."""
    if not polygon or width < 1 or height < 1:
        return ""
    x = sum(point[0] for point in polygon) / len(polygon) / width
    y = sum(point[1] for point in polygon) / len(polygon) / height
    column, row = _COLUMNS[min(max(int(3 * x), 0), 2)], _ROWS[min(max(int(3 * y), 0), 2)]
    if column == "centre":
        return "in the centre" if row == "middle" else f"at the {row} centre"
    return f"at the {column}, half way up" if row == "middle" else f"at the {row} {column}"


def _fill(template: prompts.Prompt, lines: list[_Line]) -> str:
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    try:
        filled = environment.from_string(template.text).render(spans=lines).strip()
    except jinja2.TemplateError as error:
        raise ConfigError(
            f"{template.path} cannot be filled ({error}): it is a Jinja template with the variable spans, each "
            "with text, where and new"
        ) from error
    if not filled:
        raise ConfigError(f"{template.path} gives an empty instruction")
    return filled


def _one_line(text: str) -> str:
    """On one line, and without the mark that the templates put around it."""
    return " ".join(text.split()).replace('"', "”")
