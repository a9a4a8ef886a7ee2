"""Tables: golden text of each format, best and worst, missing values, escaping."""

from __future__ import annotations

import csv
import io
import math
import re

import numpy as np
import pandas as pd
import pytest

from signpost_kit.errors import ConfigError
from signpost_kit.tables import Column, Row, Score, Table, save_table, tab01, tab08, tab13

NAN = math.nan
COLUMNS = (Column("a", "WLA", "%", 1, 1), Column("b", "TBS", "km", 0, -1))


def small() -> Table:
    rows = (
        Row("good", {"a": Score(47.14, 44.0, 50.2, 1.0), "b": Score(-0.2, NAN, NAN, 1.0)}, "X", 1.0),
        Row("b_d & co", {"a": Score(30.0, 28.04, 31.0, 0.93), "b": Score(1577.4, 1200, 1900, 1.0)}, "X", 1.0),
        Row("[none]", {"a": Score(), "b": Score()}, "Y", 0.0),
    )
    return Table("t1", "50 % & more", COLUMNS, rows, section_head="Who")


def test_latex_is_booktabs_escaped_and_exact() -> None:
    # Written by hand after the booktabs manual: rules without \cline, one \midrule between sections.
    assert small().to_latex().splitlines()[1:] == [
        r"\begin{table*}[t]",
        r"\centering\small",
        r"\caption{50 \% \& more}",
        r"\label{tab:t1}",
        r"\begin{tabular}{llrrr}",
        r"\toprule",
        r"Who & Model & WLA (\%) $\uparrow$ & TBS (km) $\downarrow$ & Coverage \\",
        r"\midrule",
        r"X & good & \textbf{47.1 {\scriptsize[44.0, 50.2]}} & \textbf{0} & 100\,\% \\",
        r" & b\_d \& co & \underline{30.0 {\scriptsize[28.0, 31.0]} (93\,\%)} & "
        r"\underline{1577 {\scriptsize[1200, 1900]}} & 100\,\% \\",
        r"\midrule",
        r"Y & {}[none] & -- & -- & 0\,\% \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table*}",
    ]


def test_csv_keeps_numbers_and_leaves_missing_empty() -> None:
    rows = list(csv.DictReader(io.StringIO(small().to_csv())))
    assert rows[0]["WLA (%)"] == "47.14" and rows[0]["WLA low"] == "44.0" and rows[1]["WLA coverage"] == "0.93"
    assert rows[2]["WLA (%)"] == "" and rows[2]["TBS (km)"] == "" and rows[2]["coverage"] == "0.0"
    assert rows[0]["TBS low"] == "" and rows[1]["Model"] == "b_d & co"


def text_of(html: str) -> list[list[str]]:
    cells = [
        re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
        for row in re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    ]
    return [[re.sub(r"<[^>]+>", "", cell) for cell in row] for row in cells]


def test_html_prints_interval_and_own_coverage() -> None:
    rows = text_of(small().to_html())
    assert rows[0] == ["Who", "Model", "WLA (%) ↑", "TBS (km) ↓", "Coverage"]
    assert rows[1] == ["X", "good", "47.1 [44.0, 50.2]", "0", "100 %"]
    assert rows[2] == ["", "b_d &amp; co", "30.0 [28.0, 31.0] (93 %)", "1577 [1200, 1900]", "100 %"]
    assert rows[3] == ["Y", "[none]", "–", "–", "0 %"]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&b", "名前"])
def test_names_are_escaped_wherever_they_stand(name: str) -> None:
    table = Table("x", name, (Column("a", name),), (Row(name, {"a": Score(1.0)}, name),), name, name, name)
    html = table.to_html()
    assert "<script" not in html and "<img" not in html
    assert "a&b" not in table.to_latex()


def test_ties_share_the_mark_and_one_row_has_none() -> None:
    def marks(*values: float) -> list[str]:
        table = Table("t", "", COLUMNS[:1], tuple(Row(f"m{i}", {"a": Score(v)}) for i, v in enumerate(values)))
        body = table.to_latex().split(r"\midrule")[1].splitlines()[1:-3]
        return ["b" if "textbf" in line else "u" if "underline" in line else "" for line in body]

    assert marks(50.01, 50.04, 40.0, 45.0) == ["b", "b", "u", ""]
    assert marks(50.0) == [""] and marks(50.0, 50.0) == ["", ""] and marks(NAN, 3.0, 4.0) == ["", "u", "b"]


def test_tab01_has_every_model_with_its_numbers(frames) -> None:
    macro = frames(["reader", "looker"])["macro"]
    frame = tab01(macro).to_frame().set_index("Model")
    for variant in ("Original", "Adversarial"):
        rows = macro[(macro["metric"] == "wla") & (macro["variant"] == variant)].set_index("model")
        assert frame[f"WLA {variant} (%)"].to_dict() == pytest.approx((rows["value"] * 100).to_dict(), abs=1e-5)
        assert frame[f"WLA {variant} high"].to_dict() == pytest.approx((rows["high"] * 100).to_dict(), abs=1e-5)
    tbs = macro[(macro["metric"] == "tbs_km") & (macro["variant"] == "Adversarial")].set_index("model")["value"]
    assert frame["TBS (km)"].to_dict() == pytest.approx(tbs.to_dict(), abs=1e-5)
    assert (frame["coverage"] == 0.95).all()
    mcrs = macro[macro["metric"] == "mcrs"].set_index("model")["value"]
    assert frame["MCRS"].to_dict() == pytest.approx(mcrs.to_dict(), abs=1e-5)


def test_tab08_changes_are_adversarial_minus_original(frames) -> None:
    parts = frames(["reader", "looker"], ("A", "B"))
    frame = tab08(parts["cells"], parts["macro"]).to_frame()
    assert frame["Change"].to_numpy() == pytest.approx(
        (frame["Adversarial"] - frame["Original"]).to_numpy(), abs=1e-5
    )
    assert frame["Change (%)"].to_numpy() == pytest.approx(
        (100 * frame["Change"] / frame["Original"]).to_numpy(), abs=1e-3
    )
    cells = parts["cells"]
    here = cells[(cells["metric"] == "wla") & (cells["variant"] == "Original") & (cells["dataset"] == "A")]
    mean = frame[(frame["Part"] == "WLA by data set") & (frame["Measure"] == "A")]["Original"].item()
    assert mean == pytest.approx(100 * here["value"].mean(), abs=1e-5)
    one = tab08(*(p[p["model"] == "reader"] for p in (cells, parts["macro"])))
    assert one.rows[0].section == "The model" and math.isfinite(one.rows[0].scores["original"].low)


def test_tab13_ranks_and_keeps_the_study_apart(frames) -> None:
    macro = frames(["a", "b", "c"])["macro"]
    macro.loc[(macro["model"] == "b") & (macro["metric"] == "mcrs"), "value"] = np.nan
    study = pd.DataFrame(
        {"rank": [1], "model": ["Study"], "mcrs": [72.7], "capability_pct": [56.58], "robustness_pct": [85.93]}
    )
    frame = tab13(macro, published=study).to_frame()
    mine = frame[frame["Source"] == "This run"]
    assert mine["MCRS"].dropna().is_monotonic_decreasing
    assert mine["Model"].iloc[-1] == "b" and pd.isna(mine["Rank"].iloc[-1])
    assert mine["Rank"].iloc[:2].tolist() == [1, 2]
    last = frame.iloc[-1]
    assert (last["Model"], last["Rank"], last["C (%)"], last["R (%)"], last["MCRS"]) == (
        "Study",
        1,
        56.58,
        85.93,
        72.7,
    )
    assert "Source" not in tab13(macro).to_frame()


@pytest.mark.parametrize("make", [tab01, tab13, lambda f: tab08(f, f)])
def test_thin_frames_give_a_table(frames, make) -> None:
    macro = frames(["reader"])["macro"]
    for frame in (macro.iloc[:0], macro[macro["metric"] == "tfr"], macro.assign(value=np.nan)):
        table = make(frame)
        assert table.to_html().count("<table") == 1 and r"\toprule" in table.to_latex()
        assert "nan" not in (table.to_html() + table.to_latex() + table.to_csv()).lower()


def test_saving_writes_three_files_or_names_the_id(frames, toy_run) -> None:
    saved = save_table(tab01(frames(["reader"])["macro"]), toy_run)
    assert sorted(p.name for p in toy_run.tables_dir.iterdir()) == ["tab01.csv", "tab01.html", "tab01.tex"]
    assert saved._repr_html_() == saved.html.read_text(encoding="utf-8")
    again = save_table(tab01(frames(["reader"])["macro"]), toy_run.dir / "again")
    assert again.html.read_bytes() == saved.html.read_bytes()
    with pytest.raises(ConfigError, match="a/b"):
        save_table(Table("a/b", "", (), ()), toy_run)
