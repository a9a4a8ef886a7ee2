"""The clustered slope against statsmodels, its edges, and its size with few sites."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.stats import distance_slope


def _answers(n=400, n_sites=12, beta=0.08, seed=0):
    rng = np.random.default_rng(seed)
    site = rng.integers(0, n_sites, n)
    ref = np.round(rng.uniform(0.5, 6, n), 3)
    log_error = -0.2 + beta * ref + rng.normal(0, 0.3, n_sites)[site] + rng.normal(0, 0.4, n)
    return 10**log_error, ref, site


@pytest.mark.parametrize("use_t", [True, False])
def test_equals_statsmodels(use_t):
    import statsmodels.api as sm

    error, ref, site = _answers()
    ours = distance_slope(error, ref, np.array([f"s{i}" for i in site]), use_t=use_t)
    design = np.column_stack([np.ones(len(ref)), ref])
    fit = sm.OLS(np.log10(error), design).fit(cov_type="cluster", cov_kwds={"groups": site}, use_t=use_t)
    assert ours.beta == pytest.approx(fit.params[1], rel=1e-10)
    assert ours.intercept == pytest.approx(fit.params[0], rel=1e-10)
    assert ours.se == pytest.approx(fit.bse[1], rel=1e-10)
    assert ours.p == pytest.approx(fit.pvalues[1], rel=1e-8)
    assert (ours.low, ours.high) == pytest.approx(tuple(fit.conf_int()[1]), rel=1e-8)
    assert (ours.n, ours.n_sites) == (400, 12)
    assert ours.spearman == pytest.approx(stats.spearmanr(error, ref).statistic, rel=1e-12)


def test_t_by_default_is_wider_with_five_sites():
    error, ref, site = _answers(n=60, n_sites=5, beta=0.05, seed=4)
    t, normal = distance_slope(error, ref, site), distance_slope(error, ref, site, use_t=False)
    assert t.se == normal.se
    z = t.beta / t.se
    assert t.p == pytest.approx(2 * stats.t.sf(abs(z), 4), rel=1e-9)
    assert normal.p == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)
    assert t.p > normal.p
    assert t.high - t.low > normal.high - normal.low


def test_the_two_ends():
    _, ref, site = _answers()
    recites = distance_slope(ref, ref, site)
    assert recites.share == pytest.approx(1.0)
    assert recites.beta == pytest.approx(recites.endpoint)
    assert recites.spearman == pytest.approx(1.0)
    ignores = distance_slope(np.full(len(ref), 2.0), ref, site)
    assert ignores.beta == pytest.approx(0.0, abs=1e-12)
    assert ignores.share == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(ignores.spearman)  # a constant has no ranks


def test_published_factor_and_share():
    """Section 6.2.3: 0.0820 per km is a factor of 2.8 from 0.5 to 6 km, and 47 % of the way to 0.176."""
    ref = np.tile(np.linspace(0.5, 6, 12), 4)
    site = np.repeat(list("abcd"), 12)
    slope = distance_slope(10 ** (0.0820 * ref), ref, site)
    assert slope.beta == pytest.approx(0.0820, rel=1e-9)
    assert round(slope.factor, 1) == 2.8
    assert slope.share == pytest.approx(0.0820 / slope.endpoint)
    assert round(0.0820 / 0.176, 2) == 0.47


def test_row_order_and_units_of_labels_do_not_matter():
    error, ref, site = _answers()
    order = np.random.default_rng(1).permutation(len(ref))
    one = distance_slope(error, ref, site)
    other = distance_slope(error[order], ref[order], [f"site-{i}" for i in site[order]])
    assert other[:8] == pytest.approx(one[:8], rel=1e-9)
    gaps = distance_slope(error, ref, site * 7 + 3)
    assert gaps[:8] == pytest.approx(one[:8], rel=1e-12)


def test_zeros_and_missing_are_counted():
    error = [0.0, np.nan, 1.0, 2.0, 4.0, 3.0, 2.5]
    ref = [1.0, 1.0, 1.0, 2.0, np.nan, 4.0, 3.0]
    slope = distance_slope(error, ref, list("aabbccc"))
    assert (slope.n, slope.n_zero, slope.n_missing, slope.n_sites) == (4, 1, 2, 2)
    assert slope.beta == pytest.approx(distance_slope([1, 2, 3, 2.5], [1, 2, 4, 3], list("bbcc")).beta)
    floored = distance_slope(error, ref, list("aabbccc"), floor_km=0.01)
    assert (floored.n, floored.n_zero) == (5, 0)
    assert floored.beta > slope.beta  # the near exact answer now counts as 10 m
    assert distance_slope([1.0, 1, 1, 1], [0.0, 1, 2, 3], list("abcd")).n_zero == 1


def test_edges_say_why():
    one_site = distance_slope([1.0, 2, 3, 5], [1.0, 2, 3, 4], ["a"] * 4)
    assert one_site.beta > 0
    assert math.isnan(one_site.se) and math.isnan(one_site.p) and math.isnan(one_site.low)
    assert "one site" in one_site.reason
    for n in range(3):
        few = distance_slope([1.0, 2.0][:n], [1.0, 2.0][:n], ["a", "b"][:n])
        assert math.isnan(few.beta) and few.n == n and "at least 3" in few.reason
    level = distance_slope([1.0, 2, 3], [2.0, 2, 2], list("abc"))
    assert math.isnan(level.beta) and "one distance" in level.reason


def test_bad_input_is_named():
    with pytest.raises(DataError, match="-1"):
        distance_slope([-1.0, 1, 2], [1.0, 2, 3], list("abc"))
    with pytest.raises(DataError, match="no site label"):
        distance_slope([1.0, 1, 2], [1.0, 2, 3], ["a", None, "b"])
    with pytest.raises(DataError, match="2 and 3"):
        distance_slope([1.0, 1], [1.0, 2, 3], list("abc"))
    with pytest.raises(DataError, match="numbers"):
        distance_slope(["near"], [1.0], ["a"])
    with pytest.raises(ConfigError, match="floor_km"):
        distance_slope([1.0], [1.0], ["a"], floor_km=0)


def test_type_one_error_with_ten_sites():
    """600 null data sets with site effects in level and in slope: near 5 % with t, clearly more with the normal."""
    rng = np.random.default_rng(6)
    site = np.repeat(np.arange(10), 20)
    rejected = np.zeros(2)
    for _ in range(600):
        ref = rng.uniform(0.5, 6, 200)
        level, tilt = rng.normal(0, 0.3, 10)[site], rng.normal(0, 0.05, 10)[site]
        error = 10 ** (level + tilt * (ref - 3.25) + rng.normal(0, 0.4, 200))
        rejected += [distance_slope(error, ref, site, use_t=t).p < 0.05 for t in (True, False)]
    share_t, share_normal = rejected / 600
    assert 0.03 < share_t < 0.085  # the sandwich is known to be a little liberal with ten clusters
    assert share_normal > share_t + 0.01
