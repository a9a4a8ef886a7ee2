"""Synthetic score frames in the form the scoring stage saves, and a small run to draw from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageDraw

from signpost_kit.benchmark.groups import Benchmark, Group, Span, Trap
from signpost_kit.errors import DataError
from signpost_kit.frames import VARIANTS

DATASETS = ("Alpha", "Beta", "Gamma", "Delta")
VARIANT_LEVEL = {"Original": 0.9, "Blank": 0.72, "Similar": 0.8, "Random": 0.6, "Adversarial": 0.5}


def _row(model: str, dataset: str, metric: str, value: float, width: float, **more: Any) -> dict[str, Any]:
    row = {"model": model, "dataset": dataset, "metric": metric, "variant": "", "tier": "", "value": value,
           "low": value - width, "high": value + width, "n_asked": 60, "n_answered": 57, "coverage": 0.95,
           "reading": "answered_only"}  # fmt: skip
    return row | more


def score_frames(models: list[str], datasets: tuple[str, ...] = DATASETS, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Frames `cells`, `macro` and `tiers` with plausible numbers; the same seed gives the same frames."""
    rng = np.random.default_rng(seed)
    cells, macro, tiers = [], [], []
    for model in models:
        skill, follow = rng.uniform(0.25, 0.7), rng.uniform(0.0, 0.35)
        for place in (*datasets, "macro"):
            out = macro if place == "macro" else cells
            shift = 0.0 if place == "macro" else rng.uniform(-0.1, 0.1)
            for variant, level in VARIANT_LEVEL.items():
                value = float(
                    np.clip(skill * level + shift - (follow / 2 if variant == "Adversarial" else 0), 0.02, 1)
                )
                out.append(_row(model, place, "wla", value, 0.03, variant=variant))
                if variant not in ("Original", "Blank"):
                    tbs = {"Similar": -300.0, "Random": 900.0, "Adversarial": 6000 * follow}[variant]
                    out.append(_row(model, place, "tbs_km", tbs + rng.normal(0, 60), 180, variant=variant))
                    out.append(_row(model, place, "retention", 0.8 - follow, 0.05, variant=variant))
            out.append(_row(model, place, "tfr", follow, 0.03, variant="Adversarial"))
            if place == "macro":
                c, r = skill * 0.81, 0.95 - 1.2 * follow
                numbers = {"capability": c, "robustness": r, "mcrs": 100 * c**0.4 * r**0.6}
                numbers |= {"q_tbs": 1 - 2 * follow, "q_tfr": 1 - follow / 0.4}
                for name, value in numbers.items():
                    out.append(_row(model, place, name, value, 2.0 if name == "mcrs" else 0.03))
        for i, tier in enumerate(("T1", "T2", "T3")):
            for variant in ("Original", "Blank", "Adversarial"):
                value = skill * VARIANT_LEVEL[variant] * (1 + 0.1 * i) - (
                    0.08 * i if variant == "Adversarial" else 0
                )
                tiers.append(_row(model, "macro", "wla", value, 0.05, variant=variant, tier=tier))
    return {"cells": pd.DataFrame(cells), "macro": pd.DataFrame(macro), "tiers": pd.DataFrame(tiers)}


@pytest.fixture
def frames() -> Any:
    """:func:`score_frames`, for tests in other modules of this folder."""
    return score_frames


@dataclass
class StandInRun:
    """As much of a run as reports and figures use."""

    dir: Path
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    profile: Any = field(
        default_factory=lambda: SimpleNamespace(name="toy", title="A toy run", models=["reader", "looker"])
    )
    bench: Benchmark | None = None

    root: Path = Path(__file__).parents[2]

    @property
    def name(self) -> str:
        return self.dir.name

    @property
    def figures_dir(self) -> Path:
        return self.dir / "figures"

    @property
    def tables_dir(self) -> Path:
        return self.dir / "tables" / "out"

    def table(self, name: str) -> pd.DataFrame:
        if name not in self.tables:
            raise DataError(f"no table {name!r}: run the stage 'scoring' first")
        return self.tables[name].copy()

    def benchmark(self) -> Benchmark:
        if self.bench is None:
            raise DataError("no benchmark: run the stage 'sources' first")
        return self.bench


def toy_benchmark(root: Path, n: int = 3, name: str = "") -> Benchmark:
    """`n` groups of drawn pictures with one sign each; the first has no trap."""
    places = [
        (48.86, 2.35, "Paris", "FR", "Rue Cler"),
        (35.68, 139.69, "東京", "JP", "新宿駅"),
        (-33.87, 151.21, "Sydney", "AU", "King St"),
    ]
    groups = []
    for i in range(n):
        lat, lon, city, country, text = places[i % 3]
        box = ((60.0, 40.0), (180.0, 40.0), (180.0, 80.0), (60.0, 80.0))
        images = {}
        for k, variant in enumerate(VARIANTS):
            picture = Image.new("RGB", (240, 160), (120 + 30 * (i % 3), 160, 200))
            draw = ImageDraw.Draw(picture)
            draw.rectangle(
                [60, 40, 180, 80], fill="white" if variant != "Blank" else (120, 120, 120), outline="black"
            )
            draw.text((70, 52), f"{variant[:4]} {k}", fill="black")
            path = root / "images" / variant / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            picture.save(path)
            images[variant] = f"images/{variant}/{i}.png"
        span = Span(
            text,
            box,
            replacements={"similar": "Rue Bleue", "random": "Ωmega Привет", "adversarial": "Nairobi"},
            tier="T3",
        )
        trap = Trap(-1.29, 36.82, "Nairobi") if i else None
        groups.append(Group(f"{name}g{i}", "toy", lat, lon, city=city, country=country, spans=(span,), tier=("T1", "T2", "T3")[i % 3],
                            trap=trap, images=images))  # fmt: skip
    return Benchmark("toy", tuple(groups), root)


def toy_scores(benchmark: Benchmark, models: tuple[str, ...] = ("reader", "looker")) -> pd.DataFrame:
    """Scores: `reader` goes to the trap under Adversarial text, `looker` stays; one refusal each."""
    from signpost_kit.geo import haversine_km

    rows = []
    for model in models:
        for i, group in enumerate(benchmark.groups):
            for k, variant in enumerate(VARIANTS):
                lat, lon, status = group.lat + 0.4 * k, group.lon - 0.6 * k, "ok"
                if model == "reader" and variant == "Adversarial" and group.trap:
                    lat, lon = group.trap.lat + 0.1, group.trap.lon
                if i == 2 and variant == "Random":
                    lat, lon, status = np.nan, np.nan, "refused"
                error = float(haversine_km(lat, lon, group.lat, group.lon))
                trap = float(haversine_km(lat, lon, group.trap.lat, group.trap.lon)) if group.trap else np.nan
                rows.append(
                    (
                        model,
                        group.dataset,
                        group.group_id,
                        variant,
                        lat,
                        lon,
                        status,
                        error,
                        np.exp(-0.005 * error),
                        trap,
                    )
                )
    names = ["model", "dataset", "group_id", "variant", "lat", "lon", "status", "error_km", "wla", "trap_km"]
    return pd.DataFrame(rows, columns=names)


@pytest.fixture
def toy_run(tmp_path: Path) -> StandInRun:
    """A run folder with a benchmark of three groups, scores and tables."""
    folder = tmp_path / "toy"
    bench = toy_benchmark(folder / "benchmark")
    frames = score_frames(["reader", "looker"], ("toy",))
    return StandInRun(folder, {"scores": toy_scores(bench), "groups": bench.to_frame(), **frames}, bench=bench)
