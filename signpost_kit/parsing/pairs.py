"""From tokens to candidate positions: which two numbers of a text belong together as latitude and longitude.

Labels and hemisphere letters say which is which, in whatever order they come; otherwise the first number is the
latitude. Nothing is ever swapped to make a pair fit.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from signpost_kit.parsing.angles import Token, decimal_points, tokens
from signpost_kit.parsing.cleaning import cut_map_links, plain_characters

__all__ = ["Candidate", "Reading", "read_positions"]


class Candidate(NamedTuple):
    """A possible answer; degrees as written, in range or not."""

    start: int
    end: int
    lat: float
    lon: float
    form: str


class Reading(NamedTuple):
    """What a text holds."""

    text: str
    """As it was read: plain characters, links blanked."""
    candidates: list[Candidate]
    """In order of appearance."""
    has_range: bool
    """A span of degrees was given ("20 to 60 N"): not a point."""
    n_numbers: int


_GAP_LIMIT = 60
_LABEL_GAP = re.compile(
    r"""[._ ]?(?:deg(?:rees?)?|dd|decimal|dec|value|est(?:imated?)?|coordinates?|pred(?:icted|iction)?)?
    [\"'\s:=*_|()\[\]{}≈~>→-]*
    (?:(?:is|was|would\sbe|could\sbe|of|are|at|about|approx(?:imately|\.)?|around|roughly|circa|ca\.|near|value
        |val|decimal|degrees?|deg|likely|estimated|to\sbe|probably|为|是|约|大约|約)(?![A-Za-z])
    [\"'\s:=*~≈|{(-]*){0,4}""",
    re.VERBOSE | re.IGNORECASE,
)
_LABEL_TO_LABEL = re.compile(r"[\s,/&;|()\"'_*:-]{0,12}(?:and|y|et|und|e)?[\s\"'_*]{0,3}", re.IGNORECASE)
_PAIR_GAP = re.compile(
    r"(?:[\s,;:/|()\[\]\"'*_·•+&.=—-]|and\b|by\b|latitud\w*|longitud\w*|lat\b|long\b|lon\b|degrees?\b|y\b|et\b|und\b|of\b|breite\w*|länge\w*)*",
    re.IGNORECASE,
)
_AFTER_VALUE = re.compile(r"[ \t]{0,2}(?:degrees?|°)?[ \t(]{0,3}(?:of )?", re.IGNORECASE)
_VALUE_TO_VALUE = re.compile(r"[\s,;)]*(?:and|&)?\s*", re.IGNORECASE)
_ISO_6709 = re.compile(r"(?<![\w.+-])([+-]\d{2}(?:\.\d{1,20})?)([+-]\d{3}(?:\.\d{1,20})?)(?=[+-]\d|/)")
_RANGE = re.compile(r"\s*(?:-|—|\.\.\.?|…|to|through|until|bis|à|至|到)\s*", re.IGNORECASE)
_AND = re.compile(r"\s*(?:and|&)\s*", re.IGNORECASE)
_PLUS_MINUS = re.compile(r"[ ]?(?:±|\+/-)[ ]?\d{1,5}(?:\.\d{1,10})?[ ]?(?:°|degrees?|km|m\b)?", re.IGNORECASE)
_GEOJSON = re.compile(
    r"\"type\"\s{0,9}:\s{0,9}\"point\"\s{0,9},\s{0,9}\"coordinates\"\s{0,9}:\s{0,9}\[\s{0,9}$",
    re.IGNORECASE,
)

_WKT = re.compile(r"\bPOINT ?\( ?$")  # well-known text, longitude first; "Bennelong Point (" is none

_SEPARATOR = re.compile(
    r"(?P<comma>[\"']?\s*[,;]\s*[\"']?)|(?P<space>\s+)|(?P<other>\s*[/|]\s*|\s+and\s+)", re.IGNORECASE
)
_UNIT = re.compile(
    r"\s?(?:km|m|mi|miles?|met(?:er|re)s?|feet|ft|%|percent|px|pixels?|mm|cm|kg|years?|hours?|minutes?|stars?|[€$£])(?![A-Za-z])",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"coord|locat|position|\blat|\blon|gps|point|answer|guess|final|estimate|predict|place|坐标|位置|答案|geo:|координат",
    re.IGNORECASE,
)
_OTHER_MEASURE = re.compile(
    r"\b(?:confiden|probab|score|certain|percent|temperature|rating|size|pixel|bbox|box)\w*\W{0,12}$", re.IGNORECASE
)
_WHOLE = re.compile(r"[\s()\[\]{}<>\"'.,;:*#=_-]*")


def read_positions(text: str) -> Reading:
    """Every candidate position of a text (thinking already removed), in order."""
    text = plain_characters(text)
    text, links, others = cut_map_links(text)
    found = [Candidate(start, start, float(lat), float(lon), "map_link") for start, lat, lon in links]
    for start, inner in others:
        position = _Reader(plain_characters(inner)).read()[:1]
        found += [Candidate(start, start, c.lat, c.lon, "map_link") for c in position]
    text = decimal_points(text)
    if "±" in text or "+/-" in text:
        text = _PLUS_MINUS.sub("", text)
    if "/" in text:
        text = _ISO_6709.sub(r"\1, \2", text)
    reader = _Reader(text)
    found += reader.read()
    found.sort(key=lambda candidate: candidate.start)
    return Reading(text, found, reader.has_range, reader.n_numbers)


class _Reader:
    """One pass over the tokens; a number is used once, by the strongest evidence first."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.used = [token.is_label for token in self.tokens]
        self.has_range = False
        self.n_numbers = self.used.count(False)
        self.found: list[Candidate] = []

    def read(self) -> list[Candidate]:
        if self.n_numbers >= 2:
            self._ranges()
            if self.n_numbers < len(self.tokens):
                self._labelled()
            self._neighbours()
        return self.found

    def _gap(self, i: int) -> str:
        """The text between tokens i and i + 1; a long one is cut, and then fits no pattern."""
        start, end = self.tokens[i].end, self.tokens[i + 1].start
        return self.text[start:end] if end - start <= _GAP_LIMIT else "?"

    def _ranges(self) -> None:
        for i in range(len(self.tokens) - 1):
            first, second = self.tokens[i], self.tokens[i + 1]
            if first.is_label or second.is_label or (first.axis and second.axis and first.axis != second.axis):
                continue
            gap = self._gap(i)
            joined = _RANGE.fullmatch(gap) is not None
            if not joined and _AND.fullmatch(gap):
                joined = "between" in self.text[max(0, first.start - 14) : first.start].lower()
            if joined:
                self.used[i] = self.used[i + 1] = True
                named = i > 0 and self.tokens[i - 1].is_label
                self.has_range |= named or first.marked or second.marked or first.decimals + second.decimals > 0

    def _labelled(self) -> None:
        pending: Token | None = None
        pending_start = 0
        i, last = 0, len(self.tokens) - 1
        while i < last:
            label = self.tokens[i]
            if not label.is_label:
                i += 1
                continue
            step = self._two_labels(i) or self._values_before(i)
            if step:
                i += step
                pending = None
                continue
            value = self.tokens[i + 1]
            i += 1
            if (
                self.used[i]
                or (value.axis and value.axis != label.axis)
                or not _LABEL_GAP.fullmatch(self._gap(i - 1))
            ):
                continue
            value = value._replace(axis=label.axis)
            self.used[i] = True
            quoted = self.text[label.start - 1 : label.start] in ('"', "'") or self.text[
                label.end : label.end + 1
            ] in ('"', "'")
            if pending is not None and pending.axis != label.axis and label.start - pending.end < 400:
                self._keep(pending, value, "json" if quoted else "labelled", start=pending_start)
                pending = None
            else:
                pending, pending_start = value, label.start

    def _two_labels(self, i: int) -> int:
        """ "Latitude, longitude: 48.85, 2.35": two labels, then two values in that order. Tokens consumed, or 0."""
        if i + 3 >= len(self.tokens) or self.used[i + 2] or self.used[i + 3]:
            return 0
        first, second = self.tokens[i], self.tokens[i + 1]
        a, b = self.tokens[i + 2], self.tokens[i + 3]
        if not second.is_label or first.axis == second.axis or not _LABEL_TO_LABEL.fullmatch(self._gap(i)):
            return 0
        if not _LABEL_GAP.fullmatch(self._gap(i + 1)) or not _SEPARATOR.fullmatch(self._gap(i + 2)):
            return 0
        if (a.axis and a.axis != first.axis) or (b.axis and b.axis != second.axis):
            return 0
        self.used[i + 2] = self.used[i + 3] = True
        self._keep(a._replace(axis=first.axis), b._replace(axis=second.axis), "labelled", start=first.start)
        return 4

    def _values_before(self, i: int) -> int:
        """ "12.0 latitude and 100.0 longitude": the label follows its value. Tokens consumed, or 0."""
        if i == 0 or i + 2 >= len(self.tokens) or self.used[i - 1] or self.used[i + 1]:
            return 0
        a, b, last = self.tokens[i - 1], self.tokens[i + 1], self.tokens[i + 2]
        if not last.is_label or last.axis == self.tokens[i].axis:
            return 0
        if (a.axis and a.axis != self.tokens[i].axis) or (b.axis and b.axis != last.axis):
            return 0
        gaps = self._gap(i - 1), self._gap(i), self._gap(i + 1)
        if not (
            _AFTER_VALUE.fullmatch(gaps[0])
            and _VALUE_TO_VALUE.fullmatch(gaps[1])
            and _AFTER_VALUE.fullmatch(gaps[2])
        ):
            return 0
        self.used[i - 1] = self.used[i + 1] = True
        self._keep(a._replace(axis=self.tokens[i].axis), b._replace(axis=last.axis), "labelled")
        return 3

    def _neighbours(self) -> None:
        numbers = [i for i, token in enumerate(self.tokens) if not token.is_label]
        for i, j in itertools.pairwise(numbers):
            if self.used[i] or self.used[j]:
                continue
            a, b = self.tokens[i], self.tokens[j]
            if b.start - a.end > _GAP_LIMIT:
                continue
            gap = self.text[a.end : b.start]
            if a.axis and b.axis:
                if a.axis == b.axis or not _PAIR_GAP.fullmatch(gap):
                    continue
                form = "hemisphere"
            else:
                form = self._plain_form(a, b, gap) if j == i + 1 else ""
                if not form:
                    continue
            self.used[i] = self.used[j] = True
            self._keep(a, b, form)

    def _plain_form(self, a: Token, b: Token, gap: str) -> str:
        """The form of two neighbours without (full) hemispheres, or "" when they are no position."""
        separator = _SEPARATOR.fullmatch(gap)
        if not separator:
            return ""
        if a.minutes or b.minutes:
            return "dms"
        if a.marked and b.marked and (a.decimals or b.decimals or separator["comma"]):
            return "degrees"
        opened = self.text[max(0, a.start - 2) : a.start].rstrip()[-1:] in ("(", "[")
        closed = self.text[b.end : b.end + 2].lstrip()[:1] in (")", "]")
        if (not opened and _UNIT.match(self.text, b.end)) or _OTHER_MEASURE.search(
            self.text, max(0, a.start - 28), a.start
        ):
            return ""
        if opened and _GEOJSON.search(self.text, max(0, a.start - 80), a.start):
            return "geojson"
        if separator["space"] and _WKT.search(self.text, max(0, a.start - 8), a.start):
            return "wkt"
        whole = self._is_whole(a, b)
        context = whole or bool(_CONTEXT.search(self.text, max(0, a.start - 60), a.start))
        decimals = sorted((a.decimals, b.decimals))
        in_range = abs(a.value) <= 90 and abs(b.value) <= 180
        if (
            whole
            and not decimals[1]
            and not opened
            and (separator["other"] or (a.value == 0 == b.value and gap == ","))
        ):
            return ""  # "3/4", or "0,0", which may be anything; written as coordinates it is a position
        if a.marked or b.marked:
            good = decimals[1] > 0 or context
        elif context:
            good = decimals[1] > 0 or whole or opened or bool(separator["comma"])
        elif opened and closed:
            good = decimals[1] > 0
        elif separator["comma"]:
            good = decimals[0] > 0
        else:
            good = decimals[0] > 1
        if not good or (not in_range and not context and decimals[0] < 2):
            return ""
        return "tuple" if opened and closed else "plain"

    def _is_whole(self, a: Token, b: Token) -> bool:
        """Nothing but punctuation around the pair."""
        if a.start > 20 or len(self.text) - b.end > 40:
            return False
        return bool(_WHOLE.fullmatch(self.text[: a.start]) and _WHOLE.fullmatch(self.text[b.end :]))

    def _keep(self, a: Token, b: Token, form: str, *, start: int | None = None) -> None:
        reversed_order = form in ("geojson", "wkt") or a.axis == "lon" or b.axis == "lat"
        lat, lon = (b, a) if reversed_order else (a, b)
        first = min(a.start, b.start) if start is None else start
        form = "dms" if a.minutes or b.minutes else form
        self.found.append(Candidate(first, max(a.end, b.end), lat.value, lon.value, form))
