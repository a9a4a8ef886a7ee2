"""Two models on the same groups: difference, interval and p from whole groups, never from single answers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import DataError
from signpost_kit.stats.intervals import cluster_bootstrap
from signpost_kit.stats.paired import cluster_codes, few_clusters_reason, flip_p, holm, number_vector

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PairedComparison", "compare_models", "compare_paired"]

_NAN = float("nan")


class PairedComparison(NamedTuple):
    """The difference between two models on the same groups."""

    difference: float
    """Mean of first minus second: per dataset, then the plain mean over datasets."""
    low: float
    high: float
    """Percentile bounds of a bootstrap that resamples whole clusters within their dataset."""
    p: float
    """Two-sided sign-flip test of whole clusters."""
    n: int
    n_clusters: int
    n_missing: int
    """Pairs in which either score is NaN."""
    reason: str


def compare_paired(
    first: ArrayLike,
    second: ArrayLike,
    cluster: ArrayLike,
    dataset: ArrayLike | None = None,
    *,
    n_resamples: int = 2000,
    n_flips: int = 20_000,
    seed: int = 42,
    level: float = 0.95,
) -> PairedComparison:
    """Two models' scores on the same groups: difference, cluster bootstrap interval, permutation p.

    Parameters
    ----------
    first, second
        (n,) scores of the same pictures in the same order; NaN where a model gave no answer.
    cluster
        (n,) labels of what is resampled and flipped as a whole: the group, or the site.
    dataset
        (n,) labels, or None for one dataset. Each dataset has the same weight; clusters are local to theirs.

    Returns
    -------
    PairedComparison
        No pair: NaN with a reason. One cluster: the difference, p = 1 and NaN bounds.
    """
    a, b = number_vector(first, "first"), number_vector(second, "second")
    if a.shape != b.shape:
        raise DataError(f"a comparison needs the same groups on both sides; got {len(a)} and {len(b)} scores")
    delta = a - b
    present = ~np.isnan(delta)
    n_missing = int((~present).sum())
    codes = cluster_codes(cluster, len(delta))
    place = (
        np.zeros(len(delta), dtype=np.int64) if dataset is None else cluster_codes(dataset, len(delta), "dataset")
    )
    if not present.any():
        return PairedComparison(_NAN, _NAN, _NAN, _NAN, 0, 0, n_missing, "no group that both answered")
    delta, codes, place = delta[present], codes[present], place[present]
    names = None if dataset is None else np.asarray(dataset)[present]
    interval = cluster_bootstrap(delta, codes, names, n_resamples=n_resamples, seed=seed, level=level)
    rows = np.bincount(place)
    weight = 1.0 / (rows[place] * np.count_nonzero(rows))
    _, unit = np.unique(place * (int(codes.max()) + 1) + codes, return_inverse=True)
    sums = np.bincount(unit, delta * weight)
    p = flip_p(sums, n_flips=n_flips, seed=seed)
    return PairedComparison(
        interval.estimate,
        interval.low,
        interval.high,
        p,
        len(delta),
        len(sums),
        n_missing,
        few_clusters_reason(len(sums)),
    )


def compare_models(
    scores: pd.DataFrame,
    *,
    score: str = "wla",
    cluster: str = "group_id",
    keys: tuple[str, ...] = ("dataset", "group_id", "variant"),
    pairs: list[tuple[str, str]] | None = None,
    n_resamples: int = 2000,
    n_flips: int = 20_000,
    seed: int = 42,
    level: float = 0.95,
) -> pd.DataFrame:
    """Every pair of models on the pictures both were asked about, with Holm's correction over the pairs.

    Parameters
    ----------
    scores
        Tidy frame with `model`, the `keys` that name a picture, and the column `score`. With a `dataset` column
        each dataset has the same weight.
    cluster
        Column whose values are resampled and flipped as a whole.
    pairs
        Pairs of model names; None for all, first named first.

    Returns
    -------
    A frame: first, second, difference, low, high, p, p_holm, n, n_clusters, n_missing, reason.

    Raises
    ------
    DataError
        A column or a model is missing, or one model has two scores for a picture.
    """
    import pandas as pd

    needed = ["model", *keys, cluster, score]
    absent = [name for name in needed if name not in scores.columns]
    if absent:
        raise DataError(f"the scores lack the column(s) {', '.join(absent)}")
    models = list(dict.fromkeys(scores["model"].tolist()))
    wanted = list(itertools.combinations(models, 2)) if pairs is None else pairs
    unknown = sorted({name for pair in wanted for name in pair} - set(models))
    if unknown:
        raise DataError(f"no scores of the model {unknown[0]!r}; there are {', '.join(map(str, models))}")
    twice = scores.duplicated(["model", *keys])
    if twice.any():
        row = scores.loc[twice, ["model", *keys]].iloc[0].tolist()
        raise DataError(f"{int(twice.sum())} score(s) stand twice, first {row}; keep one of each before comparing")
    index = list(dict.fromkeys([*keys, cluster]))
    asked = {name: scores.loc[scores["model"] == name, [*index, score]] for name in {*itertools.chain(*wanted)}}
    rows = []
    for first, second in wanted:
        both = asked[first].merge(asked[second], on=index, suffixes=("_first", "_second"))
        result = compare_paired(
            both[f"{score}_first"],
            both[f"{score}_second"],
            both[cluster],
            both["dataset"] if "dataset" in both.columns else None,
            n_resamples=n_resamples,
            n_flips=n_flips,
            seed=seed,
            level=level,
        )
        rows.append({"first": first, "second": second, **result._asdict()})
    out = pd.DataFrame(rows, columns=["first", "second", *PairedComparison._fields])
    out.insert(out.columns.tolist().index("p") + 1, "p_holm", holm(out["p"].to_numpy(dtype=float)))
    return out
