"""What makes a replacement text usable, whoever wrote it; every fault has the span, the kind and the reason."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from signpost_kit.benchmark.groups import Group, Span
from signpost_kit.errors import DataError
from signpost_kit.fonts import missing_glyphs, script_of, scripts_in
from signpost_kit.geocoding import Place, continent_of, default_gazetteer
from signpost_kit.geocoding.names import fold
from signpost_kit.replacements.texts import max_length, width

__all__ = ["KINDS", "Fault", "country_of", "faults_of", "longest", "validate"]

KINDS = ("similar", "random", "adversarial")
_WIDER, _SPARE_EM = (
    2.0,
    1.5,
)  # a written text may be twice as wide as the original, and a little more where it is short
_NARROWER = 0.2
_DISCLOSING = 300_000  # people of a far city that a part of a written text may not name: saints are towns too
_LETTER_EM = 0.58  # of a Latin letter, see texts.width
_MARKS = frozenset(" .,:;'’‘·・-–—&/+!?¿¡#°№،。、「」ー~@")
_ALSO = frozenset("\u200c\u200d\u0640")  # joiners inside Persian and Indic words, and the Arabic stretch


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong."""

    span: int
    """1, 2, ...; 0: the whole reply."""
    kind: str
    """similar, random, adversarial, or empty."""
    message: str

    def __str__(self) -> str:
        where = ", ".join(part for part in (f"span {self.span}" if self.span else "", self.kind) if part)
        return f"{where}: {self.message}" if where else self.message


def country_of(group: Group) -> str:
    """The group's country, or that of the nearest city."""
    return group.country or default_gazetteer().nearest(group.lat, group.lon)[0].country


def longest(original: str) -> int:
    """How many Latin letters a written replacement may have, by length and by width; wide letters count double."""
    return max(4, min(max_length(original), int((_WIDER * width(original) + _SPARE_EM) / _LETTER_EM)))


def validate(group: Group) -> list[str]:
    """What is wrong with a group's replacements, one line per fault; empty when all is well.

    Asked of any generator's texts: fields present, length, drawable letters, each text once in the picture, another
    script for `random`, a place on another continent for `adversarial`, none elsewhere for `similar` and `random`.
    """
    return [
        f"span {fault.span} ({group.spans[fault.span - 1].text!r}), {fault.kind}: {fault.message}"
        for fault in faults_of(group)
    ]


def faults_of(group: Group, *, places: Sequence[Place | None] = (), written: bool = False) -> list[Fault]:
    """The faults of a group's replacements.

    Parameters
    ----------
    places
        Per span, the place that the writer says its adversarial text names; it counts where the gazetteer finds
        none in the text (a square, a landmark), and must be known to the gazetteer itself.
    written
        Written by a model: also the width must be near the original's, and a text holds only what signs hold. A
        small town's name inside a similar or random text is let pass (`Boulangerie Saint-Pierre`).
    """
    faults: list[Fault] = []
    country = country_of(group) if group.spans else ""
    seen: dict[str, str] = {fold(span.text): "an original" for span in group.spans}
    for number, span in enumerate(group.spans, start=1):
        meant = places[number - 1] if number <= len(places) else None
        for kind in KINDS:
            text = span.replacements.get(kind, "")
            if not text.strip():
                faults.append(Fault(number, kind, "missing"))
                continue
            messages = [*_shape(text, span, written), *_repeated(text, seen)]
            seen[fold(text)] = f"{kind} of span {number}"
            if message := _place_fault(kind, text, span, country, meant, written=written):
                messages.append(message)
            faults += [Fault(number, kind, message) for message in messages]
    return faults


def _shape(text: str, span: Span, written: bool) -> list[str]:
    if written and (fault := _strange(text)):
        return [fault]
    found = []
    if len(text) > max_length(span.text):
        found.append(f"{text!r} has {len(text)} characters, allowed are {max_length(span.text)}")
    elif written and width(text) > _WIDER * width(span.text) + _SPARE_EM and len(text) > 4:
        found.append(
            f"{text!r} is too wide for the place of {span.text!r}; at most {longest(span.text)} characters"
        )
    elif written and width(text) < _NARROWER * width(span.text):
        found.append(f"{text!r} is too short for the place of {span.text!r}")
    if lost := _undrawable(text):
        found.append(f"no font draws {lost!r} in {text!r}")
    return found


def _strange(text: str) -> str:
    """Why a text is none that a sign could bear: controls, brackets, quotes, emoji, or no letter at all."""
    odd = "".join(c for c in dict.fromkeys(text) if not _on_signs(c))
    if odd:
        shown = ", ".join(unicodedata.name(c, f"U+{ord(c):04X}").lower() for c in odd[:3])
        return f"{text[:40]!r} holds characters that have no place on a sign ({shown})"
    if not any(c.isalnum() for c in text):
        return f"{text!r} has no letter"
    return "" if text == text.strip() and "  " not in text else f"{text!r} has stray blanks"


def _on_signs(char: str) -> bool:
    return char in _MARKS or char in _ALSO or unicodedata.category(char)[0] in "LM" or char.isdecimal()


def _repeated(text: str, seen: dict[str, str]) -> list[str]:
    key = fold(text)
    return [f"{text!r} stands twice in the picture (as {seen[key]})"] if key in seen else []


def _undrawable(text: str) -> str:
    lost = ""
    for script in scripts_in(text) or ("Latin",):
        part = "".join(c for c in text if script_of(c) == script or not c.isalpha())
        try:
            lost += missing_glyphs(part, script)
        except DataError:
            lost += part
    return lost


def _place_fault(kind: str, text: str, span: Span, country: str, meant: Place | None, *, written: bool) -> str:
    place = default_gazetteer().locate(text)
    if written and kind != "adversarial" and place and not place.whole and place.population < _DISCLOSING:
        place = None
    if kind == "random":
        if set(scripts_in(text)) & set(scripts_in(span.text)):
            return f"{text!r} shares the script of {span.text!r}"
        return f"{text!r} names {place.name}, {place.country}" if place else ""
    if kind == "similar":
        return f"{text!r} names {place.name}, {place.country}" if place and place.country != country else ""
    place = place or meant
    if place is None:
        return f"{text!r} names no place that the gazetteer knows"
    if place.continent == continent_of(country):
        return f"{text!r} names {place.name}, on the continent of the truth ({place.continent})"
    return ""
