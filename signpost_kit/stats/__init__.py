"""Statistics on tidy arrays: intervals that respect how the data were grouped. No I/O, no global randomness."""

from signpost_kit.stats.intervals import Interval, cluster_bootstrap, percentile_bounds

__all__ = ["Interval", "cluster_bootstrap", "percentile_bounds"]
