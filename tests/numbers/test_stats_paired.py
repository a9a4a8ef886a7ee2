"""Paired tests against scipy, hand arithmetic and the plain loop; their size under the null."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.stats import compare_models, compare_paired, holm, paired_sign_flip, paired_wilcoxon


def test_wilcoxon_by_hand():
    # differences 4, 2, -1, 0, 5: ranks 3, 2, 1, -, 4; W+ = 9, W- = 1; of 16 sign patterns two have W+ >= 9
    result = paired_wilcoxon([5, 4, 3, 2, 7], [1, 2, 4, 2, 2])
    assert (result.statistic, result.p, result.n, result.n_zero) == (9.0, 2 / 16, 4, 1)
    assert result.rank_biserial == pytest.approx((9 - 1) / 10)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_wilcoxon_equals_scipy(alternative):
    rng = np.random.default_rng(3)
    x = np.round(rng.random(400), 2)
    y = np.round(np.where(rng.random(400) < 0.3, x, x - 0.05 + rng.normal(0, 0.2, 400)), 2)
    ours = paired_wilcoxon(x, y, alternative=alternative)
    theirs = stats.wilcoxon(x, y, alternative=alternative, zero_method="wilcox")
    assert ours.statistic == theirs.statistic
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-12)
    assert ours.n_zero == (x == y).sum()
    assert ours.n == 400 - ours.n_zero


def test_wilcoxon_signs_and_missing():
    x, y = np.array([3.0, np.nan, 5, 6, 9]), np.array([1.0, 2, np.nan, 2, 3])
    better, worse = paired_wilcoxon(x, y), paired_wilcoxon(y, x)
    assert better.rank_biserial == 1.0
    assert worse.rank_biserial == -1.0
    assert better.n_missing == 2
    assert better.p == pytest.approx(1 / 8)  # one of 2**3 patterns
    assert worse.p == 1.0


@pytest.mark.parametrize(
    ("x", "y", "n", "n_zero"), [([], [], 0, 0), ([1.0], [1.0], 0, 1), ([1.0], [0.0], 1, 0), ([2, 2], [2, 2], 0, 2)]
)
def test_wilcoxon_without_enough_pairs(x, y, n, n_zero):
    result = paired_wilcoxon(x, y)
    assert (result.n, result.n_zero) == (n, n_zero)
    assert math.isnan(result.p)
    assert math.isnan(result.rank_biserial)
    assert "at least 2" in result.reason


def test_bad_pairs_are_named():
    with pytest.raises(DataError, match="2 and 3"):
        paired_wilcoxon([1, 2], [1, 2, 3])
    with pytest.raises(ConfigError, match="'bigger'"):
        paired_wilcoxon([1, 2], [2, 1], alternative="bigger")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="infinite"):
        paired_sign_flip([math.inf, 1.0], ["a", "b"])
    with pytest.raises(DataError, match="labels of shape"):
        paired_sign_flip([1.0, 2.0], ["a"])
    with pytest.raises(DataError, match="no cluster label"):
        paired_sign_flip([1.0, 2.0], ["a", None])
    with pytest.raises(ConfigError, match="n_flips"):
        paired_sign_flip([1.0, 2.0], ["a", "b"], n_flips=0)


def _loop_p(delta, cluster, n_flips, seed):
    """The slow definition: one random sign per cluster, every pair multiplied, two-sided."""
    rng = np.random.default_rng(seed)
    names = sorted(set(cluster))
    b = 0
    for _ in range(n_flips):
        sign = dict(zip(names, rng.choice([-1, 1], len(names)), strict=True))
        flipped = np.mean([d * sign[c] for d, c in zip(delta, cluster, strict=True)])
        b += abs(flipped) >= abs(np.mean(delta)) - 1e-12
    return (b + 1) / (n_flips + 1)


def test_sign_flip_agrees_with_the_loop():
    rng = np.random.default_rng(5)
    cluster = np.array([f"s{i}" for i in rng.integers(0, 19, 120)])
    delta = rng.integers(-1, 2, 120) + 0.12
    result = paired_sign_flip(delta, cluster)
    assert result.mean == pytest.approx(delta.mean())
    assert (result.n, result.n_clusters) == (120, 19)
    expected = _loop_p(delta, cluster, 4000, 1)
    assert 0.02 < expected < 0.9
    assert result.p == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 4000))


def test_sign_flip_against_all_sign_patterns():
    # sums 3, 1, 1: of 8 patterns |sum| >= 5 only +++ and ---: p -> 1/4
    result = paired_sign_flip([1, 2, 1, 1], ["a", "a", "b", "c"], n_flips=200_000)
    assert result.p == pytest.approx(0.25, abs=0.005)
    assert "no p below 0.25" in result.reason


def test_rounding_makes_no_tie_into_a_difference():
    # 0.1 + 0.2 is not 0.3 in floating point; the patterns +-(0.1 + 0.2), +-0.3 tie in truth: sum 0.6 or 0
    result = paired_sign_flip([0.1, 0.2, 0.3], ["a", "a", "b"], n_flips=50_000)
    assert result.p == pytest.approx(0.5, abs=0.01)


def test_sign_flip_depends_on_neither_order_nor_kind_of_labels():
    rng = np.random.default_rng(8)
    delta, cluster = rng.normal(0.1, 1, 300), rng.integers(0, 40, 300)
    p = paired_sign_flip(delta, cluster).p
    order = rng.permutation(300)
    assert paired_sign_flip(delta[order], cluster[order]).p == p
    assert paired_sign_flip(delta, cluster).p == p
    assert paired_sign_flip(-delta, cluster).p == p
    assert paired_sign_flip(delta, [f"{c:03d}" for c in cluster]).p == p
    assert paired_sign_flip(delta, cluster * 1000).p == p


def test_clusters_flip_as_a_whole():
    # One site answered 200 times must not count as 200 sites.
    delta = np.concatenate([np.ones(200), -np.ones(3), np.ones(3)])
    together = paired_sign_flip(delta, ["a"] * 200 + list("bcdefg"))
    alone = paired_sign_flip(delta, np.arange(206))
    assert together.p > 0.5
    assert alone.p == pytest.approx(1 / 20_001)  # (0 + 1) / (m + 1), never 0


def test_sign_flip_edges():
    nothing = paired_sign_flip([], [])
    assert math.isnan(nothing.mean) and math.isnan(nothing.p)
    assert (nothing.n, nothing.n_clusters, nothing.reason) == (0, 0, "no complete pair")
    missing = paired_sign_flip([np.nan, np.nan], ["a", "b"])
    assert (missing.n, missing.n_missing) == (0, 2)
    one = paired_sign_flip([0.5, 0.25, np.nan], ["a", "a", "b"])
    assert (one.p, one.n_clusters, one.n_missing) == (1.0, 1, 1)
    assert "one cluster" in one.reason
    assert paired_sign_flip([0, 0, 0], ["a", "b", "c"]).p == 1.0  # the study's checklist at illegible sites


def test_sign_flip_holds_its_level():
    """400 null benchmarks with strong site effects: 4-6 % at 5 %, within the Monte Carlo error of 400."""
    rng = np.random.default_rng(11)
    cluster = np.repeat(np.arange(30), 8)
    rejected = 0
    for _ in range(400):
        delta = rng.normal(0, 1, 30)[cluster] + rng.normal(0, 1, 240)
        rejected += paired_sign_flip(delta, cluster, n_flips=500).p <= 0.05
    assert 0.05 - 2.6 * 0.0109 < rejected / 400 < 0.05 + 2.6 * 0.0109


def test_holm_by_hand_and_against_statsmodels():
    from statsmodels.stats.multitest import multipletests

    assert holm([0.01, 0.04, 0.03, np.nan]).tolist()[:3] == pytest.approx([0.03, 0.06, 0.06])
    p = np.random.default_rng(2).random(30) ** 3
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    with_gap = np.insert(p, 4, np.nan)
    assert math.isnan(holm(with_gap)[4])
    assert np.delete(holm(with_gap), 4) == pytest.approx(holm(p))
    assert holm([]).shape == (0,)
    assert holm([0.6, 0.9]).tolist() == [1.0, 1.0]
    with pytest.raises(DataError, match="between 0 and 1"):
        holm([0.1, 1.2])


def test_compare_paired_weighs_datasets_alike():
    # dataset a: differences 1, 1, 1, 1; b: -1. Pooled mean 0.6, macro mean 0
    result = compare_paired([1, 1, 1, 1, 0], [0, 0, 0, 0, 1], list("vwxyz"), list("aaaab"))
    assert result.difference == 0.0
    assert (result.n, result.n_clusters) == (5, 5)
    assert result.p > 0.9


def test_compare_paired_edges():
    nothing = compare_paired([np.nan], [1.0], ["g"])
    assert math.isnan(nothing.difference) and "both answered" in nothing.reason
    one = compare_paired([0.7, 0.9], [0.5, 0.5], ["g", "g"])
    assert one.difference == pytest.approx(0.3)
    assert one.p == 1.0
    assert math.isnan(one.low)


def test_compare_models_pairs_by_picture():
    rng = np.random.default_rng(0)
    groups = pd.DataFrame({"dataset": ["d1"] * 20 + ["d2"] * 20, "group_id": [f"g{i % 20}" for i in range(40)]})
    rows = []
    for model, gain in (("strong", 0.2), ("weak", 0.0), ("same", 0.0)):
        for variant in ("Blank", "Adversarial"):
            noise = rng.normal(0, 0.05, 40) if model != "same" else 0.0
            rows.append(groups.assign(model=model, variant=variant, wla=0.5 + gain + noise))
    scores = pd.concat(rows, ignore_index=True)
    scores.loc[0, "wla"] = np.nan
    table = compare_models(scores.sample(frac=1, random_state=1), pairs=[("strong", "weak"), ("weak", "same")])
    assert table["first"].tolist() == ["strong", "weak"]
    first, second = table.iloc[0], table.iloc[1]
    assert first["difference"] == pytest.approx(0.2, abs=0.03)
    assert first["low"] < 0.2 < first["high"] + 0.03 and first["low"] > 0.1
    assert first["p"] == pytest.approx(1 / 20_001)
    assert first["p_holm"] == pytest.approx(2 / 20_001)
    assert (first["n"], first["n_clusters"], first["n_missing"]) == (79, 40, 1)
    assert second["p_holm"] == second["p"] > 0.05
    assert len(compare_models(scores, n_resamples=50, n_flips=100)) == 3
    with pytest.raises(DataError, match="stand twice"):
        compare_models(pd.concat([scores, scores]))
    with pytest.raises(DataError, match="'nobody'"):
        compare_models(scores, pairs=[("nobody", "weak")])
    with pytest.raises(DataError, match="lack the column"):
        compare_models(scores.drop(columns="wla"))
