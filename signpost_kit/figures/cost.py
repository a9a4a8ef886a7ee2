"""What a point of MCRS costs: score against dollars per 1,000 questions, and the share that was answered."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.figures.cells import READING, in_order, pick, wide, with_providers
from signpost_kit.figures.labels import place_labels
from signpost_kit.figures.style import DOUBLE, GREY, canvas, empty, provider_looks, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["cost_notes", "draw_cost", "fig_cost"]

_ALL_FREE = "Every model with a known\nprice is free: there is\nno cost to weigh."


@dataclass(frozen=True)
class _Scored:
    """Models with what is drawn of them, best first within their provider; arrays are of one length."""

    models: list[str]
    providers: list[str]
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    price: np.ndarray
    """US dollars per 1,000 questions; NaN: nobody knows."""
    coverage: np.ndarray

    @property
    def drawn(self) -> np.ndarray:
        return np.isfinite(self.y) & np.isfinite(self.price)

    @property
    def free(self) -> np.ndarray:
        return self.drawn & (self.price <= 0)

    @property
    def paid(self) -> np.ndarray:
        return self.drawn & (self.price > 0)

    @property
    def names(self) -> list[str]:
        """With the share of answered questions where it is not all."""
        return [
            f"{m}, {share:.0%}" if np.isfinite(share) and share < 0.995 else m
            for m, share in zip(self.models, self.coverage, strict=True)
        ]


def _scored(macro: pd.DataFrame, costs: pd.DataFrame, reading: str) -> _Scored:
    score = pick(macro, "mcrs", reading=reading) if len(macro) else pd.DataFrame(columns=["model", "value"])
    models, providers = in_order(with_providers(score)) if len(score) else ([], [])
    y, low, high = (wide(score, models, side) for side in ("value", "low", "high"))
    named = costs.astype({"model": str}) if len(costs) else costs
    price, coverage = (wide(named, models, column) for column in ("usd_per_1000", "coverage"))
    return _Scored(models, providers, y, low, high, price, coverage)


def fig_cost(
    macro: pd.DataFrame, costs: pd.DataFrame, *, published: pd.DataFrame | None = None, reading: str = READING
) -> Figure:
    """The figure at print size; free models stand in a strip of their own at the left, beside the log scale."""
    data = _scored(macro, costs, reading)
    ratios = (0.001, 1.0) if not data.free.any() else (0.32, 1.0) if data.paid.any() else (1.0, 0.5)
    with style():
        figure, axes = canvas(DOUBLE, 3.7, columns=2, width_ratios=ratios, sharey=True)
        if notes := cost_notes(macro, costs, reading=reading):  # before the labels: it moves the axes
            wrapped = [part for line in notes for part in textwrap.wrap(line, 120)]
            figure.supxlabel("\n".join(wrapped), x=0.01, ha="left", fontsize=6.5, color=GREY)
        draw_cost(macro, costs, axes, published=published, reading=reading)
    return figure


def cost_notes(macro: pd.DataFrame, costs: pd.DataFrame, *, reading: str = READING) -> list[str]:
    """What belongs below :func:`draw_cost`: who is not drawn and why, and what a per cent at a name is."""
    data = _scored(macro, costs, reading)
    if not data.drawn.any():
        return []
    scored, priced = np.isfinite(data.y), np.isfinite(data.price)
    unpriced = [m for m, left in zip(data.models, scored & ~priced, strict=True) if left]
    unscored = [m for m, left in zip(data.models, ~scored, strict=True) if left]
    told = data.names != data.models
    lines = (
        ["Per cent beside a name: share of its questions that got an answer, where it is not all."] if told else []
    )
    lines += [f"Price unknown, not drawn: {', '.join(unpriced)}."] if unpriced else []
    return lines + ([f"No MCRS, not drawn: {', '.join(unscored)}."] if unscored else [])


def draw_cost(
    macro: pd.DataFrame,
    costs: pd.DataFrame,
    axes: Sequence[Axes],
    *,
    published: pd.DataFrame | None = None,
    reading: str = READING,
) -> None:
    """MCRS of each model against US dollars per 1,000 questions (log), with 95 % intervals.

    `costs` comes from :func:`signpost_kit.evaluation.spending.spending` (model, usd_per_1000, coverage); `axes` are
    two, the left one for models that are known to be free. A model whose price nobody knows is drawn nowhere; see
    :func:`cost_notes`. `published` (mcrs of the study's models) adds grey ticks at the right: they have no price.
    """
    left, right = axes
    data = _scored(macro, costs, reading)
    if not data.drawn.any():
        left.set_visible(False)
        empty(right, _why(data), width=72)
        return
    x = data.price.copy()
    gratis = np.flatnonzero(data.free)
    x[gratis] = (np.arange(len(gratis)) + 0.5) / max(len(gratis), 1)  # side by side: there x means nothing
    panels = ((left, data.free), (right, data.paid))
    for ax, mine in panels:
        _points(ax, x, data, mine)
    _scales(left, right, data)
    if published is not None and len(published) and data.paid.any():
        right.hlines(published["mcrs"].to_numpy(float), 1.0, 1.03, transform=right.get_yaxis_transform(),
                     color="#9a9a9a", lw=0.8, clip_on=False, gid="published")  # fmt: skip
        right.annotate(f"– {len(published)} published models,\n   other scenes, no price", (1.0, 1.0),
                       xycoords="axes fraction", xytext=(0, 2), textcoords="offset points", ha="right",
                       va="bottom", fontsize=6, color=GREY)  # fmt: skip
    _legend(right, data)
    for ax, mine in panels:
        shown = np.flatnonzero(mine)
        bars = [
            (x[i], data.low[i], x[i], data.high[i]) for i in shown if np.isfinite([data.low[i], data.high[i]]).all()
        ]
        place_labels(ax, x[shown], data.y[shown], [data.names[i] for i in shown], segments=bars, fontsize=6)


def _why(data: _Scored) -> str:
    if not np.isfinite(data.y).any():
        return (
            "No MCRS: it needs answers to Original, Blank, Random and Adversarial pictures and a geocoded target."
        )
    known = [m for m, value in zip(data.models, data.y, strict=True) if np.isfinite(value)]
    return f"No price is known for {', '.join(known)}: fill them in in params/models.yml."


def _points(ax: Axes, x: np.ndarray, data: _Scored, mine: np.ndarray) -> None:
    ok = mine & np.isfinite(data.low) & np.isfinite(data.high)
    ax.vlines(x[ok], data.low[ok], data.high[ok], color="#a3a3a3", lw=0.7, zorder=2, gid="interval")
    for provider, look in provider_looks(list(dict.fromkeys(data.providers))).items():
        here = mine & (np.array(data.providers) == provider)
        if here.any():
            ax.plot(x[here], data.y[here], look.marker, color=look.color, mfc=look.face, ms=5, mew=0.8, zorder=3,
                    gid="model")  # fmt: skip


def _scales(left: Axes, right: Axes, data: _Scored) -> None:
    ends = np.concatenate([side[data.drawn] for side in (data.y, data.low, data.high)])
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    pad = max((high - low) * 0.12, 4.0)
    right.set_ylim(max(low - pad, 0), min(high + pad, 100))
    left.set_ylabel("MCRS")
    left.set_xlim(0, 1)
    left.set_xticks([0.5], ["free"])
    left.grid(axis="y")
    if not data.free.any():
        left.set_visible(False)
        right.set_ylabel("MCRS")
        right.tick_params(labelleft=True)
    if not data.paid.any():
        right.set_axis_off()  # not emptied: it shares its scale with the other
        right.text(0.5, 0.5, _ALL_FREE, ha="center", va="center", transform=right.transAxes, color=GREY, gid="free")
        return
    right.set_xlabel("US dollars per 1,000 questions (log)")
    right.grid(axis="both")
    right.set_xscale("log")
    price = data.price[data.paid]
    right.set_xlim(price.min() / 1.8, price.max() * 1.8)
    _plain_ticks(right)


def _plain_ticks(ax: Axes) -> None:
    """0.1, 0.2, 0.5, 1, 2, 5, ... in plain figures."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ax.get_xlim()
    wide_range = high / low > 3000  # then only whole decades have room
    ax.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0,) if wide_range else (1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _legend(ax: Axes, data: _Scored) -> None:
    from matplotlib.lines import Line2D

    here = {p for p, shown in zip(data.providers, data.drawn, strict=True) if shown}
    marks: list[Any] = [
        Line2D([], [], ls="none", marker=look.marker, color=look.color, mfc=look.face, ms=5, label=name)
        for name, look in provider_looks(list(dict.fromkeys(data.providers))).items()
        if name in here
    ]
    ax.legend(handles=marks, loc="upper left", bbox_to_anchor=(1.05, 1.0), handletextpad=0.4)
