"""Harm against size, tier and script of the text and the distance of its place: four panels for each measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.figures.cells import rows_of
from signpost_kit.figures.style import DOUBLE, GREY, INK, SMALLEST, VARIANT_LOOK, canvas, empty, style
from signpost_kit.metrics.harm import MEAN_OF_MODELS, MEASURES, TRAITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_harm", "fig_harm"]

_TITLES = {
    "text_share": "(a) Size of the text",
    "tier": "(b) Tier of the text",
    "script": "(c) Script of the text",
    "trap_distance_km": "(d) Distance of the trap",
}
_AXES = {
    "text_share": "outlined text, % of the picture",
    "tier": "tier",
    "script": "script",
    "trap_distance_km": "scene to trap, 1,000 km",
}
_MISSING = {
    "text_share": "No outlines: the pictures' texts have no known place and size.",
    "tier": "No scene has a tier.",
    "script": "No scene has a text.",
    "trap_distance_km": "No scene has a geocoded target.",
}
_UNANSWERED = {
    "wla_loss": "No scene was answered in both versions.",
    "tbs_km": "No scene was answered in both versions.",
}
_MEASURES = {
    "wla_loss": ("WLA lost (points)\nOriginal − Adversarial", 100.0),
    "tbs_km": ("TBS (km)\nAdversarial − Blank", 1.0),
}


def fig_harm(frame: pd.DataFrame) -> Figure:
    """Both measures (rows) against all four traits (columns), from :func:`signpost_kit.metrics.harm.harm`."""
    with style():
        figure, grid = canvas(DOUBLE, 4.3, rows=len(MEASURES), columns=len(TRAITS), squeeze=False,
                              width_ratios=(1.0, 0.75, 1.15, 1.25))  # fmt: skip
        for i, measure in enumerate(MEASURES):
            for j, trait in enumerate(TRAITS):
                draw_harm(frame, grid[i, j], trait=trait, measure=measure)
                if i == 0:
                    grid[i, j].set_title(_TITLES[trait], fontsize=7.5, pad=11)
                if i + 1 < len(MEASURES):
                    grid[i, j].set_xlabel("")
                if j:
                    grid[i, j].set_ylabel("")
            _same_scale(list(grid[i]))
        models = [name for name in dict.fromkeys(frame["model"].astype(str)) if name != MEAN_OF_MODELS]
        if len(models) > 1:
            handles = _entries(list(grid.flat))
            figure.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=2)
    return figure


def _entries(panels: list[Axes]) -> dict[str, Any]:
    return {name: handle for ax in panels for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}


def _same_scale(panels: list[Axes]) -> None:
    """One scale for all panels that show something: harm by size and harm by script can be compared."""
    shown = [ax for ax in panels if ax.lines]
    if shown:
        low = min(ax.get_ylim()[0] for ax in shown)
        high = max(ax.get_ylim()[1] for ax in shown)
        for ax in shown:
            ax.set_ylim(low, high)
        for ax in shown[1:]:
            ax.tick_params(labelleft=False)


def draw_harm(frame: pd.DataFrame, ax: Axes, *, trait: str, measure: str = "wla_loss") -> None:
    """Mean harm at each level of one trait with 95 % intervals: the mean over models, and each model small behind.

    `frame` comes from :func:`signpost_kit.metrics.harm.harm`. Above each level stands on how many scenes it rests.
    A level without a scored scene keeps no place; above 0 is harm.
    """
    rows = rows_of(rows_of(frame, "trait", trait), "measure", measure) if len(frame) else frame
    if rows.empty or not np.isfinite(rows["value"].astype(float)).any():
        known = len(frame) and (frame["trait"] == trait).any()
        empty(ax, _UNANSWERED[measure] if known else _MISSING[trait], width=22)
        return
    rows = rows.loc[np.isfinite(rows["value"].astype(float)), :]
    order = rows.drop_duplicates("place").sort_values("place")
    places = {int(p): i for i, p in enumerate(order["place"])}
    scale = _MEASURES[measure][1]
    names = [m for m in dict.fromkeys(rows["model"].astype(str)) if m != MEAN_OF_MODELS]
    ax.axhline(0, color=INK, lw=0.7, zorder=1)
    if len(names) > 1:
        each = rows.loc[rows["model"] != MEAN_OF_MODELS, :]
        at = each["place"].map(places).to_numpy(float)
        shift = each["model"].map({m: i for i, m in enumerate(names)}).to_numpy(float)
        spread = (shift / max(len(names) - 1, 1) - 0.5) * 0.36
        ax.plot(at + spread, each["value"].to_numpy(float) * scale, "o", ms=1.8, mew=0, color="#9a9a9a",
                zorder=1.5, gid="model", label="each model")  # fmt: skip
    mean = rows_of(rows, "model", MEAN_OF_MODELS).drop_duplicates("place").sort_values("place")
    x = mean["place"].map(places).to_numpy(float)
    value, low, high = (mean[c].to_numpy(float) * scale for c in ("value", "low", "high"))
    look = VARIANT_LOOK["Adversarial"]
    ok = np.isfinite(low) & np.isfinite(high)
    ax.vlines(x[ok], low[ok], high[ok], color=look.color, lw=1.1, zorder=2.5, gid="interval")
    ordered = trait in ("text_share", "trap_distance_km")
    ax.plot(x, value, ls="-" if ordered else "none", marker="D", ms=3.6, lw=0.7, color=look.color, zorder=3,
            gid="mean", label="mean of the models, 95 % interval")  # fmt: skip
    _levels(ax, order, mean, trait)
    unknown = int(mean["n_all"].iloc[0]) - int(mean["n_of_trait"].iloc[0])
    label = _AXES[trait] + (f"\n({unknown} scenes unknown)" if unknown else "")
    ax.set_xlabel(label)
    ax.set_ylabel(_MEASURES[measure][0])
    ax.grid(axis="y")


def _levels(ax: Axes, order: pd.DataFrame, mean: pd.DataFrame, trait: str) -> None:
    """Names of the levels, turned where they are long, and the numbers of scenes above the panel."""
    names = order["level"].astype(str).tolist()
    turned = (trait == "script" and len(names) > 2) or (trait == "trap_distance_km" and len(names) > 4)
    turned |= trait == "text_share" and len(names) > 4
    ax.set_xticks(range(len(names)), names, rotation=55 if turned else 0, ha="right" if turned else "center",
                  rotation_mode="anchor" if turned else "default", fontsize=6)  # fmt: skip
    ax.set_xlim(-0.6, len(names) - 0.4)
    counts = dict(zip(mean["place"].astype(int), mean["n_groups"].astype(int), strict=True))
    for i, place in enumerate(order["place"].astype(int)):
        ax.annotate(str(counts.get(place, 0)), (i, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 1.5),
                    textcoords="offset points", ha="center", va="bottom", fontsize=SMALLEST, color=GREY,
                    gid="n")  # fmt: skip
    first = 2.4 + 1.7 * len(str(counts.get(int(order["place"].iloc[0]), 0)))  # points to the left of the number
    ax.annotate("n =", (0, 1.0), xycoords=("data", "axes fraction"), xytext=(-first, 1.5),
                textcoords="offset points", ha="right", va="bottom", fontsize=SMALLEST, color=GREY)  # fmt: skip
