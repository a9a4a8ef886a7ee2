"""A study of 20 published models on two data sets, simulated once: what figures and tables of a whole paper look like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from signpost_kit.frames import VARIANTS
from signpost_kit.geo import haversine_km
from signpost_kit.published import published

SETS = ("IM2GPS3K", "BaiduSV")
_SPREAD = {"Original": 0.5, "Blank": 0.7, "Similar": 0.6, "Random": 0.9, "Adversarial": 0.8}


def simulated_groups(n: int = 60, *, seed: int = 3, traps: bool = True) -> pd.DataFrame:
    """Frame `groups` of `n` scenes per data set, with what a figure of harm wants to know beside."""
    rng = np.random.default_rng(seed)
    total = n * len(SETS)
    lat, lon = rng.uniform(-45, 62, total), rng.uniform(-180, 180, total)
    known = traps & (rng.random(total) < 0.8)
    frame = pd.DataFrame(
        {
            "dataset": np.repeat(SETS, n),
            "group_id": [f"g{i:04d}" for i in range(total)],
            "lat": lat,
            "lon": lon,
            "trap_lat": np.where(known, rng.uniform(-45, 62, total), np.nan),
            "trap_lon": np.where(known, rng.uniform(-180, 180, total), np.nan),
            "tier": rng.choice(["T1", "T2", "T3"], total, p=[0.1, 0.6, 0.3]),
        }
    )
    return frame.assign(
        text_share=rng.lognormal(np.log(0.02), 1.0, total).clip(1e-4, 0.6),
        script=rng.choice(["Latin", "Han", "Arabic", "Devanagari"], total, p=[0.6, 0.25, 0.1, 0.05]),
        trap_distance_km=haversine_km(frame["lat"], frame["lon"], frame["trap_lat"], frame["trap_lon"]),
    )


def simulated_scores(groups: pd.DataFrame, models: list[str], *, seed: int = 5) -> pd.DataFrame:
    """Frame `scores`: each model has a skill and a habit of following signs; some replies fail."""
    rng = np.random.default_rng(seed)
    parts = []
    for model in models:
        skill, follow, fail = rng.uniform(1.2, 3.2), rng.uniform(0.05, 0.4), rng.uniform(0, 0.06)
        for variant in VARIANTS:
            n = len(groups)
            error = 10 ** rng.normal(skill + _SPREAD[variant], 0.9, n)
            lat = np.clip(groups["lat"] + np.minimum(error, 8000) / 111 * rng.choice([-1, 1], n), -89, 89)
            lon = groups["lon"].to_numpy().copy()
            caught = (rng.random(n) < follow) & groups["trap_lat"].notna() if variant == "Adversarial" else False
            lat = np.where(caught, groups["trap_lat"] + 0.1, lat)
            lon = np.where(caught, groups["trap_lon"], lon)
            bad = rng.random(n) < fail
            parts.append(
                pd.DataFrame(
                    {
                        "model": model,
                        "dataset": groups["dataset"],
                        "group_id": groups["group_id"],
                        "variant": variant,
                        "lat": np.where(bad, np.nan, lat),
                        "lon": np.where(bad, np.nan, lon),
                        "status": np.where(bad, "refused", "ok"),
                    }
                )
            )
    out = pd.concat(parts, ignore_index=True).merge(
        groups.rename(columns={"lat": "t_lat", "lon": "t_lon"}).drop(columns=["tier"]), on=["dataset", "group_id"]
    )
    error = haversine_km(out["lat"], out["lon"], out["t_lat"], out["t_lon"])
    trap = haversine_km(out["lat"], out["lon"], out["trap_lat"], out["trap_lon"])
    names = ["model", "dataset", "group_id", "variant", "lat", "lon", "status"]
    return out[names].assign(error_km=error, wla=np.exp(-0.005 * np.asarray(error)), trap_km=trap)


class Study:
    """The simulated study: `groups`, `scores`, and the scoring stage's frames as attributes."""

    def __init__(self, models: list[str], n: int = 60, *, traps: bool = True, failing: bool = False) -> None:
        from signpost_kit.metrics import score_signpost

        self.groups = simulated_groups(n, traps=traps)
        self.scores = simulated_scores(self.groups, models)
        if failing:
            self.scores[["lat", "lon", "error_km", "wla", "trap_km"]] = np.nan
            self.scores["status"] = "refused"
        names = ["model", "dataset", "group_id", "variant", "lat", "lon", "status"]
        frames: dict[str, Any] = score_signpost(self.scores[names], self.groups, n_resamples=100)
        self.cells, self.macro, self.tiers = frames["cells"], frames["macro"], frames["tiers"]


@pytest.fixture(scope="session")
def twenty() -> Study:
    """All 20 published models, by name."""
    return Study(list(published("signpost/models")["model"]))


@pytest.fixture(scope="session")
def one_model() -> Study:
    """One model of one's own on few scenes."""
    return Study(["my-model"], 8)


@pytest.fixture
def study_of() -> type[Study]:
    """To make another one."""
    return Study
