"""The normal form of a text that is looked up: the key it is kept under, and what is sent for it."""

from __future__ import annotations

import re

from signpost_kit.geocoding.base import NothingToAsk

__all__ = ["MAX_LETTERS", "key_of", "query_of"]

MAX_LETTERS = 200
"""Of a query. A sign says less; a server refuses much more."""

_MARKS = re.compile('["“”„‟«»‹›「」『』《》〈〉【】〔〕()\\[\\]{}<>（）［］｛｝＂`´]')
# A single quote goes at the rim of a word and stays inside it: 'Roma' but L'Aquila, King’s Cross, Hawaiʻi.
_RIM_QUOTES = re.compile(r"(?<!\w)['‘’‚‛＇]+|['‘’‚‛＇]+(?!\w)")


def key_of(text: str) -> str:
    """What an answer is kept under: the text without blanks around it, in lower case (as in the release).

    >>> key_of("  Rue de LYON ")
    'rue de lyon'
    """
    return text.strip().lower()


def query_of(text: str) -> str:
    """What is asked: the text without quotes, brackets and line breaks; case and accents stay.

    Raises
    ------
    NothingToAsk
        Nothing with a letter or a digit is left, or it is too long for any place's name.

    >>> query_of('«Gare» (Nord),\\nL\\'Aquila')
    "Gare Nord, L'Aquila"
    """
    query = " ".join(_RIM_QUOTES.sub(" ", _MARKS.sub(" ", text)).split())
    query = re.sub(r" ([,;:.])", r"\1", query)
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise NothingToAsk(f"{text[:40]!r} is no sound text ({error.reason})") from error
    if not any(char.isalnum() for char in query):
        raise NothingToAsk(f"{text!r} has no letter or digit to look up")
    if len(query) > MAX_LETTERS:
        raise NothingToAsk(f"{text[:40]!r}… has {len(query)} letters; at most {MAX_LETTERS} are looked up")
    return query
