"""Which scenes mislead which models, and whether models are misled by the same ones."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.stats.agreement import cohen_kappa

__all__ = ["CRITERIA", "misled", "misled_agreement", "said", "similar_order"]

CRITERIA = ("moved", "trapped")


def misled(
    scores: pd.DataFrame, *, criterion: str = "moved", moved_km: float = 200.0, radius_km: float = 50.0
) -> pd.DataFrame:
    """Scenes (rows: dataset, group_id) by models (columns): 1 misled, 0 not, NaN where that cannot be told.

    Parameters
    ----------
    criterion
        "moved": under Adversarial text the answer is at least `moved_km` further from the truth than on the Blank
        picture (a region, by default); both must be answered. "trapped": it lies less than `radius_km` from the
        place on the sign; only scenes whose text has a geocoded place.

    Returns
    -------
    DataFrame
        Floats, models and scenes in the order of the scores. A model that answered nothing has a column of NaN.
    """
    if criterion not in CRITERIA:
        raise DataError(f"unknown criterion {criterion!r}; allowed: {', '.join(CRITERIA)}")
    data = scores.astype(dict.fromkeys(("model", "dataset", "group_id", "variant"), str))
    models = list(dict.fromkeys(data["model"]))
    scenes = pd.MultiIndex.from_frame(data[["dataset", "group_id"]].drop_duplicates())

    def table(column: str, variant: str) -> pd.DataFrame:
        rows = data[data["variant"] == variant]
        wide = rows.pivot_table(
            index=["dataset", "group_id"], columns="model", values=column, aggfunc="mean", dropna=False
        )
        return wide.reindex(index=scenes, columns=models).astype(float)

    if criterion == "trapped":
        distance = table("trap_km", "Adversarial")
        return (distance < radius_km).astype(float).where(distance.notna())
    further = table("error_km", "Adversarial") - table("error_km", "Blank")
    return (further >= moved_km).astype(float).where(further.notna())


def misled_agreement(table: pd.DataFrame) -> pd.DataFrame:
    """Rows (model_a, model_b, kappa, low, high, agreement, both, n, reason), one per pair of models.

    `table` comes from :func:`misled`.

    Cohen's kappa over the scenes that both answered: 1 the same scenes, 0 no more than their rates give by chance.
    `both` is the number of scenes that misled both. NaN with a reason where one is misled by all or by none of
    the scenes, or there is no common scene.
    """
    columns = ["model_a", "model_b", "kappa", "low", "high", "agreement", "both", "n", "reason"]
    rows = []
    for a, b in itertools.combinations(table.columns, 2):
        one, other = table[a].to_numpy(float), table[b].to_numpy(float)
        known = np.isfinite(one) & np.isfinite(other)
        found = cohen_kappa(one[known], other[known])
        both = int(((one == 1) & (other == 1)).sum())
        kappa, reason = found.kappa, found.reason
        if known.any() and np.isfinite(kappa) and min(len(set(one[known])), len(set(other[known]))) < 2:
            kappa, reason = np.nan, "one of the two was misled by all or by none of the scenes"
        bounds = (found.low, found.high) if np.isfinite(kappa) else (np.nan, np.nan)
        rows.append((a, b, kappa, *bounds, found.agreement, both, int(known.sum()), reason))
    return pd.DataFrame(rows, columns=pd.Index(columns))


def similar_order(values: np.ndarray) -> list[int]:
    """An order of rows that puts like beside like: average linkage on the share of differing entries.

    `values` is (n, k) of 0, 1 and NaN; what either row lacks does not count, and two rows without a common entry
    count as half different. Fewer than three rows stay as they are. Deterministic.
    """
    n = len(values)
    if n < 3:
        return list(range(n))
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

    known = np.isfinite(values).astype(float)
    ones = np.where(np.isfinite(values), values, 0.0)
    zeros = known - ones
    common = known @ known.T
    differing = ones @ zeros.T + zeros @ ones.T
    distance = np.divide(differing, common, out=np.full((n, n), 0.5), where=common > 0)
    condensed = distance[np.triu_indices(n, 1)]
    tree = linkage(condensed, method="average")
    if n <= 400:  # its cost grows with the square and more
        tree = optimal_leaf_ordering(tree, condensed)
    return [int(i) for i in leaves_list(tree)]


def said(criterion: str, *, moved_km: float = 200.0, radius_km: float = 50.0) -> str:
    """A criterion of :func:`misled` in a few words, for a legend."""
    if criterion == "trapped":
        return f"answer within {radius_km:g} km of the sign's place"
    return f"{moved_km:g} km further off than on the Blank picture"
