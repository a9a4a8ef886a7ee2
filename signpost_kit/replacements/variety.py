"""Where the adversarial text of each picture should lead, so that a set does not point to one city again and again.

A model that is only asked for "another continent" has favourites: of one published model's replacements 84.5 %
named the same target. So the question names a region of the world, drawn for each picture from its id and the seed;
about one picture in eighteen then gets the same region, whatever a model's favourite in it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from signpost_kit.files import hash_bytes

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ANYWHERE", "REGIONS", "group_rng", "region_for"]

REGIONS: dict[str, str] = {
    "North Africa": "AF",
    "West Africa": "AF",
    "East Africa": "AF",
    "Southern Africa": "AF",
    "China": "AS",
    "Japan or Korea": "AS",
    "Southeast Asia": "AS",
    "South Asia": "AS",
    "Central Asia": "AS",
    "the Middle East": "AS",
    "Northern Europe": "EU",
    "Western Europe": "EU",
    "Southern Europe": "EU",
    "Eastern Europe": "EU",
    "Canada": "NA",
    "the United States": "NA",
    "Mexico": "NA",
    "Central America or the Caribbean": "NA",
    "the Andes": "SA",
    "Brazil": "SA",
    "the south of South America": "SA",
    "Australia": "OC",
    "New Zealand": "OC",
}
"""Region, as it is named in the question -> continent code."""
ANYWHERE = "any part of the world on another continent"


def group_rng(group_id: str, seed: int) -> np.random.Generator:
    """Chance that hangs on the group's id and the seed alone, not on the order of groups."""
    import numpy as np

    return np.random.default_rng([seed, int(hash_bytes(group_id.encode())[:12], 16)])


def region_for(group_id: str, continent: str, *, seed: int) -> str:
    """The region for one picture, on another continent than its own (a code; empty: unknown, any region)."""
    far = [region for region, code in REGIONS.items() if code != continent]
    return far[int(group_rng(group_id, seed).integers(len(far)))]
