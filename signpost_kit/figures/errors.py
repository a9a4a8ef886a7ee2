"""How the distances to the truth are spread: one curve per variant, one panel per model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from signpost_kit.figures.cells import rows_of
from signpost_kit.figures.style import (
    DOUBLE,
    GREY,
    SINGLE,
    SMALLEST,
    VARIANT_DASHES,
    VARIANT_LOOK,
    canvas,
    empty,
    style,
)
from signpost_kit.frames import VARIANTS
from signpost_kit.metrics.paper import ACC_KM

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_error_cdf", "fig_error_cdf"]

_BANDED = ("Original", "Adversarial")
_THICK = {"Original": 1.4, "Adversarial": 1.4}
_NONE = "No answer with a distance: every reply failed, or nothing was asked yet."


def fig_error_cdf(curves: pd.DataFrame) -> Figure:
    """Small multiples of :func:`draw_error_cdf`, up to four in a row, models in the frame's order."""
    models = list(dict.fromkeys(curves["model"].astype(str))) if len(curves) else []
    columns = 1 if len(models) <= 1 else 2 if len(models) == 2 else 3 if len(models) <= 6 else 4
    lines = max(math.ceil(len(models) / columns), 1)
    height = 2.4 if columns == 1 else 0.55 + (1.75 if columns < 4 else 1.42) * lines
    with style():
        figure, grid = canvas(SINGLE if columns == 1 else DOUBLE, height, rows=lines, columns=columns, sharex=True,
                              sharey=True, squeeze=False)  # fmt: skip
        panels = list(grid.flat)
        if not models:
            empty(panels[0], _NONE)
            return figure
        for model, ax in zip(models, panels, strict=False):
            draw_error_cdf(rows_of(curves, "model", model), ax)
            ax.set_title(model, fontsize=8 if columns < 4 else 7, pad=3)
        _label(panels, len(models), columns)
        _legend(figure, panels[: len(models)], columns)
    return figure


def _label(panels: list[Axes], n: int, columns: int) -> None:
    """Labels at the left and below the lowest panel of each column only; panels too many go."""
    for i, ax in enumerate(panels):
        if i >= n:
            ax.remove()
            continue
        if i % columns == 0:
            ax.set_ylabel("nearer than d (%)")
        if i + columns >= n:
            ax.set_xlabel("error d (km)")
            ax.tick_params(labelbottom=True)


def _legend(figure: Figure, panels: list[Axes], columns: int) -> None:
    entries = {
        name: handle
        for ax in panels
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)
    }  # fmt: skip
    names = [name for name in VARIANTS if name in entries]
    if names:
        figure.legend([entries[n] for n in names], names, loc="outside upper left", ncols=3 if columns == 1 else 5,
                      columnspacing=1.0, handletextpad=0.4, handlelength=2.6)  # fmt: skip


def draw_error_cdf(curves: pd.DataFrame, ax: Axes) -> None:
    """Share of answers nearer to the truth than d (%), d on a log scale, one curve per variant of one model.

    `curves` holds one model's rows of :func:`signpost_kit.metrics.error_cdf.error_cdf`. Bands are 95 % intervals of
    Original and Adversarial. Markers sit at 1, 25, 200, 750 and 2,500 km: there a curve is Acc@k.
    """
    if curves.empty or not (curves["n_answered"].astype(float) > 0).any():
        empty(ax, _NONE)
        return
    for variant in VARIANTS:
        part = rows_of(curves, "variant", variant).sort_values("error_km")
        if part.empty or not (part["n_answered"].astype(float) > 0).any():
            continue
        look = VARIANT_LOOK[variant]
        x = part["error_km"].to_numpy(float)
        share, low, high = (part[c].to_numpy(float) * 100 for c in ("share", "low", "high"))
        if variant in _BANDED and np.isfinite(low).any():
            ax.fill_between(x, low, high, color=look.color, alpha=0.16, lw=0, gid=f"interval {variant}")
        at = [int(np.argmin(np.abs(x - k))) for k in ACC_KM]
        ax.plot(x, share, color=look.color, ls=VARIANT_DASHES[variant], lw=_THICK.get(variant, 0.9),
                marker=look.marker, mfc=look.face, ms=3.2, mew=0.7, markevery=at, label=variant, gid=variant,
                zorder=3 if variant in _BANDED else 2.5)  # fmt: skip
    ax.set_xscale("log")
    ax.set_xlim(1, 20_015)
    ax.set_xticks([1, 10, 100, 1000, 10_000], ["1", "10", "100", "1k", "10k"])
    ax.minorticks_off()
    ax.set_ylim(0, 100)
    ax.set_yticks([0, 25, 50, 75, 100])
    ax.grid(axis="both")
    answered, asked = (int(curves.drop_duplicates("variant")[c].sum()) for c in ("n_answered", "n_asked"))
    if answered < asked:
        share = min(answered / asked, 0.99)  # never "100 %" where some are missing
        ax.text(0.03, 0.97, f"{share:.0%} answered", transform=ax.transAxes, ha="left", va="top",
                fontsize=SMALLEST + 0.5, color=GREY, gid="coverage")  # fmt: skip
