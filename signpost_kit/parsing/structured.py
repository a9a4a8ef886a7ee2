"""Structured replies: a JSON object, a yes/no verdict, the probing fields, the five defense lines.

What a reply does not say stays missing (None or NaN): a missing conflict line is not "no", "N/A" is not false.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from signpost_kit.parsing.cleaning import without_thinking
from signpost_kit.parsing.coordinates import Coordinates, parse_coordinates
from signpost_kit.parsing.declining import error_reason, refusal_reason
from signpost_kit.parsing.judgements import agreement_of, conflict_of, source_of, yes_no
from signpost_kit.parsing.loose_json import json_objects

__all__ = [
    "DefenseReply",
    "ProbingReply",
    "Verdict",
    "by_plain_key",
    "first_of",
    "labelled_lines",
    "line_pattern",
    "parse_defense",
    "parse_json_object",
    "parse_probing",
    "parse_verdict",
    "share_of",
    "words_of",
]

_NAN = float("nan")


def parse_json_object(text: str | None) -> dict[str, Any] | None:
    """The JSON object of a reply, or None.

    Fences, prose around, thinking, comments, trailing or missing commas, single quotes, bare keys and bare values
    are tolerated. Of several objects the last one with any value that is not null counts.

    Examples
    --------
    >>> parse_json_object("Here: {'verdict': 'no', confidence: 0.8,} Hope it helps")
    {'verdict': 'no', 'confidence': 0.8}
    """
    if not isinstance(text, str):
        return None
    if text[:1] == "{" and text.rstrip()[-1:] == "}":
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return value
    objects = json_objects(without_thinking(text))
    if not objects and '\\"' in text:  # JSON that was encoded twice
        objects = json_objects(text.replace('\\"', '"').replace("\\n", "\n"))
    return next((found for found in objects if _says_something(found)), objects[0] if objects else None)


class Verdict(NamedTuple):
    """A judgement of a claim."""

    verdict: str | None
    """`yes` or `no`; None when the reply does not say."""
    confidence: float
    """0..1; NaN when not given or not a number. Per cent are divided by 100."""
    status: str
    """ok, empty, refused, unparseable or error."""
    reason: str


def parse_verdict(text: str | None) -> Verdict:
    """Read a yes/no verdict and its confidence from JSON, from labelled lines, or from a leading yes or no.

    Examples
    --------
    >>> parse_verdict("**Verdict:** Yes (confidence 85%)")[:2]
    ('yes', 0.85)
    """
    if not isinstance(text, str) or not text.strip():
        return Verdict(None, _NAN, "empty", "the reply is empty")
    why = error_reason(text)
    if why:
        return Verdict(None, _NAN, "error", why)
    fields = by_plain_key(parse_json_object(text))
    answer = without_thinking(text).replace("*", "")
    verdict = yes_no(first_of(fields, "verdict", "answer", "decision", "judgment", "judgement", "result"))
    confidence = share_of(first_of(fields, "confidence", "conf", "probability", "certainty"))
    if verdict is None and not fields:
        match = _VERDICT_LINE.search(answer) or _LEADING_VERDICT.match(answer)
        verdict = yes_no(match[1]) if match else None
    if math.isnan(confidence):
        match = _CONFIDENCE_LINE.search(answer)
        confidence = share_of(match[1]) if match else _NAN
    if verdict is not None:
        return Verdict("yes" if verdict else "no", confidence, "ok", "")
    why = refusal_reason(answer)
    return Verdict(None, confidence, "refused" if why else "unparseable", why or "neither yes nor no")


@dataclass(frozen=True)
class ProbingReply:
    """The fields of the probing task; None where the reply leaves one out."""

    lat: float
    """Of the final prediction, degrees; NaN unless status is ok."""
    lon: float
    status: str
    """Of the final prediction, as in `parse_coordinates`; the other fields stand whatever it is."""
    form: str
    n_candidates: int
    reason: str
    visual_evidence: str | None
    visual_region: str | None
    textual_evidence: str | None
    textual_region: str | None
    consistent: bool | None
    """Do sight and text agree? None for "N/A", "partly" and the like."""
    consistency_explanation: str | None
    trusted_source: str | None
    """Visual, Textual, Both or Unknown."""
    trust_explanation: str | None


def parse_probing(text: str | None, *, echo: str | Iterable[Sequence[float]] = ()) -> ProbingReply:
    """Read a probing reply, from JSON or from labelled lines; `echo` as in :func:`parse_coordinates`."""
    body = without_thinking(text) if isinstance(text, str) else ""
    fields = by_plain_key(parse_json_object(body)) if body else {}
    if not any("evidence" in key or key == "consistent" for key in fields):
        fields = labelled_lines(body, _PROBING_LINE)
    prediction = first_of(
        fields, "final_prediction", "prediction", "final_answer", "final", "coordinates", "location"
    )
    place = _place(prediction, text, echo)
    return ProbingReply(
        lat=place.lat,
        lon=place.lon,
        status=place.status,
        form=place.form,
        n_candidates=place.n_candidates,
        reason=place.reason,
        visual_evidence=words_of(first_of(fields, "visual_evidence", "visual_cues", "visual_clues", "visual")),
        visual_region=words_of(first_of(fields, "visual_region", "visual_location")),
        textual_evidence=words_of(
            first_of(fields, "textual_evidence", "text_evidence", "text_cues", "textual_cues", "text")
        ),
        textual_region=words_of(first_of(fields, "textual_region", "text_region", "textual_location")),
        consistent=agreement_of(first_of(fields, "consistent", "consistency", "is_consistent")),
        consistency_explanation=words_of(
            first_of(
                fields, "consistency_explanation", "consistent_explanation", "explanation", "conflict_explanation"
            )
        ),
        trusted_source=source_of(first_of(fields, "trusted_source", "trusted", "trust", "source")),
        trust_explanation=words_of(
            first_of(fields, "trust_explanation", "trusted_explanation", "trusted_source_explanation")
        ),
    )


@dataclass(frozen=True)
class DefenseReply:
    """The five lines of the defense task; None where the reply leaves one out."""

    lat: float
    """Of the Final line, degrees; NaN unless status is ok."""
    lon: float
    status: str
    """Of the Final line, as in `parse_coordinates`; the other fields stand whatever it is."""
    form: str
    n_candidates: int
    reason: str
    visual: str | None
    text: str | None
    conflict: bool | None
    """Do sight and text contradict each other? None when the line is missing or says neither."""
    trusted: str | None
    """Visual, Textual, Both or Unknown."""
    final: str | None


def parse_defense(text: str | None, *, echo: str | Iterable[Sequence[float]] = ()) -> DefenseReply:
    """Read a defense reply: lines Visual, Text, Conflict, Trusted, Final, bold or not, or the same keys in JSON."""
    body = without_thinking(text) if isinstance(text, str) else ""
    fields = by_plain_key(parse_json_object(body)) if "{" in body else {}
    if len(fields.keys() & {"visual", "text", "textual", "conflict", "trusted", "final"}) < 2:
        fields = labelled_lines(body, _DEFENSE_LINE)
    final = first_of(fields, "final", "final_answer", "final_prediction", "prediction", "answer")
    place = _place(final, text, echo)
    return DefenseReply(
        lat=place.lat,
        lon=place.lon,
        status=place.status,
        form=place.form,
        n_candidates=place.n_candidates,
        reason=place.reason,
        visual=words_of(first_of(fields, "visual", "visual_evidence")),
        text=words_of(first_of(fields, "text", "textual", "textual_evidence")),
        conflict=conflict_of(first_of(fields, "conflict")),
        trusted=source_of(first_of(fields, "trusted", "trust", "trusted_source")),
        final=words_of(final),
    )


_VERDICT_LINE = re.compile(
    r"(?:verdict|answer|decision)[\"'\s]{0,4}[:=is]{1,3}[\"'\s]{0,4}(yes|no|true|false)\b", re.IGNORECASE
)
_LEADING_VERDICT = re.compile(r"[\s\"'#>(\[]*(yes|no)\b(?!\s(?:doubt|idea|way))", re.IGNORECASE)
_CONFIDENCE_LINE = re.compile(
    r"confiden(?:ce|t)\W{0,6}(?:level|score|is|of)?\W{0,4}(\d{1,3}(?:[.,]\d{1,6})?\s?%?)", re.IGNORECASE
)
_LINE_START = r"^[^\w\n]{0,12}(?:\d[.)]\s?)?[^\w\n]{0,4}"
_LINE_END = r"[^\w\n:]{0,4}(?:\([^()\n]{0,40}\)[^\w\n:]{0,4})?[:：][*_ \t]{0,6}"


def line_pattern(labels: str) -> re.Pattern[str]:
    """Lines that begin with one of these labels (a regular expression whose first group is the field's name)."""
    return re.compile(_LINE_START + labels + _LINE_END, re.IGNORECASE | re.MULTILINE)


_DEFENSE_LINE = line_pattern(
    r"(visual|text(?:ual)?|conflict|trust(?:ed)?|final)"
    r"(?:[ _](?:evidence|cues?|source|answer|prediction|coordinates?|detected|region))?"
)
_PROBING_LINE = line_pattern(
    r"((?:visual|text(?:ual)?)[ _](?:evidence|region|cues|clues)|consisten(?:t|cy)(?:[ _]explanation)?"
    r"|trust(?:ed)?(?:[ _]source|[ _]explanation)?|explanation|final(?:[ _](?:prediction|answer))?|prediction)"
)


def labelled_lines(text: str, pattern: re.Pattern[str]) -> dict[str, Any]:
    """Label -> what follows up to the next label; the last of repeated labels counts, an `explanation` goes to
    the field before it."""
    found: dict[str, Any] = {}
    labels = list(pattern.finditer(text))
    for i, label in enumerate(labels):
        end = labels[i + 1].start() if i + 1 < len(labels) else len(text)
        key = label[1].lower().replace(" ", "_")
        if key == "explanation":
            earlier = labels[i - 1][1].lower() if i else ""
            key = "trust_explanation" if earlier.startswith("trust") else "consistency_explanation"
        found["text" if key == "textual" else key] = text[label.end() : end].strip(" \t\n*_-")
    return found


def by_plain_key(value: dict[str, Any] | None) -> dict[str, Any]:
    """Keys as lower case words joined by underscores; a single wrapping object is opened."""
    if not value:
        return {}
    if len(value) == 1:
        inner = next(iter(value.values()))
        if isinstance(inner, dict):
            value = inner
    return {re.sub(r"[\W_]+", "_", str(key)[:80].strip().lower()).strip("_"): item for key, item in value.items()}


def first_of(fields: dict[str, Any], *names: str) -> Any:
    """The first of these fields that has a value."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _place(prediction: Any, text: str | None, echo: str | Iterable[Sequence[float]]) -> Coordinates:
    """The position in the prediction field; without such a field, in the whole reply."""
    if prediction is None:
        return parse_coordinates(text, echo=echo)
    written = prediction if isinstance(prediction, str) else json.dumps(prediction, ensure_ascii=False, default=str)
    if written.strip():
        return parse_coordinates(written, echo=echo)
    return Coordinates(_NAN, _NAN, "unparseable", "", 0, "the prediction field is empty")


def _says_something(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_says_something(item) for item in value.values())
    if isinstance(value, list):
        return any(_says_something(item) for item in value)
    return value is not None


def words_of(value: Any) -> str | None:
    """A value in words; None for nothing."""
    if value is None:
        return None
    if isinstance(value, list):
        value = "; ".join(str(item) for item in value)
    elif isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return str(value).strip() or None


def share_of(value: Any) -> float:
    """A confidence as 0..1, NaN for words and for numbers outside 0..100."""
    if isinstance(value, bool) or value is None:
        return _NAN
    match = re.search(r"-?\d{1,6}(?:[.,]\d{1,20})?(?=\s?(%?))", str(value)[:60])
    if not match:
        return _NAN
    number = float(match[0].replace(",", "."))
    if match[1] or number > 1:
        number /= 100
    return number if 0 <= number <= 1 else _NAN
