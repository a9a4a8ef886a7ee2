"""What was learned, on disk: plain arrays and JSON in one .npz, which cannot run code when it is read."""

from __future__ import annotations

import json
import logging
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np

from signpost_kit.errors import StorageError
from signpost_kit.files import atomic_path
from signpost_kit.geocoding.base import Place
from signpost_kit.models.embedded.arbiter import EVIDENCE, Arbiter
from signpost_kit.models.embedded.features import FEATURE_COUNT
from signpost_kit.models.embedded.judges import Mind
from signpost_kit.models.embedded.looker import Looker

__all__ = ["recall", "remember"]

_log = logging.getLogger(__name__)


def remember(path: Path, mind: Mind) -> None:
    """Write `mind`, whole or not at all; a cache that cannot be written is named in the log."""
    head = {
        "cities": [asdict(city) for city in mind.cities],
        "softness": mind.looker.softness,
        "lessons": mind.looker.lessons,
        "biases": {name: a.bias for name, a in mind.arbiters.items()},
    }
    arrays = {
        "head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8),
        "looker_mean": mind.looker.mean,
        "looker_scale": mind.looker.scale,
        "looker_weights": mind.looker.weights,
        "looker_bias": mind.looker.bias,
    }
    for name, arbiter in mind.arbiters.items():
        arrays[f"{name}_mean"], arrays[f"{name}_scale"] = arbiter.mean, arbiter.scale
        arrays[f"{name}_weights"] = arbiter.weights
    try:
        with atomic_path(path) as temporary, temporary.open("wb") as handle:
            np.savez(handle, **arrays)  # type: ignore[arg-type]
    except StorageError as error:
        _log.warning("what the offline models learned is not kept: %s", error)


def recall(path: Path) -> Mind | None:
    """What :func:`remember` wrote; None when there is no such file or it is damaged (named in the log)."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        mind = _mind(arrays)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        _log.warning("the cache file %s is damaged (%s); the offline models learn again", path, error)
        return None
    return mind


def _mind(arrays: dict[str, np.ndarray]) -> Mind:
    head = json.loads(arrays["head"].tobytes())
    cities = tuple(Place(**city) for city in head["cities"])
    looker = Looker(
        *(arrays[f"looker_{part}"] for part in ("mean", "scale", "weights", "bias")),
        softness=float(head["softness"]),
        lessons=int(head["lessons"]),
    )
    if looker.weights.shape != (len(cities), FEATURE_COUNT) or not np.isfinite(looker.weights).all():
        raise ValueError(f"the looker's weights have the shape {looker.weights.shape}")
    arbiters = {
        name: Arbiter(arrays[f"{name}_mean"], arrays[f"{name}_scale"], arrays[f"{name}_weights"], float(bias))
        for name, bias in head["biases"].items()
    }
    if any(a.weights.shape != (len(EVIDENCE),) for a in arbiters.values()):
        raise ValueError("an arbiter has another number of weights")
    return Mind(cities, looker, arbiters)
