"""The analysis with almost nothing to analyse: NaN with a reason, never a traceback, a warning or an infinite value."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.frames import TIERS, VARIANTS
from signpost_kit.metrics import analyse, score_signpost
from signpost_kit.metrics.analysis import FRAMES
from signpost_kit.metrics.choices import distance_bins
from signpost_kit.metrics.cube import build_cube
from signpost_kit.metrics.pairwise import compare_pairs
from signpost_kit.metrics.ratios import ratios
from signpost_kit.stats.resampling import Resamples


def benchmark(n=6, datasets=("D0", "D1"), traps=True):
    rng = np.random.default_rng(0)
    total = n * len(datasets)
    return pd.DataFrame(
        {
            "dataset": np.repeat(datasets, n),
            "group_id": [f"g{i}" for i in range(total)],
            "lat": rng.uniform(-40, 40, total),
            "lon": rng.uniform(-100, 100, total),
            "trap_lat": rng.uniform(-40, 40, total) if traps else np.nan,
            "trap_lon": rng.uniform(-100, 100, total) if traps else np.nan,
            "tier": np.resize(TIERS, total),
        }
    )


def answers(groups, models=("a", "b", "c"), variants=VARIANTS, status="ok"):
    rng = np.random.default_rng(1)
    parts = [
        groups[["dataset", "group_id"]].assign(
            model=model,
            variant=variant,
            lat=groups["lat"] + rng.normal(0, 1 + m + v, len(groups)) if status == "ok" else np.nan,
            lon=groups["lon"] + rng.normal(0, 1 + m + v, len(groups)) if status == "ok" else np.nan,
            status=status,
        )
        for m, model in enumerate(models)
        for v, variant in enumerate(variants)
    ]
    return pd.concat(parts, ignore_index=True)


def run(predictions, groups, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frames = analyse(predictions, groups, **({"n_resamples": 40, "n_flips": 99} | options))
    assert tuple(frames) == FRAMES
    usual = analyse(answers(benchmark()), benchmark(), n_resamples=5, n_flips=9)
    for name, frame in frames.items():
        numbers = frame.select_dtypes("number")
        assert not np.isinf(numbers.to_numpy(dtype=float)).any(), name
        assert list(frame.columns) == list(usual[name].columns), name
        bounded = frame.dropna(subset=[c for c in ("low", "high") if c in frame.columns])
        if "low" in frame.columns:
            assert (bounded["low"] <= bounded["high"] + 1e-9).all(), name
    return frames


def test_one_model() -> None:
    groups = benchmark()
    frames = run(answers(groups, models=("a",)), groups)
    assert frames["pairs"].empty
    assert frames["correlations"]["value"].isna().all()
    assert frames["correlations"]["reason"].str.contains("at least 2").all()
    assert frames["sensitivity_ranks"]["kendall_tau"].isna().all()
    assert frames["sensitivity_ranks"]["reason"].str.contains("1 model").all()
    assert frames["sensitivity"]["mcrs"].notna().all()
    assert (frames["ranks"]["probability"] == 1).all()
    tests = frames["tests"]
    assert (tests["p"] == tests["p_holm"]).all()


def test_two_models_have_a_tau_and_no_p() -> None:
    groups = benchmark()
    frames = run(answers(groups, models=("a", "b")), groups)
    assert set(frames["sensitivity_ranks"]["kendall_tau"]) <= {-1.0, 1.0}
    spearman = frames["correlations"].query("kind == 'spearman'")
    assert spearman["p"].isna().all()
    assert spearman["reason"].str.contains("two models").any()
    assert len(frames["pairs"].query("reading == 'answered_only' and metric == 'mcrs'")) == 1


def test_one_dataset_is_its_own_macro() -> None:
    groups = benchmark(datasets=("D0",))
    frames = run(answers(groups), groups)
    alpha = frames["alpha"].set_index(["dataset", "model", "variant", "alpha", "reading"])[["value", "low", "high"]]
    pd.testing.assert_frame_equal(alpha.loc["D0"], alpha.loc["macro"])
    tests = frames["tests"].drop(columns="p_holm")
    pooled, alone = (tests[tests["dataset"] == name].drop(columns="dataset") for name in ("", "D0"))
    assert pooled["p"].tolist() == alone["p"].tolist()


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_variant(variant: str) -> None:
    groups = benchmark()
    frames = run(answers(groups, variants=(variant,)), groups)
    assert frames["sensitivity"]["mcrs"].isna().all()
    assert frames["sensitivity"]["rank"].isna().all()
    assert frames["sensitivity_ranks"]["reason"].str.contains("0 model").all()
    assert frames["tests"]["p"].isna().all()
    assert frames["tests"]["reason"].str.contains("no pair").all()
    pairs = frames["pairs"].set_index("metric")
    assert pairs.loc["mcrs", "p"].isna().all()
    assert (pairs.loc["mcrs", "reason"] != "").all()
    wla = frames["aggregate"].query("metric == 'wla' and dataset == 'macro' and tier == ''").set_index("variant")
    assert wla.loc[variant, "value"].notna().all()
    assert wla.drop(variant)["value"].isna().all()


def test_no_geocoded_group() -> None:
    groups = benchmark(traps=False)
    frames = run(answers(groups), groups)
    assert (frames["cohort"]["n_geocodable"] == 0).all()
    assert frames["radius"]["value"].isna().all()
    assert (frames["radius"]["n"] == 0).all()
    assert frames["sensitivity"]["mcrs"].isna().all()
    ablation = frames["ablation"].set_index("dropped")
    assert ablation.loc["tfr", "mcrs"].notna().all()  # the rest of the formula needs no trap
    assert ablation.drop("tfr")["mcrs"].isna().all()
    pairs = frames["pairs"].set_index("metric")
    assert pairs.loc["tfr", "reason"].tolist() == ["no group that both answered"] * 6
    assert pairs.loc["mcrs", "reason"].str.contains("a part of the score").all()
    assert pairs.loc["capability", "p"].notna().all()
    trap = frames["correlations"].query("x == 'tbs_km_adversarial' and y == 'tfr'")
    assert trap["value"].isna().all()
    assert trap["reason"].str.contains("0 model").all()


def test_all_failures() -> None:
    groups = benchmark()
    frames = run(answers(groups, status="refused"), groups)
    study, other = (frames["bins"].query("reading == @r") for r in ("answered_only", "as_failures"))
    assert study["value"].isna().all()
    assert (study["coverage"] == 0).all()
    assert set(other.query("bin == 'unanswered'")["value"]) == {1.0}
    assert frames["tests"]["p"].isna().all()
    assert frames["sensitivity"].query("reading == 'answered_only'")["mcrs"].isna().all()
    assert frames["pairs"].query("reading == 'answered_only'")["difference"].isna().all()
    zero = frames["pairs"].query("reading == 'as_failures' and metric == 'wla'")
    assert (zero["difference"] == 0).all()
    assert (zero["p"] == 1).all()


def test_one_group() -> None:
    groups = benchmark(n=1, datasets=("D0",))
    frames = run(answers(groups), groups)
    assert frames["standings"]["low"].isna().all()
    assert frames["ranks"]["probability"].isna().all()
    pairs = frames["pairs"].query("metric == 'mcrs'")
    assert (pairs["p"] == 1).all()
    assert pairs["reason"].str.contains("one cluster").all()
    assert frames["tests"]["reason"].str.contains("at least 2").all()


def test_without_resamples_there_are_values_and_no_bounds() -> None:
    groups = benchmark()
    frames = run(answers(groups), groups, n_resamples=0)
    assert frames["standings"]["value"].notna().any()
    for name in ("standings", "alpha", "radius", "pairs", "tests", "aggregate"):
        assert frames[name]["low"].isna().all(), name
    assert frames["ranks"]["probability"].isna().all()
    assert frames["pairs"]["p"].notna().all()


def test_two_models_that_answer_alike_are_not_told_apart() -> None:
    groups = benchmark()
    one = answers(groups, models=("a",))
    frames = run(pd.concat([one, one.assign(model="twin")], ignore_index=True), groups)
    pairs = frames["pairs"]
    assert (pairs["difference"] == 0).all()
    assert (pairs["p"] == 1).all()
    assert (pairs["probability"] == 0.5).all()
    assert (frames["ranks"]["probability"] == 0.5).all()
    assert (frames["standings"]["rank"] == 1).all()
    assert frames["correlations"]["reason"].str.contains("same for all").all()


def test_a_model_that_was_asked_elsewhere_shares_no_group() -> None:
    groups = benchmark()
    both = answers(groups, models=("a", "b"))
    apart = both[(both["model"] == "a") == (both["dataset"] == "D0")]
    frames = run(apart, groups)
    assert frames["pairs"]["difference"].isna().all()
    assert set(frames["pairs"]["reason"]) == {"no group that both answered"}


def test_several_samples_of_a_request_are_averaged() -> None:
    groups = benchmark()
    first = answers(groups, models=("a", "b")).assign(sample=0)
    again = first.assign(sample=1, lat=first["lat"] + 3)
    again.loc[::3, ["lat", "lon", "status"]] = [np.nan, np.nan, "refused"]
    both = pd.concat([first, again], ignore_index=True)
    frames = run(both, groups)
    sums = frames["bins"].groupby(["model", "dataset", "variant", "reading"])["value"].sum()
    assert sums.tolist() == pytest.approx([1.0] * len(sums))
    failed = frames["bins"].query("bin == 'unanswered' and dataset == 'macro' and variant == 'Original'")
    assert failed["value"].tolist() == pytest.approx([1 / 6, 1 / 6], abs=0.06)
    macro = score_signpost(both, groups, n_resamples=0)["macro"].set_index(
        ["metric", "variant", "reading", "model"]
    )
    own = frames["alpha"].query("dataset == 'macro' and alpha == 0.005").set_index(["variant", "reading", "model"])
    for (variant, reading, model), row in own.iterrows():
        assert row["value"] == pytest.approx(macro.loc[("wla", variant, reading, model), "value"])
    radius = frames["radius"].query("dataset == 'macro' and tier == '' and radius_km == 50")
    for row in radius.itertuples():
        expected = macro.loc[("tfr", "Adversarial", row.reading, row.model), "value"]
        assert row.value == pytest.approx(expected)


def test_an_error_on_an_edge_belongs_to_the_farther_bin() -> None:
    groups = benchmark(n=6, datasets=("D0",))
    _, cube = build_cube(answers(groups, models=("a",), variants=("Original",)), groups)
    at_edges = dataclasses.replace(cube, error_km=np.array([1.0, 25.0, 200.0, 750.0, 2500.0, 0.0]))
    resamples = Resamples(cube.starts, cube.datasets, n_resamples=5, seed=1)
    found = distance_bins(at_edges, resamples).query("dataset == 'D0' and variant == 'Original'")
    assert found["value"].tolist() == pytest.approx([1 / 6] * 6)
    assert found["bin"].tolist() == ["street", "city", "region", "country", "continent", "failed"]


def test_options_out_of_range_are_named() -> None:
    groups = benchmark()
    predictions = answers(groups)
    for options, word in (
        ({"readings": ["answered"]}, "readings"),
        ({"readings": []}, "readings"),
        ({"tfr_radius_km": 0}, "tfr_radius_km"),
        ({"n_resamples": -1}, "n_resamples"),
        ({"n_flips": 0}, "n_flips"),
    ):
        with pytest.raises(ConfigError, match=word):
            analyse(predictions, groups, **({"n_resamples": 2, "n_flips": 9} | options))
    with pytest.raises(DataError, match="alpha"):
        analyse(predictions, groups, alpha=0, n_resamples=2)


def test_named_pairs_only() -> None:
    groups = benchmark()
    _, cube = build_cube(answers(groups), groups)
    scores = ratios(cube, alpha=0.005, tfr_radius_km=50)
    resamples = Resamples(cube.starts, cube.datasets, n_resamples=20, seed=1)
    frame = compare_pairs(cube, scores, resamples, pairs=[("c", "a")], n_flips=99)
    assert set(zip(frame["model_a"], frame["model_b"], strict=True)) == {("c", "a")}
    with pytest.raises(DataError, match="no scores of the model 'z'"):
        compare_pairs(cube, scores, resamples, pairs=[("a", "z")])
