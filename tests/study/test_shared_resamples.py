"""Draws that are shared by all scores, against resamples written out one by one and against scipy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats as scipy_stats

from signpost_kit.errors import DataError
from signpost_kit.stats import paired_wilcoxon, percentile_bounds
from signpost_kit.stats.concordance import kendall, pearson, ranks, spearman
from signpost_kit.stats.intervals import bootstrap_ratios
from signpost_kit.stats.median_draws import median_draws
from signpost_kit.stats.rank_biserial import rank_biserial_draws
from signpost_kit.stats.resampling import Resamples

STARTS, NAMES = np.array([0, 9, 30]), ["a", "b"]


@pytest.fixture
def resamples() -> Resamples:
    return Resamples(STARTS, NAMES, n_resamples=60, seed=3)


def test_each_resample_draws_as_many_groups_as_there_are(resamples: Resamples) -> None:
    assert len(resamples) == 2
    for d, size in enumerate((9, 21)):
        counts = resamples.counts(d)
        assert counts.shape == (size, 60)
        assert (counts.sum(axis=0) == size).all()
        assert counts.max() > 1


def test_bounds_are_those_of_the_score_tables() -> None:
    rng = np.random.default_rng(0)
    columns = np.concatenate([rng.normal(5, 2, (2, 30)), rng.random((1, 30)) < 0.7])
    columns[:2] *= columns[2]
    numerator, denominator = np.array([0, 1]), np.array([2, 2])
    expected = bootstrap_ratios(columns, numerator, denominator, STARTS, NAMES, n_resamples=500, seed=8)
    draws = Resamples(STARTS, NAMES, n_resamples=500, seed=8).ratios(columns, numerator, denominator)
    low, high = percentile_bounds(draws.macro)
    assert low == pytest.approx(expected.low, rel=1e-6)
    assert high == pytest.approx(expected.high, rel=1e-6)
    cells_low, _ = percentile_bounds(draws.cells)
    assert cells_low == pytest.approx(expected.cells_low, rel=1e-6)


def test_a_draw_is_the_ratio_of_the_drawn_groups(resamples: Resamples) -> None:
    rng = np.random.default_rng(1)
    values, known = rng.normal(size=30), rng.random(30) < 0.8
    columns = np.stack([values * known, known])
    draws = resamples.ratios(columns, np.array([0]), np.array([1]))
    for j in range(60):
        means = []
        for d, (first, last) in enumerate(((0, 9), (9, 30))):
            drawn = np.repeat(np.arange(first, last), resamples.counts(d)[:, j])
            means.append(values[drawn][known[drawn]].mean())
            assert draws.cells[d, 0, j] == pytest.approx(means[-1], rel=1e-4, abs=1e-6)
        assert draws.macro[0, j] == pytest.approx(np.mean(means), rel=1e-4, abs=1e-6)


def test_a_score_of_one_group_has_no_draws(resamples: Resamples) -> None:
    known = np.zeros(30)
    known[[3, 12, 13]] = 1  # one group in the first dataset, two in the second
    draws = resamples.ratios(np.stack([known * 2, known]), np.array([0]), np.array([1]))
    assert np.isnan(draws.cells[0]).all()
    assert set(draws.cells[1][~np.isnan(draws.cells[1])]) == {2.0}
    assert not np.isnan(draws.macro).all()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_medians_equal_those_of_written_out_resamples(resamples: Resamples, missing: float) -> None:
    rng = np.random.default_rng(2)
    series = rng.exponential(100, (3, 30))
    series[rng.random(series.shape) < missing] = np.nan
    series[2, :4] = np.inf
    found = median_draws(series, resamples)
    for d, (first, last) in enumerate(((0, 9), (9, 30))):
        for s in range(3):
            for j in range(60):
                drawn = series[s, np.repeat(np.arange(first, last), resamples.counts(d)[:, j])]
                drawn = drawn[~np.isnan(drawn)]
                expected = np.median(drawn) if len(drawn) else np.nan
                expected = expected if np.isfinite(expected) else np.nan
                assert found[d, s, j] == pytest.approx(expected, rel=1e-6, nan_ok=True)


def test_the_window_around_the_median_is_wide_enough() -> None:
    series = np.random.default_rng(3).normal(size=(1, 4000))
    many = Resamples(np.array([0, 4000]), ["a"], n_resamples=300, seed=1)
    found = median_draws(series, many)
    expected = [np.median(np.repeat(series[0], counts)) for counts in many.counts(0).T]
    assert found[0, 0] == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_rank_biserial_equals_that_of_written_out_pairs(resamples: Resamples) -> None:
    rng = np.random.default_rng(4)
    for difference in (
        rng.normal(0.3, 1, 30),
        rng.integers(-3, 5, 30).astype(float),
    ):  # the second has ties and zeros
        difference[::7] = np.nan
        counts = np.concatenate([resamples.counts(0), resamples.counts(1)])
        found = rank_biserial_draws(difference, counts)
        for j in range(60):
            drawn = np.repeat(difference, counts[:, j])
            expected = paired_wilcoxon(drawn, np.zeros_like(drawn)).rank_biserial
            assert found[j] == pytest.approx(expected, rel=1e-12)
    assert np.isnan(rank_biserial_draws(np.zeros(9), resamples.counts(0))).all()


@pytest.mark.parametrize("ties", [False, True])
def test_concordance_equals_scipy(ties: bool) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 5, (9, 40)).astype(float) if ties else rng.normal(size=(9, 40)) for _ in range(2))
    a[rng.random(a.shape) < 0.1] = np.nan
    for ours, theirs in (
        (kendall, scipy_stats.kendalltau),
        (spearman, scipy_stats.spearmanr),
        (pearson, scipy_stats.pearsonr),
    ):
        found = ours(a, b)
        for j in range(40):
            keep = ~np.isnan(a[:, j])
            expected = theirs(a[keep, j], b[keep, j])[0]
            assert found[j] == pytest.approx(expected, abs=1e-12)


def test_concordance_is_nan_where_it_is_not_defined() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for measure in (kendall, spearman, pearson):
            assert np.isnan(measure([1.0], [2.0]))
            assert np.isnan(measure([], []))
            assert np.isnan(measure([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]))
            assert np.isnan(measure([np.nan, 1.0], [1.0, np.nan]))
    assert ranks([3.0, np.nan, 1.0, 3.0])[[0, 2, 3]].tolist() == [2.5, 1.0, 2.5]
    with pytest.raises(DataError, match="one value per model"):
        kendall([1.0, 2.0], [1.0, 2.0, 3.0])
