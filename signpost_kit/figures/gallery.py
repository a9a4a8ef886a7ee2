"""A grid of pictures with the texts that count outlined: what a stage worked on, at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from signpost_kit.figures.maps import shorten, show_picture
from signpost_kit.figures.style import DOUBLE, canvas, empty, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from signpost_kit.benchmark import Benchmark

__all__ = ["fig_gallery", "gallery_frame"]

GALLERY_COLUMNS = ("group_id", "label", "image", "polygons")


def gallery_frame(benchmark: Benchmark, *, limit: int = 12, seed: int = 0) -> pd.DataFrame:
    """Rows (group_id, label, image, polygons) of up to `limit` groups, spread over the benchmark by `seed`."""
    picks = np.sort(np.random.default_rng(seed).permutation(len(benchmark.groups))[:limit])
    rows = [
        (
            group.group_id,
            ", ".join(part for part in (group.city, group.country) if part) or group.source_id,
            str(benchmark.image_path(group, "Original")) if "Original" in group.images else "",
            [list(map(list, span.polygon)) for span in group.spans if span.polygon],
        )
        for group in (benchmark.groups[i] for i in picks)
    ]
    return pd.DataFrame(rows, columns=pd.Index(GALLERY_COLUMNS))


def fig_gallery(frame: pd.DataFrame, *, columns: int = 4, outline: bool = False) -> Figure:
    """Pictures in a grid, each with its place; `outline` draws a frame around every text that counts."""
    n_rows = max(-(-len(frame) // columns), 1)
    with style():
        figure, axes = canvas(DOUBLE, 0.1 + 1.3 * n_rows, rows=n_rows, columns=columns, squeeze=False)
        flat = list(np.ravel(axes))
        for ax in flat[max(len(frame), 1) :]:
            ax.set_axis_off()
        if frame.empty:
            empty(flat[0], "No picture.")
        for ax, (label, image, polygons) in zip(
            flat, frame[["label", "image", "polygons"]].itertuples(index=False, name=None), strict=False
        ):
            pixels = show_picture(ax, image, 480)
            ax.set_xlabel(shorten(label, 28), fontsize=6, labelpad=2)
            if outline and pixels is not None:
                _outline(ax, image, pixels.shape[1], polygons)
    return figure


def _outline(ax: Axes, path: str, shown_width: int, polygons: list[list[list[float]]]) -> None:
    """Frames in the pixels of the shown, smaller picture: a light line on a dark one reads on any ground."""
    from matplotlib.patches import Polygon
    from PIL import Image

    with Image.open(path) as picture:
        scale = shown_width / picture.width
    for polygon in polygons:
        for colour, width in (("black", 2.4), ("#F0E442", 1.1)):
            ax.add_patch(
                Polygon(np.asarray(polygon) * scale, closed=True, fill=False, edgecolor=colour, linewidth=width)
            )
