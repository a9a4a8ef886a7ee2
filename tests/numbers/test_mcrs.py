"""C, R and MCRS: by hand, against the published leaderboard, and at their clips."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.metrics import capability, mcrs, retention, robustness, weights_with, weights_without
from signpost_kit.metrics.paper import ROBUSTNESS_WEIGHTS
from signpost_kit.published import published, published_names

share = st.floats(0, 1)


def test_all_twenty_published_models_to_two_hundredths():
    table = published("signpost/mcrs_leaderboard")
    assert len(table) == 20
    ours = mcrs(table["capability_pct"] / 100, table["robustness_pct"] / 100)
    assert np.abs(ours - table["mcrs"]).max() <= 0.02
    assert (np.diff(ours) < 0).all()  # and the published ranking


def test_robustness_by_hand():
    # retention: random 1 - 0.02/0.40 = 0.95, adversarial 1 - 0.10/0.40 = 0.75; q_TBS 1 - 900/3000 = 0.7;
    # q_TFR 1 - 0.10/0.40 = 0.75. R = 0.22*0.95 + 0.44*0.75 + 0.17*0.7 + 0.17*0.75 = 0.7855.
    assert robustness(0.40, 0.38, 0.30, 900.0, 0.10) == pytest.approx(0.7855, abs=1e-12)
    # C = (0.5 + 0.4) / 2 = 0.45; logarithms: 0.4 * -0.798508 + 0.6 * -0.241435 = -0.464264, and e^-0.464264 = 0.6286.
    assert mcrs(capability(0.5, 0.4), 0.7855) == pytest.approx(62.86, abs=1e-2)


def test_retention_clips_and_has_a_floor():
    assert retention(0.5, 0.4) == 1.0  # a gain is no credit
    assert retention(0.01, 0.05) == pytest.approx(1 - 0.04 / 0.10)  # not 1 - 0.04/0.05
    assert retention(0.0, 0.4) == 0.0
    assert math.isnan(retention(math.nan, 0.4))


def test_anchors_are_where_the_terms_vanish():
    best, nothing = robustness(0.4, 0.4, 0.4, -500.0, 0.0), robustness(0.4, 0.0, 0.0, 3000.0, 0.40)
    assert best == pytest.approx(1.0)
    assert nothing == pytest.approx(0.0)
    assert robustness(0.4, 0.0, 0.0, 9000.0, 1.0) == pytest.approx(0.0)


def test_sensitivity_and_ablation_weights_sum_to_one():
    # Table 4: adversarial 0.30; the others keep their proportions: 0.22 * 0.70 / 0.56 = 0.275.
    weights = weights_with(0.30)
    assert weights["random"] == pytest.approx(0.275)
    assert sum(weights.values()) == pytest.approx(1)
    assert weights_with(0.44) == pytest.approx(dict(ROBUSTNESS_WEIGHTS))
    dropped = weights_without("tfr")
    assert dropped["tfr"] == 0
    assert dropped["adversarial"] == pytest.approx(0.44 / 0.83)
    # A model without any trap still has a robustness once the TFR term is dropped.
    assert robustness(0.4, 0.4, 0.4, 0.0, math.nan, weights=dropped) == pytest.approx(1.0)
    with pytest.raises(ConfigError, match="no component"):
        weights_without("tdr")
    with pytest.raises(ConfigError, match="sum to 1"):
        robustness(0.4, 0.4, 0.4, 0, 0, weights={"random": 1, "adversarial": 1, "tbs": 0, "tfr": 0})


def test_per_cent_is_refused_by_name():
    with pytest.raises(DataError, match=r"capability is a fraction.*56.58"):
        mcrs(56.58, 0.8593)
    with pytest.raises(DataError, match="tfr"):
        robustness(0.4, 0.4, 0.4, 0, 6.5)


@given(share, st.tuples(share, share), st.floats(-5000, 20_000), share, share)
def test_bounds_and_monotony(blank, edited, tbs, trapped, able):
    random, adversarial = edited
    r = robustness(blank, random, adversarial, tbs, trapped)
    assert -1e-12 <= r <= 1 + 1e-12
    assert 0 <= mcrs(able, min(r, 1.0)) <= 100 + 1e-9
    assert robustness(blank, random, adversarial, tbs + 100, trapped) <= r + 1e-12
    assert robustness(blank, random, adversarial, tbs, min(1.0, trapped + 0.1)) <= r + 1e-12
    assert robustness(blank, random, min(1.0, adversarial + 0.1), tbs, trapped) >= r - 1e-12


def test_published_tables_are_complete_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert len(published_names()) == 16
    assert published("signpost/composition")["groups"].sum() == 5111
    monkeypatch.chdir(tmp_path)  # found beside the package, too
    assert len(published("geocontext/models")) == 7
    with pytest.raises(DataError, match="did you mean 'signpost/mcrs_leaderboard'"):
        published("signpost/leaderboard")
    with pytest.raises(DataError, match="no published table"):
        published("../models")
