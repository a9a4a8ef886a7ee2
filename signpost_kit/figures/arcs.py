"""Where a conflicting sign takes an answer: from the truth to the Blank answer and on to the Adversarial one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.figures.basemap import Window, window_for
from signpost_kit.figures.maps import shorten
from signpost_kit.figures.style import DOUBLE, GREY, INK, VARIANT_DASHES, VARIANT_LOOK, canvas, empty, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from signpost_kit.benchmark.groups import Benchmark

__all__ = ["ARC_COLUMNS", "arcs_frame", "draw_overview", "draw_scene", "fig_arcs"]

ARC_COLUMNS = (
    *("model", "dataset", "group_id", "truth_lat", "truth_lon", "blank_lat", "blank_lon"),
    *("adversarial_lat", "adversarial_lon", "trap_lat", "trap_lon", "truth_name", "trap_name"),
    *("blank_km", "adversarial_km", "blank_trap_km", "adversarial_trap_km", "pull_km"),
)
"""Positions in degrees; blank_km and adversarial_km from the truth, *_trap_km from the place on the sign; pull_km
is how much nearer to that place the Adversarial answer is than the Blank one. NaN where there is nothing."""

_TRUTH = {"marker": "*", "color": "#0072B2", "mec": "white", "mew": 0.5}
_TRAP = {"marker": "P", "mfc": "none", "mec": INK}
_COLUMNS = 3


def arcs_frame(scores: pd.DataFrame, benchmark: Benchmark, *, model: str = "") -> pd.DataFrame:
    """One row per scene of one model, the furthest pulled first; :data:`ARC_COLUMNS`.

    Without a `model` it is the one that signs pull furthest on average, ties by name. Scenes without a trap or
    without both answers come last.

    Raises
    ------
    DataError
        The scores hold no such model; those they hold are named.
    """
    data = scores.astype(dict.fromkeys(("model", "dataset", "group_id", "variant"), str))
    names = sorted(data["model"].unique())
    if model and model not in names:
        raise DataError(f"the scores hold no model {model!r}; they hold: {', '.join(names) or 'none'}")
    truth = _scenes(benchmark)
    keys = ["model", "dataset", "group_id"]
    out: pd.DataFrame = data[keys].drop_duplicates().merge(truth, on=["dataset", "group_id"], how="left")
    columns = {"lat": "lat", "lon": "lon", "error_km": "km", "trap_km": "trap_km"}
    for variant, prefix in (("Blank", "blank"), ("Adversarial", "adversarial")):
        rows = data.loc[data["variant"] == variant, [*keys, *columns]].drop_duplicates(keys)
        out = out.merge(rows.rename(columns={c: f"{prefix}_{n}" for c, n in columns.items()}), on=keys, how="left")
    out["pull_km"] = out["blank_trap_km"].astype(float) - out["adversarial_trap_km"].astype(float)
    if not model and names:
        pulls = [out.loc[out["model"] == name, "pull_km"].to_numpy(float) for name in names]
        means = [np.nanmean(pull) if np.isfinite(pull).any() else -np.inf for pull in pulls]
        model = names[int(np.argmax(means))]
    mine = out.loc[out["model"] == model, list(ARC_COLUMNS)]
    return mine.sort_values(
        ["pull_km", "group_id"], ascending=[False, True], na_position="last", kind="stable"
    ).reset_index(drop=True)


def _scenes(benchmark: Benchmark) -> pd.DataFrame:
    rows = [
        (
            group.dataset,
            group.group_id,
            group.lat,
            group.lon,
            ", ".join(part for part in (group.city, group.country) if part),
            group.trap.lat if group.trap else np.nan,
            group.trap.lon if group.trap else np.nan,
            group.trap.name.split(",")[0] if group.trap else "",
        )
        for group in benchmark.groups
    ]
    names = ["dataset", "group_id", "truth_lat", "truth_lon", "truth_name", "trap_lat", "trap_lon", "trap_name"]
    return pd.DataFrame(rows, columns=pd.Index(names))


def fig_arcs(arcs: pd.DataFrame, *, limit: int = 6) -> Figure:
    """Above: all scenes of one model; below: the `limit` scenes that were pulled furthest, one map each."""
    shown = arcs[np.isfinite(arcs["pull_km"].to_numpy(float))].head(limit) if len(arcs) else arcs
    lines = math.ceil(len(shown) / _COLUMNS)
    with style():
        figure, _ = canvas(DOUBLE, 3.6 + 1.5 * lines)
        figure.clear()
        ratios = (3.4, *((1.5,) * lines))
        grid = figure.add_gridspec(1 + lines, _COLUMNS, height_ratios=ratios)
        draw_overview(arcs, figure.add_subplot(grid[0, :]))
        records: list[dict[str, Any]] = [{str(k): v for k, v in r.items()} for r in shown.to_dict("records")]
        for i, record in enumerate(records):
            ax = figure.add_subplot(grid[1 + i // _COLUMNS, i % _COLUMNS])
            draw_scene(record, ax)
            ax.set_title(f"{i + 1}  {ax.get_title('left')}", fontsize=7, pad=3, loc="left")
    return figure


def _ways(frame: pd.DataFrame) -> np.ndarray:
    """(n, 8): truth, Blank, Adversarial and trap, latitude before longitude."""
    names = [f"{who}_{axis}" for who in ("truth", "blank", "adversarial", "trap") for axis in ("lat", "lon")]
    return frame[names].to_numpy(float).reshape(-1, 8)


def draw_overview(arcs: pd.DataFrame, ax: Axes) -> None:
    """All scenes of one model on one map; `arcs` from :func:`arcs_frame`.

    Dashed grey: from the truth (star) to the Blank answer. Orange: from there to the Adversarial one (cross).
    Scenes without one of the two answers are not drawn; the heading counts both.
    """
    points = _ways(arcs) if len(arcs) else np.empty((0, 8))
    told = np.isfinite(points[:, :6]).all(axis=1)
    if not told.any():
        empty(ax, "No scene was answered in its Blank and in its Adversarial version.")
        return
    ways = points[told]
    lines = [*ways[:, [0, 1, 2, 3]].tolist(), *ways[:, [2, 3, 4, 5]].tolist()]
    window = window_for(ways[:, [0, 2, 4]].ravel(), ways[:, [1, 3, 5]].ravel(), ways=lines, aspect=2.3)
    window.draw(ax)
    many = len(ways) > 80
    alpha = float(np.clip(60 / len(ways), 0.15, 0.9))
    for lat0, lon0, lat1, lon1, lat2, lon2 in ways[:, :6].tolist():
        _arc(ax, window, (lat0, lon0, lat1, lon1), "blank", alpha=alpha)
        _arc(ax, window, (lat1, lon1, lat2, lon2), "adversarial", alpha=alpha)
    size = 2.2 if many else 3.4
    _marks(ax, window, ways[:, 6:], "place on the sign", ms=size + 2.5, mew=0.6, zorder=3.2, **_TRAP)
    _marks(ax, window, ways[:, :2], "truth", ms=size + 2.0, zorder=4, **_TRUTH)
    for column, name in ((2, "Blank"), (4, "Adversarial")):
        look = VARIANT_LOOK[name]
        _marks(ax, window, ways[:, column : column + 2], f"{name} answer", ms=size, mew=0.6, zorder=4,
               marker=look.marker, color=look.color, mfc="none" if name == "Blank" else look.face)  # fmt: skip
    known = np.isfinite(ways[:, 6])
    pull = arcs.loc[told, "pull_km"].to_numpy(float)
    mean = f", pulled {np.nanmean(pull):,.0f} km on average" if np.isfinite(pull).any() else ""
    ax.set_title(f"{shorten(str(arcs['model'].iloc[0]), 40)}: {len(ways)} of {len(arcs)} scenes answered in both, "
                 f"{int(known.sum())} with a trap{mean}", fontsize=7.5, loc="left")  # fmt: skip
    marks = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    order = ("truth", "Blank answer", "Adversarial answer", "place on the sign")
    names = [name for name in order if name in marks]
    ax.legend([marks[name] for name in names], names, loc="upper left", bbox_to_anchor=(0, 0), ncols=4,
              fontsize=6.5, handletextpad=0.2)  # fmt: skip


def _arc(ax: Axes, window: Window, way: Sequence[float], kind: str, *, alpha: float = 1.0) -> None:
    """One great circle (lat, lon, lat, lon), with the looks of the Blank or of the Adversarial answer."""
    look: dict[str, Any] = (
        {"color": "#5a5a5a", "lw": 0.7, "ls": VARIANT_DASHES["Blank"]}
        if kind == "blank"
        else {"color": VARIANT_LOOK["Adversarial"].color, "lw": 0.9}
    )
    window.arc(ax, (way[0], way[1]), (way[2], way[3]), alpha=alpha, zorder=2, gid=f"arc {kind}", **look)


def _marks(ax: Axes, window: Window, places: np.ndarray, label: str, **look: Any) -> None:
    known = np.isfinite(places).all(axis=1)
    if known.any():
        ax.plot(window.unwrap(places[known, 1]), places[known, 0], ls="none", label=label, gid=label, **look)


def draw_scene(record: dict[str, Any], ax: Axes) -> None:
    """One scene: truth, Blank answer, Adversarial answer and trap on a map of its own (one row of `arcs_frame`)."""
    points = _ways(pd.DataFrame([record]))[0]
    truth, blank, adversarial, trap = (tuple(points[i : i + 2].tolist()) for i in (0, 2, 4, 6))
    if not np.isfinite(points[:2]).all():
        empty(ax, "The scene's true position is unknown.", width=24)
        return
    ways = [(*a, *b) for a, b in ((truth, blank), (blank, adversarial))]
    known = [p for p in (truth, blank, adversarial, trap) if np.isfinite(p).all()]
    window = window_for([p[0] for p in known], [p[1] for p in known], ways=ways, aspect=2.0)
    window.draw(ax)
    for way, kind in zip(ways, ("blank", "adversarial"), strict=True):
        if np.isfinite(way).all():
            _arc(ax, window, way, kind)
    _marks(ax, window, np.array([trap]), "place on the sign", ms=8.5, mew=0.8, zorder=3.2, **_TRAP)
    _marks(ax, window, np.array([truth]), "truth", ms=7, zorder=4, **_TRUTH)
    for place, name in ((blank, "Blank"), (adversarial, "Adversarial")):
        look = VARIANT_LOOK[name]
        _marks(ax, window, np.array([place]), f"{name} answer", ms=4.2, mew=0.8, zorder=4.2, marker=look.marker,
               color=look.color, mfc="none" if name == "Blank" else look.face)  # fmt: skip
    name = shorten(str(record["truth_name"]) or str(record["group_id"]), 22)
    sign = shorten(str(record["trap_name"]), 18)
    ax.set_title(f"{name} → {sign}" if sign else name, fontsize=7, pad=3, loc="left")
    ax.set_xlabel(_told(record), fontsize=6, labelpad=2, color=GREY)


def _told(record: dict[str, Any]) -> str:
    """Distances below a map."""
    first = ", ".join(
        f"{name} {_km(float(record[column]))} off"
        for name, column in (("Blank", "blank_km"), ("Adversarial", "adversarial_km"))
    )
    near = float(record["adversarial_trap_km"])
    return first + (f"\n{_km(near)} from the place on the sign" if np.isfinite(near) else "")


def _km(value: float) -> str:
    if not np.isfinite(value):
        return "not answered,"
    return f"{value:.1f} km" if value < 10 else f"{value:,.0f} km"
