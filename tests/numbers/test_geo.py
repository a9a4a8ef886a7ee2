"""Distances against hand values, the law of cosines and its weak spots."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost_kit.geo import distance_bands, haversine_km, initial_bearing, spherical_mean

R = 6371.0
lats = st.floats(-90, 90)
lons = st.floats(-180, 180)


def test_quarter_and_half_circle_by_hand():
    assert haversine_km(0, 0, 0, 90) == pytest.approx(math.pi * R / 2, abs=1e-9)
    assert haversine_km(90, 0, -90, 0) == pytest.approx(math.pi * R, abs=1e-9)
    assert haversine_km(10, 20, 10, 20) == 0.0
    # One degree of latitude is pi * 6371 / 180 km.
    assert haversine_km(0, 5, 1, 5) == pytest.approx(111.19492664455873, abs=1e-9)


def test_across_the_date_line_is_short():
    assert haversine_km(0, 179.5, 0, -179.5) == pytest.approx(111.19492664455873, abs=1e-6)


def test_antipodes_never_fail():
    # Rounding lifts the haversine above 1 for some 3.8 % of these pairs; none may become NaN or warn.
    rng = np.random.default_rng(0)
    lat, lon = rng.uniform(-90, 90, 20_000), rng.uniform(-180, 180, 20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        distance = haversine_km(lat, lon, -lat, lon + 180)
    assert distance == pytest.approx(np.full(20_000, math.pi * R), abs=1e-3)


def test_broadcasts_and_lets_nan_through():
    distance = haversine_km(np.array([[0.0], [math.nan]]), 0.0, np.array([0.0, 1.0, 2.0]), 0.0)
    assert distance.shape == (2, 3)
    assert np.isnan(distance[1]).all()
    assert not np.isnan(distance[0]).any()
    assert math.isnan(haversine_km(math.nan, 0, 0, 0))


@given(lats, lons, lats, lons)
def test_symmetric_bounded_and_equal_to_the_vector_angle(a, b, c, d):
    there = haversine_km(a, b, c, d)
    assert there == pytest.approx(haversine_km(c, d, a, b), abs=1e-9)
    assert 0 <= there <= math.pi * R + 1e-9

    def unit(lat, lon):
        p, q = math.radians(lat), math.radians(lon)
        return np.array([math.cos(p) * math.cos(q), math.cos(p) * math.sin(q), math.sin(p)])

    u, v = unit(a, b), unit(c, d)
    angle = math.atan2(np.linalg.norm(np.cross(u, v)), float(u @ v))
    assert there == pytest.approx(R * angle, abs=1e-3)  # the haversine is flat at antipodes


def test_bearings_of_the_compass():
    assert initial_bearing(0, 0, 1, 0) == 0.0
    assert initial_bearing(0, 0, 0, 1) == pytest.approx(90)
    assert initial_bearing(0, 0, -1, 0) == pytest.approx(180)
    assert initial_bearing(0, 0, 0, -1) == pytest.approx(270)
    assert initial_bearing(5, 5, 5, 5) == 0.0
    assert initial_bearing([0.0, 0.0], 0, [1.0, 0.0], [0.0, 1.0]).tolist() == pytest.approx([0, 90])


def test_mean_across_the_date_line_and_its_undefined_cases():
    assert spherical_mean([0, 0], [179, -179]).lon in (pytest.approx(180), pytest.approx(-180))
    assert spherical_mean([10, math.nan], [20, 5]) == pytest.approx((10, 20))
    assert all(math.isnan(part) for part in spherical_mean([], []))
    assert all(math.isnan(part) for part in spherical_mean([0, 0], [0, 180]))


def test_bands_are_half_open_and_mark_nan():
    bands = distance_bands([0.999, 1.0, 24.9, 25.0, 3000.0, math.nan], (1, 25, 200, 750, 2500))
    assert bands.tolist() == [0, 1, 1, 2, 5, -1]
    with pytest.raises(ValueError, match="increasing"):
        distance_bands([1.0], [5, 5])
