"""511,100 replies (20 models x 5,111 groups x 5 variants) from the release's layout to point scores.

Both ways run as whole processes, imports included. Run with `pytest tests/bench/test_scoring.py -s`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from signpost_kit.frames import VARIANTS

HERE = Path(__file__).parent
SIZES = {"IM2GPS3K": 651, "YFCC4K": 992, "GoogleSV": 2337, "BaiduSV": 1131}
N_MODELS = 20
GOAL_RATIO, GOAL_MB = 0.5, 350


def write_release(root: Path, n_models: int = N_MODELS, seed: int = 0) -> int:
    """Synthetic results in the release's layout, with groups.csv; returns the number of replies."""
    rng = np.random.default_rng(seed)
    frames, count = [], 0
    for dataset, n in SIZES.items():
        lat, lon = rng.uniform(-60, 70, n), rng.uniform(-179, 179, n)
        has_trap = rng.random(n) < 0.34
        frame = pd.DataFrame(
            {
                "dataset": dataset,
                "group_id": [f"{dataset.lower()}_{i:05d}" for i in range(n)],
                "lat": lat,
                "lon": lon,
                "trap_lat": np.where(has_trap, rng.uniform(-60, 70, n), np.nan),
                "trap_lon": np.where(has_trap, rng.uniform(-179, 179, n), np.nan),
                "tier": rng.choice(["T1", "T2", "T3"], n),
            }
        )
        frames.append(frame)
        for m in range(n_models):
            model = f"model-{m:02d}"
            folder = root / dataset / "results" / model
            folder.mkdir(parents=True)
            for variant in VARIANTS:
                fell = (variant == "Adversarial") & has_trap & (rng.random(n) < 0.1)
                p_lat = np.clip(np.where(fell, frame["trap_lat"], lat + rng.normal(0, 2, n)), -90, 90)
                p_lon = np.clip(np.where(fell, frame["trap_lon"], lon + rng.normal(0, 4, n)), -180, 180)
                failed = rng.random(n) < 0.01
                lines = [
                    _line(
                        frame["group_id"][i],
                        variant,
                        at=(p_lat[i], p_lon[i]),
                        failed=failed[i],
                        truth=(lat[i], lon[i]),
                    )
                    for i in range(n)
                ]
                (folder / f"results_{variant}_{model}.jsonl").write_text("\n".join(lines) + "\n")
                count += n
    pd.concat(frames).to_csv(root / "groups.csv", index=False)
    return count


def _line(group: str, variant: str, *, at: tuple, failed: bool, truth: tuple) -> str:
    (p_lat, p_lon), (lat, lon) = at, truth
    text = f'{{"lat": {p_lat:.4f}, "lon": {p_lon:.4f}}}'
    return json.dumps(
        {
            "filename": f"{group}_{variant}_Main Street.png",
            "original_source": f"{group}.jpg",
            "attack_type": variant,
            "injected_text": "Main Street",
            "prediction_text": "" if failed else text,
            "pred_lat": None if failed else float(p_lat),
            "pred_lon": None if failed else float(p_lon),
            "gt_lat": float(lat),
            "gt_lon": float(lon),
            "error_km": 123.456,
            "wla_score": 0.5394,
            "parse_failed": bool(failed),
            "tbs": None,
        }
    )


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("release")
    assert write_release(root) == 511_100
    return root


def _run(script: str, root: Path, out: Path) -> None:
    subprocess.run([sys.executable, HERE / script, root, out], check=True)


def test_scoring_511100_replies_takes_half_of_a_plain_loop(benchmark, release: Path, tmp_path: Path) -> None:
    import time

    ours, plain = tmp_path / "ours.json", tmp_path / "plain.json"
    _run("scoring_from_jsonl.py", release, ours)  # warms the page cache for both
    started = time.perf_counter()
    _run("scoring_yardstick.py", release, plain)
    yardstick = time.perf_counter() - started
    benchmark.pedantic(_run, args=("scoring_from_jsonl.py", release, ours), rounds=3, iterations=1)
    started = time.perf_counter()
    _run("scoring_yardstick.py", release, plain)
    yardstick = min(yardstick, time.perf_counter() - started)
    mine = json.loads(ours.read_text())
    _same(json.loads(plain.read_text()), mine["scores"])
    ratio = benchmark.stats.stats.min / yardstick
    print(
        f"\nscoring from JSONL: {benchmark.stats.stats.min:.2f} s, plain loop {yardstick:.2f} s, ratio {ratio:.3f}, "
        f"peak {mine['peak_mb']:.0f} MB"
    )
    assert mine["problems"] == 0
    assert mine["peak_mb"] <= GOAL_MB
    assert ratio <= GOAL_RATIO


def _same(expected: dict, found: dict, path: str = "") -> None:
    assert expected.keys() == found.keys(), path
    for key, value in expected.items():
        if isinstance(value, dict):
            _same(value, found[key], f"{path}/{key}")
        else:
            assert found[key] == pytest.approx(value, rel=1e-9), f"{path}/{key}"
