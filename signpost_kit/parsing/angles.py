"""Angles and the words that name them, as tokens of a text: numbers with signs, degrees, minutes, hemispheres."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Token", "decimal_points", "tokens"]

_DEG = r"(?:°(?![ ]?[CF]\b)|\^|(?i:degrees?|degs?|degr[eé]s?|grados?|grad)(?![A-Za-z])|(?<=\d)d(?=[ ]?\d))"
_MIN = r"(?:'|(?i:minutes?|min|m)(?![A-Za-z]))"
_SEC = r"(?:\"|''|(?i:seconds?|sec|s)(?![A-Za-z]))"
_WORDS = {
    "north": "N",
    "south": "S",
    "east": "E",
    "west": "W",
    "northern": "N",
    "southern": "S",
    "eastern": "E",
    "western": "W",
    "norte": "N",
    "sur": "S",
    "este": "E",
    "oeste": "W",
    "nord": "N",
    "sud": "S",
    "est": "E",
    "ouest": "W",
    "sul": "S",
    "leste": "E",
    "süd": "S",
    "ost": "E",
    "北纬": "N",
    "北緯": "N",
    "南纬": "S",
    "南緯": "S",
    "东经": "E",
    "東經": "E",
    "東経": "E",
    "西经": "W",
    "西經": "W",
    "西経": "W",
}
_WORD = "(?i:" + "|".join(sorted(_WORDS, key=len, reverse=True)) + ")"
_NEXT_HEMISPHERE = rf"(?=[ ]?(?:[NSEW](?![A-Za-z])|{_WORD}))"

_TOKEN = re.compile(
    rf"""
    (?<![A-Za-z])(?P<label>
        (?i:latitudine|latitude|latitud|lat|longitudine|longitude|longitud|long|lng|lon
        |breitengrad|längengrad|breite|länge)(?![A-Za-z])
        |纬度|緯度|经度|經度|経度|[Шш]ирота|[Дд]олгота)
    |
    (?:
        (?<![A-Za-z_])(?P<pre>[NSEW]|{_WORD})[.]?[ \t]?[:=]?[ \t]?(?P<sign>[-+]?)
        |(?<![A-Za-z0-9)°_.])(?P<sign2>[-+])
        |(?<![A-Za-z0-9_.])
        |(?<=\d[NSEW])
    )
    (?P<deg>\d{{1,3}}(?:\.(?P<decimals>\d{{1,40}})\d*)?|\.(?P<decimals2>\d{{1,40}})\d*)(?!\.?\d)
    (?P<exponent>[eE][+-]\d{{1,2}}(?!\d))?
    (?:
        [ ]?(?P<mark>{_DEG})
        (?:[ ]?(?P<min>\d{{1,2}}(?:\.\d{{1,20}})?)[ ]?(?:{_MIN}|{_NEXT_HEMISPHERE})
            (?:[ ]?(?P<sec>\d{{1,2}}(?:\.\d{{1,20}})?)[ ]?(?:{_SEC}|{_NEXT_HEMISPHERE}))?
        )?
        |
        [ :](?P<min2>[0-5]?\d)[ :'](?P<sec2>[0-5]?\d(?:\.\d{{1,20}})?)"?{_NEXT_HEMISPHERE}
    )?
    (?(pre)|(?:
        [ \t]{{0,2}}\(?(?P<post>[NSEW])(?![A-Za-z])
        |(?P<low>[nsew])(?![A-Za-z])
        |[ \t]{{0,2}}(?P<word>{_WORD})(?![A-Za-z])
    )?)
    (?:(?<!\d)|(?![A-DF-MO-RT-VX-Za-z_]))  # "40th" is no angle
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """A number in degrees, or a label."""

    start: int
    end: int
    axis: str
    """`lat` or `lon` where a label or a hemisphere says so, else empty."""
    is_label: bool
    value: float
    decimals: int
    """Digits written after the point (minutes count as two)."""
    marked: bool
    """Has a degree sign or a hemisphere."""
    minutes: bool


def tokens(text: str) -> list[Token]:
    """All angles and labels of a text that went through `plain_characters`, in order."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        label = match["label"]
        if label is not None:
            axis = "lat" if label[:2].lower() in _LATITUDE else "lon"
            found.append(Token(match.start(), match.end(), axis, True, 0.0, 0, False, False))
        else:
            token = _number(match, text)
            if token is not None:
                found.append(token)
    return found


_LATITUDE = {"la", "br", "纬度", "緯度", "ши"}
_DETACHED_MINUS = re.compile(r"[,(:=;|\[\"'][ ]{0,2}-[ ]{1,2}$")


def _number(match: re.Match[str], text: str) -> Token | None:
    part = match.groupdict()
    value = float(part["deg"] + (part["exponent"] or ""))
    minutes = part["min"] or part["min2"]
    seconds = part["sec"] or part["sec2"]
    if minutes:
        smaller = float(minutes), float(seconds or 0)
        if smaller[0] >= 60 or smaller[1] >= 60:
            return None
        value += smaller[0] / 60 + smaller[1] / 3600
    end = match.end()
    hemisphere = part["post"] or (part["low"] or "").upper() or _hemisphere_word(part["word"])
    decimals = len(part["decimals"] or part["decimals2"] or "") + (2 if minutes else 0)
    if part["word"] and not (part["mark"] or decimals):
        hemisphere, end = "", match.start("word")  # "20 West Street"
    before = part["pre"]
    if before:
        hemisphere = before if before in "NSEW" else _hemisphere_word(before)
    negative = (part["sign"] or part["sign2"]) == "-"
    start = match.start()
    if not negative and not before and start and text[start - 1] == " ":
        negative = _DETACHED_MINUS.search(text, max(0, start - 6), start) is not None
    if negative or hemisphere in ("S", "W"):
        value = -value  # a sign and a letter are one sign, not two
    axis = "" if not hemisphere else "lat" if hemisphere in "NS" else "lon"
    return Token(start, end, axis, False, value, decimals, bool(part["mark"] or hemisphere), bool(minutes))


def _hemisphere_word(word: str | None) -> str:
    return _WORDS[word.lower()] if word else ""


_COMMA_NUMBER = re.compile(r"(?<![\d.,])\d{1,3},\d{1,40}(?![\d.]|,\d)")
_FOUR_PARTS = re.compile(
    r"(?<![\d.,])(\d{1,3}),(\d{3,40})(\s?,\s?[-+]?)(\d{1,3}),(\d{3,40})(?![\d.]|,\d)",
)
_AFTER_DECIMAL = re.compile(r"[ ]?(?:°|[NSEW](?![A-Za-z])|deg)")
_BEFORE_DECIMAL = re.compile(
    r"(?:lat|latitude|lon|long|lng|longitude|latitud|longitud|grad)[\"']?\s?[:=]?\s?[\"']?[-+]?$", re.IGNORECASE
)
_TWO_LABELS = re.compile(r"lat\w*[\"'\s,/&(-]{1,4}l(?:on|ng)\w*[^\w]*$", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*[;/|]\s*[-+]?|\s*,\s+[-+]?|\s+[-+]?|[^\w,]*\b(?:and|y|et|und)\s[-+]?")


def decimal_points(text: str) -> str:
    """Decimal commas turned into points where they cannot be the comma between two numbers."""
    if not _COMMA_NUMBER.search(text) and not _FOUR_PARTS.search(text):
        return text
    text = _FOUR_PARTS.sub(r"\1.\2\3\4.\5", text)
    matches = list(_COMMA_NUMBER.finditer(text))
    decimal = [_stands_alone(text, match) for match in matches]
    for i in range(len(matches) - 1):
        gap = text[matches[i].end() : matches[i + 1].start()]
        if len(gap) < 12 and _BETWEEN.fullmatch(gap):
            decimal[i] = decimal[i + 1] = True
    points = [
        match.start() + match[0].index(",")
        for match, is_decimal in zip(matches, decimal, strict=True)
        if is_decimal
    ]
    if not points:
        return text
    letters = list(text)
    for point in points:
        letters[point] = "."
    return "".join(letters)


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    if _AFTER_DECIMAL.match(text, match.end()):
        return True
    before = text[max(0, match.start() - 24) : match.start()]
    return bool(_BEFORE_DECIMAL.search(before)) and not _TWO_LABELS.search(before)
