"""Capability against conflict robustness (fig. 12): two numbers per model, and the lines where MCRS is equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from signpost_kit.figures.cells import READING, in_order, pick, wide, with_providers
from signpost_kit.figures.labels import place_labels
from signpost_kit.figures.style import GREY, empty, provider_looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["capability_robustness"]

_MOST_NAMES = 30  # in one panel; beyond, the published models are points without a name
_EXPONENTS = (0.40, 0.60)  # of C and R in MCRS (SIGNPOST-Bench, eq. 6)


def capability_robustness(
    macro: pd.DataFrame, ax: Axes, *, published: pd.DataFrame | None = None, reading: str = READING
) -> None:
    """Fig. 12: C (x) and R (y) of each model in per cent, 95 % intervals, and lines of equal MCRS.

    `published` (model, provider, capability_pct, robustness_pct) adds the study's models in light grey: yours
    among them. Their scenes are other scenes, so this is a view and no ranking.
    """
    others = published if published is not None else pd.DataFrame(columns=["model", "provider"])
    capability, robustness = pick(macro, "capability", reading=reading), pick(macro, "robustness", reading=reading)
    models, providers = in_order(with_providers(capability)) if len(capability) else ([], [])
    x, y = wide(capability, models) * 100, wide(robustness, models) * 100
    ok = np.isfinite(x) & np.isfinite(y)
    if not ok.any() and others.empty:
        empty(ax, "No capability and robustness: they need answers to Original, Blank, Random and Adversarial "
                  "pictures and a geocoded target.")  # fmt: skip
        return
    grey = others[["capability_pct", "robustness_pct"]].to_numpy(float) if len(others) else np.empty((0, 2))
    segments = _segments(capability, robustness, models, x, y)
    _limits(ax, np.vstack([np.column_stack([x, y])[ok], grey, segments[:, :2], segments[:, 2:]]))
    _equal_lines(ax)
    if len(grey):
        ax.plot(*grey.T, "o", color="#b9b9b9", ms=3.4, zorder=2, gid="published", label="published, other scenes")
    for x0, y0, x1, y1 in segments:
        ax.plot([x0, x1], [y0, y1], color="#a3a3a3", lw=0.6, zorder=2.2, gid="interval")
    looks = provider_looks(list(dict.fromkeys(providers)))
    for provider, look in looks.items():
        mine = ok & (np.array(providers) == provider)
        if mine.any():
            ax.plot(x[mine], y[mine], look.marker, color=look.color, mfc=look.face, ms=5.5, mew=0.8, zorder=3,
                    label=provider, gid="model")  # fmt: skip
    ax.set_xlabel("Capability C (%)")
    ax.set_ylabel("Conflict robustness R (%)")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.5)
    names = [name for name, good in zip(models, ok, strict=True) if good]
    grey_names = list(others["model"]) if len(others) and len(names) + len(others) <= _MOST_NAMES else []
    lines = [tuple(line) for line in segments]
    levels = [text for text in ax.texts if text.get_gid() == "mcrs-label"]
    mine = place_labels(ax, x[ok], y[ok], names, avoid=[(a, b) for a, b in grey], segments=lines, taken=levels,
                        fontsize=6.5, zorder=4)  # fmt: skip
    if grey_names:
        place_labels(ax, grey[:, 0], grey[:, 1], grey_names, avoid=list(zip(x[ok], y[ok], strict=True)),
                     segments=lines, taken=[*levels, *mine], fontsize=5.5, color="#858585", zorder=1.8,
                     marker_pt=3.5)  # fmt: skip


def _limits(ax: Axes, points: np.ndarray) -> None:
    """Limits round the points, never beyond 0..100 by more than a marker, never narrower than 12 points."""
    for axis, values in ((0, points[:, 0]), (1, points[:, 1])):
        low, high = float(values.min()), float(values.max())
        pad = max((high - low) * 0.12, 6 - (high - low) / 2, 2.0)
        limits = (max(-2.0, low - pad), min(102.0, high + pad))
        ax.set_xlim(*limits) if axis == 0 else ax.set_ylim(*limits)


def _segments(
    capability: pd.DataFrame, robustness: pd.DataFrame, models: list[str], x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Intervals as lines (x0, y0, x1, y1): level ones for C, upright ones for R; none where a bound is missing."""
    c_low, c_high, r_low, r_high = (
        wide(rows, models, side) * 100 for rows in (capability, robustness) for side in ("low", "high")
    )
    lines = np.vstack([np.column_stack([c_low, y, c_high, y]), np.column_stack([x, r_low, x, r_high])])
    return lines[np.isfinite(lines).all(axis=1)]


def _equal_lines(ax: Axes) -> None:
    """Lines C^0.4 R^0.6 = constant for every tenth MCRS in view, labelled where they leave the axes."""
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    a, b = _EXPONENTS
    r = np.linspace(max(y0, 0.5), min(y1, 100.0), 400)
    labelled = False
    for level in range(10, 100, 10):
        c = 100 * ((level / 100) / (r / 100) ** b) ** (1 / a)
        inside = (c >= x0) & (c <= min(x1, 100.0))
        if inside.sum() < 12:  # a scrap in a corner says nothing
            continue
        ax.plot(c[inside], r[inside], color="#c6c6c6", lw=0.7, ls=(0, (4, 2)), zorder=1, gid="mcrs",
                label="equal MCRS" if not labelled else None)  # fmt: skip
        labelled = True
        # The lower right end of each line is on the right or the bottom edge.
        cx, ry = c[inside][0], r[inside][0]
        at_right = cx > x1 - (x1 - x0) * 0.05
        ax.annotate(str(level), (cx, ry), xytext=(-2, 2) if at_right else (2, 2), textcoords="offset points",
                    ha="right" if at_right else "left", va="bottom", fontsize=5.5, color=GREY,
                    gid="mcrs-label")  # fmt: skip
    ax.set_xlim(x0, x1)
    ax.set_ylim(y0, y1)
