"""Whether models are misled by the same scenes: kappa for each pair, and the scenes themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from signpost_kit.figures.style import DOUBLE, GREY, INK, SMALLEST, canvas, empty, style
from signpost_kit.metrics.misled import similar_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_kappa", "draw_scenes", "fig_agreement"]

_MISLED, _NOT, _UNKNOWN = "#D55E00", "#bcd0e0", "#ffffff"
_NO_PAIR = "Agreement needs two models with answers to the same scenes."


def fig_agreement(table: pd.DataFrame, pairs: pd.DataFrame, *, what: str = "") -> Figure:
    """Left: kappa of each pair of models; right: which scene misled which model. Like stands beside like.

    `table` comes from :func:`signpost_kit.metrics.misled.misled`, `pairs` from `misled_agreement`; `what` says in
    a few words what counts as misled.
    """
    order = similar_order(table.to_numpy(float).T) if len(table) else list(range(table.shape[1]))
    models = [str(table.columns[i]) for i in order]
    n = max(len(models), 4)
    with style():
        figure, axes = canvas(DOUBLE, 1.1 + 0.165 * n, columns=2, width_ratios=(1.25, 1))
        draw_kappa(pairs, models, axes[0])
        axes[0].set_title("(a) Cohen's kappa of each pair", loc="left")
        draw_scenes(table.loc[:, models], axes[1], named=False, what=what)
        axes[1].set_title("(b) Scenes that mislead", loc="left")
    return figure


def draw_kappa(pairs: pd.DataFrame, models: Sequence[str], ax: Axes) -> None:
    """A triangle with a number per pair of models; a pair without a kappa is hatched and holds no number.

    Dark is high. 1: the same scenes; 0: no more in common than the two rates give by chance.
    """
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    if len(models) < 2 or pairs.empty or not np.isfinite(pairs["kappa"].astype(float)).any():
        empty(ax, _NO_PAIR if len(models) < 2 else _reasons(pairs))
        return
    found = {
        frozenset((str(a), str(b))): float(kappa)
        for a, b, kappa in pairs[["model_a", "model_b", "kappa"]].itertuples(index=False)
    }
    cmap = colormaps["Blues"]
    for i, one in enumerate(models):
        for j, other in enumerate(models[:i]):
            kappa = found.get(frozenset((one, other)), np.nan)
            known = np.isfinite(kappa)
            shade = cmap(0.85 * min(max(kappa, 0.0), 1.0)) if known else "white"
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, lw=0.6, ec="white" if known else "#c8c8c8", fc=shade,
                                   hatch="" if known else "////", gid="cell" if known else "missing"))  # fmt: skip
            if known:
                red, green, blue, _ = cmap(0.85 * min(max(kappa, 0.0), 1.0))
                ink = "white" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5 else INK
                ax.text(j, i, _two(kappa), ha="center", va="center", fontsize=SMALLEST, color=ink, gid="kappa")
    ax.set_xlim(-0.5, len(models) - 1.5)
    ax.set_ylim(len(models) - 0.5, 0.5)
    ax.set_xticks(range(len(models) - 1), models[:-1], rotation=90, fontsize=6)
    ax.set_yticks(range(1, len(models)), models[1:], fontsize=6)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _two(kappa: float) -> str:
    """.45, −.03, 1.0: short enough for a small cell."""
    text = f"{kappa:.2f}"
    if text in ("1.00", "-1.00"):
        return text[:-1].replace("-", "−")
    return text.replace("-0.", "−.").replace("0.", ".") if text not in ("0.00", "-0.00") else "0"


def _reasons(pairs: pd.DataFrame) -> str:
    """Why no pair has a kappa."""
    said = [reason for reason in dict.fromkeys(pairs["reason"].astype(str)) if reason] if len(pairs) else []
    return f"No kappa: {said[0]}." if said else _NO_PAIR


def draw_scenes(table: pd.DataFrame, ax: Axes, *, named: bool = True, what: str = "") -> None:
    """Models (rows) by scenes (columns): filled where the scene misled the model, white where it was not answered.

    Scenes stand from those that mislead most models to those that mislead none, like beside like within.
    """
    from matplotlib.colors import ListedColormap, to_rgb
    from matplotlib.patches import Patch

    values = table.to_numpy(float)
    if not values.size or not np.isfinite(values).any():
        empty(ax, "No scene was answered in the versions that tell.", width=34)
        return
    order = _scene_order(values)
    grid = np.where(np.isfinite(values), values, 2.0).astype(int)[order].T
    colors = ListedColormap([to_rgb(_NOT), to_rgb(_MISLED), to_rgb(_UNKNOWN)])
    ax.imshow(grid, cmap=colors, vmin=-0.5, vmax=2.5, aspect="auto", interpolation="nearest", gid="scenes")
    for i in range(1, len(grid)):
        ax.axhline(i - 0.5, color="white", lw=0.6)
    ax.set_yticks(range(len(grid)), list(table.columns) if named else [""] * len(grid), fontsize=6)
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([])
    rates = [np.nanmean(column) if np.isfinite(column).any() else np.nan for column in values.T]
    for i, rate in enumerate(rates):
        ax.annotate(f"{rate:.0%}" if np.isfinite(rate) else "–", (1.0, i), xycoords=("axes fraction", "data"),
                    xytext=(3, 0), textcoords="offset points", ha="left", va="center", fontsize=6,
                    gid="rate")  # fmt: skip
    ax.annotate("misled", (1.0, 1.0), xycoords="axes fraction", xytext=(3, 2), textcoords="offset points",
                ha="left", va="bottom", fontsize=SMALLEST, color=GREY)  # fmt: skip
    marks = [Patch(fc=_MISLED, label="misled"), Patch(fc=_NOT, ec="#b9c6d0", lw=0.4, label="not misled")]
    if (grid == 2).any():
        marks.append(Patch(fc="white", ec="#9a9a9a", lw=0.4, label="not known"))
    said = f"{values.shape[0]} scenes, most misleading first" + (f"\nmisled: {what}" if what else "")
    ax.legend(handles=marks, loc="upper left", bbox_to_anchor=(-0.02, 0.0), ncols=3, fontsize=6, handlelength=1.0,
              columnspacing=0.9, handletextpad=0.4, title=said, title_fontsize=6.5, alignment="left")  # fmt: skip


def _scene_order(values: np.ndarray) -> list[int]:
    """By the number of models misled, downwards; among equals, by which ones."""
    misled = np.nansum(np.where(np.isfinite(values), values, 0.0), axis=1)
    pattern = np.where(np.isfinite(values), values, 0.5)
    return sorted(range(len(values)), key=lambda i: (-misled[i], tuple(-pattern[i]), i))
