"""The field's own lists, as they were published."""

from __future__ import annotations

import csv
import random

import pytest

from signpost_kit.benchmark.lists import Sample, check_list, describe_list, select
from signpost_kit.errors import DataError

LISTS = {
    "im2gps3k_places365.csv": (
        "im2gps",
        2997,
        "1000269685_e60e9cdfb4_1125_14788399@N00.jpg",
        32.325436,
        -64.764404,
    ),
    "im2gps_places365.csv": ("im2gps", 237, "104123223_7410c654ba_19_00822675@N00.jpg", -16.663606, 145.563537),
    "yfcc25600_places365.head2000.csv": ("im2gps", 2000, "45/77/3228511372.jpg", 46.778991, 23.611207),
    "osv5m_game_select.csv": ("osv5m", 50, "297765091851450", -43.94258213019922, 170.12986498719653),
}


@pytest.mark.parametrize("name", LISTS)
def test_the_published_lists(shared_data, name):
    form, rows, ident, lat, lon = LISTS[name]
    selection = select(shared_data / "meta" / name)
    assert (selection.report.layout.format, selection.report.rows, selection.report.usable) == (form, rows, rows)
    first = next(selection.rows())
    assert (first.id, first.lat, first.lon) == (ident, lat, lon)
    assert {c.name: c.verdict for c in selection.report.checks}["latitude and longitude"] == "fine"
    with (shared_data / "meta" / name).open(newline="", encoding="utf-8") as handle:  # against a plain reading
        column = describe_list(selection.layout.path).columns["id"]
        assert [row.id for row in selection.rows()] == [cells[column] for cells in list(csv.reader(handle))[1:]]


@pytest.mark.parametrize("name", LISTS)
def test_exchanging_the_columns_of_a_published_list_is_found(shared_data, tmp_path, name):
    source = shared_data / "meta" / name
    layout = describe_list(source)
    with source.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.reader(handle))
    lat, lon = layout.columns["lat"], layout.columns["lon"]
    for row in rows[1:]:
        row[lat], row[lon] = row[lon], row[lat]
    path = tmp_path / name
    with path.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows(rows)
    report = check_list(path)
    (check,) = [check for check in report.checks if check.name == "latitude and longitude"]
    assert check.verdict == "wrong"
    with pytest.raises(DataError, match=r"set source.exchanged|Set source.exchanged"):
        select(path)
    assert select(path, exchanged=True).report.usable == LISTS[name][1]


def test_countries_of_osv5m_against_its_own_column(shared_data, tmp_path):
    """The nearest city's country is right for 48 of these 50, two of which lie at a border."""
    from signpost_kit.benchmark.lists.places import countries_at

    rows = list(select(shared_data / "meta" / "osv5m_game_select.csv").rows())
    import numpy as np

    found = countries_at(np.array([r.lat for r in rows]), np.array([r.lon for r in rows]))
    assert sum(code == row.country for code, row in zip(found, rows, strict=True)) >= 48


def test_a_sample_of_im2gps3k_is_the_same_in_any_order(shared_data, tmp_path):
    source = shared_data / "meta" / "im2gps3k_places365.csv"
    lines = source.read_bytes().splitlines()
    body = lines[1:]
    random.Random(4).shuffle(body)
    (tmp_path / "mixed.csv").write_bytes(b"\n".join([lines[0], *body]))
    one, other = (list(select(p, sample=Sample("country")).rows()) for p in (source, tmp_path / "mixed.csv"))
    assert [row.id for row in one] == [row.id for row in other]
    assert 400 < len(one) < 1200
