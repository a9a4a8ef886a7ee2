"""What conflicting text does to each model: conflict profile (fig. 3), text bias by provider (fig. 17)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from signpost_kit.figures.cells import READING, in_order, pick, wide, with_providers
from signpost_kit.figures.style import GREY, INK, PALE, VARIANT_LOOK, empty, provider_looks, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PUBLISHED_HEAD", "conflict_profile", "profile_rows", "text_bias"]

PUBLISHED_HEAD = "Published, other scenes"
"""Heading of the study's own models below those of the run."""
_FAINT, _FAINT_INK = "#9c9c9c", "#767676"


def profile_rows(macro: pd.DataFrame, published: pd.DataFrame | None = None, metric: str = "wla") -> int:
    """How many lines a figure with one line per model and a heading per provider needs (for its height)."""
    models, providers = _models(macro, "wla", "Original")
    theirs = _published_models(published, metric)
    heads = len(set(providers)) + bool(theirs)
    return len(models) + len(theirs) + (heads if heads > 1 else 0)


def _published_models(published: pd.DataFrame | None, metric: str) -> list[str]:
    """Published models that have a value of the metric to draw, best first."""
    if published is None or not len(published):
        return []
    variants = ("Original", "Adversarial") if metric == "wla" else ("Adversarial",)
    found = pd.concat([pick(published, metric, variant=v, reading="published") for v in variants])
    found = found.loc[np.isfinite(found["value"]), :].drop_duplicates(subset=["model"])
    order = found.assign(value=-found["value"]) if metric == "tbs_km" else found
    return in_order(order.assign(provider=""), grouped=False)[0]


def _models(macro: pd.DataFrame, metric: str, variant: str | None) -> tuple[list[str], list[str]]:
    """Every model of the frame, in the order of one metric; those without a value are listed too."""
    if macro.empty:
        return [], []
    everyone = with_providers(macro).drop_duplicates(subset=["model"]).loc[:, ["model", "provider"]]
    values = pick(macro, metric, variant=variant).drop_duplicates(["model"])[["model", "value"]]
    return in_order(everyone.merge(values, on="model", how="left"))


def _lines(models: Sequence[str], providers: Sequence[str]) -> tuple[np.ndarray, list[tuple[float, str]]]:
    """y of each model, counted downwards, and (y, name) of each provider's heading (none for one provider)."""
    headed = len(set(providers)) > 1
    ys, heads, y, last = [], [], 0.0, None
    for provider in providers:
        if headed and provider != last:
            y += 0.15 if heads else 0.0
            heads.append((y, provider))
            y += 1.0
        ys.append(y)
        y += 1.0
        last = provider
    return np.array(ys), heads


def _model_axis(
    ax: Axes, models: Sequence[str], ys: np.ndarray, heads: Sequence[tuple[float, str]], *, faint: int = 0
) -> None:
    """Names of models as tick labels, names of providers as bold headings over a rule; the last `faint` grey."""
    ax.set_yticks([*ys, *(y for y, _ in heads)], [*models, *(name for _, name in heads)])
    for label in ax.get_yticklabels()[len(models) - faint : len(models)]:
        label.set_color(_FAINT_INK)
    for label in ax.get_yticklabels()[len(models) :]:
        label.set_fontweight("bold")
    for tick in ax.yaxis.get_major_ticks():
        tick.tick1line.set_visible(False)
    for y, _ in heads[1:]:
        ax.axhline(y - 0.55, color=PALE, lw=0.6, zorder=0)
    ax.set_ylim((ys.max() if len(ys) else 0) + 0.7, -0.7)


def _interval(
    ax: Axes, rows: pd.DataFrame, models: Sequence[str], ys: np.ndarray, *, scale: float, color: str
) -> None:
    low, high = wide(rows, models, "low") * scale, wide(rows, models, "high") * scale
    ok = np.isfinite(low) & np.isfinite(high)
    ax.hlines(ys[ok], low[ok], high[ok], color=color, lw=0.8, zorder=2.5, gid="interval")


def conflict_profile(
    macro: pd.DataFrame,
    axes: Sequence[Axes],
    *,
    radius_km: float = 50.0,
    reading: str = READING,
    published: pd.DataFrame | None = None,
) -> None:
    """Fig. 3: (a) Original and Adversarial WLA of each model, joined; (b) its trap-fit rate, on the same lines.

    `macro` is the frame of that name; `axes` two axes side by side. Thin lines are 95 % intervals. A model
    without a value keeps its line and gets no mark. The number at the right of (a) is the change in points.
    `published` (see :func:`signpost_kit.figures.cells.published_beside`) adds the study's models below, in grey:
    they were asked about other scenes.
    """
    left, right = axes
    models, providers = _models(macro, "wla", "Original")
    if not models:
        empty(left, "No scores: no model was asked.")
        empty(right, "No scores: no model was asked.")
        return
    theirs = _published_models(published, "wla")
    every, heads = _lines([*models, *theirs], [*providers, *[PUBLISHED_HEAD] * len(theirs)])
    ys, below = every[: len(models)], every[len(models) :]
    before = pick(macro, "wla", variant="Original", reading=reading)
    after = pick(macro, "wla", variant="Adversarial", reading=reading)
    _dumbbells(left, before, after, models, ys)
    _trap_bars(right, pick(macro, "tfr", reading=reading), models, providers, ys)
    if theirs and published is not None:
        _published_dumbbells(left, right, published, theirs, below)
    _model_axis(left, [*models, *theirs], every, heads, faint=len(theirs))
    left.set_title("(a) Localization accuracy", pad=17)
    right.set_ylim(left.get_ylim())
    right.set_yticks([])
    for y, _ in heads[1:]:
        right.axhline(y - 0.55, color=PALE, lw=0.6, zorder=0)
    if right.get_xlabel():
        right.set_xlabel(f"TFR (%): within {radius_km:g} km of the place on the sign")
    right.set_title("(b) Answers at the sign's place", pad=17)


def _published_dumbbells(
    left: Axes, right: Axes, published: pd.DataFrame, models: Sequence[str], ys: np.ndarray
) -> None:
    """The study's own numbers in grey, on the scales of the run; what was not published stays empty."""
    x0, x1 = (
        wide(pick(published, "wla", variant=v, reading="published"), models) * 100
        for v in ("Original", "Adversarial")
    )
    if left.has_data():
        both = np.isfinite(x0) & np.isfinite(x1)
        left.hlines(ys[both], x0[both], x1[both], color="#d9d9d9", lw=2.0, zorder=1.8, gid="published change")
        for x, name in ((x0, "Original"), (x1, "Adversarial")):
            look, ok = VARIANT_LOOK[name], np.isfinite(x)
            left.plot(x[ok], ys[ok], look.marker, color=_FAINT, ms=4.2, mew=0.4,
                      mec="white" if look.marker == "X" else _FAINT, zorder=2, gid=f"published {name}")  # fmt: skip
        for y, change in zip(ys[both], (x1 - x0)[both], strict=True):
            left.text(1.02, y, signed(change), transform=left.get_yaxis_transform(), va="center", ha="left",
                      fontsize=6.5, color=_FAINT_INK, gid="published drop")  # fmt: skip
        left.set_xlim(right=min(100, max(left.get_xlim()[1], float(np.nanmax([*x0, *x1])) * 1.08)))
    rate = wide(pick(published, "tfr", reading="published"), models) * 100
    ok = np.isfinite(rate)
    if ok.any() and right.has_data():
        right.barh(ys[ok], rate[ok], height=0.5, color="#dedede", edgecolor=_FAINT, lw=0.5, gid="published tfr")
        right.set_xlim(right=max(right.get_xlim()[1], float(np.nanmax(rate)) * 1.16))


def _dumbbells(ax: Axes, before: pd.DataFrame, after: pd.DataFrame, models: Sequence[str], ys: np.ndarray) -> None:
    x0, x1 = wide(before, models) * 100, wide(after, models) * 100
    if not (np.isfinite(x0) | np.isfinite(x1)).any():
        empty(ax, "No model answered an Original or an Adversarial picture.")
        return
    both = np.isfinite(x0) & np.isfinite(x1)
    ax.hlines(ys[both], x0[both], x1[both], color="#b5b5b5", lw=2.4, zorder=2, gid="change")
    for rows, name in ((before, "Original"), (after, "Adversarial")):
        look = VARIANT_LOOK[name]
        _interval(ax, rows, models, ys, scale=100, color=look.color)
        x = wide(rows, models) * 100
        ok = np.isfinite(x)
        size = 5.0 if look.marker == "X" else 6.0  # where the two coincide, both stay visible
        ax.plot(x[ok], ys[ok], look.marker, color=look.color, mfc=look.face, ms=size, mew=0.6,
                mec="white" if look.marker == "X" else look.color, zorder=3, label=name, gid=name)  # fmt: skip
    transform = ax.get_yaxis_transform()
    for y, change in zip(ys[both], (x1 - x0)[both], strict=True):
        text = signed(change)
        ax.text(1.02, y, text, transform=transform, va="center", ha="left", fontsize=6.5, color=INK, gid="drop")
    ax.text(1.02, 1.01, "change", transform=ax.transAxes, va="bottom", ha="left", fontsize=6.5, color=GREY)
    ax.set_xlim(0, min(100, np.nanmax([*x0, *x1, 10]) * 1.15))
    ax.set_xlabel("WLA (%)")
    ax.grid(axis="x")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, columnspacing=1.0, handletextpad=0.3)


def _trap_bars(
    ax: Axes, rows: pd.DataFrame, models: Sequence[str], providers: Sequence[str], ys: np.ndarray
) -> None:
    x = wide(rows, models) * 100
    ok = np.isfinite(x)
    if not ok.any():
        empty(ax, "No trap-fit rate: no scene has a geocoded target, or no Adversarial picture was answered.")
        return
    looks = provider_looks(list(dict.fromkeys(providers)))
    for y, value, provider in zip(ys[ok], x[ok], np.array(providers)[ok], strict=True):
        look = looks[provider]
        ax.barh(y, value, height=0.62, color=look.color, alpha=0.55, hatch=look.hatch, edgecolor="white", lw=0)
        ax.barh(y, value, height=0.62, fill=False, edgecolor=look.color, lw=0.6)
    _interval(ax, rows, models, ys, scale=100, color=INK)
    high = np.where(np.isfinite(wide(rows, models, "high")), wide(rows, models, "high") * 100, x)
    top = np.nanmax([*high, *x, 5.0])
    for y, value, end in zip(ys[ok], x[ok], np.fmax(high, x)[ok], strict=True):
        ax.text(end + top * 0.02, y, f"{value:.1f}", va="center", ha="left", fontsize=6.5, gid="rate")
    ax.set_xlim(0, top * 1.16)
    ax.set_xlabel("TFR (%)")
    ax.grid(axis="x")


def _beyond(ax: Axes, x: float, y: float, text: str, *, gid: str, color: str = INK) -> None:
    """A number at the right of a mark, clear of it."""
    ax.annotate(text, (x, y), xytext=(4.5, 0), textcoords="offset points", va="center", ha="left", fontsize=6.5,
                color=color, gid=gid)  # fmt: skip


def text_bias(
    macro: pd.DataFrame, ax: Axes, *, reading: str = READING, published: pd.DataFrame | None = None
) -> None:
    """Fig. 17: adversarial TBS (km) of each model, grouped by provider, with 95 % intervals.

    Positive: conflicting text moves the answers away from the truth, compared with the picture without text.
    `published`: as in :func:`conflict_profile`.
    """
    models, providers = _models(macro, "tbs_km", "Adversarial")
    rows = pick(macro, "tbs_km", variant="Adversarial", reading=reading)
    x = wide(rows, models)
    ok = np.isfinite(x)
    if not ok.any():
        empty(ax, "No text bias score: it needs answers to Blank and to Adversarial pictures of the same scenes.")
        return
    theirs = _published_models(published, "tbs_km")
    every, heads = _lines([*models, *theirs], [*providers, *[PUBLISHED_HEAD] * len(theirs)])
    ys, below = every[: len(models)], every[len(models) :]
    looks = provider_looks(list(dict.fromkeys(providers)))
    ax.axvline(0, color=INK, lw=0.8, zorder=1)
    ax.hlines(ys[ok], 0, x[ok], color="#c4c4c4", lw=1.6, zorder=2, gid="stem")
    _interval(ax, rows, models, ys, scale=1, color=INK)
    for y, value, provider in zip(ys[ok], x[ok], np.array(providers)[ok], strict=True):
        look = looks[provider]
        ax.plot(value, y, look.marker, color=look.color, mfc=look.face, ms=5, zorder=3, gid="tbs")
    _model_axis(ax, [*models, *theirs], every, heads, faint=len(theirs))
    ends = np.fmax(x, wide(rows, models, "high"))
    other = np.full(0, 0.0)
    if theirs and published is not None:
        other = wide(pick(published, "tbs_km", variant="Adversarial", reading="published"), theirs)
        ax.hlines(below, 0, other, color="#dedede", lw=1.4, zorder=1.8, gid="published stem")
        ax.plot(other, below, "o", color=_FAINT, ms=4, zorder=2, gid="published tbs")
    low = np.nanmin([*np.fmin(x, wide(rows, models, "low")), *other, 0.0])
    top = np.nanmax([*ends, *other, 0.0])
    span = max(top - low, 1.0)
    for y, value, end in zip(ys[ok], x[ok], ends[ok], strict=True):
        text = f"{value:.0f}".replace("-", "−")
        _beyond(ax, max(end, 0), y, text, gid="value")
    for y, value in zip(below, other, strict=True):
        _beyond(ax, max(value, 0), y, f"{value:.0f}".replace("-", "−"), color=_FAINT_INK, gid="published value")
    ax.set_xlim(low - span * 0.04 if low < 0 else 0, top + span * 0.14)
    ax.set_xlabel("TBS under Adversarial text (km)")
    ax.grid(axis="x")
