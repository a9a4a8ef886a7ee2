"""What kind of string a text is, by its form alone: digits, dates, addresses of the web, postal codes, noise.

Shared by OCR screening and the taxonomy. Each test answers for the whole text.
"""

from __future__ import annotations

import re
import unicodedata

from signpost_kit.normal_form import fold, unconfused
from signpost_kit.wordlists import WordLists

__all__ = [
    "brand_kind",
    "counted_chars",
    "is_date",
    "is_digits",
    "is_noise",
    "is_url",
    "is_watermark",
    "postal_code",
]

_URL = re.compile(
    r"(?:https?:?/|www\s*\.)|\b[\w-]{2,}\s?\.\s?(?:com|org|net|info|biz|edu|gov|eu|co\.uk|com\.\w\w|co\.\w\w|de|fr|es|it|nl|pl|ru|cn|"
    r"jp|kr|br|in|io|me|tv|ch|at|be|se|dk|fi|cz|pt|gr|tr|mx|ar|au|ca|us|uk|blog)\b(?!\.)|\b[\w.-]+@[\w-]+\.\w+",
    re.IGNORECASE,
)
_CLOCK = r"\d{1,2}[:.h]\d{2}(?::\d{2})?\s*(?:am|pm|uhr|h)?"
_DATES = (
    re.compile(r"(?:19|20)\d\d\s*[-/.年]\s*\d{1,2}(?:\s*[-/.月]\s*\d{1,2}\s*日?)?.{0,9}"),
    re.compile(r"\d{1,2}\s*[-/.]\s*\d{1,2}\s*[-/.]\s*(?:\d{2}|\d{4})(?:\s+" + _CLOCK + ")?"),
    re.compile(r"\d{1,2}月\d{1,2}日?|(?:令和|平成|昭和|民國)\s*\d+年.*"),
    re.compile(rf"{_CLOCK}(?:\s*[-–—~～至]\s*{_CLOCK})?", re.IGNORECASE),
)
_POSTAL = (
    ("US", re.compile(r"\b[A-Z]{2}\.?\s+\d{5}(?:-\d{4})?\b|\b\d{5}-\d{4}\b")),
    ("UK", re.compile(r"\b(?:[A-Z]{1,2}\d[A-Z\d]?)\s+\d[A-Z]{2}\b")),
    ("JP", re.compile(r"〒\s*\d{3}[-‐ー−]?\d{4}")),
    ("CA", re.compile(r"\b[A-Z]\d[A-Z]\s\d[A-Z]\d\b")),
    ("NL", re.compile(r"\b[1-9]\d{3}\s[A-Z]{2}\b(?=\s+\w|$)")),
    ("generic", re.compile(r"\b(?:[A-Z]{1,2}-)?(?:\d{4,6}|\d{3}\s\d{2}|\d{2}-\d{3})\s+[^\W\d_]{3,}")),
)
_UNITS = re.compile(
    r"\b\d{4,6}\s+(?:km|kg|mm|kwh|mph|rpm|ltd|calls?|items?|people|seats?|years?|hours?)\b", re.IGNORECASE
)
_BESIDE_NUMBERS = re.compile(
    r"\b(?:no|nr|n|tel|fax|ph|km|mph|kmh|kg|m|h|min|am|pm|t)\b"
    r"|(?<=\d)\s?(?:km|m2|m|h|kg|t|号|號|元|円|米|th|st|nd|rd)(?![^\W\d_])",
    re.IGNORECASE,
)
_REPEATED = re.compile(r"(.)\1{3,}")


def counted_chars(text: str) -> int:
    """Letters and digits of a text (punctuation and blanks do not count)."""
    return sum(unicodedata.category(char)[0] in "LN" for char in unicodedata.normalize("NFKC", text))


def is_digits(text: str) -> bool:
    """Numbers with punctuation, units or a letter beside them: `315`, `24/7`, `1887-90`, `56Km`, `15号`."""
    plain = unicodedata.normalize("NFKC", text)
    if not any(char.isdigit() for char in plain):
        return False
    rest = _BESIDE_NUMBERS.sub("", plain)
    return not any(unicodedata.category(char)[0] == "L" for char in rest)


def is_date(text: str, lists: WordLists) -> bool:
    """A date, a time or opening hours: `2014-07-02`, `July 2014`, `9:00 - 18:00`, `Mon-Fri 9-17`."""
    plain = unicodedata.normalize("NFKC", text).strip()
    if any(pattern.fullmatch(plain) for pattern in _DATES):
        return True
    tokens = fold(text).split()
    named = [t for t in tokens if t.rstrip("s") in lists.months or t in lists.months]
    rest = [
        t
        for t in tokens
        if t not in named and not re.fullmatch(r"\d{1,4}(?:st|nd|rd|th|am|pm|h)?|am|pm|to|de|of|uhr", t)
    ]
    if not named or rest:
        return False
    return len(tokens) > 1 or tokens[0] not in {
        "may",
        "mar",
        "march",
        "mars",
        "sun",
        "sat",
        "mai",
        "mayo",
        "juli",
        "april",
    }


def is_url(text: str) -> bool:
    """A web address, a mail address or an account name (`@name`)."""
    return bool(_URL.search(text)) or bool(re.match(r"@\w{3,}", text.strip()))


def is_watermark(text: str, lists: WordLists) -> bool:
    """A copyright line or the mark of a picture service (`© 2021 Google`)."""
    if "©" in text or "(c)" in text.casefold():
        return True
    key = fold(text)
    bare = " ".join(t for t in key.split() if not t.isdigit())
    if bare in lists.watermarks or key.replace(" ", "") in lists.joined_watermarks:
        return True
    padded = f" {key} "
    return any(f" {mark} " in padded for mark in lists.watermark_phrases)


def is_noise(text: str, confidence: float | None = None) -> bool:
    """What an OCR engine makes of railings and leaves: symbols, one letter over and over, no word at all.

    Latin words without a vowel count as noise only when the engine itself is unsure (confidence below 0.8); with
    no confidence known, only the clear cases do.
    """
    chars = [c for c in text if not c.isspace()]
    letters = [c for c in chars if unicodedata.category(c)[0] in "LM"]
    if not chars or len(letters) * 2 < sum(unicodedata.category(c)[0] != "N" for c in chars):
        return True
    key = unconfused(fold(text)).replace(" ", "")
    if (len(set(key)) == 1 and len(key) > 2) or (key.isascii() and _REPEATED.search(key) and len(key) < 9):
        return True
    if confidence is None or confidence >= 0.8 or not key.isascii():
        return False
    runs = re.findall(r"[a-z]+|\d+", fold(text))
    mixed = len(runs) >= 3 and sum(r.isdigit() for r in runs) >= 2 and sum(len(r) for r in runs) <= 3 * len(runs)
    return mixed or (len(letters) >= 4 and not set("aeiouy") & set(key))


def brand_kind(key: str, lists: WordLists) -> str:
    """`vehicle brand`, `camera brand`, `global brand`, or empty, for a whole text in normal form."""
    return lists.brand_kinds.get(key) or lists.joined_brand_kinds.get(key.replace(" ", ""), "")


def postal_code(text: str) -> str:
    """Which system's postal code stands in the text (`US`, `UK`, `JP`, ... `generic`), or empty."""
    plain = unicodedata.normalize("NFKC", text)
    if _UNITS.search(plain):
        return ""
    return next((system for system, pattern in _POSTAL if pattern.search(plain)), "")
