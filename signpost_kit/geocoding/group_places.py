"""A benchmark's groups with the countries of their truth and trap, and with what their sign says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signpost_kit.frames import VARIANTS
from signpost_kit.geocoding.countries import country_at
from signpost_kit.parsing.country_names import country_code

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark import Benchmark, Group

__all__ = ["with_places"]


def with_places(benchmark: Benchmark) -> pd.DataFrame:
    """The benchmark's frame, for the scores of the further tasks.

    Returns
    -------
    One row per group: the `groups` frame, with

    country
        ISO 3166-1 alpha-2 of the truth: as the group tells it, else of the city nearest to it (near a border that
        can be the neighbour)
    trap_country
        The same of the trap; "" without one.
    sign_Original, sign_Blank, sign_Similar, sign_Random, sign_Adversarial
        What the representative sign says in each version; "" when it says nothing or nobody knows.
    """
    frame = benchmark.to_frame()
    groups = benchmark.groups
    signs = {f"sign_{variant}": [_sign(group, variant) for group in groups] for variant in VARIANTS}
    return frame.assign(
        country=[_country(group) for group in groups],
        trap_country=[country_at(group.trap.lat, group.trap.lon)[0] if group.trap else "" for group in groups],
        **signs,
    )


def _country(group: Group) -> str:
    return country_code(group.country) or country_at(group.lat, group.lon)[0]


def _sign(group: Group, variant: str) -> str:
    span = group.representative
    if span is None or variant == "Blank":
        return ""
    return span.text if variant == "Original" else span.replacements.get(variant.lower(), "")
