"""What mapping over items costs: memory from 1,000 to 100,000 rows of metadata, and time per item beside a plain loop.

    pytest tests/bench/test_map_items.py -s

Goals of the issue: memory stays flat from 1,000 to 100,000 rows.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from signpost_kit.mapping import map_items

CHILD = Path(__file__).with_name("map_items_rows.py")
FLAT_MB = 8.0  # an outcome kept for every row would be 60 MB and more
IDS_MB = 24.0  # the stage holds the ids of all groups, to tell twins
GROUPS_MB = 600.0


def measure(what: str, rows: int, folder: Path) -> dict[str, float]:
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, CHILD, what, str(rows), folder], check=True, stdout=subprocess.PIPE, timeout=280
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("what", "bound"),
    [("serial", FLAT_MB), ("threads", FLAT_MB), ("processes", FLAT_MB), ("journal", FLAT_MB), ("stage", IDS_MB)],
)
def test_memory_is_flat(benchmark, tmp_path, what, bound):
    small = measure(what, 1_000, tmp_path / "small")
    large = benchmark.pedantic(measure, args=(what, 100_000, tmp_path / "large"), rounds=1, iterations=1)
    more = large["peak_mb"] - small["peak_mb"]
    print(
        f"\n{what}: peak {small['peak_mb']:.0f} MB at 1,000 rows, {large['peak_mb']:.0f} MB at 100,000: {more:+.1f} MB "
        f"(bound {bound:.0f}), {large['seconds']:.1f} s"
    )
    assert more < bound
    if what == "processes":
        assert large["child_mb"] - small["child_mb"] < bound


def test_all_groups_at_once(benchmark, tmp_path):
    """100,000 groups with three texts each, for who needs them together."""
    large = benchmark.pedantic(measure, args=("load", 100_000, tmp_path / "large"), rounds=1, iterations=1)
    print(
        f"\n100,000 groups loaded: peak {large['peak_mb']:.0f} MB (bound {GROUPS_MB:.0f}), {large['seconds']:.1f} s"
    )
    assert large["peak_mb"] < GROUPS_MB


@pytest.mark.parametrize(("scheduler", "bound_us"), [("serial", 40), ("threads", 150), ("processes", 600)])
def test_overhead_per_item(benchmark, scheduler, bound_us):
    """Beside a plain loop in the same round. Pictures take 100,000 microseconds and more each."""
    n, times = 20_000, {"loop": [], "ours": []}

    def both() -> None:
        start = time.perf_counter()
        plain = [abs(number) for number in range(n)]
        middle = time.perf_counter()
        ours = [o.value for o in map_items(abs, range(n), scheduler=scheduler, workers=2, progress=False)]
        times["ours"].append(time.perf_counter() - middle)
        times["loop"].append(middle - start)
        assert ours == plain

    benchmark.pedantic(both, rounds=3, iterations=1)
    each = {name: min(found) / n * 1e6 for name, found in times.items()}
    print(f"\n{scheduler}: {each['ours']:.1f} us per item (bound {bound_us}), plain loop {each['loop']:.2f} us")
    assert each["ours"] - each["loop"] < bound_us
