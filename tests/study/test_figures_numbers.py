"""The numbers behind the figures beyond the paper: against the scores, against hand arithmetic, against sklearn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from signpost_kit.benchmark.groups import Benchmark, Group, Span, Trap
from signpost_kit.benchmark.traits import scene_traits
from signpost_kit.errors import DataError
from signpost_kit.evaluation import ReplyStore
from signpost_kit.evaluation.spending import spending
from signpost_kit.figures.arcs import arcs_frame
from signpost_kit.geo import haversine_km
from signpost_kit.metrics.error_cdf import error_cdf
from signpost_kit.metrics.harm import MEAN_OF_MODELS, harm, harm_by_group, levels
from signpost_kit.metrics.misled import misled, misled_agreement, similar_order


def scores_of(rows: list[tuple]) -> pd.DataFrame:
    """(model, dataset, group, variant, error_km, trap_km) -> a frame of scores."""
    frame = pd.DataFrame(rows, columns=["model", "dataset", "group_id", "variant", "error_km", "trap_km"])
    status = np.where(frame["error_km"].notna(), "ok", "refused")
    return frame.assign(wla=np.exp(-0.005 * frame["error_km"]), status=status, lat=0.0, lon=0.0)


# -- error CDF ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", ["answered_only", "as_failures"])
def test_the_curve_is_acc_at_k_of_the_scores(twenty, reading: str) -> None:
    curves = error_cdf(twenty.scores, reading=reading, n_resamples=0)
    for k in (1, 25, 200, 750, 2500):
        want = twenty.macro[(twenty.macro["metric"] == f"acc_{k}") & (twenty.macro["reading"] == reading)]
        got = curves[curves["error_km"] == k].merge(want, on=["model", "variant"], suffixes=("", "_scored"))
        assert len(got) == 100
        np.testing.assert_allclose(got["share"], got["value"], atol=1e-12)


def test_the_curve_rises_ends_at_the_coverage_and_lies_in_its_interval(twenty) -> None:
    part = twenty.scores[twenty.scores["model"] == "Grok-4"]
    curves = error_cdf(part, reading="as_failures", n_resamples=200)
    for variant, curve in curves.groupby("variant"):
        assert (np.diff(curve["share"]) >= 0).all()
        rows = part[part["variant"] == variant]
        answered = rows["error_km"].notna().groupby(rows["dataset"]).mean().mean()
        assert curve["share"].iloc[-1] == pytest.approx(answered)
        assert ((curve["low"] <= curve["share"] + 1e-9) & (curve["share"] <= curve["high"] + 1e-9)).mean() > 0.95


def test_strictly_nearer_counts_and_data_sets_weigh_alike() -> None:
    rows = [("m", "A", "g1", "Original", 25.0, np.nan), ("m", "B", "g2", "Original", 1.0, np.nan)]
    rows += [("m", "B", f"h{i}", "Original", 9000.0, np.nan) for i in range(3)]
    curve = error_cdf(scores_of(rows), n_resamples=0).set_index("error_km")["share"]
    assert curve[25.0] == pytest.approx((0 + 1 / 4) / 2) and curve[200.0] == pytest.approx((1 + 1 / 4) / 2)
    assert curve[1.0] == 0


def test_failures_alone_have_no_share_and_nothing_gives_nothing(study_of) -> None:
    failed = study_of(["m"], 4, failing=True)
    assert error_cdf(failed.scores, n_resamples=10)["share"].isna().all()
    assert (error_cdf(failed.scores, reading="as_failures", n_resamples=10)["share"] == 0).all()
    assert error_cdf(failed.scores.iloc[:0]).empty
    with pytest.raises(DataError, match="answered_only"):
        error_cdf(failed.scores, reading="all")


# -- harm -----------------------------------------------------------------------------------------------------


def test_harm_by_hand() -> None:
    scores = scores_of(
        [
            ("a", "D", "g1", "Original", 0.0, np.nan),
            ("a", "D", "g1", "Blank", 100.0, np.nan),
            ("a", "D", "g1", "Adversarial", 300.0, np.nan),
            ("a", "D", "g2", "Original", 200.0, np.nan),
            ("a", "D", "g2", "Adversarial", np.nan, np.nan),
            ("b", "D", "g1", "Blank", 500.0, np.nan),
            ("b", "D", "g1", "Adversarial", 400.0, np.nan),
        ]
    )
    rows = harm_by_group(scores).set_index(["model", "group_id"])
    assert rows.loc[("a", "g1"), "wla_loss"] == pytest.approx(1 - np.exp(-1.5))
    assert rows.loc[("a", "g1"), "tbs_km"] == 200 and rows.loc[("b", "g1"), "tbs_km"] == -100
    assert rows.loc[("a", "g2")].drop("dataset").isna().all()
    traits = pd.DataFrame(
        {"dataset": "D", "group_id": ["g1", "g2"], "tier": ["T3", ""], "text_share": [0.03, 0.004]}
    )
    frame = harm(scores, traits, n_resamples=50).set_index(["trait", "measure", "model"])
    mean = frame.loc[("tier", "tbs_km", MEAN_OF_MODELS)]
    assert (mean["value"], mean["n_groups"], mean["n_of_trait"], mean["n_all"]) == (50.0, 1, 1, 2)
    assert np.isnan(mean["low"])  # one scene says nothing about its spread
    assert frame.loc[("text_share", "wla_loss", "a"), "level"] == "2–5"
    unscored = frame[frame["level"] == "<0.5"]  # g2 was answered in no pair
    assert (unscored["n_groups"] == 0).all() and unscored["value"].isna().all() and len(unscored) == 2


def test_levels_have_edges_and_rare_scripts_are_one() -> None:
    scripts = ["Latin"] * 9 + ["Han"] * 5 + ["Thai"] * 4 + ["Arabic"] * 3 + ["Greek"] * 2 + ["Lao", "Tamil", ""]
    n = len(scripts)
    share = np.r_[[0.005, 0.01, 0.05, np.nan], np.full(n - 4, 0.3)]
    frame = pd.DataFrame({"dataset": "D", "group_id": [f"g{i}" for i in range(n)], "script": scripts,
                          "text_share": share, "trap_distance_km": 20_000.0})  # fmt: skip
    placed = levels(frame)
    by = {trait: part.set_index("group_id")["level"] for trait, part in placed.groupby("trait")}
    assert (
        by["text_share"].loc[["g0", "g1", "g2"]].tolist() == ["0.5–1", "1–2", ">5"] and "g3" not in by["text_share"]
    )
    assert set(by["script"]) == {"Latin", "Han", "Thai", "Arabic", "Greek", "other"} and len(by["script"]) == n - 1
    assert set(by["trap_distance_km"]) == {">15"}


def test_harm_intervals_are_of_scenes_not_of_replies(study_of) -> None:
    one, many = study_of(["a"], 20), study_of(["a"], 20)
    copies = pd.concat([many.scores.assign(model=f"m{i}") for i in range(10)])
    pick = {"trait": "tier", "measure": "tbs_km", "model": MEAN_OF_MODELS, "level": "T2"}
    rows = []
    for scores in (one.scores, copies):
        frame = harm(scores, one.groups[["dataset", "group_id", "tier"]], n_resamples=200)
        rows.append(frame[np.logical_and.reduce([frame[k] == v for k, v in pick.items()])].iloc[0])
    assert rows[0]["high"] - rows[0]["low"] == pytest.approx(rows[1]["high"] - rows[1]["low"], rel=1e-6)


# -- agreement ------------------------------------------------------------------------------------------------


def test_misled_by_either_criterion() -> None:
    scores = scores_of(
        [
            ("a", "D", "g1", "Blank", 100.0, 900.0),
            ("a", "D", "g1", "Adversarial", 300.0, 49.9),
            ("a", "D", "g2", "Blank", 100.0, 900.0),
            ("a", "D", "g2", "Adversarial", 299.0, 50.0),
            ("a", "D", "g3", "Adversarial", 5.0, np.nan),
        ]
    )
    assert misled(scores)["a"].tolist()[:2] == [1, 0] and np.isnan(misled(scores)["a"].iloc[2])
    trapped = misled(scores, criterion="trapped")["a"].tolist()
    assert trapped[:2] == [1, 0] and np.isnan(trapped[2])
    with pytest.raises(DataError, match="moved, trapped"):
        misled(scores, criterion="fooled")


def test_kappa_is_the_textbook_one_and_a_constant_has_none(twenty) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    table = misled(twenty.scores)
    table["never"] = 0.0
    pairs = misled_agreement(table).set_index(["model_a", "model_b"])
    for pair in (("GPT-5", "GPT-4o"), ("Claude-Opus-4.6", "Kimi-K2.5")):
        both = table[list(pair)].dropna()
        assert pairs.loc[pair, "kappa"] == pytest.approx(sklearn.cohen_kappa_score(both[pair[0]], both[pair[1]]))
        assert pairs.loc[pair, "n"] == len(both)
    row = pairs.loc[("GPT-5", "never")]
    assert np.isnan(row["kappa"]) and "none of the scenes" in row["reason"]


def test_like_stands_beside_like() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 2, (2, 60)).astype(float)
    rows = np.array([one, other, one, other, one])
    rows[2, :5] = np.nan
    order = similar_order(rows)
    assert {0, 2, 4} in (set(order[:3]), set(order[2:]))
    assert similar_order(rows) == order and similar_order(rows[:2]) == [0, 1]


# -- traits, spending, arcs -----------------------------------------------------------------------------------


def small_benchmark(root: Path) -> Benchmark:
    path = root / "images" / "Original" / "g1.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (200, 100), "grey").save(path)
    box = ((10.0, 10.0), (50.0, 10.0), (50.0, 30.0), (10.0, 30.0))
    span = Span("東京駅", box, replacements={"adversarial": "Lima"}, tier="T3", tier_reason="place name")
    groups = (
        Group("g1", "D", 35.7, 139.7, city="東京", country="JP", spans=(span,), tier="T3", trap=Trap(-12.0, -77.0, "Lima, Peru"),
              images={"Original": "images/Original/g1.png"}),
        Group("g2", "D", 0.0, 179.0, spans=(Span("Taxi"),), tier="T1"),
    )  # fmt: skip
    return Benchmark("small", groups, root)


def test_traits_of_a_scene(tmp_path: Path) -> None:
    rows = scene_traits(small_benchmark(tmp_path)).set_index("group_id")
    assert rows.loc["g1", "text_share"] == pytest.approx(40 * 20 / (200 * 100))
    assert rows.loc["g1", "script"] == "Han" and rows.loc["g2", "script"] == "Latin"
    assert rows.loc["g1", "trap_distance_km"] == pytest.approx(float(haversine_km(35.7, 139.7, -12.0, -77.0)))
    assert np.isnan(rows.loc["g2", "text_share"]) and np.isnan(rows.loc["g2", "trap_distance_km"])


def test_spending_knows_free_from_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = pd.DataFrame(
        {
            "model": ["free", "free", "paid", "paid", "paid", "dark"],
            "status": ["ok", "ok", "ok", "refused", "ok", "ok"],
            "price_usd": [0.0, 0.0, 0.002, 0.004, None, None],
        }
    )
    with ReplyStore(tmp_path / "r.sqlite") as store:
        assert spending(store).empty
        monkeypatch.setattr(store, "predictions", lambda *a, **k: asked)
        rows = spending(store).set_index("model")
    assert rows.loc["free", "usd_per_1000"] == 0.0 and np.isnan(rows.loc["dark", "usd_per_1000"])
    assert rows.loc["paid", "usd_per_1000"] == pytest.approx(3.0) and rows.loc["paid", "n_priced"] == 2
    assert rows.loc["paid", "coverage"] == pytest.approx(2 / 3) and rows.loc["paid", "usd"] == pytest.approx(0.006)


def test_arcs_take_the_most_pulled_first(tmp_path: Path) -> None:
    scores = scores_of(
        [
            ("a", "D", "g1", "Blank", 10.0, 15_000.0),
            ("a", "D", "g1", "Adversarial", 15_000.0, 5.0),
            ("a", "D", "g2", "Blank", 10.0, np.nan),
            ("b", "D", "g1", "Blank", 10.0, 15_000.0),
            ("b", "D", "g1", "Adversarial", 10.0, 14_000.0),
        ]
    )
    bench = small_benchmark(tmp_path)
    arcs = arcs_frame(scores, bench)
    assert arcs["model"].tolist() == ["a", "a"] and arcs["group_id"].tolist() == ["g1", "g2"]
    assert arcs["pull_km"].iloc[0] == 14_995 and np.isnan(arcs["pull_km"].iloc[1])
    assert arcs["trap_name"].iloc[0] == "Lima"
    assert arcs_frame(scores, bench, model="b")["pull_km"].tolist() == [1000]
    with pytest.raises(DataError, match="they hold: a, b"):
        arcs_frame(scores, bench, model="c")
