"""Are the columns of latitude and longitude exchanged? Told by where people live, with how sure that is.

An early public list of im2gps3k has the two exchanged, and most of its rows are still possible positions: a check
of ranges finds few. Pictures are taken near towns, so the reading that puts more of them there is the right one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["ExchangeTest", "exchange_test"]

NEAR_KM = 100.0
_SURE = 1e-6
_MAYBE = 0.01
_ROWS = 2000


@dataclass(frozen=True)
class ExchangeTest:
    """What the test found."""

    n: int
    """Distinct places looked at (a tenth of a degree apart)."""
    near_as_written: float
    """Share of them within 100 km of a city of 15,000 people; NaN for n = 0."""
    near_exchanged: float
    p: float
    """Two-sided sign test over the places where only one of the readings is near a city; 1 where there is none."""
    verdict: str
    """right · exchanged · perhaps exchanged · cannot tell."""

    @property
    def detail(self) -> str:
        """The finding as one sentence."""
        if not self.n:
            return "there are no positions to judge by"
        return (
            f"of {self.n:,} places {self.near_as_written:.0%} lie within {NEAR_KM:.0f} km of a town as written, "
            f"{self.near_exchanged:.0%} with the columns exchanged ({_p(self.p)}, sign test)"
        )


def exchange_test(lat: np.ndarray, lon: np.ndarray) -> ExchangeTest:
    """Compare the two readings of a list's positions.

    Parameters
    ----------
    lat, lon
        As written, degrees; a pair that no reading allows, or that is not finite, is left out. Pairs in one
        tenth of a degree count once, for pictures come in series; of many places 2,000 are taken, evenly.
    """
    from signpost_kit.benchmark.lists.places import km_to_city

    ok = np.isfinite(lat) & np.isfinite(lon)
    pairs = np.unique(np.round(np.column_stack([lat[ok], lon[ok]]), 1), axis=0)
    possible = [
        (np.abs(pairs[:, 0]) <= 90) & (np.abs(pairs[:, 1]) <= 180),
        (np.abs(pairs[:, 1]) <= 90) & (np.abs(pairs[:, 0]) <= 180),
    ]
    keep = (possible[0] | possible[1]) & (np.abs(pairs).max(axis=1, initial=0) > 0.05)
    pairs = pairs[keep]
    if len(pairs) > _ROWS:
        step = np.linspace(0, len(pairs) - 1, _ROWS).astype(int)
        pairs = pairs[step]
    if not len(pairs):
        return ExchangeTest(0, float("nan"), float("nan"), 1.0, "cannot tell")
    near = []
    for a, b in ((0, 1), (1, 0)):
        fits = np.abs(pairs[:, a]) <= 90
        lat_try = np.clip(pairs[:, a], -90, 90)
        near.append(fits & (km_to_city(lat_try, pairs[:, b]) <= NEAR_KM))
    only_written, only_exchanged = int((near[0] & ~near[1]).sum()), int((near[1] & ~near[0]).sum())
    p = _sign_test(only_written, only_exchanged)
    verdict = "cannot tell"
    if only_exchanged > only_written and p < _MAYBE:
        verdict = "exchanged" if p < _SURE else "perhaps exchanged"
    elif only_written > only_exchanged and p < _MAYBE:
        verdict = "right"
    return ExchangeTest(len(pairs), float(near[0].mean()), float(near[1].mean()), p, verdict)


def _sign_test(a: int, b: int) -> float:
    if a + b == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(min(a, b), a + b, 0.5).pvalue)


def _p(p: float) -> str:
    if p < 1e-12:
        return "p < 1e-12"
    return f"p = {p:.2g}"
