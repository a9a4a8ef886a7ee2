"""Characters before meaning: mojibake, look-alike signs, escapes, thinking blocks, map links.

Everything is linear in the length of the text; nothing raises on any text.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

__all__ = ["MapLink", "cut_map_links", "plain_characters", "without_thinking"]

_DEGREE, _MINUS = "\N{DEGREE SIGN}", "-"

# UTF-8 bytes read as Windows-1252 or Latin-1, once or twice; the longest first.
_MOJIBAKE = (
    ("\u00c3\u201a\u00c2\u00b0", _DEGREE),
    ("\u00c3\u0082\u00c2\u00b0", _DEGREE),
    ("\u00e2\u20ac\u00b2", "'"),
    ("\u00e2\u0080\u00b2", "'"),
    ("\u00e2\u20ac\u00b3", '"'),
    ("\u00e2\u0080\u00b3", '"'),
    ("\u00e2\u20ac\u2122", "'"),
    ("\u00e2\u0080\u0099", "'"),
    ("\u00e2\u20ac\u0153", '"'),
    ("\u00e2\u20ac\u009d", '"'),
    ("\u00e2\u0080\u009c", '"'),
    ("\u00e2\u0080\u009d", '"'),
    ("\u00e2\u02c6\u2019", _MINUS),
    ("\u00e2\u0088\u0092", _MINUS),
    ("\u00e2\u20ac\u201c", _MINUS),
    ("\u00e2\u0080\u0093", _MINUS),
    ("\u00e2\u20ac\u201d", "\u2014"),
    ("\u00e2\u0080\u0094", "\u2014"),
    ("\u00cb\u0161", _DEGREE),
    ("\u00c2\u00b0", _DEGREE),
    ("\u00c2\u00ba", _DEGREE),
    ("\u00c2\u00a0", " "),
)
_ESCAPES = (
    ("&deg;", _DEGREE),
    ("&#176;", _DEGREE),
    ("&minus;", _MINUS),
    ("&#8722;", _MINUS),
    ("&nbsp;", " "),
    ("&quot;", '"'),
    ("&#39;", "'"),
    ("&prime;", "'"),
    ("&Prime;", '"'),
)
_BACKSLASHES = (
    ("^{\\circ}", _DEGREE),
    ("^\\circ", _DEGREE),
    ("\\degree", _DEGREE),
    ("\\circ", _DEGREE),
    ("\\u00b0", _DEGREE),
    ("\\u00B0", _DEGREE),
    ("\\u2212", _MINUS),
    ("\\u2032", "'"),
    ("\\u2033", '"'),
    ('\\"', '"'),
    ("\\'", "'"),
    ("\\n", "\n"),
    ("\\,", " "),
    ("\\text", ""),
)
_SIGNS = (
    dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\ufe63\uff0d", _MINUS)
    | dict.fromkeys("\u2032\u2018\u2019\u00b4\u02b9\u02bc\u0060", "'")
    | dict.fromkeys("\u2033\u201c\u201d\u201f\u02ba\u301e", '"')
    | dict.fromkeys("\u00ba\u02da\u2218\uff9f\ufffd", _DEGREE)
    | dict.fromkeys("\u00a0\u202f\u2007\u2008\u2009\u200a\u3000", " ")
    | dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad", "")
    | {"\uff0e": ".", "\uff0c": ",", "\u3001": ",", "\u060c": ",", "\u066b": ".", "\uff1b": ";", "\uff1a": ":"}
    | {"\uff08": "(", "\uff09": ")", "\uff0b": "+"}
    | {chr(zero + digit): str(digit) for zero in (0xFF10, 0x0660, 0x06F0, 0x0966) for digit in range(10)}
)
_TRANSLATION = str.maketrans(_SIGNS)


def plain_characters(text: str) -> str:
    """The text with ASCII digits, signs, quotes and spaces; degree signs whole; bold marks removed."""
    if "&" in text:
        text = _replaced(text, _ESCAPES)
    if "\\" in text:
        text = _replaced(text, _BACKSLASHES).replace("$", "")  # TeX: $48.85^\\circ$ N
    if not text.isascii():
        if any(mark in text for mark in "\u00c2\u00c3\u00e2\u00cb"):
            text = _replaced(text, _MOJIBAKE)
        text = text.translate(_TRANSLATION)
    if "`" in text:
        text = text.replace("`", "'")
    return text.replace("**", "") if "**" in text else text


_THINKING = re.compile(
    r"<(?P<shut>/)?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)\s?>"
    r"|[\u25c1\[](?P<shut2>/)?think[\u25b7\]]",
    re.IGNORECASE,
)
_FINAL_CHANNEL = "<|channel|>final<|message|>"


def without_thinking(text: str) -> str:
    """The text outside thinking blocks; a block that is never closed runs to the end.

    A closing tag without an opening one ends a block that began before the text (some chat templates do that).
    """
    if _FINAL_CHANNEL in text:
        text = text.rpartition(_FINAL_CHANNEL)[2]
    kept: list[str] = []
    position, thinking = 0, False
    for tag in _THINKING.finditer(text):
        if tag["shut"] or tag["shut2"]:
            position, thinking = tag.end(), False
        elif not thinking:
            kept.append(text[position : tag.start()])
            thinking = True
    if not kept and not position:
        return "" if thinking else text
    if not thinking:
        kept.append(text[position:])
    return " ".join(kept)


_LINK = re.compile(r"(?:https?://|(?:www\.|maps\.)\w)[^\s<>\[\]{}|\\]{1,2000}", re.IGNORECASE)
_N = r"([-+]?\d{1,3}(?:\.\d{1,40})?)"
_IN_LINK = (
    re.compile(rf"!3d{_N}\d*!4d{_N}"),
    re.compile(
        r"[?&#](?:q|query|ll|sll|center|cp|daddr|destination|viewpoint|loc|location)=[a-z:]{0,9}"
        rf"{_N}[,~ /]{{1,3}}{_N}"
    ),
    re.compile(rf"[?&]m?lat(?:itude)?={_N}&m?(?:lon|lng|long|longitude)={_N}", re.IGNORECASE),
    re.compile(rf"/(?:place|search|dir)/{_N}, ?{_N}(?![\d.])"),
    re.compile(rf"@{_N},{_N}"),
    re.compile(rf"#map=[\d.]{{1,5}}/{_N}/{_N}"),
)
MapLink = tuple[int, str, str]


def cut_map_links(text: str) -> tuple[str, list[MapLink], list[tuple[int, str]]]:
    """Blank every link out of the text, and read the positions in them.

    Returns
    -------
    The text with links replaced by spaces (positions stay), the map links as (start, lat, lon), and the remaining
    decoded links as (start, decoded text), where a degrees-minutes-seconds position may stand.
    """
    if "://" not in text and "www." not in text and "maps." not in text:
        return text, [], []
    found: list[MapLink] = []
    others: list[tuple[int, str]] = []
    pieces: list[str] = []
    position = 0
    for link in _LINK.finditer(text):
        pieces.append(text[position : link.start()])
        pieces.append(" " * (link.end() - link.start()))
        position = link.end()
        address = unquote_plus(link[0], errors="replace")
        match = next((hit for pattern in _IN_LINK if (hit := pattern.search(address))), None)
        if match:
            found.append((link.start(), match[1], match[2]))
        elif _DEGREE in address:
            others.append((link.start(), address.partition("/place/")[2] or address))
    pieces.append(text[position:])
    return "".join(pieces), found, others


def _replaced(text: str, pairs: tuple[tuple[str, str], ...]) -> str:
    for old, new in pairs:
        if old in text:
            text = text.replace(old, new)
    return text
