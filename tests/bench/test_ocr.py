"""Two processes of one thread each beside the default single engine: pictures per second, memory, lines found.

Goal at 1024 x 768 on two cores: at least 1.75 times as many pictures per second (5.0 against 2.8 were measured
elsewhere), at most 480 MB each, the same lines. `pytest tests/bench/test_ocr.py`

The yardstick is `RapidOCR()` as its package makes it: every core inside one reading. Both read the same pictures from
decoded arrays in turns, several times, so that other work on the machine weighs on both; starting is not timed.
"""

from __future__ import annotations

import functools
import multiprocessing
import time
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pytest

N_PICTURES, TURNS = 16, 5
SIZE = (1024, 768)
MOST_MB, GOAL = 480, 1.75


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> list[Path]:
    """Real photos with text, cut to 1024 x 768."""
    from PIL import ImageOps

    from signpost_kit.images import open_image, save_png

    folder = tmp_path_factory.mktemp("ocr")
    photos = sorted(p for p in (shared_data / "photos" / "text").rglob("*") if p.suffix in (".jpg", ".png"))
    paths = []
    for number, photo in enumerate(photos[:N_PICTURES]):
        paths.append(folder / f"{number:02d}.png")
        save_png(paths[-1], ImageOps.fit(open_image(photo), SIZE))
    return paths


class _Workers:
    """Two worker processes that stay between the turns, as in a long call of `read_each`."""

    def __init__(self) -> None:
        from signpost_kit.mapping.processes import Processes
        from signpost_kit.ocr import read_text

        self._pool = Processes(functools.partial(read_text, cache=False), 2)

    def read(self, paths: list[Path]) -> list[tuple[Any, ...]]:
        return [future.result() for future in [self._pool.submit(path) for path in paths]]

    def most_mb(self) -> list[float]:
        """The greatest memory of each so far."""
        pids = [child.pid for child in multiprocessing.active_children() if child.name == "signpost-worker"]
        return [_high_water_mb(pid) for pid in pids if pid is not None]

    def close(self) -> None:
        self._pool.close()


def _high_water_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    if not status.is_file():
        pytest.skip("the memory of another process is only told on Linux")
    [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def test_two_processes_beside_the_default_engine(benchmark, pictures):
    rapidocr = pytest.importorskip("rapidocr")
    single = rapidocr.RapidOCR(params={"Global.log_level": "error"})
    workers = _Workers()

    def one_engine() -> list[Any]:
        from signpost_kit.images import load_rgb

        return [single(np.ascontiguousarray(load_rgb(path)[:, :, ::-1])) for path in pictures]

    try:
        ours, theirs = workers.read(pictures), one_engine()  # and everything is warm
        ratios, rates = [], []
        for _ in range(TURNS):
            slow, fast = _seconds(one_engine), _seconds(lambda: workers.read(pictures))
            ratios.append(slow / fast)
            rates.append((len(pictures) / fast, len(pictures) / slow))
        memory = workers.most_mb()
        benchmark.pedantic(lambda: workers.read(pictures), rounds=1, iterations=1)
    finally:
        workers.close()
    benchmark.extra_info |= {
        "times as many pictures": round(float(np.median(ratios)), 2),
        "pictures per second": [round(float(v), 2) for v in np.median(rates, axis=0)],
        "MB each": [round(mb) for mb in memory],
    }
    print(benchmark.extra_info, [round(r, 2) for r in ratios])
    assert len(memory) == 2 and max(memory) <= MOST_MB
    _same_lines(ours, theirs)
    assert float(np.median(ratios)) >= GOAL


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _same_lines(ours: list[tuple[Any, ...]], theirs: list[Any]) -> None:
    """Every line that the default engine shows (0.5 sure) was found by ours at the same place, and the reverse.

    Its letters depend on what else stands in the picture (lines are padded to the widest of six), ours do not, so a
    doubtful line may read a letter apart.
    """
    found = alike = total = 0
    for lines, result in zip(ours, theirs, strict=True):
        sure = [line for line in lines if line.confidence >= 0.5]
        total += max(len(result.txts or ()), len(sure))
        for text, box in zip(result.txts or (), result.boxes if result.boxes is not None else (), strict=True):
            near = [line for line in lines if _distance(line.polygon, box) < 6]
            found += bool(near)
            alike += any(SequenceMatcher(None, text, line.text).ratio() > 0.7 for line in near)
    print(f"{total} lines, {found} at the same place, {alike} with the same text")
    assert found >= 0.98 * total and alike >= 0.95 * total


def _distance(polygon: Any, box: Any) -> float:
    """Between the centres, in pixels."""
    return float(np.linalg.norm(np.mean(polygon, axis=0) - np.mean(box, axis=0)))
