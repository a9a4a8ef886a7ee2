"""The formulas against the study's published numbers, as far as these determine each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from signpost_kit.metrics import mcrs
from signpost_kit.metrics.paper import (
    CAPABILITY_EXPONENT,
    ROBUSTNESS_WEIGHTS,
    SENSITIVITY_ADVERSARIAL_WEIGHTS,
    SENSITIVITY_EXPONENTS,
    TBS_ANCHOR_KM,
    TFR_ANCHOR,
)
from signpost_kit.metrics.standings import rank_of
from signpost_kit.published import published
from signpost_kit.stats.concordance import kendall, spearman


@pytest.fixture(scope="module")
def board() -> pd.DataFrame:
    return published("signpost/mcrs_leaderboard")


@pytest.fixture(scope="module")
def fact() -> pd.Series:
    return published("signpost/aggregate_facts").set_index("quantity")["value"].astype(float)


def test_mcrs_follows_from_c_and_r(board: pd.DataFrame) -> None:
    ours = mcrs(board["capability_pct"] / 100, board["robustness_pct"] / 100)
    assert ours == pytest.approx(board["mcrs"].to_numpy(), abs=0.011)  # C and R are rounded to 0.01 per cent


def test_the_order_of_the_leaderboard(board: pd.DataFrame) -> None:
    assert rank_of(board["mcrs"].to_numpy()).tolist() == board["rank"].tolist()
    ours = mcrs(board["capability_pct"] / 100, board["robustness_pct"] / 100)
    assert rank_of(np.asarray(ours)).tolist() == board["rank"].tolist()


def test_other_exponents_keep_the_order_as_far_as_published(board: pd.DataFrame, fact: pd.Series) -> None:
    able, robust = board["capability_pct"] / 100, board["robustness_pct"] / 100
    own = mcrs(able, robust)
    taus, rhos = {}, {}
    for exponent in SENSITIVITY_EXPONENTS:
        other = mcrs(able, robust, capability_exponent=exponent)
        taus[exponent], rhos[exponent] = float(kendall(other, own)), float(spearman(other, own))
        assert taus[exponent] == pytest.approx(scipy_stats.kendalltau(other, own)[0])
    assert taus[CAPABILITY_EXPONENT] == 1
    # The least agreement of the paper's table 4 is that of the exponent 0.50: 0.9053 and 0.9789.
    assert taus[0.50] == pytest.approx(fact["mcrs_sensitivity_min_kendall"], abs=0.0005)
    assert rhos[0.50] == pytest.approx(fact["mcrs_sensitivity_min_spearman"], abs=0.0005)
    assert (min(taus.values()), min(rhos.values())) == (taus[0.50], rhos[0.50])


def test_settings_are_the_papers() -> None:
    assert SENSITIVITY_ADVERSARIAL_WEIGHTS == (0.30, 0.44, 0.50)
    assert SENSITIVITY_EXPONENTS == (0.30, 0.40, 0.50)
    assert sum(ROBUSTNESS_WEIGHTS.values()) == pytest.approx(1)


def test_no_anchor_is_reached(fact: pd.Series) -> None:
    assert fact["max_model_tfr"] < TFR_ANCHOR
    assert fact["max_model_tbs_adversarial"] < TBS_ANCHOR_KM
    assert fact["max_model_tfr"] == pytest.approx(fact["tfr_max"] / 100, abs=0.0005)


def test_aggregate_facts_that_follow_from_others(fact: pd.Series) -> None:
    composition = published("signpost/composition")
    assert composition["groups"].sum() == fact["groups"]
    assert fact["image_variants"] == 5 * fact["groups"]
    assert fact["evaluations"] == 20 * fact["image_variants"]
    assert sum(fact[f"tier_{tier}_groups"] for tier in ("T1", "T2", "T3")) == fact["groups"]
    drop = 100 * (1 - fact["mean_wla_adversarial"] / fact["mean_wla_original"])
    assert drop == pytest.approx(fact["relative_wla_drop"], abs=0.06)
    assert fact["T3_wla_drop"] / fact["T3_wla_original"] * 100 == pytest.approx(fact["T3_relative_drop"], abs=0.1)


def test_c_averages_original_and_blank(board: pd.DataFrame, fact: pd.Series) -> None:
    # Mean C = mean of Original and Blank = Original minus half their gap, over the same 20 models.
    expected = fact["mean_wla_original"] - fact["original_minus_blank_wla"] / 2
    assert board["capability_pct"].mean() == pytest.approx(expected, abs=0.02)
