"""Which strings of a picture count as scene text, with a reason for each that does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from signpost_kit.errors import ConfigError
from signpost_kit.geocoding.names import fold
from signpost_kit.ocr.engines import TextLine
from signpost_kit.textrules import brand_kind, counted_chars, is_date, is_digits, is_noise, is_url, is_watermark
from signpost_kit.wordlists import WordLists, load_wordlists

__all__ = ["REASONS", "ScreenedLine", "screen"]

REASONS = (
    "low confidence",
    "short",
    "placeholder",
    "url",
    "watermark",
    "date",
    "digits only",
    "vehicle brand",
    "camera brand",
    "noise",
)
"""Why a string is left out, in the order in which the rules are asked."""


@dataclass(frozen=True)
class ScreenedLine:
    """One line and the verdict on it."""

    line: TextLine
    kept: bool
    reason: str = ""
    """Empty when kept; else one of :data:`REASONS`, with a detail after a colon where one helps."""

    @property
    def code(self) -> str:
        """The reason without its detail."""
        return self.reason.split(":", 1)[0]


def screen(
    lines: Iterable[TextLine],
    *,
    min_confidence: float = 0.3,
    min_chars: int = 2,
    wordlists: WordLists | None = None,
) -> list[ScreenedLine]:
    """Judge each line (SIGNPOST-Bench, OCR screen).

    Parameters
    ----------
    lines
        As read; none gives an empty list.
    min_confidence
        0..1; a line below is left out.
    min_chars
        Letters and digits a string must have.
    wordlists
        By default those of params/taxonomy.yml.

    Raises
    ------
    ConfigError
        A threshold is out of range.
    """
    if not 0 <= min_confidence <= 1:
        raise ConfigError(f"min_confidence {min_confidence} is outside 0..1")
    if min_chars < 1:
        raise ConfigError(f"min_chars {min_chars} must be at least 1")
    lists = wordlists or load_wordlists()
    judged = []
    for line in lines:
        reason = _reason(line, min_confidence, min_chars, lists)
        judged.append(ScreenedLine(line, not reason, reason))
    return judged


def _reason(line: TextLine, min_confidence: float, min_chars: int, lists: WordLists) -> str:
    text, key = line.text, fold(line.text)
    if line.confidence < min_confidence:
        return f"low confidence: {line.confidence:.2f} below {min_confidence:g}"
    if is_watermark(text, lists):  # before "short": a lone copyright sign has no letters
        return "watermark"
    if (count := counted_chars(text)) < min_chars:
        return f"short: {count} of {min_chars} characters"
    if any(
        f" {phrase} " in f" {key} " or (not phrase.isascii() and phrase in key) for phrase in lists.placeholders
    ):
        return "placeholder"
    if is_url(text):
        return "url"
    if is_date(text, lists):
        return "date"
    if is_digits(text):
        return "digits only"
    kind = brand_kind(key, lists)
    if kind in ("vehicle brand", "camera brand"):
        return kind
    return "noise" if is_noise(text, line.confidence) else ""
