"""Tables of positions as people make them."""

from __future__ import annotations

import pytest

from signpost_kit.benchmark.sidecar import find_sidecar, read_sidecar
from signpost_kit.errors import DataError

PICTURES = ["a.jpg", "sub/b.png", "sub/c.jpg", "other/c.jpg", "Ä.jpg"]


def _read(tmp_path, content, name="positions.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_sidecar(path)


@pytest.mark.parametrize(
    "content",
    [
        "filename,lat,lon\na.jpg,-33.45,151.2\n",
        "\ufefffilename,lat,lon\r\na.jpg,-33.45,151.2\r\n",
        "File;Latitude;Longitude\r\na.jpg;-33,45;151,2\r\n",
        "image\tlng\tlatitude\na.jpg\t151.2\t-33.45\n",
        "id,name,lat,long,city\n1,a.jpg,33.45 S,151.2 E,Sydney\n",
        'SourceFile,GPSLatitude,GPSLongitude\n./a.jpg,"33 deg 27\' 0.00"" S","151 deg 12\' 0.00"" E"\n',
        'filename,lat,lon\n"a.jpg","-33,45","151,2"\n',
        "filename,lat,lon\nA.JPG,-33.45,151.2\n",
        "filename,lat,lon\na,-33.45,151.2\n",
        "filename,lat,lon\nC:\\photos\\a.jpg,-33.45,151.2\n",
        "filename,lat,lon\n/home/me/a.jpg,-3.345e1,151.2\n\n",
        "filename,lat,lon\na.jpg,-33.45,151.2\na.jpg,-33.45,151.2\n",
        "filename,lat,lon\na.jpg,-33.45,151.2\n".encode("utf-16"),
        "filename,place,lat,lon\na.jpg,Zürich,-33.45,151.2\n".encode("cp1252"),
    ],
)
def test_forms(tmp_path, content):
    table = _read(tmp_path, content)
    assert table.match(PICTURES) == []
    position = table.reading("a.jpg").position
    assert position is not None
    assert (position.lat, position.lon, position.source) == (pytest.approx(-33.45), pytest.approx(151.2), "sidecar")
    assert table.reading("sub/b.png") == table.reading("absent") and table.reading("absent").reason == ""


def test_matching_by_path_name_and_unicode_form(tmp_path):
    rows = "filename,lat,lon\nsub\\c.jpg,1,1\nother/c.jpg,2,2\nb.png,3,3\nA\u0308.jpg,4,4\n"
    table = _read(tmp_path, rows)
    assert table.match(PICTURES) == []
    found = {name: table.reading(name).position for name in PICTURES}
    assert {name: position.lat for name, position in found.items() if position} == {
        "sub/c.jpg": 1,
        "other/c.jpg": 2,
        "sub/b.png": 3,
        "Ä.jpg": 4,
    }


def test_rows_that_fit_no_picture_or_several(tmp_path):
    table = _read(tmp_path, "filename,lat,lon\nabsent.jpg,1,1\nc.jpg,2,2\n,3,3\nelse/a.png,4,4\nsub2/b.png,5,5\n")
    reasons = [(row.line, reason) for row, reason in table.match(PICTURES)]
    assert reasons == [
        (2, "no picture of this name is in the folder"),
        (3, "it fits 2 pictures (other/c.jpg, sub/c.jpg)"),
        (4, "it has no file name"),
        (5, "no picture of this name is in the folder"),
        (6, "no picture of this name is in the folder"),
    ]
    assert all(table.reading(name).position is None for name in PICTURES)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("a.jpg,100,20", "line 2: latitude 100 is outside -90..90; latitude and longitude look exchanged"),
        ("a.jpg,10,200", "line 2: longitude 200 is outside"),
        ("a.jpg,0,0", "placeholder"),
        ("a.jpg,inf,20", "not a number"),
        ("a.jpg,Berlin,20", "'Berlin' is no latitude"),
        ("a.jpg,10,", "only one of latitude and longitude"),
        ("a.jpg,52,5,13,4", "5 cells where the header has 3; with decimal commas use semicolons"),
        ("a.jpg,10,20\nb.png,1,1\na.jpg,10,21", "lines 2 and 4 give different positions: 10, 20 and 10, 21"),
        ("a.jpg,10,20\na.jpg,95,20", "line 3: latitude 95"),
    ],
)
def test_bad_rows_say_where_and_why(tmp_path, rows, words):
    table = _read(tmp_path, f"filename,lat,lon\n{rows}\n")
    table.match(PICTURES)
    reading = table.reading("a.jpg")
    assert reading.position is None
    assert words in reading.reason


def test_blank_cells_say_nothing(tmp_path):
    table = _read(tmp_path, "filename,lat,lon\na.jpg,,\nsub/b.png,NaN,n/a\nsub/c.jpg\n")
    assert table.match(PICTURES) == []
    assert [table.reading(name) for name in PICTURES[:3]] == [table.reading("absent")] * 3


def test_a_table_with_exchanged_columns_is_noted(tmp_path):
    table = _read(tmp_path, "filename,lat,lon\na.jpg,151.2,-33.4\nsub/b.png,13.4,52.5\n")
    assert "1 of 2 latitudes are beyond 90 degrees" in table.notes[0]
    fine = _read(tmp_path, "filename,lat,lon\na.jpg,95,-33.4\nsub/b.png,13.4,152.5\n")
    assert fine.notes == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("filename,lat,lon\n", "no rows"),
        (
            "filename,lat,elevation\na,1,2\n",
            "no column for the longitude; it has filename, lat, elevation; call it one of longitude",
        ),
        ("id,lat,lon\n1,1,1\n", "no column for the file name"),
        ("filename,lat,lat,lon\na,1,2,3\n", "'lat' stands twice"),
        (b"PK\x03\x04\0\0\0\0\0\0", "not a text file"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, content, words):
    with pytest.raises(DataError, match=words):
        _read(tmp_path, content)


def test_missing_table_and_the_usual_name(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.csv does not exist"):
        read_sidecar(tmp_path / "nowhere.csv")
    assert find_sidecar(tmp_path) is None
    (tmp_path / "positions.tsv").write_text("x")
    assert find_sidecar(tmp_path) == tmp_path / "positions.tsv"
