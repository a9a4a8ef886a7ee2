"""A user's CSV of a published table: read back from the kit's own format, and refused with the line and the cure."""

from __future__ import annotations

import math

import pytest

from signpost_kit.errors import DataError
from signpost_kit.tables_format import Column, Row, Score, Table
from signpost_kit.tables_published import users_rows, with_rows
from signpost_kit.tables_results import tab07, tab11, tab17, tab_dataset
from signpost_kit.tables_sensitivity import tab04, tab12, tab18


def table() -> Table:
    columns = (Column("a", "WLA", "%", 1, 1), Column("n", "Pairs", whole=True), Column("why", "Why", text_em=5))
    return Table("tabx", "", columns, (Row("m", {"a": Score(1, 0, 2), "n": Score(3)}, texts={"why": "so"}),))


def csv_frame(text: str):
    import io

    import pandas as pd

    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


def test_the_kits_own_csv_is_a_template() -> None:
    own = table()
    both = with_rows(own, csv_frame(own.to_csv()))
    assert [row.section for row in both.rows] == ["This run", "Published, other scenes"]
    first, second = both.rows
    assert (second.label, second.texts) == (first.label, first.texts) and not second.ranked
    assert (second.scores["a"], second.scores["n"]) == (first.scores["a"], first.scores["n"])
    assert with_rows(own, csv_frame("Model,WLA (%)\n")) is own


def test_heads_may_be_keys_and_cells_may_be_missing() -> None:
    both = with_rows(table(), csv_frame('model,a,N\nours,−12.5,–\ntheirs,,"1,732"\n'))
    ours, theirs = both.rows[1:]
    assert ours.scores["a"].value == -12.5 and "n" not in ours.scores
    assert "a" not in theirs.scores and theirs.scores["n"].value == 1732
    assert "1732" in both.to_html() and both.to_csv().count("Published") == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Model,WLAA (%)\nx,1\n", r"tabx.csv has the column 'WLAA \(%\)'.*did you mean 'WLA \(%\)'"),
        ("Model,a,WLA (%)\nx,1,2\n", "twice"),
        ("a\n1\n", "lacks the column 'Model'"),
        ("Model,a\n,1\n", "line 2: a row needs a name"),
        ("Model,a\nx,1\ny,much\n", "line 3: 'much' is no number for 'WLA'"),
        ("Model,a\nx,inf\n", "line 2: 'inf' is no number"),
    ],
)
def test_a_bad_file_is_named_with_line_and_cure(text: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        with_rows(table(), csv_frame(text))


def test_tab07_takes_data_sets_that_the_run_lacks(three, own_csv, rendered) -> None:
    own_csv("tab07", "Model,IM2GPS3K (%),GoogleSV (%),Macro (%)\nGPT-5,11.5,12.5,12\nGrok-4,20,21,20.5\n")
    made = tab07(three.frames["cells"], three.frames["macro"], with_published=True)
    heads = [column.head for column in made.columns]
    assert heads.index("GoogleSV") == heads.index("Macro") - 1
    frame = made.to_frame()
    row = frame[(frame["Model"] == "GPT-5") & (frame["Source"] != "This run")].iloc[0]
    assert (row["IM2GPS3K (%)"], row["GoogleSV (%)"], row["Macro (%)"]) == (11.5, 12.5, 12)
    assert math.isnan(frame[frame["Source"] == "This run"]["GoogleSV (%)"].iloc[0])
    rendered(made)


def test_every_table_takes_its_own_csv(three, own_csv, rendered) -> None:
    frames, groups = three.frames, three.groups
    own_csv("tab04", "Weight / exponent,Kendall τ,Spearman ρ\n0.30 / 0.30,0.93,0.98\n")
    own_csv("tab11", "Model,Tier,Original (WLA %),Drop (points)\nGPT-5,T1,50.5,11\nmean of 20 models,T2,47,17\n")
    own_csv("tab12", "Model,α = 0.002 (WLA %),α = 0.05 (WLA %)\nGPT-5,50,20\n")
    own_csv("tab17", "Model,Mean TDR (km),Median TDR (km),Attraction rate (%)\nGPT-5,900,−12,48\n")
    own_csv("tab18", "Data set,Model,< 50 km (%),< 1000 km (%)\nYFCC4K,GPT-5,12,30\n")
    own_csv("tab20", "Provider,Model,WLA Original (%),TBS (km)\nOpenAI,GPT-5,55.5,1200\n")
    made = [
        tab04(frames["sensitivity"], frames["sensitivity_ranks"], with_published=True),
        tab11(frames["tiers"], groups, with_published=True),
        tab12(frames["alpha"], with_published=True),
        tab17(frames["cells"], frames["macro"], with_published=True),
        tab18(frames["radius"], with_published=True),
        tab_dataset(20, frames["cells"], with_published=True),
    ]
    last = {one.id: one.rows[-1] for one in made}
    assert last["tab04"].scores["tau"].value == 0.93
    assert last["tab11"].section.endswith("mean of 20 models") and last["tab11"].scores["points"].value == 17
    assert [last["tab17"].scores[key].value for key in ("mean", "median", "rate")] == [900, -12, 48]
    assert last["tab18"].section == "Published, other scenes: YFCC4K"
    assert last["tab20"].section == "Published, other scenes: OpenAI" and last["tab20"].scores["tbs"].value == 1200
    for one in made:
        rendered(one)


def test_a_misspelt_model_or_a_fraction_is_refused(three, own_csv) -> None:
    path = own_csv("tab17", "Model,Mean TDR (km)\nGPT5,900\n")
    with pytest.raises(DataError, match="GPT-5"):
        tab17(three.frames["cells"], three.frames["macro"], with_published=True)
    path.unlink()
    assert users_rows("tab17").empty
    with_published = tab17(three.frames["cells"], three.frames["macro"], with_published=True)
    assert [row.scores["mean"].value for row in with_published.rows[-2:]] == [343, 1926]
