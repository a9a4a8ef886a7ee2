"""Diversity of the replacement texts: counted by hand, warned of, drawn, printed; and the stage that saves it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from signpost_kit.benchmark.groups import Group, Span
from signpost_kit.figures import save
from signpost_kit.figures.diversity import fig_diversity
from signpost_kit.geocoding import default_gazetteer
from signpost_kit.replacements.diversity import diversity_summary, repeat_warning, replacement_texts
from signpost_kit.run import open_run
from signpost_kit.tables import save_table
from signpost_kit.tables_diversity import diversity_table

LYON = Group("g", "d", 45.76, 4.85, country="FR")


def group(number: int, *adversarial: str) -> Group:
    spans = tuple(
        Span(
            "Rue Pasteur" if i == 0 else "Tabac",
            replacements={"similar": "Rue Haute", "random": "雨伞", "adversarial": text},
            tier="T3" if i == 0 else "T2",
        )
        for i, text in enumerate(adversarial)
    )
    return replace(LYON, group_id=f"g{number}", spans=spans)


def many(repeated: int, others: tuple[str, ...] = ("Osaka", "Nairobi", "Chicago", "Toronto")) -> pd.DataFrame:
    names = ["Rue de Lima"] * repeated + [f"Rue {name}" for name in others]
    return replacement_texts([group(i, name) for i, name in enumerate(names)])


def test_one_row_per_text_with_what_it_names():
    texts = replacement_texts(
        [group(1, "Rue de Lima", "Kiosk")],
        writer="m",
        places={"g1": (None, default_gazetteer().locate("Nairobi, Kenya"))},
    )
    assert list(texts["kind"]) == ["similar", "random", "adversarial"] * 2
    far, kiosk = texts.iloc[2], texts.iloc[5]
    assert (far["name"], far["country"], far["continent"], far["found_by"]) == ("Lima", "PE", "SA", "gazetteer")
    assert (kiosk["name"], kiosk["found_by"], kiosk["representative"]) == ("Nairobi", "writer", False)
    assert texts.iloc[0]["name"] == "" and set(texts["writer"]) == {"m"}
    # "Rue Haute" and "Rue Pasteur" in em: 8 and 10 letters of 0.58, a blank of 0.32 each.
    assert texts.iloc[0]["width_ratio"] == pytest.approx((8 * 0.58 + 0.32) / (10 * 0.58 + 0.32))
    assert list(texts.iloc[1][["script", "original_script", "length"]]) == ["Han", "Latin", 2]


def test_the_summary_counts_one_text_per_picture():
    summary = diversity_summary(many(4), top=1)
    targets = summary[summary["part"] == "targets"]
    assert list(zip(targets["label"], targets["texts"], targets["share"], strict=True)) == [
        ("Lima, PE", 4, 0.5),
        ("all others", 4, 0.5),
    ]
    continents = summary[summary["part"] == "continents"].set_index("label")["texts"]
    assert dict(continents) == {
        "Africa": 1,
        "Asia": 1,
        "Europe": 0,
        "North America": 2,
        "Oceania": 0,
        "South America": 4,
    }
    scripts = summary[(summary["part"] == "scripts") & (summary["kind"] == "random")]
    assert list(scripts["label"]) == ["Han"] and list(scripts["texts"]) == [8]
    two = diversity_summary(replacement_texts([group(1, "Rue de Lima", "Rue de Chicago")]))
    assert list(two.loc[two["part"] == "targets", "label"]) == ["Lima, PE"]
    unknown = diversity_summary(replacement_texts([group(1, "Rue de Lima"), group(2, "Rue Zzyzxq")]))
    assert list(unknown.loc[unknown["part"] == "targets", "label"]) == ["Lima, PE", ""]
    assert set(unknown.loc[unknown["part"] == "targets", "coverage"]) == {0.5}


def test_a_warning_when_a_target_repeats():
    assert "Lima, PE is the target of 4 of 8 pictures (50%)" in repeat_warning(many(4))
    assert repeat_warning(many(2)) == ""  # two pictures say nothing
    assert repeat_warning(many(3), most=0.5) == ""
    assert "no adversarial text names a place" in repeat_warning(many(0, ("Zzyzxq",)))
    assert repeat_warning(replacement_texts([])) == ""


def test_a_table_read_back_from_a_file_gives_the_same(tmp_path):
    texts = many(4, ("Zzyzxq",))
    texts.to_csv(tmp_path / "t.csv", index=False)
    read = pd.read_csv(tmp_path / "t.csv", keep_default_na=False, na_values=[""])
    pd.testing.assert_frame_equal(diversity_summary(read), diversity_summary(texts))
    nothing = replacement_texts([group(1, "Rue Zzyzxq")])
    nothing.to_csv(tmp_path / "t.csv", index=False)
    read = pd.read_csv(tmp_path / "t.csv", keep_default_na=False, na_values=[""])
    assert diversity_summary(read).equals(diversity_summary(nothing))


def test_table_and_figure(tmp_path):
    texts = many(4)
    texts.loc[texts["name"] == "Osaka", "name"] = "<script>Osaka</script>"
    warning = repeat_warning(texts)
    table = diversity_table(diversity_summary(texts), warning=warning)
    html = table.to_html()
    assert "<script>" not in html and "&lt;script&gt;" in html and "Lima, PE is the target of 4 of 8" in html
    frame = pd.read_csv(save_table(table, tmp_path).csv)
    first = frame.iloc[0]
    assert (first["What"], first["Texts"], first["Share (%)"]) == ("Lima, PE", 4, 50.0)
    assert "Median" in table.to_latex()
    figure = fig_diversity(diversity_summary(texts), warning=warning)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[0] == "Targets of the adversarial texts" and len(titles) == 4
    bars = figure.axes[0].patches
    assert bars[0].get_width() == pytest.approx(50.0) and bars[0].get_facecolor() != bars[1].get_facecolor()
    assert save(figure, tmp_path, "diversity").png.stat().st_size > 10_000
    empty = diversity_summary(texts.iloc[:0])
    assert "run the stage" in fig_diversity(empty).axes[0].texts[0].get_text().replace("\n", " ")
    assert diversity_table(empty).rows == ()


@pytest.mark.parametrize("spans", ["screened", "model"])
def test_the_stage_with_the_offline_writer(tmp_path, spans):
    sets = ["replacements.kind=generate", "replacements.model=writer", f"replacements.spans={spans}", "source.n=4"]
    run = open_run("tiny", str(tmp_path / "run"), sets=sets)
    run.ensure("replacements")
    record = run.stage_record("replacements")
    assert record["counts"]["model"] == "writer" and record["counts"]["groups"] >= 3
    assert record["counts"]["asked"] >= 4 and (run.dir / "replacements.sqlite").is_file()
    texts = run.table("replacements")
    assert set(texts["writer"]) == {"writer"} and len(texts) == 3 * len(texts.drop_duplicates(["group_id", "span"]))
    assert all(group.spans[0].polygon for group in run.benchmark().groups)
    run.forget(["replacements"])
    run.ensure("replacements")
    again = run.stage_record("replacements")["counts"]
    assert again["asked"] == 0 and again["reused"] == record["counts"]["asked"]


def test_the_stage_stays_offline_by_default_and_its_notebooks_run_on_defaults(tmp_path):
    run = open_run("tiny", str(tmp_path / "run"), sets=["source.n=4"])
    run.ensure("replacements")
    counts = run.stage_record("replacements")["counts"]
    assert counts == {"groups": 4, "rejected": 0} and not (run.dir / "replacements.sqlite").exists()
    project = Path(__file__).resolve().parents[2]
    for path in ("figures/diversity.ipynb", "tables/tab_diversity.ipynb", "stages/04_replacements.ipynb"):
        notebook = json.loads((project / "notebooks" / path).read_text(encoding="utf-8"))
        code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        names = {"profile": "tiny", "run_dir": str(tmp_path / "run"), "top": 10, "display": print}
        for cell in code[1:]:
            exec(
                compile(
                    cell.replace("open_run(profile, run_dir)", "open_run(profile, run_dir, sets=['source.n=4'])"),
                    path,
                    "exec",
                ),
                names,
            )
    assert (run.figures_dir / "diversity.png").is_file() and (run.tables_dir / "tab_diversity.csv").is_file()
