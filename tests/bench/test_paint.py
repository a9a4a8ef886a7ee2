"""Inpaint and letter one sign on a one-megapixel picture, beside OpenCV's inpainting of the whole picture.

Goal: at most 18 ms, by working on crops. `pytest tests/bench/test_paint.py`
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from signpost_kit.benchmark.groups import Group, Span

POLYGON = ((412.0, 312.0), (708.0, 318.0), (706.0, 378.0), (412.0, 372.0))


@pytest.fixture(scope="module")
def scene() -> tuple[np.ndarray, Group]:
    import cv2
    from PIL import Image, ImageDraw

    from signpost_kit.fonts import load_font

    rng = np.random.default_rng(0)
    street = cv2.resize(
        rng.integers(60, 190, (28, 36, 3)).astype(np.uint8), (1152, 896), interpolation=cv2.INTER_CUBIC
    )
    picture = Image.fromarray(street)
    pen = ImageDraw.Draw(picture)
    pen.polygon([(395, 295), (725, 302), (722, 395), (395, 388)], fill=(20, 60, 140))
    pen.text((424, 316), "Rue de Rivoli", font=load_font("Rue de Rivoli", 46, 600), fill=(250, 250, 245))
    image = np.clip(np.asarray(picture).astype(int) + rng.normal(0, 2, street.shape), 0, 255).astype(np.uint8)
    texts = {"adversarial": "Nairobi Road"}
    return image, Group("g", "d", 0, 0, spans=(Span("Rue de Rivoli", POLYGON, replacements=texts, tier="T3"),))


@pytest.mark.benchmark(timer=time.process_time)  # processor time: other work on the machine does not count
def test_paint_one_sign(benchmark, scene):
    from signpost_kit.editing.paint import paint_variant

    image, group = scene
    painted, record = benchmark.pedantic(
        lambda: paint_variant(image, group, "Adversarial"), rounds=30, warmup_rounds=3, iterations=1
    )
    assert record["status"] == "ok" and (painted != image).any()
    ratio = benchmark.stats.stats.median / _yardstick(image)
    benchmark.extra_info |= {"of the yardstick": round(ratio, 2), "goal_ms": 18}
    # Measured 14-16 ms beside 10.9-11.2 ms of the yardstick; 18 ms would be 1.6-1.7 of it.
    assert ratio < 1.7


@pytest.mark.benchmark(timer=time.process_time)
def test_yardstick_inpaint_the_whole_picture(benchmark, scene):
    benchmark.pedantic(lambda: _whole_picture(scene[0]), rounds=10, iterations=1)


def _whole_picture(image: np.ndarray) -> np.ndarray:
    """cv2.inpaint of the sign's polygon, given the whole picture; it letters nothing."""
    import cv2

    mask = np.zeros(image.shape[:2], np.uint8)
    cv2.fillConvexPoly(mask, np.array(POLYGON, np.int32), 255)
    return cv2.inpaint(image, mask, 3, cv2.INPAINT_TELEA)


def _yardstick(image: np.ndarray) -> float:
    """Median seconds of processor time of ten runs."""
    times = []
    for _ in range(10):
        start = time.process_time()
        _whole_picture(image)
        times.append(time.process_time() - start)
    return float(np.median(times))
