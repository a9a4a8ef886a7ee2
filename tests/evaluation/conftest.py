"""A toy benchmark, and a toy task whose replies read "LAT, LON", so that these tests test the asking and the keeping."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from signpost_kit.benchmark import Benchmark, Group, Span, Trap
from signpost_kit.evaluation import Parsed, ReplyStore, register_task
from signpost_kit.frames import VARIANTS
from signpost_kit.models.base import Request


def read_pair(text: str, prompt: str) -> Parsed:
    try:
        lat, lon = (float(part) for part in text.split(","))
    except ValueError:
        return Parsed("unparseable", "no pair of numbers")
    if abs(lat) > 90:
        return Parsed("out_of_range", f"latitude {lat}")
    return Parsed("ok", "", lat, lon, 1, "plain")


register_task("toy", read_pair)


@pytest.fixture
def toy(tmp_path: Path) -> Callable[..., Benchmark]:
    """toy(n, same=()) makes n groups in two datasets; groups in `same` share one picture per variant."""

    def make(n: int = 4, *, same: tuple[int, ...] = (), root: Path | None = None) -> Benchmark:
        root = root or tmp_path / "benchmark"
        groups = []
        for i in range(n):
            group = Group(
                group_id=f"g{i:03d}",
                dataset="north" if i % 2 == 0 else "south",
                lat=10.0 + i % 50,
                lon=20.0,
                spans=(Span("Main St", tier="T3", replacements={v.lower(): f"{v} St" for v in VARIANTS[2:]}),),
                tier="T3",
                trap=Trap(-30.0, 100.0),
                images={v: f"images/{v}/g{i:03d}.png" for v in VARIANTS},
            )
            for variant, relative in group.images.items():
                path = root / relative
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(f"{variant} {'same' if i in same else i}".encode())
            groups.append(group)
        benchmark = Benchmark("toy", tuple(groups), root)
        benchmark.write()
        return benchmark

    return make


@pytest.fixture
def store(tmp_path: Path):
    with ReplyStore(tmp_path / "replies.sqlite") as opened:
        yield opened


@pytest.fixture
def question() -> Callable[..., Request]:
    """question(i, ...) makes the request about picture i; keywords replace its fields."""

    def make(i: int = 0, **changes) -> Request:
        values = {
            "task": "toy",
            "model": "m",
            "image_path": Path(f"{i}.png"),
            "image_hash": f"{i:032x}",
            "prompt": "Where?",
            "prompt_hash": "p1",
            "dataset": "north",
            "group_id": f"g{i:03d}",
            "variant": "Original",
        }
        return Request(**(values | changes))

    return make
