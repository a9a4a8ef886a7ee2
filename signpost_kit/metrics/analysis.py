"""Everything of the study's analysis beyond the scores themselves, in one pass over shared resamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from signpost_kit.errors import ConfigError
from signpost_kit.metrics.associations import correlations
from signpost_kit.metrics.choices import by_alpha, by_radius, distance_bins
from signpost_kit.metrics.cohorts import cohort, cohort_of_models
from signpost_kit.metrics.cube import build_cube
from signpost_kit.metrics.joint import joint_scores
from signpost_kit.metrics.pairwise import compare_pairs
from signpost_kit.metrics.paper import TFR_RADIUS_KM, WLA_ALPHA
from signpost_kit.metrics.ratios import READINGS, ratios
from signpost_kit.metrics.sensitivity import ablation, sensitivity
from signpost_kit.metrics.significance import original_against_adversarial
from signpost_kit.metrics.standings import ranks, standings
from signpost_kit.metrics.summaries import aggregate, joint_medians, providers
from signpost_kit.stats.resampling import Resamples

__all__ = ["FRAMES", "analyse"]

FRAMES: tuple[str, ...] = (
    "sensitivity",
    "sensitivity_ranks",
    "ablation",
    "alpha",
    "alpha_ranks",
    "radius",
    "bins",
    "cohort",
    "cohort_models",
    "tests",
    "correlations",
    "ranks",
    "standings",
    "pairs",
    "providers",
    "aggregate",
)
"""Names of the frames that :func:`analyse` gives."""


def analyse(
    predictions: pd.DataFrame,
    groups: Any,
    *,
    provider_of: Mapping[str, str] | None = None,
    alpha: float = WLA_ALPHA,
    tfr_radius_km: float = TFR_RADIUS_KM,
    n_resamples: int = 2000,
    n_flips: int = 20_000,
    seed: int = 42,
    readings: Sequence[str] = READINGS,
) -> dict[str, pd.DataFrame]:
    """All frames of :data:`FRAMES` from the predictions of any number of models on any number of datasets.

    Parameters
    ----------
    predictions, groups
        As for :func:`signpost_kit.metrics.score_signpost`; the frame `scores` does as well as `predictions`.
    provider_of
        Model -> provider; models not listed belong to "Other".
    alpha, tfr_radius_km
        The run's own constants; the study's others are tried besides.
    n_resamples, n_flips
        Of the bootstrap; of each permutation test between two models.
    readings
        Which readings of failed replies to give, one below the other: `answered_only`, `as_failures`.

    Returns
    -------
    Each frame is described where it is made: :mod:`~signpost_kit.metrics.sensitivity` (sensitivity,
    sensitivity_ranks, ablation), :mod:`~signpost_kit.metrics.choices` (alpha, alpha_ranks, radius, bins),
    :mod:`~signpost_kit.metrics.cohorts` (cohort, cohort_models), :mod:`~signpost_kit.metrics.significance` (tests),
    :mod:`~signpost_kit.metrics.associations` (correlations), :mod:`~signpost_kit.metrics.standings` (ranks,
    standings), :mod:`~signpost_kit.metrics.pairwise` (pairs), :mod:`~signpost_kit.metrics.summaries` (providers,
    aggregate). Whatever is not defined is NaN; nothing is infinite.

    Raises
    ------
    DataError
        The frames do not fit together; see :func:`signpost_kit.metrics.cube.build_cube`.
    ConfigError
        An unknown reading, or a number out of range.
    """
    unknown = [name for name in readings if name not in READINGS]
    if unknown or not readings:
        raise ConfigError(f"readings must be some of {', '.join(READINGS)}; got {list(readings)!r}")
    if not tfr_radius_km > 0:
        raise ConfigError(f"tfr_radius_km must be above 0 km, got {tfr_radius_km!r}")
    if n_resamples < 0:
        raise ConfigError(f"n_resamples must be 0 or more, got {n_resamples!r}")
    frame = groups.to_frame() if hasattr(groups, "to_frame") else groups
    _, cube = build_cube(predictions, frame)
    scores = ratios(cube, alpha=alpha, tfr_radius_km=tfr_radius_km)
    resamples = Resamples(cube.starts, cube.datasets, n_resamples=n_resamples, seed=seed)
    joint = joint_scores(cube, scores, resamples)
    medians = joint_medians(cube, resamples)
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in FRAMES}
    # Without a failure both readings are the same numbers, and the costly comparisons are made once.
    same = bool((cube.n_answered == cube.n_asked).all())
    for reading in readings:
        compared = parts["pairs"] if same else []
        found = {
            **dict(zip(("sensitivity", "sensitivity_ranks"), sensitivity(joint, reading=reading), strict=True)),
            "ablation": ablation(joint, reading=reading),
            **dict(
                zip(
                    ("alpha", "alpha_ranks"),
                    by_alpha(cube, resamples, alpha=alpha, reading=reading),
                    strict=True,
                )
            ),
            "radius": by_radius(cube, resamples, radius_km=tfr_radius_km, reading=reading),
            "bins": distance_bins(cube, resamples, reading=reading),
            "tests": original_against_adversarial(cube, scores, resamples, reading=reading),
            "correlations": correlations(joint, reading=reading),
            "ranks": ranks(joint, reading=reading),
            "standings": standings(joint, reading=reading),
            "pairs": compared[0].assign(reading=reading)
            if compared
            else compare_pairs(cube, scores, resamples, reading=reading, n_flips=n_flips, seed=seed),
            "providers": providers(joint, medians, provider_of or {}, reading=reading),
            "aggregate": aggregate(joint, medians, reading=reading),
        }
        for name, made in found.items():
            parts[name].append(made)
    out = {name: pd.concat(made, ignore_index=True) for name, made in parts.items() if made}
    out |= {"cohort": cohort(cube), "cohort_models": cohort_of_models(cube)}
    return {name: out[name] for name in FRAMES}
