"""The ladder: bands, tiers and draws by seed; the teaching set's own points."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.fonts import missing_glyphs, script_of
from signpost_kit.geo import haversine_km
from signpost_kit.hints import HintSite
from signpost_kit.ladder import draw_ladder, local_points, reference_tier
from signpost_kit.ladder.draw import POINT_COLUMNS
from signpost_kit.metrics.echoes import distinctive, echo


def points_of(km: list[float], fame: list[float], site: str = "s") -> pd.DataFrame:
    n = len(km)
    frame = pd.DataFrame(
        {"site": site, "city": "c", "country": "IT", "auditor": "a", "qid": [f"Q{i}" for i in range(n)]}
    )
    names = [f"Point {i}" for i in range(n)]
    return frame.assign(name_en=names, name_local=names, lat=0.0, lon=0.0, ref_km=km, referenceability=fame)[
        list(POINT_COLUMNS)
    ]


def test_cells_are_filled_at_random_and_never_by_distance():
    km = np.linspace(0.5, 1.49, 40)
    points = points_of(list(km), [5.0] * 40)
    ladder, cells = draw_ladder(points, draws=3, seed=1)
    assert len(ladder) == 3 and set(ladder["band"]) == {"0.5-1.5km"} and set(ladder["tier"]) == {"high"}
    assert ladder["ref_km"].max() > 0.6  # the three nearest would end at 0.55
    picks = {tuple(draw_ladder(points, draws=3, seed=s)[0]["qid"]) for s in range(20)}
    assert len(picks) > 15
    again = draw_ladder(points.sample(frac=1, random_state=2), draws=3, seed=1)[0]
    assert set(again["qid"]) == set(ladder["qid"])
    row = cells.set_index(["band", "tier"]).loc[("0.5-1.5km", "high")]
    assert (row["n_found"], row["n_drawn"], row["short"]) == (40, 3, False)
    assert len(cells) == 9 and cells["short"].sum() == 8


def test_edges_of_bands_and_tiers():
    points = points_of([0.49, 0.5, 1.5, 3.0, 5.999, 6.0, 2.0, 2.0], [5, 4, 3, 1, 0, 5, math.nan, 2])
    ladder, _ = draw_ladder(points, draws=5)
    got = {row["qid"]: (row["band"], row["tier"]) for row in ladder.to_dict("records")}
    assert got == {
        "Q1": ("0.5-1.5km", "high"),
        "Q2": ("1.5-3.0km", "mid"),
        "Q3": ("3.0-6.0km", "low"),
        "Q4": ("3.0-6.0km", "low"),
        "Q7": ("1.5-3.0km", "mid"),
    }
    assert reference_tier([3.9, 1.9, -1]).tolist() == ["mid", "low", ""]
    with pytest.raises(ConfigError, match="draws is 0"):
        draw_ladder(points, draws=0)
    with pytest.raises(DataError, match="lack the column.*referenceability"):
        draw_ladder(points.drop(columns="referenceability"))
    empty, cells = draw_ladder(points.iloc[:0])
    assert empty.empty and cells.empty


@pytest.fixture(scope="module")
def sites() -> list[HintSite]:
    places = [("jp", "Tokyo", "JP", 35.68, 139.69), ("eg", "Cairo", "EG", 30.04, 31.24), ("gb", "London", "GB", 51.5, -0.12), ("th", "Bangkok", "TH", 13.75, 100.5), ("x", "Nowhere", "", 0.0, 179.99)]  # fmt: skip
    return [HintSite(site, city, lat, lon, (), country=country) for site, city, country, lat, lon in places]


def test_the_teaching_sets_own_points(sites):
    points = local_points(sites, seed=3)
    assert list(points.columns) == list(POINT_COLUMNS) and len(points) == 5 * 64
    home = {site.site: site for site in sites}
    for row in points.to_dict("records"):
        site = home[row["site"]]
        km = haversine_km(site.lat, site.lon, row["lat"], row["lon"])
        assert row["ref_km"] == pytest.approx(km, abs=2e-3) and 0.02 < km < 6.05
    for _, part in points.groupby("site"):
        assert not part["name_en"].duplicated().any() and not part["qid"].duplicated().any()
        # enough true claims and decoys: an equal share of points in every slice of the logarithmic scale
        assert (part["ref_km"] < 0.15).sum() >= 15 and part["ref_km"].between(0.15, 0.3).sum() >= 5
        assert set(reference_tier(part["referenceability"])) == {"high", "mid", "low"}
    script = points.groupby("site")["name_local"].first().map(script_of)
    assert (
        script.to_dict() == {"jp": "Japanese", "eg": "Arabic", "gb": "Latin", "th": "Thai", "x": "Latin"}
        or script["jp"] == "Han"
    )
    assert not any(missing_glyphs(name, script_of(name)) for name in points["name_local"])
    again = local_points(list(reversed(sites)), seed=3).sort_values(["site", "qid"], ignore_index=True)
    pd.testing.assert_frame_equal(again, points.sort_values(["site", "qid"], ignore_index=True))
    assert set(local_points(sites[:1], seed=4)["name_en"]) != set(points.loc[points["site"] == "jp", "name_en"])


def test_names_are_told_apart_by_their_own_word(sites):
    points = local_points(sites, seed=3)
    roots = points["name_en"].map(distinctive)
    assert roots.map(len).eq(1).all()  # "Lanjin Station" echoes as "lanjin"
    names = points.loc[points["site"] == "gb", "name_en"].tolist()
    said = echo(names, names, names[1:] + names[:1])
    assert said.sum() == 0


def test_a_point_east_of_the_date_line_is_as_near_as_one_west_of_it(sites):
    points = local_points(sites, seed=3).loc[lambda f: f["site"] == "x"]
    assert points["ref_km"].max() < 6.05 and (points["lon"] < -179).any() and points["lon"].between(-180, 180).all()
