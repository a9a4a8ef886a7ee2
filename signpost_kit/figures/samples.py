"""What the data sets look like (fig. 14) and what the tiers mean (fig. 15), shown on their own pictures."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.figures.maps import crop_sign, shorten, show_picture
from signpost_kit.figures.style import DOUBLE, GREY, INK, canvas, empty, style
from signpost_kit.figures.tiers import TIER_NAMES
from signpost_kit.frames import TIERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from signpost_kit.benchmark.groups import Benchmark, Group

__all__ = ["EXAMPLE_COLUMNS", "SAMPLE_COLUMNS", "examples_frame", "fig_examples", "fig_samples", "samples_frame"]

SAMPLE_COLUMNS = ("dataset", "n_scenes", "group_id", "label", "image")
EXAMPLE_COLUMNS = ("tier", "n_scenes", "share", "group_id", "image", "text", "reason", "polygon", "others")

_COLUMNS = 4
_FRAME = (("black", 2.6), ("#F0E442", 1.2))  # a light line on a dark one reads on any ground
_GAP = 5.0  # pixels of the shown picture
_THIN = (("black", 1.4), ("white", 0.6))


def _place(group: Group) -> str:
    return ", ".join(part for part in (group.city, group.country) if part)


def _picture(benchmark: Benchmark, group: Group) -> str:
    return str(benchmark.image_path(group, "Original")) if "Original" in group.images else ""


def samples_frame(benchmark: Benchmark, *, per_dataset: int = _COLUMNS, seed: int = 14) -> pd.DataFrame:
    """Up to `per_dataset` scenes of each data set, drawn by `seed`, each from another country while there are any.

    Columns :data:`SAMPLE_COLUMNS`; `n_scenes` is the data set's size. Scenes without a picture come last.
    """
    rows = []
    sets = dict.fromkeys(group.dataset for group in benchmark.groups)
    for dataset in sets:
        groups = [group for group in benchmark.groups if group.dataset == dataset]
        order = np.random.default_rng(seed).permutation(len(groups))
        drawn = sorted((groups[i] for i in order), key=lambda g: "Original" not in g.images)  # stable
        met: dict[str, int] = {}
        ranks = []
        for group in drawn:
            met[group.country] = met.get(group.country, 0) + 1
            ranks.append(("Original" not in group.images, met[group.country]))
        first = sorted(range(len(drawn)), key=lambda i: ranks[i])[:per_dataset]
        rows += [
            (dataset, len(groups), drawn[i].group_id, _place(drawn[i]), _picture(benchmark, drawn[i]))
            for i in first
        ]
    return pd.DataFrame(rows, columns=pd.Index(SAMPLE_COLUMNS))


def fig_samples(frame: pd.DataFrame) -> Figure:
    """Fig. 14: pictures of each data set (:func:`samples_frame`) in rows of four, under the set's name and size."""
    sets = list(dict.fromkeys(frame["dataset"].astype(str))) if len(frame) else []
    lines = [math.ceil((frame["dataset"] == name).sum() / _COLUMNS) for name in sets]
    n = max(sum(lines), 1)
    with style():
        figure, grid = canvas(
            DOUBLE, 0.12 + 0.2 * max(len(sets), 1) + 1.36 * n, rows=n, columns=_COLUMNS, squeeze=False
        )
        for ax in grid.flat:
            ax.set_axis_off()
        if not sets:
            grid[0, 0].set_axis_on()
            empty(grid[0, 0], "No scene.", width=24)
            return figure
        row = 0
        for name, height in zip(sets, lines, strict=True):
            mine = frame.loc[frame["dataset"] == name]
            for k, item in enumerate(mine.to_dict("records")):
                ax = grid[row + k // _COLUMNS, k % _COLUMNS]
                ax.set_axis_on()
                show_picture(ax, str(item["image"]), 480)
                ax.set_anchor("N")
                ax.set_xlabel(shorten(str(item["label"]) or "place not named", 30), fontsize=6, labelpad=2,
                              color=INK if item["label"] else GREY)  # fmt: skip
            count = int(mine["n_scenes"].iloc[0])
            grid[row, 0].set_title(f"{name}: {count:,} scene{'s' * (count != 1)}", pad=4)
            row += height
    return figure


def examples_frame(benchmark: Benchmark, *, per_tier: int = 2, seed: int = 15) -> pd.DataFrame:
    """Up to `per_tier` scenes of each tier, drawn by `seed`, those with another reason first.

    Columns :data:`EXAMPLE_COLUMNS`: the representative text with its outline and why it has its tier, outlines of
    the `others`, and how many scenes the tier has (`share` of those that have one). Scenes that have a picture and
    an outline come first; a tier without scenes has no row.
    """
    tiered = [group for group in benchmark.groups if group.tier in TIERS]
    rows: list[tuple[Any, ...]] = []
    for tier in TIERS:
        groups = [group for group in tiered if group.tier == tier]
        order = np.random.default_rng(seed).permutation(len(groups))
        reasons: dict[str, int] = {}
        ranked = []
        for group in (groups[i] for i in order):
            span = group.representative
            reason = (span.tier_reason if span else "") or group.tier_reason
            reasons[reason] = reasons.get(reason, 0) + 1
            shown = "Original" in group.images and span is not None and len(span.polygon) > 2
            ranked.append((not shown, reasons[reason], group, reason))
        for _, _, group, reason in sorted(ranked, key=lambda item: item[:2])[:per_tier]:
            span = group.representative
            others = [list(map(list, s.polygon)) for s in group.spans if s is not span and len(s.polygon) > 2]
            outline = [list(point) for point in span.polygon] if span else []
            rows.append((tier, len(groups), len(groups) / len(tiered), group.group_id, _picture(benchmark, group),
                         span.text if span else "", reason, outline, others))  # fmt: skip
    return pd.DataFrame(rows, columns=pd.Index(EXAMPLE_COLUMNS))


def fig_examples(frame: pd.DataFrame) -> Figure:
    """Fig. 15: a column per tier; the text that decides is outlined, enlarged below, and named with its reason."""
    most = int(frame["tier"].value_counts().max()) if len(frame) else 1
    with style():
        figure, grid = canvas(DOUBLE, 0.25 + 2.45 * most, rows=2 * most, columns=len(TIERS), squeeze=False,
                              height_ratios=(1.0, 0.36) * most)  # fmt: skip
        for column, tier in enumerate(TIERS):
            axes = grid[:, column]
            rows = frame.loc[frame["tier"] == tier] if len(frame) else frame
            for ax in axes:
                ax.set_axis_off()
            axes[0].set_axis_on()
            if len(rows):
                for k, item in enumerate(rows.to_dict("records")):
                    _example({str(key): value for key, value in item.items()}, axes[2 * k], axes[2 * k + 1])
                n, share = int(rows["n_scenes"].iloc[0]), float(rows["share"].iloc[0])
                size = f"{n:,} scene{'s' * (n != 1)}, {share:.0%}"
            else:
                empty(axes[0], "No scene of this tier.", width=24)
                size = "no scene"
            axes[0].set_title(f"{tier} {TIER_NAMES[tier]}: {size}", fontsize=7.5, pad=4)
    return figure


def _example(item: dict[str, Any], top: Axes, low: Axes) -> None:
    """One picture with its outlines; the deciding text in close-up, what it says and why it has its tier."""
    for ax in (top, low):
        ax.set_axis_on()
    pixels = show_picture(top, item["image"], 640)
    top.set_anchor("S")
    if pixels is not None:
        scale = pixels.shape[1] / _width(item["image"])
        for outline in item["others"]:
            _outline(top, outline, scale, _THIN)
        _outline(top, item["polygon"], scale, _FRAME)
    part = crop_sign(item["image"], item["polygon"])
    if part is None:
        empty(low, "where the text is, is not known", width=34)
    else:
        low.imshow(part, aspect="auto")
        low.set_xticks([])
        low.set_yticks([])
        for spine in low.spines.values():
            spine.set_visible(True)
    said = f"“{shorten(item['text'], 34)}”" if item["text"] else "no text"
    why = "\n".join(textwrap.wrap(shorten(item["reason"] or "no reason recorded", 84), 42))
    low.set_xlabel(f"{said}\n{why}", fontsize=6.3, labelpad=2.5)


def _outline(ax: Axes, outline: list[list[float]], scale: float, lines: tuple[tuple[str, float], ...]) -> None:
    from matplotlib.patches import Polygon

    if len(outline) < 3:
        return
    corners = np.asarray(outline, dtype=float) * scale
    away = corners - corners.mean(axis=0)
    corners = corners + np.sign(away) * _GAP  # the line runs around the sign, not over its letters
    for colour, width in lines:
        ax.add_patch(Polygon(corners, closed=True, fill=False, edgecolor=colour,
                             linewidth=width, gid="outline"))  # fmt: skip


def _width(path: str) -> int:
    from signpost_kit.images import read_metadata

    about = read_metadata(path)
    return about.height if about.orientation >= 5 else about.width
