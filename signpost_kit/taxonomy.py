"""How much a text tells about a place: T1 (nothing), T2 (a hint), T3 (an explicit place), by rules with reasons.

SIGNPOST-Bench, taxonomy: T1 is asked first, then T3, and T2 takes the rest; a group has the tier of its highest
span.
"""

from __future__ import annotations

from dataclasses import replace

from signpost_kit.benchmark.groups import Group
from signpost_kit.fonts import script_of
from signpost_kit.frames import TIERS
from signpost_kit.geocoding.gazetteer import default_gazetteer
from signpost_kit.normal_form import fold, is_unspaced, unconfused
from signpost_kit.textrules import (
    brand_kind,
    counted_chars,
    is_date,
    is_digits,
    is_noise,
    is_url,
    is_watermark,
    postal_code,
)
from signpost_kit.wordlists import WordLists, load_wordlists

__all__ = ["classify", "classify_group", "road_language"]

_REMEMBERED = 50_000  # texts
_HINT_PLACES = 100_000  # people a city must have to count when it is only a part of the text


def classify(text: str, *, script: str | None = None, wordlists: WordLists | None = None) -> tuple[str, str]:
    """The tier of one text and the reason.

    Parameters
    ----------
    text
        As read or drawn; case, accents and single OCR slips do not matter.
    script
        When known; told from the letters otherwise.
    wordlists
        By default those of params/taxonomy.yml.

    Returns
    -------
    (tier, reason)
        tier is T1, T2 or T3. An empty text is T1.

    Examples
    --------
    >>> classify("NO PARKING")[0], classify("Rue de Rivoli")[0], classify("Boulangerie Petit")[0]
    ('T1', 'T3', 'T2')
    """
    lists = wordlists or load_wordlists()
    judged = lists.judged
    found = judged.get((text, script))
    if found is None:
        if len(judged) >= _REMEMBERED:
            judged.clear()
        found = judged[text, script] = _judge(text, script, lists)
    return found


def _judge(text: str, script: str | None, lists: WordLists) -> tuple[str, str]:
    key = fold(text)
    if reason := _uninformative(text, key, lists):
        return TIERS[0], reason
    if reason := _place(text, key, lists):
        return TIERS[2], reason
    return TIERS[1], _hint(key, script or script_of(text), lists)


def classify_group(group: Group, *, wordlists: WordLists | None = None) -> Group:
    """The group with a tier and reason for every span, and those of its representative span for itself.

    A group without spans is T1 ("no text").
    """
    spans = []
    for span in group.spans:
        tier, reason = classify(span.text, wordlists=wordlists)
        spans.append(replace(span, tier=tier, tier_reason=reason))
    judged = replace(group, spans=tuple(spans))
    best = judged.representative
    if best is None:
        return replace(judged, tier=TIERS[0], tier_reason="no text")
    return replace(judged, tier=best.tier, tier_reason=best.tier_reason)


def _uninformative(text: str, key: str, lists: WordLists) -> str:
    count = counted_chars(text)
    if count <= 1:
        return "empty" if count == 0 else "one character"
    if postal_code(text) in ("JP", "US"):  # digits, but a place
        return ""
    if is_date(text, lists):
        return "date or time"
    if is_digits(text):
        return "numbers"
    if is_url(text):
        return "web address"
    if is_watermark(text, lists):
        return "watermark"
    if kind := brand_kind(key, lists):
        return kind
    read = unconfused(key)
    joined = read.replace(" ", "")
    if read in lists.generic_signs or joined in lists.joined_signs:
        return "generic sign"
    tokens = read.split()
    if len(tokens) > 1 and all(t in lists.sign_words or t.isdigit() or len(t) == 1 for t in tokens):
        return "generic words"
    return "noise" if is_noise(text) else ""


def _place(text: str, key: str, lists: WordLists) -> str:
    if system := postal_code(text):
        return f"postal code ({system})"
    if language := lists.road_index.language(text, key):
        return f"road name ({language})"
    tokens = key.split()
    if _is_address(tokens, lists):
        return "address"
    if mark := _landmark(key, tokens, lists):
        return f"landmark: {mark}"
    found = default_gazetteer().search(text)
    for place in found:
        if place.whole or (place.exact and place.population >= _HINT_PLACES):
            return f"{place.kind} name: {place.name}"
    if len(tokens) > 1 and any(t in lists.district_words for t in tokens):
        return "district or station name"
    if is_unspaced(key):
        run = key.replace(" ", "")
        if any(run.endswith(end) and len(run) > len(end) + 1 for end in lists.district_run):
            return "district or station name"
    return ""


def _is_address(tokens: list[str], lists: WordLists) -> bool:
    """A number beside what only addresses have: `PO Box 12`, `Flat 3`, `Postfach 1020`."""
    numbered = [i for i, token in enumerate(tokens) if token[0].isdigit()]
    return any(
        " ".join(tokens[start:i]) in lists.address_phrases for i in numbered for start in range(max(i - 3, 0), i)
    )


def _landmark(key: str, tokens: list[str], lists: WordLists) -> str:
    """The longest landmark in the text, or empty."""
    for length in range(min(lists.landmark_words, len(tokens)), 0, -1):
        for start in range(len(tokens) - length + 1):
            if (part := " ".join(tokens[start : start + length])) in lists.landmarks:
                return part
    if not is_unspaced(key):
        return ""
    joined = key.replace(" ", "")
    return next((mark for mark in lists.unspaced_landmarks if mark in joined), "")


def _hint(key: str, script: str, lists: WordLists) -> str:
    if script != "Latin":
        return f"non-Latin script: {script}"
    tokens = key.split()
    if any(t in lists.shop_words for t in tokens):
        return "local business"
    return "short" if len(key.replace(" ", "")) <= 4 else "local text"


def road_language(text: str, *, wordlists: WordLists | None = None) -> str:
    """The language whose word for a road stands at its proper place (`fr` for `Rue de Rivoli`), or empty.

    The word alone is no road name.
    """
    return (wordlists or load_wordlists()).road_index.language(text)
