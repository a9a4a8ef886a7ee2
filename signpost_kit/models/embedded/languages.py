"""Which languages a string of a sign may be in, from its words, endings, letters and script (languages.yml)."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from signpost_kit.fonts import script_of, scripts_in
from signpost_kit.geocoding.names import fold

__all__ = ["LANGUAGE_FILE", "agreement", "language_countries", "language_name", "languages_in", "languages_of"]

LANGUAGE_FILE = Path(__file__).with_name("languages.yml")

_TOKEN = re.compile(r"[^\W\d_]+")
_SHORTEST_GLUED = 4  # OCR drops spaces ("RUEVOLTAIRE"); shorter beginnings would be found in any word
_LETTER_WEIGHT = 0.5
# What a script is called as a language: that of most people who write it.
_SCRIPT_LANGUAGES = {
    "Han": "Chinese",
    "Hangul": "Korean",
    "Cyrillic": "Russian",
    "Devanagari": "Hindi",
    "Ethiopic": "Amharic",
    "Myanmar": "Burmese",
}


@dataclass(frozen=True)
class _Book:
    words: dict[str, tuple[str, ...]]
    endings: dict[str, tuple[str, ...]]
    letters: dict[str, tuple[str, ...]]
    countries: dict[str, tuple[str, ...]]


@functools.cache
def _book() -> _Book:
    import yaml

    raw = yaml.safe_load(LANGUAGE_FILE.read_text(encoding="utf-8"))
    tables: dict[str, dict[str, set[str]]] = {"words": {}, "endings": {}, "letters": {}}
    for language, entry in raw.items():
        for kind, table in tables.items():
            for item in entry.get(kind, ()):
                key = item if kind == "letters" else fold(item)
                table.setdefault(key, set()).add(language)
    frozen = {kind: {k: tuple(sorted(v)) for k, v in table.items()} for kind, table in tables.items()}
    return _Book(countries={name: tuple(e["countries"]) for name, e in raw.items()}, **frozen)


def language_countries(language: str) -> tuple[str, ...]:
    """Countries where signs are in that language, the most likely first; empty for an unknown one."""
    return _book().countries.get(language, ())


def languages_in(country: str) -> tuple[str, ...]:
    """Languages seen on signs of a country (ISO 3166-1 alpha-2), those first for which it is the likeliest one."""
    ranks = {name: places.index(country) for name, places in _book().countries.items() if country in places}
    return tuple(sorted(ranks, key=lambda name: (ranks[name], name)))


def language_name(language: str) -> str:
    """The English name of a language, or of the language that a script mostly stands for."""
    script = language.removeprefix("script:")
    return _SCRIPT_LANGUAGES.get(script, script.capitalize())


def languages_of(lines: Sequence[str]) -> dict[str, float]:
    """Evidence for each language in a picture's strings, strongest first; weights sum to 1, or the dict is empty.

    A word that several languages share counts for each of them in part.
    """
    total: dict[str, float] = {}
    for line in lines:
        for language, weight in _line(line).items():
            total[language] = total.get(language, 0.0) + weight
    whole = sum(total.values())
    return {k: total[k] / whole for k in sorted(total, key=lambda k: (-total[k], k))} if whole else {}


@functools.lru_cache(maxsize=8192)
def _line(text: str) -> dict[str, float]:
    book = _book()
    found: dict[str, float] = {}

    def add(languages: tuple[str, ...], weight: float) -> None:
        for language in languages:
            found[language] = found.get(language, 0.0) + weight / len(languages)

    for token in _TOKEN.findall(fold(text)):
        if token in book.words:
            add(book.words[token], 1.0)
            continue
        for size in range(len(token) - 1, _SHORTEST_GLUED - 1, -1):
            if languages := book.endings.get(token[-size:]):
                add(languages, 1.0)
                break
            if languages := book.words.get(token[:size]):
                add(languages, _LETTER_WEIGHT)
                break
    for letter in sorted(set(text.casefold()) & book.letters.keys()):
        add(book.letters[letter], _LETTER_WEIGHT)
    script = script_of(text)
    if scripts_in(text) and f"script:{script}" in book.countries:
        add((f"script:{script}",), 1.0)
    return found


def agreement(languages: dict[str, float], country: str) -> float:
    """Share (0..1) of the language evidence that fits a country; 0 without any evidence."""
    return sum(weight for language, weight in languages.items() if country in language_countries(language))
