"""How the offline models speak: a judgement put into words, as a paid model would, for each task of the kit."""

from __future__ import annotations

import json
from dataclasses import dataclass

from signpost_kit.files import hash_bytes

__all__ = ["TASKS", "Judgement", "say"]

TASKS: tuple[str, ...] = ("coordinate", "probing", "defense", "consistency", "country", "language")
_QUOTED = 10  # texts in a reply about languages


@dataclass(frozen=True)
class Judgement:
    """What a model concluded about one picture."""

    lat: float
    lon: float
    visual_evidence: str = "not looked at"
    visual_region: str = "none"
    textual_evidence: str = "none"
    textual_region: str = "none"
    final_region: str = "unknown"
    """The country of the answer."""
    texts: tuple[str, ...] | None = None
    """What was read; None: the model does not read, so that it cannot tell whether there is writing."""
    languages: tuple[str, ...] = ()
    guesses_text: bool = False
    """It has not read, and supposes that there is writing, as on most streets."""
    consistent: bool | None = None
    """None: one kind of evidence is absent, so that there is nothing to compare; spoken as "N/A"."""
    sure: float | None = None
    """Of `consistent`, 0..1."""
    consistency_explanation: str = "Only one kind of evidence is present."
    trusted: str = "Unknown"
    """Visual, Textual, Both or Unknown."""
    trust_explanation: str = ""


def say(judgement: Judgement, *, task: str, voice: str) -> str:
    """The reply to one task.

    `voice` (any string, e.g. the model's name and the picture's hash) picks among a few phrasings of the coordinate
    reply, always the same one for the same string.

    Raises
    ------
    KeyError
        The task is none of ``TASKS``; callers check first.
    """
    return {
        "coordinate": _coordinate,
        "probing": _probing,
        "defense": _defense,
        "consistency": _consistency,
        "country": _country,
        "language": _language,
    }[task](judgement, voice)


def _pair(judgement: Judgement) -> tuple[float, float]:
    # + 0.0 turns -0.0 into 0.0
    return round(judgement.lat, 4) + 0.0, round(judgement.lon, 4) + 0.0


def _coordinate(judgement: Judgement, voice: str) -> str:
    lat, lon = _pair(judgement)
    plain = json.dumps({"lat": lat, "lon": lon})
    phrasings = (
        plain,
        plain,
        json.dumps({"lat": lat, "lon": lon}, separators=(",", ":")),
        json.dumps({"latitude": lat, "longitude": lon}),
        f"```json\n{plain}\n```",
        json.dumps({"lat": lat, "lon": lon}, indent=2),
    )
    return phrasings[int(hash_bytes(voice.encode())[:8], 16) % len(phrasings)]


def _probing(judgement: Judgement, voice: str) -> str:
    del voice
    lat, lon = _pair(judgement)
    fields = {
        "visual_evidence": judgement.visual_evidence,
        "visual_region": judgement.visual_region,
        "textual_evidence": judgement.textual_evidence,
        "textual_region": judgement.textual_region,
        "consistent": "N/A" if judgement.consistent is None else judgement.consistent,
        "consistency_explanation": judgement.consistency_explanation,
        "trusted_source": judgement.trusted,
        "trust_explanation": judgement.trust_explanation,
        "final_prediction": {"lat": lat, "lon": lon},
    }
    return json.dumps(fields, ensure_ascii=False, indent=2)


def _defense(judgement: Judgement, voice: str) -> str:
    del voice
    lat, lon = _pair(judgement)
    text = judgement.textual_evidence
    if judgement.textual_region != "none":
        text = f"{text}, which suggests {judgement.textual_region}"
    lines = (
        ("Visual", _one_line(f"{judgement.visual_region}; {judgement.visual_evidence}")),
        ("Text", _one_line(text)),
        ("Conflict", "no" if judgement.consistent is not False else "yes"),
        ("Trusted", judgement.trusted),
        ("Final", f"{lat}, {lon}"),
    )
    return "\n".join(f"{head}: {body}" for head, body in lines)


def _consistency(judgement: Judgement, voice: str) -> str:
    del voice
    fields = {
        "consistent": "N/A" if judgement.consistent is None else judgement.consistent,
        "confidence": None if judgement.sure is None else round(judgement.sure, 2),
        "explanation": judgement.consistency_explanation,
    }
    return json.dumps(fields, ensure_ascii=False, indent=2)


def _country(judgement: Judgement, voice: str) -> str:
    del voice
    fields = {
        "visual_country": judgement.visual_region,
        "textual_country": judgement.textual_region,
        "trusted_source": judgement.trusted,
        "final_country": judgement.final_region,
        "explanation": judgement.trust_explanation,
    }
    return json.dumps(fields, ensure_ascii=False, indent=2)


def _language(judgement: Judgement, voice: str) -> str:
    del voice
    unread = judgement.texts is None
    fields = {
        "text_found": "N/A" if unread else judgement.guesses_text or bool(judgement.texts),
        "texts": list(judgement.texts or ())[:_QUOTED],
        "languages": list(judgement.languages),
    }
    return json.dumps(fields, ensure_ascii=False)


def _one_line(text: str) -> str:
    """No line breaks, and no text from the picture may pass for one of the five lines."""
    return " ".join(text.split())
