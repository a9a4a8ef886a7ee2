"""Names beside points without overlap: a small deterministic placement, no optimiser and no chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

__all__ = ["place_labels"]

_ANGLES = (35, 325, 145, 215, 0, 180, 90, 270, 60, 300, 120, 240)  # corners first: intervals run along the axes
_RADII = (4.5, 8.0, 12.0, 17.0, 23.0, 30.0, 38.0, 48.0, 60.0, 75.0)  # points from the marker's centre to the box


def _overlap(box: np.ndarray, boxes: np.ndarray) -> float:
    """Area that `box` (x0, y0, x1, y1) shares with each of `boxes`, summed."""
    if not len(boxes):
        return 0.0
    width = np.minimum(box[2], boxes[:, 2]) - np.maximum(box[0], boxes[:, 0])
    height = np.minimum(box[3], boxes[:, 3]) - np.maximum(box[1], boxes[:, 1])
    return float((width.clip(0) * height.clip(0)).sum())


def _candidates(x: float, y: float, width: float, height: float, unit: float) -> list[tuple[float, np.ndarray]]:
    """(cost, box) around a point in pixels: near before far, beside before above."""
    out = []
    for ring, radius in enumerate(_RADII):
        for rank, angle in enumerate(_ANGLES):
            dx, dy = np.cos(np.radians(angle)), np.sin(np.radians(angle))
            # The box's nearest corner (or the middle of its nearest side) lies on the ring.
            cx = x + dx * radius * unit + np.sign(round(dx, 6)) * width / 2
            cy = y + dy * radius * unit + np.sign(round(dy, 6)) * height / 2
            box = np.array([cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2])
            out.append((ring * 1.0 + rank * 0.04, box))
    return out


def place_labels(
    ax: Axes,
    x: Sequence[float] | np.ndarray,
    y: Sequence[float] | np.ndarray,
    labels: Sequence[str],
    *,
    avoid: Sequence[tuple[float, float]] = (),
    segments: Sequence[tuple[float, float, float, float]] = (),
    taken: Sequence[Any] = (),
    marker_pt: float = 5.0,
    **text: Any,
) -> list[Annotation]:
    """Write each label beside its point (data coordinates), clear of the other labels and of all points.

    It also keeps clear of the points `avoid`, the upright or level lines `segments` (x0, y0, x1, y1) and the
    text artists `taken`.
    Limits of `ax` must be final. A label pushed away from its point gets a thin leader. Points with NaN are
    skipped. Deterministic: the crowded points choose first. Where no free place exists the least overlap wins.
    """
    from signpost_kit.figures.typeface import dress

    figure: Any = ax.figure.figure  # of a subfigure, the figure it is in
    dress(figure)
    figure.draw_without_rendering()  # the layout engine moves axes: only afterwards are pixels right
    renderer = figure.canvas.get_renderer()
    unit = figure.dpi / 72.0
    points = np.column_stack([np.asarray(x, float), np.asarray(y, float)]).reshape(-1, 2)
    keep = [i for i in range(len(points)) if np.isfinite(points[i]).all()]
    if not keep:
        return []
    pixels = ax.transData.transform(points[keep])
    others = ax.transData.transform(np.asarray(avoid, float)) if len(avoid) else np.empty((0, 2))
    half = marker_pt * unit / 2
    marks = np.vstack([pixels, others])
    obstacles = np.column_stack([marks - half, marks + half])
    if len(segments):
        ends = ax.transData.transform(np.asarray(segments, float).reshape(-1, 2)).reshape(-1, 4)
        obstacles = np.vstack([obstacles, ends + np.array([-1, -1, 1, 1]) * 0.8 * unit])
    frame = ax.get_window_extent(renderer)
    notes = [ax.annotate(labels[i], points[i], xytext=(0, 0), textcoords="offset pixels", **text) for i in keep]
    dress(figure)  # names in any script have their final fonts, and so their widths
    sizes = []
    for note in notes:
        extent = note.get_window_extent(renderer)
        sizes.append((extent.width + 1.5 * unit, extent.height + 0.5 * unit))
    distance = np.hypot(*(pixels[:, None, :] - marks[None, :, :]).transpose(2, 0, 1))
    crowding = (distance < 45 * unit).sum(axis=1)
    placed = [np.array(artist.get_window_extent(renderer).extents) for artist in taken]
    for k in sorted(range(len(keep)), key=lambda k: (-crowding[k], -pixels[k][1], pixels[k][0])):
        px, py = pixels[k]
        width, height = sizes[k]
        best_cost, best = np.inf, None
        foreign = np.delete(marks, k, axis=0)
        for cost, box in _candidates(px, py, width, height, unit):
            outside = (
                max(0, frame.x0 - box[0])
                + max(0, box[2] - frame.x1)
                + max(0, frame.y0 - box[1])
                + max(0, box[3] - frame.y1)
            )
            total = cost + 40 * outside / (height + width)
            total += 60 * _overlap(box, np.array(placed)) / (width * height)
            total += 25 * _overlap(box, obstacles) / (height * height)
            total += 4.0 * _doubt(box, pixels[k], foreign, unit)
            if total < best_cost:
                best_cost, best = total, box
        if best is None:  # only if no candidate had a finite cost, which a drawn axes rules out
            continue
        placed.append(best)
        _settle(ax, notes[k], best, pixels[k], unit, leader=_doubt(best, pixels[k], foreign, unit) > 0)
    return notes


def _doubt(box: np.ndarray, point: np.ndarray, others: np.ndarray, unit: float) -> float:
    """0 where the label is plainly the point's; up to 1 the nearer another point is, compared with its own."""
    if not len(others):
        return 0.0
    own = np.hypot(*(np.clip(point, box[:2], box[2:]) - point))
    other = np.hypot(*(np.clip(others, box[:2], box[2:]) - others).T).min()
    return float(np.clip((own + 4.0 * unit - other) / (4.0 * unit), 0.0, 1.0))


def _settle(ax: Axes, note: Annotation, box: np.ndarray, point: np.ndarray, unit: float, *, leader: bool) -> None:
    """Put a label into its box; away from the point, or in doubt, a leader joins the two."""
    centre = np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2])
    note.set_horizontalalignment("center")
    note.set_verticalalignment("center")
    note.anncoords = "offset points"
    note.set_position(tuple((centre - point) / unit))
    nearest = np.clip(point, box[:2], box[2:])
    if leader or np.hypot(*(nearest - point)) > 8.5 * unit:
        ends = ax.transData.inverted().transform([point, nearest])
        ax.plot(*ends.T, lw=0.4, color="#8a8a8a", zorder=1.5, gid="leader", scalex=False, scaley=False)
