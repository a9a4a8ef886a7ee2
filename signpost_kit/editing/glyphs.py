"""Letters as masks: runs by script, weight by stroke, lines and columns of them, before they are put in place."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from signpost_kit.editing.base import Unpaintable
from signpost_kit.errors import DataError
from signpost_kit.fonts import load_font, missing_glyphs, script_of, scripts_in

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "CASED",
    "EM",
    "WIDE",
    "Glyphs",
    "Runs",
    "block",
    "column",
    "runs_of",
    "slanted",
    "split_text",
    "weight_for",
]

EM = 96
"""Pixels at which letters are drawn before they are scaled: few sizes, so fonts are loaded once."""
CASED = frozenset({"Latin", "Greek", "Cyrillic"})
WIDE = frozenset({"Han", "Japanese", "Hangul"})
_BASELINE = 2 * EM  # row of the drawing on which letters stand
_CAPITAL = 0.714  # height of Noto's capitals, em
_CJK_ASCENT = 0.88  # of the square that Noto's CJK letters are drawn in, em
_WEIGHTS = (300, 400, 500, 600, 700, 800, 900)
# Never at the beginning of a line: they belong to the letter before.
_CLINGING = frozenset("ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々、。，．！？」』）】ゝ")

Runs = list[tuple[str, str]]


@dataclass(frozen=True)
class Glyphs:
    """Letters at EM pixels, cut to their ink."""

    mask: np.ndarray
    """float32, 0..1."""
    top: int
    """Row of the capitals' top (or of the ink's, in scripts without capitals); of the first line."""
    bottom: int
    """Row below the baseline (or below the ink); of the last line."""
    line: int
    """Height of one line that is to match that of the original's letters (of a column: its width)."""


def runs_of(text: str) -> Runs:
    """Parts of a text by script: digits, blanks and punctuation go with what stands before (first: after) them.

    Chinese characters beside kana are Japanese.
    """
    whole = script_of(text)
    runs: Runs = []
    for char in text:
        script = (scripts_in(char) or ("",))[0]
        if script == "Han" and whole == "Japanese":
            script = "Japanese"
        if runs and (script in ("", runs[-1][0])):
            runs[-1] = (runs[-1][0], runs[-1][1] + char)
        elif runs and runs[-1][0] == "":
            runs[-1] = (script, runs[-1][1] + char)
        else:
            runs.append((script, char))
    return [(script or whole, part) for script, part in runs]


def split_text(text: str, count: int) -> list[str] | None:
    """A text in `count` lines of about the same length, or None when it cannot be parted so.

    Breaks at blanks; texts without blanks in Chinese, Japanese or Korean letters break between letters, but not
    before one that clings to the letter before.
    """
    if count == 1:
        return [text]
    words = text.split()
    glue = " "
    if len(words) < count:
        if any(script not in WIDE for script, _ in runs_of(text)):
            return None
        words, glue = [], ""
        for char in "".join(text.split()):
            if words and char in _CLINGING:
                words[-1] += char
            else:
                words.append(char)
        if len(words) < 2 * count:
            return None
    return [glue.join(part) for part in _even_parts(words, count)]


def _even_parts(words: Sequence[str], count: int) -> list[Sequence[str]]:
    """Consecutive parts, the longest as short as can be; of equal ones the earlier parts are longer."""
    if count == 1:
        return [words]
    best: list[Sequence[str]] = []
    least = float("inf")
    for first in range(len(words) - count + 1, 0, -1):
        parts = [words[:first], *_even_parts(words[first:], count - 1)]
        longest = max(sum(map(len, part)) + len(part) - 1 for part in parts)
        if longest < least:
            best, least = parts, longest
    return best


def weight_for(runs: Runs, stroke: float, height: float) -> int:
    """The font weight whose strokes come nearest to `stroke` pixels in letters of `height` pixels."""
    script = runs[0][0]
    wanted = stroke / max(height, 1.0)
    return min(_WEIGHTS, key=lambda w: abs(_stroke_share(script, w) - wanted))


@functools.lru_cache(maxsize=128)
def _stroke_share(script: str, weight: int) -> float:
    """Stroke width of a script's font as a share of its letters' height."""
    sample = {"Han": "国永", "Japanese": "国永", "Hangul": "한국"}.get(script, "HEROU")
    font_script = script if script in WIDE else "Latin"
    import cv2

    mask = _raster(((font_script, sample),), weight).mask

    solid = (mask > 0.5).astype("uint8")
    outlines, _ = cv2.findContours(solid, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    length = sum(cv2.arcLength(line, True) for line in outlines)
    return 2.0 * (float(solid.sum()) + 0.5 * length) / max(length, 1.0) / mask.shape[0]


def block(lines: Sequence[str], weight: int, *, pitch: float = 0.0, left: bool = False) -> Glyphs:
    """Lines below each other, in the middle or flush left.

    Parameters
    ----------
    pitch
        From line to line as a multiple of the letters' height; 0 for the font's own tight setting.

    Raises
    ------
    Unpaintable
        A letter has no glyph.
    """
    import numpy as np

    made = [_raster(tuple(runs_of(line)), weight) for line in lines]
    if len(made) == 1:
        return made[0]
    cased = any(script in CASED for line in lines for script, _ in runs_of(line))
    body = max(g.line for g in made)
    step = round(body * max(pitch, 1.5 if cased else 1.22))
    above = max(g.top - i * step for i, g in enumerate(made))
    below = max(i * step + g.mask.shape[0] - g.top for i, g in enumerate(made))
    width = max(g.mask.shape[1] for g in made)
    mask = np.zeros((above + below, width), dtype=np.float32)
    for i, g in enumerate(made):
        y, x = above + i * step - g.top, 0 if left else (width - g.mask.shape[1]) // 2
        part = mask[y : y + g.mask.shape[0], x : x + g.mask.shape[1]]
        np.maximum(part, g.mask, out=part)
    return Glyphs(mask, above, above + (len(made) - 1) * step + made[-1].line, body)


def column(columns: Sequence[str], weight: int, *, pitch: float = 1.15) -> Glyphs:
    """Columns of letters standing upright one below the other, the first column at the right.

    Chinese, Japanese and Korean letters take their forms for vertical writing (long vowel marks, small kana,
    brackets); others stand in the middle of their cells.

    Raises
    ------
    Unpaintable
        A letter has no glyph.
    """
    import numpy as np

    made = []
    for text in columns:
        chars = [(script, char) for script, part in runs_of(text) for char in part if not char.isspace()]
        made.append(np.concatenate([_cell(script, char, weight) for script, char in chars], axis=0))
    if len(made) == 1:
        return Glyphs(made[0], 0, made[0].shape[0], EM)
    step = round(EM * max(pitch, 1.05))
    mask = np.zeros((max(m.shape[0] for m in made), step * (len(made) - 1) + EM), dtype=np.float32)
    for i, m in enumerate(reversed(made)):
        mask[: m.shape[0], i * step : i * step + EM] = m
    return Glyphs(mask, 0, mask.shape[0], EM)


@functools.lru_cache(maxsize=512)
def _cell(script: str, char: str, weight: int) -> np.ndarray:
    """A letter in its cell of a column: one em wide, one em and a little room high."""
    import numpy as np
    from PIL import Image, ImageDraw

    if script not in WIDE or char.isascii():
        return _square(_raster(((script, char),), weight).mask, 0.86 if script in CASED else 1.06)
    font = _font(script, char, weight)
    side = round(EM * 1.06)
    image = Image.new("L", (EM, side), 0)
    at = (EM / 2, (side - EM) / 2 + _CJK_ASCENT * EM)
    ImageDraw.Draw(image).text(at, char, font=font, fill=255, anchor="ms", features=_vertical())
    tile = np.asarray(image, dtype=np.float32) / 255.0
    tile.setflags(write=False)
    return tile


@functools.cache
def _vertical() -> list[str] | None:
    """The font feature for vertical forms, where Pillow was built with a shaper."""
    from PIL import features

    return ["vert"] if features.check("raqm") else None


def _square(tile: np.ndarray, high: float) -> np.ndarray:
    """A letter in the middle of a cell of one em by `high` em."""
    import numpy as np

    side = round(EM * high)
    result = np.zeros((side, EM), dtype=np.float32)
    tile = tile[:side, :EM]
    y, x = (side - tile.shape[0]) // 2, (EM - tile.shape[1]) // 2
    result[y : y + tile.shape[0], x : x + tile.shape[1]] = tile
    return result


def slanted(glyphs: Glyphs, slant: float) -> Glyphs:
    """Letters leaning to the right by `slant` pixels a pixel of height (0 = upright)."""
    import cv2
    import numpy as np

    if abs(slant) < 1e-3:
        return glyphs
    height, width = glyphs.mask.shape
    wide = int(np.ceil(width + abs(slant) * height))
    matrix = np.array([[1, -slant, slant * height if slant > 0 else 0], [0, 1, 0]], dtype=np.float64)
    mask = cv2.warpAffine(np.ascontiguousarray(glyphs.mask), matrix, (wide, height), flags=cv2.INTER_LINEAR)
    return Glyphs(mask, glyphs.top, glyphs.bottom, glyphs.line)


def _font(script: str, text: str, weight: int):
    try:
        if lost := missing_glyphs(text, script):
            raise Unpaintable(f"the {script} font has no glyph for {lost!r}")
        return load_font(text, EM, weight, script)
    except DataError as error:
        raise Unpaintable(str(error)) from error


@functools.lru_cache(maxsize=256)
def _raster(runs: tuple[tuple[str, str], ...], weight: int) -> Glyphs:
    """Letters of all runs on one baseline, cut to their ink (capitals' height at least)."""
    import numpy as np
    from PIL import Image, ImageDraw

    fonts = [_font(script, part, weight) for script, part in runs]
    lengths = [font.getlength(part) for font, (_, part) in zip(fonts, runs, strict=True)]
    pad = EM // 2
    image = Image.new("L", (round(sum(lengths)) + 2 * pad, _BASELINE + EM), 0)
    pen = ImageDraw.Draw(image)
    x = float(pad)
    for font, (_, part), length in zip(fonts, runs, lengths, strict=True):
        pen.text((x, _BASELINE), part, font=font, fill=255, anchor="ls")
        x += length
    array = np.asarray(image, dtype=np.float32) / 255.0
    ys, xs = np.nonzero(array > 0.1)
    if not len(ys):
        raise Unpaintable("the text leaves no ink")
    top, bottom = int(ys.min()), int(ys.max()) + 1
    body = (top, bottom)
    if any(script in CASED for script, _ in runs):  # "nose" is not as high as "Nose", "gap" hangs below its line
        body = (_BASELINE - round(_CAPITAL * EM), _BASELINE)
        top, bottom = min(top, body[0]), max(bottom, body[1])
    mask = array[top:bottom, int(xs.min()) : int(xs.max()) + 1]
    mask.setflags(write=False)
    return Glyphs(mask, body[0] - top, body[1] - top, body[1] - body[0])
