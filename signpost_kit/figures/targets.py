"""Where the adversarial texts point: from every photo to its trap, on one map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.figures.basemap import Window, window_for
from signpost_kit.figures.style import DOUBLE, PALETTE, canvas, empty, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["fig_targets", "targets_map"]

_PHOTO: dict[str, Any] = {"marker": "*", "color": "#0072B2", "mec": "white", "zorder": 4}
_TRAP: dict[str, Any] = {"marker": "X", "color": "#1a1a1a", "mec": "white", "zorder": 5}
_UNSURE: dict[str, Any] = {"marker": "X", "color": PALETTE[1], "mec": "white", "zorder": 6}
_MANY = 200  # groups from which stars would be blots


def targets_map(targets: pd.DataFrame, ax: Axes) -> None:
    """Photo (star), trap (cross), great circle between; ambiguous traps stand out.

    `targets` is the frame of that name. What has no trap is counted in the title, never drawn; an empty frame gives
    a panel that says so.
    """
    if targets.empty:
        empty(ax, "No group was looked up.")
        return
    places = targets[["lat", "lon", "trap_lat", "trap_lon"]].to_numpy(float)
    known = np.isfinite(places).all(axis=1)
    if not known.any():
        empty(ax, f"None of {len(targets)} texts names a place.")
        return
    ways = places[known]
    unsure = targets.loc[known, "ambiguous"].astype(bool).to_numpy()
    window = window_for(np.r_[ways[:, 0], ways[:, 2]], np.r_[ways[:, 1], ways[:, 3]], aspect=2.0)
    window.draw(ax)
    many = len(ways) > _MANY
    alpha = max(0.08, min(0.7, 60 / len(ways)))
    for lat, lon, trap_lat, trap_lon in ways.tolist():
        window.arc(ax, (lat, lon), (trap_lat, trap_lon), color="#8a8a8a", lw=0.5, alpha=alpha, zorder=2, gid="arc")
    size = 3.0 if many else 5.5
    photo = _PHOTO | {"marker": "o"} if many else _PHOTO
    _points(ax, window, ways[:, :2], "photo", ms=size, **photo)
    _points(ax, window, ways[~unsure, 2:], "place on the sign", ms=size, **_TRAP)
    _points(ax, window, ways[unsure, 2:], "ambiguous place", ms=size, **_UNSURE)
    ax.set_title(f"{len(ways)} of {len(targets)} texts name a place, {int(unsure.sum())} ambiguous", fontsize=7.5)
    ax.legend(loc="upper left", bbox_to_anchor=(0, 0), ncols=3, fontsize=6.5, handletextpad=0.2)


def _points(ax: Axes, window: Window, places: np.ndarray, label: str, **look: Any) -> None:
    if len(places):
        ax.plot(window.unwrap(places[:, 1]), places[:, 0], ls="none", label=label, gid=label, mew=0.4, **look)


def fig_targets(targets: pd.DataFrame) -> Figure:
    """The map at print size."""
    with style():
        figure, axes = canvas(DOUBLE, 3.85, squeeze=False)
        targets_map(targets, axes[0, 0])
    return figure
