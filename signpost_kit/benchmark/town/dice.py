"""Small draws from a numpy generator, quicker and plainer than Generator.choice."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

__all__ = ["between", "happens", "pick", "stream", "weighted"]

T = TypeVar("T")


def stream(seed: int, *labels: str) -> np.random.Generator:
    """A generator for one purpose of one scene: the same seed and labels give the same draws on every machine.

    Separate streams keep a scene's signs in place when, say, the drawing of trees changes.
    """
    words = [zlib.crc32(label.encode("utf-8")) for label in labels]
    return np.random.Generator(np.random.PCG64([seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF, *words]))


def pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    """One of `options` (at least one), all alike."""
    return options[int(rng.random() * len(options))]


def weighted(rng: np.random.Generator, options: Sequence[T], weights: Sequence[float]) -> T:
    """One of `options`, in proportion to `weights`."""
    mark = rng.random() * sum(weights)
    for option, weight in zip(options, weights, strict=True):
        mark -= weight
        if mark < 0:
            return option
    return options[-1]


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """A real number, uniform in [low, high)."""
    return low + (high - low) * float(rng.random())


def happens(rng: np.random.Generator, share: float) -> bool:
    """True in `share` of the draws."""
    return float(rng.random()) < share
