"""Figures of GeoVerify: d-prime by decoy distance, calibration of confidence, and the curve of graded verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from signpost_kit.figures.style import DOUBLE, GREY, INK, PALE, SINGLE, canvas, empty, provider_looks, style
from signpost_kit.metrics.verification import DECOY_BANDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_calibration", "draw_dprime", "draw_roc", "fig_calibration", "fig_dprime", "fig_roc"]

_NEVER = "No claim was put in this run: see context.claims in the profile."
_LABELS = ("0.15–0.3", "0.3–0.7", "0.7–1.5", "1.5–3", "3–6")
_PUBLISHED = ("dprime_0.15_0.3", "dprime_0.3_0.7", "dprime_0.7_1.5", "dprime_1.5_3", "dprime_3_6")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def draw_dprime(claims: pd.DataFrame, ax: Axes, *, published: pd.DataFrame | None = None) -> None:
    """Sensitivity by decoy distance, one curve per model with intervals; line at 1, the nearest band shaded.

    `claims` is the frame `claims`; `published` (geoverify) adds the study's models in grey, named at their end.
    """
    mine = claims.loc[claims["band"].isin(DECOY_BANDS)] if len(claims) else claims
    if mine.empty or not mine["dprime"].notna().any():
        empty(ax, _NEVER if claims.empty else "No d': it needs judged true claims and decoys.")
        return
    x = np.arange(len(DECOY_BANDS), dtype=float)
    ax.axvspan(-0.5, 0.5, color="#f0f0f0", lw=0, zorder=0, gid="nearest band")
    ax.axhline(1, color=INK, lw=0.7, ls=(0, (4, 2)), zorder=1, gid="one")
    if published is not None:
        for k, row in enumerate(published.to_dict("records")):
            values = [float(row[name]) for name in _PUBLISHED]
            ax.plot(
                x,
                values,
                "-",
                color="#c2c2c2",
                lw=0.9,
                zorder=1.2,
                label="published models" if k == 0 else None,
                gid=f"published {row['model']}",
            )
    models = [m for m in dict.fromkeys(mine["model"]) if m != "pooled"] or ["pooled"]
    looks = provider_looks(models)
    spread = np.linspace(-0.12, 0.12, len(models)) if len(models) > 1 else np.zeros(1)
    for k, (model, shift) in enumerate(zip(models, spread, strict=True)):
        part = mine.loc[mine["model"] == model].drop_duplicates("band").set_index("band").reindex(list(DECOY_BANDS))
        value, low, high = (
            part[c].to_numpy(float, na_value=np.nan) for c in ("dprime", "dprime_low", "dprime_high")
        )
        ok, bounded = np.isfinite(value), np.isfinite(low) & np.isfinite(high)
        look = looks[model]
        ax.vlines(
            x[bounded] + shift, low[bounded], high[bounded], color=look.color, lw=0.8, zorder=2, gid="interval"
        )
        ax.plot(
            x[ok] + shift,
            value[ok],
            ls=_DASHES[k % len(_DASHES)],
            marker=look.marker,
            color=look.color,
            mfc=look.face,
            label=model,
            zorder=3,
            gid=model,
        )
    ax.set_xticks(x, list(_LABELS))
    ax.set_xlim(-0.5, len(DECOY_BANDS) - 0.5)
    ax.set_xlabel("distance of the decoy (km)")
    ax.set_ylabel("d′")
    ax.grid(axis="y")


def fig_dprime(claims: pd.DataFrame, *, published: pd.DataFrame | None = None) -> Figure:
    """Can models tell a true claim from one about a place nearby?"""
    with style():
        figure, ax = canvas(DOUBLE, 2.9)
        draw_dprime(claims, ax, published=published)
        handles, labels = ax.get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside right upper")
    return figure


def draw_calibration(bins: pd.DataFrame, ax: Axes, *, model: str) -> None:
    """Accuracy of verdicts by stated confidence; on the diagonal confidence means what it says.

    `bins` is the frame `claims_calibration`. The size of a marker grows with the number of verdicts.
    """
    mine = bins.loc[(bins["model"] == model) & (bins["n"] > 0)] if len(bins) else bins
    if mine.empty:
        empty(ax, _NEVER if bins.empty else f"{model}: no verdict states a confidence.")
        return
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":", gid="diagonal")
    x, y = mine["confidence"].to_numpy(float), mine["accuracy"].to_numpy(float)
    low, high = (mine[c].to_numpy(float) for c in ("accuracy_low", "accuracy_high"))
    ax.vlines(x, low, high, color=INK, lw=0.7, gid="interval")
    size = 8 + 60 * mine["n"].to_numpy(float) / float(mine["n"].sum())
    ax.scatter(x, y, s=size, color="#0072B2", edgecolor="white", lw=0.4, zorder=3, gid="bins")
    first = mine.iloc[0]
    text = f"ECE {first['ece']:.2f}\n{int(mine['n'].sum())} verdicts"
    ax.text(0.04, 0.96, text, transform=ax.transAxes, va="top", fontsize=6.5)
    ax.set_xlim(0, 1.02)
    ax.set_ylim(0, 1.02)
    ax.grid(color=PALE)


def draw_roc(curves: pd.DataFrame, ax: Axes) -> None:
    """Hits against false alarms as the threshold on graded verdicts moves; `curves` is the frame `claims_roc`."""
    if curves.empty:
        empty(ax, _NEVER)
        return
    looks = provider_looks(list(dict.fromkeys(curves["model"])))
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":", gid="diagonal")
    unsaid = []
    for k, (model, part) in enumerate(curves.groupby("model", sort=False)):
        auc = float(part["auc"].iloc[0])
        if not np.isfinite(auc):
            unsaid.append(f"{model}: {part['reason'].iloc[0]}")
            continue
        look = looks[str(model)]
        ax.plot(
            part["false_alarm_rate"],
            part["hit_rate"],
            ls=_DASHES[k % len(_DASHES)],
            color=look.color,
            marker=look.marker,
            ms=2.5,
            mfc=look.face,
            markevery=max(1, len(part) // 8),
            label=f"{model} (area {auc:.2f})",
            gid=str(model),
        )
    if len(unsaid) == len(looks):
        empty(ax, "; ".join(unsaid))
        return
    ax.set_xlabel("false alarms")
    ax.set_ylabel("hits")
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.set_aspect("equal")
    ax.grid(color=PALE)


def fig_calibration(bins: pd.DataFrame) -> Figure:
    """One panel per model (up to twelve)."""
    models = list(dict.fromkeys(bins["model"]))[:12] if len(bins) else [""]
    columns = min(4, len(models))
    rows = int(np.ceil(len(models) / columns))
    with style():
        figure, axes = canvas(
            SINGLE if columns == 1 else DOUBLE, 0.4 + 1.9 * rows, rows=rows, columns=columns, squeeze=False
        )
        for i, ax in enumerate(axes.ravel()):
            if i >= len(models):
                ax.set_visible(False)
                continue
            draw_calibration(bins, ax, model=models[i])
            ax.set_title(models[i])
            if i % columns == 0:
                ax.set_ylabel("share of right verdicts")
            if i >= len(models) - columns:
                ax.set_xlabel("stated confidence")
    return figure


def fig_roc(curves: pd.DataFrame) -> Figure:
    """All models in one square."""
    with style():
        models = curves["model"].nunique() if len(curves) else 0
        figure, ax = canvas(SINGLE, 3.05 + 0.16 * int(np.ceil(models / 2)))
        draw_roc(curves, ax)
        handles, labels = ax.get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside lower left", ncols=2, columnspacing=1.0, handletextpad=0.4)
    return figure
