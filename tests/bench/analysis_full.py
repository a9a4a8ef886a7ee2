"""A scored study of the published size, made up and analysed in a process of its own.

`python analysis_full.py OUT [groups models n_resamples n_flips]` writes seconds, processor seconds, peak memory and row counts as JSON.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from signpost_kit.frames import VARIANTS

SIZES = {"IM2GPS3K": 651, "YFCC4K": 992, "GoogleSV": 2337, "BaiduSV": 1131}


def made_up(n_models: int, share: float = 1.0, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Predictions and groups: models differ in skill, text draws some of them away, 2 % of the replies fail."""
    rng = np.random.default_rng(seed)
    names = np.repeat(list(SIZES), [max(2, round(n * share)) for n in SIZES.values()])
    n = len(names)
    groups = pd.DataFrame(
        {
            "dataset": names,
            "group_id": [f"g{i:05d}" for i in range(n)],
            "lat": rng.uniform(-55, 65, n),
            "lon": rng.uniform(-170, 170, n),
            "trap_lat": np.where(rng.random(n) < 0.34, rng.uniform(-55, 65, n), np.nan),
            "trap_lon": rng.uniform(-170, 170, n),
            "tier": rng.choice(["T1", "T2", "T3"], n, p=[0.07, 0.75, 0.18]),
        }
    )
    groups["trap_lon"] = groups["trap_lon"].where(groups["trap_lat"].notna())
    hardness = rng.gamma(1.0, 1.0, n)
    parts = []
    for m in range(n_models):
        for v, variant in enumerate(VARIANTS):
            spread = hardness * (0.5 + 0.15 * m) * (1.0, 2.0, 1.3, 3.0, 4.0)[v]
            lat = np.clip(groups["lat"] + rng.normal(0, 1, n) * spread, -90, 90)
            lon = groups["lon"] + rng.normal(0, 1, n) * spread
            fell = (variant == "Adversarial") & groups["trap_lat"].notna() & (rng.random(n) < 0.1)
            lat, lon = np.where(fell, groups["trap_lat"], lat), np.where(fell, groups["trap_lon"], lon)
            failed = rng.random(n) < 0.02
            parts.append(
                pd.DataFrame(
                    {
                        "model": f"model-{m:02d}",
                        "dataset": names,
                        "group_id": groups["group_id"],
                        "variant": variant,
                        "lat": np.where(failed, np.nan, lat),
                        "lon": np.where(failed, np.nan, (lon + 180) % 360 - 180),
                        "status": np.where(failed, "refused", "ok"),
                    }
                )
            )
    return pd.concat(parts, ignore_index=True), groups


def peak_mb() -> float:
    """Of this process since its start; what getrusage tells begins with the size of whoever started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(out: Path, share: float, n_models: int, n_resamples: int, n_flips: int) -> None:
    from signpost_kit.metrics.analysis import analyse

    predictions, groups = made_up(n_models, share)
    for name in ("model", "dataset", "group_id", "variant", "status"):
        predictions[name] = predictions[name].astype("category")
    started, busy = time.perf_counter(), time.process_time()
    frames = analyse(predictions, groups, n_resamples=n_resamples, n_flips=n_flips)
    seconds, cpu = time.perf_counter() - started, time.process_time() - busy
    peak = peak_mb()
    rows = {name: len(frame) for name, frame in frames.items()}
    result = {"seconds": seconds, "cpu_s": cpu, "peak_mb": peak, "replies": len(predictions), "rows": rows}
    out.write_text(json.dumps(result))


if __name__ == "__main__":
    share, *counts = [float(text) for text in sys.argv[2:]] or [1.0, 20, 2000, 20_000]
    main(Path(sys.argv[1]), share, *(int(n) for n in counts))
