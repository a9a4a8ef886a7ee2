"""Is a figure fit for print? Widths, letters too small, labels that overlap or stick out, looks that are alike.

:func:`print_faults` reads a finished figure as a reader would see it and lists what is wrong in plain words. The
tests hold every figure of the kit to it; a figure of your own can be checked the same way.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from signpost_kit.figures.style import DOUBLE, SINGLE, SMALLEST
from signpost_kit.figures.vision import contrast, least_distance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

__all__ = ["Appearance", "appearances", "legend_faults", "print_faults", "shown_texts", "text_boxes"]

_APART = 14.0  # CIELAB units, in the worst vision: plain at a glance, not side by side
_TOUCH = 0.6  # points by which two boxes may overlap: a text's box is a little larger than its ink
_PALEST = 3.0  # contrast of letters with white paper
_TALLEST = 9.4  # inches: what a journal page holds


def print_faults(figure: Figure, *, smallest: float = SMALLEST) -> list[str]:
    """What is wrong with a figure, one sentence each; an empty list for a good one.

    It has a column's width and fits a page; no letter is smaller than `smallest` points or too pale to read; every
    text lies inside the figure and overlaps no other; in each legend any two entries differ by marker, hatch,
    dashes or filling, or by a colour that colour-blind readers and grey printers tell apart.
    """
    from signpost_kit.figures.style import style
    from signpost_kit.figures.typeface import dress

    with style():
        dress(figure)
        figure.draw_without_rendering()
        return [
            *_size_faults(figure),
            *_letter_faults(figure, smallest),
            *_place_faults(figure),
            *legend_faults(figure),
        ]


def _size_faults(figure: Figure) -> Iterator[str]:
    width, height = figure.get_size_inches()
    if min(abs(width - SINGLE), abs(width - DOUBLE)) > 0.01:
        yield f"it is {width:.2f} inches wide, neither {SINGLE} nor {DOUBLE}"
    if height > _TALLEST:
        yield f"it is {height:.1f} inches high; a page holds {_TALLEST}"


def _letter_faults(figure: Figure, smallest: float) -> Iterator[str]:
    from matplotlib.colors import to_rgb

    for text in shown_texts(figure):
        size = float(text.get_fontsize())
        if size < smallest - 1e-6:
            yield f"{_named(text)} has {size:.1f} points, below {smallest:g}"
        colour = to_rgb(text.get_color())
        on_paper = text.get_gid() in (None, "leader") and text.get_bbox_patch() is None
        if on_paper and contrast(colour, (1, 1, 1)) < _PALEST and contrast(colour, (1, 1, 1)) > 1.05:
            yield f"{_named(text)} is too pale to read"


def _place_faults(figure: Figure) -> Iterator[str]:
    unit = figure.dpi / 72.0
    boxes = text_boxes(figure)
    width, height = figure.get_size_inches() * figure.dpi
    for text, corners in boxes:
        low, high = corners.min(axis=0), corners.max(axis=0)
        beyond = max(-low[0], -low[1], high[0] - width, high[1] - height)
        if beyond > _TOUCH * unit:
            yield f"{_named(text)} sticks out of the figure by {beyond / unit:.1f} points"
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        if (depth := _overlap(a, b)) > _TOUCH * unit:
            yield f"{_named(one)} overlaps {_named(other)} by {depth / unit:.1f} points"


def _named(text: Text) -> str:
    said = " ".join(text.get_text().split())
    return repr(said if len(said) < 40 else said[:39] + "…")


def shown_texts(figure: Figure) -> list[Text]:
    """Every text that a reader sees: ticks outside the limits and what is invisible are left out."""
    from matplotlib.text import Text as _Text

    hidden: set[int] = set()
    for ax in figure.findobj(lambda artist: hasattr(artist, "xaxis") and hasattr(artist, "yaxis")):
        hidden |= _unseen(ax)
    return [
        text
        for text in figure.findobj(_Text)
        if isinstance(text, _Text) and text.get_text().strip() and text.get_visible() and id(text) not in hidden
    ]


def _unseen(ax: Any) -> set[int]:
    """Texts of axes that are not drawn: all of them, or labels of ticks that lie outside."""
    if not ax.get_visible():
        return {id(text) for text in ax.findobj(lambda a: hasattr(a, "get_fontsize"))}
    out: set[int] = set()
    for axis in (ax.xaxis, ax.yaxis):
        every = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        drawn = axis._update_ticks() if axis.get_visible() and ax.axison else []  # the ticks that lie inside
        shown = {
            id(label)
            for tick in drawn
            for label in (tick.label1, tick.label2)
            if tick.get_visible() and label.get_visible()
        }
        out |= {id(label) for tick in every for label in (tick.label1, tick.label2)} - shown
        if not (axis.get_visible() and ax.axison):
            out |= {id(axis.label), id(axis.offsetText)}
    return out


def text_boxes(figure: Figure) -> list[tuple[Text, np.ndarray]]:
    """(text, its four corners in pixels); a turned text has a turned box. Draw the figure's layout first."""
    renderer: Any = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    out = []
    for text in shown_texts(figure):
        extent, angle = text.get_window_extent(renderer), text.get_rotation()
        centre = np.array([(extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2])
        if angle % 360:  # the box around a turned text has the same centre
            text.set_rotation(0)
            extent = text.get_window_extent(renderer)
            text.set_rotation(angle)
        half = np.array([extent.width, extent.height]) / 2
        turn = np.radians(angle)
        rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * half @ rotation + centre
        out.append((text, corners))
    return out


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    """How deep two convex quadrangles overlap (pixels along the best axis to part them); 0 or less: not at all."""
    depth = np.inf
    for corners in (a, b):
        sides = np.roll(corners, -1, axis=0) - corners
        lengths = np.hypot(*sides.T)
        for side, length in zip(sides, lengths, strict=True):
            if length < 1e-9:
                continue
            normal = np.array([-side[1], side[0]]) / length
            first, second = a @ normal, b @ normal
            depth = min(depth, first.max() - second.min(), second.max() - first.min())
            if depth <= 0:
                return 0.0
    return float(depth)


# --- legends ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Appearance:
    """What tells one entry of a legend from another."""

    label: str
    colors: tuple[tuple[float, ...], ...]
    """Of line and filling, sRGB."""
    shape: tuple[object, ...]
    """Marker, dashes, hatch, filled or not, and size: all that is not colour."""


def legend_faults(figure: Figure) -> list[str]:
    """Pairs of entries of one legend that look alike to some reader."""
    from matplotlib.legend import Legend

    out = []
    for legend in figure.findobj(Legend):
        looks = appearances(list(legend.legend_handles), [t.get_text() for t in legend.get_texts()])  # type: ignore[attr-defined]
        for one, other in itertools.combinations(looks, 2):
            if one.shape == other.shape and _distance(one, other) < _APART:
                out.append(f"legend: {one.label!r} and {other.label!r} look alike without full colour vision")
    return out


def _distance(one: Appearance, other: Appearance) -> float:
    pairs = zip(one.colors, other.colors, strict=False)
    return max((least_distance(a, b) for a, b in pairs), default=0.0)


def appearances(handles: Sequence[Any], labels: Sequence[str]) -> list[Appearance]:
    """The looks of lines, markers, bars and areas."""
    return [_appearance(handle, label) for handle, label in zip(handles, labels, strict=False)]


def _appearance(handle: Any, label: str) -> Appearance:
    from matplotlib.colors import to_rgb, to_rgba

    if hasattr(handle, "get_marker"):  # Line2D
        marker, dashes = handle.get_marker(), str(handle.get_linestyle())
        marker = "" if marker in ("None", None, "none", " ") else str(marker)
        has_line = dashes not in ("None", "none", "", " ")
        pattern = str(handle._unscaled_dash_pattern) if has_line else ""
        face = handle.get_markerfacecolor()
        hollow = bool(marker) and (str(face) == "none" or to_rgb(face) == (1.0, 1.0, 1.0))
        thick = round(handle.get_linewidth(), 1) if has_line else 0
        size = round(handle.get_markersize()) if marker else 0
        colors = [to_rgb(handle.get_color())]
        if marker and not hollow:
            colors.append(to_rgb(face))
        return Appearance(label, tuple(colors), (marker, pattern, hollow, thick, size))
    if hasattr(handle, "get_hatch") and hasattr(handle, "get_facecolor"):  # patches and areas
        faces = np.atleast_2d(handle.get_facecolor())
        face = to_rgba(faces[0]) if len(faces) else (1.0, 1.0, 1.0, 0.0)
        on_white = tuple(face[3] * c + 1 - face[3] for c in face[:3])
        return Appearance(label, (on_white,), (handle.get_hatch() or "", face[3] == 0))
    return Appearance(label, (), (type(handle).__name__,))


def axes_of(figure: Figure) -> list[Axes]:
    """Every axes that is shown, subfigures included."""
    from matplotlib.axes import Axes as _Axes

    return [ax for ax in figure.findobj(_Axes) if isinstance(ax, _Axes) and ax.get_visible()]
