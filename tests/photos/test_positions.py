"""Positions in EXIF blocks, XMP packets and tables, well-formed and as cameras really write them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from signpost_kit.benchmark.photos import read_position
from signpost_kit.benchmark.positions import check_pair, parse_angle, position_from_exif, position_from_xmp

NAN = math.nan


def _exif(lat, lon, lat_ref="N", lon_ref="E", **more):
    block = {1: lat_ref, 2: lat, 3: lon_ref, 4: lon} | {int(tag[1:]): value for tag, value in more.items()}
    return position_from_exif({tag: value for tag, value in block.items() if value is not None})


@pytest.mark.parametrize(
    ("lat", "lon"),
    [(48.2, 16.3), (-33.45, -70.66), (-0.3713, 36.05), (51.5, -0.1275), (-0.25, -0.5), (12, 179.9999), (0.0, 9.45)],
)
def test_signs_survive_the_way_through_a_file(maker, lat, lon):
    position = read_position(maker.photo("a.jpg", lat, lon)).position
    assert position is not None
    assert (position.lat, position.lon) == (pytest.approx(lat, abs=1e-6), pytest.approx(lon, abs=1e-6))
    assert (position.source, position.notes) == ("exif", ())


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tif", "avif"])
def test_every_container(maker, suffix):
    position = read_position(maker.photo(f"a.{suffix}", -41.3, 174.8)).position
    assert position is not None and position.lat == pytest.approx(-41.3, abs=1e-6)
    xmp = maker.xmp_packet(GPSLatitude="41,18.0S", GPSLongitude="174,48.0E")
    if suffix == "png":
        from PIL.PngImagePlugin import PngInfo

        info = PngInfo()
        info.add_itxt("XML:com.adobe.xmp", xmp.decode(), zip=True)
        path = maker.photo("x.png", pnginfo=info)
    else:
        path = maker.photo(f"x.{suffix}", xmp=xmp) if suffix != "tif" else maker.photo("x.tif", tiffinfo={700: xmp})
    position = read_position(path).position
    assert position is not None and (position.lat, position.lon, position.source) == (-41.3, 174.8, "xmp")


def test_a_picture_that_says_nothing(maker):
    reading = read_position(maker.photo("a.jpg"))
    assert (reading.position, reading.reason) == (None, "")


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        (_exif((NAN, NAN, NAN), (NAN, NAN, NAN)), "undefined"),
        (_exif((48.0, NAN, NAN), (16.0, 18.5, 0.0)), "latitude is undefined"),
        (_exif((48.0, 12.0, 0.0), (math.inf, 0.0, 0.0)), "longitude is undefined"),
        (_exif((48.0, 12.0, 0.0), (16.0, 18.0, 0.0), lat_ref=None), "GPSLatitudeRef) is missing"),
        (_exif((48.0, 12.0, 0.0), (16.0, 18.0, 0.0), lon_ref="\0"), "GPSLongitudeRef) is missing"),
        (_exif((48.0, 12.0, 0.0), (16.0, 18.0, 0.0), lon_ref="N"), "GPSLongitudeRef) is 'N'"),
        (_exif((48.0, 12.0, 0.0), (16.0, 18.0, 0.0), t9="V"), "Status V"),
        (_exif((48.0, 12.0, 0.0), None), "no longitude"),
        (_exif((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), "placeholder"),
        (_exif((48.0, 15.0, 595404.032), (11.0, 40.0, 330528.0)), "seconds are 595404"),
        (_exif((48.0, 61.0, 0.0), (11.0, 40.0, 0.0)), "minutes are 61"),
        (_exif((213.6,), (103.5,)), "latitude 213.6 is outside"),
        (_exif((139.7,), (35.6,)), "look exchanged"),
        (_exif((45.0,), (190.0,)), "longitude 190 is outside"),
        (_exif((-48.0, 12.0, 0.0), (11.0, 40.0, 0.0)), "negative but marked N"),
        (_exif("north of the river", "x"), "cannot be read"),
        (_exif(("a", "b"), ("c",)), "no numbers"),
        (_exif((), ()), "undefined"),
        (_exif(4294967295.0, (1.0,)), "outside -90..90"),
    ],
)
def test_unusable_exif_says_why(reading, words):
    assert reading.position is None
    assert words in reading.reason


def test_undefined_seconds_are_absent_when_minutes_are_good():
    fine = _exif((48.0, 53.32358, NAN), (21.0, 2.59507, NAN)).position  # a Nikon D5000 in Slovakia
    assert fine is not None
    assert (fine.lat, fine.lon) == (pytest.approx(48.888726, abs=1e-6), pytest.approx(21.043251, abs=1e-6))
    assert fine.notes == ("the seconds are undefined (0/0) and read as absent",)
    coarse = _exif((48.0, 53.0, NAN), (21.0, 2.0, NAN)).position
    assert coarse is not None and "1.8 km" in coarse.notes[0]
    degrees = _exif((48.888726, NAN, NAN), (21.043251, 0.0, 0.0)).position
    assert degrees is not None and degrees.lat == 48.888726


def test_text_in_exif_is_read_with_a_note():
    text = _exif("52,00000,50,00000,34,01180", "11,00000,10,00000,58,28360").position
    assert text is not None
    assert (text.lat, text.lon) == (
        pytest.approx(52 + 50 / 60 + 34.0118 / 3600),
        pytest.approx(11 + 10 / 60 + 58.2836 / 3600),
    )
    assert "text" in text.notes[0]
    plain = _exif(b"52.5\0", "13.4", "S", "W").position
    assert plain is not None and (plain.lat, plain.lon) == (-52.5, -13.4)


def test_negative_degrees_with_the_matching_letter():
    position = _exif((Fraction(-33), 27, 0), (Fraction(-70), 40, 0), "S", "W").position
    assert position is not None
    assert (position.lat, position.lon) == (-33.45, pytest.approx(-70.666667, abs=1e-6))


def test_destination_is_never_the_position():
    assert position_from_exif({19: "N", 20: (10.0, 0.0, 0.0), 21: "E", 22: (10.0, 0.0, 0.0)}).position is None
    reading = position_from_xmp('exif:GPSDestLatitude="10,0N" exif:GPSDestLongitude="10,0E"')
    assert (reading.position, reading.reason) == (None, "")


@pytest.mark.parametrize(
    ("packet", "lat", "lon"),
    [
        ('exif:GPSLatitude="0,4.21601S" exif:GPSLongitude="34,22.91611E"', -0.0702668, 34.3819352),
        (
            "<exif:GPSLatitude>48,53.323582N</exif:GPSLatitude>\n<exif:GPSLongitude> 21,2.595070E </exif:GPSLongitude>",
            48.8887264,
            21.0432512,
        ),
        ("e:GPSLatitude='10,30,36S' e:GPSLongitude='20,15,0W'", -10.51, -20.25),
        ('exif:GPSLatitude="-33.45" exif:GPSLongitude="+151.2"', -33.45, 151.2),
        (
            'exif:GPSLatitudeRef="S" exif:GPSLatitude="33.45" exif:GPSLongitudeRef="W" exif:GPSLongitude="70.5"',
            -33.45,
            -70.5,
        ),
        ('exif:GPSLatitude="33/1,27/1,0/100" exif:GPSLatitudeRef="S" exif:GPSLongitude="70,30W"', -33.45, -70.5),
        ('drone:GpsLatitude="+22.55" drone:GpsLongtitude="113.95"', 22.55, 113.95),
        ('exif:GPSLatitude="52°30\'36&quot;N" exif:GPSLongitude="13.4E"', 52.51, 13.4),
    ],
)
def test_xmp_forms(packet, lat, lon):
    position = position_from_xmp(packet).position
    assert position is not None
    assert (position.lat, position.lon) == (pytest.approx(lat, abs=1e-6), pytest.approx(lon, abs=1e-6))
    assert position.source == "xmp"


@pytest.mark.parametrize(
    ("packet", "words"),
    [
        ('exif:GPSLatitude="10,0N"', "only one of latitude and longitude"),
        ('exif:GPSLatitude="nan" exif:GPSLongitude="1"', "cannot be read"),
        ('exif:GPSLatitude="0,0N" exif:GPSLongitude="0,0E"', "placeholder"),
        ('exif:GPSLatitude="10,75N" exif:GPSLongitude="1,0E"', "minutes are 75"),
        ('exif:GPSLatitude="10,0E" exif:GPSLongitude="1,0E"', "letter E does not belong"),
        ('exif:GPSLatitude="&xxe;" exif:GPSLongitude="1,0E"', "cannot be read"),
        ('exif:GPSStatus="V" exif:GPSLatitude="10,0N" exif:GPSLongitude="1,0E"', "no fix"),
    ],
)
def test_unusable_xmp_says_why(packet, words):
    reading = position_from_xmp(packet)
    assert reading.position is None
    assert words in reading.reason


def test_huge_packets_do_not_hang():
    for text in (
        "a.b-" * 500_000,
        "GPSLatitude " * 200_000,
        "<exif:GPSLatitude>" * 100_000,
        'GPSLatitude="' * 100_000,
    ):
        assert position_from_xmp(text).position is None


def test_exif_before_xmp_and_xmp_where_exif_is_useless(maker):
    xmp = maker.xmp_packet(GPSLatitude="48,12N", GPSLongitude="16,18E")
    near = read_position(maker.photo("near.jpg", 48.2, 16.3, xmp=xmp)).position
    assert near is not None and (near.source, near.notes) == ("exif", ())
    far = read_position(maker.photo("far.jpg", -33.0, 16.3, xmp=xmp)).position
    assert far is not None and far.source == "exif" and "XMP says 48.20000, 16.30000" in far.notes[0]
    no_ref = maker.gps_block(-1, 2)
    del no_ref[1]
    rescued = read_position(maker.photo("ref.jpg", gps=no_ref, xmp=xmp)).position
    assert rescued is not None and (rescued.source, rescued.lat) == ("xmp", 48.2)
    assert "GPSLatitudeRef" in rescued.notes[0]


@pytest.mark.parametrize(
    ("text", "axis", "value"),
    [
        ("-33.45", "latitude", -33.45),
        ("−33,45", "latitude", -33.45),
        ("33.45 S", "latitude", -33.45),
        ("W 70.5", "longitude", -70.5),
        ("-70.5 W", "longitude", -70.5),
        ("52°31'12\" N", "latitude", 52.52),
        ("52 deg 31' 12.00\" N", "latitude", 52.52),
        ("0° 30′ S", "latitude", -0.5),
        ("13:24:0", "longitude", 13.4),
    ],
)
def test_angles_in_tables(text, axis, value):
    assert parse_angle(text, axis) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no latitude"),
        ("Berlin", "is no latitude"),
        ("10 E", "letter E"),
        ("-10 N", "negative but marked N"),
        ("N 10 S", "two letters"),
        ("10 99", "minutes are 99"),
        ("1e3x", "is no latitude"),
    ],
)
def test_angles_that_are_none(text, words):
    with pytest.raises(ValueError, match=words):
        parse_angle(text, "latitude")


def test_pairs():
    assert check_pair(90, 180) == check_pair(-90, -180) == check_pair(0, 10) == check_pair(10, 0) == ""
    assert "placeholder" in check_pair(0.0005, -0.0005)
    assert "not a number" in check_pair(NAN, 1)
    assert "exchanged" in check_pair(121.4, 31.2)
    assert "exchanged" not in check_pair(121.4, 131.2)
