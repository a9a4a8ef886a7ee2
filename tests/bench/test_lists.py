"""What checking a list costs, beside a plain csv loop that checks less, in time and in memory.

    pytest tests/bench/test_lists.py -s

Goals: not slower than the loop at 1,000,000 rows, whole processes, imports left out of the time of both; a list of
1,000,000 rows takes at most 130 MB more than one of 1,000 (36 bytes a row kept, and their sorting).
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

# What getrusage tells begins with the size of whoever started the process; the kernel's own mark does not.
PEAK = """
import resource
def peak():
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
"""
OURS = (
    PEAK
    + """
import json, resource, sys, time
from signpost_kit.benchmark.lists import Sample, select
from signpost_kit.benchmark.lists.places import countries_at
import numpy as np
countries_at(np.zeros(1), np.zeros(1))
import pandas.core.util.hashing, scipy.stats
start = time.perf_counter()
sample = Sample("country") if sys.argv[2] == "sample" else None
selection = select(sys.argv[1], sample=sample)
n = sum(1 for _ in selection.rows()) if sample else selection.report.usable
print(json.dumps([time.perf_counter() - start, peak(), n]))
"""
)
PLAIN = (
    PEAK
    + """
import csv, json, resource, sys, time
start = time.perf_counter()
seen, places, n = {}, {}, 0
with open(sys.argv[1], encoding="utf-8-sig", newline="") as handle:
    for row in csv.DictReader(handle):
        try:
            lat, lon = float(row["LAT"]), float(row["LON"])
        except ValueError:
            continue
        if not (-90 <= lat <= 90 and -180 <= lon <= 180) or (lat == 0 and lon == 0) or not row["IMG_ID"]:
            continue
        if row["IMG_ID"] in seen:
            continue
        seen[row["IMG_ID"]] = (lat, lon)
        places[lat, lon] = places.get((lat, lon), 0) + 1
        n += 1
print(json.dumps([time.perf_counter() - start, peak(), n]))
"""
)


def write(path: Path, n: int) -> Path:
    rng = random.Random(n)
    with path.open("w", newline="") as handle:
        handle.write("IMG_ID,AUTHOR,LAT,LON,S3_Label,S16_Label,S365_Label,Prob_indoor,Prob_natural,Prob_urban\r\n")
        for i in range(n):
            handle.write(
                f"{rng.getrandbits(32)}_{rng.getrandbits(40):x}_{i}_14788399@N00.jpg,author{i % 999},"
                f"{rng.uniform(-55, 65):.6f},{rng.uniform(-180, 180):.6f},2,12,353,0.27424151079564574,"
                "0.045113281211733636,0.6806452318211216\r\n"
            )
    return path


def measured(code: str, *arguments: object) -> tuple[float, float, int]:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True, text=True
    )
    seconds, megabytes, n = json.loads(done.stdout)
    return seconds, megabytes, n


@pytest.fixture(scope="module")
def lists(tmp_path_factory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("lists")
    return {n: write(folder / f"{n}.csv", n) for n in (1_000, 100_000, 1_000_000)}


@pytest.mark.parametrize("n", [100_000, 1_000_000])
def test_checking_a_list(benchmark, lists, n):
    times: dict[str, list[float]] = {"ours": [], "plain": [], "sample": []}

    def each() -> None:  # side by side, so that a busy machine is busy for all
        for name, code, mode in (("plain", PLAIN, ""), ("ours", OURS, "all"), ("sample", OURS, "sample")):
            seconds, _, found = measured(code, lists[n], mode)
            times[name].append(seconds)
            assert found == n or name == "sample"

    benchmark.pedantic(each, rounds=3)
    best = {name: min(values) for name, values in times.items()}
    print(
        f"\n{n:,} rows: checked {best['ours']:.2f} s, sampled {best['sample']:.2f} s, plain loop {best['plain']:.2f} s"
    )
    assert best["ours"] <= best["plain"] * (1.0 if n == 1_000_000 else 1.3)
    assert best["sample"] <= best["plain"] * 2.6


def test_memory_of_a_list(lists):
    peaks = {n: measured(OURS, path, "sample")[1] for n, path in lists.items()}
    plain = {n: measured(PLAIN, path)[1] for n, path in lists.items()}
    print(
        "\npeak MB by rows:",
        {n: round(mb) for n, mb in peaks.items()},
        "plain loop:",
        {n: round(mb) for n, mb in plain.items()},
    )
    assert peaks[100_000] - peaks[1_000] <= 40
    assert peaks[1_000_000] - peaks[1_000] <= 130
    assert plain[1_000_000] - plain[1_000] > peaks[1_000_000] - peaks[1_000]
