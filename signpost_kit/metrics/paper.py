"""Every number that SIGNPOST-Bench fixes, with the place in the paper it comes from.

Functions take these as keyword defaults; nothing else in the package repeats them.
"""

from __future__ import annotations

from types import MappingProxyType

__all__ = [
    "ACC_KM",
    "BIN_EDGES_KM",
    "BIN_NAMES",
    "CAPABILITY_EXPONENT",
    "CAPABILITY_WEIGHTS",
    "RETENTION_FLOOR",
    "ROBUSTNESS_WEIGHTS",
    "SENSITIVITY_ADVERSARIAL_WEIGHTS",
    "SENSITIVITY_EXPONENTS",
    "TBS_ANCHOR_KM",
    "TFR_ANCHOR",
    "TFR_RADII_KM",
    "TFR_RADIUS_KM",
    "WLA_ALPHA",
    "WLA_ALPHAS",
]

WLA_ALPHA = 0.005
"""Per km: WLA = exp(-alpha d). Section 5, equation 1."""
WLA_ALPHAS = (0.002, 0.005, 0.01)
"""Table 12, sensitivity to alpha."""

ACC_KM = (1, 25, 200, 750, 2500)
"""Acc@k thresholds in km, strictly less. Section 5; appendix B."""
BIN_EDGES_KM = ACC_KM
BIN_NAMES = ("street", "city", "region", "country", "continent", "failed")
"""Error bins <1, 1-25, 25-200, 200-750, 750-2500, >=2500 km. Appendix B."""

TFR_RADIUS_KM = 50.0
"""A prediction strictly closer than this to the injected target is trapped. Section 5, equation 3."""
TFR_RADII_KM = (10, 25, 50, 100, 250, 500)
"""Table 18, on T3 only."""

CAPABILITY_WEIGHTS = MappingProxyType({"Original": 0.5, "Blank": 0.5})
"""Appendix C."""
RETENTION_FLOOR = 0.10
"""Lowest denominator of a retention rate. Appendix C, equation 8."""
TBS_ANCHOR_KM = 3000.0
"""Adversarial TBS at which q_TBS reaches 0. Appendix C, equation 9."""
TFR_ANCHOR = 0.40
"""TFR at which q_TFR reaches 0. Appendix C, equation 10."""
ROBUSTNESS_WEIGHTS = MappingProxyType({"random": 0.22, "adversarial": 0.44, "tbs": 0.17, "tfr": 0.17})
"""Section 5 and appendix C, equation 11."""
CAPABILITY_EXPONENT = 0.40
"""MCRS = 100 C^0.40 R^0.60; the exponent of R is one minus this. Section 5, equation 6."""

SENSITIVITY_ADVERSARIAL_WEIGHTS = (0.30, 0.44, 0.50)
SENSITIVITY_EXPONENTS = (0.30, 0.40, 0.50)
"""Table 4, sensitivity of the ranking."""
