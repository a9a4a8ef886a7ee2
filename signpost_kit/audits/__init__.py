"""Checks of a benchmark by people: sheets to fill in, readers of filled sheets, and how far the judges agree.

Tiers of source pictures by two annotators who do not see the automatic tier, and the quality of edited pictures, as
in SIGNPOST-Bench; which pictures of sites are kept, as in GeoContext.
"""

from signpost_kit.audits.agreement import edit_summary, tier_agreement
from signpost_kit.audits.filled import Audits, filled_audits, read_sheets
from signpost_kit.audits.sampling import EDIT_SAMPLE, TIER_QUOTAS, sample_edits, sample_tiers
from signpost_kit.audits.sheets import write_edit_sheets, write_image_sheets, write_tier_sheets

__all__ = [
    "EDIT_SAMPLE",
    "TIER_QUOTAS",
    "Audits",
    "edit_summary",
    "filled_audits",
    "read_sheets",
    "sample_edits",
    "sample_tiers",
    "tier_agreement",
    "write_edit_sheets",
    "write_image_sheets",
    "write_tier_sheets",
]
