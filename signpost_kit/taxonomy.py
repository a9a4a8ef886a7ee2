"""How much a text tells about a place: T1 (nothing), T2 (a hint), T3 (an explicit place), by rules with reasons.

SIGNPOST-Bench, taxonomy: T1 is asked first, then T3, and T2 takes the rest; a group has the tier of its highest
span.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace

from signpost_kit.benchmark.groups import Group
from signpost_kit.fonts import script_of
from signpost_kit.frames import TIERS
from signpost_kit.geocoding.gazetteer import default_gazetteer
from signpost_kit.geocoding.names import fold, is_unspaced, one_edit, unconfused
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
from signpost_kit.wordlists import RoadWords, WordLists, load_wordlists

__all__ = ["classify", "classify_group", "road_language"]

_SIDES = frozenset({"n", "s", "e", "w", "nord", "sud", "north", "south", "east", "west", "ne", "nw", "se", "sw"})
_ARTICLES = frozenset(
    {"the", "la", "le", "les", "el", "il", "lo", "de", "den", "am", "an", "im", "in", "zum", "zur"}
)
_FORGIVING = 6  # letters a road word must have for one wrong letter to be forgiven
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
    if read in lists.generic_signs or any(joined == s.replace(" ", "") for s in lists.generic_signs if " " in s):
        return "generic sign"
    tokens = read.split()
    if len(tokens) > 1 and all(t in lists.sign_words or t.isdigit() or len(t) == 1 for t in tokens):
        return "generic words"
    return "noise" if is_noise(text) else ""


def _place(text: str, key: str, lists: WordLists) -> str:
    if system := postal_code(text):
        return f"postal code ({system})"
    if language := road_language(text, wordlists=lists):
        return f"road name ({language})"
    for mark in lists.landmarks:
        if f" {mark} " in f" {key} " or (is_unspaced(mark) and mark in key.replace(" ", "")):
            return f"landmark: {mark}"
    found = default_gazetteer().search(text)
    for place in found:
        if place.whole or (place.exact and place.population >= _HINT_PLACES):
            return f"{place.kind} name: {place.name}"
    tokens = key.split()
    if len(tokens) > 1 and any(t in lists.district_words for t in tokens):
        return "district or station name"
    if is_unspaced(key):
        run = key.replace(" ", "")
        if any(run.endswith(end) and len(run) > len(end) + 1 for end in lists.district_run):
            return "district or station name"
    return ""


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
    lists = wordlists or load_wordlists()
    key = unconfused(fold(text))
    tokens = [t for t in key.split() if t not in _SIDES or len(key.split()) == 1]
    first = unicodedata.normalize("NFC", text).casefold().split()[:1]
    exact = [
        code for code, road in lists.roads.items() if road.literal and len(tokens) > 1 and set(first) & road.literal
    ]
    exact += [code for code, road in lists.roads.items() if _is_road(tokens, road)]
    if exact:
        return exact[0]
    near = [code for code, road in lists.roads.items() if _is_road(tokens, road, forgiving=True)]
    return near[0] if near else ""


def _is_road(tokens: list[str], road: RoadWords, *, forgiving: bool = False) -> bool:
    names = [t for t in tokens if not t.isdigit()]
    if not names:
        return False
    if any(is_unspaced(t) for t in names):
        run = "".join(names)
        return any(len(run) > len(w) and w in run for w in road.run) or any(
            run.endswith(w) and len(run) > len(w) + 1 for w in road.ends
        )

    def known(token: str) -> bool:
        if token in road.words:
            return True
        return (
            forgiving
            and len(token) >= _FORGIVING
            and any(len(w) >= _FORGIVING and w[0] == token[0] and one_edit(w, token) for w in road.words)
        )

    start = 1 if len(names) > 2 and names[0] in _ARTICLES else 0
    first, last = names[start], names[-1]
    if len(names) > 1 and (
        (road.position in ("first", "any") and known(first)) or (road.position in ("last", "any") and known(last))
    ):
        return True
    return not forgiving and any(
        t.endswith(end) and len(t) - len(end) >= 3 and t not in road.words for t in names for end in road.glued
    )
