"""Which language's word for a road stands at its proper place in a name, looked up rather than searched.

A name is compared with the words of all languages at once: by its first and last word, by the ends of its words,
and, in scripts without blanks, by what stands inside. Where several languages would do, the first in the list is
taken.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from signpost_kit.normal_form import fold, is_unspaced, one_edit, unconfused

__all__ = ["RoadIndex", "RoadWords"]

_SIDES = frozenset({"n", "s", "e", "w", "nord", "sud", "north", "south", "east", "west", "ne", "nw", "se", "sw"})
_ARTICLES = frozenset(
    {"the", "la", "le", "les", "el", "il", "lo", "de", "den", "am", "an", "im", "in", "zum", "zur"}
)
_FORGIVING = 6  # letters a road word must have for one wrong letter to be forgiven
_SHORTEST_NAME = 3  # letters before an ending


@dataclass(frozen=True)
class RoadWords:
    """How roads are called in one language, in normal form."""

    position: str
    """Where `words` stand in a name: first, last or any."""
    words: frozenset[str]
    """Stand apart from the name."""
    glued: tuple[str, ...]
    """End one word with the name, longest first."""
    run: tuple[str, ...]
    """Stand inside text without spaces, longest first."""
    ends: tuple[str, ...]
    """End a run of letters without spaces."""
    literal: frozenset[str] = frozenset()
    """First words whose accents matter, in small letters."""


class RoadIndex:
    """The road words of all languages, by where they stand."""

    def __init__(self, roads: Mapping[str, RoadWords]) -> None:
        self._codes = list(roads)
        all_roads = list(enumerate(roads.values()))
        self._words = [road.words for _, road in all_roads]
        self._first = _ranks((w, i) for i, road in all_roads if road.position != "last" for w in road.words)
        self._last = _ranks((w, i) for i, road in all_roads if road.position != "first" for w in road.words)
        self._literal = _ranks((w, i) for i, road in all_roads for w in road.literal)
        self._glued: dict[str, list[int]] = {}
        for i, road in all_roads:
            for end in road.glued:
                self._glued.setdefault(end, []).append(i)
        self._lengths = sorted({len(end) for end in self._glued})
        self._run = [(word, i) for i, road in all_roads for word in road.run]
        self._ends = [(word, i) for i, road in all_roads for word in road.ends]
        self._long_first, self._long_last = _by_letter(self._first), _by_letter(self._last)

    def language(self, text: str, key: str | None = None) -> str:
        """Its code, or empty; `key` is the text in normal form, where it is known already."""
        read = unconfused(fold(text) if key is None else key).split()
        tokens = read if len(read) == 1 else [token for token in read if token not in _SIDES]
        if self._literal and len(tokens) > 1:
            start = unicodedata.normalize("NFC", text).casefold().split(maxsplit=1)[:1]
            if start and start[0] in self._literal:
                return self._codes[self._literal[start[0]]]
        names = [token for token in tokens if not token.isdigit()]
        if not names:
            return ""
        if any(is_unspaced(name) for name in names):
            return self._code(self._in_run("".join(names)))
        first = names[1] if len(names) > 2 and names[0] in _ARTICLES else names[0]
        found = self._endings(names)
        if len(names) > 1:
            found += [
                ranks[word] for ranks, word in ((self._first, first), (self._last, names[-1])) if word in ranks
            ]
            if not found:
                found = [*_near(first, self._long_first), *_near(names[-1], self._long_last)]
        return self._code(found)

    def _code(self, ranks: list[int]) -> str:
        return self._codes[min(ranks)] if ranks else ""

    def _in_run(self, run: str) -> list[int]:
        inside = [i for word, i in self._run if len(run) > len(word) and word in run]
        return inside + [i for word, i in self._ends if run.endswith(word) and len(run) > len(word) + 1]

    def _endings(self, names: list[str]) -> list[int]:
        return [
            i
            for name in names
            for length in self._lengths
            if len(name) - length >= _SHORTEST_NAME
            for i in self._glued.get(name[-length:], ())
            if name not in self._words[i]
        ]


def _ranks(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The lowest rank of each word."""
    ranks: dict[str, int] = {}
    for word, rank in pairs:
        ranks[word] = min(rank, ranks.get(word, rank))
    return ranks


def _by_letter(ranks: Mapping[str, int]) -> dict[str, list[tuple[str, int]]]:
    """Words long enough for a slip, by their first letter, which must be right."""
    found: dict[str, list[tuple[str, int]]] = {}
    for word, rank in ranks.items():
        if len(word) >= _FORGIVING:
            found.setdefault(word[0], []).append((word, rank))
    return found


def _near(token: str, words: Mapping[str, list[tuple[str, int]]]) -> list[int]:
    if len(token) < _FORGIVING:
        return []
    return [rank for word, rank in words.get(token[0], ()) if one_edit(word, token)]
