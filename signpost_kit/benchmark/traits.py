"""What each scene is like, beside its answers: how large its writing is, in which script, how far the trap lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark.groups import Benchmark, Group

__all__ = ["TRAIT_COLUMNS", "scene_traits"]

TRAIT_COLUMNS = ("dataset", "group_id", "tier", "script", "text", "n_spans", "text_share", "trap_distance_km")


def scene_traits(benchmark: Benchmark) -> pd.DataFrame:
    """One row per group, :data:`TRAIT_COLUMNS`.

    `script` and `text` are of the representative span; `text_share` is the area of all outlined spans over that of
    the Original picture, 0..1 (NaN without an outline or a picture: a release names no outlines);
    `trap_distance_km` runs from the scene to the place on the adversarial sign (NaN without one).
    """
    import pandas as pd

    from signpost_kit.fonts import script_of
    from signpost_kit.geo import haversine_km

    rows = []
    for group in benchmark.groups:
        span, trap = group.representative, group.trap
        distance = float(haversine_km(group.lat, group.lon, trap.lat, trap.lon)) if trap else np.nan
        rows.append((
            group.dataset,
            group.group_id,
            group.tier,
            script_of(span.text) if span else "",
            span.text if span else "",
            len(group.spans),
            _text_share(benchmark, group),
            distance,
        ))  # fmt: skip
    return pd.DataFrame(rows, columns=pd.Index(TRAIT_COLUMNS))


def _text_share(benchmark: Benchmark, group: Group) -> float:
    from signpost_kit.errors import SignpostError
    from signpost_kit.images import read_metadata

    outlines = [span.polygon for span in group.spans if len(span.polygon) > 2]
    if not outlines or "Original" not in group.images:
        return np.nan
    try:
        about = read_metadata(benchmark.image_path(group, "Original"))
    except SignpostError:
        return np.nan
    return min(sum(_area(outline) for outline in outlines) / (about.width * about.height), 1.0)


def _area(outline: tuple[tuple[float, float], ...]) -> float:
    """Of a polygon, by the shoelace formula."""
    x, y = np.asarray(outline, dtype=float).T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
