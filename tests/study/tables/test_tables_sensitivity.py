"""Tables 4, 5, 12 and 18 against plain definitions, and when there is nothing to compare."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from signpost_kit.metrics.mcrs import mcrs, robustness, weights_with, weights_without
from signpost_kit.tables_sensitivity import tab04, tab04_ranks, tab05, tab05_ranks, tab12, tab18

MODELS = ("GPT-5", "reader", "my_model <b>")


def score_under(frames, weights, exponent: float) -> dict[str, float]:
    """MCRS of each model from the frame `macro` alone."""
    macro = frames["macro"]
    macro = macro[macro["reading"] == "answered_only"]
    out = {}
    for model in MODELS:
        found = macro[macro["model"] == model].set_index(["metric", "variant"])["value"]
        parts = [found["wla", v] for v in ("Blank", "Random", "Adversarial")]
        robust = robustness(*parts, found["tbs_km", "Adversarial"], found["tfr", "Adversarial"], weights=weights)
        able = 0.5 * found["wla", "Original"] + 0.5 * found["wla", "Blank"]
        out[model] = float(mcrs(able, robust, capability_exponent=exponent))
    return out


def test_tab04_compares_rankings_with_the_studys_setting(three, rendered) -> None:
    frames = three.frames
    table = tab04(frames["sensitivity"], frames["sensitivity_ranks"], with_published=True)
    frame = table.to_frame().set_index(["Source", "Weight / exponent"]).loc["This run"]
    usual = score_under(frames, weights_with(0.44), 0.4)
    for weight, exponent in ((0.3, 0.3), (0.5, 0.4)):
        here = score_under(frames, weights_with(weight), exponent)
        row = frame.loc[f"{weight:.2f} / {exponent:.2f}"]
        tau = stats.kendalltau([here[m] for m in MODELS], [usual[m] for m in MODELS]).statistic
        assert row["Kendall τ"] == pytest.approx(tau)
        assert row["First"] == max(here, key=lambda m: here[m])
    assert frame.loc[
        "0.44 / 0.40 (the study's)", ["Kendall τ", "Models moved", "Furthest move (ranks)"]
    ].tolist() == [
        1,
        0,
        0,
    ]
    assert frame.loc["lowest of all", "Kendall τ"] == frame["Kendall τ"].min()
    published = table.to_frame().iloc[-1]
    assert (published["Kendall τ"], published["Spearman ρ"]) == (0.905, 0.979)
    rendered(table)


def test_tab05_leaves_one_component_out(three, rendered) -> None:
    table = tab05(three.frames["ablation"], with_published=True)
    frame = table.to_frame().set_index(["Source", "Left out"])
    usual = score_under(three.frames, weights_with(0.44), 0.4)
    names = {"random": "ρ Random", "adversarial": "ρ Adversarial", "tbs": "q TBS", "tfr": "q TFR"}
    ranks = tab05_ranks(three.frames["ablation"]).to_frame().set_index("Model")
    for dropped, label in names.items():
        here = score_under(three.frames, weights_without(dropped), 0.4)
        row = frame.loc["This run", label]
        rho = stats.spearmanr([here[m] for m in MODELS], [usual[m] for m in MODELS]).statistic
        assert row["Spearman ρ"] == pytest.approx(rho)
        order = [stats.rankdata([-scores[m] for m in MODELS]) for scores in (here, usual)]
        assert row["Models moved"] == (order[0] != order[1]).sum()
        assert row["Furthest move (ranks)"] == np.abs(order[0] - order[1]).max()
        assert ranks.loc[list(MODELS), label].tolist() == order[0].tolist()
    assert frame.loc["Published, other scenes", "lowest of all"]["Kendall τ"] == 0.947
    assert (ranks["Best rank"] <= ranks["Worst rank"]).all() and len(ranks) == 3
    rendered(table)
    rendered(tab04_ranks(three.frames["sensitivity"]))


def test_tab12_is_wla_with_another_decay_and_ranks_it(three, rendered) -> None:
    table = tab12(three.frames["alpha"], three.frames["alpha_ranks"])
    frame = table.to_frame().set_index("Model")
    mine = three.scores[(three.scores["variant"] == "Adversarial") & (three.scores["status"] == "ok")]
    for alpha in (0.002, 0.005, 0.01):
        wla = mine.assign(w=np.exp(-alpha * mine["error_km"])).groupby(["model", "dataset"])["w"].mean()
        macro = {model: 100 * wla[model].mean() for model in MODELS}
        for model in MODELS:
            assert frame.loc[model, f"α = {alpha:g} (WLA %)"] == pytest.approx(macro[model], abs=1e-4)
            assert frame.loc[model, f"Rank, α = {alpha:g}"] == 1 + sum(v > macro[model] for v in macro.values())
    assert frame["α = 0.005 (WLA %)"].is_monotonic_decreasing
    assert "Kendall's τ with the own order: " in table.note
    rendered(table)
    assert "Similar" in tab12(three.frames["alpha"], None, variant="Similar").caption


@pytest.mark.parametrize("tier", ["T3", ""])
def test_tab18_counts_answers_within_each_radius(three, rendered, tier: str) -> None:
    table = tab18(three.frames["radius"], tier=tier)
    frame = table.to_frame()
    rows = three.scores.merge(three.groups[["group_id", "tier"]], on="group_id")
    rows = rows[(rows["variant"] == "Adversarial") & rows["trap_km"].notna()]
    rows = rows[rows["tier"] == tier] if tier else rows
    for model in MODELS:
        mine = rows[rows["model"] == model]
        whole = frame[(frame["Data set"] == "All data sets") & (frame["Model"] == model)].iloc[0]
        assert whole["Answers"] == len(mine)
        for km in (10, 25, 50, 100, 250, 500):
            rate = (mine["trap_km"] < km).groupby(mine["dataset"]).mean()
            assert whole[f"< {km} km (%)"] == pytest.approx(100 * rate.mean(), abs=1e-4)
            one = frame[(frame["Data set"] == "BaiduSV") & (frame["Model"] == model)].iloc[0]
            assert one[f"< {km} km (%)"] == pytest.approx(100 * rate["BaiduSV"], abs=1e-4)
    rendered(table)
