"""The scores of both studies: arrays and tidy frames in, fractions, km and tidy frames out."""

from signpost_kit.metrics.analysis import analyse
from signpost_kit.metrics.checklist import checklist_compliance
from signpost_kit.metrics.claims import calibration, false_acceptances, score_claims, summarise_claims, verdict_roc
from signpost_kit.metrics.conflict import attraction_rate, mean_of_pairs, tbs_km, tdr_km, tfr
from signpost_kit.metrics.echoes import distinctive, echo, echo_study
from signpost_kit.metrics.hints import (
    error_ratio,
    hint_band,
    hit,
    interventions,
    rates,
    ratio_summary,
    regimes,
    slopes,
)
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
from signpost_kit.metrics.verification import claim_band, discrimination_radius, dprime, read_out

__all__ = [
    "acc_at",
    "analyse",
    "attraction_rate",
    "calibration",
    "capability",
    "checklist_compliance",
    "claim_band",
    "discrimination_radius",
    "distinctive",
    "dprime",
    "echo",
    "echo_study",
    "error_bins",
    "error_ratio",
    "false_acceptances",
    "hint_band",
    "hit",
    "interventions",
    "mcrs",
    "mean_of_pairs",
    "median_error_km",
    "quality_tbs",
    "quality_tfr",
    "rates",
    "ratio_summary",
    "read_out",
    "regimes",
    "retention",
    "robustness",
    "score_claims",
    "score_signpost",
    "slopes",
    "summarise_claims",
    "tbs_km",
    "tdr_km",
    "tfr",
    "verdict_roc",
    "weights_with",
    "weights_without",
    "wla",
]
