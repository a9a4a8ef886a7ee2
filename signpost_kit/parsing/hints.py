"""Replies to a GeoHint question: city, area and building in words, confidences, clues, the evidence checklist."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

from signpost_kit.parsing.cleaning import without_thinking
from signpost_kit.parsing.declining import error_reason, refusal_reason
from signpost_kit.parsing.structured import by_plain_key, first_of, parse_json_object, share_of, words_of

__all__ = ["HintReply", "names_nothing", "parse_hint"]

_NAN = float("nan")
_LINE = re.compile(
    r"^[^\w\n]{0,12}(city|area|neighbou?rhood|district|building|place|confidence(?:[ _](?:area|building|place))?)"
    r"[^\w\n:]{0,4}[:：][*_ \t]{0,6}(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_NOTHING = frozenset(
    ("", "-", "?", "unknown", "unclear", "unsure", "n/a", "na", "none", "null", "not visible", "not known")
)


@dataclass(frozen=True)
class HintReply:
    """What a reply names; None where it leaves a field out. Words are as written, "unknown" included."""

    status: str
    """ok (it names something), empty, refused, unparseable, error."""
    reason: str
    city: str | None = None
    area: str | None = None
    place: str | None = None
    """The building or spot."""
    conf_area: float = _NAN
    """0..1; NaN when not given."""
    conf_fine: float = _NAN
    """Of the building; in the permissive schema of the finest level named."""
    clues: str | None = None
    evidence: dict[str, Any] | None = None
    """The checklist, when the reply has one."""


def names_nothing(text: object) -> bool:
    """Whether a field names no place: empty, "unknown", "N/A" and the like.

    >>> names_nothing("Unknown."), names_nothing("unknown (a café)"), names_nothing("Café Unknown")
    (True, True, False)
    """
    if not isinstance(text, str):
        return True
    plain = re.sub(r"\s*[(\[].*$", "", text.strip()).strip(" .!").casefold()
    return plain in _NOTHING


def parse_hint(text: str | None) -> HintReply:
    """Read a reply of any of the schemas, from JSON (fenced, nested, sloppy) or from labelled lines.

    Examples
    --------
    >>> reply = parse_hint('{"city": "Paris", "area": "Marais", "building": "unknown", "confidence_area": "80%"}')
    >>> reply.status, reply.area, reply.place, reply.conf_area
    ('ok', 'Marais', 'unknown', 0.8)
    """
    if not isinstance(text, str) or not text.strip():
        return HintReply("empty", "the reply is empty")
    if why := error_reason(text):
        return HintReply("error", why)
    body = without_thinking(text)
    fields = _opened(by_plain_key(parse_json_object(body)))
    if not fields.keys() & {"city", "area", "building", "place", "neighbourhood", "neighborhood", "district"}:
        lines = {m[1].lower().replace(" ", "_"): m[2].strip(" *_\t") for m in _LINE.finditer(body)}
        fields = lines or fields
    city, area = (words_of(first_of(fields, *names)) for names in (("city", "town"), _AREA))
    place = words_of(first_of(fields, "building", "place", "spot", "street", "location"))
    evidence = first_of(fields, "evidence", "observations", "observed_evidence")
    found = HintReply(
        status="ok",
        reason="",
        city=city,
        area=area,
        place=place,
        conf_area=share_of(first_of(fields, *_SURE_AREA, "confidence")),
        conf_fine=share_of(first_of(fields, *_SURE_FINE, "confidence")),
        clues=words_of(first_of(fields, "clues", "clue", "reasons")),
        evidence=evidence if isinstance(evidence, dict) else None,
    )
    if not all(names_nothing(word) for word in (city, area, place)):
        return found
    if fields.keys() & {"city", "area", "building", "place"}:
        return _failed(found, "empty", "the reply names no city, area or building")
    why = refusal_reason(body)
    return _failed(found, "refused" if why else "unparseable", why or "the reply has none of the fields")


_SURE_AREA = ("confidence_area", "conf_area", "area_confidence")
_SURE_FINE = ("confidence_building", "conf_fine", "building_confidence", "confidence_place")
_AREA = ("area", "neighbourhood", "neighborhood", "district", "quarter")


def _opened(fields: dict[str, Any]) -> dict[str, Any]:
    """The answer's fields when they stand in an object of their own beside the evidence."""
    for name in ("answer", "location", "prediction", "result"):
        inner = fields.get(name)
        if isinstance(inner, dict) and "city" not in fields:
            return {**{k: v for k, v in fields.items() if k != name}, **by_plain_key(inner)}
    return fields


def _failed(reply: HintReply, status: str, reason: str) -> HintReply:
    return replace(reply, status=status, reason=reason)


def spoken(reply: HintReply) -> dict[str, Any]:
    """The fields as a store keeps them: NaN is None."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in vars(reply).items()
        if name not in ("status", "reason")
    }
