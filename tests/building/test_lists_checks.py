"""Every row of a list is accounted for, and doubts about the whole list are told with how sure they are."""

from __future__ import annotations

import csv
import random

import pytest

from signpost_kit.benchmark.lists import check_list, select
from signpost_kit.benchmark.lists.exchange import exchange_test
from signpost_kit.errors import DataError
from signpost_kit.geocoding.index import load_index


def write(tmp_path, lines: list[str], header: str = "id,lat,lon", name: str = "list.csv"):
    path = tmp_path / name
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8", errors="surrogateescape")
    return path


BAD = {
    "a1,,": "no coordinates",
    "a2,nan,10": "no coordinates",
    "a3,inf,10": "not a number",
    "a4,north,10": "not a number",
    "a5,0,0": "0, 0",
    "a6,0.00001,-0.00002": "0, 0",
    "a7,90.5,10": "out of range",
    "a8,10,180.5": "out of range",
    ",10,20": "no id",
    "nan,10,20": "no id",
    "1.23457E+13,10,20": "damaged id",
    '"1,23457E+13",10,20': "damaged id",
    "12345678901234567.0,10,20": "damaged id",
    "#NAME?,10,20": "damaged id",
    "a9,10": "torn row",
    "a10,10,20,30": "torn row",
}


def test_every_bad_row_has_its_reason_and_the_numbers_add_up(tmp_path):
    path = write(tmp_path, ["ok/../1,48.8,2.3", *BAD, "ok2,48.8,2.4,,", "", "ok3,-33.9 ,151.2"])
    rejects = tmp_path / "rejected.csv"
    selection = select(path, rejects=rejects)
    report = selection.report
    assert [row.id for row in selection.rows()] == ["ok/../1", "ok2", "ok3"]
    with rejects.open(newline="", encoding="utf-8") as handle:
        got = list(csv.DictReader(handle))
    assert [row["kind"] for row in got] == list(BAD.values())
    assert [int(row["line"]) for row in got] == list(range(3, 3 + len(BAD)))
    assert all(row["reason"] for row in got)
    assert report.rows == report.usable + sum(report.reasons.values()) == 3 + len(BAD)


def test_bytes_that_are_no_text_far_down_the_list_cost_only_their_row(tmp_path):
    lines = [f"{'x' * 60}{i},{i % 80}.5,{i % 170}.25" for i in range(5000)]
    path = write(tmp_path, [*lines, "b\udcff,10,20", "last,10,21"])
    report = check_list(path)
    assert report.layout.encoding == "utf-8-sig"
    assert (report.usable, report.reasons) == (5001, {"damaged id": 1})


def test_a_row_that_only_fits_exchanged_is_said_to_and_never_exchanged(tmp_path):
    report = check_list(write(tmp_path, ["a,151.2,-33.9", "b,48.8,2.3"]))
    assert report.reasons == {"out of range": 1}
    assert "look exchanged" in report.examples[0].reason


def test_duplicates_and_conflicts(tmp_path):
    lines = [
        "a,48.8,2.3",
        "b,10,20",
        "a,48.8,2.300001",
        "c,1,2",
        "b,10,21",
        "d,5,5",
        "a,48.8,2.3",
        "e,48.8,2.3",
        "f,1.5,9",
        "f,2.5,9",
    ]
    selection = select(write(tmp_path, lines))
    assert [row.id for row in selection.rows()] == ["a", "c", "d", "e"]
    assert selection.report.reasons == {"duplicate id": 2, "id with two positions": 4}
    reasons = {(row.line, row.kind): row.reason for row in selection.report.examples}
    assert "line 2" in reasons[4, "duplicate id"]
    assert "lines 3, 6" in reasons[3, "id with two positions"]


def test_shared_positions_are_told_and_kept(tmp_path):
    lines = [f"x{i},48.5,2.5" for i in range(30)] + [f"y{i},{i}.5,7" for i in range(20)]
    report = check_list(write(tmp_path, lines))
    (check,) = [check for check in report.checks if check.name == "positions"]
    assert report.usable == 50
    assert check.verdict == "doubtful"
    assert "30 are at 48.5, 2.5" in check.found


def test_ids_that_end_in_point_zero_are_doubted_and_rounded_ones_are_wrong(tmp_path):
    report = check_list(write(tmp_path, [f"{123456789 + i}.0,48.5,{i}" for i in range(5)]))
    assert [(c.verdict, "5 ids" in c.found) for c in report.checks if c.name == "ids"] == [("doubtful", True)]
    report = check_list(write(tmp_path, [f"{123456789012345 + i}00,48.5,{i}" for i in range(5)]))
    assert [c.verdict for c in report.checks if c.name == "ids"] == ["wrong"]
    honest = [f"{random.Random(i).randrange(10**16, 10**17)},48.5,{i}" for i in range(50)]
    assert [c.verdict for c in check_list(write(tmp_path, honest)).checks if c.name == "ids"] == ["fine"]


def cities(n: int, seed: int = 1) -> list[tuple[float, float]]:
    """Positions as street pictures have them: at some cities, a little off."""
    index, rng = load_index(), random.Random(seed)
    places = rng.sample(range(len(index)), n)
    return [
        (float(index.lat[i]) + rng.uniform(-0.1, 0.1), float(index.lon[i]) + rng.uniform(-0.1, 0.1)) for i in places
    ]


def test_exchanged_columns_stop_the_import_and_the_remedy_works(tmp_path):
    places = [(lat, lon) for lat, lon in cities(400) if abs(lon) <= 90]  # every value is possible either way
    wrong = write(tmp_path, [f"{i},{lon},{lat}" for i, (lat, lon) in enumerate(places)])
    with pytest.raises(DataError, match=r"exchanged: of [\d,]+ places .*source.exchanged to true"):
        select(wrong)
    mended = select(wrong, exchanged=True)
    assert [c.verdict for c in mended.report.checks if "latitude" in c.name] == ["fine"]
    first = next(mended.rows())
    assert (first.lat, first.lon) == places[0]
    as_it_is = next(select(wrong, exchanged=False).rows())
    assert (as_it_is.lat, as_it_is.lon) == places[0][::-1]
    report = check_list(wrong)
    (check,) = [c for c in report.checks if "latitude" in c.name]
    assert (check.verdict, check.remedy) == ("wrong", "set source.exchanged to true")


def test_right_columns_pass_and_a_handful_cannot_be_judged():
    lat, lon = (list(values) for values in zip(*cities(300), strict=True))
    import numpy as np

    right = exchange_test(np.array(lat), np.array(lon))
    assert (right.verdict, right.near_as_written > 0.99) == ("right", True)
    assert exchange_test(np.array(lon), np.array(lat)).verdict == "exchanged"
    assert exchange_test(np.array(lat[:2]), np.array(lon[:2])).verdict == "cannot tell"
    assert exchange_test(np.array([]), np.array([])).verdict == "cannot tell"
    # One place a thousand times is one place.
    assert exchange_test(np.full(1000, lon[0]), np.full(1000, lat[0])).verdict == "cannot tell"


def test_nothing_usable_is_an_error_that_counts(tmp_path):
    with pytest.raises(DataError, match=r"no usable row in .*2 rows, 0 usable \(2 0, 0\)"):
        select(write(tmp_path, ["a,0,0", "b,0,0"]))


def test_an_open_quotation_mark_is_reported(tmp_path):
    path = write(tmp_path, ['"a,1,2', "b,3,4", "c,5,6"])
    report = check_list(path)
    assert report.usable == 0
    assert report.reasons == {"torn row": 1}


def test_lines_are_right_after_a_cell_with_line_breaks(tmp_path):
    path = write(tmp_path, ['a,1,2,"one\ntwo\nthree"', "b,3,4,x", "c,0,0,y"], header="id,lat,lon,title")
    selection = select(path)
    assert [(row.id, row.line) for row in selection.rows()] == [("a", 2), ("b", 5)]
    assert selection.report.examples[0].line == 6


def test_small_chunks_change_nothing(tmp_path):
    lines = [f"p{i % 40},{(i * 7) % 80}.5,{(i * 13) % 170}.25" for i in range(100)] + list(BAD)
    path = write(tmp_path, lines)
    one, many = select(path, strict=False), select(path, strict=False, chunk_rows=7)
    assert list(one.rows()) == list(many.rows())
    assert one.report.reasons == many.report.reasons
    assert one.report.checks == many.report.checks


def test_missing_pictures_and_a_limit(tmp_path):
    path = write(tmp_path, ["a,1,2", "b,3,4", "c,5,6", "d,7,8"])
    selection = select(path, missing=lambda ids: {i: "not there" for i, x in enumerate(ids) if x == "b"}, limit=2)
    assert [row.id for row in selection.rows()] == ["a", "c"]
    assert (selection.report.usable, selection.report.chosen) == (3, 2)
    assert selection.report.reasons == {"no picture": 1}


def test_the_frame_has_a_row_for_every_check_and_reason(tmp_path):
    frame = check_list(write(tmp_path, ["a,48.8,2.3", "b,0,0"])).frame()
    assert list(frame.columns) == ["check", "verdict", "found", "remedy"]
    assert list(frame["check"]) == ["form", "rows", "latitude and longitude", "ids", "positions", "0, 0"]
