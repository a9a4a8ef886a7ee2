"""The whole analysis: of the demo's size in seconds, of the published study's size in a minute and a gigabyte.

Each run is a process of its own on one thread, so that memory is its own too. Processor time counts, since others
may work beside it. `pytest tests/bench/test_analysis.py -s`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from signpost_kit.stats.comparisons import compare_paired

SCRIPT = Path(__file__).parent / "analysis_full.py"
DEMO_S, FULL_S, FULL_MB = 5.0, 60.0, 1000.0


def _analysed(out: Path, *arguments: float) -> dict:
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, SCRIPT, out, *map(str, arguments)]
    subprocess.run(command, check=True, env={**os.environ, **one_thread})
    return json.loads(out.read_text())


def _told(result: dict) -> str:
    return (
        f"{result['replies']} replies: {result['seconds']:.1f} s ({result['cpu_s']:.1f} s of a processor), "
        f"{result['peak_mb']:.0f} MB"
    )


def test_a_demo_sized_run_takes_seconds(tmp_path: Path) -> None:
    result = min(
        (_analysed(tmp_path / "demo.json", 60 / 5111, 5, 2000, 20_000) for _ in range(3)),
        key=lambda r: r["cpu_s"],
    )
    print(f"\n{_told(result)}")
    assert result["cpu_s"] <= DEMO_S


def test_the_published_size_takes_a_minute_and_a_gigabyte(tmp_path: Path) -> None:
    result = _analysed(tmp_path / "full.json")
    print(f"\n{_told(result)}, {result['rows']}")
    assert result["replies"] == 511_100
    assert result["rows"]["pairs"] == 2 * 190 * 12  # both readings, every pair, every score
    assert result["cpu_s"] <= FULL_S
    assert result["peak_mb"] <= FULL_MB


def test_pairs_at_once_take_a_fifth_of_one_after_the_other() -> None:
    """12 scores of all pairs of 8 models in one matrix, against `compare_paired` for their five WLAs alone."""
    import importlib.util

    from signpost_kit.metrics.cube import build_cube
    from signpost_kit.metrics.pairwise import compare_pairs
    from signpost_kit.metrics.ratios import ratios
    from signpost_kit.stats.resampling import Resamples

    spec = importlib.util.spec_from_file_location("analysis_full", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    predictions, groups = module.made_up(8, 0.2)
    _, cube = build_cube(predictions, groups)
    scores = ratios(cube, alpha=0.005, tfr_radius_km=50)
    started = time.perf_counter()
    resamples = Resamples(cube.starts, cube.datasets, n_resamples=2000, seed=1)
    frame = compare_pairs(cube, scores, resamples)
    ours = time.perf_counter() - started
    wla = np.exp(-0.005 * cube.distances(cube.error_km))
    datasets = np.repeat(np.array(cube.datasets), np.diff(cube.starts))
    started = time.perf_counter()
    each = [compare_paired(wla[0, v], wla[1, v], np.arange(len(datasets)), datasets) for v in range(5)]
    plain = (time.perf_counter() - started) * 28
    print(f"\n12 scores x 28 pairs: {ours:.2f} s; 5 scores x 28 pairs one by one: {plain:.2f} s")
    row = frame.query("metric == 'wla' and model_a == 'model-00' and model_b == 'model-01'").iloc[0]
    assert row["difference"] == pytest.approx(each[0].difference)
    assert ours <= plain / 5
