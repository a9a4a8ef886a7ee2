"""What is drawn is what the frames say, and what is missing leaves a gap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from signpost_kit.benchmark.groups import Benchmark, Group, Span
from signpost_kit.figures import canvas, fig03, fig13, fig16, fig17, style
from signpost_kit.figures.agreement import draw_kappa, draw_scenes, fig_agreement
from signpost_kit.figures.arcs import draw_overview, draw_scene, fig_arcs
from signpost_kit.figures.cells import pick, published_beside
from signpost_kit.figures.cost import cost_notes, fig_cost
from signpost_kit.figures.errors import draw_error_cdf
from signpost_kit.figures.harm import draw_harm
from signpost_kit.figures.prompt_cards import fig_prompt_card, prompts_frame, wrapped_lines
from signpost_kit.figures.samples import examples_frame, fig_examples, fig_samples, samples_frame
from signpost_kit.metrics.error_cdf import error_cdf
from signpost_kit.metrics.harm import MEAN_OF_MODELS, harm
from signpost_kit.metrics.misled import misled, misled_agreement


def axes(width: float = 3.3):
    with style():
        return canvas(width, 2.5)[1]


def drawn(ax, gid: str) -> list:
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def points(ax, gid: str) -> np.ndarray:
    found = drawn(ax, gid)
    return np.vstack([np.column_stack(line.get_data()) for line in found]) if found else np.empty((0, 2))


# -- error CDF ------------------------------------------------------------------------------------------------


def test_curves_and_markers_are_the_frame(twenty) -> None:
    curves = error_cdf(twenty.scores[twenty.scores["model"] == "GPT-5"], n_resamples=50)
    ax = axes()
    draw_error_cdf(curves, ax)
    for variant, part in curves.groupby("variant"):
        line = drawn(ax, str(variant))[0]
        np.testing.assert_allclose(line.get_xdata(), part["error_km"])
        np.testing.assert_allclose(line.get_ydata(), part["share"] * 100)
        assert [line.get_xdata()[i] for i in line.get_markevery()] == [1, 25, 200, 750, 2500]
    assert ax.get_xscale() == "log"
    band = drawn(ax, "interval Adversarial")[0].get_paths()[0].vertices
    part = curves[curves["variant"] == "Adversarial"]
    assert band[:, 1].min() == pytest.approx(part["low"].min() * 100)
    assert band[:, 1].max() == pytest.approx(part["high"].max() * 100)
    dashes = {str(drawn(ax, v)[0]._unscaled_dash_pattern) for v in curves["variant"].unique()}
    assert len(dashes) == 5


def test_a_variant_without_answers_has_no_curve(twenty) -> None:
    scores = twenty.scores[twenty.scores["model"] == "GPT-5"].copy()
    scores.loc[scores["variant"] == "Random", "error_km"] = np.nan
    ax = axes()
    draw_error_cdf(error_cdf(scores, n_resamples=0), ax)
    assert not drawn(ax, "Random") and drawn(ax, "Similar")
    assert "answered" in drawn(ax, "coverage")[0].get_text()


# -- harm -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("measure", "scale"), [("wla_loss", 100), ("tbs_km", 1)])
def test_harm_draws_means_intervals_and_numbers_of_scenes(twenty, measure: str, scale: float) -> None:
    frame = harm(twenty.scores, twenty.groups, n_resamples=100)
    ax = axes()
    draw_harm(frame, ax, trait="trap_distance_km", measure=measure)
    rows = frame[(frame["trait"] == "trap_distance_km") & (frame["measure"] == measure)]
    mean = rows[rows["model"] == MEAN_OF_MODELS].sort_values("place")
    np.testing.assert_allclose(points(ax, "mean")[:, 1], mean["value"] * scale)
    spans = [s for c in drawn(ax, "interval") for s in c.get_segments()]
    known = mean.dropna(subset=["low", "high"])
    np.testing.assert_allclose([s[0][1] for s in spans], known["low"] * scale)
    np.testing.assert_allclose([s[1][1] for s in spans], known["high"] * scale)
    assert [t.get_text() for t in drawn(ax, "n")] == [str(n) for n in mean["n_groups"]]
    assert [t.get_text() for t in ax.get_xticklabels()] == mean["level"].tolist()
    each = rows[rows["model"] != MEAN_OF_MODELS]["value"].dropna()
    np.testing.assert_allclose(np.sort(points(ax, "model")[:, 1]), np.sort(each * scale))
    unknown = int(twenty.groups["trap_distance_km"].isna().sum())
    assert f"{unknown} scenes unknown" in ax.get_xlabel()


def test_harm_without_a_trait_says_which(twenty) -> None:
    frame = harm(twenty.scores, twenty.groups[["dataset", "group_id", "tier"]], n_resamples=0)
    ax = axes()
    draw_harm(frame, ax, trait="text_share")
    assert "No outlines" in ax.texts[0].get_text().replace("\n", " ")


# -- agreement ------------------------------------------------------------------------------------------------


def test_kappas_and_cells_are_the_frame(twenty) -> None:
    table = misled(twenty.scores)
    table["GPT-4o"] = 0.0
    pairs = misled_agreement(table)
    models = list(table.columns)
    ax = axes(6.9)
    draw_kappa(pairs, models, ax)
    assert len(drawn(ax, "missing")) == 19 and len(drawn(ax, "cell")) == 190 - 19
    said = {(round(t.get_position()[0]), round(t.get_position()[1])): t.get_text() for t in drawn(ax, "kappa")}
    for row in pairs.itertuples():
        j, i = sorted((models.index(row.model_a), models.index(row.model_b)))
        if np.isfinite(row.kappa):
            assert float(said[j, i].replace("−", "-")) == pytest.approx(row.kappa, abs=0.0051)
        else:
            assert (j, i) not in said


def test_scenes_are_drawn_once_each_most_misleading_first(twenty) -> None:
    table = misled(twenty.scores)
    ax = axes()
    draw_scenes(table, ax)
    grid = np.asarray(ax.images[0].get_array())
    assert grid.shape == table.T.shape
    np.testing.assert_array_equal((grid == 1).sum(axis=1), np.nansum(table.to_numpy(), axis=0))
    np.testing.assert_array_equal((grid == 2).sum(axis=1), table.isna().sum())
    assert (np.diff((grid == 1).sum(axis=0)) <= 0).all()
    rates = [t.get_text() for t in drawn(ax, "rate")]
    assert rates == [f"{r:.0%}" for r in table.mean()]


def test_both_panels_list_the_models_in_one_order(twenty) -> None:
    table = misled(twenty.scores)
    left, right = fig_agreement(table, misled_agreement(table)).axes[:2]
    names = [left.get_xticklabels()[0].get_text(), *(t.get_text() for t in left.get_yticklabels())]
    assert sorted(names) == sorted(table.columns)
    rates = [t.get_text() for t in drawn(right, "rate")]
    assert rates == [f"{table[name].mean():.0%}" for name in names]


# -- cost -----------------------------------------------------------------------------------------------------


def costs(models: list[str]) -> pd.DataFrame:
    price = np.linspace(0.2, 20, len(models))
    frame = pd.DataFrame({"model": models, "usd_per_1000": price, "coverage": 1.0})
    frame.loc[0, "usd_per_1000"], frame.loc[1, "usd_per_1000"], frame.loc[2, "coverage"] = np.nan, 0.0, 0.9
    return frame


def test_cost_draws_the_priced_at_their_price_and_nobody_at_zero(twenty) -> None:
    models = list(dict.fromkeys(twenty.macro["model"]))
    frame = costs(models)
    figure = fig_cost(twenty.macro, frame)
    left, right = figure.axes[:2]
    score = pick(twenty.macro, "mcrs").set_index("model")["value"]
    want = sorted((frame["usd_per_1000"][i], score[m]) for i, m in enumerate(models) if i > 1)
    np.testing.assert_allclose(np.array(sorted(map(tuple, points(right, "model")))), np.array(want))
    np.testing.assert_allclose(points(left, "model")[:, 1], [score[models[1]]])
    texts = [t.get_text() for t in [*left.texts, *right.texts]]
    assert models[0] not in texts and models[1] in texts and f"{models[2]}, 90%" in texts
    assert any(models[0] in note and "Price unknown" in note for note in cost_notes(twenty.macro, frame))
    assert right.get_xscale() == "log" and right.get_xlim()[0] > 0


def test_published_scores_are_ticks_without_a_price(twenty) -> None:
    from signpost_kit.figures import published_models

    models = list(dict.fromkeys(twenty.macro["model"]))
    right = fig_cost(twenty.macro, costs(models), published=published_models()).axes[1]
    ticks = [s[0][1] for c in drawn(right, "published") for s in c.get_segments()]
    assert sorted(ticks) == pytest.approx(sorted(published_models()["mcrs"]))


# -- arcs -----------------------------------------------------------------------------------------------------


def arc_row(**more) -> dict:
    row = {"model": "m", "dataset": "D", "group_id": "g", "truth_lat": -18.0, "truth_lon": 178.0, "blank_lat": -14.0,
           "blank_lon": -172.0, "adversarial_lat": 21.3, "adversarial_lon": -157.9, "trap_lat": 21.4, "trap_lon": -157.8,
           "truth_name": "Suva, FJ", "trap_name": "Honolulu", "blank_km": 1150.0, "adversarial_km": 5000.0,
           "blank_trap_km": 4200.0, "adversarial_trap_km": 15.0, "pull_km": 4185.0}  # fmt: skip
    return row | more


def test_arcs_across_the_antimeridian_are_short_lines_in_view() -> None:
    ax = axes()
    draw_scene(arc_row(), ax)
    x0, x1 = ax.get_xlim()
    for gid in ("arc blank", "arc adversarial"):
        lines = [line for line in drawn(ax, gid) if x0 <= line.get_xdata()[0] <= x1]
        assert len(lines) == 1 and np.abs(np.diff(lines[0].get_xdata())).max() < 5
    (truth,), (blank,) = points(ax, "truth"), points(ax, "Blank answer")
    assert abs(truth[0] - blank[0]) == pytest.approx(10.0) and x0 < truth[0] < x1
    assert "15 km from the place on the sign" in ax.get_xlabel()


def test_overview_draws_only_scenes_with_both_answers_and_counts_them() -> None:
    rows = [arc_row(), arc_row(group_id="h", adversarial_lat=np.nan, adversarial_lon=np.nan, pull_km=np.nan),
            arc_row(group_id="i", trap_lat=np.nan, trap_lon=np.nan, pull_km=np.nan)]  # fmt: skip
    ax = axes(6.9)
    draw_overview(pd.DataFrame(rows), ax)
    assert len(points(ax, "truth")) == 2 and len(points(ax, "place on the sign")) == 1
    assert "2 of 3 scenes" in ax.get_title("left") and "1 with a trap" in ax.get_title("left")
    assert len(fig_arcs(pd.DataFrame(rows)).axes) == 2  # the overview and the one scene with a pull


def test_a_scene_without_blank_answer_says_so() -> None:
    ax = axes()
    draw_scene(arc_row(blank_lat=np.nan, blank_lon=np.nan, blank_km=np.nan), ax)
    assert not drawn(ax, "arc blank") and not drawn(ax, "Blank answer")
    assert "Blank not answered" in ax.get_xlabel()


# -- samples and tiers ----------------------------------------------------------------------------------------


def pictured(root: Path, n: int = 9) -> Benchmark:
    groups = []
    for i in range(n):
        path = root / "images" / "Original" / f"g{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (320, 200), (40 + 20 * i, 120, 160)).save(path)
        box = ((100.0, 60.0), (200.0, 60.0), (200.0, 90.0), (100.0, 90.0))
        tier = ("T1", "T3")[i % 2]
        span = Span(f"अक्षर {i}", box, tier=tier, tier_reason=f"reason {i % 3}")
        groups.append(Group(f"g{i}", ("A", "B")[i > 4], 10.0, 20.0, city=f"City {i}", country=("FR", "JP")[i % 2],
                            spans=(span,), tier=tier, images={"Original": f"images/Original/g{i}.png"}))  # fmt: skip
    return Benchmark("p", tuple(groups), root)


def test_samples_show_each_data_set_with_its_size(tmp_path: Path) -> None:
    frame = samples_frame(pictured(tmp_path), per_dataset=2)
    assert frame.groupby("dataset")["n_scenes"].first().to_dict() == {"A": 5, "B": 4}
    assert frame.groupby("dataset").size().to_dict() == {"A": 2, "B": 2}
    assert all(len({label[-2:] for label in part["label"]}) == 2 for _, part in frame.groupby("dataset"))
    figure = fig_samples(frame)
    titles = [ax.get_title("left") for ax in figure.axes if ax.get_title("left")]
    assert titles == ["A: 5 scenes", "B: 4 scenes"]
    assert sum(len(ax.images) for ax in figure.axes) == 4
    assert samples_frame(pictured(tmp_path), per_dataset=2).equals(frame)


def test_tier_examples_are_outlined_and_say_why(tmp_path: Path) -> None:
    frame = examples_frame(pictured(tmp_path), per_tier=2)
    assert frame["tier"].tolist() == ["T1", "T1", "T3", "T3"]
    assert all(part["reason"].nunique() == 2 for _, part in frame.groupby("tier"))
    figure = fig_examples(frame)
    labels = [ax.get_xlabel() for ax in figure.axes if ax.get_xlabel()]
    assert sorted(labels) == sorted(f"“{t}”\n{r}" for t, r in zip(frame["text"], frame["reason"], strict=True))
    outlines = [p for ax in figure.axes for p in ax.patches if p.get_gid() == "outline"]
    assert len(outlines) == 2 * len(frame)
    corners = outlines[0].get_xy()[:4]
    shown = next(ax for ax in figure.axes if ax.images).images[0].get_array().shape
    scale = shown[1] / 320
    np.testing.assert_allclose(corners.mean(axis=0), np.array([150, 75]) * scale, atol=0.6)
    assert (corners[:, 0].min() < 100 * scale) and (corners[:, 0].max() > 200 * scale)
    assert "No scene of this tier." in [t.get_text() for ax in figure.axes for t in ax.texts]


# -- prompt cards ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["replacements", "coordinate", "probing", "defense"])
def test_a_card_holds_every_word_of_the_prompt(task: str) -> None:
    frame = prompts_frame([task])
    ax = fig_prompt_card(frame, "Title").axes[0]
    pieces = [t for t in ax.texts if t.get_gid() in ("line", "slot")]
    by_line: dict[float, list] = {}
    for piece in pieces:
        by_line.setdefault(round(piece.get_position()[1], 2), []).append(piece)
    said = " ".join(
        t.get_text()
        for y in sorted(by_line, reverse=True)
        for t in sorted(by_line[y], key=lambda t: t.get_position()[0])
    )
    assert "".join(said.split()) == "".join(frame["text"].iloc[0].split())
    assert frame["hash"].iloc[0][:8] in drawn(ax, "source")[0].get_text()
    assert all(t.get_text()[0] in "$<{" for t in drawn(ax, "slot"))


def test_a_missing_prompt_is_a_card_that_says_so(tmp_path: Path) -> None:
    frame = prompts_frame(["nothing"], folder=tmp_path)
    ax = fig_prompt_card(frame, "Title").axes[0]
    assert "nothing" in drawn(ax, "missing")[0].get_text() and not drawn(ax, "line")


def test_long_lines_are_parted_at_blanks_and_in_words_that_are_longer() -> None:
    lines = wrapped_lines("- one two three\n" + "国" * 25 + "\n\nend", len, 10)
    assert [line for line, _ in lines] == [
        "- one two",
        "  three",
        "国" * 10,
        "  " + "国" * 8,
        "  " + "国" * 7,
        "",
        "end",
    ]
    assert all(len(line) <= 10 for line, _ in lines)


# -- published numbers beside a run ---------------------------------------------------------------------------


def test_the_published_mean_stands_below_the_run_in_grey(one_model) -> None:
    theirs = published_beside("macro")
    left, right = fig03(one_model.macro, published=theirs).axes[:2]
    names = [t.get_text() for t in left.get_yticklabels()]
    assert names[:2] == ["my-model", "mean of 20 models"] and "Published, other scenes" in names
    assert points(left, "published Original")[:, 0] == pytest.approx([47.11])
    assert points(left, "published Adversarial")[:, 0] == pytest.approx([29.89])
    assert [t.get_text() for t in drawn(left, "published drop")] == ["−17.2"]
    assert not drawn(right, "published tfr")  # no mean rate was published
    assert len(points(left, "Original")) == 1
    bias = fig17(one_model.macro, published=theirs).axes[0]
    assert points(bias, "published tbs")[:, 0] == pytest.approx([1577])


def test_published_tiers_and_data_sets(one_model) -> None:
    panel = fig13(one_model.tiers, one_model.groups, published=published_beside("tiers")).axes[0]
    ring = points(panel, "published Original")
    assert ring[:, 1] == pytest.approx([59.65])  # T3, the one level that the paper's text gives
    cells = one_model.cells.assign(model="GPT-5", reading="published")
    ax = fig16(one_model.cells, published=cells).axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["my-model", "GPT-5 (published)"]
    elsewhere = cells.assign(dataset="Elsewhere")
    ax = fig16(one_model.cells, published=elsewhere).axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["my-model"]
