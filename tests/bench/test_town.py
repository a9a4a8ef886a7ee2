"""Scenes per second of the teaching set, PNG writing included, beside the cost of the bare codecs in the same run.

Both count processor time: "on one core" should not depend on who else is using the machine.
"""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from signpost_kit.benchmark import town


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    for city in town.CITIES:  # fonts are opened once per process
        town.draw_scene(city, 0)


@pytest.mark.benchmark(timer=time.process_time)
def test_ten_scenes_a_second_with_png(benchmark, tmp_path) -> None:
    """Goal: at least 10 scenes/s on one core, so a set of 10 in at most one second."""
    import cv2

    cv2.setNumThreads(1)
    seeds = itertools.count(100)
    benchmark.pedantic(lambda: town.build(10, seed=next(seeds), out_dir=tmp_path), rounds=6, warmup_rounds=1)
    assert benchmark.stats.stats.min <= 1.0


@pytest.mark.benchmark(timer=time.process_time)
def test_yardstick_codecs_alone(benchmark) -> None:
    """Ten noisy pictures through JPEG and PNG, which no way of drawing can avoid."""
    import cv2

    picture = town.draw_scene("Lyon", 1)[0]

    def codecs() -> None:
        for _ in range(10):
            _, packed = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 85])
            back = cv2.imdecode(packed, cv2.IMREAD_COLOR)
            cv2.imencode(".png", np.asarray(back))

    benchmark.pedantic(codecs, rounds=6, warmup_rounds=1)
