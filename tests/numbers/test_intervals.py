"""The cluster bootstrap against an index loop, its coverage, and its edges."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.stats import cluster_bootstrap, percentile_bounds
from signpost_kit.stats.medians import bootstrap_medians, segment_medians


def _index_loop(values, cluster, dataset, n_resamples, seed):
    """Draw groups with replacement within each dataset, average per dataset, then over datasets."""
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(n_resamples):
        means = []
        for name in np.unique(dataset):
            here = dataset == name
            labels = np.unique(cluster[here])
            drawn = rng.choice(labels, len(labels))
            means.append(np.concatenate([values[here & (cluster == label)] for label in drawn]).mean())
        draws.append(np.mean(means))
    return np.percentile(draws, [2.5, 97.5])


def test_agrees_with_an_index_loop():
    rng = np.random.default_rng(1)
    cluster = rng.integers(0, 12, 90)
    dataset = np.where(cluster < 5, "a", "b")
    values = rng.normal(0, 1, 12)[cluster] + rng.normal(0, 0.5, 90)
    ours = cluster_bootstrap(values, cluster, dataset, n_resamples=4000)
    loop = _index_loop(values, cluster, dataset, 4000, 7)
    expected = (values[dataset == "a"].mean() + values[dataset == "b"].mean()) / 2
    assert ours.estimate == pytest.approx(expected)
    assert ours.n_clusters == 12
    width = loop[1] - loop[0]
    assert [ours.low, ours.high] == pytest.approx(loop, abs=0.05 * width)
    # Ignoring the clusters would give a far narrower interval.
    naive = cluster_bootstrap(values, np.arange(90), dataset)
    assert naive.high - naive.low < 0.7 * width


def test_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(2)
    hits, n_runs = 0, 400
    for run in range(n_runs):
        effects = rng.normal(0, 1, (2, 40))  # two datasets of 40 groups, three rows each; the true macro mean is 0
        values = (effects[..., None] + rng.normal(0, 1, (2, 40, 3))).ravel()
        cluster = np.repeat(np.arange(80), 3)
        interval = cluster_bootstrap(values, cluster, cluster // 40, n_resamples=300, seed=run)
        hits += interval.low <= 0 <= interval.high
    # 95 % nominal; percentile intervals of 40 groups run a little short. Standard error of the share: 1.1 points.
    assert 0.91 <= hits / n_runs <= 0.98


def test_several_scores_at_once_and_missing_values():
    values = np.array([[1.0, math.nan], [3.0, 5.0], [math.nan, 7.0]])
    result = cluster_bootstrap(values, ["a", "b", "c"])
    assert result.estimate.tolist() == [2.0, 6.0]
    assert result.low.tolist() == [1.0, 5.0]
    assert result.high.tolist() == [3.0, 7.0]


def test_order_and_other_datasets_do_not_matter():
    rng = np.random.default_rng(3)
    values, cluster = rng.normal(size=30), np.arange(30)
    order = rng.permutation(30)
    a = cluster_bootstrap(values, cluster, n_resamples=200)
    b = cluster_bootstrap(values[order], cluster[order], n_resamples=200)
    assert a == pytest.approx(b)
    assert cluster_bootstrap(values, cluster, n_resamples=200, seed=43).low != a.low


def test_edges_are_nan_without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nothing = cluster_bootstrap([], [])
        assert math.isnan(nothing.estimate)
        assert nothing.n_clusters == 0
        one = cluster_bootstrap([1.0, 2.0], ["a", "a"])
        assert one.estimate == 1.5
        assert math.isnan(one.low)
        assert math.isnan(one.high)
        assert math.isnan(cluster_bootstrap([math.nan], ["a"]).estimate)
        assert math.isnan(cluster_bootstrap([1.0, 2.0], ["a", "b"], n_resamples=0).low)


def test_bad_options_are_named():
    with pytest.raises(DataError, match="one label per value"):
        cluster_bootstrap([1.0, 2.0], ["a"])
    with pytest.raises(ConfigError, match="level"):
        cluster_bootstrap([1.0, 2.0], ["a", "b"], level=95)
    with pytest.raises(ConfigError, match="seed"):
        cluster_bootstrap([1.0, 2.0], ["a", "b"], seed=-1)
    with pytest.raises(ConfigError, match="n_resamples"):
        cluster_bootstrap([1.0, 2.0], ["a", "b"], n_resamples=-5)


def test_percentiles_leave_nan_draws_out():
    draws = np.array([[4.0, math.nan, 1.0, 2.0, 3.0], [math.nan] * 5, [1.0, math.inf, 2.0, math.nan, math.nan]])
    low, high = percentile_bounds(draws, 0.5)
    assert low[0] == pytest.approx(np.percentile([1, 2, 3, 4], 25))
    assert high[0] == pytest.approx(np.percentile([1, 2, 3, 4], 75))
    assert math.isnan(low[1])
    assert low[2] == 1.5


@pytest.mark.parametrize("sizes", [(31, 40), (8, 9)])
def test_medians_have_the_distribution_of_resampled_medians(sizes):
    rng = np.random.default_rng(4)
    values = rng.exponential(100, (1, sum(sizes)))
    values[0, ::5] = math.nan  # groups without an answer: a resample draws them too
    starts = np.array([0, sizes[0], sum(sizes)])
    medians, ordered = segment_medians(values, starts)
    parts = [values[0, : sizes[0]], values[0, sizes[0] :]]
    assert medians[0].tolist() == [np.nanmedian(part) for part in parts]
    cells_low, cells_high, low, high = bootstrap_medians(ordered, ["a", "b"], n_resamples=20_000)
    loop = np.array([[np.nanmedian(rng.choice(part, len(part))) for part in parts] for _ in range(6000)])
    spread = loop.std(axis=0)
    assert cells_low[0] == pytest.approx(np.percentile(loop, 2.5, axis=0), abs=0.12 * spread.max())
    assert cells_high[0] == pytest.approx(np.percentile(loop, 97.5, axis=0), abs=0.12 * spread.max())
    macro = loop.mean(axis=1)
    assert [low[0], high[0]] == pytest.approx(np.percentile(macro, [2.5, 97.5]), abs=0.12 * macro.std())
