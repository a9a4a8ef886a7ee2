"""Replies to the cross-task questions: do sights and writing agree, which country, which languages.

Each reply has a status with a reason. What it does not say stays missing (None or NaN): "N/A" is not "no", and a
missing field is neither. Nothing here raises on any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from signpost_kit.parsing.cleaning import without_thinking
from signpost_kit.parsing.declining import error_reason, refusal_reason
from signpost_kit.parsing.judgements import agreement_of, conflict_of, is_no_answer, presence_of, source_of, yes_no
from signpost_kit.parsing.structured import (
    by_plain_key,
    first_of,
    labelled_lines,
    line_pattern,
    parse_json_object,
    share_of,
    words_of,
)

__all__ = [
    "ConsistencyReply",
    "CountryReply",
    "LanguageReply",
    "parse_consistency",
    "parse_country",
    "parse_language",
]

_NAN = float("nan")
_SHOWN = 60  # characters of a reply's own words in a reason


@dataclass(frozen=True)
class ConsistencyReply:
    """Whether sights and writing can belong to one place."""

    status: str
    """ok (true, false, or "N/A", which the question allows), empty, refused, unparseable or error."""
    reason: str
    """Why it is not ok; "" for ok."""
    consistent: bool | None = None
    """None unless it is said; also for "N/A"."""
    confidence: float = _NAN
    """0..1; NaN when not given."""
    explanation: str | None = None


@dataclass(frozen=True)
class CountryReply:
    """The country by the sights, by the writing, and in the end; names as written, None where left out."""

    status: str
    """Of the final country: ok (one is named), empty, refused ("unknown"), unparseable or error. The other fields
    stand whatever it is."""
    reason: str
    visual_country: str | None = None
    textual_country: str | None = None
    """As written, "none" included."""
    trusted_source: str | None = None
    """Visual, Textual, Both or Unknown."""
    final_country: str | None = None
    """None unless status is ok."""
    explanation: str | None = None


@dataclass(frozen=True)
class LanguageReply:
    """Whether there is readable writing, and in which languages."""

    status: str
    """ok (it says whether writing was found), empty, refused, unparseable or error."""
    reason: str
    text_found: bool | None = None
    """True also where the reply only lists what it read; False only where it says so."""
    texts: tuple[str, ...] = ()
    """What was read, as quoted."""
    languages: tuple[str, ...] = ()
    """As named, each once; no language is no entry."""


def parse_consistency(text: str | None) -> ConsistencyReply:
    """Read a reply about consistency, from JSON, from labelled lines, or from a verdict in prose.

    Examples
    --------
    >>> reply = parse_consistency('{"consistent": "No, Polish signs under palms", "confidence": 0.9}')
    >>> reply.status, reply.consistent, reply.confidence
    ('ok', False, 0.9)
    >>> nothing_to_compare = parse_consistency('{"consistent": "N/A"}')
    >>> nothing_to_compare.status, nothing_to_compare.consistent
    ('ok', None)
    """
    body, failed = _readable(text)
    if failed:
        return ConsistencyReply(*failed)
    fields = _fields(body, _CONSISTENCY, _CONSISTENCY_LINE)
    agreed, said = _agreed(fields)
    if not fields:
        agreed = _agreed_in_prose(body)
    found = {
        "consistent": agreed,
        "confidence": share_of(first_of(fields, "confidence", "certainty", "probability")),
        "explanation": words_of(first_of(fields, *_EXPLANATION)),
    }
    if agreed is not None or (said is not None and is_no_answer(said[0])):
        return ConsistencyReply("ok", "", **found)
    if said is not None:
        return ConsistencyReply("unparseable", f"neither true nor false: {_shown(said[0])}", **found)
    return ConsistencyReply(*_why_not(body, fields, "consistent"), **found)


def parse_country(text: str | None) -> CountryReply:
    """Read a reply about the country, from JSON, from labelled lines, or from a country's name alone.

    Examples
    --------
    >>> reply = parse_country('{"visual_country": "Kenya", "trusted_source": "sights", "final_country": "Kenya"}')
    >>> reply.status, reply.trusted_source, reply.final_country, reply.textual_country
    ('ok', 'Visual', 'Kenya', None)
    """
    body, failed = _readable(text)
    if failed:
        return CountryReply(*failed)
    fields = _fields(body, _COUNTRY, _COUNTRY_LINE)
    final = _name(first_of(fields, *_FINAL)) if fields else _lone_name(body)
    found = {
        "visual_country": _name(first_of(fields, *_VISUAL)),
        "textual_country": _name(first_of(fields, *_TEXTUAL)),
        "trusted_source": source_of(first_of(fields, "trusted_source", "trusted", "trust", "source")),
        "explanation": words_of(first_of(fields, *_EXPLANATION)),
    }
    if final is not None and not _UNKNOWN.fullmatch(final):
        return CountryReply("ok", "", final_country=final, **found)
    if final is not None:
        return CountryReply("refused", f"the country is given as {_shown(final)}", **found)
    if any(name in fields for name in _FINAL):
        return CountryReply("refused", "the country is left open", **found)
    return CountryReply(*_why_not(body, fields, "final_country"), **found)


def parse_language(text: str | None) -> LanguageReply:
    """Read a reply about languages, from JSON or from labelled lines.

    Examples
    --------
    >>> reply = parse_language('{"text_found": true, "texts": ["RUE DU BAC"], "languages": "French and English"}')
    >>> reply.text_found, reply.languages
    (True, ('French', 'English'))
    >>> parse_language('{"languages": []}').text_found is None  # an empty list does not say that none was found
    True
    """
    body, failed = _readable(text)
    if failed:
        return LanguageReply(*failed)
    fields = _fields(body, _LANGUAGE, _LANGUAGE_LINE)
    said = first_of(fields, *_FOUND)
    texts = tuple(_quotes(first_of(fields, "texts", "text", "quotes", "transcription", "text_content")))
    languages = tuple(_languages(first_of(fields, *_LANGUAGES)))
    found = presence_of(said)
    if found is None and (said is None or is_no_answer(said)) and (languages or texts):
        found = True
    if found is not None:
        return LanguageReply("ok", "", found, texts, languages)
    if any(name in fields for name in _FOUND):
        return LanguageReply(
            "refused", f"whether there is writing is given as {_shown(said)}", None, texts, languages
        )
    return LanguageReply(*_why_not(body, fields, "text_found"), None, texts, languages)


# -- fields --------------------------------------------------------------------------------------------------------

_EXPLANATION = ("explanation", "consistency_explanation", "trust_explanation", "reason", "reasoning", "why")
_CONSISTENT = ("consistent", "consistency", "is_consistent", "agreement", "agree", "match", "verdict", "answer")
_CONFLICT = ("conflict", "conflicting", "inconsistent", "contradiction", "mismatch", "conflict_detected")
_CONSISTENCY = frozenset((*_CONSISTENT, *_CONFLICT))
_CONSISTENCY_LINE = line_pattern(
    r"(consisten(?:t|cy)|is[ _]consistent|inconsistent|conflict(?:ing)?|agreement|verdict|answer|confidence"
    r"|explanation|reason(?:ing)?)"
)

_VISUAL = ("visual_country", "country_visual", "visual_region", "visual", "country_by_sights", "sights")
_TEXTUAL = (
    "textual_country",
    "text_country",
    "country_textual",
    "country_text",
    "textual_region",
    "textual",
    "text",
)
_FINAL = (
    *("final_country", "country_final", "final_region", "final_answer", "final", "country", "answer", "prediction"),
    "final_prediction",
)
_COUNTRY = frozenset((*_VISUAL, *_TEXTUAL, *_FINAL, "trusted_source", "trusted"))
_COUNTRY_LINE = line_pattern(
    r"((?:visual|text(?:ual)?|final)(?:[ _](?:country|region|answer|prediction))?|trust(?:ed)?(?:[ _]source)?"
    r"|country|answer|explanation)"
)

_FOUND = ("text_found", "found", "text_present", "has_text", "readable_text", "text_visible", "text_detected")
_LANGUAGES = (
    "languages",
    "language",
    "detected_languages",
    "languages_found",
    "detected_language",
    "main_language",
)
_LANGUAGE = frozenset((*_FOUND, *_LANGUAGES, "texts"))
_LANGUAGE_LINE = line_pattern(
    r"(text[ _](?:found|present|visible|detected)|has[ _]text|readable[ _]text|texts?|quotes|transcription"
    r"|(?:detected[ _]|main[ _])?languages?(?:[ _]found)?)"
)


def _readable(text: str | None) -> tuple[str, tuple[str, str] | None]:
    """The reply without its thinking; or the status and reason of one that holds nothing to read."""
    if not isinstance(text, str) or not text.strip():
        return "", ("empty", "the reply is empty")
    if why := error_reason(text):
        return "", ("error", why)
    body = without_thinking(text)
    return body, None if body.strip() else ("empty", "the reply holds nothing but thinking")


def _fields(body: str, known: frozenset[str], lines: re.Pattern[str]) -> dict[str, Any]:
    """The reply's fields, from JSON if it has a known one, else from labelled lines; nested ones are opened."""
    read = parse_json_object(body) if "{" in body else None
    fields = by_plain_key(read)
    if read and len(read) == 1 and not fields.keys() & known:
        fields = by_plain_key({**read, "": None})  # {"consistent": {"value": true}}: the only key is a field itself
    if not fields.keys() & known:
        inner = next((by_plain_key(value) for value in fields.values() if isinstance(value, dict)), {})
        fields = inner if inner.keys() & known else {}
    if not fields:
        fields = labelled_lines(body, lines)
    for name in known & fields.keys():
        if isinstance(fields[name], dict):
            parts = by_plain_key({**fields[name], "": None})
            fields = {**parts, **fields, name: first_of(parts, name, "value", "answer", "name", "country")}
    return fields


def _why_not(body: str, fields: dict[str, Any], name: str) -> tuple[str, str]:
    why = refusal_reason(body)
    if why and not fields:
        return "refused", why
    return "unparseable", f"the reply has no field {name!r}"


def _shown(value: Any) -> str:
    return repr(" ".join(str(value).split())[:_SHOWN])


def _agreed(fields: dict[str, Any]) -> tuple[bool | None, tuple[Any] | None]:
    """The judgement and the words for it; (None, None) when the reply has no such field."""
    for names, read in ((_CONSISTENT, agreement_of), (_CONFLICT, _as_agreement)):
        for name in names:
            if name in fields:
                return read(fields[name]), (fields[name],)
    return None, None


def _as_agreement(value: Any) -> bool | None:
    clash = conflict_of(value)
    return None if clash is None else not clash


_PHRASE = re.compile(
    r"\b(?:(in|not\s(?:\w{1,12}\s)?)consistent"
    r"|(consistent)"
    r"|(do(?:es)?\snot\smatch|contradicts?|conflicts?\swith|mismatch(?:es)?))\b",
    re.IGNORECASE,
)


def _agreed_in_prose(body: str) -> bool | None:
    """A verdict at the beginning, else the one judgement that the prose holds; None when it holds both."""
    verdict = agreement_of(body) if _short(body) or yes_no(body) is not None else None
    if verdict is not None:
        return verdict
    kinds = {bool(found[2]) for found in _PHRASE.finditer(body[:5000])}
    return kinds.pop() if len(kinds) == 1 and not refusal_reason(body) else None


def _short(body: str) -> bool:
    return len(body.strip()) <= _SHOWN


# -- countries -----------------------------------------------------------------------------------------------------

_UNKNOWN = re.compile(
    r"\W*(?:unknown|unclear|undetermined|unsure|uncertain|none|null|n\s?/\s?a|na(?!\w)|not\s\w{1,20}(?:\s\w{1,20}){0,3}"
    r"|(?:cannot|can['’]?t|impossible)\b.{0,80}|\?+|-+)\W*(?:\(.*)?",
    re.IGNORECASE | re.DOTALL,
)
_LONE = re.compile(
    r"\W*((?:the\s|la\s|el\s)?[^\W\d_a-z][\w'’.-]{1,30}(?:\s(?:and|of|the|d['’]|da|de|[^\W\d_a-z][\w'’.-]{0,30})){0,4})\W*"
)


def _name(value: Any) -> str | None:
    """A country as named, without markup around it; None for nothing."""
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else ", ".join(str(item) for item in value)
    if isinstance(value, bool):
        return None
    words = words_of(value)
    if words is None or re.match(r"\W*(?:<|one of\b)", words):
        return None  # a template
    return words.strip(" \t\r\n*_\"'`.,;").strip() or None


def _lone_name(body: str) -> str | None:
    """A reply that is nothing but a proper name: "France."."""
    found = _LONE.fullmatch(body.strip())
    if not found or yes_no(body) is not None:
        return None
    return found[1].rstrip(".")


# -- languages -----------------------------------------------------------------------------------------------------

_SPLIT = re.compile(r"\s*(?:[,;/|\n、，&+]|\band\b)\s*", re.IGNORECASE)
_NO_LANGUAGE = re.compile(
    r"\W*(?:unknown|unclear|undetermined|none|null|n\s?/\s?a|no\s\w.*|not\s\w.*|nothing|other|others|\?+|-+)?\W*",
    re.IGNORECASE | re.DOTALL,
)


def _quotes(value: Any) -> Iterable[str]:
    """Texts that were read, one by one; "none" and the like are none."""
    items = value if isinstance(value, list) else [value]
    for item in items:
        inner = (
            first_of(by_plain_key(item), "text", "quote", "content", "value") if isinstance(item, dict) else item
        )
        words = words_of(inner)
        if words is not None and not isinstance(inner, bool) and not _NO_LANGUAGE.fullmatch(words):
            yield words


def _languages(value: Any) -> Iterable[str]:
    """Names of languages, each once, in their order; what stands in brackets is a remark."""
    if isinstance(value, dict):
        value = list(value)
    items = value if isinstance(value, list) else [value]
    seen: set[str] = set()
    for item in items:
        named = first_of(by_plain_key(item), "language", "name", "value") if isinstance(item, dict) else item
        if not isinstance(named, str):
            continue
        for name in _SPLIT.split(re.sub(r"\([^()]*\)|\[[^\[\]]*\]", " ", named[:2000])):
            plain = " ".join(name.split()).strip(" .*_\"'`-")
            if plain and not _NO_LANGUAGE.fullmatch(plain) and plain.casefold() not in seen:
                seen.add(plain.casefold())
                yield plain
