"""Agreement of judges and ratings of edits, by hand arithmetic; Table 16; the two commands end to end."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from signpost_kit.audits import edit_summary, tier_agreement
from signpost_kit.audits.cells import read_sheet, write_sheet
from signpost_kit.audits.filled import filled_audits
from signpost_kit.cli_audit import make_sheets, take_sheets
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.frames import VARIANTS
from signpost_kit.published import published
from signpost_kit.tables_audit import tab16, tab16_edits
from signpost_kit.tables_format import save_table


def annotations(first: str, second: str, auto: str) -> pd.DataFrame:
    tiers = {"1": "T1", "2": "T2", "3": "T3", "-": ""}
    columns = {"annotator1_tier": first, "annotator2_tier": second, "tier_auto": auto}
    return pd.DataFrame({name: [tiers[c] for c in codes] for name, codes in columns.items()})


def test_kappa_by_hand():
    # Table of annotator 1 x 2: T1T1 2, T1T2 1, T2T2 3, T3T3 3, T3T2 1: agreement 8/10;
    # by chance (3*2 + 3*5 + 4*3)/100 = .33, so kappa = (.8 - .33)/.67.
    frame = tier_agreement(annotations("1112223333", "1122223332", "1111222333"))
    row = frame.iloc[0]
    assert row["pair"] == "annotator 1 × 2" and (row["n"], row["n_missing"]) == (10, 0)
    assert row["agreement"] == pytest.approx(0.8) and row["kappa"] == pytest.approx(0.47 / 0.67)
    assert row["kappa_low"] <= row["kappa"] <= row["kappa_high"] and row["kappa_high"] <= 1
    assert list(frame["pair"])[1:] == ["annotator 1 × automatic", "annotator 2 × automatic"]


def test_the_interval_is_narrow_where_judges_always_agree_and_the_same_by_seed():
    frame = annotations("123" * 40, "123" * 40, "123" * 40)
    row = tier_agreement(frame).iloc[0]
    assert (row["kappa"], row["kappa_low"], row["kappa_high"], row["agreement_low"]) == (1, 1, 1, 1)
    mixed = annotations("123" * 40, "122" * 40, "123" * 40)
    pd.testing.assert_frame_equal(tier_agreement(mixed), tier_agreement(mixed))
    wide, narrow = (tier_agreement(pd.concat([annotations("1223", "1232", "1223")] * k)).iloc[0] for k in (10, 90))
    spread = [row["kappa_high"] - row["kappa_low"] for row in (wide, narrow)]
    assert spread[0] == pytest.approx(3 * spread[1], rel=0.25)  # as one over the root of n


def test_few_missing_and_unknown():
    frame = tier_agreement(annotations("1-2", "1-3", "123"))
    assert list(frame["n"]) == [2, 2, 2] and list(frame["n_missing"]) == [1, 1, 1]
    none = tier_agreement(annotations("--", "12", "12"))
    assert math.isnan(none.loc[0, "kappa"]) and "no item" in none.loc[0, "reason"]
    one = tier_agreement(annotations("2", "2", "2"))
    assert math.isnan(one.loc[0, "kappa"]) and one.loc[0, "agreement"] == 1 and one.loc[0, "reason"]
    with pytest.raises(DataError, match="tier_auto"):
        tier_agreement(annotations("1", "1", "1").drop(columns="tier_auto"))
    with pytest.raises(DataError, match="'X'"):
        tier_agreement(annotations("1", "1", "1").assign(tier_auto="X"))


def test_edits_by_hand():
    ratings = pd.DataFrame(
        {
            "naturalness": ["5", "4", "3", ""],
            "artefacts": ["1", "1", "1", "2"],
            "context_damage": ["2", "", "", ""],
            "readability": ["full", "full", "partial", ""],
        }
    )
    rows = edit_summary(ratings).set_index("measure")
    assert rows.loc["naturalness", ["n", "n_missing", "value", "sd"]].tolist() == [3, 1, 4.0, 1.0]
    assert rows.loc["artefacts", "sd"] == pytest.approx(0.5)
    assert math.isnan(rows.loc["context_damage", "sd"]) and math.isnan(rows.loc["context_damage", "low"])
    assert (
        rows.loc["readability full", "value"] == pytest.approx(2 / 3) and rows.loc["readability none", "value"] == 0
    )
    assert edit_summary(ratings.iloc[:0])["value"].isna().all()


def test_table_16_with_and_without_sheets(tmp_path):
    facts = published("signpost/aggregate_facts")
    empty = tab16(None, facts=facts)
    assert "signpost audit sheets" in empty.note and len(empty.rows) == 1
    assert empty.rows[0].scores["kappa"].value == 0.747 and empty.rows[0].scores["n"].value == 350
    table = tab16(tier_agreement(annotations("1112223333", "1122223332", "1111222333")), facts=facts)
    assert [row.section for row in table.rows] == ["This run"] * 3 + ["Published, other scenes"]
    assert table.to_frame()["Agreement (%)"][0] == pytest.approx(80)
    saved = save_table(table, tmp_path)
    assert "annotator 1 × automatic" in saved.html.read_text(encoding="utf-8")
    edits = tab16_edits(None, facts=facts)
    assert "No filled sheet" in edits.note
    assert [row.scores.get("mean") and row.scores["mean"].value for row in edits.rows] == [4.0, 1.32, 1.14, None]
    assert tab16(None).rows == () and save_table(tab16(None), tmp_path).csv.is_file()


def drawn_run(folder: Path) -> Any:
    """Two drawn scenes with tiers; the Original stands for every variant."""
    from signpost_kit.benchmark import town
    from signpost_kit.taxonomy import classify_group

    drawn = town.build(2, 3, out_dir=folder / "benchmark")
    texts = {"similar": "a", "random": "b", "adversarial": "c"}
    groups = []
    for group in drawn.groups:
        spans = tuple(replace(span, replacements=texts) for span in group.spans)
        images = dict.fromkeys(VARIANTS, group.images["Original"])
        groups.append(classify_group(replace(group, spans=spans, images=images)))
    benchmark = drawn.with_groups(groups)
    profile = SimpleNamespace(name="drawn")
    return SimpleNamespace(dir=folder, profile=profile, ensure=lambda _: None, benchmark=lambda: benchmark)


def test_from_sheets_to_the_table(tmp_path):
    run = drawn_run(tmp_path / "run")
    said: list[str] = []
    with pytest.raises(ConfigError, match="--tiers needs 3 numbers"):
        make_sheets(run, quotas=[1, 2], say=said.append)
    files = make_sheets(run, quotas=[1, 1, 2], edits=3, say=said.append)
    assert [f.name for f in files] == [
        *("annotator1.csv", "annotator2.csv", "annotator1.html", "annotator2.html"),
        *("annotator1.csv", "annotator1.html"),
    ]
    answers = {"tier": "T3", "naturalness": "4", "artefacts": "1", "context_damage": "1", "readability": "full"}
    filled = []
    for i, path in enumerate(f for f in files if f.suffix == ".csv"):
        rows = [{**row, **{k: v for k, v in answers.items() if k in row}} for _, row in read_sheet(path)]
        filled.append(tmp_path / f"{i}.csv")
        write_sheet(filled[-1], list(rows[0]), rows)
    assert len(take_sheets(run, filled, say=said.append)) == 2
    assert any(line.startswith("annotator 1 × 2: 100.0 %") for line in said)
    assert any(line.startswith("naturalness: 4.00 ± 0.00") for line in said)
    found = filled_audits(run.dir)
    assert found.tiers is not None and found.tiers_from == "audits/taxonomy_annotations.csv"
    assert set(found.tiers["tier_auto"]) <= {"T1", "T2", "T3"}


def test_human_tiers_of_a_release_are_found(tmp_path):
    path = tmp_path / "release" / "taxonomy_annotations.csv"
    path.parent.mkdir()
    path.write_text("image,annotator1_tier,annotator2_tier,tier_auto\na,T1,T1,T2\n", encoding="utf-8-sig")
    found = filled_audits(tmp_path)
    assert (
        found.tiers is not None and found.tiers_from == "release/taxonomy_annotations.csv" and found.edits is None
    )
    path.write_text("annotator1_tier,tier_auto\nT1,T2\n")
    with pytest.raises(DataError, match="annotator2_tier"):
        filled_audits(tmp_path)
    assert filled_audits(tmp_path / "absent").tiers is None
