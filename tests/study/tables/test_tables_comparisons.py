"""Tests, correlations, ranks and pairs as tables: numbers against scipy, signs turned, and p never 0."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from signpost_kit.tables_tests import tab_correlations, tab_pairs, tab_ranks, tab_tests

MODELS = ("GPT-5", "reader", "my_model <b>")


def test_tab_tests_is_scipys_wilcoxon_pooled_and_by_dataset(three, rendered) -> None:
    table = tab_tests(three.frames["tests"])
    frame = table.to_frame()
    wide = three.scores.pivot_table(index=["model", "dataset", "group_id"], columns="variant", values="wla")
    delta = (wide["Original"] - wide["Adversarial"]).dropna()
    for place in ("Pooled (the study's)", "BaiduSV"):
        for model in MODELS:
            mine = delta[model] if place.startswith("Pooled") else delta[model, place]
            row = frame[(frame["Data set"] == place) & (frame["Model"] == model)].iloc[0]
            used = mine[mine != 0]
            found = stats.wilcoxon(mine, alternative="greater", zero_method="wilcox")
            assert row["Pairs"] == len(mine) and row["Not tied"] == len(used)
            assert row["W"] == pytest.approx(found.statistic) and row["p"] == pytest.approx(found.pvalue, abs=1e-6)
            both = len(used) * (len(used) + 1) / 2
            assert row["Rank-biserial"] == pytest.approx(2 * found.statistic / both - 1, abs=1e-6)
            assert row["p (Holm)"] >= row["p"]
    rendered(table)
    tiny = three.frames["tests"].assign(p=1e-9, p_holm=1e-9)
    assert "&lt; 0.0001" in tab_tests(tiny).to_html() and "0.0000" not in tab_tests(tiny).to_html()


def test_tab_correlations_stand_beside_the_quoted_ones(three, rendered) -> None:
    table = tab_correlations(three.frames["correlations"], with_published=True)
    frame = table.to_frame().set_index("Scores")
    assert frame["Published ρ"].dropna().to_dict() == {
        "TBS and TFR": 0.836,
        "R and WLA Adversarial": 0.811,
        "MCRS and WLA Adversarial": 0.976,
        "R and TBS": -0.886,
        "R and TFR": -0.939,
    }
    macro = three.frames["macro"]
    macro = macro[macro["reading"] == "answered_only"].set_index(["metric", "variant", "model"])["value"]
    scores = [[macro[m, v, model] for model in MODELS] for m, v in (("capability", ""), ("robustness", ""))]
    assert frame.loc["C and R", "Kendall τ"] == pytest.approx(stats.kendalltau(*scores).statistic)
    assert frame.loc["C and R", "Pearson r"] == pytest.approx(stats.pearsonr(*scores).statistic, abs=1e-6)
    assert (frame["Models"] == 3).all()
    rendered(table)


def test_tab_ranks_from_probabilities_by_hand(rendered) -> None:
    # Rank 1 with 0.7, 2 with 0.28, 3 with 0.02: expected 1.32; the 97.5 % rank is the second.
    first, second, third = (0.7, 0.28, 0.02), (0.29, 0.7, 0.01), (0.01, 0.02, 0.97)
    frame = pd.DataFrame(
        [
            {"model": model, "metric": "mcrs", "variant": "", "rank": rank, "probability": p}
            for model, row in (("b", second), ("a", first), ("c", third), ("z", (np.nan,) * 3))
            for rank, p in enumerate(row, start=1)
        ]
    )
    table = tab_ranks(frame, metrics=["mcrs", "tfr"])
    rows = table.to_frame().set_index("Model")
    assert rows.index.tolist() == ["a", "b", "c", "z"]
    assert rows.loc["a", ["Expected rank", "Expected rank low", "Expected rank high"]].tolist() == [1.32, 1, 2]
    assert rows.loc["b", ["Likeliest rank", "Its probability (%)", "First (%)", "Last (%)"]].tolist() == [
        2,
        70,
        29,
        1,
    ]
    assert rows.loc["c", "Expected rank low"] == 2 and rows.loc["c", "Top 3 (%)"] == 100
    assert pd.isna(rows.loc["z", "Expected rank"]) and "A dash: no interval" in table.note
    rendered(table)


def test_tab_ranks_of_the_study(three, rendered) -> None:
    table = tab_ranks(three.frames["ranks"], metrics=["mcrs", "wla"])
    frame = table.to_frame()
    assert frame["Score"].unique().tolist()[:2] == ["MCRS", "WLA Original"] and len(frame) == 3 * 6
    assert frame.groupby("Score")["First (%)"].sum().to_numpy() == pytest.approx(100)
    known = three.frames["standings"]
    known = known[(known["metric"] == "mcrs") & (known["reading"] == "answered_only")].set_index("model")
    mine = frame[frame["Score"] == "MCRS"].set_index("Model")["Expected rank"]
    assert mine.to_dict() == pytest.approx(known["mean_rank"].to_dict(), abs=1e-6)
    rendered(table)


def test_tab_pairs_turns_a_pair_round(three, rendered) -> None:
    pairs = three.frames["pairs"]
    frame = tab_pairs(pairs, metrics=["wla", "mcrs"]).to_frame()
    assert len(frame) == 3 * 6 and frame["Score"].iloc[0] == "WLA Original (%)"
    mcrs = pairs[(pairs["metric"] == "mcrs") & (pairs["reading"] == "answered_only")]
    shown = frame[frame["Score"] == "MCRS"].set_index("Models")
    for row in mcrs.to_dict("records"):
        mine = shown.loc[f"{row['model_a']} – {row['model_b']}"]
        assert mine["Difference"] == pytest.approx(row["difference"], abs=1e-6)
        assert mine["Scenes"] == row["n_groups"] and mine["p (Holm)"] == pytest.approx(row["p_holm"], abs=1e-6)
    table = tab_pairs(pairs, model="reader")
    turned = table.to_frame().set_index("Models")
    first = mcrs[(mcrs["model_a"] == "GPT-5") & (mcrs["model_b"] == "reader")].iloc[0]
    row = turned.loc["reader – GPT-5"]
    assert row["Difference"] == pytest.approx(-first["difference"], abs=1e-6)
    assert row["Difference low"] == pytest.approx(-first["high"], abs=1e-6)
    assert row["First is higher (%)"] == pytest.approx(100 * (1 - first["probability"]), abs=1e-4)
    assert len(turned) == 2 and "of 2 pairs differ at 5 %" in table.note
    assert "No pair has nobody; models: GPT-5, my_model <b>, reader" in tab_pairs(pairs, model="nobody").note
    rendered(table)
