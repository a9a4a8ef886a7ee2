"""What an OCR engine would read on the signs of a drawn lesson, and what liars would write there instead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from signpost_kit.benchmark.groups import Group, Span
from signpost_kit.fonts import scripts_in
from signpost_kit.geocoding.base import Place

__all__ = ["as_read", "lie"]

_READABLE = frozenset({"Latin", "Han", "Japanese"})  # of the default OCR engine
# Lines not found, letters misread, lines whose spaces are lost: about what rapidocr does on drawn signs.
_MISSED, _WRONG, _GLUED = 0.06, 0.01, 0.08


def as_read(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    """What an OCR engine would make of a scene's texts: some missed, some garbled, unknown scripts not at all."""
    out = []
    for text in texts:
        if rng.random() < _MISSED or not set(scripts_in(text)) <= _READABLE:
            continue
        letters = [_slip(c, rng) if c.isalpha() and rng.random() < _WRONG else c for c in text]
        read = "".join(letters)
        out.append(read.replace(" ", "") if rng.random() < _GLUED else read)
    return out


def _slip(char: str, rng: np.random.Generator) -> str:
    return str(rng.choice(list("aeilnorstu"))) if char.isascii() else ""


def lie(texts: Sequence[str], truth: Place, seed: int) -> list[str]:
    """What the signs would say if they named a place on another continent, made as the benchmark makes traps."""
    from signpost_kit.replacements.gazetteer import propose

    group = Group(
        group_id=f"lesson-{seed}",
        dataset="lessons",
        lat=truth.lat,
        lon=truth.lon,
        country=truth.country,
        spans=tuple(Span(text) for text in texts),
    )
    return [span.replacements.get("adversarial", "") for span in propose(group, seed=seed).spans]
