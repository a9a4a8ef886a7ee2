"""d' and criterion against scipy and the published table; read-out; tables from trials with known truth."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.metrics import (
    calibration,
    claim_band,
    discrimination_radius,
    dprime,
    false_acceptances,
    read_out,
    score_claims,
    summarise_claims,
    verdict_roc,
)
from signpost_kit.metrics.verification import DECOY_BANDS

# GEOCONTEXT.md: accepted of true claims behind the published H.
SIGNALS = {
    "gemini-flash": (101, 108),
    "claude-opus-5": (17, 36),
    "qwen3-vl-8b": (48, 108),
    "qwen3-vl-235b": (76, 108),
    "claude-haiku-4-5": (85, 108),
    "pooled": (327, 468),
}


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return pd.read_csv(
        Path(__file__).parents[2] / "params" / "published" / "geocontext" / "geoverify.csv"
    ).set_index("model")


def test_dprime_is_the_difference_of_z():
    result = dprime(85, 108, 66, 90)
    h, f = 85.5 / 109, 66.5 / 91  # log-linear: half a count, one trial
    assert result.dprime == pytest.approx(norm.ppf(h) - norm.ppf(f), rel=1e-12)
    assert result.criterion == pytest.approx(-(norm.ppf(h) + norm.ppf(f)) / 2, rel=1e-12)
    assert (result.hit_rate, result.false_alarm_rate) == (85 / 108, 66 / 90)
    assert isinstance(result.dprime, float)


def test_dprime_signs_and_symmetry():
    assert dprime(5, 10, 5, 10).dprime == pytest.approx(0.0)
    assert dprime(9, 10, 9, 10).criterion < 0 < dprime(1, 10, 1, 10).criterion  # accepts readily, reluctantly
    forth, back = dprime(8, 10, 3, 10), dprime(3, 10, 8, 10)
    assert forth.dprime == pytest.approx(-back.dprime)
    assert forth.criterion == pytest.approx(back.criterion)


def test_no_infinite_dprime():
    for counts in ((10, 10, 0, 10), (0, 10, 10, 10), (0, 1, 0, 1), (1, 1, 1, 1), (0, 10**6, 10**6, 10**6)):
        result = dprime(*counts)
        assert math.isfinite(result.dprime) and math.isfinite(result.criterion)
    for counts in ((0, 0, 3, 10), (3, 10, 0, 0), (0, 0, 0, 0)):
        assert math.isnan(dprime(*counts).dprime) and math.isnan(dprime(*counts).criterion)
    assert math.isnan(dprime(0, 0, 3, 10).hit_rate)


def test_dprime_takes_arrays():
    many = dprime(17, 36, [5, 0, 0], [10, 10, 0])
    assert many.dprime[:2].tolist() == [dprime(17, 36, 5, 10).dprime, dprime(17, 36, 0, 10).dprime]
    assert math.isnan(many.dprime[2])
    for wrong in ((11, 10, 0, 1), (-1, 10, 0, 1), (0.5, 10, 0, 1), (1, 10, 2, 1)):
        with pytest.raises(DataError):
            dprime(*wrong)
    with pytest.raises(DataError, match="fit together"):
        dprime([1, 2], 10, [1, 2, 3], 10)


def test_published_hit_rates_and_their_z(published):
    """H from the signal counts; in every row z(H) = d'/2 - c in the nearest and in the farthest band alike."""
    for model, (hits, n) in SIGNALS.items():
        row = published.loc[model]
        assert round(100 * hits / n, 1) == row["hit_pct"]
        z = norm.ppf((hits + 0.5) / (n + 1))
        for end, name in (("0.15_0.3", "nearest"), ("3_6", "farthest")):
            assert row[f"dprime_{end}"] / 2 - row[f"criterion_{name}"] == pytest.approx(z, abs=0.0125)
    assert sum(h for m, (h, _) in SIGNALS.items() if m != "pooled") == 327


def test_published_points_come_from_whole_false_alarms(published):
    """Some count of false alarms in the nearest band reproduces d' and c of a row, both to two digits."""
    row, (hits, n) = published.loc["claude-haiku-4-5"], SIGNALS["claude-haiku-4-5"]
    fits = [
        (f, m)
        for m in range(60, 140)
        for f in range(m + 1)
        if round(dprime(hits, n, f, m).dprime, 2) == row["dprime_0.15_0.3"]
        and round(dprime(hits, n, f, m).criterion, 2) == row["criterion_nearest"]
    ]
    assert fits
    assert {round(f / m, 1) for f, m in fits} == {0.7}


def test_published_radii_and_read_out(published):
    short = {"0.3-0.7": "0.3-0.7km", "0.7-1.5": "0.7-1.5km", "1.5-3": "1.5-3.0km", "3-6": "3.0-6.0km", "none": None}
    columns = [c for c in published.columns if c.startswith("dprime_")]
    for _, row in published.iterrows():
        assert discrimination_radius(row[columns].tolist()) == short[row["delta1_band"]]

    def reading(model):
        row = published.loc[model]
        return read_out(
            mismatched_f=row["swapped_image_pct"] / 100,
            grey_f=row["gray_field_pct"] / 100,
            main_f=row["false_alarm_pct"] / 100,
            nearest_dprime=row["dprime_0.15_0.3"],
            farthest_dprime=row["dprime_3_6"],
        ).verdict

    assert reading("pooled") == "inconclusive"  # section 6.4
    assert reading("claude-opus-5") == "informative"
    assert reading("gemini-flash") == "inconclusive"  # 0.68 misses the nearest-band criterion


def test_discrimination_radius_edges():
    assert discrimination_radius([0.9, 1.0, 0.2, 3, 3]) == "0.3-0.7km"  # the nearest one, not the last crossing
    assert discrimination_radius([math.nan] * 5) is None
    assert discrimination_radius({"3.0-6.0km": 1.2, "0.3-0.7km": math.nan}) == "3.0-6.0km"
    assert discrimination_radius([0.6] * 5, threshold=0.5) == DECOY_BANDS[0]
    with pytest.raises(DataError, match="3 values"):
        discrimination_radius([1, 2, 3])
    with pytest.raises(DataError, match="'far'"):
        discrimination_radius({"far": 1.0})


def test_read_out_rules_in_order():
    good = {"mismatched_f": 0.05, "grey_f": 0.0, "main_f": 0.4, "nearest_dprime": 0.3, "farthest_dprime": 1.6}
    verdict = lambda **change: read_out(**{**good, **change}).verdict  # noqa: E731
    assert verdict() == "informative"
    assert verdict(mismatched_f=0.21) == "invalid"
    assert verdict(mismatched_f=0.20) == "informative"
    assert verdict(grey_f=0.35) == verdict(grey_f=0.45) == "invalid"
    assert verdict(grey_f=0.46) == "informative"  # the rule asks for nearness, on either side
    assert verdict(nearest_dprime=2.1) == "uninformative"
    assert verdict(nearest_dprime=0.5) == verdict(farthest_dprime=1.5) == "inconclusive"
    assert verdict(grey_f=math.nan) == "undetermined"
    assert verdict(mismatched_f=0.5, grey_f=math.nan) == "invalid"
    with pytest.raises(ConfigError, match="share"):
        read_out(**{**good, "grey_f": 35})


def test_claim_band():
    bands = claim_band([0.0, 0.1499, 0.15, 0.29, 0.3, 5.99, 6.0, math.nan]).tolist()
    assert bands == ["signal", "signal", *["0.15-0.3km"] * 2, "0.3-0.7km", "3.0-6.0km", "", ""]


CURVE = (0.3, 0.7, 1.1, 1.5, 2.0)


def _trials(seed=0, *, n_sites=40, models=("m1", "m2"), per_band=3):
    """Respondents of a known d' curve: yes when strength plus noise passes 0; a decoy of band k is CURVE[k] weaker."""
    rng = np.random.default_rng(seed)
    rows = []
    for model in models:
        for site in range(n_sites):
            for k, band in enumerate(("signal", *DECOY_BANDS)):
                strength = 0.6 - (CURVE[k - 1] if k else 0.0)
                for said in rng.normal(strength, 1, per_band) > 0:
                    rows.append(
                        {
                            "model": model,
                            "site": f"s{site}",
                            "arm": "main",
                            "band": band,
                            "truth": "no" if k else "yes",
                            "verdict": "yes" if said else "no",
                            "confidence": 0.95 if said else 0.7,
                        }
                    )
            rows += [
                {
                    **rows[-1],
                    "arm": arm,
                    "band": "signal",
                    "truth": "no",
                    "verdict": "yes" if rng.random() < p else "no",
                }
                for arm, p in (("mismatched", 0.05), ("grey", 0.0))
            ]
    return pd.DataFrame(rows)


def test_known_curve_is_recovered_within_the_intervals():
    curve, inside, total = np.array(CURVE), 0, 0
    for seed in range(12):
        table = score_claims(_trials(seed, models=("m",), n_sites=60), n_resamples=400)
        bands = table.set_index("band").loc[list(DECOY_BANDS)]
        inside += int(((bands["dprime_low"] <= curve) & (bands["dprime_high"] >= curve)).sum())
        total += 5
        assert len(set(bands["hit_rate"])) == 1
        assert (bands["n_signal"] == 180).all() and (bands["n_noise"] == 180).all()
    assert inside / total > 0.85


def test_tables_from_trials():
    trials = _trials()
    trials.loc[0, "verdict"] = None
    scores = score_claims(trials, n_resamples=200)
    assert scores["model"].unique().tolist() == ["m1", "m2", "pooled"]
    cell = scores.set_index(["model", "band"]).loc[("m1", "0.3-0.7km")]
    mine = trials[(trials.model == "m1") & (trials.arm == "main")]
    said = lambda band: mine[mine.band == band].verdict  # noqa: E731
    expected = dprime(
        (said("signal") == "yes").sum(),
        said("signal").notna().sum(),
        (said("0.3-0.7km") == "yes").sum(),
        said("0.3-0.7km").notna().sum(),
    )
    assert (cell["dprime"], cell["criterion"]) == (expected.dprime, expected.criterion)
    assert cell["dprime_low"] < cell["dprime"] < cell["dprime_high"]
    assert cell["n_missing"] == 1
    summary = summarise_claims(trials, scores).set_index("model")
    m1 = summary.loc["m1"]
    assert m1["hit_rate"] == expected.hit_rate
    assert (m1["n_grey"], m1["grey_f"], m1["fa_confident_share"]) == (40, 0.0, 1.0)
    assert m1["verdict"] in {"informative", "inconclusive"}
    shuffled = score_claims(trials.sample(frac=1, random_state=3), n_resamples=200)
    pd.testing.assert_frame_equal(shuffled, scores)


def test_tables_with_one_site_and_one_model_and_no_trial():
    one = _trials(n_sites=1, models=("only",), per_band=2)
    scores = score_claims(one, n_resamples=50)
    assert scores["model"].unique().tolist() == ["only"]
    assert scores["dprime"].notna().all() and np.isfinite(scores["dprime"]).all()
    assert scores["dprime_low"].isna().all()
    bare = one[one.arm == "main"]
    assert summarise_claims(bare, scores)["verdict"].tolist() == ["undetermined"]
    all_yes = score_claims(one.assign(verdict="yes"), n_resamples=50)
    assert np.isfinite(all_yes["dprime"]).all()
    assert score_claims(one.iloc[:0]).empty
    with pytest.raises(DataError, match="'maybe'"):
        score_claims(one.assign(verdict="maybe"))
    with pytest.raises(DataError, match="column"):
        score_claims(one.drop(columns="band"))


def test_false_acceptances_by_hand():
    rows = [("no", "yes", 0.9), ("no", "yes", 0.7), ("no", "no", 0.9), ("yes", "yes", 0.6), ("no", "yes", None)]
    trials = pd.DataFrame(rows, columns=["truth", "verdict", "confidence"]).assign(
        model="m", site="s", arm="main", band="0.3-0.7km"
    )
    result = false_acceptances(trials)
    assert (result["n"], result["n_stated"], result["confident_share"]) == (3, 2, 0.5)
    assert (result["median"], result["right_median"]) == (pytest.approx(0.8), 0.6)
    assert math.isnan(false_acceptances(trials.iloc[:0])["median"])


def test_calibration_by_hand():
    result = calibration([0.9, 0.9, 0.1, 0.1, np.nan, 1.0], [1, 0, 0, 0, 1, 1], n_bins=2)
    # bins: 0.1 said, 0 right; 2.8 / 3 said, 2 / 3 right
    assert result.ece == pytest.approx((2 * 0.1 + 3 * (2.8 - 2) / 3) / 5)
    assert result.brier == pytest.approx((0.01 + 0.81 + 0.01 + 0.01 + 0) / 5)
    assert result.overconfidence == pytest.approx((3.0 - 2) / 5)
    assert (result.n, result.n_missing, result.table["n"].tolist()) == (5, 1, [2, 3])
    nothing = calibration([], [])
    assert math.isnan(nothing.ece) and nothing.table["n"].sum() == 0
    with pytest.raises(DataError, match="per cent"):
        calibration([85], [1])


def test_roc_is_the_probability_of_the_right_order():
    rng = np.random.default_rng(1)
    truth = np.where(rng.random(200) < 0.4, "yes", "no")
    confidence = np.round(rng.random(200), 1)
    verdict = np.where(rng.random(200) < np.where(truth == "yes", 0.7, 0.3), "yes", "no")
    graded = np.where(verdict == "yes", confidence, 1 - confidence).round(6)
    pairs = np.subtract.outer(graded[truth == "yes"], graded[truth == "no"])
    result = verdict_roc(verdict, confidence, truth)
    assert result.auc == pytest.approx((pairs > 0).mean() + 0.5 * (pairs == 0).mean(), abs=0.005)
    assert (result.hit_rate[0], result.hit_rate[-1]) == (0, 1)
    assert "no judged true claim" in verdict_roc(["yes"], [0.5], ["no"]).reason


def test_real_replies(shared_data):
    """The 30 raw replies: every one has a verdict; counts by an independent reading of their JSON."""
    from signpost_kit.geo import haversine_km
    from signpost_kit.parsing import parse_verdict

    folder = shared_data / "geocontext"
    lines = [
        json.loads(line)
        for name in ("verify_raw.jsonl", "verify_raw_2.jsonl")
        for line in (folder / name).read_text(encoding="utf-8").splitlines()
    ]
    parsed = [parse_verdict(line["raw"]) for line in lines]
    assert [p.status for p in parsed] == ["ok"] * 30
    said_yes = ['"verdict": "yes"' in line["raw"] for line in lines]
    trials = pd.DataFrame(lines)[["model", "site", "arm", "band", "truth"]].assign(
        verdict=[p.verdict for p in parsed], confidence=[p.confidence for p in parsed]
    )
    pooled = score_claims(trials, n_resamples=100).set_index(["model", "band"]).loc[("pooled", "all")]
    signal = (trials["truth"] == "yes").to_numpy()
    assert pooled["hits"] == np.sum(np.array(said_yes) & signal)
    assert pooled["false_alarms"] == np.sum(np.array(said_yes) & ~signal)
    assert pooled["n_signal"] + pooled["n_noise"] == 30
    for name in ("verify_trials.csv", "verify_trials_2.csv"):
        table = pd.read_csv(folder / name, encoding="utf-8-sig")
        distance = haversine_km(table["img_lat"], table["img_lon"], table["cand_lat"], table["cand_lon"])
        assert np.abs(distance - table["d_km"]).max() < 0.001
        main = table["arm"] == "main"
        assert claim_band(table["d_km"])[main].tolist() == table["band"][main].tolist()
        assert ((table["d_km"] < 0.15) == table["truth"].eq("yes"))[main].all()
