"""Pictures and where they were thought to be: the quintuplet (fig. 1), the contact sheet, the map of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.figures.basemap import Window, window_for
from signpost_kit.figures.cells import rows_of
from signpost_kit.figures.style import GREY, INK, PALE, VARIANT_LOOK, empty, ink
from signpost_kit.frames import VARIANTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["answers_map", "contact_sheet", "crop_sign", "quintuplet", "shorten", "show_picture", "story_map"]

_TRUTH = {"marker": "*", "color": "#0072B2", "ms": 9, "mec": "white", "mew": 0.6}
_TRAP = {"marker": "X", "color": "#1a1a1a", "ms": 7, "mec": "white", "mew": 0.7}


def shorten(text: str, limit: int = 24) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _km(value: float) -> str:
    """A distance as people say it: 0.4 km, 12 km, 5,310 km; "no answer" for NaN."""
    if not np.isfinite(value):
        return "no answer"
    return f"{value:.1f} km" if value < 10 else f"{value:,.0f} km"


def show_picture(ax: Axes, path: str, side: int = 640) -> np.ndarray | None:
    """Show a picture; a missing or unreadable one becomes a frame that says so (and None)."""
    from signpost_kit.errors import SignpostError
    from signpost_kit.images import load_rgb

    if not path:
        empty(ax, "no picture")
        return None
    try:
        pixels = load_rgb(path, max_side=side)
    except SignpostError as error:
        empty(ax, f"picture unreadable: {type(error).__name__}")
        return None
    ax.imshow(pixels)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(True)
        spine.set_color(PALE)
    return pixels


def crop_sign(path: str, polygon: Sequence[Sequence[float]]) -> np.ndarray | None:
    """The sign, cut out with a margin, in the shape 5:2; None without picture or polygon."""
    from signpost_kit.errors import SignpostError
    from signpost_kit.images import load_rgb

    if not path or len(polygon) < 3:
        return None
    try:
        pixels = load_rgb(path)
    except SignpostError:
        return None
    corners = np.array(polygon, dtype=float)
    (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
    height, width = pixels.shape[:2]
    half_w = max(x1 - x0, (y1 - y0) * 2.5, 20) * 0.8
    half_h = half_w / 2.5
    cx, cy = (
        np.clip((x0 + x1) / 2, half_w, max(width - half_w, half_w)),
        np.clip((y0 + y1) / 2, half_h, max(height - half_h, half_h)),
    )
    part = pixels[max(int(cy - half_h), 0) : int(cy + half_h) + 1, max(int(cx - half_w), 0) : int(cx + half_w) + 1]
    return part if part.size else None


def quintuplet(story: pd.DataFrame, pictures: Sequence[Axes], signs: Sequence[Axes], world: Axes) -> None:
    """Fig. 1: one scene in five versions, its sign in close-up, and where the model put each of them.

    `story` is what :func:`signpost_kit.figures.story.story_frame` gives; `pictures` and `signs` are five axes
    each. Below each sign stands what it says and how far the answer is from the truth.
    """
    for variant, top, low in zip(VARIANTS, pictures, signs, strict=True):
        row = story[story["variant"] == variant].iloc[0]
        look = VARIANT_LOOK[variant]
        show_picture(top, row["image"])
        top.set_anchor("S")
        top.set_title(variant, fontsize=7.5, loc="center", color=ink(look.color), pad=3)
        part = crop_sign(row["image"], row["polygon"])
        if part is None:
            empty(low, "sign not located")
        else:
            low.imshow(part, aspect="auto")
            low.set_xticks([])
            low.set_yticks([])
            for spine in low.spines.values():
                spine.set_visible(True)
                spine.set_color(look.color)
                spine.set_linewidth(1.0)
        said = f"“{shorten(row['text'], 20)}”" if row["text"] else ("text removed" if variant == "Blank" else "–")
        distance = row["error_km"]
        fate = _km(distance) + " off" if np.isfinite(distance) else _fate(row["status"])
        low.set_xlabel(f"{said}\n{fate}", fontsize=6.5, labelpad=2.5)
    story_map(story, world)


def _fate(status: str) -> str:
    return {"": "not asked", "ok": "no distance"}.get(status, f"no answer ({status.replace('_', ' ')})")


def story_map(story: pd.DataFrame, ax: Axes) -> None:
    """Truth (star), the sign's place (open cross), the answers, and great circles from the truth to them."""
    records: list[dict[str, Any]] = [{str(k): v for k, v in r.items()} for r in story.to_dict("records")]
    first = records[0]
    truth = (float(first["truth_lat"]), float(first["truth_lon"]))
    if not np.isfinite(truth).all():
        empty(ax, "The scene's true position is unknown.")
        return
    ways = [(*truth, float(r["lat"]), float(r["lon"])) for r in records]
    spots = [truth, (first["trap_lat"], first["trap_lon"]), *((lat, lon) for *_, lat, lon in ways)]
    window = window_for([lat for lat, _ in spots], [lon for _, lon in spots], ways=ways, aspect=2.35)
    window.draw(ax)
    answers = [_story_answer(ax, window, truth, record) for record in records]
    marks = ax.plot(window.unwrap(truth[1]), truth[0], ls="none", zorder=5, gid="truth", **_TRUTH)
    marks[0].set_label("truth" + (f": {shorten(first['truth_name'])}" if first["truth_name"] else ""))
    if np.isfinite(first["trap_lat"]):
        ring = ax.plot(window.unwrap(first["trap_lon"]), first["trap_lat"], "P", ms=11, mfc="none", mec=INK,
                       mew=0.9, ls="none", zorder=3.5, gid="trap")  # fmt: skip
        ring[0].set_label("the sign's place" + (f": {shorten(first['trap_name'])}" if first["trap_name"] else ""))
        marks += ring
    else:
        ax.text(0.01, 0.02, "The adversarial text has no geocoded place.", transform=ax.transAxes, fontsize=6,
                color=GREY, gid="no-trap")  # fmt: skip
    ax.legend(handles=[*marks, *answers], loc="upper left", bbox_to_anchor=(0, 0), ncols=4, fontsize=6.5,
              title=f"Where {shorten(str(first['model']), 40)} put the scene", title_fontsize=7, alignment="left",
              handletextpad=0.5)  # fmt: skip


def _story_answer(ax: Axes, window: Window, truth: tuple[float, float], record: dict[str, Any]) -> Any:
    """Arc and marker of one variant's answer; for a missing answer only the entry of the legend."""
    variant, look = record["variant"], VARIANT_LOOK[record["variant"]]
    lat, lon = float(record["lat"]), float(record["lon"])
    shown = bool(np.isfinite(lat) and np.isfinite(lon))
    if shown:
        window.arc(ax, truth, (lat, lon), color=look.color, lw=0.9, alpha=0.8, zorder=2, gid="arc")
    # Answers often coincide: later variants are smaller, so that the earlier ones stay visible around them.
    size = {"Original": 9.0, "Blank": 7.5, "Similar": 6.0, "Random": 5.0}.get(variant, 6.0)
    edge: dict[str, Any] = (
        {"mfc": look.color, "mec": "white", "mew": 0.5} if look.filled else {"mfc": "none", "mew": 1.0}
    )
    label = variant if shown else f"{variant}: no answer"
    x = window.unwrap(lon) if shown else np.nan
    marker = ax.plot(x, lat, look.marker, color=look.color, ms=size, ls="none", zorder=4, gid=variant, label=label,
                     **edge)  # fmt: skip
    return marker[0]


def contact_sheet(sheet: pd.DataFrame, axes: np.ndarray) -> None:
    """Five versions of each scene side by side: `axes` is a grid with a row per group and five columns."""
    groups = list(dict.fromkeys(sheet["group_id"]))
    grid = np.atleast_2d(np.asarray(axes, dtype=object))
    for i, line in enumerate(grid):
        if i >= len(groups):
            for ax in line:
                empty(ax, "" if groups else "No scene.")
            continue
        rows = rows_of(sheet, "group_id", groups[i]).set_index("variant")
        for j, (variant, ax) in enumerate(zip(VARIANTS, line, strict=True)):
            row = rows.loc[variant]
            show_picture(ax, row["image"], 400)
            if i == 0:
                ax.set_title(variant, fontsize=7.5, loc="center", color=ink(VARIANT_LOOK[variant].color))
            if row["text"]:
                ax.set_xlabel(f"“{shorten(row['text'], 22)}”", fontsize=6, labelpad=2)
            elif variant == "Blank" and row["image"]:
                ax.set_xlabel("text removed", fontsize=6, labelpad=2, color=GREY)
            if j == 0:
                ax.set_ylabel(shorten(row["label"], 20), fontsize=6.5)


def answers_map(answers: pd.DataFrame, ax: Axes, *, variant: str, radius_km: float = 50.0) -> None:
    """Where one model put every scene of one variant: truth (star), answer (marker), great circle between.

    `answers` comes from :func:`signpost_kit.figures.story.answers_frame`. Red arcs with crosses
    are answers within `radius_km` of the place on the sign. What was not answered is counted, never drawn.
    """
    rows = rows_of(answers, "variant", variant)
    known = np.isfinite(rows[["lat", "lon", "truth_lat", "truth_lon"]].to_numpy(float)).all(axis=1)
    ok = rows.loc[known, :]
    if rows.empty:
        empty(ax, f"No {variant} picture was asked about.")
        return
    if ok.empty:
        empty(ax, f"None of {len(rows)} {variant} pictures was answered with a position.")
        return
    # All variants set the window, so that two maps of one model show the same part of the world.
    window = window_for(
        [*answers["truth_lat"], *answers["lat"]], [*answers["truth_lon"], *answers["lon"]], aspect=2.0
    )
    window.draw(ax)
    look = VARIANT_LOOK[variant]
    trapped = ok["trap_km"].to_numpy(float) < radius_km
    ends = ok[["truth_lat", "truth_lon", "lat", "lon"]].to_numpy(float).tolist()
    for (lat1, lon1, lat2, lon2), hit in zip(ends, trapped, strict=True):
        line: dict[str, Any] = {"color": "#D55E00", "lw": 0.9} if hit else {"color": "#8a8a8a", "lw": 0.5}
        window.arc(ax, (lat1, lon1), (lat2, lon2), zorder=2.1 if hit else 2.0, gid="arc", **line)
    _points(ax, window, rows["truth_lon"], rows["truth_lat"], "truth", **_TRUTH | {"ms": 5.5, "mew": 0.4})
    far, hits = ok.loc[~trapped, :], ok.loc[trapped, :]
    _points(ax, window, far["lon"], far["lat"], "answer", marker=look.marker if variant != "Adversarial" else "o",
            color="#4d4d4d", ms=3.2, mec="white", mew=0.4)  # fmt: skip
    if len(hits):
        cross = _TRAP | {"ms": 4.5, "mew": 0.5, "color": "#D55E00"}
        _points(ax, window, hits["lon"], hits["lat"], "answer at the sign's place", **cross)
    median = float(np.median(ok["error_km"].to_numpy(float)))
    name = shorten(str(rows["model"].iloc[0]), 40)
    said = f"{name}, {variant}: {len(ok)} of {len(rows)} answered, median {_km(median)} off"
    ax.set_title(said, fontsize=7.5)
    ax.legend(loc="upper left", bbox_to_anchor=(0, 0), ncols=3, fontsize=6.5, handletextpad=0.2)


def _points(ax: Axes, window: Any, lon: Any, lat: Any, label: str, **look: Any) -> None:
    ax.plot(window.unwrap(lon), np.asarray(lat, float), ls="none", label=label, zorder=4, gid=label, **look)
