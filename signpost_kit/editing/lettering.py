"""Writing a text where another one stood: layout by the room there is, size and weight by what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from signpost_kit.editing.base import Unpaintable, quad_size
from signpost_kit.editing.glyphs import WIDE, Glyphs, block, column, runs_of, slanted, split_text, weight_for
from signpost_kit.editing.ribbon import Ribbon, lay

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Lettering", "Look", "letter", "runs_of"]

_NARROWEST = 0.62  # horizontal squeeze that still reads well
_PLAIN_NARROWEST = 0.75  # the same when an earlier attempt was not read
_SMALLEST = 0.42  # of the original's height
_LEAST_HEIGHT = 6.5  # pixels of a capital, unless the original's are smaller
_LEAST_AT_ALL = 4.5
_MOST_LINES = 3
_SUPER = 3  # samples per pixel and axis
_WHOLE = (0.02, 0.06, 0.98, 0.94)  # of the room: where plain letters stand


@dataclass(frozen=True)
class Look:
    """How the original's letters stood in their outline (:func:`signpost_kit.editing.measure.look_of`)."""

    frame: tuple[float, float, float, float] = (0.05, 0.1, 0.95, 0.9)
    """Left, top, right and bottom of the letters as shares of the outline (0..1)."""
    rows: tuple[tuple[float, float], ...] = ()
    """Top and bottom of each line, when there are several."""
    columns: tuple[tuple[float, float], ...] = ()
    """Left and right of each column, when there are several (text running down)."""
    slant: float = 0.0
    """Lean to the right, pixels a pixel of height; 0 upright."""
    left: bool = False
    """Whether lines begin at the left edge of their room instead of standing in its middle."""


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
    """`line`, `lines`, `stacked` (one letter below the other), `turned` (a line running down) or `curved`."""
    lines: int = 1
    """How many lines or columns the text was broken into."""


@dataclass(frozen=True)
class _Room:
    """Where letters go, upright: what :func:`_layout` makes of an outline and a look."""

    layout: str
    quad: np.ndarray
    size: tuple[float, float]
    frame: tuple[float, float, float, float]
    bands: tuple[tuple[float, float], ...]
    """Of the lines, or of the columns, where the original had several."""

    @property
    def stacked(self) -> bool:
        return self.layout == "stacked"

    @property
    def letter_px(self) -> float:
        """Height of the original's letters (in a column: their width)."""
        across = self.size[0] if self.stacked else self.size[1]
        if self.bands:
            return sum(end - start for start, end in self.bands) / len(self.bands) * across
        low, high = (self.frame[0], self.frame[2]) if self.stacked else (self.frame[1], self.frame[3])
        return max(high - low, 0.3) * across

    @property
    def pitch(self) -> float:
        """From line to line as a multiple of the letters' height; 0 for one line."""
        if len(self.bands) < 2:
            return 0.0
        across = self.size[0] if self.stacked else self.size[1]
        step = (self.bands[-1][0] - self.bands[0][0]) / (len(self.bands) - 1) * across
        return min(step / max(self.letter_px, 1.0), 2.5)


def letter(
    text: str,
    quad: np.ndarray,
    shape: tuple[int, int],
    *,
    stroke: float,
    blur: float,
    frame: tuple[float, float, float, float] | None = None,
    look: Look | None = None,
    ribbon: Ribbon | None = None,
    plain: int = 0,
) -> Lettering:
    """Draw a text into a quadrilateral of a crop, or along a band of it.

    A text that is too long for one line at the original's size goes on several where that makes its letters larger
    and the room is high enough, or where the original had several; columns likewise. `\\n` in a text is a break.

    Parameters
    ----------
    quad
        (4, 2) corners in crop pixels, clockwise from the text's own top left.
    shape
        Height and width of the crop.
    stroke
        Width of the original's strokes in pixels; the font's weight is chosen to come close.
    blur
        Softness of the original's edges (sigma, pixels).
    frame, look
        Where the original's letters stood, and how; `frame` alone stands for a look of one upright line.
    ribbon
        The band that the text follows, in crop pixels; its letters fill it as they would a straight strip.
    plain
        0: as measured. 1: upright, sharper, of medium weight, less squeezed. 2: also as large as the room allows,
        and Latin letters in a column stand upright. For attempts after one that was not read.

    Raises
    ------
    Unpaintable
        A letter has no glyph, or the text does not fit.
    """
    if not text.strip():
        raise Unpaintable("there is no text to write")
    look = look or Look(frame or Look.frame)
    runs = runs_of(text.replace("\n", " "))
    room = _layout(text, quad, look, ribbon, plain)
    weight = weight_for(runs, stroke, room.letter_px)
    if plain:
        weight = min(max(weight, 500), 700)
        blur = min(blur, 0.7)
    glyphs, scale, squeeze, count = _choose(text, room, weight, look, plain)
    if squeeze < 0.85:  # squeezed letters have thinner stems than the font's: a heavier one makes up for that
        heavier = weight_for(runs, stroke * 2 / (1 + squeeze), room.letter_px)
        if heavier > weight:
            weight = heavier
            glyphs, scale, squeeze, count = _choose(text, room, weight, look, plain)
    letters = _placed(glyphs, scale, squeeze, room, left=look.left and not room.stacked)
    alpha = _laid(letters, room, ribbon, shape, blur=blur)
    scripts = tuple(dict.fromkeys(script for script, _ in runs))
    layout = "lines" if room.layout == "line" and count > 1 else room.layout
    return Lettering(alpha, scripts, weight, glyphs.line * scale, squeeze, layout, count)


def _layout(text: str, quad: np.ndarray, look: Look, ribbon: Ribbon | None, plain: int) -> _Room:
    import numpy as np

    frame = look.frame if plain < 2 else _WHOLE
    if ribbon is not None:
        return _Room("curved", quad, ribbon.size, frame, ())
    width, height = quad_size(quad)
    wide = all(script in WIDE for script, _ in runs_of(text))
    if height < 1.6 * width or len(text) < 2:
        return _Room("line", quad, (width, height), frame, look.rows if plain < 2 else ())
    if wide or (plain >= 2 and len(text) * 0.5 * width < height):
        return _Room("stacked", quad, (width, height), frame, look.columns if plain < 2 else ())
    left, top, right, bottom = frame
    # The line's own top left is the column's top right; it runs down, and the next line stands left of it.
    turned = tuple((1 - end, 1 - start) for start, end in reversed(look.columns)) if plain < 2 else ()
    return _Room("turned", np.roll(quad, -1, axis=0), (height, width), (top, 1 - right, bottom, 1 - left), turned)


def _choose(text: str, room: _Room, weight: int, look: Look, plain: int) -> tuple[Glyphs, float, float, int]:
    """Letters in as many lines as suit best, their vertical scale and horizontal squeeze, and that number."""
    fixed = [line for line in text.split("\n") if line.strip()]
    if len(fixed) > 1:
        counts = [len(fixed)]
    else:
        counts = list(range(1, 2 if room.layout == "curved" else max(_MOST_LINES, len(room.bands)) + 1))
    best: tuple[Glyphs, float, float, int] | None = None
    merit, why = 0.0, None
    for count in counts:
        parts = fixed if len(fixed) > 1 else split_text(text.strip(), count)
        if parts is None:
            break
        if room.stacked:
            made = column(parts, weight, pitch=room.pitch)
        else:
            made = slanted(block(parts, weight, pitch=room.pitch, left=look.left), 0.0 if plain else look.slant)
        try:
            scale, squeeze = _fit(made, room, text=text, plain=plain, asked=len(fixed))
        except Unpaintable as reason:
            why = why or reason
            continue
        # How well it reads: high letters more than broad ones.
        worth = scale * squeeze**0.5
        several = len(room.bands) > 1
        if best is None or worth > (1.02 if several else 1.2) * merit:
            best, merit = (made, scale, squeeze, count), worth
        # Letters as large as the original's and hardly squeezed: no reason to break the text any further.
        if squeeze >= 0.85 and scale * made.line >= 0.85 * room.letter_px:
            break
    if best is None:
        raise why or Unpaintable(f"{text!r} cannot be broken into lines")
    return best


def _fit(glyphs: Glyphs, room: _Room, *, text: str, plain: int, asked: int) -> tuple[float, float]:
    """Vertical scale and horizontal squeeze that bring the letters into the room; `asked` lines share it."""
    tall, long = glyphs.mask.shape
    (width, height), size = room.size, room.letter_px
    if room.stacked:
        scale = min(size / glyphs.line, 0.95 * height / tall, width / long)
        if scale * glyphs.line < _least(size / max(asked, 1)):
            raise Unpaintable(f"{text!r} does not fit into a column of {width:.0f} x {height:.0f} pixels")
        return float(scale), 1.0
    # Letters may use nearly the whole room, not only what the original's took.
    narrowest = _NARROWEST if not plain else _PLAIN_NARROWEST
    scale = min(size / glyphs.line, height / tall)
    # Where the original left a good part free, something else stands: a logo, an arrow.
    spare = 0.12 if _fills(room.frame) else 0.06
    squeeze = min(1.0, min(0.95, room.frame[2] - room.frame[0] + spare) * width / (long * scale))
    if squeeze < narrowest:
        scale *= squeeze / narrowest
        squeeze = narrowest
    if scale * glyphs.line < _least(size / max(asked, 1)):
        raise Unpaintable(f"{text!r} does not fit into {width:.0f} x {height:.0f} pixels")
    return float(scale), float(squeeze)


def _fills(frame: tuple[float, float, float, float]) -> bool:
    """Whether the original's letters took their outline from end to end."""
    return frame[0] <= 0.1 and frame[2] >= 0.9


def _least(size: float) -> float:
    """The smallest letters that are written where the original's are `size` pixels high."""
    return max(_SMALLEST * size, min(_LEAST_HEIGHT, 0.9 * size), _LEAST_AT_ALL)


def _placed(glyphs: Glyphs, scale: float, squeeze: float, room: _Room, *, left: bool) -> np.ndarray:
    """The letters on a canvas of the room's size (_SUPER samples a pixel), where the original's stood."""
    import cv2
    import numpy as np

    frame = room.frame
    canvas_w, canvas_h = (max(round(side * _SUPER), 8) for side in room.size)
    tall, long = glyphs.mask.shape
    new_w = min(canvas_w, max(1, round(long * scale * squeeze * _SUPER)))
    new_h = min(canvas_h, max(1, round(tall * scale * _SUPER)))
    way = cv2.INTER_AREA if new_w < long or new_h < tall else cv2.INTER_CUBIC
    letters = cv2.resize(np.ascontiguousarray(glyphs.mask), (new_w, new_h), interpolation=way)
    # The bodies' middle comes where the original's was; tails and accents go where they go.
    middle = (glyphs.top + glyphs.bottom) / 2 / tall * new_h
    start = frame[0] * canvas_w if left else (frame[0] + frame[2]) / 2 * canvas_w - new_w / 2
    first = 0 if _fills(frame) else min(max(0, round((frame[0] - 0.03) * canvas_w)), canvas_w - new_w)
    x = int(np.clip(round(start), first, canvas_w - new_w))
    y = int(np.clip(round((frame[1] + frame[3]) / 2 * canvas_h - middle), 0, canvas_h - new_h))
    canvas = np.zeros((canvas_h, canvas_w), dtype=np.float32)
    canvas[y : y + new_h, x : x + new_w] = letters
    return canvas


def _laid(
    letters: np.ndarray, room: _Room, ribbon: Ribbon | None, shape: tuple[int, int], *, blur: float
) -> np.ndarray:
    """A canvas of letters in its place in the crop, as soft as the original's."""
    import cv2
    import numpy as np

    soft = cv2.GaussianBlur(letters, (0, 0), 0.5 * _SUPER * 0.8)
    if ribbon is not None:
        alpha = lay(soft, ribbon, shape)
    else:
        canvas_h, canvas_w = letters.shape
        corners = np.array([[0, 0], [canvas_w, 0], [canvas_w, canvas_h], [0, canvas_h]], dtype=np.float32)
        # Pixel centres: canvas sample i stands at (i + 0.5) / _SUPER.
        matrix = cv2.getPerspectiveTransform(corners - 0.5, room.quad.astype(np.float32))
        alpha = cv2.warpPerspective(soft, matrix, (shape[1], shape[0]), flags=cv2.INTER_LINEAR)
    if blur > 0.55:
        widest = 0.1 * room.letter_px + 0.3
        alpha = cv2.GaussianBlur(alpha, (0, 0), min(float(np.sqrt(blur**2 - 0.25)), widest))
    return np.clip(alpha, 0, 1)
