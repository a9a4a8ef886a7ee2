"""The same replies under other constants: the decay of WLA, the trap radius by tier, and errors in distance bins.

SIGNPOST-Bench, appendix G (tables 12 and 18) and appendix B (bins). Every row carries its interval, its coverage
and the reading of failures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from signpost_kit.frames import TIERS, VARIANTS
from signpost_kit.metrics.cube import Cube
from signpost_kit.metrics.localization import wla
from signpost_kit.metrics.longform import drawn, ratio_frame
from signpost_kit.metrics.paper import BIN_EDGES_KM, BIN_NAMES, TFR_RADII_KM, TFR_RADIUS_KM, WLA_ALPHA, WLA_ALPHAS
from signpost_kit.metrics.ratios import ANSWERED, AS_FAILURES, Key, Ratio
from signpost_kit.metrics.sensitivity import agreement
from signpost_kit.stats.intervals import mean_over_datasets, ratio, segment_sums
from signpost_kit.stats.resampling import Resamples

__all__ = ["UNANSWERED", "by_alpha", "by_radius", "distance_bins"]

UNANSWERED = "unanswered"
"""The bin of failed replies; only where they stay in the denominator."""
_ADVERSARIAL = VARIANTS.index("Adversarial")


def by_alpha(
    cube: Cube,
    resamples: Resamples,
    *,
    alpha: float = WLA_ALPHA,
    alphas: Sequence[float] = WLA_ALPHAS,
    reading: str = ANSWERED,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """WLA under other decays, and whether the models keep their order.

    Parameters
    ----------
    alpha
        The run's own decay per km; added to `alphas` if it is not among them.

    Returns
    -------
    alpha
        The columns of the tables of scores (metric `wla`, fractions) and `alpha`; per dataset and macro.
    alpha_ranks
        variant, alpha, kendall_tau, kendall_low, kendall_high, spearman_rho, spearman_low, spearman_high (of the
        macro WLA against that under the run's own decay), n_models, reason, reading.
    """
    decays = sorted({*map(float, alphas), float(alpha)})
    scores, labels = [], []
    for decay in decays:
        values = cube.average(np.nan_to_num(wla(cube.error_km, decay)))
        for v, variant in enumerate(VARIANTS):
            scores.append(_of_all(cube, Key("wla", variant, "", reading), v, values[:, v]))
            labels.append(decay)
    draws = drawn(scores, resamples)
    macro = mean_over_datasets(
        np.stack(
            [
                ratio(segment_sums(s.numerator, cube.starts), segment_sums(s.denominator, cube.starts)).T
                for s in scores
            ],
            axis=1,
        )
    )
    place = {(decay, score.key.variant): n for n, (decay, score) in enumerate(zip(labels, scores, strict=True))}
    rows = []
    for variant in VARIANTS:
        own = place[float(alpha), variant]
        for decay in decays:
            this = place[decay, variant]
            compared = agreement((macro[this], draws.macro[this]), (macro[own], draws.macro[own]))
            rows.append({"variant": variant, "alpha": decay} | compared)
    return (
        ratio_frame(cube, scores, draws, {"alpha": labels}),
        pd.DataFrame(rows).assign(reading=reading),
    )


def by_radius(
    cube: Cube,
    resamples: Resamples,
    *,
    radius_km: float = TFR_RADIUS_KM,
    radii_km: Sequence[float] = TFR_RADII_KM,
    reading: str = ANSWERED,
) -> pd.DataFrame:
    """TFR under other radii, on each tier and on all groups; the study's table is T3 only.

    Returns
    -------
    The columns of the tables of scores (metric `tfr`, fractions), `radius_km`, and `n`, the predictions in the
    denominator (with a trap, and answered where failures leave). Tier "" is all groups. The rate of a cell without
    any is NaN.
    """
    radii = sorted({*map(float, radii_km), float(radius_km)})
    eligible = cube.has_trap[None, :]
    asked, answered = (part[:, _ADVERSARIAL] * eligible for part in (cube.n_asked, cube.n_answered))
    share = 1.0 if cube.single or reading == ANSWERED else answered / np.maximum(asked, 1)
    denominator = (asked if reading == AS_FAILURES else answered) > 0
    scores, labels = [], []
    inside = {tier: cube.tier == number for number, tier in enumerate(TIERS)}
    for tier in ("", *TIERS):
        among = inside[tier][None, :] if tier else np.array([[True]])
        parts = [part * among for part in (denominator, asked, answered)]
        for radius in radii:
            trapped = cube.average(cube.trap_km < radius)[:, _ADVERSARIAL] * eligible * share * among
            scores.append(Ratio(Key("tfr", "Adversarial", tier, reading), trapped, *parts))
            labels.append(radius)
    out = ratio_frame(cube, scores, drawn(scores, resamples), {"radius_km": labels})
    out["n"] = out["n_asked"] if reading == AS_FAILURES else out["n_answered"]
    return out


def distance_bins(cube: Cube, resamples: Resamples, *, reading: str = ANSWERED) -> pd.DataFrame:
    """Shares of errors in the bins street (< 1 km), city, region, country, continent, failed (2,500 km and more).

    Read `as_failures`, the shares are of all requests and the bin `unanswered` holds the failed ones.

    Returns
    -------
    The columns of the tables of scores (metric `bin_share`, fractions that sum to 1 over the bins of one model,
    dataset and variant) and `bin`; per dataset and macro.
    """
    as_failures = reading == AS_FAILURES
    band = np.searchsorted(BIN_EDGES_KM, cube.error_km, side="right")  # NaN comes last: not answered, left out
    share = None if cube.single or not as_failures else cube.n_answered / np.maximum(cube.n_asked, 1)
    scores, labels = [], []
    for number, name in enumerate(BIN_NAMES):
        values = cube.average(band == number)
        values = values if share is None else values * share
        for v, variant in enumerate(VARIANTS):
            scores.append(_of_all(cube, Key("bin_share", variant, "", reading), v, values[:, v]))
            labels.append(name)
    if as_failures:
        missing = np.where(cube.n_asked > 0, 1.0 - cube.n_answered / np.maximum(cube.n_asked, 1), 0.0)
        for v, variant in enumerate(VARIANTS):
            scores.append(_of_all(cube, Key("bin_share", variant, "", reading), v, missing[:, v], failed=True))
            labels.append(UNANSWERED)
    return ratio_frame(cube, scores, drawn(scores, resamples), {"bin": labels})


def _of_all(cube: Cube, key: Key, v: int, values: np.ndarray, *, failed: bool = False) -> Ratio:
    """A share of one variant's groups: of the answered ones, or of those asked, a failed one counting 0."""
    asked, answered = cube.n_asked[:, v], cube.n_answered[:, v]
    if key.reading == ANSWERED:
        return Ratio(key, values, answered > 0, asked, answered)
    if not (cube.single or failed or key.metric == "bin_share"):
        values = values * (answered / np.maximum(asked, 1))
    return Ratio(key, values, asked > 0, asked, answered)
