"""Fonts for any script, from the packages manimgx-fonts and manimgx-fonts-cjk (Noto, OFL).

A sign or a label with a missing glyph is an error here, never a box in a picture.
"""

from __future__ import annotations

import functools
import importlib.util
import unicodedata
from collections import Counter
from pathlib import Path

from PIL import ImageFont

from signpost_kit.errors import DataError, MissingExtraError

__all__ = ["font_file", "load_font", "missing_glyphs", "script_of", "scripts_in"]

# First word of a character's Unicode name -> the script it is written in here.
_WORD_TO_SCRIPT = {
    "LATIN": "Latin",
    "GREEK": "Greek",
    "CYRILLIC": "Cyrillic",
    "CJK": "Han",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "KATAKANA-HIRAGANA": "Japanese",
    "IDEOGRAPHIC": "Han",
    "HANGUL": "Hangul",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "DEVANAGARI": "Devanagari",
    "BENGALI": "Bengali",
    "TAMIL": "Tamil",
    "TELUGU": "Telugu",
    "KANNADA": "Kannada",
    "MALAYALAM": "Malayalam",
    "GUJARATI": "Gujarati",
    "GURMUKHI": "Gurmukhi",
    "SINHALA": "Sinhala",
    "ORIYA": "Oriya",
    "THAI": "Thai",
    "LAO": "Lao",
    "KHMER": "Khmer",
    "MYANMAR": "Myanmar",
    "GEORGIAN": "Georgian",
    "ARMENIAN": "Armenian",
    "ETHIOPIC": "Ethiopic",
}
_PLAIN = ("Latin", "Greek", "Cyrillic")
_CJK_INDEX = {"Japanese": 0, "Hangul": 1, "Han": 2}  # faces of the collection: JP, KR, SC


@functools.lru_cache(maxsize=65536)
def _char_script(char: str) -> str:
    if not unicodedata.category(char).startswith("L"):
        return ""
    return _WORD_TO_SCRIPT.get(unicodedata.name(char, "UNKNOWN").split()[0], "Other")


def scripts_in(text: str) -> tuple[str, ...]:
    """Scripts of the letters in `text`, most frequent first; digits and punctuation have none."""
    counts = Counter(script for char in text if (script := _char_script(char)))
    return tuple(script for script, _ in counts.most_common())


def script_of(text: str) -> str:
    """The script of most letters ("Latin" when there are none). Han with any kana is Japanese."""
    scripts = scripts_in(text)
    if "Japanese" in scripts:
        return "Japanese"
    return scripts[0] if scripts else "Latin"


@functools.cache
def _package_folder(module: str, distribution: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise MissingExtraError(f"fonts are missing: install the package {distribution}")
    return Path(spec.origin).parent


def font_file(script: str) -> tuple[Path, int]:
    """Path and face index of the variable Noto font for a script.

    Raises
    ------
    DataError
        No font of the two packages writes that script.
    """
    if script in _CJK_INDEX:
        folder = _package_folder("manimgx_fonts_cjk", "manimgx-fonts-cjk")
        return folder / "NotoSansCJK-VF.otf.ttc", _CJK_INDEX[script]
    folder = _package_folder("manimgx_fonts", "manimgx-fonts")
    path = folder / ("NotoSans[wght].ttf" if script in _PLAIN else f"NotoSans{script}[wght].ttf")
    if not path.is_file():
        raise DataError(
            f"no font for the script {script!r}; allowed: Latin, Greek, Cyrillic, Han and the Noto Sans set"
        )
    return path, 0


@functools.cache
def _cmap(path: Path, index: int) -> frozenset[int]:
    from fontTools.ttLib import TTFont

    return frozenset(TTFont(path, fontNumber=index, lazy=True).getBestCmap() or ())


def missing_glyphs(text: str, script: str) -> str:
    """Characters of `text` that the font of `script` cannot draw (spaces and joiners aside)."""
    known = _cmap(*font_file(script))
    return "".join(c for c in dict.fromkeys(text) if ord(c) not in known and unicodedata.category(c)[0] not in "ZC")


@functools.lru_cache(maxsize=512)
def _open(script: str, size: int, weight: int) -> ImageFont.FreeTypeFont:
    path, index = font_file(script)
    font = ImageFont.truetype(str(path), size, index=index)
    axes = font.get_variation_axes()
    font.set_variation_by_axes(
        [float(weight if axis["name"] in (b"Weight", "Weight") else axis["default"] or 0) for axis in axes]
    )
    return font


def load_font(text: str, size: int, weight: int = 500, script: str | None = None) -> ImageFont.FreeTypeFont:
    """The font that writes `text` at `size` pixels and `weight` (100-900).

    Raises
    ------
    DataError
        A glyph is missing in the script's font (mixed scripts: draw the parts apart).
    """
    chosen = script or script_of(text)
    if missing := missing_glyphs(text, chosen):
        raise DataError(f"the {chosen} font has no glyph for {missing!r} in {text!r}; write each script apart")
    return _open(chosen, int(size), int(weight))
