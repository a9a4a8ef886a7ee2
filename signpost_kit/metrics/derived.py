"""Scores computed from other scores: retention, q terms, capability, robustness, MCRS, drops by tier.

The same function serves point estimates (score, model) and resamples (score, model, resample): scores lie on
axis 0.
"""

from __future__ import annotations

import numpy as np

from signpost_kit.frames import TIERS
from signpost_kit.metrics.mcrs import capability, mcrs, quality_tbs, quality_tfr, retention, robustness
from signpost_kit.metrics.ratios import READINGS, Key

__all__ = ["Derivation"]


class Derivation:
    """Knows where the scores it needs stand among `keys`, and the keys of the scores it makes."""

    def __init__(self, keys: list[Key]) -> None:
        self._place = {key: number for number, key in enumerate(keys)}
        self.keys: list[Key] = []
        self.sources: list[Key] = []
        """For each made score, the score whose asked and answered counts describe it best."""
        for reading in READINGS:
            self._declare(reading)

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """(j, ...) derived scores from the (k, ...) ones."""
        return np.stack([part for reading in READINGS for part in self._compute(scores, reading)])

    def _declare(self, reading: str) -> None:
        whole = [
            *(("retention", variant, "wla", variant) for variant in ("Similar", "Random", "Adversarial")),
            ("q_tbs", "Adversarial", "tbs_km", "Adversarial"),
            ("q_tfr", "Adversarial", "tfr", "Adversarial"),
            ("capability", "", "wla", "Original"),
            ("robustness", "", "wla", "Adversarial"),
            ("mcrs", "", "wla", "Adversarial"),
        ]
        for metric, variant, source, source_variant in whole:
            self.keys.append(Key(metric, variant, "", reading))
            self.sources.append(Key(source, source_variant, "", reading))
        for tier in TIERS:
            for metric in ("drop_points", "drop_percent"):
                self.keys.append(Key(metric, "Adversarial", tier, reading))
                self.sources.append(Key("wla", "Adversarial", tier, reading))

    def _compute(self, scores: np.ndarray, reading: str) -> list[np.ndarray]:
        def of(metric: str, variant: str, tier: str = "") -> np.ndarray:
            return scores[self._place[Key(metric, variant, tier, reading)]]

        blank, random, adversarial = of("wla", "Blank"), of("wla", "Random"), of("wla", "Adversarial")
        tbs, tfr = of("tbs_km", "Adversarial"), of("tfr", "Adversarial")
        able = capability(of("wla", "Original"), blank)
        robust = robustness(blank, random, adversarial, tbs, tfr)
        out = [
            retention(of("wla", "Similar"), blank),
            retention(random, blank),
            retention(adversarial, blank),
            quality_tbs(tbs),
            quality_tfr(tfr),
            able,
            robust,
            mcrs(able, robust),
        ]
        for tier in TIERS:
            before, after = of("wla", "Original", tier), of("wla", "Adversarial", tier)
            points = 100.0 * (before - after)
            with np.errstate(divide="ignore", invalid="ignore"):
                out += [points, np.where(before > 0, points / before, np.nan)]
        return [np.asarray(part, dtype=scores.dtype) for part in out]
