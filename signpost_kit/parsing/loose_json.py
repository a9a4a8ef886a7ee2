"""JSON as models write it: comments, trailing or missing commas, single quotes, bare keys and bare values."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["json_objects", "read_loose"]

_MAX_DEPTH = 40
_MAX_TRIES = 60  # objects tried per reply, counted from the end
_LONGEST = 100_000

_BRACE = re.compile(r'\\.|["{}]', re.DOTALL)
_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|#[^\n]*)*")
_DOUBLE = re.compile(
    r'["\u201c\u201d]((?:[^"\u201c\u201d\\]|\\.|["\u201c\u201d](?!\s*(?:[,:}\]\n]|$|["\u201c][^"\u201c\u201d\n]{1,60}["\u201d]\s*:)))*)["\u201c\u201d]',
    re.DOTALL,
)
_SINGLE = re.compile(r"'((?:[^'\\]|\\.|'(?!\s*(?:[,:}\]\n]|$)))*)'", re.DOTALL)
_BARE_KEY = re.compile(r"[^\W\d][\w \-]{0,60}?(?=\s*:)")
_BARE_VALUE = re.compile(r"[^,{}\[\]\n]*")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None, "none": None, "undefined": None, "yes": True, "no": False}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def json_objects(text: str) -> list[dict[str, Any]]:
    """The objects of a text that are not inside another one, last first; read strictly where possible.

    Stops at the first strict or loose success per object; what is no object at all is left out.
    """
    if len(text) > _LONGEST:
        text = text[-_LONGEST:]
    found: list[dict[str, Any]] = []
    for aware in (True, False):  # a stray quote in prose or in broken JSON hides braces from the first way
        for start, end in reversed(_spans(text, aware)[-_MAX_TRIES:]):
            value = _read(text[start:end])
            if value is not None:
                found.append(value)
        if any(found):
            break
    return found


def read_loose(text: str) -> dict[str, Any] | None:
    """One object that starts at the first character, read with every tolerance; None if nothing is in it."""
    try:
        value, _ = _Loose(text).object(0, 0)
    except _GiveUpError:
        return None
    return value or None


def _read(piece: str) -> dict[str, Any] | None:
    try:
        value = json.loads(piece)
    except (ValueError, RecursionError):
        return read_loose(piece)
    return value if isinstance(value, dict) else None


def _spans(text: str, aware_of_strings: bool) -> list[tuple[int, int]]:
    """Start and end of the outermost balanced braces."""
    spans: list[tuple[int, int]] = []
    depth = start = 0
    quoted = False
    for match in _BRACE.finditer(text):
        mark = match[0]
        if mark == '"':
            quoted = aware_of_strings and depth > 0 and not quoted
        elif quoted or len(mark) > 1:
            continue
        elif mark == "{":
            if depth == 0:
                start = match.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                spans.append((start, match.end()))
    return spans


class _GiveUpError(Exception):
    """Too deep to be a reply."""


class _Loose:
    """A reader that always moves forward; what it cannot name it skips."""

    def __init__(self, text: str) -> None:
        self.text = text

    def object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        if depth > _MAX_DEPTH:
            raise _GiveUpError
        out: dict[str, Any] = {}
        at += 1
        while at < len(self.text):
            at = self._space(at)
            mark = self.text[at : at + 1]
            if mark == "}" or not mark:
                return out, at + 1
            if mark in ",;":
                at += 1
                continue
            key, after = self._key(at)
            if key is None:
                at = max(_BARE_VALUE.match(self.text, at).end(), at + 1)  # type: ignore[union-attr]
                continue
            out[key], at = self._value(after, depth)
        return out, at

    def _key(self, at: int) -> tuple[str | None, int]:
        match = _DOUBLE.match(self.text, at) or _SINGLE.match(self.text, at)
        key = _unescape(match[1]) if match else None
        if not match:
            match = _BARE_KEY.match(self.text, at)
            key = match[0].strip() if match else None
        if not match:
            return None, at
        colon = self._space(match.end())
        return (key, colon + 1) if self.text[colon : colon + 1] == ":" else (None, at)

    def _value(self, at: int, depth: int) -> tuple[Any, int]:
        at = self._space(at)
        mark = self.text[at : at + 1]
        if mark == "{":
            return self.object(at, depth + 1)
        if mark == "[":
            return self._array(at, depth + 1)
        match = _DOUBLE.match(self.text, at) or _SINGLE.match(self.text, at)
        if match:
            return _unescape(match[1]), match.end()
        bare = _BARE_VALUE.match(self.text, at)
        end = bare.end() if bare else at
        return _bare(self.text[at:end].partition("//")[0].strip()), end

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        if depth > _MAX_DEPTH:
            raise _GiveUpError
        out: list[Any] = []
        at += 1
        while at < len(self.text):
            at = self._space(at)
            mark = self.text[at : at + 1]
            if mark == "]" or not mark:
                return out, at + 1
            if mark in ",}":
                at += 1
                continue
            value, end = self._value(at, depth)
            out.append(value)
            at = max(end, at + 1)
        return out, at

    def _space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at


def _bare(word: str) -> Any:
    lower = word.lower()
    if lower in _WORDS:
        return _WORDS[lower]
    if _NUMBER.fullmatch(word) and len(word) < 60:
        return float(word) if any(mark in word for mark in ".eE") else int(word)
    return word.strip("\"'")


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda m: chr(int(m[1][1:], 16)) if len(m[1]) == 5 else _ESCAPED.get(m[1], m[1]), text)
