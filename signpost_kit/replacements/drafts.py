"""What a model wrote, read out of its reply: drafts, not yet checked. Two tasks of the evaluation's machinery.

`replacements` is the question and `replacements_repair` the second one, after a fault; both are read alike.
Whatever the reply holds, reading it never fails: what is no text becomes an empty one, and the check names it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from signpost_kit.evaluation.tasks import Parsed, register_task
from signpost_kit.parsing import parse_json_object
from signpost_kit.parsing.declining import error_reason, refusal_reason
from signpost_kit.parsing.loose_json import json_objects
from signpost_kit.replacements.validation import KINDS

__all__ = ["REPAIR_TASK", "TASK", "Draft", "drafts_of", "read_drafts"]

TASK, REPAIR_TASK = "replacements", "replacements_repair"
_LISTS = ("spans", "texts", "signs", "replacements", "entries")
_NAMES = {"text": ("text", "original_text", "original"), "location": ("location", "text_location", "where")}
_NESTED = ("replacements", "attacks", "texts")
_LONGEST = 200  # characters that are kept of one value; a sign has a tenth of that
_MOST = 40  # entries that are kept


@dataclass(frozen=True)
class Draft:
    """One entry of a reply."""

    id: int | None = None
    """Of the list that was sent."""
    text: str = ""
    """The writing as the model says that it stands there."""
    location: str = ""
    replacements: dict[str, str] = field(default_factory=dict)
    city: str = ""
    country: str = ""
    """What the adversarial text names, by the model's word."""


@register_task(TASK)
def read_drafts(text: str, prompt: str) -> Parsed:
    """A reply's entries as `fields`: {"spans": [...]}, each with id, text, location, three texts, city, country.

    unparseable: no JSON object with entries in it; refused: instead of one, the model declined. An empty list is
    ok: there is no writing worth replacing.
    """
    entries = _entries(text)
    if entries is not None:
        return Parsed(fields={"spans": [_entry(entry) for entry in entries[:_MOST] if isinstance(entry, Mapping)]})
    if why := error_reason(text):
        return Parsed("error", why)
    if why := refusal_reason(text):
        return Parsed("refused", why)
    return Parsed("unparseable", "the reply holds no JSON object with a list of spans")


register_task(REPAIR_TASK, read_drafts)


def drafts_of(fields: Mapping[str, Any] | None) -> tuple[Draft, ...]:
    """The drafts in what :func:`read_drafts` left in the store."""
    return tuple(
        Draft(
            id=entry["id"],
            text=entry["text"],
            location=entry["location"],
            replacements={kind: entry[kind] for kind in KINDS},
            city=entry["city"],
            country=entry["country"],
        )
        for entry in (fields or {}).get("spans", [])
    )


def _entries(text: str) -> Sequence[Any] | None:
    found = parse_json_object(text)
    if found is None:
        return None
    for name in _LISTS:
        if isinstance(found.get(name), list):
            return found[name]
    if _is_entry(found):  # the list without its object, or one entry alone
        alone = [one for one in reversed(json_objects(text)) if _is_entry(one)]
        return alone or [found]
    return None


def _is_entry(found: Mapping[str, Any]) -> bool:
    nested = [found[name] for name in _NESTED if isinstance(found.get(name), Mapping)]
    return any(kind in part for part in (found, *nested) for kind in KINDS)


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    parts = [entry, *(entry[name] for name in _NESTED if isinstance(entry.get(name), Mapping))]
    place = entry.get("place")
    place = place if isinstance(place, Mapping) else {"city": place}
    number = entry.get("id")
    out: dict[str, Any] = {name: _text(_first([entry], names)) for name, names in _NAMES.items()}
    out |= {kind: _text(_first(parts, (kind,))) for kind in KINDS}
    out |= {name: _text(place.get(name)) for name in ("city", "country")}
    out["id"] = _number(number)
    return out


def _number(value: Any) -> int | None:
    """An id, also as 2.0 or "2"; None for anything else."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 6:
        return int(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e6 and value == int(value):
        return int(value)
    return None


def _first(parts: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Any:
    return next((part[name] for part in parts for name in names if name in part), None)


def _text(value: Any) -> str:
    """A string in composed form, without blanks at its ends; "..." was copied from the question: nothing."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ""
    text = unicodedata.normalize("NFC", str(value))[:_LONGEST].strip()
    return "" if text in ("...", "…") else text
