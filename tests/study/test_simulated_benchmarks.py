"""Benchmarks drawn from a population whose scores are known: do 95 % intervals cover, do tests err 5 % of the time?

The population is four datasets of 40,000 scenes; every score's truth is computed from all of them by plain numpy
formulas. A benchmark draws scenes from it, a fifth of the study's numbers, and loses 3 % of its replies. Counts are
small here, and the bounds as wide as these counts ask for; the whole check is

    SIGNPOST_FULL_SIMULATION=1 pytest tests/study/test_simulated_benchmarks.py -n 0 -s

with 1,000 benchmarks: each score must cover in 93-97 %, each test reject in 4-6 %.
"""

from __future__ import annotations

import math
import os
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

from signpost_kit.frames import VARIANTS
from signpost_kit.metrics import score_signpost
from signpost_kit.metrics.cube import build_cube
from signpost_kit.metrics.joint import joint_scores
from signpost_kit.metrics.pairwise import compare_pairs
from signpost_kit.metrics.ratios import ratios
from signpost_kit.stats import holm, paired_sign_flip, paired_wilcoxon, percentile_bounds
from signpost_kit.stats.resampling import Resamples

FULL = os.environ.get("SIGNPOST_FULL_SIMULATION", "") not in ("", "0")
N_COVERAGE = 1000 if FULL else 50
SIZES = {"IM2GPS3K": 130, "YFCC4K": 198, "GoogleSV": 467, "BaiduSV": 226}
POPULATION = 40_000
N_RESAMPLES = 1000 if FULL else 400
R_KM = 6371.0
TOLERANCE = 3.3  # standard errors, at reduced counts; a fixed seed makes the outcome the same everywhere


def within(share: float, n: int, low: float, high: float) -> bool:
    """Whether a share of n is compatible with a true one in low..high; exactly that range in the full check."""
    slack = 0.0 if FULL else TOLERANCE * math.sqrt(0.05 * 0.95 / n)
    return low - slack <= share <= high + slack


Population = dict[str, dict[str, np.ndarray]]


@lru_cache(maxsize=3)
def population(size: int = POPULATION, *, lag: float = 0.12, gullible: float = 0.25) -> Population:
    """Per dataset: km from the truth for (model, variant, scene), longitudes of traps, and who fell for them.

    A scene lies at 0 N 0 E; a prediction that was not drawn away lies `error` km north of it, a trap east of it.
    The second model is `lag` decades of km worse than the first, and falls for a trap with probability `gullible`.
    """
    rng = np.random.default_rng(11)
    out = {}
    for d, name in enumerate(SIZES):
        hard = rng.normal(0, 0.6, size)
        error = np.empty((2, 5, size))
        for m in range(2):
            habit = rng.normal(0, 0.3, size)
            for v, shift in enumerate((0.0, 0.35, 0.2, 0.55, 0.6)):
                log = 1.5 + 0.15 * d + lag * m + shift + hard + habit + rng.normal(0, 0.5, size)
                error[m, v] = np.minimum(10**log, 9000.0)
        trap_lon = np.where(rng.random(size) < 0.25 + 0.06 * d, rng.uniform(20, 170, size), np.nan)
        fell = ~np.isnan(trap_lon) & (rng.random((2, size)) < np.array([[0.18], [gullible]]))
        error[:, 4] = np.where(fell, R_KM * np.radians(np.nan_to_num(trap_lon)), error[:, 4])
        out[name] = {"error": error, "trap_lon": trap_lon, "fell": fell}
    return out


def trap_km(error: np.ndarray, trap_lon: np.ndarray, fell: np.ndarray) -> np.ndarray:
    """From (error north, 0) to (0, trap): the angle's cosine is the product of the legs' cosines."""
    legs = np.cos(error / R_KM) * np.cos(np.radians(trap_lon))
    return np.where(fell, 0.0, R_KM * np.arccos(np.clip(legs, -1, 1)))


def truth(whole: Population) -> dict[tuple[str, str, int], float]:
    """(metric, variant, model) -> value over the whole population."""
    found: dict[tuple[str, str, int], list[float]] = {}
    for part in whole.values():
        has_trap = ~np.isnan(part["trap_lon"])
        for m in range(2):
            error = part["error"][m]
            mine: dict[tuple[str, str], float] = {}
            for v, variant in enumerate(VARIANTS):
                mine["wla", variant] = np.exp(-0.005 * error[v]).mean()
                mine["acc_200", variant] = (error[v] < 200).mean()
                mine["median_error_km", variant] = np.median(error[v])
            mine["tbs_km", "Adversarial"] = (error[4] - error[1]).mean()
            blank = trap_km(error[1], part["trap_lon"], np.zeros_like(has_trap))[has_trap]
            after = trap_km(error[4], part["trap_lon"], part["fell"][m])[has_trap]
            mine["tfr", "Adversarial"] = (after < 50).mean()
            mine["tdr_km_mean", "Adversarial"] = (blank - after).mean()
            mine["attraction_rate", "Adversarial"] = (blank - after > 0).mean()
            for key, value in mine.items():
                found.setdefault((*key, m), []).append(float(value))
    out = {key: float(np.mean(values)) for key, values in found.items()}
    for m in range(2):
        w = {variant: out["wla", variant, m] for variant in VARIANTS}
        kept = [1 - max(0, w["Blank"] - w[v]) / max(w["Blank"], 0.1) for v in ("Random", "Adversarial")]
        q_tbs = 1 - min(max(0, out["tbs_km", "Adversarial", m]) / 3000, 1)
        q_tfr = 1 - min(out["tfr", "Adversarial", m] / 0.4, 1)
        out["capability", "", m] = (w["Original"] + w["Blank"]) / 2
        out["robustness", "", m] = 0.22 * kept[0] + 0.44 * kept[1] + 0.17 * q_tbs + 0.17 * q_tfr
        out["mcrs", "", m] = 100 * out["capability", "", m] ** 0.4 * out["robustness", "", m] ** 0.6
        out["retention", "Adversarial", m] = kept[1]
        out["drop_points", "Adversarial", m] = 100 * (w["Original"] - w["Adversarial"])
    return out


@lru_cache(maxsize=1)
def even_population() -> Population:
    """The second model falls for far more traps, and sees just so much better that both have the same MCRS."""

    def ahead(lag: float) -> float:
        known = truth(population.__wrapped__(lag=lag, gullible=0.36))
        return known["mcrs", "", 0] - known["mcrs", "", 1]

    low, high = -0.8, 0.12  # the first model is behind, ahead
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (low, middle) if ahead(middle) > 0 else (middle, high)
    return population.__wrapped__(lag=high, gullible=0.36)


def benchmark_of(
    whole: Population, drawn: dict[str, np.ndarray], failed: np.ndarray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Predictions of both models about the drawn scenes, and the groups; `failed` (model, variant, group)."""
    sizes = [len(places) for places in drawn.values()]
    dataset = pd.Categorical.from_codes(np.repeat(np.arange(len(drawn)), sizes), list(drawn))
    ids = pd.Categorical.from_codes(np.arange(sum(sizes)), [f"g{i:05d}" for i in range(sum(sizes))])
    error, trap_lon, fell = (
        np.concatenate([whole[name][part][..., places] for name, places in drawn.items()], axis=-1)
        for part in ("error", "trap_lon", "fell")
    )
    groups = pd.DataFrame(
        {"dataset": dataset, "group_id": ids, "lat": 0.0, "lon": 0.0, "trap_lat": trap_lon * 0, "trap_lon": trap_lon,
         "tier": "T2"}
    )  # fmt: skip
    away = np.zeros(error.shape, dtype=bool)
    away[:, 4] = fell
    lat = np.where(failed, np.nan, np.where(away, 0.0, np.degrees(error / R_KM)))
    lon = np.where(failed, np.nan, np.where(away, trap_lon, 0.0))
    n = error.shape[-1]
    predictions = pd.DataFrame(
        {
            "model": pd.Categorical.from_codes(np.repeat([0, 1], 5 * n), ["m0", "m1"]),
            "dataset": dataset[np.tile(np.arange(n), 10)],
            "group_id": ids[np.tile(np.arange(n), 10)],
            "variant": pd.Categorical.from_codes(np.tile(np.repeat(np.arange(5), n), 2), list(VARIANTS)),
            "lat": lat.ravel(),
            "lon": lon.ravel(),
            "status": pd.Categorical.from_codes(failed.ravel().astype(int), ["ok", "refused"]),
        }
    )
    return predictions, groups


def drawn_benchmark(rng: np.random.Generator, whole: Population | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One benchmark from the population, with 3 % failed replies."""
    drawn = {name: rng.integers(0, POPULATION, size) for name, size in SIZES.items()}
    return benchmark_of(whole or population(), drawn, rng.random((2, 5, sum(SIZES.values()))) < 0.03)


def test_a_whole_population_scores_its_truth() -> None:
    whole = population(250)
    drawn = {name: np.arange(250) for name in whole}
    predictions, groups = benchmark_of(whole, drawn, np.zeros((2, 5, 1000), dtype=bool))
    macro = score_signpost(predictions, groups, n_resamples=0)["macro"]
    macro = macro[macro["reading"] == "answered_only"].set_index(["metric", "variant", "model"])["value"]
    for (metric, variant, m), value in truth(whole).items():
        if metric != "drop_points":
            assert macro[metric, variant, f"m{m}"] == pytest.approx(value, rel=1e-6), (metric, variant)
    known = truth(population())
    assert 0.02 < known["tfr", "Adversarial", 0] < 0.4  # no score of the simulation rests at a clip
    assert 0 < known["tbs_km", "Adversarial", 0] < 3000


SCORES = (
    *(("wla", variant) for variant in VARIANTS),
    ("acc_200", "Adversarial"),
    ("median_error_km", "Original"),
    ("median_error_km", "Adversarial"),
    ("tbs_km", "Adversarial"),
    ("tfr", "Adversarial"),
    ("tdr_km_mean", "Adversarial"),
    ("attraction_rate", "Adversarial"),
    ("retention", "Adversarial"),
    ("capability", ""),
    ("robustness", ""),
    ("mcrs", ""),
)
DIFFERENCES = (("wla", "Adversarial"), ("tbs_km", "Adversarial"), ("tfr", "Adversarial"),
               ("capability", ""), ("robustness", ""), ("mcrs", ""), ("drop_points", "Adversarial"))  # fmt: skip


def test_intervals_of_every_score_cover_its_truth() -> None:
    known = truth(population())
    drop = ("drop_points", "Adversarial")
    hits = dict.fromkeys(
        [("score", key) for key in (*SCORES, drop)] + [("difference", key) for key in DIFFERENCES], 0
    )
    rng = np.random.default_rng(2024)
    for number in range(N_COVERAGE):
        predictions, groups = drawn_benchmark(rng)
        macro = score_signpost(predictions, groups, n_resamples=N_RESAMPLES, seed=number)["macro"]
        macro = macro[(macro["reading"] == "answered_only") & (macro["model"] == "m0")]
        macro = macro.set_index(["metric", "variant"])[["low", "high"]]
        _, cube = build_cube(predictions, groups)
        scores = ratios(cube, alpha=0.005, tfr_radius_km=50)
        resamples = Resamples(cube.starts, cube.datasets, n_resamples=N_RESAMPLES, seed=number)
        pairs = compare_pairs(cube, scores, resamples, n_flips=1).set_index(["metric", "variant"])[["low", "high"]]
        low, high = percentile_bounds(joint_scores(cube, scores, resamples).drawn(*drop)[0])
        macro.loc[drop, :] = [low, high]
        for kind, key in hits:
            low, high = (macro if kind == "score" else pairs).loc[key]
            value = known[(*key, 0)] - (known[(*key, 1)] if kind == "difference" else 0.0)
            hits[kind, key] += low <= value <= high
    shares = {key: count / N_COVERAGE for key, count in hits.items()}
    print(f"\ncoverage of 95 % intervals, {N_COVERAGE} benchmarks:")
    for key, share in shares.items():
        print(f"  {key[0]} {' '.join(key[1]):30s} {100 * share:5.1f} %")
    wrong = {key: share for key, share in shares.items() if not within(share, N_COVERAGE, 0.93, 0.97)}
    assert not wrong
    mean = float(np.mean(list(shares.values())))
    assert 0.92 <= mean <= 0.975


def test_wilcoxon_and_sign_flip_err_as_often_as_they_say() -> None:
    """Pairs without an effect: differences that are as likely up as down, of very unequal sizes."""
    n_runs = 10_000 if FULL else 1000
    rng = np.random.default_rng(7)
    rejected = dict.fromkeys(("Wilcoxon, one-sided", "Wilcoxon, two-sided", "sign flips of clusters"), 0)
    for number in range(n_runs):
        size = np.exp(rng.normal(0, 1, 60))
        first, second = (np.exp(-size * rng.gamma(1.0, 1.0, 60)) for _ in range(2))
        rejected["Wilcoxon, one-sided"] += paired_wilcoxon(first, second).p <= 0.05
        rejected["Wilcoxon, two-sided"] += paired_wilcoxon(first, second, alternative="two-sided").p <= 0.05
        site = np.repeat(np.arange(20), 3)
        delta = rng.normal(0, 1, 20)[site] + rng.normal(0, 1, 60)
        rejected["sign flips of clusters"] += paired_sign_flip(delta, site, n_flips=199, seed=number).p <= 0.05
    print(f"\nrejections at 5 % without an effect, {n_runs} runs:")
    for name, count in rejected.items():
        print(f"  {name:30s} {100 * count / n_runs:5.2f} %")
    assert all(within(count / n_runs, n_runs, 0.04, 0.06) for count in rejected.values())


def test_holm_keeps_the_family_below_five_per_cent() -> None:
    n_runs = 4000 if FULL else 300
    rng = np.random.default_rng(8)
    families = 0
    for _ in range(n_runs):
        shared = rng.gamma(1.0, 1.0, (2, 50))  # five models on the same pictures, all without an effect
        p = [
            paired_wilcoxon(*np.exp(-(shared + rng.gamma(1.0, 1.0, (2, 50))))).p
            for _ in range(5)
        ]  # fmt: skip
        families += bool((holm(p) <= 0.05).any())
    print(f"\nfamilies of five tests with any rejection: {100 * families / n_runs:.2f} % of {n_runs}")
    assert families / n_runs <= 0.05 + (0.007 if FULL else TOLERANCE * math.sqrt(0.05 * 0.95 / n_runs))
    assert families / n_runs >= 0.01  # a test that never rejects would also pass


def compared(predictions: pd.DataFrame, groups: pd.DataFrame, seed: int) -> pd.Series:
    """p of the two models' difference in each score."""
    _, cube = build_cube(predictions, groups)
    scores = ratios(cube, alpha=0.005, tfr_radius_km=50)
    none = Resamples(cube.starts, cube.datasets, n_resamples=0, seed=1)
    return compare_pairs(cube, scores, none, n_flips=399, seed=seed).set_index(["metric", "variant"])["p"]


def test_model_comparisons_err_as_often_as_they_say() -> None:
    """Two models that are alike: each scene's answers are dealt to them by a coin, all variants together."""
    n_runs = 2000 if FULL else 100
    rng = np.random.default_rng(9)
    metrics = [("wla", "Adversarial"), ("tfr", "Adversarial"), ("capability", ""), ("robustness", ""), ("mcrs", "")]
    rejected = dict.fromkeys(metrics, 0)
    for number in range(n_runs):
        predictions, groups = drawn_benchmark(rng)
        swap = (rng.random(len(groups)) < 0.5)[predictions["group_id"].cat.codes]
        dealt = predictions.assign(
            model=pd.Categorical.from_codes(predictions["model"].cat.codes ^ swap.astype(int), ["m0", "m1"])
        )
        p = compared(dealt, groups, number)
        for key in metrics:
            rejected[key] += p[key] <= 0.05
    print(f"\ntwo like models told apart at 5 %, {n_runs} benchmarks:")
    for key, count in rejected.items():
        print(f"  {' '.join(key):30s} {100 * count / n_runs:5.2f} %")
    assert all(within(count / n_runs, n_runs, 0.04, 0.06) for count in rejected.values())


def test_unlike_models_of_one_mcrs_are_not_told_apart_by_it() -> None:
    n_runs = 2000 if FULL else 100
    whole = even_population()
    known = truth(whole)
    assert known["mcrs", "", 0] == pytest.approx(known["mcrs", "", 1], abs=0.01)
    rng = np.random.default_rng(10)
    rejected = {"mcrs": 0, "tfr": 0, "capability": 0}
    for number in range(n_runs):
        p = compared(*drawn_benchmark(rng, whole), number)
        for metric in rejected:
            rejected[metric] += float(p[metric].iloc[0]) <= 0.05
    shares = {metric: count / n_runs for metric, count in rejected.items()}
    print(f"\nunlike models of the same MCRS told apart at 5 %, {n_runs} benchmarks:")
    for metric, share in shares.items():
        print(f"  {metric:30s} {100 * share:6.2f} %")
    assert within(shares["mcrs"], n_runs, 0.04, 0.06)
    assert shares["tfr"] > 0.9  # what they do differ in is found
    assert shares["capability"] > 0.9
