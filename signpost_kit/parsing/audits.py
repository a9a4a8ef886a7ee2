"""Replies of auditors: what is said of every name of a numbered list, and of one picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from signpost_kit.parsing.cleaning import without_thinking
from signpost_kit.parsing.declining import error_reason, refusal_reason
from signpost_kit.parsing.judgements import yes_no
from signpost_kit.parsing.loose_json import json_objects
from signpost_kit.parsing.structured import by_plain_key, first_of, parse_json_object, words_of

__all__ = ["SCENES", "AuditReply", "parse_contentious", "parse_image_audit", "parse_points"]

SCENES = ("street", "interior", "vehicle_interior", "water", "aerial", "other")
"""What a picture may show, as the auditor is asked to call it."""
_MOST_WORDS = 300


class AuditReply(NamedTuple):
    """What an auditor's reply holds."""

    fields: dict[str, Any] | None
    """{"names": [one object per name]}, or the answers for a picture; None unless `status` is ok."""
    status: str
    """ok, empty, refused, unparseable or error."""
    reason: str = ""


def parse_points(text: str | None) -> AuditReply:
    """Read the audit of reference points: n, name, usable, referenceability (0-5 or None), name_en, why.

    Names about which the reply does not say what it must (usable, and if so the referenceability) are left out:
    they are asked about again.

    >>> parse_points('{"names": [{"n": 1, "usable": "yes", "referenceability": 4, "name_en": "Old Bridge"}]}')[0]
    {'names': [{'n': 1, 'name': '', 'usable': True, 'referenceability': 4.0, 'name_en': 'Old Bridge', 'why': ''}]}
    """
    return _names(text, _point)


def parse_contentious(text: str | None) -> AuditReply:
    """Read the screening for contentious names: n, name, contentious, why."""
    return _names(text, _contentious)


def parse_image_audit(text: str | None) -> AuditReply:
    """Read the audit of a picture: overlay, overlay_text, scene, through_glass, tourist_infrastructure, quality
    (0-5), usable, why. What is not said is None; without `usable` the reply is unparseable.
    """
    said = _said(text)
    if isinstance(said, AuditReply):
        return said
    given = by_plain_key(parse_json_object(text))
    usable = yes_no(first_of(given, "usable", "use"))
    if usable is None:
        return _nothing(said, "it does not say whether the picture is usable")
    scene = (_words(first_of(given, "scene", "scene_type")) or "").casefold().replace(" ", "_")
    fields = {
        "overlay": yes_no(first_of(given, "overlay", "answer_overlay")),
        "overlay_text": _words(given.get("overlay_text")) or "",
        "scene": scene if scene in SCENES else "other" if scene else "",
        "through_glass": yes_no(given.get("through_glass")),
        "tourist_infrastructure": yes_no(given.get("tourist_infrastructure")),
        "quality": _scale(given.get("quality")),
        "usable": usable,
        "why": _words(first_of(given, "why", "reason")) or "",
    }
    return AuditReply(fields, "ok")


def _names(text: str | None, read: Any) -> AuditReply:
    said = _said(text)
    if isinstance(said, AuditReply):
        return said
    found = [row for item in _items(said) if (row := read(by_plain_key(dict(item)))) is not None]
    return AuditReply({"names": found}, "ok") if found else _nothing(said, "it judges none of the names")


def _said(text: str | None) -> str | AuditReply:
    """The answer without its thinking, or what came instead of one."""
    if not isinstance(text, str) or not text.strip():
        return AuditReply(None, "empty", "the reply has no text")
    why = error_reason(text)
    return AuditReply(None, "error", why) if why else without_thinking(text)


def _nothing(text: str, reason: str) -> AuditReply:
    declined = refusal_reason(text)
    return AuditReply(None, "refused" if declined else "unparseable", declined or reason)


def _items(text: str) -> list[Mapping[str, Any]]:
    """The objects of the list, in whatever wrapping; also those of a list that was cut off."""
    objects = list(reversed(json_objects(text)))
    inner: list[Mapping[str, Any]] = [
        item
        for found in objects
        for value in found.values()
        if isinstance(value, list)
        for item in value
        if isinstance(item, Mapping)
    ]
    return inner or list(objects) or _whole_ones(text)


def _whole_ones(text: str) -> list[Mapping[str, Any]]:
    """The innermost objects of a text whose outer brackets never close."""
    start = text.find("[")
    return list(reversed(json_objects(text[start + 1 :]))) if start >= 0 else []


def _point(item: Mapping[str, Any]) -> dict[str, Any] | None:
    number, usable = _number(item), yes_no(first_of(dict(item), "usable", "ok"))
    value = _scale(first_of(dict(item), "referenceability", "familiarity"))
    if number is None or usable is None or (usable and value is None):
        return None
    return {
        "n": number,
        "name": _words(item.get("name")) or "",
        "usable": usable,
        "referenceability": value,
        "name_en": _words(item.get("name_en")) or "",
        "why": _words(first_of(dict(item), "why", "reason")) or "",
    }


def _contentious(item: Mapping[str, Any]) -> dict[str, Any] | None:
    number, verdict = _number(item), yes_no(item.get("contentious"))
    if number is None or verdict is None:
        return None
    why = _words(first_of(dict(item), "why", "reason")) or ""
    return {"n": number, "name": _words(item.get("name")) or "", "contentious": verdict, "why": why}


def _number(item: Mapping[str, Any]) -> int | None:
    try:
        value = float(str(first_of(dict(item), "n", "no", "number", "id")).strip(" .#"))
    except ValueError:
        return None
    return int(value) if math.isfinite(value) and value == int(value) and value >= 1 else None


def _scale(value: Any) -> float | None:
    """A number from 0 to 5, also written as "4/5"; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    text = str(value).strip().replace(",", ".")
    whole, slash, of = text.partition("/")
    if slash and of.strip() != "5":
        return None
    try:
        number = float(whole)
    except ValueError:
        return None
    return number if 0 <= number <= 5 else None


def _words(value: Any) -> str | None:
    said = words_of(value)
    return " ".join(said.split())[:_MOST_WORDS] if said else None
