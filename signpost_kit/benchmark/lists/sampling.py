"""Drawing a part of a list, stratum by stratum, so that the same rows come out whatever order they stand in.

Every id has a rank that depends on the id and the seed alone; a stratum gives its rows of lowest rank. So a larger
share only adds rows, and rows that come new into one stratum change nothing in another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from signpost_kit.errors import ConfigError

__all__ = ["Sample", "draw", "hash_ids", "ranks", "stratum_size"]

_KEY = "signpost_kit.ids"  # 16 bytes, as SipHash wants; never changed, or samples would change


@dataclass(frozen=True)
class Sample:
    """How to draw a part of a list."""

    by: Literal["country", "province"]
    """The strata: countries, or provinces within their country."""
    share: float = 0.01
    """Of each stratum, above 0 and at most 1."""
    at_least: int = 10
    """Rows of each stratum that has them."""
    seed: int = 42


def hash_ids(ids: list[str]) -> np.ndarray:
    """64 bits of each id, the same on every machine and in every process (SipHash-2-4 of its UTF-8, mixed)."""
    from pandas.core.util.hashing import hash_array

    values = np.empty(len(ids), dtype=object)
    values[:] = [ident.encode("utf-8", "surrogateescape") for ident in ids]
    return hash_array(values, hash_key=_KEY, categorize=False)


def ranks(hashes: np.ndarray, seed: int) -> np.ndarray:
    """A random order of the ids: uint64, mixed with the seed (the finaliser of SplitMix64)."""
    mixed = hashes ^ np.uint64((seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def stratum_size(rows: int, share: float, at_least: int) -> int:
    """How many a stratum of so many rows gives: its share (half a row rounds up), at least so many, at most all."""
    return min(rows, max(at_least, int(np.floor(rows * share + 0.5))))


def draw(strata: np.ndarray, rank: np.ndarray, *, share: float, at_least: int) -> np.ndarray:
    """Which rows are drawn.

    Parameters
    ----------
    strata
        Whole number of each row's stratum.
    rank
        uint64 of each row (:func:`ranks`); rows of equal rank keep their order.
    share
        0..1, of every stratum: SIGNPOST-Bench takes 0.01 of a country's street views.
    at_least
        Rows of every stratum that has them: 10 in SIGNPOST-Bench.

    Returns
    -------
    array of bool
        True for rows drawn. No rows give an empty array.

    Raises
    ------
    ConfigError
        `share` is outside 0..1, `at_least` is below 1.
    """
    if not 0 < share <= 1:
        raise ConfigError(f"share={share} of a sample must be above 0 and at most 1")
    if at_least < 1:
        raise ConfigError(f"at_least={at_least} of a sample must be at least 1")
    chosen = np.zeros(len(strata), dtype=bool)
    order = np.lexsort((rank, strata))
    sorted_strata = strata[order]
    starts = np.flatnonzero(np.r_[True, sorted_strata[1:] != sorted_strata[:-1]]) if len(order) else []
    for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
        chosen[order[start : start + stratum_size(int(stop - start), share, at_least)]] = True
    return chosen
