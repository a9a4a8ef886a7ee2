"""Published numbers in the run's own terms, and tables that a user adds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from signpost_kit.errors import DataError
from signpost_kit.figures.cells import pick
from signpost_kit.metrics.longform import SCORE_COLUMNS
from signpost_kit.published import published, published_names, published_text
from signpost_kit.published_frames import PUBLISHED, among, published_frames, study_name, users_tables
from signpost_kit.published_layouts import SHIPPED, USER_TABLES, Field


@pytest.fixture
def folder(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the published numbers to add tables to; the current folder is its project."""
    shutil.copytree(project / "params" / "published", tmp_path / "params" / "published")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "params" / "published" / "signpost"


def test_the_leaderboard_as_rows_of_the_runs_own_frame():
    macro = published_frames()["macro"]
    assert list(macro.columns[: len(SCORE_COLUMNS)]) == list(SCORE_COLUMNS)
    assert len(macro) == 60 and macro["model"].nunique() == 20
    first = macro[macro["model"] == "Gemini-3-Flash"].set_index("metric")["value"]
    assert first.to_dict() == pytest.approx({"mcrs": 72.70, "capability": 0.5658, "robustness": 0.8593})
    assert macro["low"].isna().all() and set(macro["provider"]) == set(published("signpost/models")["provider"])
    assert len(pick(macro, "mcrs", reading=PUBLISHED)) == 20
    assert pick(macro, "mcrs").empty  # never mixed into a run by accident


def test_means_and_tasks_of_the_text():
    frames = published_frames()
    means = frames["means"].set_index(["metric", "variant", "tier"])["value"]
    assert means["wla", "Adversarial", ""] == pytest.approx(0.2989)
    assert means["tbs_km", "Similar", ""] == -379
    assert means["drop_points", "Adversarial", "T3"] == 25.14
    tasks = frames["tasks"]
    cda = tasks[(tasks["metric"] == "cda") & (tasks["model"] == "GPT-4o-mini")].set_index("task")["value"]
    assert cda.to_dict() == pytest.approx({"probing": 0.328, "defense": 0.193})
    assert len(tasks) == 10
    assert frames["cells"].empty and frames["alpha"].columns[-1] == "alpha"


def test_your_model_among_the_20(twenty):
    both = among(twenty.macro)
    assert set(both["source"]) == {"this run", PUBLISHED}
    assert (both["source"] == PUBLISHED).sum() == 60 and len(both) == len(twenty.macro) + 60
    one = among(twenty.macro, models=["gpt-4o-mini"])
    assert set(one.loc[one["source"] == PUBLISHED, "model"]) == {"GPT-4o-mini"}
    with pytest.raises(DataError, match="none of the 20 published models"):
        among(twenty.macro, models=["gpt-9"])
    with pytest.raises(DataError, match="there are: macro"):
        among(twenty.macro, "makro")


def test_models_are_found_by_any_spelling():
    assert study_name("gemini_2.5_flash") == "Gemini-2.5-Flash"
    assert study_name("qwen/qwen3-vl-235b-a22b-instruct") == "Qwen3-VL-235B"
    assert study_name("reader") == ""


def test_a_users_table_becomes_scores(folder):
    (folder / "tab01.csv").write_text(
        "Provider,Model,WLA Original (%),WLA Adversarial (%),TBS (km),TFR (%),MCRS,coverage\n"
        "Google,Gemini-3-Flash,60.12,50.34,\"1,234\",6.5,72.71,\n"
        "xAI,Grok-4,40.1,,−12,20.1,44.05,\n",
        encoding="utf-8-sig",
    )  # fmt: skip
    (folder / "tab20.csv").write_text("model,Original,tbs\nGPT-5,51.5,800\n")
    (folder / "tab11.csv").write_text(
        "Tier,Model,Original (WLA %),Drop (points)\nT1,,45.24,11.31\nT3,GPT-5,60,20\n"
    )
    (folder / "tab12.csv").write_text("Model,α = 0.002 (WLA %),α = 0.01 (WLA %)\nGPT-5,51.5,20.5\n")
    (folder / "tab18.csv").write_text("Model,Data set,< 10 km (%),< 50 km (%)\nGPT-5,All data sets,5,9\n")
    (folder / "tab07.csv").write_text("Model,IM2GPS3K (%),Macro (%),n IM2GPS3K\nGPT-5,11,9.5,200\n")
    frames = published_frames()
    macro = frames["macro"].set_index(["model", "metric", "variant"])["value"]
    assert macro["Gemini-3-Flash", "wla", "Original"] == pytest.approx(0.6012)
    assert (
        macro["Gemini-3-Flash", "tbs_km", "Adversarial"] == 1234 and macro["Grok-4", "tbs_km", "Adversarial"] == -12
    )
    assert ("Grok-4", "wla", "Adversarial") not in macro.index  # empty is not 0
    assert macro["Gemini-3-Flash", "mcrs", ""] == 72.71  # the user's goes before the shipped one
    assert macro["GPT-5", "tfr", "Adversarial"] == pytest.approx(0.095)
    cells = frames["cells"].set_index(["model", "dataset", "metric"])["value"]
    assert cells["GPT-5", "IM2GPS3K", "wla"] == pytest.approx(0.515)
    assert cells["GPT-5", "IM2GPS3K", "tfr"] == pytest.approx(0.11) and len(cells) == 3
    means = frames["means"].set_index(["metric", "variant", "tier"])["value"]
    assert means["wla", "Original", "T1"] == pytest.approx(0.4524)
    assert len(frames["tiers"]) == 2 and set(frames["tiers"]["model"]) == {"GPT-5"}
    assert frames["alpha"]["alpha"].tolist() == [0.002, 0.01] and set(frames["alpha"]["variant"]) == {"Adversarial"}
    radius = frames["radius"]
    assert radius["radius_km"].tolist() == [10, 50] and radius["value"].tolist() == [0.05, 0.09]
    assert set(radius["tier"]) == {"T3"} and set(radius["dataset"]) == {"macro"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tab01", "Model,WLA Orignal (%)\nGPT-5,50\n", "did you mean 'WLA Original"),
        ("tab01", "Modl,MCRS\nGPT-5,50\n", "did you mean 'Model'"),
        ("tab01", "MCRS\n50\n", "lacks the column 'Model'"),
        ("tab01", "Model,MCRS,mcrs\nGPT-5,50,50\n", "twice"),
        ("tab01", "Model,MCRS\nGPT5,50\n", "line 2: no published model 'GPT5'; did you mean 'GPT-5'"),
        ("tab01", "Model,MCRS\nGPT-5,50\nGPT-5,51\n", "line 3: 'GPT-5' stands in line 2"),
        ("tab01", "Model,MCRS\n,50\n", "line 2: a row needs a name"),
        ("tab01", "Model,MCRS\nGPT-5,fifty\n", "line 2: 'fifty' is no number for 'MCRS'"),
        ("tab01", "Model,tfr\nGPT-5,150\n", "line 2: 'TFR' is 150; per cent from 0 to 100"),
        ("tab01", "Model,tfr\nGPT-5,0.1\nGPT-4o,0.2\nGrok-4,0.1\n", "write 47.1, not 0.471"),
        ("tab07", "Model,IM2GPS (%)\nGPT-5,50\n", "did you mean 'IM2GPS3K'"),
        ("tab18", "Model,Data set,< 50 km (%)\nGPT-5,GoogleSW,50\n", "did you mean 'GoogleSV'"),
        ("tab11", "Tier,Drop (points)\nT4,50\n", "there are: T1, T2, T3"),
        ("tab12", "Model,α = x (WLA %)\nGPT-5,50\n", "which the table does not"),
        ("tab1", "Model,MCRS\nGPT-5,50\n", "call it tab01.csv"),
        ("table 13", "Model,MCRS\nGPT-5,50\n", "call it tab13.csv"),
    ],
)  # fmt: skip
def test_errors_name_the_line_and_the_fix(folder, name, text, said):
    (folder / f"{name}.csv").write_text(text)
    with pytest.raises(DataError, match="signpost/") as caught:
        published_frames()
    assert said in str(caught.value)


def test_a_shipped_table_that_was_damaged_is_an_error(folder):
    board = folder / "mcrs_leaderboard.csv"
    board.write_text(board.read_text().replace("72.70", "n/a?"))
    with pytest.raises(DataError, match="line 2.*'n/a\\?' is no number"):
        published("signpost/mcrs_leaderboard")
    board.write_text("model,mcrs\n")
    with pytest.raises(DataError, match="lacks the column"):
        published("signpost/mcrs_leaderboard")
    board.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot read"):
        published("signpost/mcrs_leaderboard")


def test_every_shipped_table_has_a_layout_and_reads():
    assert set(SHIPPED) == {name for name in published_names() if not name.startswith("signpost/tab")}
    for name in SHIPPED:
        assert len(published(name))


def test_text_keeps_the_printed_digits():
    facts = published_text("signpost/aggregate_facts").set_index("quantity")["value"]
    assert facts["original_minus_blank_wla"] == "9.40"


def test_heads_are_those_of_the_kits_own_tables(twenty):
    from signpost_kit import tables, tables_results

    made = {
        "tab01": tables.tab01(twenty.macro),
        "tab13": tables.tab13(twenty.macro),
        "tab17": tables_results.tab17(twenty.cells, twenty.macro),
        "tab07": tables_results.tab07(twenty.cells, twenty.macro),
        "tab11": tables_results.tab11(twenty.tiers, twenty.groups),
        "tab20": tables_results.tab_dataset(20, twenty.cells),
    }
    for name, table in made.items():
        heads = {(column.key, column.head, column.unit) for column in table.columns}
        for field in USER_TABLES[name].fields:
            assert isinstance(field, Field)
            assert (field.key, field.head, field.unit) in heads, (name, field)
        assert USER_TABLES[name].label == table.label_head


def test_a_table_written_by_the_kit_reads_back(twenty, folder):
    from signpost_kit.tables import tab01
    from signpost_kit.tables_results import tab07, tab_dataset

    (folder / "tab01.csv").write_text(tab01(twenty.macro).to_csv())
    (folder / "tab07.csv").write_text(tab07(twenty.cells, twenty.macro).to_csv())
    (folder / "tab20.csv").write_text(tab_dataset(20, twenty.cells).to_csv())
    assert users_tables() == ["tab01", "tab07", "tab20"]
    frames = published_frames()
    for kind in ("macro", "cells"):
        own = getattr(twenty, kind)
        own = own[own["reading"] == "answered_only"]
        theirs = frames[kind]
        keys = ["model", "dataset", "metric", "variant", "tier"]
        both = theirs.merge(pd.DataFrame(own)[[*keys, "value"]], on=keys, suffixes=("", "_own"))
        assert len(both) == len(theirs) > 100
        assert (both["value"] - both["value_own"]).abs().max() < 1e-6
