"""WLA, Acc@k, bins, TBS, TFR, TDR on numbers small enough to check by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost_kit.errors import DataError
from signpost_kit.metrics import (
    acc_at,
    attraction_rate,
    error_bins,
    mean_of_pairs,
    median_error_km,
    tbs_km,
    tdr_km,
    tfr,
    wla,
)

NAN = math.nan


def test_wla_at_the_papers_own_marks():
    # Section 5: decays to 0.5 at 138 km (ln 2 / 0.005 = 138.63), below 0.01 at 1,000 km.
    assert wla(0) == 1.0
    assert wla(138.62943611198907) == pytest.approx(0.5)
    assert wla(1000) < 0.01
    assert wla([0.0, NAN, math.inf]).tolist()[::2] == [1.0, 0.0]
    assert math.isnan(wla(NAN))
    assert wla(100, alpha=0.01) == pytest.approx(math.exp(-1))


def test_wla_refuses_nonsense():
    with pytest.raises(DataError, match="alpha"):
        wla(1.0, alpha=0)
    with pytest.raises(DataError, match="negative"):
        wla([3.0, -1.0])


@given(st.lists(st.floats(0, 20_015), min_size=2, max_size=30))
def test_wla_falls_with_distance(errors):
    ordered = sorted(errors)
    scores = wla(ordered)
    assert np.all(np.diff(scores) <= 0)
    assert np.all((scores >= 0) & (scores <= 1))


def test_acc_is_strict_and_knows_two_denominators():
    errors = [0.5, 1.0, 24.999, 25.0, NAN]
    assert acc_at(errors, 1) == pytest.approx(1 / 4)
    assert acc_at(errors, 25) == pytest.approx(3 / 4)
    assert acc_at(errors, 25, n_asked=5) == pytest.approx(3 / 5)
    assert math.isnan(acc_at([NAN], 25))
    assert acc_at([NAN], 25, n_asked=1) == 0.0


def test_bins_of_every_edge():
    assert error_bins([0.9, 1, 25, 200, 750, 2500, NAN]).tolist() == [
        "street",
        "city",
        "region",
        "country",
        "continent",
        "failed",
        "",
    ]


def test_median_of_the_answered():
    assert median_error_km([5.0, NAN, 1.0, 9.0]) == 5.0
    assert math.isnan(median_error_km([NAN]))


def test_tbs_and_tdr_signs_and_pairs():
    # Worse with text than without: positive. A missing side makes no pair.
    shift = tbs_km([300.0, 50.0, NAN], [100.0, 80.0, 10.0])
    assert shift[:2].tolist() == [200.0, -30.0]
    assert mean_of_pairs(shift) == 85.0
    # Nearer to the trap under Adversarial than under Blank: positive.
    reduction = tdr_km([1000.0, 200.0, 500.0, NAN], [20.0, 300.0, 500.0, 1.0])
    assert mean_of_pairs(reduction) == pytest.approx((980 - 100 + 0) / 3)
    assert attraction_rate(reduction) == pytest.approx(1 / 3)
    assert math.isnan(mean_of_pairs([NAN]))
    with pytest.raises(DataError, match="same group order"):
        tbs_km([1.0], [1.0, 2.0])


def test_tfr_is_strict_and_failures_can_stay_in():
    distances = [49.999, 50.0, 10.0, NAN]
    assert tfr(distances) == pytest.approx(2 / 3)
    assert tfr(distances, n_asked=4) == pytest.approx(2 / 4)
    assert tfr(distances, radius_km=51) == 1.0
    assert math.isnan(tfr([]))
