"""2,000 cluster-bootstrap resamples of every linear and derived score of 20 models, against an index loop.

The loop draws group indices per dataset and sums the drawn columns, resample by resample; it is timed on a few
resamples and scaled. Run with `pytest tests/bench/test_bootstrap.py -s`.
"""

from __future__ import annotations

import itertools
import time

import numpy as np
import pandas as pd
import pytest

from signpost_kit.frames import VARIANTS
from signpost_kit.metrics.cube import build_cube
from signpost_kit.metrics.derived import Derivation
from signpost_kit.metrics.longform import stacked_columns
from signpost_kit.metrics.ratios import ratios
from signpost_kit.stats.intervals import bootstrap_ratios, mean_over_datasets, ratio

SIZES = {"IM2GPS3K": 651, "YFCC4K": 992, "GoogleSV": 2337, "BaiduSV": 1131}
N_RESAMPLES, N_TIMED, N_COMPARED, GOAL = 2000, 20, 200, 1 / 25


@pytest.fixture(scope="module")
def prepared():
    rng = np.random.default_rng(0)
    names = np.repeat(list(SIZES), list(SIZES.values()))
    n, n_models = len(names), 20
    groups = pd.DataFrame(
        {
            "dataset": names,
            "group_id": [f"g{i}" for i in range(n)],
            "lat": rng.uniform(-60, 70, n),
            "lon": rng.uniform(-170, 170, n),
            "trap_lat": np.where(rng.random(n) < 0.34, rng.uniform(-60, 70, n), np.nan),
            "trap_lon": rng.uniform(-170, 170, n),
            "tier": rng.choice(["T1", "T2", "T3"], n),
        }
    )
    group = np.tile(np.arange(n), n_models * 5)
    failed = rng.random(len(group)) < 0.03
    predictions = pd.DataFrame(
        {
            "model": pd.Categorical.from_codes(
                np.repeat(np.arange(n_models), 5 * n), [f"m{i}" for i in range(n_models)]
            ),
            "dataset": pd.Categorical(names[group]),
            "group_id": pd.Categorical.from_codes(group, groups["group_id"].tolist()),
            "variant": pd.Categorical.from_codes(np.tile(np.repeat(np.arange(5), n), n_models), list(VARIANTS)),
            "lat": np.where(failed, np.nan, groups["lat"].to_numpy()[group] + rng.normal(0, 3, len(group))),
            "lon": np.where(failed, np.nan, groups["lon"].to_numpy()[group] + rng.normal(0, 5, len(group))),
            "status": pd.Categorical.from_codes(failed.astype(int), ["ok", "refused"]),
        }
    )
    _, cube = build_cube(predictions, groups)
    scores = ratios(cube, alpha=0.005, tfr_radius_km=50)
    return cube, Derivation([s.key for s in scores]), stacked_columns(scores)


def _index_loop(columns, index_pair, starts, derive, n: int):
    numerator, denominator = index_pair
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(n):
        cells = []
        for first, last in itertools.pairwise(starts):
            index = first + rng.integers(0, last - first, last - first)
            sums = columns[:, index].sum(axis=1)
            cells.append(ratio(sums[numerator], sums[denominator]))
        macro = mean_over_datasets(np.stack(cells))
        draws.append(np.concatenate([macro, derive(macro)]))
    return np.stack(draws)


def test_counts_matrix_takes_a_25th_of_an_index_loop(benchmark, prepared) -> None:
    cube, derive, (columns, numerator, denominator) = prepared

    def ours():
        return bootstrap_ratios(
            columns,
            numerator,
            denominator,
            cube.starts,
            cube.datasets,
            derive=derive,
            n_resamples=N_RESAMPLES,
            seed=1,
        )

    ours()
    bounds = benchmark.pedantic(ours, rounds=3, iterations=1)
    wide = columns.astype(float)
    started = time.perf_counter()
    draws = _index_loop(wide, (numerator, denominator), cube.starts, derive, N_TIMED)
    loop = (time.perf_counter() - started) * N_RESAMPLES / N_TIMED
    mine = benchmark.stats.stats.min
    print(
        f"\n{N_RESAMPLES} resamples of {numerator.size} ratios: {mine:.2f} s, index loop {loop:.1f} s, 1/{loop / mine:.0f}"
    )
    draws = np.concatenate([draws, _index_loop(wide, (numerator, denominator), cube.starts, derive, N_COMPARED)])
    inside = (draws >= bounds.low) & (draws <= bounds.high)
    assert 0.93 < inside[:, np.isfinite(bounds.low)].mean() < 0.97  # the loop's draws fill our 95 % intervals
    assert mine <= GOAL * loop
