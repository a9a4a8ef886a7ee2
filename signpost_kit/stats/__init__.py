"""Statistics on tidy arrays, respecting how the data were grouped. No I/O, no clock, no global randomness.

scipy, statsmodels and pandas are imported inside the functions that need them.
"""

from signpost_kit.stats.agreement import Kappa, Share, cohen_kappa, kappa_from_counts, wilson
from signpost_kit.stats.comparisons import PairedComparison, compare_models, compare_paired
from signpost_kit.stats.intervals import Interval, cluster_bootstrap, percentile_bounds
from signpost_kit.stats.paired import SignFlip, Wilcoxon, holm, paired_sign_flip, paired_wilcoxon
from signpost_kit.stats.planning import Plan, groups_for_difference, groups_for_width, power_of, width_at
from signpost_kit.stats.ranks import (
    RankAgreement,
    order_probability,
    rank_agreement,
    rank_probabilities,
    rank_table,
)
from signpost_kit.stats.slopes import Slope, distance_slope
from signpost_kit.stats.split_half import SplitHalf, split_half_regimes

__all__ = [
    "Interval",
    "Kappa",
    "PairedComparison",
    "Plan",
    "RankAgreement",
    "Share",
    "SignFlip",
    "Slope",
    "SplitHalf",
    "Wilcoxon",
    "cluster_bootstrap",
    "cohen_kappa",
    "compare_models",
    "compare_paired",
    "distance_slope",
    "groups_for_difference",
    "groups_for_width",
    "holm",
    "kappa_from_counts",
    "order_probability",
    "paired_sign_flip",
    "paired_wilcoxon",
    "percentile_bounds",
    "power_of",
    "rank_agreement",
    "rank_probabilities",
    "rank_table",
    "split_half_regimes",
    "width_at",
    "wilson",
]
