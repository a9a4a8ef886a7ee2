"""The reproduction page: every published number, recomputed or with the reason why not."""

from __future__ import annotations

import doctest
import math
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from signpost_kit import rounding
from signpost_kit.benchmark.groups import Benchmark, Group, Span, Trap
from signpost_kit.errors import DataError
from signpost_kit.figures.cells import pick
from signpost_kit.published import published
from signpost_kit.reproduction import VERDICTS, Claim, Found, compare, exactly, summary
from signpost_kit.reproduction_geocontext import reproduce_geocontext
from signpost_kit.reproduction_signpost import reproduce_signpost
from signpost_kit.reproduction_study import study_of_run
from signpost_kit.rounding import Range, carried, nearest_mean, printed
from signpost_kit.tables import save_table, tab01
from signpost_kit.tables_reproduction import reproduction_summary, reproduction_table

# -- rounding and verdicts ---------------------------------------------------------------------------------------------


def test_printed_digits():
    assert printed("9.40")[:2] == (9.4, pytest.approx(0.005))
    assert printed("-379").half == 0.5 and printed("0.905").half == pytest.approx(0.0005)
    assert printed("5111", exact=True).half == 0
    assert printed("9.40").shows(9.395) and not printed("9.40").shows(9.394)
    for bad in ("", "n/a", "inf", "nan"):
        with pytest.raises(DataError, match="is no number"):
            printed(bad)


def test_rounding_is_carried_through():
    got = carried(lambda a, b: a / b, printed("1.0"), printed("2.0"))
    assert got == pytest.approx((0.5, 0.95 / 2.05, 1.05 / 1.95))
    assert carried(lambda a, b: a - b, 5.0, printed("3", exact=True)) == (2.0, 2.0, 2.0)
    with pytest.raises(DataError, match="too many"):
        carried(lambda *x: sum(x), *[printed("0.1")] * 11)


def test_examples_in_docstrings():
    result = doctest.testmod(rounding)
    assert result.failed == 0 and result.attempted >= 3


def test_means_of_whole_numbers():
    # 120 ratings: 158 / 120 prints as 1.32; 25 pictures never agree at 83.4 %.
    assert nearest_mean(printed("1.32"), 120) == pytest.approx(158 / 120)
    assert not printed("83.4").shows(nearest_mean(printed("83.4"), 25, factor=100))


@pytest.mark.parametrize(
    ("text", "got", "bound", "verdict"),
    [
        ("36.6", Range(36.553, 36.535, 36.570), "", "same"),
        ("42.2", Range(42.146, 42.134, 42.158), "", "rounding"),
        ("42.3", Range(42.146, 42.134, 42.158), "", "differs"),
        ("51", exactly(51.86), "above", "holds"),
        ("52", exactly(51.86), "above", "differs"),
        ("0.947", exactly(0.96), "least", "holds"),
        ("0.947", exactly(0.94), "least", "differs"),
        ("1.32", exactly(1.3167), "possible", "holds"),
        ("1.33", exactly(1.3167), "possible", "differs"),
        ("1.33", exactly(math.nan), "", "open"),
        ("1.33", None, "", "open"),
    ],
)
def test_verdicts(text, got, bound, verdict):
    rows = compare([Claim("q", printed(text))], {"q": [Found(got, "b", "r", bound)]})
    assert rows["verdict"].tolist() == [verdict] and rows["reason"].tolist() == ["r"]


def test_counts_are_exact():
    claim = Claim("groups", printed("5111", exact=True), "count")
    assert compare([claim], {"groups": [Found(exactly(5110), "b", "")]})["verdict"].tolist() == ["differs"]


def test_a_number_that_differs_anywhere_counts_as_differing():
    claims = [Claim("a", printed("1.0"), section="s"), Claim("b", printed("2.0"), section="s", numbers=3)]
    found = {"a": [Found(exactly(1.0), "x", ""), Found(exactly(3.0), "y", "")]}
    rows = compare(claims, found, missing="nothing known")
    assert rows["verdict"].tolist() == ["same", "differs", "open"] and rows["reason"].iloc[2] == "nothing known"
    counts = summary(rows).iloc[0]
    assert counts["differs"] == 1 and counts["same"] == 0 and counts["open"] == 3 and counts["numbers"] == 4


# -- SIGNPOST-Bench ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def signpost() -> pd.DataFrame:
    return reproduce_signpost()


@pytest.fixture(scope="module")
def geocontext() -> pd.DataFrame:
    return reproduce_geocontext()


@pytest.mark.parametrize("study", ["signpost", "geocontext"])
def test_every_quantity_appears_with_a_verdict_and_a_reason(study, request):
    rows = request.getfixturevalue(study)
    for table in ("aggregate_facts", "quoted_facts"):
        facts = published(f"{study}/{table}")
        shown = rows.set_index("quantity")
        for quantity, value in zip(facts["quantity"], facts["value"], strict=True):
            assert quantity in shown.index, quantity
            assert np.all(shown.loc[[quantity], "published"] == value)
    assert rows["verdict"].isin(list(VERDICTS)).all()
    assert (rows["reason"].str.len() > 5).all()
    assert not rows["reason"].str.contains("No calculation|{", regex=True).any()
    assert ((rows["verdict"] == "open") == rows["ours"].isna()).all()


def test_mcrs_and_ranks_of_all_20_models_come_out(signpost):
    board = published("signpost/mcrs_leaderboard")
    rows = signpost.set_index("quantity")
    for model in board["model"]:
        assert rows.loc[f"mcrs_{model}", "verdict"] in ("same", "rounding"), model
        assert rows.loc[f"rank_{model}", "verdict"] == "same"
    assert (rows["verdict"][[f"mcrs_{m}" for m in board["model"]]] == "same").sum() == 15


def test_golden_numbers_of_the_text(signpost):
    rows = signpost.set_index("quantity")
    golden = {
        "groups": 651 + 992 + 2337 + 1131,
        "image_variants": 25_555,
        "evaluations": 511_100,
        "relative_wla_drop": 100 * 17.22 / 47.11,
        "median_error_fold": 1347 / 282,
        "geocodable_share": 100 * 1732 / 5111,
        "tier_T2_share": 100 * 3851 / 5111,
        "mcrs_sensitivity_min_kendall": 172 / 190,  # 181 of 190 pairs of models keep their order at exponent 0.5
        "models_Google": 4,
        "wla_half_distance": math.log(2) / 0.005,
    }
    for quantity, value in golden.items():
        assert rows.loc[quantity, "ours"] == pytest.approx(value), quantity
        assert rows.loc[quantity, "verdict"] == ("differs" if quantity == "wla_half_distance" else "same")
    assert set(rows.index[rows["verdict"] == "differs"]) == {"wla_half_distance"}
    # Mean C says that Original lies 9.41 above Blank; 9.40 is printed.
    assert rows.loc["original_minus_blank_wla", "verdict"] == "rounding"
    assert rows.loc["T3_relative_drop", "high"] > 42.15 > rows.loc["T3_relative_drop", "ours"]


@pytest.fixture
def folder(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the published numbers; the current folder is its project."""
    shutil.copytree(project / "params" / "published", tmp_path / "params" / "published")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "params" / "published"


def test_a_wrong_number_is_found(folder):
    board = folder / "signpost" / "mcrs_leaderboard.csv"
    board.write_text(board.read_text().replace("64.28,50.70", "64.40,50.70"))
    rows = reproduce_signpost().set_index("quantity")
    assert rows.loc["mcrs_GPT-5", "verdict"] == "differs"
    assert rows.loc["rank_GPT-5", "verdict"] == "differs"  # it would be the fourth


def test_an_added_table_1_gives_what_rests_on_it(folder, twenty):
    (folder / "signpost" / "tab01.csv").write_text(tab01(twenty.macro).to_csv())
    rows = reproduce_signpost()
    rows = rows[rows["basis"] == "added tab01"].set_index("quantity")
    wla = {v: pick(twenty.macro, "wla", variant=v).set_index("model")["value"] for v in ("Original", "Adversarial")}
    assert rows.loc["mean_wla_original", "ours"] == pytest.approx(100 * wla["Original"].mean(), abs=1e-4)
    assert rows.loc["wla_adversarial_Qwen3-VL-30B", "ours"] == pytest.approx(
        100 * wla["Adversarial"]["Qwen3-VL-30B"], abs=1e-4
    )
    own = pick(twenty.macro, "mcrs").set_index("model")["value"]
    for model in own.index:  # from the parts, and the same as the run's own
        assert rows.loc[f"mcrs_{model}", "ours"] == pytest.approx(own[model], abs=1e-3)
    assert rows.loc["mean_wla_original", "verdict"] == "differs"  # these are made-up scores
    assert {"spearman_R_vs_tfr", "mcrs_ablation_min_kendall", "tfr_max", "blank_ablation_drop"} <= set(rows.index)


def test_a_table_of_a_few_models_says_nothing_of_the_mean(folder):
    (folder / "signpost" / "tab01.csv").write_text("Model,WLA Original (%)\nQwen3-VL-30B,38.88\nGPT-5,50\n")
    rows = reproduce_signpost().set_index("quantity")
    assert rows.loc["mean_wla_original", "verdict"] == "open"
    assert rows.loc["wla_original_Qwen3-VL-30B", "verdict"] == "same"


# -- an imported release -----------------------------------------------------------------------------------------------


class FakeRun:
    """A scored run of a release, as far as the page asks."""

    name = "release"

    def __init__(self, folder: Path, tables: dict[str, pd.DataFrame], groups: tuple[Group, ...], kind: str) -> None:
        self.dir = folder
        self.profile = SimpleNamespace(source=SimpleNamespace(kind=kind, path="/data/SIGNPOST-Bench/"))
        self._tables, self._groups = tables, groups

    def table(self, name: str) -> pd.DataFrame:
        if name not in self._tables:
            raise DataError(name)
        return self._tables[name]

    def benchmark(self) -> Benchmark:
        return Benchmark("release", self._groups, self.dir)


def _groups(frame: pd.DataFrame) -> tuple[Group, ...]:
    return tuple(
        Group(
            dataset=row["dataset"].lower(),
            group_id=row["group_id"],
            source_id=row["group_id"],
            lat=row["lat"],
            lon=row["lon"],
            tier=row["tier"],
            spans=(Span(text="a"), Span(text="b")),
            trap=None if math.isnan(row["trap_lat"]) else Trap(row["trap_lat"], row["trap_lon"]),
        )
        for row in frame.to_dict("records")
    )


@pytest.fixture
def release(twenty, tmp_path: Path):
    """The simulated study as a release would come: models by identifier, data sets in small letters."""
    models = published("signpost/models")
    spelt = dict(zip(models["model"], models["api_identifier"], strict=True))
    tables = {
        name: getattr(twenty, name).assign(
            model=lambda f: f["model"].map(spelt), dataset=lambda f: f["dataset"].str.lower()
        )
        for name in ("macro", "cells", "tiers")
    }

    def make(kind: str = "signpost-release", **changes: pd.DataFrame) -> FakeRun:
        return FakeRun(tmp_path, tables | changes, _groups(twenty.groups), kind)

    return make


def test_a_release_gives_nearly_everything(release, twenty):
    study = study_of_run(release())
    assert len(study.models) == 20 and study.datasets == ["IM2GPS3K", "BaiduSV"]
    assert "120 of the study's 5,111 groups" in study.incomplete and "% of requests answered" in study.incomplete
    rows = reproduce_signpost(study)
    mine = rows[rows["basis"] == "release SIGNPOST-Bench"].set_index("quantity")
    assert len(mine) > 120
    macro = twenty.macro
    for variant in ("Original", "Adversarial"):
        expected = 100 * pick(macro, "wla", variant=variant)["value"].mean()
        assert mine.loc[f"mean_wla_{variant.lower()}", "ours"] == pytest.approx(expected)
    own = pick(macro, "mcrs").set_index("model")["value"]
    assert mine.loc["mcrs_GPT-5", "ours"] == pytest.approx(own["GPT-5"], abs=1e-9)
    assert mine.loc["rank_GPT-5", "ours"] == 1 + (own > own["GPT-5"]).sum()
    cells = pick(twenty.cells, "wla")
    wide = cells.pivot_table(index=["model", "dataset"], columns="variant", values="value")
    assert mine.loc["cells_declining", "ours"] == (wide["Adversarial"] < wide["Original"]).sum()
    assert mine.loc["similar_above_original_cells", "ours"] == (wide["Similar"] > wide["Original"]).sum()
    by_set = 100 * (wide["Original"] - wide["Adversarial"]).groupby("dataset").mean()
    assert mine.loc["min_wla_loss_dataset_BaiduSV", "ours"] == pytest.approx(by_set.min())
    tdr = pick(macro, "tdr_km_mean")["value"]
    assert mine.loc["tdr_model_mean_max", "ours"] == pytest.approx(tdr.max())
    assert mine.loc["groups", "ours"] == 120 and mine.loc["scene_text_spans", "ours"] == 240
    assert mine.loc["geocodable_groups", "ours"] == twenty.groups["trap_lat"].notna().sum()
    assert mine.loc["groups_IM2GPS3K", "ours"] == 60
    assert mine.loc["T3_relative_drop", "ours"] == pytest.approx(
        100 * mine.loc["T3_wla_drop", "ours"] / mine.loc["T3_wla_original", "ours"]
    )
    # Why it differs is said on every row.
    assert mine["reason"].str.contains("120 of the study's 5,111 groups").all()
    assert (rows[rows["quantity"].str.startswith("capability")]["verdict"] != "open").all()


def test_the_study_itself_would_come_out(release, twenty):
    """Scores put where the paper has them: the page says "same"."""
    macro = twenty.macro.copy()
    wla = (macro["metric"] == "wla") & (macro["variant"] == "Original")
    macro.loc[wla, "value"] *= 0.4711 / macro.loc[wla & (macro["reading"] == "answered_only"), "value"].mean()
    rows = reproduce_signpost(study_of_run(release(macro=macro)))
    row = rows[(rows["quantity"] == "mean_wla_original") & (rows["basis"] != "")].iloc[0]
    assert row["verdict"] == "same" and row["ours"] == pytest.approx(47.11)


def test_further_tasks_and_annotations_of_a_release(release, tmp_path: Path):
    line = {"metric": "cda", "variant": "Adversarial", "tier": "", "reading": "answered_only", "task": "probing"}
    tasks = pd.DataFrame(
        [
            line | {"model": "gemini-2.5-flash", "dataset": "macro", "value": 0.142},
            line | {"model": "gemini-2.5-flash", "dataset": "YFCC4K", "value": 0.2},
            line | {"model": "gpt-4o-mini", "dataset": "macro", "value": 0.9},
        ]
    )
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "taxonomy_annotations.csv").write_text(
        "annotator1_tier,annotator2_tier,tier_auto\n" + "T1,T1,T1\nT2,T2,T2\nT3,T3,T3\nT3,T2,T3\n"
    )
    rows = reproduce_signpost(study_of_run(release(tasks=tasks)))
    mine = rows[rows["basis"].str.startswith("release")].set_index("quantity")
    assert mine.loc["probe_cda_gemini25flash", "verdict"] == "same"
    assert mine.loc["probe_cda_gpt4omini", "verdict"] == "differs"
    assert mine.loc["taxonomy_interannotator_agreement", "ours"] == pytest.approx(75.0)
    assert mine.loc["taxonomy_audit_images", "ours"] == 4
    kappa = mine.loc["taxonomy_kappa", "ours"]
    assert kappa == pytest.approx((0.75 - 5 / 16) / (1 - 5 / 16))  # by hand: 1/4*1/4 + 1/4*2/4 + 2/4*1/4


def test_a_run_that_is_no_release_is_not_compared(release):
    study = study_of_run(release("town"))
    assert not study.models and "no imported release" in study.empty
    rows = reproduce_signpost(study)
    assert set(rows["basis"]) == {"", "published"}


def test_a_release_of_other_models_says_so(release, twenty):
    study = study_of_run(release(macro=twenty.macro.assign(model="my-model")))
    assert not study.models and "none of the 20 published models" in study.empty
    assert set(reproduce_signpost(study)["basis"]) == {"", "published"}


# -- GeoContext --------------------------------------------------------------------------------------------------------


def test_geocontext_is_consistent_but_for_one_difference(geocontext):
    rows = geocontext.set_index("quantity")
    differing = geocontext[geocontext["verdict"] == "differs"]
    assert differing["quantity"].tolist() == ["warn_all_delta"]  # 39.3 - 37.4; by pairs it is 2.01
    assert set(rows.loc["warn_all_delta", "verdict"]) == {"differs", "rounding"}
    golden = {
        "sites": 109, "image_audit_n": 429, "contexted_responses_illegible": 4545, "signals_pooled": 327,
        "slope_factor_05_to_6km": 10**0.451, "echo_illegible_share": 100 * 1345 / 4545, "hit_pooled": 100 * 327 / 468,
        "building_level_pairs": 8215, "verify_tolerance": 0.15,
    }  # fmt: skip
    for quantity, value in golden.items():
        assert rows.loc[quantity, "ours"] == pytest.approx(value), quantity
        assert rows.loc[quantity, "verdict"] == "same"
    # Kappa of 326 and 17 agreements with 65 and 21 disputes, by hand.
    po, first, second = 343 / 429, (17 + 65) / 429, (17 + 21) / 429
    pe = first * second + (1 - first) * (1 - second)
    assert rows.loc["image_audit_kappa", "ours"] == pytest.approx((po - pe) / (1 - pe))
    assert rows.loc["image_audit_kappa", "verdict"] == "holds"


def test_every_criterion_follows_from_hits_and_dprime(geocontext):
    mine = geocontext[geocontext["quantity"].str.startswith(("criterion_", "delta1_", "hit_"))]
    assert len(mine[mine["quantity"].str.startswith("criterion_")]) == 12
    known = mine[~mine["quantity"].str.contains("pct")]
    assert known["verdict"].isin(["same", "rounding"]).all()


def test_a_wrong_dprime_is_found(folder):
    table = folder / "geocontext" / "geoverify.csv"
    table.write_text(table.read_text().replace("0.68,1.61", "0.78,1.61"))
    rows = reproduce_geocontext().set_index("quantity")
    assert rows.loc["criterion_nearest_gemini-flash", "verdict"] == "differs"


# -- the tables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", ["signpost", "geocontext"])
def test_tables_are_written_in_every_format(study, request, tmp_path: Path):
    rows = request.getfixturevalue(study)
    table = reproduction_table(rows, id="page", title="<b>", note="how & why")
    saved = save_table(table, tmp_path)
    back = pd.read_csv(saved.csv)
    assert len(back) == len(rows)
    assert back["Published"].dtype == float and back["Ours"].dtype == float
    np.testing.assert_allclose(back["Ours"], rows["ours"], atol=0.51)
    assert "<b>" not in saved.html.read_text() and "how &amp; why" in saved.html.read_text()
    assert r"\begin{table*}" in saved.tex.read_text()
    counts = reproduction_summary(rows)
    frame = counts.to_frame()
    assert frame["Numbers"].iloc[-1] == frame["Numbers"].iloc[:-1].sum() == sum(
        frame[name.capitalize()].iloc[-1] for name in VERDICTS
    )  # fmt: skip


def test_no_rows_is_a_table_too():
    none = compare([], {})
    assert "No published number is known" in reproduction_table(none).note
    assert reproduction_summary(none).to_html()
