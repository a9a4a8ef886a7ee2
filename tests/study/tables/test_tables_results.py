"""Tables 7, 11, 17 and 20-23 against plain definitions from the scores."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from signpost_kit.figures.cells import pick
from signpost_kit.tables_results import dataset_of, tab07, tab11, tab17, tab_dataset

MODELS = ("GPT-5", "reader", "my_model <b>")


def adversarial(scores: pd.DataFrame, model: str, dataset: str) -> pd.DataFrame:
    mine = scores[(scores["model"] == model) & (scores["dataset"] == dataset)]
    return mine[(mine["variant"] == "Adversarial") & mine["trap_km"].notna()]


def test_tab07_is_the_share_near_the_trap_with_its_denominator(three, rendered) -> None:
    table = tab07(three.frames["cells"], three.frames["macro"], radius_km=50)
    frame = table.to_frame().set_index("Model")
    for model in MODELS:
        rates = []
        for dataset in ("IM2GPS3K", "BaiduSV"):
            mine = adversarial(three.scores, model, dataset)
            rates.append(float((mine["trap_km"] < 50).mean()))
            assert frame.loc[model, f"{dataset} (%)"] == pytest.approx(100 * rates[-1], abs=1e-4)
            assert frame.loc[model, f"n {dataset}"] == len(mine)
        assert frame.loc[model, "Macro (%)"] == pytest.approx(100 * np.mean(rates), abs=1e-4)
        assert frame.loc[model, "n"] == frame.loc[model, "n IM2GPS3K"] + frame.loc[model, "n BaiduSV"]
    assert frame["Macro (%)"].is_monotonic_increasing
    assert "my_model &lt;b&gt;" in rendered(table)
    failures = tab07(three.frames["cells"], three.frames["macro"], reading="as_failures").to_frame()
    asked = pick(three.frames["cells"], "tfr", reading="as_failures")
    assert failures["n"].sum() == asked["n_asked"].sum() > frame["n"].sum()


def test_tab11_groups_levels_and_drops(three, rendered) -> None:
    table = tab11(three.frames["tiers"], three.groups, aggregate=three.frames["aggregate"])
    frame = table.to_frame()
    mean = frame[frame["Model"] == "mean of 3 models"].set_index("Tier")
    counts = three.groups["tier"].value_counts()
    assert mean["Groups"].to_dict() == {tier: int(counts.get(tier, 0)) for tier in ("T1", "T2", "T3")}
    ok = three.scores[three.scores["status"] == "ok"].merge(three.groups[["group_id", "tier"]], on="group_id")
    cells = ok.groupby(["model", "tier", "variant", "dataset"])["wla"].mean().groupby(["model", "tier", "variant"])
    each = cells.mean()
    for tier in ("T2", "T3"):
        original, after = (
            each.xs((tier, v), level=("tier", "variant")).mean() for v in ("Original", "Adversarial")
        )
        assert mean.loc[tier, "Original (WLA %)"] == pytest.approx(100 * original, abs=1e-4)
        assert mean.loc[tier, "Drop (points)"] == pytest.approx(100 * (original - after), abs=1e-4)
        # the relative drop is that of the means, as in the study, not a mean of relative drops
        assert mean.loc[tier, "Relative drop (%)"] == pytest.approx(100 * (1 - after / original), abs=1e-4)
        mine = frame[(frame["Model"] == "reader") & (frame["Tier"] == tier)].iloc[0]
        assert mine["Blank (WLA %)"] == pytest.approx(100 * each["reader", tier, "Blank"], abs=1e-4)
        assert math.isfinite(mean.loc[tier, "Original low"])
    plain = tab11(three.frames["tiers"], three.groups).to_frame()
    columns = ["Original (WLA %)", "Drop (points)", "Relative drop (%)"]
    pd.testing.assert_frame_equal(plain[columns], frame[columns], atol=1e-4)
    rendered(table)


def test_tab11_says_which_tier_is_empty_and_hides_senseless_bounds(three) -> None:
    none = three.groups.assign(tier=three.groups["tier"].replace("T1", "T2"))
    assert "No group of this run is T1." in tab11(three.frames["tiers"], none).note
    wild = three.frames["tiers"].copy()
    wild.loc[wild["metric"] == "drop_percent", "low"] = -4e9
    frame = tab11(wild, three.groups)
    drops = [row.scores["percent"] for row in frame.rows if row.section == "reader"]
    assert all(not math.isfinite(score.low) for score in drops) and any(math.isfinite(s.value) for s in drops)
    assert "−1,000 %" in frame.note and "−1,000" not in tab11(three.frames["tiers"].iloc[:0], three.groups).note


def test_tab17_is_the_mean_of_pairs_then_of_datasets(three, rendered) -> None:
    table = tab17(three.frames["cells"], three.frames["macro"], by_dataset=True)
    frame = table.to_frame()
    wide = three.scores.pivot_table(index=["model", "dataset", "group_id"], columns="variant", values="trap_km")
    pairs = (wide["Blank"] - wide["Adversarial"]).dropna().reset_index(name="tdr")
    per_set = pairs.groupby(["model", "dataset"])["tdr"]
    for model in MODELS:
        mine = frame[(frame["Data set"] == "All data sets") & (frame["Model"] == model)].iloc[0]
        assert mine["Mean TDR (km)"] == pytest.approx(per_set.mean()[model].mean(), abs=1e-2)
        assert mine["Median TDR (km)"] == pytest.approx(per_set.median()[model].mean(), abs=1e-2)
        rate = per_set.agg(lambda values: (values > 0).mean())[model].mean()
        assert mine["Attraction rate (%)"] == pytest.approx(100 * rate, abs=1e-4)
        assert mine["Pairs"] == (pairs["model"] == model).sum()
        one = frame[(frame["Data set"] == "BaiduSV") & (frame["Model"] == model)].iloc[0]
        assert one["Mean TDR (km)"] == pytest.approx(per_set.mean()[model, "BaiduSV"], abs=1e-2)
    rendered(table)


@pytest.mark.parametrize(
    ("datasets", "tables"),
    [
        (["a", "b"], ["a", "b", "", ""]),
        (["BaiduSV", "GoogleSV", "YFCC4K", "IM2GPS3K"], ["IM2GPS3K", "YFCC4K", "GoogleSV", "BaiduSV"]),
        (["own", "google_sv"], ["own", "", "google_sv", ""]),
        (["a", "yfcc4k", "b", "c", "d"], ["a", "yfcc4k", "b", "c"]),
        ([], ["", "", "", ""]),
    ],
)
def test_each_table_has_its_dataset(datasets: list[str], tables: list[str]) -> None:
    assert [dataset_of(20 + i, datasets) for i in range(4)] == tables


def test_tables_of_one_dataset(three, rendered) -> None:
    cells = three.frames["cells"]
    frame = tab_dataset(23, cells).to_frame().set_index("Model")
    mine = three.scores[(three.scores["dataset"] == "BaiduSV") & (three.scores["status"] == "ok")]
    means = mine.groupby(["model", "variant"])["wla"].mean()
    for model in MODELS:
        assert frame.loc[model, "WLA Similar (%)"] == pytest.approx(100 * means[model, "Similar"], abs=1e-4)
        tbs = pick(cells[cells["model"] == model], "tbs_km", variant="Adversarial")
        value = tbs.loc[tbs["dataset"] == "BaiduSV", "value"].item()
        assert frame.loc[model, "TBS (km)"] == pytest.approx(value, abs=1e-4)
    assert frame.loc["GPT-5", "Provider"] == "OpenAI"
    other = tab_dataset(21, cells)
    assert other.rows == () and "none for table 21, which is about YFCC4K" in other.note
    assert len(tab_dataset(21, cells, dataset="IM2GPS3K").rows) == 3
    wrong = tab_dataset(20, cells, dataset="nowhere")
    assert "nowhere is none of them" in wrong.note and "IM2GPS3K, BaiduSV" in wrong.note
    for table in (other, wrong, tab_dataset(20, cells)):
        rendered(table)
    extra = pd.concat([cells, *(cells.assign(dataset=f"set{i}") for i in range(4))])
    assert "without a table of their own: set2, set3" in tab_dataset(20, extra).note
