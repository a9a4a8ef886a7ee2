"""Figures 4, 18, 19 and tables 9, 14, 15: what is drawn and printed is what the frames say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from signpost_kit.benchmark.groups import Benchmark, Group, Span, Trap
from signpost_kit.errors import DataError
from signpost_kit.figures.evidence import case_frame, choose_case
from signpost_kit.figures.print_check import print_faults
from signpost_kit.figures.probing import fig04, fig18, fig19
from signpost_kit.figures.style import save
from signpost_kit.geo import haversine_km
from signpost_kit.metrics.tasks import TASK_COLUMNS
from signpost_kit.published_frames import published_frames
from signpost_kit.tables_tasks import tab09, tab14, tab15

NAN = float("nan")


def frame_of(models: list[str], datasets: tuple[str, ...] = ("D", "E")) -> pd.DataFrame:
    """A frame `tasks` with plausible numbers."""
    rng = np.random.default_rng(7)
    scores = {
        "coordinate": [("wla", "Adversarial"), ("tfr", "Adversarial")],
        "probing": [
            ("wla", "Adversarial"),
            ("cda", "Adversarial"),
            ("conflict_said", "Original"),
            ("rcs", "Adversarial"),
        ],
        "consistency": [("conflict_recall", "Adversarial"), ("accuracy", ""), ("f1", "")],
        "country": [("text_dominance", ""), ("region_text", "Adversarial")],
        "language": [("text_found", "Original")],
    }
    scores["defense"] = scores["probing"]
    rows = []
    for model in models:
        for dataset in (*datasets, "macro"):
            for task, wanted in scores.items():
                for metric, variant in wanted:
                    x = float(rng.uniform(0.1, 0.9))
                    for reading in ("answered_only", "as_failures"):
                        v = x if reading == "answered_only" else x / 2
                        rows.append(
                            (model, dataset, metric, variant, "", v, v - 0.05, v + 0.05, 20, 18, 0.9, reading, task)
                        )
    return pd.DataFrame(rows, columns=list(TASK_COLUMNS))


def drawn(ax: Any, gid: str) -> dict[float, float]:
    """y -> x of the points with one id."""
    lines = [line for line in ax.lines if line.get_gid() == gid]
    return {round(float(y), 3): float(x) for line in lines for x, y in zip(*line.get_data(), strict=True)}


def of(
    frame: pd.DataFrame,
    model: str,
    task: str,
    metric: str,
    *,
    column: str = "value",
    reading: str = "answered_only",
) -> float:
    keep = {"model": model, "task": task, "metric": metric, "dataset": "macro", "reading": reading}
    return 100 * float(frame.loc[np.logical_and.reduce([frame[k] == v for k, v in keep.items()]), column].iloc[0])


# -- figure 4 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", ["answered_only", "as_failures"])
def test_fig04_draws_the_frame(reading: str) -> None:
    frame = frame_of(["a", "b", "c"])
    lost = (frame["model"] == "b") & (frame["metric"] == "cda") & (frame["task"] == "probing")
    frame.loc[lost, ["value", "low", "high"]] = NAN
    left, right = fig04(frame, reading=reading).axes
    models = [label.get_text() for label in left.get_yticklabels()]
    assert sorted(models) == ["a", "b", "c"]
    wla = [of(frame, m, "probing", "wla", reading=reading) for m in models]
    assert wla == sorted(wla, reverse=True)
    for shift, task in ((-0.27, "coordinate"), (0.0, "probing"), (0.27, "defense")):
        expected = {round(i + shift, 3): of(frame, m, task, "wla", reading=reading) for i, m in enumerate(models)}
        assert drawn(left, task) == pytest.approx(expected)
        if task != "coordinate":
            seen = {round(i + shift, 3): of(frame, m, task, "cda", reading=reading) for i, m in enumerate(models)}
            assert drawn(right, task) == pytest.approx({y: x for y, x in seen.items() if np.isfinite(x)})
            said = {
                round(i + shift, 3): of(frame, m, task, "conflict_said", reading=reading)
                for i, m in enumerate(models)
            }
            assert drawn(right, f"said-{task}") == pytest.approx(said)
    assert len(drawn(right, "probing")) == 2  # the missing one is not at 0
    bars = [part for part in left.collections if part.get_gid() == "interval"]
    ends = {round(float(s[0][1]), 3): (s[0][0], s[1][0]) for bar in bars for s in bar.get_segments()}
    y = round(float(models.index("c")), 3)
    low, high = (of(frame, "c", "probing", "wla", column=column, reading=reading) for column in ("low", "high"))
    assert ends[y] == pytest.approx((low, high))


def test_fig04_with_published_models_below() -> None:
    published = published_frames()["tasks"]
    figure = fig04(frame_of(["a", "b"]), published=published)
    left, right = figure.axes
    labels = dict(zip([t.get_text() for t in left.get_yticklabels()], left.get_yticks(), strict=True))
    assert {"a", "b", "Gemini-2.5-Flash", "GPT-4o-mini", "Published, other scenes"} == set(labels)
    y = labels["Gemini-2.5-Flash"]
    assert drawn(left, "probing")[round(y, 3)] == pytest.approx(38.28)  # section 6
    assert drawn(right, "probing")[round(y, 3)] == pytest.approx(14.2)
    assert drawn(right, "defense")[round(y + 0.27, 3)] == pytest.approx(49.0)
    assert print_faults(figure) == []
    assert print_faults(fig04(pd.DataFrame(), published=published)) == []


@pytest.mark.parametrize("n", [1, 5, 20])
def test_fig04_fits_print(n: int) -> None:
    assert print_faults(fig04(frame_of([f"A-Long-Model-Name-{i}-Thinking" for i in range(n)]))) == []


def said(figure: Any) -> str:
    return " ".join(text.get_text().replace("\n", " ") for ax in figure.axes for text in ax.texts)


def test_fig04_says_why_it_is_empty(tmp_path: Path) -> None:
    full = frame_of(["a"])
    failed = full.assign(value=NAN, low=NAN, high=NAN)
    cases = {
        "was asked in this run": [pd.DataFrame(), full.iloc[:0], full.loc[full["task"] == "country"]],
        "has a position": [failed],
        "there is a conflict": [failed, full.loc[full["metric"] == "wla"]],
    }
    for words, frames in cases.items():
        for number, frame in enumerate(frames):
            figure = fig04(frame)
            assert words in said(figure)
            save(figure, tmp_path, f"f{number}")


# -- figures 18 and 19 -------------------------------------------------------------------------------------------


@pytest.fixture
def benchmark_of_two(tmp_path: Path) -> Benchmark:
    for variant in ("Original", "Adversarial"):
        (tmp_path / variant).mkdir()
        for name in "ab":
            Image.new("RGB", (160, 100), "#4477aa").save(tmp_path / variant / f"{name}.png")
    span = Span(
        "BEKINS",
        ((20, 20), (80, 20), (80, 40), (20, 40)),
        replacements={"adversarial": "Bondi Removals"},
        tier="T3",
    )
    images = [{v: f"{v}/{name}.png" for v in ("Original", "Adversarial")} for name in "ab"]
    trap = Trap(-33.89, 151.27, "Bondi, Sydney")
    groups = (
        Group("a", "D", 38.8, -77.3, city="Fairfax", country="US", spans=(span,), trap=trap, images=images[0]),
        Group("b", "D", 38.8, -77.3, images=images[1]),
    )
    return Benchmark("x", groups, tmp_path)


def answers(task: str, *rows: dict[str, Any]) -> pd.DataFrame:
    names = ("visual_evidence", "visual_region", "textual_evidence", "textual_region", "consistent",
             "consistency_explanation", "trusted_source", "trust_explanation")  # fmt: skip
    fields = dict.fromkeys(names if task == "probing" else ("visual", "text", "conflict", "trusted", "final"), "")
    plain = {"model": "m", "dataset": "D", "variant": "Adversarial", "sample": 0, "status": "ok"} | fields
    return pd.DataFrame([plain | row for row in rows])


SYDNEY, VIRGINIA = {"lat": -33.9, "lon": 151.2}, {"lat": 38.9, "lon": -77.0}


@pytest.fixture
def asked() -> tuple[pd.DataFrame, pd.DataFrame]:
    probing = answers(
        "probing",
        {"group_id": "a", "trusted_source": "Textual", "consistent": "yes", "visual_evidence": "pickup trucks"}
        | SYDNEY,
        {"group_id": "b", "trusted_source": "Visual", "lat": -38.8, "lon": 102.7},
        {"group_id": "b", "trusted_source": "Textual", "model": "z", "variant": "Original", **SYDNEY},
    )
    defense = answers(
        "defense",
        {"group_id": "a", "trusted": "Visual", "conflict": "yes"} | VIRGINIA,
        {"group_id": "b", "trusted": "Visual"} | VIRGINIA,
    )
    return probing, defense


def test_the_case_is_where_the_warning_turned_trust_from_text_to_sights(asked, benchmark_of_two) -> None:
    # b gained more kilometres, but there the sights were trusted both times
    assert choose_case(*asked, benchmark_of_two) == ("m", "a")
    assert choose_case(*asked, benchmark_of_two, group_id="b") == ("m", "b")
    with pytest.raises(DataError, match=r"no model 'x'.*m"):
        choose_case(*asked, benchmark_of_two, model="x")
    assert choose_case(asked[0].iloc[:0], pd.DataFrame(), benchmark_of_two) == ("", "")
    assert choose_case(asked[0], asked[1].iloc[:0], benchmark_of_two) == ("m", "a")


def test_case_frame_and_the_map_hold_what_was_answered(asked, benchmark_of_two) -> None:
    case = case_frame(*asked, benchmark_of_two, "m", "a").set_index("task", drop=False)
    assert case.loc["probing", "text"] == "Bondi Removals" and case.loc["probing", "text_original"] == "BEKINS"
    assert case.loc["defense", ["judgement", "trusted"]].tolist() == ["yes", "Visual"]
    assert case.loc["probing", "trap_km"] == pytest.approx(haversine_km(-33.9, 151.2, -33.89, 151.27))
    figure = fig19(case)
    world = next(ax for ax in figure.axes if any(line.get_gid() == "truth" for line in ax.lines))
    marks = {
        line.get_gid(): np.ravel(line.get_data()) for line in world.lines if line.get_gid() not in (None, "arc")
    }
    for gid, (lon, lat) in {"truth": (-77.3, 38.8), "trap": (151.27, -33.89), "probing": (151.2, -33.9)}.items():
        assert np.cos(np.radians(marks[gid][0] - lon)) == pytest.approx(1) and marks[gid][1] == pytest.approx(lat)
    words = said(figure)
    assert "pickup trucks" in words and "not stated" in words and "km from the sign's place" in words
    assert print_faults(figure) == [] and print_faults(fig18(case)) == []


def test_cases_with_parts_missing(asked, benchmark_of_two, tmp_path: Path) -> None:
    probing, defense = asked
    lost = defense.assign(status="out_of_range", lat=NAN, lon=NAN)
    for number, (case, words) in enumerate(
        [
            (case_frame(probing, lost, benchmark_of_two, "m", "a"), "no position (out of range)"),
            (case_frame(probing, defense.iloc[:0], benchmark_of_two, "m", "a"), "not asked about this picture"),
            (case_frame(probing, defense, benchmark_of_two, "m", "b"), "km from the truth"),  # no sign, no trap
            (case_frame(probing, defense, benchmark_of_two, "", ""), "No case to show"),
        ]
    ):
        figure = fig19(case)
        assert words in said(figure)
        assert print_faults(figure) == []
        save(figure, tmp_path, f"case{number}")
        save(fig18(case), tmp_path, f"pictures{number}")
    with pytest.raises(DataError, match="no group 'q'"):
        case_frame(probing, defense, benchmark_of_two, "m", "q")


@pytest.mark.parametrize(
    "words", ["很长的中文说明文字 " * 40, "Supercalifragilistic" * 20, "because it is so " * 60]
)
def test_long_statements_stay_inside_their_card(words: str, asked, benchmark_of_two) -> None:
    case = case_frame(*asked, benchmark_of_two, "m", "a").assign(
        visual=words, textual=words, judgement_why=words, trusted_why=words
    )
    figure = fig19(case)
    assert print_faults(figure) == []
    for ax in figure.axes:
        frame = ax.get_window_extent()
        for text in (t for t in ax.texts if t.get_gid() == "said"):
            box = text.get_window_extent()
            assert box.x1 <= frame.x1 and box.y0 >= frame.y0, text.get_text()[:30]


# -- tables ------------------------------------------------------------------------------------------------------


def test_tab09_prints_the_frame() -> None:
    frame = frame_of(["a", "b"])
    table = tab09(frame)
    assert {row.section for row in table.rows} == {"Plain question", "Probing", "Defense"}
    for row in table.rows:
        task = {"Plain question": "coordinate"}.get(row.section, row.section.lower())
        assert row.scores["wla"].value == pytest.approx(of(frame, row.label, task, "wla"))
        assert row.coverage == pytest.approx(0.9)
    probing = next(row for row in table.rows if (row.section, row.label) == ("Probing", "a"))
    assert probing.scores["cda"].low == pytest.approx(of(frame, "a", "probing", "cda", column="low"))
    assert np.isnan(probing.scores["csg"].value)  # not in the frame: a dash, not 0
    other = {(row.section, row.label): row.scores["wla"].value for row in tab09(frame, reading="as_failures").rows}
    assert other == pytest.approx({(row.section, row.label): row.scores["wla"].value / 2 for row in table.rows})


def test_published_rows_stand_below_and_do_not_compete() -> None:
    rows = [row for row in tab09(frame_of(["a"]), with_published=True).rows if row.section.startswith("Published")]
    by_label = {row.label: row for row in rows}
    assert by_label["Gemini-2.5-Flash, probing"].scores["wla"].value == pytest.approx(38.28)
    assert by_label["GPT-4o-mini, defense"].scores["cda"].value == pytest.approx(19.3)
    assert not any(row.ranked for row in rows)
    rows = [row for row in tab15(frame_of(["a"]), with_published=True).rows if row.section.startswith("Published")]
    assert {row.label: round(row.scores["dominance"].value, 1) for row in rows} == {
        "Gemini-2.5-Flash": 37.7,
        "GPT-4o-mini": 56.8,
    }


def test_tables_by_data_set_have_a_mean_only_of_several() -> None:
    for make in (tab14, tab15):
        assert [row.label for row in make(frame_of(["a"])).rows] == ["D", "E", "Mean"]
        assert [row.label for row in make(frame_of(["a"], ("D",))).rows] == ["D"]
    frame = frame_of(["a"])
    row = tab15(frame).rows[-1]
    assert row.scores["recall"].value == pytest.approx(of(frame, "a", "consistency", "conflict_recall"))
    assert row.scores["region_text"].value == pytest.approx(of(frame, "a", "country", "region_text"))
    p = tab14(frame).rows[-1].scores
    assert p["cda_p"].value == pytest.approx(of(frame, "a", "probing", "cda"))
    assert p["cda_d"].value == pytest.approx(of(frame, "a", "defense", "cda"))


def test_tables_of_nothing_say_so_in_every_format() -> None:
    for make in (tab09, tab14, tab15):
        for frame in (pd.DataFrame(), frame_of(["a"]).iloc[:0]):
            table = make(frame)
            assert not table.rows and "asked in this run" in table.note
            assert table.to_csv() and "No rows" in table.to_html() and table.to_latex()
            assert make(frame, with_published=True).to_html()
    only_plain = tab09(frame_of(["a"]).query("task == 'coordinate'"))
    assert "Neither probing nor defense" in only_plain.note
