"""Points, place nodes and picture lists from files; admission of cities, the draw of sites, by hand-computed values."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from signpost_kit.errors import DataError
from signpost_kit.hints.plan import HintSite
from signpost_kit.ladder.around import Entity
from signpost_kit.ladder.draw import POINT_COLUMNS, draw_ladder
from signpost_kit.ladder.files import read_points
from signpost_kit.ladder.lists import read_picture_list, read_place_nodes
from signpost_kit.ladder.selection import (
    SiteRules,
    admit_city,
    district_scale,
    is_block_number,
    select_sites,
    site_pictures,
)
from signpost_kit.ladder.wikidata import photographable

KM = 1 / 111.195  # degrees of latitude
SITE = HintSite("s1", "Paris", 48.85, 2.35, (), "FR")


def test_own_points_get_distances_and_ids_that_hints_can_be_known_by(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text(
        "site,name_en,lat,lon,referenceability,qid,name_local\n"
        f"s1,Old Bridge,{48.85 + KM},2.35,4,,Vieux Pont\ns1,Station,{48.85 + 2 * KM},2.35,1,Q12,\n"
        "other,Elsewhere,1,1,3,,\n",
        encoding="utf-8",
    )
    frame = read_points(path, [SITE])
    assert list(frame.columns) == list(POINT_COLUMNS) and list(frame["ref_km"]) == [1.0, 2.0]
    assert list(frame["name_local"]) == ["Vieux Pont", "Station"] and set(frame["auditor"]) == {"own"}
    assert frame["qid"].iloc[1] == "Q12" and frame["qid"].str.fullmatch(r"Q\d+").all()
    drawn, _ = draw_ladder(frame)
    assert list(drawn["tier"]) == ["high", "low"] and list(drawn["band"]) == ["0.5-1.5km", "1.5-3.0km"]
    semicolons = path.read_text(encoding="utf-8").replace(",", ";").replace("48.", "48,")
    (tmp_path / "de.csv").write_text(semicolons, encoding="utf-8")
    assert read_points(tmp_path / "de.csv", [SITE])["ref_km"].tolist() == [1.0, 2.0]


def test_every_wrong_row_is_named(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text(
        "site,name_en,lat,lon,referenceability,qid\n"
        "s1,A,48.8,2.3,6,\ns1,,48.8,2.3,3,\ns1,C,98.8,2.3,3,\ns1,D,,,3,\ns1,E,48.8,2.3,3,x1\n,F,48.8,2.3,3,\n",
        encoding="utf-8",
    )
    with pytest.raises(DataError) as caught:
        read_points(path, [SITE])
    for part in ("row 2: the referenceability of 'A' is '6'", "row 3: name_en", "row 4: the position of 'C'",
                 "row 5: lat and lon", "row 6: the qid of 'E' is 'x1'", "row 7: the site"):  # fmt: skip
        assert part in str(caught.value), part
    for text, match in (
        ("site,name_en\ns1,A\n", r"lacks the column\(s\) lat, lon, referenceability"),
        ("site,name_en,lat,lon,referenceability\nzz,A,1,1,1\n", "no point of this run's sites.*zz"),
        ("site,name_en,lat,lon,referenceability,qid\ns1,A,48.8,2.3,3,Q1\ns1,B,48.8,2.3,3,Q1\n", "stands twice"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=match):
            read_points(path, [SITE])
    with pytest.raises(DataError, match=r"context\.ladder\.path is missing"):
        read_points(tmp_path.__class__(""), [SITE])
    with pytest.raises(DataError, match="do not exist"):
        read_points(tmp_path / "nowhere", [SITE])


def test_released_ladders_are_read_with_their_distances(shared_data):
    sites = pd.read_csv(shared_data / "geocontext" / "sites.csv", keep_default_na=False)
    known = [HintSite(r["site"], r["city"], r["lat"], r["lon"], (), r["country"]) for r in sites.to_dict("records")]
    frame = read_points(shared_data / "geocontext" / "ladders", known)
    assert frame.groupby("site").size().to_dict()["tokyo_shibuya"] == 24  # data rows, by SOURCE.md
    assert len(frame) == 24 + 26 + 26 + 29 + 27 + 27 and frame["lat"].isna().all()
    row = frame.loc[(frame["site"] == "tokyo_shibuya") & (frame["qid"] == "Q746573")].iloc[0]
    assert (row["name_en"], row["name_local"], row["ref_km"], row["referenceability"]) == (
        "Harajuku", "原宿", 1.203, 5.0,
    )  # fmt: skip
    released = pd.read_csv(shared_data / "geocontext" / "ladders" / "tokyo_shibuya_ladder_deepseek-en.csv")
    drawn, cells = draw_ladder(frame.loc[frame["site"] == "tokyo_shibuya"], draws=4)
    both = drawn.merge(released, on="qid", suffixes=("", "_file"))
    assert (
        len(both) == 24 and (both["band"] == both["band_file"]).all() and (both["tier"] == both["tier_file"]).all()
    )
    assert int(cells["short"].sum()) == 9 - 5  # five cells of the file have n_taken 4


def nodes(rows):
    return pd.DataFrame(rows, columns=["lat", "lon", "place", "name", "name_en"]).assign(id="")


def test_the_district_scale_is_the_median_distance_to_the_nearest_other_node():
    line = [(0.0, 0.0), (0.3, 0.0), (0.9, 0.0), (2.1, 0.0)]  # km to the north: nearest 0.3, 0.3, 0.6, 1.2
    rows = [(lat * KM, lon, "suburb", f"N{lat}", "") for lat, lon in line]
    rows += [(0.31 * KM, 0, "quarter", "渋谷二丁目", ""), (0.32 * KM, 0, "suburb", "x", "Ebisu 1-chōme")]
    rows += [(0.01 * KM, 0, "city", "not a district", ""), (9 * KM, 0, "suburb", "too far", "")]
    found = district_scale(nodes(rows), 0.0, 0.0)
    assert (found.n, found.n_raw) == (4, 6)
    assert found.median_km == pytest.approx(0.45, abs=1e-4) and found.mean_km == pytest.approx(0.6, abs=1e-4)
    assert found.per_km2 == pytest.approx(4 / (math.pi * 36))
    one = district_scale(nodes(rows[:1]), 0.0, 0.0)
    assert one.n == 1 and math.isnan(one.median_km) and math.isnan(district_scale(nodes([]), 0, 0).mean_km)
    assert [is_block_number(n) for n in ("Nihonbashi 3 Chome", "Choumei", "六本木", "丸の内一丁目")] == [
        True, False, False, True,
    ]  # fmt: skip


def test_released_scales_and_cities_follow_the_rules_as_far_as_they_can_be_recomputed(shared_data):
    scale = pd.read_csv(shared_data / "geocontext" / "district_scale.csv")
    assert np.allclose(scale["n_nodes_filtered"] / (math.pi * 36), scale["nodes_per_km2"], atol=0.006)
    assert (scale["n_nodes_filtered"] <= scale["n_nodes_raw"]).all()
    odd = scale.loc[scale["n_nodes_filtered"] < scale["n_nodes_raw"], "site"]
    assert {name.split("_")[0] for name in odd} == {"tokyo", "cdmx"}
    pool = pd.read_csv(shared_data / "geocontext" / "city_pool.csv", keep_default_na=False)
    yes = {name: pool[name].astype(str) == "True" for name in ("ok_streetview", "ok_scale", "eligible")}
    verdicts = [
        admit_city(n, float(km or "nan")) for n, km in zip(pool["sv_perspective"], pool["L_district"], strict=True)
    ]
    assert [v.ok_pictures for v in verdicts] == yes["ok_streetview"].tolist()
    assert (yes["ok_streetview"] & yes["ok_scale"]).tolist() == yes["eligible"].tolist()
    differ = {
        city
        for city, v, theirs in zip(pool["city"], verdicts, yes["ok_scale"], strict=True)
        if v.ok_scale != theirs
    }
    # Rounded to two places these three lie within 0.32 to 0.65 km; the file leaves them out, Lisbon (0.33) it does not.
    assert differ == {"Seville", "Tokyo", "Bogota"}
    assert "fewer than two" in admit_city(100, math.nan).reason and admit_city(30, 0.32).eligible
    assert (
        admit_city(29, 0.66).reason
        == "29 perspective pictures, 30 are needed; the district scale is 0.66 km, not within 0.32 to 0.65"
    )


def test_place_nodes_from_overpass_and_from_tables_are_the_same(tmp_path):
    elements = [
        {
            "type": "node",
            "id": 1,
            "lat": 35.1,
            "lon": 139.1,
            "tags": {"place": "suburb", "name": "甲", "name:en": "K"},
        },
        {"type": "way", "id": 2, "tags": {"place": "suburb"}},
        {"type": "node", "id": 3, "lat": 35.2, "lon": 139.2, "tags": {"amenity": "bench"}},
        {
            "type": "node",
            "id": 1,
            "lat": 35.1,
            "lon": 139.1,
            "tags": {"place": "suburb", "name": "甲", "name:en": "K"},
        },
    ]
    (tmp_path / "o.json").write_text(json.dumps({"version": 0.6, "elements": elements}), encoding="utf-8")
    (tmp_path / "o.csv").write_text(
        "@id\t@lat\t@lon\tplace\tname\tname:en\n1\t35.1\t139.1\tsuburb\t甲\tK\n", encoding="utf-8"
    )
    one, two = read_place_nodes(tmp_path / "o.json"), read_place_nodes(tmp_path / "o.csv")
    assert one.to_dict("records") == two.to_dict("records") == [
        {"id": "1", "lat": 35.1, "lon": 139.1, "place": "suburb", "name": "甲", "name_en": "K"}
    ]  # fmt: skip
    for name, text, match in (
        ("a.json", "{", "no sound JSON"),
        ("b.json", "[]", "no list 'elements'"),
        ("c.json", '{"elements": []}', "no node"),
        ("d.csv", "lat,lon\n1,2\n", "lacks the column.*place"),
        ("e.csv", "lat,lon,place\nx,2,suburb\n", "row 2: the position is 'x'"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=match):
            read_place_nodes(tmp_path / name)


def test_picture_lists_tell_panoramas_apart(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(
        "image_id,latitude,lng,is_pano,camera_type\n11,1,2,false,perspective\n12,1,2,true,\n13,1,2,,fisheye\n14,1,2,,\n"
        "11,1,2,false,perspective\n",
        encoding="utf-8",
    )
    assert read_picture_list(path)[["id", "perspective"]].to_numpy().tolist() == [
        ["11", True], ["12", False], ["13", False], ["14", True],
    ]  # fmt: skip
    path.write_text("id,lat,lon\n1,1,2\n1,1,3\n,1,1\n2,91,0\n", encoding="utf-8")
    with pytest.raises(DataError, match="row 3: 1 stands twice.*row 4: the id.*row 5: the position"):
        read_picture_list(path)


def things():
    """Twenty bridges 400 m apart to the north, one icon, one shop, one without pictures, one far away."""
    row = [
        Entity(f"Q{i}", i * 0.4 * KM - 2 * KM, 0.0, f"Bridge {i}", kinds=("Q12280",), sitelinks=i)
        for i in range(11)
    ]
    return [
        *row,
        Entity("Q90", 0.001, 0.0, "Icon", kinds=("Q12280",), sitelinks=61),
        Entity("Q91", 0.0, 0.001, "Shop", kinds=("Q213441",)),
        Entity("Q92", 0.0, 0.02, "Lonely Museum", kinds=("Q33506",)),
        Entity("Q93", 3.1 * KM, 0.0, "Far Museum", kinds=("Q33506",)),
        Entity("Q94", row[5].lat + 0.1 * KM, 0.0, "Twin Museum", kinds=("Q33506",)),
        Entity("Q95", 0.0, 0.0, "", kinds=("Q33506",)),
    ]


def pictures():
    at = [(e.lat, e.lon) for e in things() if e.qid not in ("Q92",)]
    rows = [(f"{k}{i}", lat + 0.05 * KM, lon, True) for i, (lat, lon) in enumerate(at) for k in range(8)]
    rows += [(f"pano{i}", 0.0, 0.02, False) for i in range(20)]
    return pd.DataFrame(rows, columns=["id", "lat", "lon", "perspective"])


def drawn(seed, entities=None):
    return select_sites(
        entities or things(), pictures(), city="São Paulo", country="BR", centre=(0.0, 0.0), kinds=photographable(),
        seed=seed,
    )  # fmt: skip


def test_sites_are_drawn_by_lot_and_what_is_refused_is_told_why():
    sites, refused = drawn(1)
    assert (
        len(sites) == 3 and set(sites["wd_type"]) <= {"bridge", "museum"} and (sites["sv_perspective"] >= 8).all()
    )
    assert set(sites["continent"]) == {"SA"} and sites["site"].str.startswith("saopaulo_").all()
    assert sites["site"].is_unique
    why = refused.set_index("qid")["reason"]
    assert why["Q90"] == "61 sitelinks, at most 60 are allowed" and "photographable" in why["Q91"]
    assert why["Q92"] == "0 perspective pictures within 150 m, 8 are needed"
    assert why["Q93"].startswith("3.1 km from the centre") and why["Q95"] == "it has no name"
    assert len(sites) + len(refused) == len(things())
    same, _ = drawn(1, list(reversed(things())))
    assert same.equals(sites)  # the order of the entities does not matter
    first = [drawn(seed)[0]["sitelinks"].iloc[0] for seed in range(40)]
    assert 2.5 < np.mean(first) < 7.5 and len(set(first)) > 6  # not by sitelinks


def test_sites_keep_their_distance():
    for seed in range(30):
        sites, _ = drawn(seed)
        lat = np.sort(sites["lat"].to_numpy()) / KM
        assert (np.diff(lat) >= 0.25).all()
    sites, refused = select_sites(
        things(), pictures(), city="X", country="", centre=(0.0, 0.0), kinds=photographable(),
        rules=SiteRules(per_city=50),
    )  # fmt: skip
    assert len(sites) == 11 and refused["reason"].str.startswith("nearer than 250 m").sum() == 1
    none, _ = select_sites([], pictures(), city="X", country="", centre=(0, 0), kinds=photographable())
    assert none.empty and "site" in none


def test_pictures_of_sites_are_drawn_near_them_and_belong_to_one():
    sites, _ = drawn(1)
    chosen = site_pictures(sites, pictures(), per_site=5)
    assert chosen.groupby("site").size().tolist() == [5, 5, 5] and chosen["image"].is_unique
    assert (chosen["m"] <= 150).all() and np.allclose(chosen["m"] % 100, 50, atol=0.2)
    assert site_pictures(sites.iloc[:0], pictures()).empty
