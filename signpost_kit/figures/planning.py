"""How many scenes are enough: the width of intervals, and the smallest difference found, against their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from signpost_kit.figures.cells import pick, rows_of
from signpost_kit.figures.style import DOUBLE, GREY, INK, SMALLEST, canvas, empty, provider_looks, style
from signpost_kit.metrics.ratios import ANSWERED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["STUDY_GROUPS", "draw_planning", "fig_planning", "measured_widths"]

STUDY_GROUPS = 5111
"""Scenes of the study."""
_NAMED = 6  # lines with a name of their own; beyond that, a band
_LOWEST = 0.5
_NONE = "No spread between scenes is known: no model has Adversarial scores of two scenes in each data set."
_NO_PAIR = "No two models to tell apart: that needs two, with answers about the same scenes."


def measured_widths(macro: pd.DataFrame, widths: pd.DataFrame, *, reading: str = ANSWERED) -> pd.DataFrame:
    """Interval widths that the run's bootstrap gave, to be set beside what the plan expects.

    `macro` is the frame of that name, `widths` comes from :func:`signpost_kit.metrics.pilot.planned_widths`.

    Returns
    -------
    name (the model), n_groups (its scenes), value (points); models without an interval are absent.
    """
    rows = pick(macro, "wla", variant="Adversarial", reading=reading).drop_duplicates(["model"])
    found = rows.set_index("model")
    value = 100.0 * (found["high"] - found["low"]).reindex(widths["model"].astype(str)).to_numpy(float)
    out = pd.DataFrame({"name": widths["model"], "n_groups": widths["n_pilot"].astype(float), "value": value})
    return out.loc[out["value"].notna(), :].reset_index(drop=True)


def fig_planning(
    curves: pd.DataFrame,
    measured: pd.DataFrame,
    *,
    width: float = 5.0,
    difference: float = 5.0,
    study_groups: int = STUDY_GROUPS,
) -> Figure:
    """Two panels: interval of WLA against scenes, and the smallest difference between two models that is found.

    Parameters
    ----------
    curves
        From :func:`signpost_kit.metrics.pilot.planning_curves`.
    measured
        From :func:`measured_widths`: the run's own points.
    width, difference
        What is wanted, in points: a level line in each panel.
    """
    with style():
        figure, axes = canvas(DOUBLE, 3.2, columns=2)
        draw_planning(curves, axes[0], kind="width", wanted=width, measured=measured, study_groups=study_groups)
        draw_planning(curves, axes[1], kind="difference", wanted=difference, study_groups=study_groups)
        axes[0].set_title("Width of the 95 % interval")
        axes[1].set_title("Smallest difference found (power 80 %)")
    return figure


def draw_planning(
    curves: pd.DataFrame,
    ax: Axes,
    *,
    kind: str,
    wanted: float,
    measured: pd.DataFrame | None = None,
    study_groups: int = STUDY_GROUPS,
) -> None:
    """One panel: points of Adversarial WLA against the number of scenes, both on log scales.

    `kind` is `width` (a line per model) or `difference` (a line per pair). Up to six lines are named; of more, the
    middle one and the range are drawn. A hollow square is what this run's bootstrap gave.
    """
    lines = rows_of(curves, "kind", kind) if len(curves) else curves
    lines = lines.loc[lines["value"].astype(float) > 0, :] if len(lines) else lines
    if lines.empty:
        empty(ax, _NONE if kind == "width" else _NO_PAIR, width=40)
        return
    low = {str(name): float(part["value"].min()) for name, part in lines.groupby("name", sort=False)}
    top = {str(name): float(part["value"].max()) for name, part in lines.groupby("name", sort=False)}
    names = [name for name in low if top[name] >= _LOWEST]
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(float(lines["n_groups"].min()), float(lines["n_groups"].max()))
    ax.set_ylim(_LOWEST, 100)
    if len(names) <= _NAMED:
        _named(lines, names, ax)
    else:
        _band(rows_of(lines, "name", *names), ax, kind)
    _marks(ax, wanted, study_groups)
    shown = measured if measured is not None and len(measured) else pd.DataFrame()
    if len(shown):
        inside = shown.loc[shown["value"].between(_LOWEST, 100), :]
        size = 4.5 if len(inside) <= _NAMED else 2.8
        ax.plot(inside["n_groups"], inside["value"], "s", color=INK, mfc="white", ms=size, mew=0.9, zorder=4,
                ls="none", label="this run", gid="measured")  # fmt: skip
    left = [name for name in low if name not in names]
    if left:
        told = str(len(left)) if len(left) > 2 else ", ".join(left)
        ax.plot([], [], ls="none", label=f"below {_LOWEST:g}: {told}", gid="below")
    _frame(ax)


def _named(lines: pd.DataFrame, names: Sequence[str], ax: Axes) -> None:
    looks = provider_looks(names)
    dashes = ["-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)), (0, (7, 1)), (0, (2, 2))]
    for name, dash in zip(names, dashes, strict=False):
        part = rows_of(lines, "name", name).sort_values("n_groups")
        ax.plot(part["n_groups"], part["value"], color=looks[name].color, ls=dash, label=name, gid=name)


def _band(lines: pd.DataFrame, ax: Axes, kind: str) -> None:
    spread = lines.groupby("n_groups")["value"].agg(["min", "median", "max"])
    n = lines["name"].nunique()
    what = "models" if kind == "width" else "pairs"
    ax.fill_between(spread.index, spread["min"], spread["max"], color="#d9d9d9", lw=0, gid="range",
                    label=f"range of {n} {what}")  # fmt: skip
    ax.plot(spread.index, spread["median"], color=INK, label="middle one", gid="median")
    widest = str(lines.loc[lines["value"].idxmax(), "name"])
    part = rows_of(lines, "name", widest).sort_values("n_groups")
    ax.plot(part["n_groups"], part["value"], color=INK, lw=0.8, ls=(0, (4, 1.5)), label=widest, gid=widest)


def _marks(ax: Axes, wanted: float, study_groups: int) -> None:
    ax.axhline(wanted, color=GREY, lw=0.7, ls=(0, (1, 1.5)), zorder=1, gid="wanted")
    ax.text(0.99, wanted * 1.05, f"{wanted:g} points", transform=ax.get_yaxis_transform(), ha="right", va="bottom",
            fontsize=SMALLEST + 0.3, color=GREY)  # fmt: skip
    ax.axvline(study_groups, color=GREY, lw=0.7, ls=(0, (4, 2)), zorder=1, gid="study")
    ax.text(study_groups * 0.94, 0.98, f"the study's {study_groups:,}", transform=ax.get_xaxis_transform(),
            ha="right", va="top", rotation=90, fontsize=SMALLEST + 0.3, color=GREY)  # fmt: skip


def _frame(ax: Axes) -> None:
    ticks = [2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000]
    low, high = ax.get_xlim()
    inside = [n for n in ticks if low <= n <= high]
    inside = [n for n in inside if str(n)[0] == "1"] or inside
    ax.set_xticks(inside, [f"{n:,}" for n in inside])
    ax.set_xticks(
        np.unique([k * 10**e for e in range(5) for k in range(1, 10) if low <= k * 10**e <= high]), minor=True
    )
    ax.set_yticks([0.5, 1, 2, 5, 10, 20, 50, 100], ["0.5", "1", "2", "5", "10", "20", "50", "100"])
    ax.set_yticks([], minor=True)
    ax.tick_params(axis="x", which="minor", labelbottom=False)
    ax.grid(axis="both", which="major")
    ax.set_xlabel("scenes, like this run's")
    ax.set_ylabel("points of Adversarial WLA")
    labels = ax.get_legend_handles_labels()[1]
    longest = max(map(len, labels), default=0)
    n_columns = 1 if longest > 24 else 2 if longest > 14 else 3
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.24), ncols=n_columns, handlelength=2.2,
              columnspacing=0.9, handletextpad=0.4, labelspacing=0.3)  # fmt: skip
