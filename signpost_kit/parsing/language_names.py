"""Which scripts a language is written in, from its English name as a model gives it."""

from __future__ import annotations

import functools
import re
from typing import Any

from signpost_kit.normal_form import fold

__all__ = ["language_code", "scripts_of_language"]

# ISO 15924 -> what :mod:`signpost_kit.fonts` calls the script.
_SCRIPTS = {
    "Arab": "Arabic", "Armn": "Armenian", "Beng": "Bengali", "Cyrl": "Cyrillic", "Deva": "Devanagari",
    "Ethi": "Ethiopic", "Geor": "Georgian", "Grek": "Greek", "Gujr": "Gujarati", "Guru": "Gurmukhi",
    "Hang": "Hangul", "Hans": "Han", "Hant": "Han", "Hani": "Han", "Hebr": "Hebrew", "Khmr": "Khmer",
    "Knda": "Kannada", "Laoo": "Lao", "Latn": "Latin", "Mlym": "Malayalam", "Mymr": "Myanmar", "Orya": "Oriya",
    "Sinh": "Sinhala", "Taml": "Tamil", "Telu": "Telugu", "Thaa": "Thaana", "Thai": "Thai", "Tibt": "Tibetan",
}  # fmt: skip
# Languages on whose signs more than the likeliest script is seen.
_MORE = {
    "ja": ("Japanese", "Han"), "ko": ("Hangul", "Han"), "sr": ("Cyrillic", "Latin"), "bs": ("Latin", "Cyrillic"),
    "uz": ("Latin", "Cyrillic"), "kk": ("Cyrillic", "Latin", "Arabic"), "az": ("Latin", "Cyrillic"),
    "mn": ("Cyrillic", "Mongolian"), "pa": ("Gurmukhi", "Arabic"), "ms": ("Latin", "Arabic"),
    "ku": ("Latin", "Arabic"),
    "tk": ("Latin", "Cyrillic"), "sd": ("Arabic", "Devanagari"), "vi": ("Latin",), "yue": ("Han",),
}  # fmt: skip
_OTHER_NAMES = {
    "mandarin": "zh", "mandarin chinese": "zh", "simplified chinese": "zh", "traditional chinese": "zh",
    "chinese simplified": "zh", "chinese traditional": "zh", "taiwanese": "zh", "cantonese": "yue", "farsi": "fa",
    "bengali": "bn", "bangla": "bn", "castilian": "es",
    "flemish": "nl", "tagalog": "fil", "filipino": "fil", "bokmal": "nb", "nynorsk": "nn",
    "norwegian": "no", "burmese": "my", "sinhalese": "si", "serbo croatian": "sr", "brazilian portuguese": "pt",
    "american english": "en", "british english": "en", "gaelic": "ga", "irish gaelic": "ga", "hangul": "ko",
    "romaji": "ja", "kanji": "ja", "hiragana": "ja", "katakana": "ja", "modern greek": "el", "kurdish": "ku",
}  # fmt: skip
_REMARK = re.compile(r"\([^()]*\)|\b(?:language|script|text|writing|characters?|letters)\b", re.IGNORECASE)


def language_code(name: str) -> str:
    """ISO 639 code of a language by its English name or its code; "" for what is none.

    Examples
    --------
    >>> [language_code(name) for name in ("Mandarin Chinese", "Farsi", "fr", "Klingonese")]
    ['zh', 'fa', 'fr', '']
    """
    key = fold(_REMARK.sub(" ", name))
    table = _table()
    return table.get(key, "") or (key if len(key) in (2, 3) and key in table.values() else "")


def scripts_of_language(name: str) -> tuple[str, ...]:
    """Scripts that signs in a language are written in, as :func:`signpost_kit.fonts.scripts_in` calls them.

    Empty when the language is unknown.

    Examples
    --------
    >>> scripts_of_language("Serbian"), scripts_of_language("Japanese"), scripts_of_language("Polish")
    (('Cyrillic', 'Latin'), ('Japanese', 'Han'), ('Latin',))
    """
    code = language_code(name)
    return _scripts(code) if code else ()


@functools.lru_cache(maxsize=1024)
def _scripts(code: str) -> tuple[str, ...]:
    from babel.core import get_global

    if code in _MORE:
        return _MORE[code]
    likely: Any = get_global("likely_subtags")
    parts = str(likely.get(code, "")).split("_")
    return tuple(_SCRIPTS[part] for part in parts[1:] if part in _SCRIPTS)


@functools.cache
def _table() -> dict[str, str]:
    """English name in normal form -> code; a language before its regional forms."""
    from babel import Locale

    names: Any = Locale.parse("en").languages
    out: dict[str, str] = {}
    for code, name in sorted(names.items(), key=lambda item: (len(item[0]), item[0])):
        if "_" not in code:
            out.setdefault(fold(name), code)
    return out | _OTHER_NAMES
