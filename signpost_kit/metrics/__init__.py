"""The scores of SIGNPOST-Bench: arrays and tidy frames in, fractions, km and tidy frames out."""

from signpost_kit.metrics.conflict import attraction_rate, mean_of_pairs, tbs_km, tdr_km, tfr
from signpost_kit.metrics.localization import acc_at, error_bins, median_error_km, wla
from signpost_kit.metrics.mcrs import (
    capability,
    mcrs,
    quality_tbs,
    quality_tfr,
    retention,
    robustness,
    weights_with,
    weights_without,
)
from signpost_kit.metrics.score import score_signpost

__all__ = [
    "acc_at",
    "attraction_rate",
    "capability",
    "error_bins",
    "mcrs",
    "mean_of_pairs",
    "median_error_km",
    "quality_tbs",
    "quality_tfr",
    "retention",
    "robustness",
    "score_signpost",
    "tbs_km",
    "tdr_km",
    "tfr",
    "weights_with",
    "weights_without",
    "wla",
]
