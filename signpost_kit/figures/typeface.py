"""Typefaces for figures: small static fonts made from the Noto variable fonts of :mod:`signpost_kit.fonts`.

Matplotlib opens a variable font only in its default weight (Noto Sans CJK would be hairline thin, no face would
be bold) and cannot embed the CJK outlines as TrueType. So the characters a figure needs are cut out of the
variable font, fixed at one weight, given quadratic outlines, and kept in the cache folder. A character that no
font can draw is an error here, never a box in a figure.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import DataError
from signpost_kit.files import atomic_path, cache_dir, hash_bytes
from signpost_kit.fonts import font_file, missing_glyphs, scripts_in

if TYPE_CHECKING:
    from fontTools.ttLib import TTFont
    from matplotlib.figure import Figure
    from matplotlib.text import Text

__all__ = ["BASE_FAMILY", "SYMBOL_FAMILY", "base_fonts", "dress", "families_for"]

BASE_FAMILY = "Signpost Sans"
"""Noto Sans, regular and bold: Latin, Greek, Cyrillic and punctuation."""
SYMBOL_FAMILY = "DejaVu Sans"
"""Ships with matplotlib; arrows and mathematical signs."""

_BASE_RANGES = ((0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x460), (0x1E00, 0x1F00), (0x2000, 0x2070),
                (0x20A0, 0x20C0), (0x2200, 0x2270))  # fmt: skip
_CJK = ("Han", "Japanese", "Hangul")
_VERSION = 1  # part of the cache's key: raise it when the making changes


@functools.cache
def _base_characters() -> str:
    chars = "".join(chr(code) for first, last in _BASE_RANGES for code in range(first, last))
    lacking = set(missing_glyphs(chars, "Latin"))
    return "".join(c for c in chars if c not in lacking and c.isprintable())


def _quadratic(font: TTFont) -> None:
    """Give a font with cubic (CFF2) outlines TrueType ones: only those are embedded in a PDF as type 42."""
    from fontTools.pens.cu2quPen import Cu2QuPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from fontTools.ttLib import newTable

    glyphs, order = font.getGlyphSet(), font.getGlyphOrder()
    made = {}
    for name in order:
        pen = TTGlyphPen(None)
        glyphs[name].draw(Cu2QuPen(pen, 1.0, reverse_direction=True))
        made[name] = pen.glyph()
    glyf: Any = newTable("glyf")
    glyf.glyphOrder, glyf.glyphs = order, made
    font["loca"], font["glyf"] = newTable("loca"), glyf
    for tag in ("CFF2", "CFF ", "VORG"):
        if tag in font:
            del font[tag]
    maxp: Any = font["maxp"]
    maxp.tableVersion = 0x00010000
    zeros = ("maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs", "maxStackElements",
             "maxSizeOfInstructions", "maxComponentElements", "maxPoints", "maxContours",
             "maxCompositePoints", "maxCompositeContours", "maxComponentDepth")  # fmt: skip
    for field in zeros:
        setattr(maxp, field, 0)
    maxp.maxZones = 1
    font.sfntVersion = "\x00\x01\x00\x00"


def _name(font: TTFont, family: str, weight: int) -> None:
    """Name the face so that font managers and PDF readers tell it from the font it was cut from."""
    table: Any = font["name"]
    style = "Bold" if weight >= 600 else "Regular"
    postscript = f"{family.replace(' ', '')}-{style}"
    table.names = []
    for identifier, text in ((1, family), (2, style), (4, f"{family} {style}"), (6, postscript)):
        table.setName(text, identifier, 3, 1, 0x409)
    os2: Any = font["OS/2"]
    os2.usWeightClass = weight
    for tag in ("STAT", "avar", "HVAR", "MVAR"):
        if tag in font:
            del font[tag]


def _cut(characters: str, script: str, weight: int, family: str, target: Path) -> None:
    """Write a static TrueType font with `characters` (empty: all) of the script's variable font."""
    import logging

    from fontTools import subset
    from fontTools.ttLib import TTFont
    from fontTools.varLib import instancer

    logging.getLogger("fontTools").setLevel(logging.ERROR)
    source, index = font_file(script)
    font = TTFont(source, fontNumber=index, lazy=True, recalcTimestamp=False)
    options = subset.Options(layout_features=["*"], notdef_outline=True, glyph_names=True)
    cutter = subset.Subsetter(options)
    if characters:
        cutter.populate(unicodes=[ord(char) for char in characters])
    else:
        cutter.populate(unicodes=list(font.getBestCmap() or ()))
    cutter.subset(font)
    fixed = {
        axis.axisTag: float(weight) if axis.axisTag == "wght" else axis.defaultValue for axis in font["fvar"].axes
    }
    font = instancer.instantiateVariableFont(font, fixed)
    if "glyf" not in font:
        _quadratic(font)
    _name(font, family, weight)
    with atomic_path(target) as temporary:
        font.save(temporary)


@functools.cache
def _register(characters: str, script: str, weight: int, family: str) -> None:
    """Make the font if the cache lacks it, and tell matplotlib about it (once per process)."""
    from matplotlib import font_manager

    key = hash_bytes(f"{_VERSION}|{script}|{weight}|{family}|{characters}".encode())
    path = cache_dir("fonts") / f"{key}.ttf"
    if not path.is_file():
        _cut(characters, script, weight, family, path)
    font_manager.fontManager.addfont(str(path))


def base_fonts() -> None:
    """Make the base family known to matplotlib, regular and bold (about 3 s the first time on a machine)."""
    for weight in (400, 700):
        _register(_base_characters(), "Latin", weight, BASE_FAMILY)


@functools.cache
def _symbols() -> frozenset[int]:
    from fontTools.ttLib import TTFont
    from matplotlib import font_manager

    return frozenset(TTFont(font_manager.findfont(SYMBOL_FAMILY), lazy=True).getBestCmap() or ())


def _share(characters: str, script: str) -> tuple[str, str]:
    """Split `characters` into those that the script's font draws and those that it does not."""
    try:
        lacking = set(missing_glyphs(characters, script))
    except DataError:  # no font for that script; what stays undrawn is reported by the caller
        return "", characters
    return "".join(c for c in characters if c not in lacking), "".join(c for c in characters if c in lacking)


def _parts(text: str) -> dict[str, str]:
    """Script -> characters of `text` that its font has to draw, in the order the fonts should be tried.

    Raises
    ------
    DataError
        No font draws one of the characters.
    """
    base = set(_base_characters())
    rest = "".join(sorted({c for c in text if c not in base and c.isprintable() and not c.isspace()}))
    if not rest:
        return {}
    scripts = scripts_in(text)
    if "Japanese" in scripts:  # kana present: its Han characters are Japanese too
        scripts = ("Japanese", *(s for s in scripts if s not in ("Japanese", "Han")))
    if any(ord(c) not in _symbols() for c in rest):
        scripts = (*scripts, "Han")  # last resort: wide punctuation and signs live in the CJK font
    parts: dict[str, str] = {}
    for script in dict.fromkeys(scripts):
        here, rest = _share(rest, script)
        if here:
            parts[script] = here
    undrawn = "".join(c for c in rest if ord(c) not in _symbols())
    if undrawn:
        raise DataError(
            f"no font at hand draws {undrawn!r} in the label {text!r}; change the label, or the name it comes from"
        )
    return parts


def _is_bold(text: Text) -> bool:
    weight = text.get_fontweight()
    return weight in ("bold", "heavy", "semibold", "demibold", "black") or (
        isinstance(weight, int) and weight >= 600
    )


def dress(figure: Figure) -> None:
    """Give every text artist of a figure the fonts its characters need.

    Raises
    ------
    DataError
        A character has no glyph in any font; the message names it and the label.
    """
    from matplotlib.text import Text as _Text

    base_fonts()
    wanted: dict[tuple[str, int], set[str]] = {}
    plans: list[tuple[_Text, int, list[str]]] = []
    for artist in figure.findobj(_Text):
        if not isinstance(artist, _Text) or not artist.get_text():
            continue
        weight, parts = 700 if _is_bold(artist) else 400, _parts(artist.get_text())
        plans.append((artist, weight, list(parts)))
        for script, characters in parts.items():
            wanted.setdefault((script, weight), set()).update(characters)
    families = {key: _family(*key, "".join(sorted(characters))) for key, characters in wanted.items()}
    for artist, weight, scripts in plans:
        extra = [families[script, weight] for script in scripts]
        artist.set_fontfamily([BASE_FAMILY, *extra, SYMBOL_FAMILY])


def families_for(text: str, *, weight: int = 400) -> list[str]:
    """The families that draw `text`, in the order in which they are tried, made known to matplotlib.

    Raises
    ------
    DataError
        A character has no glyph in any font.
    """
    base_fonts()
    parts = _parts(text)
    return [
        BASE_FAMILY,
        *(_family(script, weight, characters) for script, characters in parts.items()),
        SYMBOL_FAMILY,
    ]


def _family(script: str, weight: int, characters: str) -> str:
    """A registered family for a script: one font per script and figure, however many labels use it.

    A CJK font (65,000 characters) is cut to what the figure shows. Others stay whole: shaping may need characters
    that no label holds, as Thai does for sara am.
    """
    family = f"Signpost {script}"
    if script not in _CJK:
        characters = ""
    else:
        family += f" {hash_bytes(characters.encode())[:8]}"
    _register(characters, script, weight, family)
    return family
