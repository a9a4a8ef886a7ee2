"""Kappa, Wilson, rankings, split halves and planning against published counts, libraries and simulated truth."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.stats import (
    cohen_kappa,
    groups_for_difference,
    groups_for_width,
    kappa_from_counts,
    order_probability,
    power_of,
    rank_agreement,
    rank_probabilities,
    rank_table,
    split_half_regimes,
    width_at,
    wilson,
)


def test_published_kappa_from_the_four_counts():
    """GeoContext, section 3.2.1: 343 of 429 agree, 65 human excludes only, 21 model rejects only, kappa 0.185.

    The 343 split into 326 kept by both and 17 excluded by both: no other whole split but its mirror gives 0.185.
    """
    result = kappa_from_counts([[326, 21], [65, 17]])
    assert (result.n, round(result.kappa, 3), round(result.agreement, 3)) == (429, 0.185, 0.8)
    fits = [k for k in range(344) if round(kappa_from_counts([[343 - k, 21], [65, k]]).kappa, 3) == 0.185]
    assert fits == [17, 326]
    a = ["keep"] * 347 + ["exclude"] * 82
    b = ["keep"] * 326 + ["exclude"] * 21 + ["keep"] * 65 + ["exclude"] * 17
    assert cohen_kappa(a, b)[:8] == pytest.approx(result[:8])
    assert cohen_kappa(b, a).kappa == pytest.approx(result.kappa)


def test_kappa_by_hand_and_against_sklearn():
    from sklearn.metrics import cohen_kappa_score

    # 5 of 6 agree; chance: 1/2 * 1/3 + 1/2 * 2/3 = 1/2; kappa = (5/6 - 1/2) / (1/2)
    hand = cohen_kappa(list("yyynnn"), list("yynnnn"))
    assert (hand.agreement, hand.expected, hand.kappa) == pytest.approx((5 / 6, 1 / 2, 2 / 3))
    rng = np.random.default_rng(0)
    a = rng.integers(1, 6, 200)
    b = np.clip(a + rng.integers(-1, 2, 200), 1, 5)
    for weights in (None, "linear", "quadratic"):
        assert cohen_kappa(a, b, weights=weights).kappa == pytest.approx(cohen_kappa_score(a, b, weights=weights))
    low_mid_high = cohen_kappa(
        np.array(["low", "mid", "high"])[a % 3], np.array(["low", "mid", "high"])[b % 3],
        weights="linear", order=["low", "mid", "high"],
    )  # fmt: skip
    assert low_mid_high.kappa == pytest.approx(cohen_kappa_score(a % 3, b % 3, weights="linear"))


def test_kappa_interval_covers():
    """1,000 pairs of judges of 150 items with true kappa 0.4: the 95 % interval covers 93-97 %."""
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(1000):
        a = rng.random(150) < 0.5
        b = np.where(rng.random(150) < 0.4, a, rng.random(150) < 0.5)
        result = cohen_kappa(a, b)
        covered += result.low <= 0.4 <= result.high
    assert 930 <= covered <= 970


def test_kappa_edges():
    assert "no item" in cohen_kappa([], []).reason
    same = cohen_kappa(["a", "a"], ["a", "a"])
    assert math.isnan(same.kappa) and same.agreement == 1.0 and "one and the same" in same.reason
    gap = cohen_kappa(["a", None, "b", "a"], ["a", "b", float("nan"), "a"])
    assert (gap.n, gap.n_missing) == (2, 2)
    assert cohen_kappa(["a"], ["b"]).kappa == 0.0
    with pytest.raises(DataError, match="2 and 1"):
        cohen_kappa(["a", "b"], ["a"])
    with pytest.raises(DataError, match="'c'"):
        cohen_kappa(["a", "c"], ["a", "b"], order=["a", "b"])
    with pytest.raises(DataError, match="one kind"):
        cohen_kappa(["a", 1], ["a", "b"])
    with pytest.raises(DataError, match="square"):
        kappa_from_counts([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(ConfigError, match="weights"):
        kappa_from_counts([[1, 2], [3, 4]], weights="cubic")  # type: ignore[arg-type]


def test_wilson_equals_statsmodels_and_keeps_its_ends():
    from statsmodels.stats.proportion import proportion_confint

    for k, n in ((0, 12), (3, 12), (12, 12), (343, 429)):
        share = wilson(k, n)
        assert (share.low, share.high) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)
    assert wilson(0, 12).low == 0.0
    assert wilson(12, 12).high == 1.0
    assert math.isnan(wilson(0, 0).estimate)
    many = wilson([1, 2, 0], [4, 4, 0])
    assert many.estimate.tolist()[:2] == [0.25, 0.5]
    assert math.isnan(many.low[2])
    with pytest.raises(DataError, match="count <= n"):
        wilson(3, 2)


def test_rank_agreement_equals_scipy():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 8, 20).astype(float)
    b = a + rng.normal(0, 2, 20)
    result = rank_agreement(np.append(a, np.nan), np.append(b, 3.0))
    tau, rho = stats.kendalltau(a, b), stats.spearmanr(a, b)
    assert result[:4] == pytest.approx((tau.statistic, tau.pvalue, rho.statistic, rho.pvalue))
    assert result.n == 20
    assert rank_agreement([1, 2, 3], [3, 2, 1]).kendall == -1.0
    assert "at least 2" in rank_agreement([1], [1]).reason
    assert "same for all" in rank_agreement([1, 2], [5, 5]).reason
    assert rank_agreement([1, 2], [3, 4]).spearman == 1.0


def test_rank_probabilities_by_counting():
    rng = np.random.default_rng(2)
    draws = rng.normal([[0.0], [0.3], [2.0], [0.1]], 1.0, (4, 500))
    table = rank_probabilities(draws)
    ranks = (-draws).argsort(axis=0).argsort(axis=0)
    expected = [[(ranks[i] == r).mean() for r in range(4)] for i in range(4)]
    assert table == pytest.approx(np.array(expected))
    assert table.sum(axis=0) == pytest.approx(np.ones(4))
    assert rank_probabilities(-draws, higher_is_better=False) == pytest.approx(table)
    wins = order_probability(draws)
    assert wins[2, 0] == pytest.approx((draws[2] > draws[0]).mean())
    assert wins + wins.T == pytest.approx(np.ones((4, 4)))
    frame = rank_table(draws, ["a", "b", "c", "d"])
    assert frame["p_first"].idxmax() == 2
    assert frame["mean_rank"].tolist() == pytest.approx((ranks.mean(axis=1) + 1).tolist())


def test_ranks_share_ties_and_skip_missing():
    tied = rank_probabilities([[1.0], [1.0], [0.0]])
    assert tied.tolist() == [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    gaps = rank_probabilities([[1.0, np.nan], [2.0, 2.0], [np.nan, np.nan]])
    assert gaps[0].tolist() == [0.0, 1.0, 0.0]
    assert gaps[1].tolist() == [1.0, 0.0, 0.0]
    assert np.isnan(gaps[2]).all()
    assert rank_probabilities([[5.0, 6.0]]).tolist() == [[1.0]]
    with pytest.raises(DataError, match="2 rows of draws for 1"):
        rank_table([[1.0], [2.0]], ["a"])


def _sites(rng, n_sites=80, n_models=5, gain=0.0):
    """Every site has its own hit rate; the hint changes it by `gain` everywhere, so every true gain is `gain`."""
    rate = rng.uniform(0.1, 0.9, n_sites)
    models = [f"m{i}" for i in range(n_models)]
    cells = [(f"s{s}", m) for s in range(n_sites) for m in models]
    site_rate = np.repeat(rate, n_models)
    base = pd.DataFrame(cells, columns=["site", "model"]).assign(hit=rng.random(len(cells)) < site_rate)
    hinted = pd.concat([pd.DataFrame(cells, columns=["site", "model"])] * 6, ignore_index=True)
    return base, hinted.assign(hit=rng.random(len(hinted)) < np.tile(site_rate, 6) + gain)


def test_split_half_removes_the_selection():
    rng = np.random.default_rng(4)
    plain, mended = [], []
    for _ in range(12):
        base, hinted = _sites(rng)
        table = split_half_regimes(base, hinted, n_splits=40).table.set_index(["regime", "model"])
        plain.append([table.loc[(r, "all"), "uncorrected"] for r in ("illegible", "legible")])
        mended.append([table.loc[(r, "all"), "corrected"] for r in ("illegible", "legible")])
    plain, mended = np.mean(plain, axis=0), np.mean(mended, axis=0)
    assert plain[0] > 0.05 and plain[1] < -0.05  # nothing happens, and yet the hint seems to help and to harm
    assert abs(mended[0]) < 0.025 and abs(mended[1]) < 0.025


def test_split_half_by_hand():
    # Site a: 4 of 4 hits, b: 0 of 4: every half says the same, so correction changes nothing.
    base = pd.DataFrame({"site": ["a"] * 4 + ["b"] * 4, "model": list("xyxy") * 2, "hit": [1] * 4 + [0] * 4})
    hinted = pd.DataFrame({"site": list("aabb"), "model": list("xyxy"), "hit": [1, 0, 1, 0]})
    result = split_half_regimes(base, hinted)
    table = result.table.set_index(["regime", "model"])
    legible = table.loc[("legible", "all")]
    assert (legible["no_context"], legible["with_context"], legible["uncorrected"]) == (1.0, 0.5, -0.5)
    assert (legible["corrected"], legible["corrected_sd"]) == (-0.5, 0.0)
    assert (result.changed, result.disagree, result.n_sites, result.n_single) == (0.0, 0.0, 2, 0)
    assert table.loc[("illegible", "x"), "corrected"] == 1.0
    # Two answers, one hit: the half is 1 or 0, the other half the opposite; from both the site is legible.
    torn = split_half_regimes(
        pd.DataFrame({"site": list("cc"), "model": list("xy"), "hit": [1, 0]}), hinted, n_splits=400
    )
    assert torn.disagree == 1.0
    assert torn.changed == pytest.approx(0.5, abs=0.08)


def test_odd_numbers_give_either_side_the_larger_half():
    # Two hits of three: one answer alone is legible in 2 of 3 draws, two are always: 1/2 * 1/3 change side.
    base = pd.DataFrame({"site": ["a"] * 3, "model": list("xyz"), "hit": [1, 1, 0]})
    assert split_half_regimes(base, base, n_splits=3000).changed == pytest.approx(1 / 6, abs=4 * 0.0068)


def test_split_half_edges():
    base = pd.DataFrame({"site": list("aab"), "model": list("xyx"), "hit": [True, True, False]})
    hinted = pd.DataFrame({"site": list("abz"), "model": list("xxx"), "hit": [1.0, np.nan, 1.0]})
    result = split_half_regimes(base, hinted)
    assert result.n_single == 1
    illegible = result.table.set_index(["regime", "model"]).loc[("illegible", "all")]
    assert illegible["no_context"] == 0.0
    assert math.isnan(illegible["with_context"]) and math.isnan(illegible["corrected"])
    shuffled = split_half_regimes(base.iloc[::-1], hinted.iloc[::-1])
    pd.testing.assert_frame_equal(shuffled.table, result.table)
    with pytest.raises(DataError, match="without context"):
        split_half_regimes(base.iloc[:0], hinted)
    with pytest.raises(DataError, match="hit 2"):
        split_half_regimes(base.assign(hit=2), hinted)
    with pytest.raises(DataError, match="column"):
        split_half_regimes(base.drop(columns="model"), hinted)


def test_width_by_hand():
    # sd of the eight pilot means is 0.5345; 113 groups give 2 * 1.9814 * 0.5345 / sqrt(113) = 0.1993, 112 give 0.2002
    plan = groups_for_width([0, 1, 0, 1, 1, 0, 1, 0], range(8), width=0.2)
    assert plan.n_groups == 113
    assert plan.sd == pytest.approx(np.std([0, 1, 0, 1, 1, 0, 1, 0], ddof=1))
    assert width_at(plan, 113) <= 0.2 < width_at(plan, 112)
    assert plan.n_low < 113 < plan.n_high


def test_planned_width_comes_true():
    """Whoever follows the plan gets intervals of the planned width, on average over new benchmarks."""
    rng = np.random.default_rng(9)

    def draw(n):
        cluster = np.repeat(np.arange(n), 5)
        return rng.normal(0, 0.2, n)[cluster] + rng.normal(0.6, 0.3, 5 * n), cluster

    plan = groups_for_width(*draw(4000), width=0.08)
    n = int(plan.n_groups)
    widths = []
    for _ in range(200):
        values, _ = draw(n)
        means = values.reshape(n, 5).mean(axis=1)
        widths.append(2 * stats.t.ppf(0.975, n - 1) * means.std(ddof=1) / math.sqrt(n))
    assert np.mean(widths) == pytest.approx(0.08, rel=0.03)


def test_planned_power_comes_true():
    rng = np.random.default_rng(10)
    plan = groups_for_difference(rng.normal(0.1, 0.4, 5000), np.arange(5000), difference=0.1, power=0.8)
    n = int(plan.n_groups)
    assert power_of(plan, n, difference=0.1) == pytest.approx(0.8, abs=0.01)
    found = [stats.ttest_1samp(rng.normal(0.1, 0.4, n), 0).pvalue < 0.05 for _ in range(1500)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.035)
    harder = groups_for_difference(rng.normal(0.1, 0.4, 5000), np.arange(5000), difference=0.1, n_comparisons=20)
    assert harder.n_groups > 1.5 * n


def test_planning_with_datasets_and_edges():
    values = np.tile([0.0, 1.0, 1.0, 0.0], 4)
    plan = groups_for_width(values, np.arange(16), np.repeat(["a", "b"], 8), width=0.1)
    one = groups_for_width(values, np.arange(16), width=0.1)
    assert plan.mean == one.mean == 0.5
    assert plan.n_groups == pytest.approx(one.n_groups, rel=0.1)
    assert "no spread" in groups_for_width([1.0, np.nan], ["a", "b"], width=1).reason
    assert math.isnan(groups_for_width([], [], width=1).n_groups)
    assert "at least 2 in each" in groups_for_width([1.0, 2, 3], list("abc"), ["d", "d", "e"], width=1).reason
    assert groups_for_width([1.0, 1, 1], list("abc"), width=0.1).n_groups == 2
    assert "difference of 0" in groups_for_difference([1.0, -1], ["a", "b"]).reason
    with pytest.raises(ConfigError, match="width"):
        groups_for_width([1.0, 2], ["a", "b"], width=0)
    with pytest.raises(ConfigError, match="power"):
        groups_for_difference([1.0, 2], ["a", "b"], power=0.01)


def test_answers_of_one_group_are_not_more_groups():
    rng = np.random.default_rng(12)
    scene = rng.normal(0, 1, 30)
    once = groups_for_width(scene, np.arange(30), width=0.3)
    tenfold = groups_for_width(np.repeat(scene, 10), np.repeat(np.arange(30), 10), width=0.3)
    assert tenfold.n_groups == once.n_groups
