"""Lists of pictures: the field's forms are recognised, and a list that has none of them is told what it lacks."""

from __future__ import annotations

import gzip

import pytest

from signpost_kit.benchmark.lists import describe_list, select
from signpost_kit.errors import ConfigError, DataError

IM2GPS = (
    "IMG_ID,AUTHOR,LAT,LON,S3_Label\r\n1000_e60_14788399@N00.jpg,a,48.85,2.35,2\r\n45/77/32.jpg,b,-33.9,151.2,0\r\n"
)
STREET = (
    "panoid,province,city,county,wgs_lat,wgs_lon,lat,lon,heading,capture date\n"
    "-AbC_dEf,Hubei,Wuhan,Hanyang,30.55,114.27,30.552,114.276,271.5,2019-05\n"
)
OSV5M = ",id,pred_lat,pred_lon,true_lat,true_lon,region,country\n0,297765091851450,-44.2,170.1,-43.9,170.2,Canterbury,NZ\n"


def yfcc(kind: str, n: int = 5) -> str:
    """YFCC100M's table: as first published (`users`), with numbers and hashes (`hashes`), or cut (`numbers`)."""
    lines = []
    for i in range(n):
        cells = [""] * 25
        if kind == "users":
            cells[0], cells[1], cells[10], cells[11], cells[14], cells[22] = (
                f"98765{i}", f"1234{i}@N0{i}", f"{2 + i}.5", f"4{i % 10}.25", f"http://farm.example/{i}.jpg", str(int(i == 3)),
            )  # fmt: skip
            cells = cells[:23]
        elif kind == "hashes":
            cells[0], cells[1], cells[3], cells[12], cells[13], cells[16], cells[24] = (
                str(i), f"98765{i}", f"1234{i}@N0{i}", f"{2 + i}.5", f"4{i % 10}.25", f"http://farm.example/{i}.jpg", str(int(i == 3)),
            )  # fmt: skip
        else:
            cells[0], cells[1], cells[10], cells[11], cells[14] = (
                str(7 * i), f"98765{i}", f"{2 + i}.5", f"4{i % 10}.25", f"https://farm.example/{i}.jpg",
            )  # fmt: skip
            cells = cells[:15]
        cells[6] = '"a title that opens with a mark'
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


def write(tmp_path, text: str, name: str = "list.csv", encoding: str = "utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def rows(path, **options):
    return list(select(path, **options).rows())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_im2gps_with_crlf_at_signs_and_slashes(tmp_path, encoding):
    path = write(tmp_path, IM2GPS.replace("a,", "é,"), encoding=encoding)
    assert describe_list(path).format == "im2gps"
    first, second = rows(path)
    assert (first.id, first.lat, first.lon) == ("1000_e60_14788399@N00.jpg", 48.85, 2.35)
    assert (second.id, second.lat, second.lon, second.line) == ("45/77/32.jpg", -33.9, 151.2, 3)


def test_street_view_takes_wgs_columns_and_the_heading(tmp_path):
    path = write(tmp_path, STREET)
    assert describe_list(path).format == "street-view"
    (row,) = rows(path)
    assert (row.id, row.lat, row.lon) == ("-AbC_dEf", 30.55, 114.27)
    assert (row.admin, row.city, row.country, row.heading, row.captured) == (
        "Hubei",
        "Wuhan",
        "CN",
        271.5,
        "2019-05",
    )


def test_osv5m_never_takes_a_prediction_for_the_truth(tmp_path):
    path = write(tmp_path, OSV5M)
    assert describe_list(path).format == "osv5m"
    (row,) = rows(path)
    assert (row.id, row.lat, row.lon, row.country) == ("297765091851450", -43.9, 170.2, "NZ")


@pytest.mark.parametrize(
    ("kind", "columns"), [("users", (0, 11, 10, 14)), ("hashes", (1, 13, 12, 16)), ("numbers", (1, 11, 10, 14))]
)
def test_yfcc100m_is_told_by_what_its_columns_hold(tmp_path, kind, columns):
    path = write(tmp_path, yfcc(kind), "yfcc.tsv")
    layout = describe_list(path)
    assert layout.format == "yfcc100m"
    assert tuple(layout.columns[role] for role in ("id", "lat", "lon", "url")) == columns
    selection = select(path)
    got = list(selection.rows())
    expected = [0, 1, 2, 4] if kind != "numbers" else [0, 1, 2, 3, 4]  # the fourth is a video where that is told
    assert [row.id for row in got] == [f"98765{i}" for i in expected]
    assert (got[1].lat, got[1].lon) == (41.25, 3.5)
    assert selection.report.reasons["video"] == 5 - len(expected)


def test_a_stray_quotation_mark_in_a_dump_swallows_nothing(tmp_path):
    text = yfcc("users", 40)
    assert select(write(tmp_path, text, "a.tsv")).report.rows == 40


def test_compressed_semicolons_and_any_names(tmp_path):
    path = tmp_path / "own.csv.gz"
    path.write_bytes(gzip.compress(b"Photo;Lat;Lng\nx.jpg;48,5;2,25\n"))
    (row,) = rows(path)
    assert describe_list(path).format == "table"
    assert (row.id, row.lat, row.lon) == ("x.jpg", 48.5, 2.25)


def test_a_named_form_must_fit(tmp_path):
    path = write(tmp_path, OSV5M)
    assert describe_list(path, "table").columns["lat"] == 4
    with pytest.raises(DataError, match="no column img_id"):
        describe_list(path, "im2gps")
    with pytest.raises(DataError, match="no YFCC100M table"):
        describe_list(path, "yfcc100m")
    with pytest.raises(ConfigError, match="allowed are auto, im2gps"):
        describe_list(path, "im2gps3k")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("id,lat\n1,2\n", "no column for the longitude; its first line has id, lat"),
        ("id,lat,lat,lon\n1,2,2,3\n", "'lat' stands twice"),
        ("1000269685,32.3,-64.7\n", "no column for the picture's id"),
        ("id,lat\0,lon\n", "no text file"),
    ],
)
def test_a_list_that_cannot_be_read_says_what_it_lacks(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        describe_list(write(tmp_path, text))


def test_a_missing_list(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        describe_list(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a folder"):
        describe_list(tmp_path)


def test_broken_compression_is_one_clear_line(tmp_path):
    whole = gzip.compress(("id,lat,lon\n" + "".join(f"{i},48.5,{i % 90}.25\n" for i in range(100_000))).encode())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="cut.csv.gz cannot be read"):
        select(tmp_path / "cut.csv.gz")
