"""The context ladder: named points around each site, by distance and by how often people refer to them."""

from signpost_kit.ladder.draw import REFERENCE_TIERS, draw_ladder, reference_tier
from signpost_kit.ladder.local import local_points
from signpost_kit.ladder.sites import sites_of

__all__ = ["REFERENCE_TIERS", "draw_ladder", "local_points", "reference_tier", "sites_of"]
