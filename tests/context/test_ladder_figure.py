"""The ladder map of a site: where points are, that names can be read, and what there is without positions."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Circle
from matplotlib.text import Annotation, Text

from signpost_kit.benchmark.geocontext import read_released
from signpost_kit.errors import ConfigError
from signpost_kit.figures import save
from signpost_kit.figures.ladder import fig_ladder, ladder_sites
from signpost_kit.hints.plan import HintSite
from signpost_kit.ladder import draw_ladder, local_points

HOME = HintSite("s1", "Tokyo", 35.66, 179.99, (), "JP")  # its points lie on both sides of the date line


@pytest.fixture(scope="module")
def frames():
    points = local_points([HOME, HintSite("s2", "Paris", 48.85, 2.35, (), "FR")], per_site=80)
    ladder, _ = draw_ladder(points, draws=3)
    sites = pd.DataFrame([("s1", "Tokyo", 35.66, 179.99), ("s2", "Paris", 48.85, 2.35)],
                         columns=["site", "city", "lat", "lon"])  # fmt: skip
    return ladder, points, sites


def names_of(figure):
    return [t for t in figure.axes[0].texts if isinstance(t, Annotation) and t.get_text()]


def test_every_rung_lies_at_its_distance_with_its_shape_and_name(frames):
    ladder, points, sites = frames
    mine = ladder.loc[ladder["site"] == "s1"]
    figure = fig_ladder(ladder, points, sites, site="s1")
    (ax,) = figure.axes
    lines = {line.get_gid(): line for line in ax.lines if line.get_gid()}
    for (band, tier), cell in mine.groupby(["band", "tier"]):
        line = lines[f"{band} {tier}"]
        km = np.hypot(line.get_xdata(), line.get_ydata())
        assert np.allclose(np.sort(km), np.sort(cell["ref_km"]), rtol=0.003)
        assert line.get_marker() == {"high": "^", "mid": "o", "low": "s"}[tier]
    assert sum(len(lines[f"{b} {t}"].get_xdata()) for b, t in mine.groupby(["band", "tier"]).groups) == len(mine)
    assert len(lines["not drawn"].get_xdata()) == 80 - len(mine)
    radii = sorted(p.radius for p in ax.patches if isinstance(p, Circle))
    assert radii == [0.5, 1.5, 3.0, 6.0] and ax.get_aspect() == 1.0
    assert sorted(t.get_text() for t in names_of(figure)) == sorted(mine["name_en"])
    said = {t.get_text() for t in ax.texts}
    assert {"N", "1 km", "0.5 km", "6 km"} <= said and ax.get_title(loc="left") == "s1, Tokyo"


def test_names_do_not_overlap(frames, tmp_path):
    ladder, points, sites = frames
    for site in ("s1", "s2"):
        figure = fig_ladder(ladder, points, sites, site=site)
        save(figure, tmp_path, site)
        boxes = [t.get_window_extent() for t in names_of(figure)]
        assert len(boxes) > 20
        over = [(a, b) for a, b in itertools.combinations(boxes, 2) if _shared(a, b) > 2]
        assert not over


def _shared(a, b):
    return max(min(a.x1, b.x1) - max(a.x0, b.x0), 0) * max(min(a.y1, b.y1) - max(a.y0, b.y0), 0)


def test_names_in_any_script_are_drawn_and_what_no_font_draws_is_left_out(frames, tmp_path):
    ladder, points, sites = frames
    mine = ladder.loc[ladder["site"] == "s1"].head(6).copy()
    mine["name_en"] = ["渋谷駅", "ตลาดน้ำ", "سوق المدينة", "\U000e1234\U0010ffff", "$x_1$ & <b>", "x" * 80]
    figure = fig_ladder(mine, points, sites)
    save(figure, tmp_path, "scripts")
    shown = {t.get_text() for t in names_of(figure)}
    assert {"渋谷駅", "ตลาดน้ำ", "سوق المدينة", "$x_1$ & <b>"} <= shown and mine["qid"].iloc[3] in shown
    assert max(map(len, shown)) <= 30


def test_released_ladders_without_positions_become_a_line_of_distances(shared_data, tmp_path):
    released = read_released(shared_data / "geocontext")
    rungs = released.ladders.merge(
        released.sites[["site", "city", "lat", "lon"]], on="site"
    )  # as the stage saves it
    figure = fig_ladder(rungs, pd.DataFrame(), pd.DataFrame(), site="tokyo_shibuya")
    save(figure, tmp_path, "rail")
    mine = rungs.loc[rungs["site"] == "tokyo_shibuya"]
    x = np.concatenate([line.get_xdata() for line in figure.axes[0].lines if line.get_marker() in ("^", "o", "s")])
    assert np.allclose(np.sort(x), np.sort(mine["ref_km"])) and len(names_of(figure)) == 24
    assert figure.axes[0].get_xscale() == "log"


def test_next_to_nothing_is_said_and_a_wrong_site_is_named(frames, tmp_path):
    ladder, points, sites = frames
    save(fig_ladder(ladder.head(1), points, sites), tmp_path, "one")
    for absent in (ladder.iloc[:0], pd.DataFrame(columns=["model"])):
        figure = fig_ladder(absent, points, sites)
        assert "no ladder in this run" in " ".join(t.get_text() for t in figure.findobj(Text)).replace("\n", " ")
    with pytest.raises(ConfigError, match="no ladder of the site 'zz'; there are ladders of: s1, s2|s2, s1"):
        fig_ladder(ladder, points, sites, site="zz")
    assert set(ladder_sites(ladder)) == {"s1", "s2"}


def test_the_notebook_draws_it_from_a_run(project, tmp_path):
    import yaml

    book = json.loads((project / "notebooks" / "figures" / "fig_ladder.ipynb").read_text(encoding="utf-8"))
    told = book["metadata"]["signpost"]
    assert told["needs"] == ["13_ladder"] and told["study"] == "geocontext" and told["kind"] == "figure"
    profile = {"source": {"kind": "town", "n": 2, "seed": 7}, "models": ["prior"],
               "context": {"hints": {"schemas": ["forced"]}, "respondents": {"a": {}}}}  # fmt: skip
    (tmp_path / "p.yml").write_text(yaml.safe_dump(profile))
    space: dict = {}
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"]
            exec("".join(cell["source"]), space)
            if "parameters" in cell["metadata"].get("tags", []):
                space |= {"profile": str(tmp_path / "p.yml"), "run_dir": str(tmp_path / "run")}
    assert (tmp_path / "run" / "figures" / "fig_ladder.png").stat().st_size > 30_000
