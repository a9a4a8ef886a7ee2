"""Writing a text into a quadrilateral: font by script, weight by stroke, size and squeeze by the room there is."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from signpost_kit.editing.base import Unpaintable, quad_size
from signpost_kit.errors import DataError
from signpost_kit.fonts import load_font, missing_glyphs, script_of, scripts_in

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Lettering", "letter", "runs_of", "text_frame"]

_EM = 96  # pixels at which letters are drawn before they are scaled: few sizes, so fonts are loaded once
_BASELINE = 2 * _EM  # row of the drawing on which letters stand
_CAPITAL = 0.714  # height of Noto's capitals, em
_WEIGHTS = (300, 400, 500, 600, 700, 800, 900)
_CASED = frozenset({"Latin", "Greek", "Cyrillic"})
_WIDE = frozenset({"Han", "Japanese", "Hangul"})
_NARROWEST = 0.62  # horizontal squeeze that still reads well
_SMALLEST = 0.42  # of the original's height
_LEAST_HEIGHT = 6.5  # pixels of a capital, unless the original's are smaller
_LEAST_AT_ALL = 4.5
_SUPER = 3  # samples per pixel and axis


@dataclass(frozen=True)
class Lettering:
    """Letters ready to be laid over a crop."""

    alpha: np.ndarray
    """(h, w) float32, 0..1: how much ink covers each pixel."""
    scripts: tuple[str, ...]
    weight: int
    height: float
    """Of the letters, in pixels of the picture."""
    squeeze: float
    """Horizontal scale, 1 = as the font is."""
    layout: str
    """`line`, `stacked` (one letter below the other) or `turned` (a line running down)."""


@dataclass(frozen=True)
class _Glyphs:
    """Letters at _EM pixels, cut to their ink."""

    mask: np.ndarray
    """float32, 0..1."""
    top: int
    """Row of the capitals' top (or of the ink's, in scripts without capitals)."""
    bottom: int
    """Row below the baseline (or below the ink)."""

    @property
    def body(self) -> int:
        """Height that is to match that of the original's letters."""
        return self.bottom - self.top


def runs_of(text: str) -> list[tuple[str, str]]:
    """Parts of a text by script: digits, blanks and punctuation go with what stands before (first: after) them.

    Chinese characters beside kana are Japanese.
    """
    whole = script_of(text)
    runs: list[tuple[str, str]] = []
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


def letter(
    text: str,
    quad: np.ndarray,
    shape: tuple[int, int],
    *,
    frame: tuple[float, float, float, float],
    stroke: float,
    blur: float,
) -> Lettering:
    """Draw a text into a quadrilateral of a crop.

    Parameters
    ----------
    quad
        (4, 2) corners in crop pixels, clockwise from the text's own top left.
    shape
        Height and width of the crop.
    frame
        Left, top, right and bottom of the original's letters as shares of the quadrilateral (0..1).
    stroke
        Width of the original's strokes in pixels; the font's weight is chosen to come close.
    blur
        Softness of the original's edges (sigma, pixels).

    Raises
    ------
    Unpaintable
        A letter has no glyph, or the text does not fit.
    """
    import cv2
    import numpy as np

    if not text.strip():
        raise Unpaintable("there is no text to write")
    runs = runs_of(text)
    layout, quad, frame = _layout(text, runs, quad, frame)
    width, height = quad_size(quad)
    box_height = max(frame[3] - frame[1], 0.3) * height
    box_width = max(frame[2] - frame[0], 0.3) * width
    weight = _weight(runs, stroke, box_height if layout != "stacked" else box_width)
    glyphs = _drawn(runs, weight, layout)
    # In a column the letters' width decides their size, in a line their height.
    size = box_width if layout == "stacked" else box_height
    scale, squeeze = _fit(glyphs, size, width, height, layout=layout, text=text)
    letters = _placed(glyphs, scale, squeeze, size=(width, height), frame=frame)
    canvas_h, canvas_w = letters.shape
    corners = np.array([[0, 0], [canvas_w, 0], [canvas_w, canvas_h], [0, canvas_h]], dtype=np.float32)
    # Pixel centres: canvas sample i stands at (i + 0.5) / _SUPER.
    matrix = cv2.getPerspectiveTransform(corners - 0.5, quad.astype(np.float32))
    soft = cv2.GaussianBlur(letters, (0, 0), 0.5 * _SUPER * 0.8)
    alpha = cv2.warpPerspective(soft, matrix, (shape[1], shape[0]), flags=cv2.INTER_LINEAR)
    if blur > 0.55:
        alpha = cv2.GaussianBlur(alpha, (0, 0), min(float(np.sqrt(blur**2 - 0.25)), 0.1 * size + 0.3))
    scripts = tuple(dict.fromkeys(script for script, _ in runs))
    return Lettering(np.clip(alpha, 0, 1), scripts, weight, glyphs.body * scale, squeeze, layout)


def text_frame(ink: np.ndarray, quad: np.ndarray) -> tuple[float, float, float, float]:
    """Where the letters lie in their quadrilateral: left, top, right, bottom as shares of it (0..1)."""
    import cv2
    import numpy as np

    width, height = (max(round(v), 4) for v in quad_size(quad))
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    matrix = cv2.getPerspectiveTransform(quad.astype(np.float32), corners)
    flat = cv2.warpPerspective(ink.astype(np.float32), matrix, (width, height), flags=cv2.INTER_LINEAR)
    rows, columns = flat.mean(axis=1), flat.mean(axis=0)
    # Rows with little ink are tails, accents or a neighbouring line; the letters' bodies decide.
    ys = np.nonzero(rows > 0.2 * max(float(np.percentile(rows, 95)), 1e-6))[0]
    xs = np.nonzero(columns > 0.02)[0]
    if not len(ys) or not len(xs):
        return 0.05, 0.1, 0.95, 0.9
    return xs[0] / width, ys[0] / height, (xs[-1] + 1) / width, (ys[-1] + 1) / height


def _layout(
    text: str, runs: list[tuple[str, str]], quad: np.ndarray, frame: tuple[float, float, float, float]
) -> tuple[str, np.ndarray, tuple[float, float, float, float]]:
    import numpy as np

    width, height = quad_size(quad)
    if height < 1.6 * width or len(text) < 2:
        return "line", quad, frame
    if all(script in _WIDE for script, _ in runs):
        return "stacked", quad, frame
    left, top, right, bottom = frame
    # The line's own top left is the column's top right; it runs down.
    return "turned", np.roll(quad, -1, axis=0), (top, 1 - right, bottom, 1 - left)


@functools.lru_cache(maxsize=128)
def _stroke_share(script: str, weight: int) -> float:
    """Stroke width of a script's font as a share of its letters' height."""
    sample = {"Han": "国永", "Japanese": "国永", "Hangul": "한국"}.get(script, "HEROU")
    font_script = script if script in _WIDE else "Latin"
    import cv2

    mask = _raster(((font_script, sample),), weight).mask

    solid = (mask > 0.5).astype("uint8")
    outlines, _ = cv2.findContours(solid, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    length = sum(cv2.arcLength(line, True) for line in outlines)
    return 2.0 * (float(solid.sum()) + 0.5 * length) / max(length, 1.0) / mask.shape[0]


def _weight(runs: list[tuple[str, str]], stroke: float, height: float) -> int:
    script = runs[0][0]
    wanted = stroke / max(height, 1.0)
    return min(_WEIGHTS, key=lambda w: abs(_stroke_share(script, w) - wanted))


def _drawn(runs: list[tuple[str, str]], weight: int, layout: str) -> _Glyphs:
    import numpy as np

    if layout != "stacked":
        return _raster(tuple(runs), weight)
    chars = [(script, char) for script, part in runs for char in part if not char.isspace()]
    column = np.concatenate([_square(_raster(((script, char),), weight).mask) for script, char in chars], axis=0)
    return _Glyphs(column, 0, column.shape[0])


def _square(tile: np.ndarray) -> np.ndarray:
    """A letter in the middle of a square of one em and a little room."""
    import numpy as np

    side = round(_EM * 1.06)
    result = np.zeros((side, _EM), dtype=np.float32)
    tile = tile[:side, :_EM]
    y, x = (side - tile.shape[0]) // 2, (_EM - tile.shape[1]) // 2
    result[y : y + tile.shape[0], x : x + tile.shape[1]] = tile
    return result


@functools.lru_cache(maxsize=256)
def _raster(runs: tuple[tuple[str, str], ...], weight: int) -> _Glyphs:
    """Letters of all runs on one baseline, cut to their ink (capitals' height at least)."""
    import numpy as np
    from PIL import Image, ImageDraw

    fonts = []
    for script, part in runs:
        try:
            if lost := missing_glyphs(part, script):
                raise Unpaintable(f"the {script} font has no glyph for {lost!r}")
            fonts.append(load_font(part, _EM, weight, script))
        except DataError as error:
            raise Unpaintable(str(error)) from error
    lengths = [font.getlength(part) for font, (_, part) in zip(fonts, runs, strict=True)]
    pad = _EM // 2
    image = Image.new("L", (round(sum(lengths)) + 2 * pad, _BASELINE + _EM), 0)
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
    if any(script in _CASED for script, _ in runs):  # "nose" is not as high as "Nose", "gap" hangs below its line
        body = (_BASELINE - round(_CAPITAL * _EM), _BASELINE)
        top, bottom = min(top, body[0]), max(bottom, body[1])
    mask = array[top:bottom, int(xs.min()) : int(xs.max()) + 1]
    mask.setflags(write=False)
    return _Glyphs(mask, body[0] - top, body[1] - top)


def _fit(
    glyphs: _Glyphs, size: float, width: float, height: float, *, layout: str, text: str
) -> tuple[float, float]:
    """Vertical scale and horizontal squeeze that bring the letters into the room there is."""
    tall, long = glyphs.mask.shape
    if layout == "stacked":
        scale = min(size / _EM, 0.95 * height / tall)
        if scale * _EM < _least(size):
            raise Unpaintable(f"{text!r} does not fit into a column of {width:.0f} x {height:.0f} pixels")
        return float(scale), 1.0
    # Letters may use nearly the whole quadrilateral, not only what the original's took.
    scale = min(size / glyphs.body, height / tall)
    squeeze = min(1.0, 0.95 * width / (long * scale))
    if squeeze < _NARROWEST:
        scale *= squeeze / _NARROWEST
        squeeze = _NARROWEST
    if scale * glyphs.body < _least(size):
        raise Unpaintable(f"{text!r} does not fit into {width:.0f} x {height:.0f} pixels")
    return float(scale), float(squeeze)


def _least(size: float) -> float:
    """The smallest letters that are written where the original's are `size` pixels high."""
    return max(_SMALLEST * size, min(_LEAST_HEIGHT, 0.9 * size), _LEAST_AT_ALL)


def _placed(
    glyphs: _Glyphs,
    scale: float,
    squeeze: float,
    *,
    size: tuple[float, float],
    frame: tuple[float, float, float, float],
) -> np.ndarray:
    """The letters on a canvas of the quadrilateral's size (_SUPER samples a pixel), where the original's stood."""
    import cv2
    import numpy as np

    canvas_w, canvas_h = (max(round(side * _SUPER), 8) for side in size)
    tall, long = glyphs.mask.shape
    new_w = min(canvas_w, max(1, round(long * scale * squeeze * _SUPER)))
    new_h = min(canvas_h, max(1, round(tall * scale * _SUPER)))
    way = cv2.INTER_AREA if new_w < long or new_h < tall else cv2.INTER_CUBIC
    letters = cv2.resize(np.ascontiguousarray(glyphs.mask), (new_w, new_h), interpolation=way)
    # The bodies' middle comes where the original's was; tails and accents go where they go.
    middle = (glyphs.top + glyphs.bottom) / 2 / tall * new_h
    x = int(np.clip(round((frame[0] + frame[2]) / 2 * canvas_w - new_w / 2), 0, canvas_w - new_w))
    y = int(np.clip(round((frame[1] + frame[3]) / 2 * canvas_h - middle), 0, canvas_h - new_h))
    canvas = np.zeros((canvas_h, canvas_w), dtype=np.float32)
    canvas[y : y + new_h, x : x + new_w] = letters
    return canvas
