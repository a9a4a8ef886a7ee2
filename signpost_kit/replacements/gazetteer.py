"""Replacement texts without a model: similar, random and adversarial, from word lists and the gazetteer.

Everything follows from the group's id and the seed: same input, same texts, in any order of groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost_kit.benchmark.groups import Group, Span, Trap
from signpost_kit.errors import DataError
from signpost_kit.files import hash_bytes
from signpost_kit.fonts import missing_glyphs, script_of, scripts_in
from signpost_kit.geocoding import Gazetteer, Geocoder, Place, default_gazetteer
from signpost_kit.geocoding.countries import languages_of
from signpost_kit.geocoding.names import fold
from signpost_kit.replacements.pool import Target, local_towns, resolves_to, targets_for
from signpost_kit.replacements.texts import WIDEST, LanguageTexts, fitting, load_words, width
from signpost_kit.replacements.validation import KINDS, country_of, validate
from signpost_kit.taxonomy import classify, road_language

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["KINDS", "country_of", "diversity", "propose", "propose_valid", "random_script", "targets", "validate"]

_LEAST_EM = 10.0  # pixels of an em below which letters are hardly read
_SQUEEZE = 0.62  # the narrowest that the painter makes letters
_READABLE = ("Latin", "Han", "Japanese")  # by the default OCR engine
_READABLE_SHARE = 0.7  # of random texts that the default OCR engine can read
_LOCAL_SCRIPT_SHARE = 0.5  # of adversarial texts on Chinese and Japanese signs that stay in that writing
_BY_SCRIPT = {
    "Latin": "en",
    "Han": "zh",
    "Japanese": "ja",
    "Hangul": "ko",
    "Cyrillic": "ru",
    "Greek": "el",
    "Arabic": "ar",
    "Hebrew": "he",
    "Devanagari": "hi",
    "Bengali": "bn",
    "Tamil": "ta",
    "Thai": "th",
    "Ethiopic": "am",
    "Georgian": "ka",
    "Armenian": "hy",
}
_TRADITIONAL = frozenset({"TW", "HK", "MO"})


def propose(group: Group, *, seed: int = 42) -> Group:
    """The group with three replacements for every span.

    similar
        Of the same kind, language and script; names no place outside the country.
    random
        Unrelated words in a script that no span of the picture has; names no place.
    adversarial
        Names a city of at least 600,000 people on another continent, at least 2,500 km away, in the form of the
        original (road, shop, plain name); the spans of one picture point to the same city where their forms allow.

    Texts keep to the original's length (at most 15 characters, or 4 more than the original), its width and its
    capitals, and stand once in the picture. A group without spans is returned as it is.

    Parameters
    ----------
    seed
        Together with the group's id it decides every choice.
    """
    if not group.spans:
        return group
    import numpy as np

    rng = np.random.default_rng([seed, int(hash_bytes(group.group_id.encode())[:12], 16)])
    country = country_of(group)
    used = {fold(span.text) for span in group.spans}
    far = _ordered_targets(group, country, rng)
    script = random_script(group.spans, rng)
    spans = []
    for span in group.spans:
        texts = {
            "similar": _similar(span, country, used, rng),
            "random": _unused(_narrow(fitting(load_words().random[script], span.text, rng), span), span.text, used),
            "adversarial": _adversarial(span, country, far, used, rng),
        }
        spans.append(replace(span, replacements=texts))
    return replace(group, spans=tuple(spans))


def propose_valid(group: Group, *, seed: int = 42) -> Group:
    """:func:`propose`, checked.

    Raises
    ------
    DataError
        A text breaks a rule; all faults are named.
    """
    proposed = propose(group, seed=seed)
    if faults := validate(proposed):
        raise DataError("; ".join(faults))
    return proposed


# -- similar -----------------------------------------------------------------------------------------------------


def _similar(span: Span, country: str, used: set[str], rng: np.random.Generator) -> str:
    script = script_of(span.text)
    texts = _language_texts(span.text, country, script)
    kind = _kind(span)
    lists: list[Sequence[str]] = [{"street": texts.streets, "shop": texts.shops}.get(kind, texts.generic)]
    if kind == "place":
        lists = [local_towns(country, script)]
    lists += [texts.streets, texts.shops, texts.generic]
    for candidates in lists:
        near = _narrow(fitting(list(candidates), span.text, rng), span)
        # Looking a text up costs the most, so only those that come first are looked up.
        if text := _unused((c for c in near if _stays(c, country)), span.text, used):
            return text
    return ""


def _room(span: Span, *, slack: float = 1.0) -> float:
    """Width in em that a replacement should not exceed: twice the original's, and what a known polygon can show."""
    room = slack * WIDEST * width(span.text)
    if len(span.polygon) == 4:
        (x0, y0), (x1, y1), (x2, y2), _ = span.polygon
        across, down = math.hypot(x1 - x0, y1 - y0), math.hypot(x2 - x1, y2 - y1)
        room = min(room, max(across, down) / (_SQUEEZE * _LEAST_EM))
    return room


def _narrow(candidates: list[str], span: Span) -> list[str]:
    """Those that fit the room first, the others by width."""
    room = _room(span)
    return sorted(candidates, key=lambda text: max(0.0, width(text) - room))


def _stays(text: str, country: str) -> bool:
    """True when a text names no place outside the country."""
    return all(place.country == country for place in default_gazetteer().search(text)[:1])


def _kind(span: Span) -> str:
    tier = span.tier or classify(span.text)[0]
    if tier == "T3":
        return "street" if road_language(span.text) else "place"
    return "shop" if tier == "T2" else "generic"


def _language_texts(text: str, country: str, script: str) -> LanguageTexts:
    """Texts of the country's first language in the sign's script, else of the road word's, else of the script's."""
    languages = load_words().languages
    if script == "Han" and country in _TRADITIONAL:
        return languages["zh-hant"]
    codes = [*languages_of(country), road_language(text), _BY_SCRIPT.get(script, "en")]
    road = road_language(text)
    fitting_codes = [c for c in codes if c in languages and languages[c].script == script]
    if script == "Han" and country == "JP":
        return languages["ja"]
    if road in fitting_codes and (
        road in languages_of(country) or not set(fitting_codes) & set(languages_of(country))
    ):
        return languages[road]
    return languages[fitting_codes[0]] if fitting_codes else languages["en"]


# -- random ------------------------------------------------------------------------------------------------------


def random_script(spans: Sequence[Span], rng: np.random.Generator) -> str:
    """A script that none of the texts is written in, mostly one that the default OCR engine reads."""
    taken = {script for span in spans for script in (*scripts_in(span.text), script_of(span.text))}
    if taken & {"Han", "Japanese"}:
        taken |= {"Han", "Japanese"}  # they share letters
    free = [script for script in load_words().random if script not in taken]
    readable = [script for script in free if script in _READABLE]
    other = [script for script in free if script not in _READABLE]
    choice = readable if readable and (not other or rng.random() < _READABLE_SHARE) else other
    return choice[int(rng.integers(len(choice)))]


# -- adversarial -------------------------------------------------------------------------------------------------


def _ordered_targets(group: Group, country: str, rng: np.random.Generator) -> list[tuple[Target, str]]:
    """Targets with the script they are written in: the chosen one, others of its country, then the rest."""
    order = targets_for(group.lat, group.lon, country, rng)
    script = "Latin"
    scripts = {script_of(span.text) for span in group.spans}
    local = next((s for s in ("Japanese", "Han") if s in scripts), "")
    if local == "Han" and country == "JP":
        local = "Japanese"
    named = [target for target in order if local in target.names]
    if named and rng.random() < _LOCAL_SCRIPT_SHARE:
        script, order = local, named
    if not order:
        return []
    first = order[0]
    order = sorted(order, key=lambda target: (target is not first, target.place.country != first.place.country))
    return [(target, script) for target in order]


def _adversarial(
    span: Span, country: str, far: list[tuple[Target, str]], used: set[str], rng: np.random.Generator
) -> str:
    gazetteer = default_gazetteer()
    kind = _kind(span)
    spare: list[tuple[str, Target]] = []
    for target, script in far:
        name = target.names[script]
        forms = [
            [p.format(place=name) for p in _patterns(k, target.place, country, script)] for k in _forms_of(kind)
        ]
        # A road stays a road and a shop a shop where that fits; then the plain name, then whatever else there is.
        own, other = forms[0], [form for group in forms[1:] for form in group]
        texts = [t for part in (own, [name], other) for t in fitting(part, span.text, rng)]
        # A little more width is better than a second far country in one picture.
        most = _room(span, slack=1.25 if target.place.country == far[0][0].place.country else 1.0)
        fits = [t for t in texts if width(t) <= most]
        spare += [(t, target) for t in texts if len(spare) < 40]
        if text := _unused((t for t in fits if _leads(t, span, target, gazetteer)), span.text, used):
            return text
    spare.sort(key=lambda item: width(item[0]))  # nothing is narrow enough: the narrowest will do
    return _unused((t for t, target in spare if _leads(t, span, target, gazetteer)), span.text, used)


def _leads(text: str, span: Span, target: Target, gazetteer: Gazetteer) -> bool:
    return resolves_to(_styled(text, span.text), target.place, gazetteer)


def _forms_of(kind: str) -> tuple[str, ...]:
    """Kinds of pattern, the text's own first (a place or a generic sign has none)."""
    return {"street": ("street", "shop"), "shop": ("shop", "street")}.get(kind, (kind, "shop", "street"))


def _patterns(kind: str, place: Place, country: str, script: str) -> tuple[str, ...]:
    languages = load_words().languages
    if script == "Latin":
        texts = next((languages[c] for c in languages_of(place.country) if c in languages), languages["en"])
    else:
        texts = languages["ja" if script == "Japanese" else "zh-hant" if country in _TRADITIONAL else "zh"]
    by_kind = {"street": texts.at_street, "shop": texts.at_shop}.get(kind, ())
    return by_kind if script != "Latin" or all(p.isascii() or script_of(p) == "Latin" for p in by_kind) else ()


def _unused(candidates: Iterable[str], original: str, used: set[str]) -> str:
    for candidate in candidates:
        text = _styled(candidate, original)
        if fold(text) not in used and not missing_glyphs(text, script_of(text)):
            used.add(fold(text))
            return text
    return ""


def _styled(text: str, original: str) -> str:
    """A text in the original's capitals."""
    if original.isupper() and script_of(text) in ("Latin", "Cyrillic", "Greek"):
        return text.upper()
    if original[:1].isupper() and text[:1].islower():
        return text[:1].upper() + text[1:]
    return text


# -- a whole set ------------------------------------------------------------------------------------------------


def diversity(groups: Sequence[Group]) -> pd.DataFrame:
    """How often each target comes up over a set.

    Returns
    -------
    DataFrame
        One row per target of the representative adversarial texts, most frequent first: `target`, `country`,
        `continent`, `groups` (how many point there) and `share` of all groups that have spans, 0..1. Groups whose
        text names no place stand under an empty target. No groups: no rows.
    """
    from signpost_kit.replacements.diversity import replacement_texts, target_table

    return target_table(replacement_texts(groups))


def targets(group: Group, geocoder: Geocoder | None = None) -> Group:
    """The group with its trap: where the representative span's adversarial text lies, or none.

    Parameters
    ----------
    geocoder
        The offline gazetteer by default.
    """
    chosen: Geocoder = geocoder or Gazetteer()
    span = group.representative
    text = span.replacements.get("adversarial", "") if span else ""
    place = chosen.locate(text) if text.strip() else None
    if place is None:
        return replace(group, trap=None)
    trap = Trap(lat=place.lat, lon=place.lon, name=place.name, query=text, geocoder=chosen.name)
    return replace(group, trap=trap)
