"""The normal form of names: case, accents, width and punctuation folded, so that `ZÜRICH` meets `Zurich`."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["fold", "is_unspaced", "one_edit", "unconfused", "words"]

_LETTERS = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        "ı": "i",
        "ħ": "h",
        "ŧ": "t",
        "ĸ": "k",
    }
)
_ACCENTS = re.compile("[\u0300-\u036f]")
_APOSTROPHES = re.compile("['’‘ʼʻ`´ʹ]")
# \w leaves vowel signs of Indic and Thai letters out; they are part of their words.
_NOT_WORD = re.compile("[^\\w\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+|_+")


_UNSPACED_LETTER = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0002fa1f]"  # kana, Han, Hangul
)


def fold(text: str) -> str:
    """Lower case, no accents on Latin, Greek and Cyrillic letters, narrow letters, punctuation as a blank.

    Apostrophes vanish (`L'Aquila` -> `laquila`); marks that make the letter in other scripts stay.
    """
    if text.isascii():
        plain = text.casefold()
    else:
        plain = unicodedata.normalize("NFKC", text).casefold()
        plain = _ACCENTS.sub("", unicodedata.normalize("NFD", plain))
        plain = unicodedata.normalize("NFC", plain).translate(_LETTERS)
    return " ".join(_NOT_WORD.sub(" ", _APOSTROPHES.sub("", plain)).split())


def words(text: str) -> list[str]:
    """The words of a text in normal form."""
    return fold(text).split()


def is_unspaced(text: str) -> bool:
    """True when the text has a letter of a script that writes names without spaces around them."""
    return _UNSPACED_LETTER.search(text) is not None


_CONFUSED = str.maketrans({"0": "o", "1": "l", "5": "s", "8": "b", "|": "l"})
_DIGIT_IN_WORD = re.compile(r"\b(?=\w*[a-z]{2})\w+\b", re.ASCII)


def unconfused(key: str) -> str:
    """A normal form with the digits that OCR takes for letters turned back, inside words of at least two letters.

    `st0p` -> `stop`; `24h` and `m25` stay.
    """
    return _DIGIT_IN_WORD.sub(lambda found: found.group().translate(_CONFUSED), key)


def one_edit(a: str, b: str) -> bool:
    """True when at most one insertion, deletion or substitution leads from `a` to `b`."""
    if a == b:
        return True
    if abs(len(a) - len(b)) > 1:
        return False
    if len(a) > len(b):
        a, b = b, a
    i = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    return a[i + 1 :] == b[i + 1 :] if len(a) == len(b) else a[i:] == b[i + 1 :]
