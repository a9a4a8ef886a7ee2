"""Grids of one number per cell: adversarial WLA by data set (fig. 16) and how many questions were answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from signpost_kit.figures.cells import READING, in_order, pick, with_providers
from signpost_kit.figures.style import GREY, INK, PALETTE, empty
from signpost_kit.frames import STATUSES, VARIANTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["answer_coverage", "dataset_grid", "published_rows"]

_PUBLISHED = " (published)"
_STATUS_LOOK = {
    "ok": ("#d9d9d9", ""),
    "empty": (PALETTE[5], "...."),
    "refused": (PALETTE[1], "////"),
    "blocked": (PALETTE[7], "xxxx"),
    "truncated": (PALETTE[4], "----"),
    "unparseable": (PALETTE[0], "\\\\\\\\"),
    "out_of_range": (PALETTE[3], "++++"),
    "error": ("#1a1a1a", ""),
}


def published_rows(
    cells: pd.DataFrame, published: pd.DataFrame | None, metric: str = "wla", variant: str = "Adversarial"
) -> pd.DataFrame:
    """Published rows about data sets that the run has too; models are marked as published. None: no rows."""
    if published is None or not len(published) or not len(cells):
        return pd.DataFrame(columns=pd.Index(["model", "dataset", "value", "low", "high"]))
    rows = pick(published, metric, variant=variant, reading="published")
    rows = rows[rows["dataset"].isin(cells["dataset"].astype(str).unique()) & (rows["dataset"] != "macro")]
    return rows.assign(model=rows["model"] + _PUBLISHED)


def dataset_grid(
    cells: pd.DataFrame,
    ax: Axes,
    *,
    metric: str = "wla",
    variant: str = "Adversarial",
    reading: str = READING,
    published: pd.DataFrame | None = None,
) -> None:
    """Fig. 16: `metric` of each model (rows, best mean first) in each data set (columns), in per cent.

    Dark is high. The small print is the 95 % interval. A cell without a value is hatched and holds no number;
    the column "mean" is the plain mean over a model's data sets, only where all of them have a value. `published`
    (see :func:`signpost_kit.figures.cells.published_beside`) adds the study's models on the same data sets below a
    line.
    """
    rows = pick(cells, metric, variant=variant, reading=reading)
    rows = rows[rows["dataset"] != "macro"]
    if not np.isfinite(rows["value"]).any():
        empty(ax, f"No {metric.upper()} under {variant} text: no {variant} picture was answered.")
        return
    values, low, high = (rows.pivot_table(index="model", columns="dataset", values=c, aggfunc="first", dropna=False)
                         for c in ("value", "low", "high"))  # fmt: skip
    everyone = pd.Index(cells["model"].astype(str).unique())
    means = values.reindex(everyone).mean(axis=1, skipna=False)
    order, _ = in_order(with_providers(pd.DataFrame({"model": everyone, "value": means.to_numpy()})), grouped=False)
    theirs = published_rows(cells, published, metric, variant)
    if len(theirs):
        more = theirs.pivot_table(index="model", columns="dataset", values="value", aggfunc="first", dropna=False)
        order += in_order(more.mean(axis=1).rename("value").reset_index().assign(provider=""), grouped=False)[0]
        values = pd.concat([values, more])
        means = values.mean(axis=1, skipna=False)
    datasets = list(dict.fromkeys(cells.loc[cells["dataset"] != "macro", "dataset"].astype(str)))
    grid = values.reindex(index=order, columns=datasets).to_numpy(float) * 100
    if len(datasets) > 1:
        grid = np.column_stack([grid, means.reindex(order).to_numpy(float) * 100])
    bounds = [t.reindex(index=order, columns=datasets).to_numpy(float) * 100 for t in (low, high)]
    columns = [*datasets, "mean"] if len(datasets) > 1 else datasets
    _heat(ax, grid, bounds, order, columns, rule=len(datasets) if len(datasets) > 1 else None)
    own = sum(not name.endswith(_PUBLISHED) for name in order)
    if own < len(order):
        ax.axhline(own - 0.5, color=INK, lw=1.0)
        for label in ax.get_yticklabels()[own:]:
            label.set_color(GREY)


def _heat(
    ax: Axes, grid: np.ndarray, bounds: list[np.ndarray], order: list[str], columns: list[str], *, rule: int | None
) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    scale = Normalize(min(0.0, float(np.nanmin(grid))), max(60.0, float(np.nanmax(grid))))
    cmap = colormaps["Blues"]
    for (i, j), value in np.ndenumerate(grid):
        known = np.isfinite(value)
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, lw=0.8, ec="white" if known else "#c8c8c8",
                               fc=cmap(scale(value) * 0.85) if known else "white",
                               hatch=None if known else "////", gid="cell" if known else "missing"))  # fmt: skip
        if not known:
            continue
        red, green, blue, _ = cmap(scale(value) * 0.85)
        ink = "white" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5 else INK
        interval = j < bounds[0].shape[1] and np.isfinite(bounds[0][i, j]) and np.isfinite(bounds[1][i, j])
        ax.text(j - (0.05 if interval else 0), i, f"{value:.1f}", ha="right" if interval else "center", va="center",
                color=ink, fontsize=7, gid="number")  # fmt: skip
        if interval:
            text = f"[{bounds[0][i, j]:.1f}, {bounds[1][i, j]:.1f}]".replace("-", "−")
            ax.text(j - 0.01, i, text, ha="left", va="center", color=ink, fontsize=5.5, gid="interval")
    if rule is not None:
        ax.axvline(rule - 0.5, color=INK, lw=1.0)
    ax.set_xlim(-0.5, grid.shape[1] - 0.5)
    ax.set_ylim(grid.shape[0] - 0.5, -0.5)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(order)), order)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def answer_coverage(shares: pd.DataFrame, ax: Axes) -> None:
    """How the questions ended: one bar per model and variant, cut by status, in per cent of what was asked.

    `shares` comes from :func:`signpost_kit.figures.cells.status_shares`; when it holds only the variant "all",
    there is one bar per model. The share answered stands at the right.
    """
    total = len(shares) > 0 and set(shares["variant"].astype(str)) == {"all"}
    rows = shares if total or not len(shares) else shares[shares["variant"] != "all"]
    if not len(rows):
        empty(ax, "No question was asked yet.")
        return
    models = list(dict.fromkeys(rows["model"].astype(str)))
    variants = ["all"] if total else [v for v in VARIANTS if v in set(rows["variant"])]
    table = rows.pivot_table(index=["model", "variant"], columns="status", values="share", aggfunc="first")
    y, ticks, names, used = 0.0, [], [], []
    for model in models:
        start = y
        for variant in variants:
            if (model, variant) in table.index:
                used += _bar(ax, y, table.loc[(model, variant)])
                if not total:
                    ax.text(-1.0, y, variant, ha="right", va="center", fontsize=5.5, color=GREY)
            y += 1.0
        ticks.append((start + y - 1) / 2)
        names.append(model)
        y += 0.25 if total else 0.8
    ax.set_yticks(ticks, names)
    ax.tick_params(axis="y", length=0, pad=4 if total else 38)
    ax.set_ylim(y - (0.6 if total else 0.8), -0.8)
    ax.set_xlim(0, 100)
    ax.set_xlabel("share of questions asked (%)")
    handles = dict(used)
    names = [name for name in STATUSES if name in handles]
    ax.legend([handles[n] for n in names], [n.replace("_", " ") for n in names], loc="lower left",
              bbox_to_anchor=(0, 1.0), ncols=4, handletextpad=0.4, columnspacing=1.0)  # fmt: skip


def _bar(ax: Axes, y: float, shares: pd.Series) -> list[tuple[str, object]]:
    """One stacked bar; returns (status, patch) for the legend."""
    left, out = 0.0, []
    for status in STATUSES:
        share = float(shares.get(status, 0.0) or 0.0) * 100
        if not share > 0:  # NaN: no such status here
            continue
        color, hatch = _STATUS_LOOK[status]
        patch = ax.barh(
            y, share, left=left, height=0.86, color=color, hatch=hatch, edgecolor="white", lw=0.3, gid=status
        )
        out.append((status, patch[0]))
        left += share
    answered = float(shares.to_dict().get("ok", np.nan))
    text = f"{answered:.0%}" if np.isfinite(answered) else "0%"
    text = ">99%" if text == "100%" and answered < 1 - 1e-9 else text
    ax.text(101, y, text, ha="left", va="center", fontsize=5.5, gid="answered")
    return out
