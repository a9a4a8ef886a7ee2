"""How varied the replacement texts of a benchmark are: targets, continents, scripts and widths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.figures.style import DOUBLE, GREY, INK, PALETTE, VARIANT_LOOK, canvas, empty, style
from signpost_kit.replacements.diversity import OTHERS, REPEATED, too_often
from signpost_kit.replacements.validation import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["continents", "fig_diversity", "scripts", "targets", "widths"]

_NOTHING = "No replacement texts: run the stage 'replacements' first."
_UNKNOWN = "no known place"
_PLAIN = "#9db7c7"
_MOST_SCRIPTS = 9
_LONGEST = 26


def fig_diversity(summary: pd.DataFrame, *, warning: str = "") -> Figure:
    """Four panels of :func:`signpost_kit.replacements.diversity.diversity_summary`; `warning` stands below."""
    with style():
        if summary.empty:
            figure, ax = canvas(DOUBLE, 1.6)
            empty(ax, _NOTHING)
            return figure
        figure, axes = canvas(DOUBLE, 4.6, rows=2, columns=2, gridspec_kw={"width_ratios": [1.15, 1.0]})
        for draw, ax in zip((targets, continents, scripts, widths), axes.flat, strict=True):
            draw(summary, ax)
        if warning:
            figure.supxlabel(_wrapped(f"Warning: {warning}.", 110), fontsize=7, color=PALETTE[1])
    return figure


def targets(summary: pd.DataFrame, ax: Axes) -> None:
    """Share of the pictures that point to each target; the line is where a warning begins."""
    rows = _part(summary, "targets")
    ax.set_title("Targets of the adversarial texts")
    if rows.empty:
        empty(ax, "No adversarial text.")
        return
    labels = [label[:_LONGEST] or _UNKNOWN for label in rows["label"].astype(str)]
    rest = (
        rows["label"].to_numpy(object) == OTHERS
    )  # its bar would dwarf those that matter: only its number is shown
    share, counts = np.where(rest, 0.0, rows["share"].to_numpy(float) * 100), rows["texts"].to_numpy(int)
    colors = [PALETTE[1] if too_often(n, s / 100) else _PLAIN for n, s in zip(counts, share, strict=True)]
    _bars(ax, labels, share, colors, counts)
    ax.axvline(100 * REPEATED, color=GREY, lw=0.8, ls=(0, (4, 2)), gid="limit")
    ax.set_xlabel("Share of pictures (%)")


def continents(summary: pd.DataFrame, ax: Axes) -> None:
    """Share of the pictures whose target lies on each continent; one without any keeps its place."""
    rows = _part(summary, "continents")
    ax.set_title("Continents of the targets")
    if rows.empty:
        empty(ax, "No adversarial text.")
        return
    share = rows["share"].to_numpy(float) * 100
    _bars(ax, list(rows["label"].astype(str)), share, [_PLAIN] * len(rows), rows["texts"].to_numpy(int))
    ax.set_xlabel("Share of pictures (%)")


def scripts(summary: pd.DataFrame, ax: Axes) -> None:
    """Share of each script among the texts of a kind, one marker per kind."""
    rows = _part(summary, "scripts")
    ax.set_title("Scripts of the texts")
    if rows.empty:
        empty(ax, "No text.")
        return
    names = list(dict.fromkeys(rows.sort_values("texts", ascending=False)["label"].astype(str)))[:_MOST_SCRIPTS]
    y = np.arange(len(names))[::-1]
    for shift, kind in zip((0.2, 0.0, -0.2), KINDS, strict=True):
        mine = rows[rows["kind"] == kind].set_index("label")["share"].reindex(names).to_numpy(float) * 100
        look = VARIANT_LOOK[kind.capitalize()]
        ax.hlines(y + shift, 0, np.nan_to_num(mine), color=look.color, lw=0.8, alpha=0.6)
        ax.plot(mine, y + shift, look.marker, color=look.color, mfc=look.face, ms=4, label=kind.capitalize())
    ax.set_yticks(y, names)
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.set_xlim(left=0)
    ax.set_xlabel("Share of the kind's texts (%)")
    ax.legend(loc="lower right")


def widths(summary: pd.DataFrame, ax: Axes) -> None:
    """Median width of the texts against the original's, with the 5 % and 95 % quantiles; 1 is just as wide."""
    rows = _part(summary, "lengths")
    ax.set_title("Width against the original's")
    ok = rows.dropna(subset=["median"]) if not rows.empty else rows
    if ok.empty:
        empty(ax, "No text.")
        return
    labels = [str(kind).capitalize() for kind in ok["kind"]]
    y = np.arange(len(ok))[::-1]
    for at, label, line in zip(y, labels, ok.to_dict("records"), strict=True):
        look = VARIANT_LOOK[label]
        ax.hlines(at, float(line["low"]), float(line["high"]), color=look.color, lw=1.2)
        ax.plot(float(line["median"]), at, look.marker, color=look.color, mfc=look.face, ms=5)
    ax.axvline(1.0, color=GREY, lw=0.8, ls=(0, (4, 2)))
    ax.set_yticks(y, labels)
    ax.set_ylim(-0.6, len(ok) - 0.4)
    ax.set_xlim(left=0)
    ax.set_xlabel("Times as wide (median, 5 to 95 % of the texts)")


def _part(summary: pd.DataFrame, part: str) -> pd.DataFrame:
    return pd.DataFrame(summary[summary["part"] == part])


def _bars(ax: Axes, labels: list[str], share: Any, colors: list[str], counts: Any) -> None:
    y = np.arange(len(labels))[::-1]
    ax.barh(y, share, color=colors, height=0.7, edgecolor=INK, linewidth=0.3)
    for at, value, n in zip(y, share, counts, strict=True):
        ax.text(value, at, f" {n}", va="center", ha="left", fontsize=6, color=GREY)
    ax.set_yticks(y, labels)
    ax.set_ylim(-0.6, len(labels) - 0.4)
    ax.set_xlim(0, max(100 * REPEATED, float(np.max(share))) * 1.12)


def _wrapped(text: str, width: int) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width))
