"""A linear classifier of street pictures by city: what the offline models know by looking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Looker", "fit", "held_out"]

_FOLDS = 4
_RARE = 0.03  # features that are 0 in all but this share of the scenes are left out


@dataclass(frozen=True)
class Looker:
    """A fitted classifier: standardise, project, soften."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]
    """Cities x features."""
    bias: NDArray[np.float64]
    softness: float = 1.0
    """Divides the logits; fitted on scenes the classifier was not trained on, so that its doubts are honest."""
    lessons: int = 0
    """How many scenes it learned from."""

    def logits(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Unsoftened scores, rows x cities."""
        standard = np.clip((np.atleast_2d(features) - self.mean) / self.scale, -6.0, 6.0)
        return standard @ self.weights.T + self.bias

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """One row per picture, one column per city; rows sum to 1."""
        return _softmax(self.logits(features) / self.softness)


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def _fit_raw(features: NDArray[np.float64], labels: NDArray[np.intp], n_labels: int) -> Looker:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale < 1e-9] = 1.0
    # Colours that hardly ever occur tell one scene, not one city.
    used = (features != 0).mean(axis=0) >= _RARE
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto", priors=np.full(n_labels, 1 / n_labels))
    model.fit(((features - mean) / scale)[:, used], labels)
    weights = np.zeros((n_labels, features.shape[1]))
    weights[:, used] = model.coef_
    return Looker(mean, scale, weights, np.asarray(model.intercept_))


def held_out(features: NDArray[np.float64], labels: NDArray[np.intp], n_labels: int) -> NDArray[np.float64]:
    """Logits for every scene from a classifier that did not see it (folds by position in each city's list)."""
    position = np.zeros(len(labels), dtype=int)
    for label in range(n_labels):
        mine = labels == label
        position[mine] = np.arange(mine.sum())
    out = np.zeros((len(labels), n_labels))
    for fold in range(_FOLDS):
        test = position % _FOLDS == fold
        out[test] = _fit_raw(features[~test], labels[~test], n_labels).logits(features[test])
    return out


def softness_of(logits: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """The divisor that makes the softened probabilities fit the labels best (maximum likelihood on a grid)."""
    grid = np.geomspace(0.5, 50.0, 60)
    rows = np.arange(len(labels))
    loss = [-np.log(_softmax(logits / s)[rows, labels] + 1e-12).mean() for s in grid]
    return float(grid[int(np.argmin(loss))])


def fit(
    features: NDArray[np.float64], labels: NDArray[np.intp], n_labels: int
) -> tuple[Looker, NDArray[np.float64]]:
    """The classifier, and its honest probabilities for the training scenes (each from a model that did not see it).

    Parameters
    ----------
    features
        Scenes x features.
    labels
        Index of each scene's city, 0..n_labels-1; every city needs at least four scenes.
    """
    logits = held_out(features, labels, n_labels)
    softness = softness_of(logits, labels)
    raw = _fit_raw(features, labels, n_labels)
    return Looker(raw.mean, raw.scale, raw.weights, raw.bias, softness, len(labels)), _softmax(logits / softness)
