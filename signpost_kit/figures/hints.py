"""Figures of GeoHint: hit rate by the hint's distance, echo by tier and band, the slope and its two ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.figures.style import DOUBLE, GREY, PALETTE, SINGLE, canvas, empty, provider_looks, style
from signpost_kit.metrics.hints import HINT_BANDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_echo", "draw_regimes", "draw_slope", "fig_echo", "fig_regimes", "fig_slope"]

_PLACES = ("none", *HINT_BANDS)
_LABELS = ("no hint", "0.5–1.5", "1.5–3", "3–6")
_NEVER = "No hint was asked about in this run: see context.hints in the profile."
_REGIME_LOOK = {"legible": (PALETTE[0], "o", "-"), "illegible": (PALETTE[1], "s", "--")}
_TIER_HATCH = {"high": "", "mid": "////", "low": "...."}
_TIER_FACE = {"high": "#3b6ea5", "mid": "#8fb4d9", "low": "#dce7f3"}


def draw_regimes(
    bands: pd.DataFrame, ax: Axes, *, published: pd.DataFrame | None = None, model: str = "all"
) -> None:
    """Hit rate without a hint and by the hint's distance, one curve per regime, with intervals.

    `bands` is the frame `hint_bands`; `published` (geohint_regimes) adds the study's models, averaged, faintly.
    """
    mine = bands.loc[bands["model"] == _known(bands, model)] if len(bands) else bands
    if mine.empty or not mine["rate"].notna().any():
        empty(ax, _NEVER)
        return
    x = np.arange(len(_PLACES), dtype=float)
    for shift, (regime, (color, marker, dash)) in zip((-0.06, 0.06), _REGIME_LOOK.items(), strict=True):
        part = mine.loc[mine["regime"] == regime].drop_duplicates("band").set_index("band").reindex(list(_PLACES))
        value, low, high = (100 * part[c].to_numpy(float, na_value=np.nan) for c in ("rate", "low", "high"))
        ok = np.isfinite(value)
        if not ok.any():
            continue
        bounded = np.isfinite(low) & np.isfinite(high)
        ax.vlines(x[bounded] + shift, low[bounded], high[bounded], color=color, lw=0.9, gid="interval")
        ax.plot(x[ok] + shift, value[ok], dash, marker=marker, color=color, label=f"{regime} sites", gid=regime)
        if published is not None:
            theirs = published.loc[published["regime"] == regime]
            names = ("no_context_pct", "hit_near_pct", "hit_mid_pct", "hit_far_pct")
            mean = [float(theirs[n].mean()) for n in names]
            ax.plot(
                x + shift,
                mean,
                ":",
                marker=marker,
                ms=3,
                color=color,
                alpha=0.55,
                mfc="white",
                label=f"{regime}, published mean",
                gid=f"published {regime}",
            )
    ax.set_xticks(x, list(_LABELS))
    ax.set_xlabel("distance of the hint from the truth (km)")
    ax.set_ylabel("hits: answers within 1 km (%)")
    ax.set_xlim(-0.4, len(_PLACES) - 0.6)
    ax.set_ylim(-2, 102)  # a marker at 0 or 100 stays whole
    ax.grid(axis="y")


def _known(frame: pd.DataFrame, model: str) -> str:
    """The model asked for, or the only one there is when nothing is pooled."""
    names = list(dict.fromkeys(frame["model"]))
    return model if model in names else (names[0] if names else model)


def fig_regimes(bands: pd.DataFrame, *, published: pd.DataFrame | None = None) -> Figure:
    """All models pooled on the left, one small panel per model on the right (up to eight)."""
    models = [m for m in dict.fromkeys(bands["model"]) if m != "all"][:8] if len(bands) else []
    with style():
        if len(models) < 2:
            figure, ax = canvas(SINGLE, 2.6)
            draw_regimes(bands, ax, published=published)
            _legend(figure, ax, columns=2)
            return figure
        rows = 2
        columns = 1 + int(np.ceil(len(models) / rows))
        figure, _ = canvas(DOUBLE, 3.4)
        figure.clear()
        grid = figure.add_gridspec(rows, columns + 1, width_ratios=[1, 1, *([1] * (columns - 1))])
        main = figure.add_subplot(grid[:, :2])
        draw_regimes(bands, main, published=published)
        main.set_title("all models")
        for i, model in enumerate(models):
            ax = figure.add_subplot(grid[i % rows, 2 + i // rows])
            draw_regimes(bands, ax, model=model)
            ax.set_title(model)
            ax.set_xlabel("")
            ax.set_ylabel("")
            ax.set_ylim(-4, 104)
            ax.set_xticks(range(len(_PLACES)), ["no", "near", "mid", "far"])
        _legend(figure, main, columns=4)
    return figure


def _legend(figure: Figure, ax: Axes, *, columns: int) -> None:
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def draw_echo(echo: pd.DataFrame, ax: Axes, *, reading: str = "kit", published: pd.DataFrame | None = None) -> None:
    """Echo rate by referenceability and distance of the hint: grouped bars with intervals.

    `echo` is the frame `hint_echo`; `published` (geohint_echo) adds the study's numbers as open diamonds, which are
    of the study's reading.
    """
    mine = echo.loc[echo["reading"] == reading] if len(echo) else echo
    if mine.empty or not mine["rate"].notna().any():
        empty(ax, _NEVER)
        return
    width = 0.26
    x = np.arange(len(HINT_BANDS), dtype=float)
    for k, tier in enumerate(("high", "mid", "low")):
        part = mine.loc[mine["tier"] == tier].drop_duplicates("band").set_index("band").reindex(list(HINT_BANDS))
        value, low, high = (100 * part[c].to_numpy(float, na_value=np.nan) for c in ("rate", "low", "high"))
        at = x + (k - 1) * width
        ok = np.isfinite(value)
        ax.bar(
            at[ok],
            value[ok],
            width * 0.92,
            color=_TIER_FACE[tier],
            hatch=_TIER_HATCH[tier],
            edgecolor="#2b4a6b",
            lw=0.5,
            label=f"{tier} referenceability",
            gid=tier,
        )
        bounded = np.isfinite(low) & np.isfinite(high)
        ax.vlines(at[bounded], low[bounded], high[bounded], color="#1a1a1a", lw=0.8, gid="interval")
        if published is not None:
            theirs = published.loc[published["tier"] == tier]
            spots = [
                float(theirs[f"{name}_pct"].iloc[0]) if len(theirs) else np.nan for name in ("near", "mid", "far")
            ]
            label = "published (first word)" if k == 0 else None
            ax.plot(at, spots, "D", ms=3.5, mfc="white", mec=PALETTE[1], mew=0.9, label=label, gid="published")
    ax.set_xticks(x, list(_LABELS[1:]))
    ax.set_xlabel("distance of the hint from the truth (km)")
    ax.set_ylabel("answers that name the hint's place (%)")
    ax.set_ylim(0, 100)
    ax.grid(axis="y")


def fig_echo(echo: pd.DataFrame, *, published: pd.DataFrame | None = None) -> Figure:
    """Echo by both readings, side by side."""
    with style():
        figure, axes = canvas(DOUBLE, 2.7, columns=2, sharey=True)
        draw_echo(echo, axes[0], reading="kit")
        axes[0].set_title("distinctive part of the name")
        draw_echo(echo, axes[1], reading="study", published=published)
        axes[1].set_title("the study's reading: first word")
        axes[1].set_ylabel("")
        _legend(figure, axes[1] if axes[1].get_legend_handles_labels()[0] else axes[0], columns=4)
    return figure


def draw_slope(
    answers: pd.DataFrame,
    slope: pd.DataFrame,
    ax: Axes,
    *,
    model: str = "all",
    look: Mapping[str, Any] | None = None,
) -> None:
    """Error against the hint's distance, the fitted line with its two ends: ignoring the hint, and reciting it.

    `answers` are those with a hint to the plain schema; `slope` is the frame `hint_slope`.
    """
    if answers.empty:
        empty(ax, _NEVER)
        return
    mine = answers if model == "all" else answers.loc[answers["model"] == model]
    mine = mine.loc[(mine["error_km"] > 0) & (mine["ref_km"] > 0)]
    row = slope.loc[(slope["subset"] == model) & ~slope["fine_only"].astype(bool)] if len(slope) else slope
    if mine.empty or row.empty or not np.isfinite(float(row["beta"].iloc[0])):
        empty(ax, "No slope: it needs answers to hints at three distances or more.")
        return
    fit = row.iloc[0]
    cloud = mine if len(mine) <= 1500 else mine.sample(1500, random_state=0)
    ax.plot(cloud["ref_km"], cloud["error_km"], ".", ms=2.2, color="#b8b8b8", mew=0, zorder=1, gid="answers")
    x = np.linspace(0.5, 6, 60)
    ax.plot(x, x, "--", color=GREY, lw=0.9, label="always the hint", gid="endpoint")
    level = 10 ** float((np.log10(mine["error_km"])).mean())
    ax.axhline(level, ls=":", color=GREY, lw=0.9, label="never the hint", gid="ignores")
    color = (look or {}).get("color", PALETTE[0])
    line = 10 ** (float(fit["intercept"]) + float(fit["beta"]) * x)
    ax.plot(x, line, "-", color=color, lw=1.5, label="fitted", gid="fit")
    middle = mine["ref_km"].mean()
    if np.isfinite(fit["low"]) and np.isfinite(fit["high"]):
        centre = float(fit["intercept"]) + float(fit["beta"]) * middle
        edges = [10 ** (centre + float(fit[side]) * (x - middle)) for side in ("low", "high")]
        ax.fill_between(x, np.minimum(*edges), np.maximum(*edges), color=color, alpha=0.18, lw=0, gid="interval")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")  # 0.1, 1, 10: no mathematics in a tick's label
    ax.yaxis.set_minor_formatter(lambda value, _: "")
    ax.set_xlim(0.3, 6.2)
    share = float(fit["share"])
    text = (
        f"slope {float(fit['beta']):.3f}\n{share:.0%} of the way"
        if np.isfinite(share)
        else f"slope {fit['beta']:.3f}"
    )
    ax.text(0.97, 0.04, text.replace("-", "−"), transform=ax.transAxes, ha="right", va="bottom", fontsize=6.5)


def fig_slope(answers: pd.DataFrame, slope: pd.DataFrame) -> Figure:
    """One panel for all answers and one for each model (up to eleven)."""
    plain = answers.loc[(answers["schema"] == "forced") & answers["ref_km"].notna()] if len(answers) else answers
    models: Sequence[str] = list(dict.fromkeys(plain["model"]))[:11] if len(plain) else []
    names = ["all", *models] if len(models) != 1 else ["all"]
    looks = provider_looks(list(models))
    columns = 2 if len(names) == 4 else min(3, len(names))
    rows = int(np.ceil(len(names) / columns))
    with style():
        figure, axes = canvas(
            SINGLE if columns == 1 else DOUBLE,
            0.5 + 1.9 * rows,
            rows=rows,
            columns=columns,
            squeeze=False,
            sharex=True,
            sharey=True,
        )
        for i, ax in enumerate(axes.ravel()):
            if i >= len(names):
                ax.set_visible(False)
                continue
            color = {"color": looks[names[i]].color} if names[i] in looks else None
            draw_slope(plain, slope, ax, model=names[i], look=color)
            ax.set_title("all models" if names[i] == "all" else names[i])
            if i % columns == 0:
                ax.set_ylabel("error (km)")
            if i >= len(names) - columns:
                ax.set_xlabel("distance of the hint (km)")
                ax.tick_params(labelbottom=True)  # also above a panel that is not there
        _legend(figure, axes.ravel()[0], columns=3)
    return figure
