"""Where a benchmark's pictures were taken, and which checks of the source they passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from signpost_kit.figures.basemap import window_for
from signpost_kit.figures.style import DOUBLE, canvas, empty, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["fig_positions", "positions_map"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_NAMED = len(_COLOURS)  # with more data sets the smaller ones share one look


def fig_positions(groups: pd.DataFrame) -> Figure:
    """The map alone, at print size. `groups` has dataset, lat, lon: one row per picture."""
    with style():
        figure, ax = canvas(DOUBLE, 3.75)
        positions_map(groups, ax)
    return figure


def positions_map(groups: pd.DataFrame, ax: Axes) -> None:
    """A point per picture, by data set; the many points of a large list are drawn small and translucent."""
    if not len(groups):
        empty(ax, "No picture has a position yet.")
        return
    window = window_for(groups["lat"].to_numpy(float), groups["lon"].to_numpy(float), aspect=2.0)
    window.draw(ax)
    sizes = groups["dataset"].astype(str).value_counts(sort=False).sort_values(ascending=False, kind="stable")
    names = list(sizes.index)
    few = len(groups) <= 300
    look = {"ms": 3.4, "mec": "white", "mew": 0.4} if few else {"ms": 1.6, "mec": "none", "alpha": 0.45}
    for number, name in enumerate(names[:_NAMED]):
        others = number == _NAMED - 1 and len(names) > _NAMED
        kept = groups["dataset"].astype(str).isin(names[number:] if others else [name]).to_numpy()
        label = f"{len(names) - number} other data sets" if others else name
        points = groups.loc[kept, ["lat", "lon"]].to_numpy(float)
        ax.plot(
            window.unwrap(points[:, 1]), points[:, 0], ls="none", marker=_MARKERS[number], color=_COLOURS[number],
            label=f"{label} ({int(np.isfinite(points).all(axis=1).sum()):,})", zorder=4, gid="picture", **look,
        )  # fmt: skip
    ax.legend(loc="upper left", bbox_to_anchor=(0, 0), ncols=3, fontsize=6.5, handletextpad=0.2,
              markerscale=1.0 if few else 2.5)  # fmt: skip
