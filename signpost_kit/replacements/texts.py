"""The word lists of the offline replacements (words.yml), and how wide a text is."""

from __future__ import annotations

import functools
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError
from signpost_kit.fonts import script_of

if TYPE_CHECKING:
    import numpy as np

__all__ = ["WIDEST", "WORDS_FILE", "LanguageTexts", "Words", "fitting", "load_words", "max_length", "width"]

WORDS_FILE = Path(__file__).with_name("words.yml")
_LISTS = ("streets", "shops", "generic", "at_street", "at_shop")
WIDEST = 2.0
"""A replacement should be at most so many times as wide as the original: more makes its letters tiny."""
_WIDE = frozenset({"Han", "Japanese", "Hangul"})


@dataclass(frozen=True)
class LanguageTexts:
    """What stands on signs of one language."""

    streets: tuple[str, ...]
    shops: tuple[str, ...]
    generic: tuple[str, ...]
    at_street: tuple[str, ...]
    """Patterns with `{place}`."""
    at_shop: tuple[str, ...]

    @property
    def script(self) -> str:
        """Script of the texts themselves (the patterns may be Latin)."""
        return script_of("".join(self.shops))


@dataclass(frozen=True)
class Words:
    """All of words.yml."""

    languages: dict[str, LanguageTexts]
    random: dict[str, tuple[str, ...]]
    targets: dict[str, dict[str, str]]
    """Language -> main name in the gazetteer -> name in that language."""


@functools.cache
def load_words(path: Path = WORDS_FILE) -> Words:
    """Read and check the lists.

    Raises
    ------
    ConfigError
        A key is unknown or missing, or an entry is no list of texts; the place is named.
    """
    from signpost_kit.strict_yaml import read_yaml

    data, _ = read_yaml(path)
    if set(data) != {"languages", "random", "targets"}:
        raise ConfigError(
            f"{path}: the keys must be languages, random and targets; found {', '.join(sorted(data))}"
        )
    languages: dict[str, LanguageTexts] = {}
    for code, entry in data["languages"].items():
        if not isinstance(entry, dict) or set(entry) != set(_LISTS):
            raise ConfigError(f"{path}: languages.{code} must have exactly the keys {', '.join(_LISTS)}")
        languages[code] = LanguageTexts(**{k: _texts(entry[k], f"languages.{code}.{k}", path) for k in _LISTS})
    random = {script: _texts(entry, f"random.{script}", path) for script, entry in data["random"].items()}
    return Words(languages, random, {code: dict(names) for code, names in data["targets"].items()})


def _texts(value: Any, name: str, path: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
        raise ConfigError(f"{path}: {name} must be a list of texts (put YES, NO, ON and OFF in quotes)")
    return tuple(value)


@functools.lru_cache(maxsize=8192)
def width(text: str) -> float:
    """Rough width of a text in em: letters of Chinese, Japanese and Korean count 1, others about a half."""
    marks = sum(unicodedata.combining(c) != 0 or unicodedata.category(c) == "Mn" for c in text)
    return (
        sum(1.0 if c.isalpha() and script_of(c) in _WIDE else 0.32 if c == " " else 0.58 for c in text)
        - 0.58 * marks
    )


def max_length(original: str) -> int:
    """Characters a replacement may have: at most 15, or the original's length and 4 more."""
    return max(15, len(original) + 4)


def fitting(candidates: tuple[str, ...] | list[str], original: str, rng: np.random.Generator) -> list[str]:
    """Candidates that are short enough, those of the original's width first, shuffled among equals.

    Widths count in steps of a fifth of the original's, so that the choice stays varied.
    """
    wanted = max(width(original), 1.0)
    usable = [c for c in candidates if len(c) <= max_length(original)]
    order = rng.permutation(len(usable))
    # A shorter text fits any sign; a wider one must be squeezed, which reads worse.
    cost = [int(abs(width(c) - wanted) / wanted / 0.2) + (2 if width(c) > 1.5 * wanted else 0) for c in usable]
    return [usable[i] for i in sorted(order, key=lambda i: cost[i])]
