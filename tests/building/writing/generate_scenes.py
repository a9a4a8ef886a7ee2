"""A benchmark of small pictures with known texts, and what a good and a bad model would write for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from signpost_kit.benchmark import Benchmark, Group, Span

BOX = ((2.0, 2.0), (30.0, 2.0), (30.0, 8.0), (2.0, 8.0))
_CITIES = ("Lima", "Nairobi", "Chicago", "Sydney", "Osaka", "Toronto", "Bogotá", "Hanoi")


def scenes(root: Path, n: int) -> Benchmark:
    """n groups in Lyon, each with a street sign of its own and a picture of its own."""
    rng = np.random.default_rng(3)
    groups = []
    for i in range(n):
        name = f"images/Original/g{i:03d}.png"
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (24, 32, 3), dtype=np.uint8)).save(root / name)
        spans = (Span(f"Rue Pasteur {i}", BOX, "upper left", tier="T3"),)
        groups.append(
            Group(f"g{i:03d}", "d", 45.76, 4.85, country="FR", city="Lyon", spans=spans, images={"Original": name})
        )
    benchmark = Benchmark("scenes", tuple(groups), root)
    benchmark.write()
    return benchmark


def number_of(prompt: str) -> int:
    """Which scene a question is about: the number on its sign."""
    return int(prompt.split("Rue Pasteur ", 1)[1].split('"', 1)[0])


def good(number: int, **changed: Any) -> str:
    """A reply without fault."""
    city = _CITIES[number % len(_CITIES)]
    entry = {
        "id": 1,
        "text": f"Rue Pasteur {number}",
        "location": "on the wall",
        "similar": "Rue Haute",
        "random": "あまい夢",
    }
    entry |= {"adversarial": f"Rue de {city}", "place": {"city": city, "country": ""}}
    return json.dumps({"spans": [{**entry, **changed}]}, ensure_ascii=False)
