"""Drawing a ladder from audited points: up to so many per band and tier, at random by seed, never by distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import hash_bytes
from signpost_kit.metrics.hints import HINT_BANDS, hint_band

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["POINT_COLUMNS", "REFERENCE_TIERS", "draw_ladder", "reference_tier"]

REFERENCE_TIERS = ("high", "mid", "low")
"""How often people use a place to say where they are: 4-5, 2-3, 0-1 on the auditor's scale."""
POINT_COLUMNS = (
    *("site", "city", "country", "auditor", "qid", "name_en", "name_local", "lat", "lon", "ref_km"),
    "referenceability",
)
"""Of a frame of usable points; ref_km is the distance to the site."""


def reference_tier(referenceability: ArrayLike) -> np.ndarray:
    """Tier of each value 0-5; "" for NaN.

    >>> reference_tier([5, 4, 3, 2, 1, 0, float("nan")]).tolist()
    ['high', 'high', 'mid', 'mid', 'low', 'low', '']
    """
    value = np.asarray(referenceability, dtype=float)
    place = np.select([value >= 4, value >= 2, value >= 0], [0, 1, 2], default=3)
    return np.array([*REFERENCE_TIERS, ""], dtype=object)[place]


def draw_ladder(points: pd.DataFrame, *, draws: int = 2, seed: int = 42) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The ladder of every site, and how well each of its cells could be filled.

    Parameters
    ----------
    points
        Usable points, columns :data:`POINT_COLUMNS`. Points nearer than 0.5 km or farther than 6 km, and those
        without a referenceability, belong to no cell.
    draws
        Per band and tier. A cell that has fewer gives all it has.
    seed
        Same seed, same draw, whatever the order of the points.

    Returns
    -------
    ladder : the drawn points with `band` and `tier`, by site, band and tier
    cells : site, band, tier, n_found, n_drawn, short (n_drawn < draws), for all nine cells of each site

    Raises
    ------
    ConfigError
        draws is below 1.
    DataError
        A column is missing.
    """
    import pandas as pd

    if draws < 1:
        raise ConfigError(f"draws is {draws}; a ladder needs at least 1 point per band and tier")
    absent = [name for name in POINT_COLUMNS if name not in points.columns]
    if absent:
        raise DataError(f"the reference points lack the column(s) {', '.join(absent)}")
    cells = points.assign(band=hint_band(points["ref_km"]), tier=reference_tier(points["referenceability"]))
    cells = cells.loc[(cells["band"] != "") & (cells["tier"] != "")]
    # One lot per point, from the seed and its own name: the order of the points cannot matter.
    lots = [_lot(seed, str(site), str(qid)) for site, qid in zip(cells["site"], cells["qid"], strict=True)]
    ordered = cells.assign(_lot=lots).sort_values("_lot", kind="stable")
    drawn = ordered.groupby(["site", "band", "tier"], sort=False).head(draws)
    rank = {name: i for i, name in enumerate(REFERENCE_TIERS)}
    drawn = drawn.assign(_tier=drawn["tier"].map(rank)).sort_values(["site", "band", "_tier", "_lot"])
    sites = sorted(set(points["site"]))
    every = pd.MultiIndex.from_product([sites, HINT_BANDS, REFERENCE_TIERS], names=["site", "band", "tier"])
    keys = ["site", "band", "tier"]
    found = cells.groupby(keys).size().reindex(every, fill_value=0)
    taken = drawn.groupby(keys).size().reindex(every, fill_value=0)
    table = pd.DataFrame({"n_found": found, "n_drawn": taken}).reset_index()
    table["short"] = table["n_drawn"] < draws
    return drawn.drop(columns=["_lot", "_tier"]).reset_index(drop=True), table


def _lot(seed: int, site: str, qid: str) -> str:
    return hash_bytes(f"{seed}|{site}|{qid}".encode())
