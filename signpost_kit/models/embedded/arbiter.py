"""Weighing sights against writing: every candidate place is described by the evidence for it, and a logistic
model that was fitted on drawn scenes says how near the truth a place with such evidence is to be expected.

The weights are learned, none is set by hand. Trained on scenes whose writing told the truth, the model learns to
believe signs; trained on scenes some of whose signs lied, it learns to check them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signpost_kit.geocoding.base import Place
from signpost_kit.models.embedded.languages import agreement
from signpost_kit.models.embedded.reading import Reading, regions
from signpost_kit.models.embedded.world import distances_km, share_of_people

__all__ = ["EVIDENCE", "Arbiter", "Candidates", "describe", "fit"]

EVIDENCE: tuple[str, ...] = (
    "sight_near",
    "sight_far",
    "name_near",
    "name_rank",
    "name_rivals",
    "language_fit",
    "language_misfit",
    "region_first",
    "name_near*sight_far",
    "name_near*sight_sure",
    "language_fit*sight_near",
)
_NEAR_KM, _FAR_KM = 150.0, 2000.0
_SOFT = 0.01  # added to shares before a logarithm where nothing else keeps them above 0
_ALPHA = 0.005  # the benchmark's own decay of credit with distance, WLA


@dataclass(frozen=True)
class Candidates:
    """Places a picture may show, with the evidence for each."""

    places: tuple[Place, ...]
    sources: tuple[str, ...]
    """sight, name or region: how each place became a candidate."""
    evidence: NDArray[np.float64]
    """One row per place, one column per entry of ``EVIDENCE``."""


@dataclass(frozen=True)
class Arbiter:
    """A fitted logistic model: expected credit (WLA, 0..1) of a candidate from its evidence."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]
    bias: float

    def expected_credit(self, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """0..1 for every row."""
        logit = (evidence - self.mean) / self.scale @ self.weights + self.bias
        return 1.0 / (1.0 + np.exp(-np.clip(logit, -40.0, 40.0)))


def describe(cities: Sequence[Place], sight: NDArray[np.float64], reading: Reading, *, lessons: int) -> Candidates:
    """All candidates of one picture: every city the looker knows, every place named, main cities of the language.

    Parameters
    ----------
    cities, sight
        The looker's cities and its probability for each (sums to 1).
    reading
        What the writing says; may be empty.
    lessons
        How many scenes the looker learned from. None of them lay elsewhere, so the chance that a picture shows a
        place that the looker does not know is put at 1 / (lessons + 1), Laplace's rule of succession, shared out
        among the world's cities by their people.
    """
    named = [n.place for n in reading.named]
    areas = regions(reading)
    places = (*cities, *named, *areas)
    sources = ("sight",) * len(cities) + ("name",) * len(named) + ("region",) * len(areas)
    spots = np.array([(p.lat, p.lon) for p in places])
    to_cities = distances_km(spots, spots[: len(cities)])
    unknown = np.array([share_of_people(p) for p in places]) / (lessons + 1)
    near_log = np.log(np.exp(-to_cities / _NEAR_KM) @ sight + unknown)
    far_kernel = np.exp(-to_cities / _FAR_KM)
    far = np.log((far_kernel @ sight + _SOFT) / (far_kernel.mean(axis=1) + _SOFT))
    name_near, name_rank, rivals = _named_evidence(spots, reading)
    fit_ = np.array([agreement(reading.languages, p.country) for p in places])
    misfit = (1.0 - fit_) if reading.languages else np.zeros(len(places))
    first = np.zeros(len(places))
    if areas:
        first = np.exp(-distances_km(spots, [(areas[0].lat, areas[0].lon)])[:, 0] / _NEAR_KM)
    columns = (
        near_log,
        far,
        name_near,
        name_rank,
        rivals,
        fit_,
        misfit,
        first,
        name_near * far,
        name_near * float(sight.max()),
        fit_ * near_log,
    )
    return Candidates(places, sources, np.column_stack(columns))


def _named_evidence(
    spots: NDArray[np.float64], reading: Reading
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Per place: the best name nearby, its standing among all names, and the weight of names that say elsewhere."""
    zero = np.zeros(len(spots))
    if not reading.named:
        return zero, zero, zero
    kernel = np.exp(-distances_km(spots, [(n.place.lat, n.place.lon) for n in reading.named]) / _NEAR_KM)
    coverage = np.array([n.coverage for n in reading.named])
    scores = np.array([n.score for n in reading.named])
    scores = scores / scores.max()
    return (kernel * coverage).max(axis=1), (kernel * scores).max(axis=1), ((1 - kernel) * scores).mean(axis=1)


def fit(rows: Sequence[tuple[Candidates, float, float]], *, strength: float = 1.0) -> Arbiter:
    """Fit on pictures whose true position is known.

    Each candidate enters twice: as a success with its credit (WLA at its distance to the truth) for weight, and
    as a failure with the rest, so that the fitted probability is an expected credit.

    Parameters
    ----------
    rows
        (candidates, true lat, true lon) per picture; at least one.
    strength
        Inverse of the ridge penalty.
    """
    from sklearn.linear_model import LogisticRegression

    evidence = np.concatenate([c.evidence for c, _, _ in rows])
    credit = np.concatenate(
        [
            np.exp(-_ALPHA * distances_km([(p.lat, p.lon) for p in c.places], [(lat, lon)])[:, 0])
            for c, lat, lon in rows
        ]
    )
    mean, scale = evidence.mean(axis=0), evidence.std(axis=0)
    scale[scale == 0] = 1.0
    standard = (evidence - mean) / scale
    x = np.concatenate([standard, standard])
    y = np.repeat([1, 0], len(standard))
    model = LogisticRegression(C=strength, max_iter=500).fit(
        x, y, sample_weight=np.concatenate([credit, 1 - credit])
    )
    return Arbiter(mean, scale, model.coef_[0], float(model.intercept_[0]))
