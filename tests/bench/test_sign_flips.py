"""20,000 sign flips of 8,215 pairs in 109 sites, against the plain loop over flips.

Goal: at most 1/35 of the loop's time. Run with `pytest tests/bench/test_sign_flips.py -s`.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from signpost_kit.stats import paired_sign_flip

N_PAIRS, N_SITES, N_FLIPS, GOAL = 8215, 109, 20_000, 1 / 35


def _plain_loop(delta, cluster, n_flips: int, seed: int) -> float:
    """One flip after the other: a sign per site, spread to its pairs, and the mean."""
    rng = np.random.default_rng(seed)
    _, code = np.unique(cluster, return_inverse=True)
    n_sites = int(code.max()) + 1
    observed, b = abs(delta.mean()), 0
    for _ in range(n_flips):
        sign = rng.integers(0, 2, n_sites) * 2 - 1
        b += abs((delta * sign[code]).mean()) >= observed
    return (b + 1) / (n_flips + 1)


def test_flips_take_a_35th_of_the_plain_loop(benchmark) -> None:
    rng = np.random.default_rng(0)
    cluster = np.array([f"city_site{i:03d}" for i in rng.integers(0, N_SITES, N_PAIRS)])
    delta = rng.choice([-1.0, 0.0, 1.0], N_PAIRS, p=[0.09, 0.8, 0.11])
    ours = benchmark.pedantic(
        paired_sign_flip, args=(delta, cluster, N_FLIPS, 1), rounds=10, iterations=1, warmup_rounds=2
    )
    started = time.perf_counter()
    p = _plain_loop(delta, cluster, N_FLIPS, 2)
    loop = time.perf_counter() - started
    mine = benchmark.stats.stats.min
    print(f"\n{N_FLIPS} flips: {mine * 1e3:.2f} ms, plain loop {loop * 1e3:.0f} ms, 1/{loop / mine:.0f}")
    assert ours.p == pytest.approx(p, abs=4 * (2 * p * (1 - p) / N_FLIPS) ** 0.5)
    assert mine <= GOAL * loop
