"""Table 19: the rule that chooses cases, and what is told of each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from signpost_kit.benchmark.groups import Benchmark, Group, Span, Trap
from signpost_kit.tables_cases import redirected_cases, tab19


def answers(rows: list[tuple[str, str, float, float, float]]) -> pd.DataFrame:
    """Scores of (model, group, error on Blank, trap distance on Blank, trap distance on Adversarial)."""
    out = []
    for model, group, error, before, after in rows:
        for variant, error_km, trap_km in (
            ("Original", 5.0, before),
            ("Blank", error, before),
            ("Adversarial", 9e3, after),
        ):
            out.append(
                {
                    "model": model,
                    "dataset": "d",
                    "group_id": group,
                    "variant": variant,
                    "lat": 1.0,
                    "lon": -2.0,
                    "status": "ok",
                    "error_km": error_km,
                    "wla": 0.5,
                    "trap_km": trap_km,
                }
            )
    return pd.DataFrame(out)


def test_the_rule_by_hand() -> None:
    scores = answers(
        [
            ("a", "far", 900.0, 9000.0, 10.0),  # at the trap, did not know the region
            ("a", "known", 100.0, 3000.0, 10.0),  # knew the region, at the trap
            ("a", "best", 199.0, 5000.0, 49.0),  # the same, drawn further
            ("a", "near", 1.0, 8000.0, 60.0),  # only nearer
            ("a", "away", 1.0, 100.0, 200.0),  # driven off
            ("a", "none", 1.0, np.nan, np.nan),  # no trap
        ]
    )
    cases = redirected_cases(scores)
    assert cases["group_id"].tolist() == ["best", "known", "far", "near"]
    assert cases["grade"].tolist() == [1, 1, 2, 3]
    assert cases["reduction_km"].tolist() == [4951, 2990, 8990, 7940]
    assert redirected_cases(scores, n=1)["group_id"].tolist() == ["best"]
    assert redirected_cases(scores, radius_km=49.0)["group_id"].tolist() == ["known", "far", "near", "best"]
    assert redirected_cases(scores, known_km=100.0)["grade"].tolist() == [2, 2, 2, 3]  # both limits are strict
    failed = scores.copy()
    failed.loc[(failed["group_id"] == "best") & (failed["variant"] == "Blank"), ["error_km", "trap_km"]] = np.nan
    assert "best" not in redirected_cases(failed)["group_id"].tolist()


def test_a_scene_stands_once_and_models_take_turns() -> None:
    rows = [("a", f"g{i}", 10.0, 9000.0 - i, 1.0) for i in range(6)]
    rows += [("b", f"g{i}", 10.0, 8999.5 - i, 1.0) for i in range(6)]
    rows += [("c", "g9", 10.0, 100.0, 90.0)]
    cases = redirected_cases(answers(rows), n=4)
    assert cases["group_id"].is_unique and cases["model"].value_counts().to_dict() == {"a": 2, "b": 2}
    assert redirected_cases(answers(rows), n=7)["model"].value_counts().to_dict() == {"a": 3, "b": 3, "c": 1}
    shuffled = answers(rows).sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(redirected_cases(shuffled, n=4), cases)
    assert len(redirected_cases(answers(rows[:6]), n=4)) == 4  # one model alone fills all places


def test_the_cases_of_the_study_obey_the_rule(three) -> None:
    cases = redirected_cases(three.scores, n=6)
    wide = three.scores.pivot_table(index=["model", "group_id"], columns="variant", values=["trap_km", "error_km"])
    found = wide.dropna(subset=[("trap_km", "Blank"), ("trap_km", "Adversarial")])
    reduction = found["trap_km"]["Blank"] - found["trap_km"]["Adversarial"]
    for row in cases.to_dict("records"):
        assert row["reduction_km"] == pytest.approx(reduction[row["model"], row["group_id"]])
    best = reduction[(found["trap_km"]["Adversarial"] < 50) & (found["error_km"]["Blank"] < 200)]
    if len(best):
        assert cases["reduction_km"].iloc[0] == pytest.approx(best.max())


def test_tab19_tells_truth_texts_answers_and_trap(rendered, tmp_path) -> None:
    span = Span("Rue <Cler>", replacements={"adversarial": "Nairobi & Sons"}, tier="T3")
    group = Group("known", "d", 48.86, 2.35, city="Paris", country="FR", spans=(Span("STOP", tier="T1"), span),
                  trap=Trap(-1.29, 36.82, "Nairobi"), tier="T3")  # fmt: skip
    cases = redirected_cases(answers([("a", "known", 100.0, 3000.0, 10.0)]))
    table = tab19(cases, Benchmark("b", (group,), tmp_path))
    rows = {row.label: row for row in table.rows}
    assert [row.label for row in table.rows] == ["truth", "on Original", "on Blank", "on Adversarial", "trap"]
    assert {row.section for row in table.rows} == {"1. a, d known"}
    assert rows["truth"].texts["text"] == "Paris, FR" and rows["truth"].texts["position"] == "48.86° N, 2.35° E"
    assert rows["on Original"].texts["text"] == "Rue <Cler>" and rows["on Blank"].texts["text"] == ""
    assert rows["on Adversarial"].texts == {"text": "Nairobi & Sons", "position": "1.00° N, 2.00° W"}
    assert rows["trap"].texts == {"text": "Nairobi", "position": "1.29° S, 36.82° E"}
    assert rows["truth"].scores["to_trap"].value == pytest.approx(6480, abs=15)
    assert rows["on Blank"].scores["to_truth"].value == 100 and rows["on Blank"].scores["to_trap"].value == 3000
    assert rows["on Adversarial"].scores["reduction"].value == 2990
    html = rendered(table)
    assert "Rue &lt;Cler&gt;" in html and r"Nairobi \& Sons" in table.to_latex()
    assert "Knew the region, went to the trap" in html and "200 km" in table.note


def test_no_case_says_why(rendered, tmp_path) -> None:
    group = Group("g", "d", 0.0, 0.0)
    table = tab19(redirected_cases(answers([])), Benchmark("b", (group,), tmp_path))
    assert table.rows == () and "none of its scenes has a geocoded target" in table.note
    rendered(table)
    unknown = tab19(redirected_cases(answers([("a", "gone", 1.0, 900.0, 1.0)])), Benchmark("b", (), tmp_path))
    assert len(unknown.rows) == 5
    rendered(unknown)
