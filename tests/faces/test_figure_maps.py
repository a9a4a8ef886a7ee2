"""Maps and pictures: great circles, windows, the chosen story, and what is drawn of it."""

from __future__ import annotations

import numpy as np
import pytest

from signpost_kit.errors import DataError
from signpost_kit.figures import (
    answers_frame,
    canvas,
    choose_story,
    fig01,
    fig_answers,
    fig_variants,
    save,
    sheet_frame,
    story_frame,
    style,
)
from signpost_kit.figures.basemap import great_circle, window_for
from signpost_kit.figures.maps import answers_map, story_map
from signpost_kit.geo import haversine_km


def by_gid(ax, gid: str) -> list:
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def one_axes():
    with style():
        _, ax = canvas(5, 3)
    return ax


@pytest.mark.parametrize(
    "ends", [(48.9, 2.4, 35.7, 139.7), (35.7, 139.7, 34.0, -118.2), (10, 20, -10, -160), (5, 5, 5, 5)]
)
def test_great_circles_are_shortest_and_without_jumps(ends) -> None:
    lat, lon = great_circle(*ends)
    steps = haversine_km(lat[:-1], lon[:-1], lat[1:], lon[1:])
    assert steps.sum() == pytest.approx(haversine_km(*ends), rel=1e-6, abs=1e-3)
    assert np.abs(np.diff(lon)).max() <= 180 + 1e-9  # 180 only where antipodes meet over the pole
    assert (lat[0], lon[0]) == pytest.approx(ends[:2])
    assert haversine_km(lat[-1], lon[-1], *ends[2:]) < 1e-3


def test_windows_hold_every_point_across_the_date_line() -> None:
    lat, lon = [35.7, 34.0, np.nan], [139.7, -118.2, 0.0]
    window = window_for(lat, lon)
    x = window.unwrap(lon[:2])
    assert window.lon[0] < x.min() and x.max() < window.lon[1]
    assert x.max() - x.min() == pytest.approx(102.1)  # over the Pacific, not round the world
    assert (window.lon[1] - window.lon[0]) / (window.lat[1] - window.lat[0]) == pytest.approx(2.0)
    assert window_for([], []).lon == (-180, 180)
    arched = window_for(
        [37.6, -22.9], [127.0, -43.2], ways=[(37.6, 127.0, -22.9, -43.2)]
    )  # Seoul to Rio, by the north
    assert arched.lat[1] > great_circle(37.6, 127.0, -22.9, -43.2)[0].max() > 60
    single = window_for([48.9], [2.4])
    assert single.lon[1] - single.lon[0] >= 30


def test_the_story_is_the_largest_pull(toy_run) -> None:
    scores = toy_run.table("scores")
    model, group = choose_story(scores)
    assert model == "reader"
    # g1 (Tokyo) is answered throughout; g2 has a refusal, g0 no trap.
    assert group == "g1"
    assert choose_story(scores.sample(frac=1, random_state=3)) == (model, group)
    assert choose_story(scores, model="looker")[0] == "looker"
    assert choose_story(scores, group_id="g2") == ("reader", "g2")
    with pytest.raises(DataError, match="nobody.*looker, reader"):
        choose_story(scores, model="nobody")
    with pytest.raises(DataError, match="scoring"):
        choose_story(scores.iloc[:0])


def test_story_map_shows_truth_trap_and_answers(toy_run) -> None:
    story = story_frame(toy_run.table("scores"), toy_run.benchmark(), "reader", "g1")
    assert story["text"].tolist() == ["新宿駅", "", "Rue Bleue", "Ωmega Привет", "Nairobi"]
    ax = one_axes()
    story_map(story, ax)
    for gid, lat, lon in (("truth", 35.68, 139.69), ("trap", -1.29, 36.82), ("Adversarial", -1.19, 36.82)):
        x, y = by_gid(ax, gid)[0].get_data()
        assert (float(y[0]), float(x[0]) % 360) == pytest.approx((lat, lon))
    assert len(by_gid(ax, "arc")) == 5


def test_missing_answers_and_traps_are_said_not_drawn(toy_run) -> None:
    story = story_frame(toy_run.table("scores"), toy_run.benchmark(), "reader", "g2")
    ax = one_axes()
    story_map(story, ax)
    assert np.isnan(by_gid(ax, "Random")[0].get_xdata()).all()
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert "Random: no answer" in labels
    ax = one_axes()
    story_map(story_frame(toy_run.table("scores"), toy_run.benchmark(), "looker", "g0"), ax)
    assert by_gid(ax, "no-trap") and not by_gid(ax, "trap")
    with pytest.raises(DataError, match="'other'"):
        story_frame(toy_run.table("scores"), toy_run.benchmark(), "looker", "other")


def test_fig01_draws_with_a_missing_picture(toy_run, tmp_path) -> None:
    bench = toy_run.benchmark()
    bench.image_path(bench.groups[2], "Similar").write_bytes(b"no picture")
    bench.image_path(bench.groups[2], "Blank").unlink()
    figure = fig01(story_frame(toy_run.table("scores"), bench, "reader", "g2"))
    said = [t.get_text() for ax in figure.axes for t in ax.texts]
    assert sum("unreadable" in text for text in said) == 2
    fates = [ax.get_xlabel() for ax in figure.axes]
    assert any("no answer (refused)" in text for text in fates)
    assert save(figure, tmp_path, "fig01").pdf.is_file()


def test_answers_map_counts_what_it_cannot_draw(toy_run) -> None:
    answers = answers_frame(toy_run.table("scores"), toy_run.table("groups"))
    assert set(answers["model"]) == {"reader"}
    ax = one_axes()
    answers_map(answers, ax, variant="Random")
    assert ax.get_title().startswith("reader, Random: 2 of 3 answered")
    assert len(by_gid(ax, "truth")[0].get_xdata()) == 3
    assert len(by_gid(ax, "answer")[0].get_xdata()) == 2
    ax = one_axes()
    answers_map(answers, ax, variant="Adversarial")
    assert len(by_gid(ax, "answer at the sign's place")[0].get_xdata()) == 2
    ax = one_axes()
    answers_map(answers.assign(lat=np.nan, lon=np.nan), ax, variant="Blank")
    assert "None of 3" in ax.texts[0].get_text()
    with pytest.raises(DataError, match="'x'.*looker, reader"):
        answers_frame(toy_run.table("scores"), toy_run.table("groups"), model="x")
    assert len(fig_answers(answers[answers["variant"] == "Original"]).axes) == 1


def test_contact_sheet_has_five_pictures_per_scene(toy_run, tmp_path) -> None:
    figure = fig_variants(sheet_frame(toy_run.benchmark(), limit=2))
    assert sum(len(ax.images) for ax in figure.axes) == 10
    assert [ax.get_title() for ax in figure.axes[:5]] == ["Original", "Blank", "Similar", "Random", "Adversarial"]
    nothing = fig_variants(sheet_frame(toy_run.benchmark().with_groups(())))
    assert "No scene." in [t.get_text() for t in nothing.axes[0].texts] or nothing.axes[0].texts
    save(nothing, tmp_path, "none")
