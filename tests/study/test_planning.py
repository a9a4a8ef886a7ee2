"""How many scenes: in metrics, in the figure, and in `signpost estimate`."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from signpost_kit.cli import app
from signpost_kit.cli_planning import show_plan
from signpost_kit.errors import ConfigError
from signpost_kit.figures.planning import draw_planning, fig_planning, measured_widths
from signpost_kit.figures.style import canvas, save
from signpost_kit.metrics.pilot import assume, planned_pairs, planned_widths, planning_curves, uneven
from signpost_kit.run import open_run
from signpost_kit.stats.planning import assumed_for_difference, assumed_for_width, difference_at, width_at


def scores_of(**models: list[float]) -> pd.DataFrame:
    """Adversarial WLA (fractions) of one data set, a scene per number."""
    rows = [
        {"model": model, "dataset": "d", "group_id": str(i), "variant": "Adversarial", "wla": value}
        for model, values in models.items()
        for i, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def test_a_coin_needs_what_a_coin_needs():
    # SD of a fair coin is 50 points; (2 * 1.96 * 50 / 5)^2 = 1,537 by the normal, one or two more by t.
    values = [0.0, 1.0] * 500
    row = planned_widths(scores_of(coin=values), width=5.0).iloc[0]
    assert row["sd"] == pytest.approx(50.0, rel=2e-3)
    assert 1537 <= row["n_groups"] <= 1545
    assert row["width"] == pytest.approx(2 * 1.9623 * 50 / math.sqrt(1000), rel=2e-3)
    assert row["n_low"] < row["n_groups"] < row["n_high"] and row["reason"] == ""


def test_failures_ask_for_more_scenes():
    values = [0.0, 1.0, math.nan, math.nan] * 100
    whole = planned_widths(scores_of(coin=[0.0, 1.0] * 100)).iloc[0]
    half = planned_widths(scores_of(coin=values)).iloc[0]
    assert half["coverage"] == 0.5 and half["n_pilot"] == 200
    assert half["n_groups"] == pytest.approx(2 * whole["n_groups"], abs=1)
    counted = planned_widths(scores_of(coin=values), reading="as_failures").iloc[0]
    assert counted["coverage"] == 1 and counted["mean"] == 25


def test_pairs_share_their_scenes():
    rng = np.random.default_rng(1)
    hard = rng.random(400)
    frame = scores_of(a=list(hard), b=list(np.clip(hard + 0.05, 0, 1)), c=list(rng.random(400)))
    pairs = planned_pairs(frame).set_index(["model_a", "model_b"])
    assert len(pairs) == 3
    assert pairs.loc[("a", "b"), "n_groups"] < 0.05 * pairs.loc[("a", "c"), "n_groups"]
    assert pairs.loc[("a", "b"), "mean"] < 0
    more = planned_pairs(frame, n_comparisons=190).set_index(["model_a", "model_b"])
    assert (more["n_groups"] > pairs["n_groups"]).all()
    # What the pilot can tell is what a plan for just that needs.
    least = float(pairs.loc[("a", "c"), "least"])
    again = planned_pairs(frame, difference=least).set_index(["model_a", "model_b"])
    assert again.loc[("a", "c"), "n_groups"] == pytest.approx(400, abs=1)


def test_planned_width_is_what_the_bootstrap_gives(twenty):
    widths = planned_widths(twenty.scores)
    measured = measured_widths(twenty.macro, widths).set_index("name")["value"]
    expected = widths.set_index("model")["width"]
    assert len(measured) == 20
    assert float(np.median(measured / expected)) == pytest.approx(1.0, abs=0.07)


def test_planned_power_is_met_in_simulation():
    plan = assumed_for_difference(0.5, difference=0.2, power=0.8)
    rng = np.random.default_rng(7)
    n = int(plan.n_groups)
    draws = rng.normal(0.2, 0.5, (4000, n))
    t = draws.mean(axis=1) / (draws.std(axis=1, ddof=1) / math.sqrt(n))
    from scipy import stats

    assert (np.abs(t) > stats.t.ppf(0.975, n - 1)).mean() == pytest.approx(0.8, abs=0.025)


def test_assumptions_are_consistent_with_their_curves():
    plan = assumed_for_width(50.0, width=5.0)
    assert width_at(plan, plan.n_groups) <= 5.0 < width_at(plan, plan.n_groups - 1)
    pair = assumed_for_difference(50.0, difference=5.0, n_comparisons=10)
    at = [float(difference_at(pair, n, n_comparisons=10)) for n in (pair.n_groups, pair.n_groups - 1)]
    assert at[0] <= 5.0 < at[1]
    assert math.isnan(plan.n_low) and math.isnan(float(difference_at(pair, 1)))
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ConfigError, match="spread"):
            assumed_for_width(bad, width=5)
    with pytest.raises(ConfigError, match="difference"):
        assumed_for_difference(1.0, difference=0.0)


def test_assumed_spread_is_the_most_a_mean_allows():
    made = assume(29.89)
    assert made.sd == pytest.approx(math.sqrt(29.89 * 70.11))
    assert assume(50).sd == 50 and assume(0).sd == 0
    # Real scores of that mean spread less.
    rng = np.random.default_rng(3)
    values = 100 * np.exp(-0.005 * rng.exponential(500, 1000))
    assert values.std() < assume(float(values.mean())).sd


def test_uneven_data_sets_cost_scenes():
    assert uneven([10, 10, 10]) == pytest.approx(1.0) and uneven([]) == 1.0 and uneven([7]) == 1.0
    # The study's own: half as much again in scenes as four equal data sets would need.
    assert uneven([651, 992, 2337, 1131]) ** 2 == pytest.approx(1.23, abs=0.01)


def test_no_scores_no_numbers():
    for frame in (scores_of(a=[math.nan] * 4), scores_of(a=[0.4])):
        row = planned_widths(frame).iloc[0]
        assert math.isnan(row["n_groups"]) and row["reason"]
    assert planned_pairs(scores_of(a=[0.1, 0.2])).empty
    assert planned_widths(scores_of(a=[0.1])[:0]).empty


@pytest.mark.parametrize("value", [0.0, -1.0, 101.0, math.nan])
def test_widths_are_points_of_wla(value):
    with pytest.raises(ConfigError, match="width is in points of WLA"):
        planned_widths(scores_of(a=[0.1, 0.2]), width=value)
    with pytest.raises(ConfigError, match="difference is in points of WLA"):
        planned_pairs(scores_of(a=[0.1, 0.2]), difference=value)


# -- the figure --------------------------------------------------------------------------------------------------------


def test_lines_and_points_are_those_of_the_frames():
    frame = scores_of(a=[0.0, 1.0] * 20, b=[0.2, 0.4] * 20)
    widths, pairs = planned_widths(frame), planned_pairs(frame)
    curves = planning_curves(widths, pairs)
    measured = pd.DataFrame({"name": ["a"], "n_groups": [40.0], "value": [31.0]})
    figure = fig_planning(curves, measured, width=4)
    left, right = figure.axes
    drawn = {line.get_gid(): line for line in left.lines}
    for name in ("a", "b"):
        mine = curves[(curves["kind"] == "width") & (curves["name"] == name)]
        np.testing.assert_allclose(drawn[name].get_ydata(), mine["value"])
        np.testing.assert_allclose(drawn[name].get_xdata(), mine["n_groups"])
    assert drawn["measured"].get_xdata().tolist() == [40.0] and drawn["measured"].get_ydata().tolist() == [31.0]
    assert drawn["study"].get_xdata()[0] == 5111 and drawn["wanted"].get_ydata()[0] == 4
    assert any(line.get_gid() == "a – b" for line in right.lines)


def test_many_models_are_a_band(twenty, tmp_path: Path):
    widths, pairs = planned_widths(twenty.scores), planned_pairs(twenty.scores)
    curves = planning_curves(widths, pairs)
    figure = fig_planning(curves, measured_widths(twenty.macro, widths))
    for ax, kind in zip(figure.axes, ("width", "difference"), strict=True):
        mine = curves[curves["kind"] == kind].groupby("n_groups")["value"].median()
        median = next(line for line in ax.lines if line.get_gid() == "median")
        np.testing.assert_allclose(median.get_ydata(), mine)
    assert save(figure, tmp_path, "planning").png.stat().st_size > 10_000


def test_nothing_to_plan_from_says_so(study_of, tmp_path: Path):
    none = study_of(["my-model"], 4, failing=True)
    curves = planning_curves(planned_widths(none.scores), planned_pairs(none.scores))
    figure = fig_planning(curves, measured_widths(none.macro, planned_widths(none.scores)))
    texts = [text.get_text().replace("\n", " ") for ax in figure.axes for text in ax.texts]
    assert "No spread between scenes is known" in texts[0] and "No two models" in texts[1]
    save(figure, tmp_path, "x")


def test_a_model_without_spread_is_named_not_drawn():
    frame = scores_of(flat=[0.2] * 10, coin=[0.0, 1.0] * 5)
    curves = planning_curves(planned_widths(frame), planned_pairs(frame))
    _, ax = canvas()
    draw_planning(curves, ax, kind="width", wanted=5)
    assert {line.get_gid() for line in ax.lines} >= {"coin"} and "flat" not in {line.get_gid() for line in ax.lines}


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny run that has been built and not asked."""
    folder = tmp_path_factory.mktemp("plan") / "run"
    open_run("tiny", str(folder)).ensure("synthesis")
    return folder


def test_estimate_without_scores_states_its_assumption(tiny: Path):
    result = CliRunner().invoke(app, ["estimate", "tiny", "--run-dir", str(tiny), "--width", "4"])
    assert result.exit_code == 0, result.output
    assert "assumed (the run has no scores yet)" in result.output and "29.89" in result.output
    assert "interval of 4 points" in result.output and "5 points apart" in result.output
    assert "this run's 6 give" in result.output
    assert max(map(len, result.output.splitlines())) < 150


def test_estimate_from_own_scores(tiny: Path, tmp_path: Path, twenty):
    run_dir = tmp_path / "run"
    shutil.copytree(tiny, run_dir)
    models = ["reader", "looker", "prior"]
    run = open_run("tiny", str(run_dir), sets=["models=[reader,looker,prior,aligned]"])
    frame = scores_of(reader=[0.0, 1.0] * 30, looker=[0.1, 0.4] * 30, prior=[0.0] * 60)
    run.save_table("scores", frame)
    told = show_plan(run, width=5, difference=4)
    assert "from the run's scores of 60 scenes" in told and all(name in told for name in models)
    expected = planned_widths(frame).set_index("model")["n_groups"]["reader"]
    assert f"{expected:,.0f} (" in told
    assert "under 30" in told  # a pilot of 60 equal scores cannot promise that two will do
    assert "all 6 pairs at 5 % together" in told  # of the four models of the profile
    assert len(told.splitlines()) < 12
    run.save_table("scores", twenty.scores)
    many = show_plan(open_run("tiny", str(run_dir), sets=["evaluation.stored_only=true"]))
    assert "15 more models" in many and len(many.splitlines()) < 12


def test_estimate_when_all_failed_falls_back_to_the_assumption(tiny: Path, tmp_path: Path):
    shutil.copytree(tiny, tmp_path / "run")
    run = open_run("tiny", str(tmp_path / "run"))
    run.save_table("scores", scores_of(reader=[math.nan] * 4))
    assert "assumed (the run's scores cannot tell (no answer yet))" in show_plan(run)


@pytest.mark.parametrize("option", ["--width", "--difference"])
def test_estimate_refuses_impossible_points(tiny: Path, option: str):
    result = CliRunner().invoke(app, ["estimate", "tiny", "--run-dir", str(tiny), option, "0"])
    assert result.exit_code == 2
