"""Where a photo was taken, from its EXIF or XMP; every doubtful value gives a reason instead of a position.

Cameras, telephones and editors write positions in many broken ways; each rule below answers to a file that exists.
Degrees are decimal, WGS 84, north and east positive.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Position", "Reading", "check_pair", "parse_angle", "position_from_exif", "position_from_xmp"]

_LIMIT = {"latitude": 90.0, "longitude": 180.0}
_LETTERS = {"latitude": "NS", "longitude": "EW"}
_NULL_ISLAND = 0.001  # degrees, 111 m: nobody takes street photos there
_NUMBER = r"\d+(?:[.,]\d+)?"
_ANGLE = re.compile(  # of text in capitals, with ° for every word or letter that means degrees
    rf"^(?P<first>[NSEW])?\s*(?P<sign>[+-]?)\s*(?P<a>{_NUMBER})"
    rf"(?:[\s:°º*]+(?P<b>{_NUMBER})(?:[\s:'′’]+(?P<c>{_NUMBER}))?)?[\s:°º*'′’\"″”]*(?P<last>[NSEW])?$"
)
_SIX_PARTS = re.compile(r"^(\d+),(\d+),(\d+),(\d+),(\d+),(\d+)$")
_XMP_VALUE = r"(?<![A-Za-z0-9])GPS{name}\s*(?:=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')|>\s*([^<]*)<)"
_XMP_NAMES = {
    "Latitude": "Latitude",
    "Longitude": "Longt?itude",  # a maker of drones spells it with one t too many
    "LatitudeRef": "LatitudeRef",
    "LongitudeRef": "LongitudeRef",
    "Status": "Status",
}
_XMP_PATTERNS = {
    name: re.compile(_XMP_VALUE.format(name=spelt), re.IGNORECASE) for name, spelt in _XMP_NAMES.items()
}


@dataclass(frozen=True)
class Position:
    """A usable position."""

    lat: float
    lon: float
    source: str
    """sidecar, exif or xmp."""
    notes: tuple[str, ...] = ()
    """What the reader had to assume."""


@dataclass(frozen=True)
class Reading:
    """What one source says: a position, a reason why what it says is unusable, or neither (nothing is said)."""

    position: Position | None = None
    reason: str = ""


class _Unusable(Exception):
    """Carries a reason; never leaves this module."""


def position_from_exif(gps: Mapping[int, Any]) -> Reading:
    """The position in an EXIF GPS block.

    Parameters
    ----------
    gps
        Tag number -> value, as Pillow gives it (1 and 3: N/S and E/W; 2 and 4: degrees, minutes, seconds;
        9: status). The destination's position (tags 20, 22) is never used.
    """
    if gps.get(2) is None and gps.get(4) is None:
        return Reading()
    notes: list[str] = []
    try:
        if _text(gps.get(9)).upper() == "V":
            raise _Unusable("the receiver had no fix (GPSStatus V)")
        if gps.get(2) is None or gps.get(4) is None:
            missing = "latitude" if gps.get(2) is None else "longitude"
            raise _Unusable(f"EXIF has no {missing}")
        values = [
            _exif_angle(gps.get(2), gps.get(1), "latitude", notes),
            _exif_angle(gps.get(4), gps.get(3), "longitude", notes),
        ]
        _check(values[0], values[1])
    except _Unusable as error:
        return Reading(reason=str(error))
    return Reading(Position(values[0], values[1], "exif", tuple(dict.fromkeys(notes))))


def position_from_xmp(xmp: str) -> Reading:
    """The position in an XMP packet: "51,49.9216N" (degrees,minutes), "51,49,55.3N" or decimal degrees.

    The text is searched with patterns and never parsed as XML, so nothing in it is ever expanded or fetched. The
    first value of each property counts; prefixes other than `exif` are accepted, `GPSDestLatitude` is not.
    """
    found = {name: _first(pattern, xmp) for name, pattern in _XMP_PATTERNS.items()}
    if not found["Latitude"] and not found["Longitude"]:
        return Reading()
    try:
        if found["Status"].upper() == "V":
            raise _Unusable("the receiver had no fix (GPSStatus V in the XMP)")
        if not found["Latitude"] or not found["Longitude"]:
            raise _Unusable("XMP has only one of latitude and longitude")
        lat = _xmp_angle(found["Latitude"], found["LatitudeRef"], "latitude")
        lon = _xmp_angle(found["Longitude"], found["LongitudeRef"], "longitude")
        _check(lat, lon)
    except _Unusable as error:
        return Reading(reason=str(error))
    return Reading(Position(lat, lon, "xmp"))


def parse_angle(text: str, axis: str) -> float:
    """Signed decimal degrees from what people write in tables.

    "-33.45", "52,5" (decimal comma), "33.45 S", "N 52 31 12.3", "52°31'12.3\\" N", "52 deg 31' 12.30\\" N" (as
    exiftool writes it), with U+2212 or an en dash for the minus.

    Parameters
    ----------
    axis
        "latitude" or "longitude".

    Raises
    ------
    ValueError
        With the reason: no number, minutes or seconds of 60 or more, a letter that does not belong to the axis, a
        sign and a letter that disagree, outside the range.
    """
    clean = text.strip().upper().replace("−", "-").replace("–", "-").replace("DEG", "°").replace("''", '"')
    match = _ANGLE.match(clean.replace("D", "°"))
    if not match:
        raise ValueError(f"{text.strip()[:40]!r} is no {axis}")
    letter = match["first"] or match["last"] or ""
    if match["first"] and match["last"]:
        raise ValueError(f"{text.strip()[:40]!r} has two letters of the compass")
    parts = [float(match[name].replace(",", ".")) for name in "abc" if match[name]]
    try:
        value = _combine(parts, axis)
        return _signed(-value if match["sign"] == "-" else value, letter, axis, match["sign"] == "-")
    except _Unusable as error:
        raise ValueError(str(error)) from error


def check_pair(lat: float, lon: float) -> str:
    """Why a pair of degrees cannot be a photo's position, or "" if it can: not finite, out of range, (0, 0).

    A latitude that is only possible as a longitude is said to look exchanged; nothing is ever exchanged silently.
    """
    if not (math.isfinite(lat) and math.isfinite(lon)):
        return f"the position ({lat}, {lon}) is not a number"
    if abs(lat) > 90:
        if abs(lat) <= 180 and abs(lon) <= 90:
            return f"latitude {lat:g} is outside -90..90; latitude and longitude look exchanged (longitude {lon:g})"
        return f"latitude {lat:g} is outside -90..90"
    if abs(lon) > 180:
        return f"longitude {lon:g} is outside -180..180"
    if abs(lat) < _NULL_ISLAND and abs(lon) < _NULL_ISLAND:
        return "the position is 0, 0: a placeholder, not a place"
    return ""


def _check(lat: float, lon: float) -> None:
    problem = check_pair(lat, lon)
    if problem:
        raise _Unusable(problem)


def _exif_angle(value: Any, ref: Any, axis: str, notes: list[str]) -> float:
    parts = _exif_parts(value, axis, notes)
    letter = _text(ref).upper()[:1]
    if letter not in tuple(_LETTERS[axis]):
        shown = f"is {letter!r}" if letter else "is missing"
        raise _Unusable(f"the {axis}'s hemisphere (GPS{axis.title()}Ref) {shown}: it could be either side")
    negative = any(part < 0 for part in parts)
    magnitude = _combine([abs(part) for part in parts], axis)
    # The sign goes on the whole angle: on the degrees alone it would be lost for 0 degrees south.
    return _signed(-magnitude if negative else magnitude, letter, axis, negative)


def _exif_parts(value: Any, axis: str, notes: list[str]) -> list[float]:
    if isinstance(value, (str, bytes)):
        text = _text(value)
        six = _SIX_PARTS.match(text)
        if six:  # "52,00000,50,00000,34,01180": three numbers with decimal commas
            notes.append("EXIF has the position as text; read as degrees, minutes, seconds with decimal commas")
            return [float(f"{six[i]}.{six[i + 1]}") for i in (1, 3, 5)]
        notes.append("EXIF has the position as text")
        try:
            return [parse_angle(text, axis)]
        except ValueError as error:
            raise _Unusable(f"EXIF has the {axis} as a text that cannot be read ({error})") from error
    numbers = list(value) if isinstance(value, Sequence) else [value]
    try:
        parts = [float(number) for number in numbers[:3]]
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise _Unusable(f"EXIF has no numbers for the {axis}") from error
    defined = 0
    while defined < len(parts) and math.isfinite(parts[defined]):
        defined += 1
    if defined == len(parts) and parts:
        return parts
    # Undefined (0/0) parts behind a part with a fraction, or behind the minutes, only lose precision.
    if defined == 2 and math.isnan(parts[2]):
        exact = parts[1] % 1 != 0
        notes.append(
            "the seconds are undefined (0/0) and read as absent"
            + ("" if exact else ": the position is good to a minute, about 1.8 km")
        )
        return parts[:2]
    if defined == 1 and parts[0] % 1 != 0 and all(math.isnan(part) for part in parts[1:]):
        notes.append("minutes and seconds are undefined (0/0) and read as absent")
        return parts[:1]
    raise _Unusable(f"the {axis} is undefined (0/0 or not a number)")


def _combine(parts: list[float], axis: str) -> float:
    """Degrees from unsigned degrees, minutes, seconds. 60 itself passes: some cameras round 59.9996 up."""
    for name, part in zip(("minutes", "seconds"), parts[1:], strict=False):
        if part > 60:
            raise _Unusable(
                f"the {axis}'s {name} are {part:g}, above 60: a known fault of some telephones' panoramas"
            )
    return sum(part / 60**power for power, part in enumerate(parts))


def _signed(value: float, letter: str, axis: str, signed: bool) -> float:
    if letter and letter not in _LETTERS[axis]:
        raise _Unusable(f"the letter {letter} does not belong to a {axis}")
    if signed and letter and letter == _LETTERS[axis][0]:
        raise _Unusable(f"the {axis} is negative but marked {letter}: it could be either side")
    return -abs(value) if letter == _LETTERS[axis][1] else value


def _xmp_angle(text: str, ref: str, axis: str) -> float:
    letter = text[-1:].upper() if text[-1:].isalpha() else ""
    ref = ref.strip().upper()[:1]
    body = text[: len(text) - len(letter)]
    try:
        parts = [_rational(piece) for piece in body.split(",")]
    except ValueError:
        try:  # not the standard's form: degree signs and the like
            return parse_angle(text if letter else f"{text} {ref}", axis)
        except ValueError as error:
            raise _Unusable(f"the XMP's {axis} cannot be read ({error})") from error
    if not 1 <= len(parts) <= 3 or not all(math.isfinite(part) for part in parts):
        raise _Unusable(f"the XMP's {axis} {text[:40]!r} cannot be read")
    negative = body.strip().startswith("-")
    magnitude = _combine([abs(part) for part in parts], axis)
    return _signed(-magnitude if negative else magnitude, letter or ref, axis, negative)


def _rational(text: str) -> float:
    above, slash, below = text.strip().partition("/")
    if not slash:
        return float(above)
    return float(above) / float(below) if float(below) else math.nan


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return html.unescape(match[1] or match[2] or match[3] or "").strip() if match else ""


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    return value.strip("\0 \t\r\n") if isinstance(value, str) else ""
