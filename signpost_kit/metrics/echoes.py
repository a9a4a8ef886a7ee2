"""Does an answer repeat the hint? Two readings: the study's, and one that asks for the distinctive part of a name.

The study looks for the first word of the reference point's name as a substring, so that "The Gherkin" is echoed by
any text with "the" in it and "San Jalisco" echoes "San Francisco Museum". Both are reported, so that published
numbers can be compared and ours can be believed.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from signpost_kit.errors import DataError

__all__ = ["GENERIC_WORDS", "distinctive", "echo", "echo_study"]

_ARTICLES = """
a an the le la les l un une des du de d della delle dei degli del di da dal dello el los las lo al il i gli der
die das den dem ein eine zum zur vom von van het een ter ten op o os as do dos e y et und and of at in on by for
to sur sous am im aan bij no na
"""
_KINDS = """
abbey academy airport alley aquarium arcade archive archives arena art arts avenida avenue avinguda bank
baptistery bar basilica bath baths bazaar beach boulevard brewery bridge bridges brug building buildings bus
cafe campus canal carrer casino castle cathedral cemetery center centre centro century chapel chiesa church
cinema circus city civic clinic club college colonnade community company complex conservatory contemporary
convent corner corps council court courthouse crescent department district dome downtown embassy estacio
estacion exchange exhibition factory faculty fine fire fort fortress foundation fountain gallery garden gardens
gare gate gates government gracht grounds gymnasium hall harbor harbour headquarters heritage high hill historic
history hospital hostel hotel house iglesia institute international island isle jardin junction kerk kirche lake
landmark lane library lighthouse lycee main mall mansion market marketplace markets memorial metro mill ministry
modern monastery monument monuments mosque mount municipal murals musee museo museu museum museums national
natural neighborhood neighbourhood observatory office opera palace palacio palais palau palazzo parc parish park
parking parliament parque paseo passage passeig pavilion philharmonic piazza pier placa place plaza plein point
police pont ponte port post promenade public quarter quay rail railroad railway residence restaurant river
riverfront road royal rue ruins school sculpture seminary shop shopping shrine singel society square stadium
staircase station statue store straat strasse street studio studios subway synagogue temple terminal terrace
theater theatre tomb tower towers town tram transit tunnel underground universidad universita universite
university viaduct villa village walk wall walls ward waterfront wharf zone zoo
"""
_ADJECTIVES = """
big central centraal east eastern former grand grande great little lower new north northern nieuw nieuwe neuf
neuve nova novo nuevo nueva nuova nuovo old oud oude small south southern upper vecchia vecchio vieux vieille
viejo west western first second third i ii iii iv american british imperial presidential foreign music army war
defense defence business open
"""
GENERIC_WORDS: frozenset[str] = frozenset(f"{_ARTICLES} {_KINDS} {_ADJECTIVES}".split())
"""Articles, kinds of places and plain adjectives, in normal form: they name no place by themselves."""

_Judge = Callable[[str, str, str], bool]
_KINDS_AT_END = re.compile(
    "(?:駅|站|公園|公园|神社|神宮|寺院|寺|博物館|博物馆|美術館|美术馆|大学|大學|病院|医院|橋|桥|通り|大道|路|街|広場|广场|塔|역|공원|대학교|박물관|성당|시장|광장)$"
)
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]"
)
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
_COMBINING = re.compile("[\u0300-\u036f]")
_APOSTROPHES = re.compile("['’‘ʼʻ`´]s\\b|['’‘ʼʻ`´]")
_ELIDED = re.compile(r"\b([dl]|dell|all|nell)['’](?=\w)", re.IGNORECASE)
_NOT_WORD = re.compile("[^\\w\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+|_+")
_BRACKETS = re.compile(r"[(\[（【][^)\]）】]*[)\]）】]")


def echo_study(areas: Iterable[object], places: Iterable[object], names: Iterable[object]) -> np.ndarray:
    """The study's reading: the first word of the name is a substring of the area or the building, case aside.

    Parameters
    ----------
    areas, places
        (n,) answered area and building; missing values are empty.
    names
        (n,) name of the reference point in the hint; missing where there was no hint.

    Returns
    -------
    (n,) 1.0, 0.0, and NaN without a name or without any answer text.

    Examples
    --------
    >>> echo_study(["Mission District"], ["San Jalisco"], ["San Francisco Museum of Modern Art"]).tolist()
    [1.0]
    """
    return _judged(areas, places, names, _first_word_in)


def echo(
    areas: Iterable[object],
    places: Iterable[object],
    names: Iterable[object],
    cities: Iterable[object] | None = None,
) -> np.ndarray:
    """The area or the building names the reference point: it has the distinctive part of the name, word for word.

    Case, accents and punctuation are folded; articles, kinds of places ("museum", "station"), plain adjectives,
    what stands in brackets or after a comma, and the name of the city are no part of what must match. A name that
    has nothing else ("National Gallery", "London Bridge") must stand in full. Names in scripts without spaces match
    as a substring, without the kind at their end.

    Parameters
    ----------
    areas, places, names
        As in :func:`echo_study`.
    cities
        (n,) true city, so that "Opera Tokyo" does not ask for "Tokyo" and every Tokyo answer is no echo; or None.

    Returns
    -------
    (n,) 1.0, 0.0, and NaN without a name or without any answer text.

    Examples
    --------
    >>> echo(["Mission District"], ["San Jalisco"], ["San Francisco Museum of Modern Art"]).tolist()
    [0.0]
    >>> echo(["Ebisu"], ["a shop near the station"], ["Ebisu Station (Tokyo)"]).tolist()
    [1.0]
    """
    if cities is None:
        return _judged(areas, places, names, _names_it)
    rows = [list(column) for column in (areas, places, names, cities)]
    if len({len(column) for column in rows}) > 1:
        raise DataError(f"echo needs one value per answer in each column, got {[len(c) for c in rows]}")
    out = np.full(len(rows[0]), np.nan)
    for i, (area, place, name, city) in enumerate(zip(*rows, strict=True)):
        out[i] = _judge(area, place, name, functools.partial(_names_it, city=_text(city)))
    return out


@functools.lru_cache(maxsize=20_000)
def distinctive(name: str, city: str = "") -> tuple[str, ...]:
    """The words of a name that must stand in an answer, in normal form and in order.

    Examples
    --------
    >>> distinctive("Museum of the Ancient Agora"), distinctive("National Gallery"), distinctive("Pont Neuf")
    (('ancient', 'agora'), ('national', 'gallery'), ('pont', 'neuf'))
    """
    bare = _BRACKETS.sub(" ", name)
    bare = bare.split(",")[0] if bare.split(",")[0].strip() else bare
    words = _words(bare) or _words(name)
    in_city = set(_words(city))
    kept = tuple(w for w in words if w not in GENERIC_WORDS and w not in in_city)
    if sum(map(len, kept)) >= 3 or any(_UNSPACED.search(w) for w in kept):
        return kept
    return tuple(words)


def _names_it(area: str, place: str, name: str, city: str = "") -> bool:
    if _UNSPACED.search(name):
        wanted = "".join(_words(_BRACKETS.sub(" ", name)))
        wanted = _KINDS_AT_END.sub("", wanted) if len(_KINDS_AT_END.sub("", wanted)) >= 2 else wanted
        return any(wanted in "".join(_words(text)) for text in (area, place) if wanted)
    wanted = distinctive(name, city)
    plain = not set(wanted) <= GENERIC_WORDS  # else the name must stand in full, generic words and all
    for text in (area, place):
        words = _words(text)
        if _contains(words, wanted):
            return True
        if plain and _contains([w for w in words if w not in GENERIC_WORDS], wanted):
            return True
    return False


def _first_word_in(area: str, place: str, name: str) -> bool:
    first = name.split(maxsplit=1)[0].casefold()
    return first in area.casefold() or first in place.casefold()


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    n = len(wanted)
    return n > 0 and any(tuple(words[i : i + n]) == tuple(wanted) for i in range(len(words) - n + 1))


@functools.lru_cache(maxsize=20_000)
def _words(text: str) -> list[str]:
    """Words in lower case, narrow, without accents; elided articles and possessives go."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = _APOSTROPHES.sub("", _ELIDED.sub("", plain))
    plain = _COMBINING.sub("", unicodedata.normalize("NFD", plain))
    plain = unicodedata.normalize("NFC", plain).translate(_LETTERS)
    return ["saint" if word in ("st", "ste") else word for word in _NOT_WORD.sub(" ", plain).split()]


def _judged(
    areas: Iterable[object], places: Iterable[object], names: Iterable[object], judge: _Judge
) -> np.ndarray:
    rows = [list(column) for column in (areas, places, names)]
    if len({len(column) for column in rows}) > 1:
        raise DataError(f"echo needs one value per answer in each column, got {[len(c) for c in rows]}")
    return np.array(
        [_judge(area, place, name, judge) for area, place, name in zip(*rows, strict=True)], dtype=float
    )


def _judge(area: object, place: object, name: object, judge: _Judge) -> float:
    hint, where, what = _text(name), _text(area), _text(place)
    if not hint or not (where or what):
        return float("nan")
    return float(judge(where, what, hint))


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
