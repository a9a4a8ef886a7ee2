"""Figures and tables of the second study: what is drawn is what the frame says, and next to nothing is no traceback."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from signpost_kit.figures import claims as claim_figures
from signpost_kit.figures import hints as hint_figures
from signpost_kit.figures import save
from signpost_kit.figures.style import canvas, style
from signpost_kit.metrics.hints import HINT_BANDS
from signpost_kit.metrics.verification import DECOY_BANDS
from signpost_kit.published import published
from signpost_kit.tables_context import (
    context_frame,
    image_audit_table,
    tab_chain,
    tab_checklist,
    tab_echo,
    tab_models,
    tab_ratio,
    tab_regimes,
    tab_slope,
    tab_verify,
    tab_warn,
)

EVIL = "<b>$x_1$</b> & \\evil{}"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The tiny run of the second study, made once."""
    import yaml

    from signpost_kit.run import open_run

    folder = tmp_path_factory.mktemp("faces")
    profile = {
        "source": {"kind": "town", "n": 6, "seed": 7},
        "models": ["prior"],
        "scoring": {"n_resamples": 60},
        "context": {
            "hints": {"schemas": ["forced", "forced_warn", "forced_chain"], "baseline_samples": 2},
            "claims": {"per_band": 2},
            "respondents": {
                "leans": {"reliance": 0.7, "warned": 0.2},
                "sharp": {"reliance": 0.2, "legibility": 0.8},
                "eager": {"criterion": -0.6},
            },
        },
    }
    (folder / "p.yml").write_text(yaml.safe_dump(profile))
    made = open_run(str(folder / "p.yml"), str(folder / "run"))
    made.ensure("context_scoring")
    return made


def lines(ax) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {
        line.get_gid(): (np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float))
        for line in ax.get_lines()
        if line.get_gid()
    }


def test_regimes_draws_the_rates_and_the_published_means(run):
    bands = run.table("hint_bands")
    theirs = published("geocontext/geohint_regimes")
    with style():
        _, ax = canvas()
        hint_figures.draw_regimes(bands, ax, published=theirs)
    drawn = lines(ax)
    for regime in ("legible", "illegible"):
        rows = bands.loc[(bands["model"] == "all") & (bands["regime"] == regime)].set_index("band")
        wanted = [100 * rows.loc[b, "rate"] for b in ("none", *HINT_BANDS) if b in rows.index and rows.loc[b, "n"]]
        assert drawn[regime][1].tolist() == pytest.approx(wanted)
        mean = theirs.loc[theirs["regime"] == regime, "hit_near_pct"].mean()
        assert drawn[f"published {regime}"][1][1] == pytest.approx(mean)


def test_echo_bars_and_diamonds(run):
    echo = run.table("hint_echo")
    theirs = published("geocontext/geohint_echo")
    with style():
        _, ax = canvas()
        hint_figures.draw_echo(echo, ax, reading="study", published=theirs)
    for tier in ("high", "mid", "low"):
        heights = [bar.get_height() for bar in ax.patches if bar.get_gid() == tier]
        rows = echo.loc[(echo["reading"] == "study") & (echo["tier"] == tier)].set_index("band")
        assert heights == pytest.approx([100 * rows.loc[b, "rate"] for b in HINT_BANDS if b in rows.index])
    diamonds = [line for line in ax.get_lines() if line.get_gid() == "published"]
    assert diamonds[0].get_ydata()[0] == float(theirs.loc[theirs["tier"] == "high", "near_pct"].iloc[0])


def test_slope_draws_the_fit_and_both_ends(run):
    answers, slope = run.table("answers"), run.table("hint_slope")
    plain = answers.loc[(answers["schema"] == "forced") & answers["ref_km"].notna()]
    with style():
        _, ax = canvas()
        hint_figures.draw_slope(plain, slope, ax, model="leans")
    drawn = lines(ax)
    row = slope.loc[(slope["subset"] == "leans") & ~slope["fine_only"]].iloc[0]
    x, y = drawn["fit"]
    assert np.log10(y) == pytest.approx(row["intercept"] + row["beta"] * x)
    assert drawn["endpoint"][0].tolist() == drawn["endpoint"][1].tolist()
    assert len(drawn["answers"][0]) == ((plain["model"] == "leans") & (plain["error_km"] > 0)).sum()


def test_dprime_draws_every_model_and_the_published_ones(run):
    claims = run.table("claims")
    theirs = published("geocontext/geoverify")
    with style():
        _, ax = canvas()
        claim_figures.draw_dprime(claims, ax, published=theirs)
    drawn = lines(ax)
    for model in ("leans", "sharp", "eager"):
        rows = claims.loc[claims["model"] == model].set_index("band")["dprime"].reindex(list(DECOY_BANDS))
        assert drawn[model][1].tolist() == pytest.approx(rows.dropna().tolist())
    assert drawn["published gemini-flash"][1].tolist() == [0.68, 1.61, 2.16, 2.34, 2.36]
    assert "pooled" not in drawn


def test_calibration_and_roc(run):
    bins, curves = run.table("claims_calibration"), run.table("claims_roc")
    with style():
        _, axes = canvas(columns=2)
        claim_figures.draw_calibration(bins, axes[0], model="sharp")
        claim_figures.draw_roc(curves, axes[1])
    mine = bins.loc[(bins["model"] == "sharp") & (bins["n"] > 0)]
    spots = next(c for c in axes[0].collections if c.get_gid() == "bins").get_offsets()
    np.testing.assert_allclose(np.asarray(spots), mine[["confidence", "accuracy"]].to_numpy())
    assert lines(axes[1])["sharp"][1].tolist() == curves.loc[curves["model"] == "sharp", "hit_rate"].tolist()


def test_every_figure_is_saved_and_next_to_nothing_says_so(run, tmp_path):
    def all_figures(frame):
        return {
            "fig_regimes": hint_figures.fig_regimes(frame("hint_bands")),
            "fig_echo": hint_figures.fig_echo(frame("hint_echo")),
            "fig_slope": hint_figures.fig_slope(frame("answers"), frame("hint_slope")),
            "fig_dprime": claim_figures.fig_dprime(frame("claims")),
            "fig_calibration": claim_figures.fig_calibration(frame("claims_calibration")),
            "fig_roc": claim_figures.fig_roc(frame("claims_roc")),
        }

    for name, figure in all_figures(run.table).items():
        assert save(figure, tmp_path, name).png.stat().st_size > 5000
    nothing = all_figures(lambda name: context_frame(run, "none_such"))
    for name, figure in nothing.items():
        said = " ".join(text.get_text() for ax in figure.axes for text in ax.texts).replace("\n", " ")
        assert "in this run: see context." in said, name
        save(figure, tmp_path, name)
    one = all_figures(lambda name: run.table(name).head(1))
    for name, figure in one.items():
        save(figure, tmp_path, name)


def all_tables(frame, **more):
    return [
        tab_models(frame("hint_models"), **more),
        tab_regimes(frame("hint_regimes"), **more),
        tab_echo(frame("hint_echo"), **more),
        tab_ratio(frame("hint_ratio"), **more),
        tab_slope(frame("hint_slope"), **more),
        tab_warn(frame("hint_warn"), **more),
        tab_chain(frame("hint_chain"), **more),
        tab_checklist(frame("checklist")),
        tab_verify(frame("claims"), frame("claims_summary"), **more),
        image_audit_table(frame("image_audit")),
    ]


def test_tables_print_the_frames_numbers(run):
    models = run.table("hint_models").set_index("model")
    row = next(r for r in tab_models(run.table("hint_models")).rows if r.label == "leans")
    assert row.scores["hit"].value == pytest.approx(100 * models.loc["leans", "hit"])
    assert row.scores["hit"].low == pytest.approx(100 * models.loc["leans", "hit_low"]) and row.coverage == 1
    claims = run.table("claims").set_index(["model", "band"])
    verify = tab_verify(run.table("claims"), run.table("claims_summary"))
    row = next(r for r in verify.rows if r.label == "sharp")
    assert row.scores["0.3-0.7km"].value == pytest.approx(claims.loc[("sharp", "0.3-0.7km"), "dprime"])
    assert "radius" in verify.note
    warn = run.table("hint_warn")
    row = next(r for r in tab_warn(warn).rows if r.label == "leans" and r.section.startswith("all"))
    wanted = warn.loc[(warn["model"] == "leans") & (warn["regime"] == "all")].iloc[0]
    assert row.scores["delta"].value == pytest.approx(100 * wanted["delta"])


def test_published_rows_are_those_of_the_study(run):
    tables = {table.id: table for table in all_tables(lambda n: context_frame(run, n), with_published=True)}
    theirs = next(r for r in tables["tab_models"].rows if r.section == "published" and r.label == "gemini-flash")
    assert theirs.scores["hit"].value == 51.2 and math.isnan(theirs.scores["hit"].low)
    chain = [r for r in tables["tab_chain"].rows if "published" in r.section]
    assert [r.scores["delta"].value for r in chain] == [0.0, 1.04]
    warn = [
        r for r in tables["tab_warn"].rows if r.section == "legible sites, published" and r.label == "all models"
    ]
    assert warn[0].scores["before"].value == 55.2 and warn[0].scores["after"].value == 59.2
    slope = next(r for r in tables["tab_slope"].rows if r.section == "published" and r.label == "all")
    assert slope.scores["beta"].value == 0.082 and "&lt; 0.0001" in tables["tab_slope"].to_html()


def test_tables_of_next_to_nothing_and_hostile_names(run):
    for table in all_tables(lambda name: context_frame(run, "none_such")):
        assert table.rows == () and "No rows" in table.to_html()
        table.to_latex(), table.to_csv()
    models = run.table("hint_models").replace({"model": {"leans": EVIL}})
    table = tab_models(models)
    assert "<b>" not in table.to_html() and "\\evil" not in table.to_latex()


def test_image_audit_counts_of_the_study_give_its_kappa():
    # 343 of 429 agree, kappa 0.185 (section 3.2.1); the four counts that follow from both
    rows = [(1.0, 1.0)] * 326 + [(1.0, 0.0)] * 65 + [(0.0, 1.0)] * 21 + [(0.0, 0.0)] * 17
    audit = pd.DataFrame(rows, columns=["ai_usable", "human_usable"])
    table = image_audit_table(audit)
    assert "429 of 429" in table.note and "agreement 80.0%" in table.note and "kappa 0.185" in table.note
    assert [[r.scores[c].value for c in ("keep", "drop")] for r in table.rows] == [[326, 65], [21, 17]]


def test_the_reports_sentences_say_what_the_tables_say(run):
    from signpost_kit.report_context import context_facts, context_headline, context_sentences

    models = run.table("hint_models").set_index("model")
    sentences = context_sentences(run)
    assert len(sentences) == 6
    leans = next(s for s in sentences if s.startswith("leans: ") and "hint's place" in s)
    assert f"{models.loc['leans', 'hit']:.0%} [" in leans and f"{models.loc['leans', 'echo']:.0%} [" in leans
    claims = run.table("claims").set_index(["model", "band"])
    sharp = next(s for s in sentences if s.startswith("sharp: accepts"))
    assert f"accepts {claims.loc[('sharp', 'all'), 'hit_rate']:.0%} of true claims" in sharp
    assert context_headline(run).startswith(f"Answers name the place of a hint {models.loc['all', 'echo']:.0%}")
    assert context_facts(run)[0]["value"] == f"{len(run.table('answers')):,}"


def test_a_run_without_the_second_study_has_no_sentences(tmp_path):
    from signpost_kit.report_context import context_headline, context_sentences
    from signpost_kit.run import open_run

    bare = open_run("tiny", str(tmp_path / "r"))
    assert context_sentences(bare) == [] and context_headline(bare) == ""
