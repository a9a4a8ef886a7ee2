"""Which pictures people look at: drawn by seed within strata, in an order that tells nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from signpost_kit.benchmark import Group
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.frames import TIERS, VARIANTS

__all__ = ["EDIT_SAMPLE", "EDIT_VARIANTS", "TIER_QUOTAS", "TierSample", "sample_edits", "sample_tiers"]

TIER_QUOTAS: dict[str, int] = {"T1": 100, "T2": 150, "T3": 100}
"""Source pictures per automatic tier (SIGNPOST-Bench, appendix B, taxonomy audit)."""
EDIT_SAMPLE = 120
"""Edited pictures (SIGNPOST-Bench, appendix B, human edit-quality audit)."""
EDIT_VARIANTS = VARIANTS[2:]
"""Similar, Random, Adversarial: Blank has no text to rate."""


class TierSample(NamedTuple):
    """Groups in the order of the sheet, and the tiers that have too few."""

    groups: list[Group]
    short: dict[str, tuple[int, int]]
    """Tier -> (wanted, there are)."""


def sample_tiers(groups: Iterable[Group], *, quotas: Mapping[str, int] | None = None, seed: int = 42) -> TierSample:
    """Source pictures with an Original, so many of each automatic tier; all of a tier that has fewer.

    The draw depends on seed and ids alone, not on the groups' order.

    Raises
    ------
    ConfigError
        A quota is negative or of no tier.
    DataError
        No group has a tier and an Original.
    """
    wanted = dict(TIER_QUOTAS if quotas is None else quotas)
    for tier, n in wanted.items():
        if tier not in TIERS or n < 0:
            raise ConfigError(f"the quota {tier}={n} is wrong: tiers are {', '.join(TIERS)}, numbers 0 or more")
    rng = np.random.default_rng(seed)
    fit = sorted((g for g in groups if g.tier and "Original" in g.images), key=lambda g: g.group_id)
    if not fit:
        raise DataError("no group has a tier and an Original picture: run the stage 'taxonomy' first")
    chosen: list[Group] = []
    short: dict[str, tuple[int, int]] = {}
    for tier in TIERS:
        pool = [group for group in fit if group.tier == tier]
        n = wanted.get(tier, 0)
        if len(pool) < n:
            short[tier] = (n, len(pool))
        chosen += [pool[i] for i in rng.permutation(len(pool))[:n]]
    return TierSample([chosen[i] for i in rng.permutation(len(chosen))], short)


def sample_edits(groups: Iterable[Group], *, n: int = EDIT_SAMPLE, seed: int = 42) -> list[tuple[Group, str]]:
    """Edited pictures (group, variant), as evenly as can be over data sets and variants; all when there are fewer.

    Raises
    ------
    ConfigError
        `n` is below 1.
    DataError
        There is no edited picture.
    """
    if n < 1:
        raise ConfigError(f"a sample of {n} edited pictures: it must be at least 1")
    rng = np.random.default_rng(seed)
    strata: dict[tuple[str, str], list[tuple[Group, str]]] = {}
    for group in sorted(groups, key=lambda g: g.group_id):
        for variant in EDIT_VARIANTS:
            if {variant, "Original"} <= set(group.images) and group.spans:
                strata.setdefault((group.dataset, variant), []).append((group, variant))
    if not strata:
        raise DataError("no group has edited pictures: run the stage 'synthesis' first")
    pools = [[pool[i] for i in rng.permutation(len(pool))] for _, pool in sorted(strata.items())]
    chosen: list[tuple[Group, str]] = []
    while len(chosen) < n and any(pools):
        for i in rng.permutation(len(pools)):  # one from each stratum in turn
            if pools[i] and len(chosen) < n:
                chosen.append(pools[i].pop())
    return [chosen[i] for i in rng.permutation(len(chosen))]
