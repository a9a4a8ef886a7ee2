"""The second study's tables: against slow definitions, on the real excerpts, and on inputs that have next to nothing."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from signpost_kit.benchmark.geocontext import read_released
from signpost_kit.metrics.claim_tables import claim_tables
from signpost_kit.metrics.hint_tables import hint_tables
from signpost_kit.stats.cluster_median import cluster_median

DRAW = {"n_resamples": 60, "seed": 3}


@pytest.fixture(scope="module")
def excerpts(shared_data):
    return read_released(shared_data / "geocontext")


def test_the_median_of_clusters_is_that_of_a_slow_resampling():
    rng = np.random.default_rng(0)
    values, cluster = rng.lognormal(size=60), rng.integers(0, 12, 60)
    fast = cluster_median(values, cluster, n_resamples=4000, seed=1)
    slow = []
    for _ in range(4000):
        drawn = rng.integers(0, 12, 12)
        slow.append(np.median(np.concatenate([values[cluster == c] for c in drawn])))
    assert fast.estimate == np.median(values)
    assert (fast.low, fast.high) == pytest.approx(tuple(np.quantile(slow, [0.025, 0.975])), rel=0.12)
    order = rng.permutation(60)
    assert cluster_median(values[order], cluster[order], n_resamples=500, seed=1) == cluster_median(
        values, cluster, n_resamples=500, seed=1
    )
    for few in (cluster_median([], []), cluster_median([math.nan], ["a"])):
        assert math.isnan(few.estimate) and few.n_clusters == 0
    one = cluster_median([1.0, 2.0], ["a", "a"])
    assert one.estimate == 1.5 and math.isnan(one.low)


def test_tables_of_the_excerpts_against_plain_pandas(excerpts):
    answers = excerpts.answers
    tables = hint_tables(answers, n_flips=200, **DRAW)
    forced = answers.loc[answers["schema"] == "forced"]
    hinted, plain = forced.loc[forced["context"] != "none"], forced.loc[forced["context"] == "none"]
    models = tables["hint_models"].set_index("model")
    for model, part in hinted.groupby("model"):
        assert models.loc[str(model), "hit"] == pytest.approx(part["hit"].mean())
        assert models.loc[str(model), "n"] == len(part)
        near = part.loc[part["ref_km"].between(0.5, 1.5, inclusive="left")]
        assert models.loc[str(model), "hit_near"] == pytest.approx(near["hit"].mean(), nan_ok=True)
    assert models.loc["all", "n"] == len(hinted) and models.loc["all", "echo_study"] == pytest.approx(
        hinted["echo_study"].mean()
    )
    sites = tables["hint_sites"].set_index("site")["rate"]
    assert sites.to_dict() == pytest.approx(plain.groupby("site")["hit"].mean().to_dict())
    ratio = tables["hint_ratio"].set_index(["regime", "band"])
    regime = tables["hint_sites"].set_index("site")["regime"]
    for (name, band), row in ratio.iterrows():
        mine = hinted.loc[
            (hinted["site"].map(regime) == name) & (hinted["band"] == band) & (hinted["level"] != "city")
        ]
        wanted = (mine["error_km"] / mine["ref_km"]).median() if len(mine) else math.nan
        assert row["median"] == pytest.approx(wanted, nan_ok=True)
    slope = tables["hint_slope"].set_index(["subset", "fine_only"])
    rows = hinted.loc[hinted["error_km"] > 0]
    beta = np.polyfit(rows["ref_km"], np.log10(rows["error_km"]), 1)[0]
    assert slope.loc[("all", False), "beta"] == pytest.approx(beta)
    assert slope.loc[("all", False), "endpoint"] == pytest.approx(
        np.polyfit(rows["ref_km"], np.log10(rows["ref_km"]), 1)[0]
    )
    echo = tables["hint_echo"].set_index(["reading", "tier", "band"])
    assert echo.loc[("study", "all", "all"), "rate"] == pytest.approx(hinted["echo_study"].mean())
    assert echo.loc[("kit", "high", "all"), "rate"] == pytest.approx(
        hinted.loc[hinted["tier"] == "high", "echo"].mean()
    )


def test_claims_of_the_excerpts(excerpts):
    trials = excerpts.trials
    tables = claim_tables(trials, **DRAW)
    summary = tables["claims_summary"].set_index("model")
    assert summary.loc["pooled", "n"] == 30 and (summary["coverage"] == 1).all()
    scores = tables["claims"].set_index(["model", "band"])
    signal = trials.loc[trials["band"] == "signal"]
    assert scores.loc[("pooled", "all"), "hits"] == (signal["verdict"] == "yes").sum()
    assert np.isfinite(scores["dprime"].dropna()).all()
    assert set(tables["claims_calibration"]["model"]) == set(trials["model"])


# -- next to nothing -----------------------------------------------------------------------------------------------


def toy(
    n_sites: int = 3, models=("m", "n"), *, hit=None, baseline: bool = True, schemas=("forced", "forced_warn")
) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows = []
    for schema in schemas:
        for s in range(n_sites):
            for model in models:
                contexts = [("none", math.nan, "", "")] if baseline else []
                contexts += [(f"high_05_15km_Q{k}", 0.6 + k, "high", "") for k in range(4)]
                for context, ref, tier, _ in contexts:
                    error = rng.uniform(0.2, 3) if hit is None else (0.5 if hit else 2.0)
                    rows.append(
                        {"site": f"s{s}", "path": f"s{s}/1.jpg", "model": model, "schema": schema, "lang": "en", "context": context, "ref_km": ref, "tier": tier,
                         "error_km": error, "level": "place", "hit": float(error < 1), "echo": float(rng.random() < 0.5), "echo_study": 0.0, "status": "ok"}
                    )  # fmt: skip
    return pd.DataFrame(rows)


CASES = {
    "one site": toy(1),
    "one model": toy(models=("m",)),
    "no baseline": toy(baseline=False),
    "no hints": toy().loc[lambda f: f["context"] == "none"],
    "one schema": toy(schemas=("forced",)),
    "another schema only": toy(schemas=("v1",)),
    "all hits": toy(hit=True),
    "no hits": toy(hit=False),
    "one row": toy().head(1),
    "no answers": toy().assign(
        error_km=math.nan, level="", hit=0.0, echo=math.nan, echo_study=math.nan, status="refused"
    ),
    "no rows": toy().head(0),
}


@pytest.mark.parametrize("case", list(CASES))
def test_hint_tables_of_next_to_nothing(case):
    tables = hint_tables(CASES[case], n_flips=100, **DRAW)
    for name, frame in tables.items():
        assert isinstance(frame, pd.DataFrame), name
        numbers = frame.select_dtypes("number").to_numpy(float)
        assert not np.isinf(numbers).any(), name
    if case == "all hits":
        assert (tables["hint_models"]["hit"] == 1).all()
    if case == "no answers":
        assert (tables["hint_models"]["hit"] == 0).all() and (tables["hint_models"]["coverage"] == 0).all()
        assert tables["hint_slope"]["beta"].isna().all()
    if case == "no baseline":
        assert tables["hint_regimes"].empty and tables["hint_models"]["no_context"].isna().all()


def judged(**changes) -> pd.DataFrame:
    rows = []
    for s in range(3):
        for band, truth in (("signal", "yes"), ("0.15-0.3km", "no"), ("3.0-6.0km", "no")):
            for model in ("m", "n"):
                rows.append(
                    {
                        "site": f"s{s}",
                        "model": model,
                        "arm": "main",
                        "band": band,
                        "truth": truth,
                        "verdict": truth,
                        "confidence": 0.9,
                        "status": "ok",
                    }
                )
    return pd.DataFrame(rows).assign(**changes)


@pytest.mark.parametrize(
    ("case", "trials"),
    [
        ("always right", judged()),
        ("always yes", judged(verdict="yes")),
        ("always no", judged(verdict="no")),
        ("no verdict", judged(verdict=None, confidence=math.nan, status="refused")),
        ("one site", judged().loc[lambda f: f["site"] == "s0"]),
        ("one model", judged().loc[lambda f: f["model"] == "m"]),
        ("no signal", judged().loc[lambda f: f["band"] != "signal"]),
        ("no decoy", judged().loc[lambda f: f["band"] == "signal"]),
        ("one row", judged().head(1)),
    ],
)
def test_claim_tables_of_next_to_nothing(case, trials):
    tables = claim_tables(trials, **DRAW)
    for name, frame in tables.items():
        assert not np.isinf(frame.select_dtypes("number").to_numpy(float)).any(), name
    if case == "always right":
        # The log-linear correction keeps d' finite when every claim is judged rightly.
        row = tables["claims"].set_index(["model", "band"]).loc[("m", "0.15-0.3km")]
        assert 1 < row["dprime"] < 4
    if case == "no verdict":
        assert (tables["claims_summary"]["coverage"] == 0).all() and tables["claims"]["dprime"].isna().all()
