"""Distances and directions on a sphere, in degrees and kilometres.

Both studies use a sphere of R = 6371.0 km. Every function takes scalars or arrays, broadcasts like numpy, and
gives NaN wherever an input is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["EARTH_RADIUS_KM", "Point", "distance_bands", "haversine_km", "initial_bearing", "spherical_mean"]

EARTH_RADIUS_KM = 6371.0
"""SIGNPOST-Bench, section 5, and GeoContext, section 4."""

_MIN_RESULTANT = 1e-9  # below this the mean direction is rounding noise: antipodal points have no mean


class Point(NamedTuple):
    """A position in degrees, north and east positive."""

    lat: float
    lon: float


def haversine_km(lat1: ArrayLike, lon1: ArrayLike, lat2: ArrayLike, lon2: ArrayLike) -> Any:
    """Great-circle distance in km between points in degrees, by the haversine formula.

    Parameters
    ----------
    lat1, lon1, lat2, lon2
        Degrees, north and east positive; any shapes that broadcast together. Longitudes may exceed 180.

    Returns
    -------
    A float for four scalars, else an array of the broadcast shape; 0 to pi * 6371.0 km, NaN where any input is.

    Notes
    -----
    The haversine is clamped to [0, 1]: rounding lifts it above 1 for nearly 4 % of antipodal pairs.

    Examples
    --------
    >>> round(haversine_km(48.8566, 2.3522, 51.5074, -0.1278), 1)  # Paris to London
    343.6
    """
    phi1, phi2 = np.radians(lat1), np.radians(lat2)
    half_dlat = np.sin((phi2 - phi1) * 0.5)
    half_dlon = np.sin((np.radians(lon2) - np.radians(lon1)) * 0.5)
    chord = half_dlat * half_dlat + np.cos(phi1) * np.cos(phi2) * (half_dlon * half_dlon)
    distance = (2.0 * EARTH_RADIUS_KM) * np.arcsin(np.sqrt(np.clip(chord, 0.0, 1.0)))
    return float(distance) if np.ndim(distance) == 0 else distance


def initial_bearing(lat1: ArrayLike, lon1: ArrayLike, lat2: ArrayLike, lon2: ArrayLike) -> Any:
    """Compass direction in degrees [0, 360) in which the great circle leaves the first point.

    0 is north, 90 east. Two equal points give 0; NaN where any input is NaN.
    """
    phi1, phi2 = np.radians(lat1), np.radians(lat2)
    dlon = np.radians(lon2) - np.radians(lon1)
    east = np.sin(dlon) * np.cos(phi2)
    north = np.cos(phi1) * np.sin(phi2) - np.sin(phi1) * np.cos(phi2) * np.cos(dlon)
    bearing = np.degrees(np.arctan2(east, north)) % 360.0
    bearing = np.where(bearing == 360.0, 0.0, bearing)  # -1e-15 % 360 rounds to 360
    return float(bearing) if np.ndim(bearing) == 0 else bearing


def spherical_mean(lat: ArrayLike, lon: ArrayLike) -> Point:
    """The mean position of points in degrees: the direction of the mean unit vector.

    Pairs with a NaN are left out. No point at all, or points that cancel out (two antipodes), give NaN, NaN.
    """
    phi, lam = np.radians(np.ravel(lat)), np.radians(np.ravel(lon))
    keep = np.isfinite(phi) & np.isfinite(lam)
    if not keep.any():
        return Point(float("nan"), float("nan"))
    phi, lam = phi[keep], lam[keep]
    x, y, z = (np.cos(phi) * np.cos(lam)).mean(), (np.cos(phi) * np.sin(lam)).mean(), np.sin(phi).mean()
    if np.sqrt(x * x + y * y + z * z) < _MIN_RESULTANT:
        return Point(float("nan"), float("nan"))
    return Point(float(np.degrees(np.arctan2(z, np.hypot(x, y)))), float(np.degrees(np.arctan2(y, x))))


def distance_bands(distance_km: ArrayLike, edges: Sequence[float]) -> np.ndarray:
    """Index of the half-open band [edges[i-1], edges[i]) each distance lies in, -1 for NaN.

    Parameters
    ----------
    distance_km
        Distances in km, any shape.
    edges
        Increasing inner edges in km; k edges make k + 1 bands, numbered 0 to k.

    Examples
    --------
    >>> distance_bands([0.3, 1.0, 9000.0, float("nan")], [1, 25, 200]).tolist()
    [0, 1, 3, -1]
    """
    steps = np.asarray(edges, dtype=float)
    if steps.ndim != 1 or not np.all(np.diff(steps) > 0):
        raise ValueError(f"edges must be increasing numbers of km, got {list(edges)}")
    distance = np.asarray(distance_km, dtype=float)
    bands = np.searchsorted(steps, distance, side="right")
    return np.where(np.isnan(distance), -1, bands)
