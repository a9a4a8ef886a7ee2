"""Every way of writing a position that models were seen to use, and every way of not giving one.

The texts are made up after forms found in real replies; expected values are read off by eye.
"""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signpost_kit.frames import STATUSES
from signpost_kit.parsing import parse_coordinates

PARIS, SYDNEY = (48.85, 2.35), (-33.8568, 151.2153)

READ = [
    # JSON
    ('{"lat": 48.85, "lon": 2.35}', PARIS, "json"),
    ('```json\n{\n  "lat": 48.85,\n  "long": 2.35,\n  "city": "Paris"\n}\n```', PARIS, "json"),
    ('{"lon": 2.35, "lat": 48.85}', PARIS, "json"),
    ('{"latitude": "48.85", "longitude": "2.35"}', PARIS, "json"),
    ('{"answer": {"position": {"lat": 48.85, "lng": 2.35}}, "confidence": 0.9}', PARIS, "json"),
    ('{"lat": {"value": 48.85}, "lon": {"value": 2.35}}', PARIS, "json"),
    ('{"lat": "48.85° N", "lon": "2.35° E"}', PARIS, "json"),
    ('{"lat": 33.8568° S, "lon": 151.2153° E}', SYDNEY, "json"),
    ('{"lat": 48.85, "lon": 2.35, "city": Paris, "country": France}', PARIS, "json"),
    ('{"lat": 48.85, // roughly\n "long": 2.35, // very roughly\n}', PARIS, "json"),
    ('- "lat": 48.85, "long": 2.35, "heading": 270, "pitch": -5', PARIS, "json"),
    ("{lat: 48.85, lon: 2.35}", PARIS, "labelled"),
    ("{'lat': '-33.8568', 'lon': '151.2153'}", SYDNEY, "json"),
    ('"{\\"lat\\": 48.85, \\"lon\\": 2.35}"', PARIS, "json"),
    ('{"coordinates": [48.85, 2.35]}', PARIS, "tuple"),
    ('{"coordinates": "48.85, 2.35"}', PARIS, "plain"),
    ('{"type": "Point", "coordinates": [2.35, 48.85]}', PARIS, "geojson"),
    ('{"lat": 5e-5, "lon": 1.2e-05}', (5e-5, 1.2e-5), "json"),
    # one sign, not two
    ('{"lat": "33.8568 S", "lon": "-70.91 W"}', (-33.8568, -70.91), "json"),
    ("Latitude: -33.8568° S, Longitude: 151.2153° E", SYDNEY, "labelled"),
    ("approximately 20.6485° N and -98.8333° W", (20.6485, -98.8333), "hemisphere"),
    # plain
    ("48.85, 2.35", PARIS, "plain"),
    ("48.85,2.35", PARIS, "plain"),
    ("48.85 2.35", PARIS, "plain"),
    ("48, 2", (48.0, 2.0), "plain"),
    ("(48.85, 2.35)", PARIS, "tuple"),
    ("It is Bennelong Point (-33.8568, 151.2153), near number 12.", SYDNEY, "tuple"),
    ("The coordinates are 51.5074, -.1278", (51.5074, -0.1278), "plain"),
    ("- 48.85, 2.35", PARIS, "plain"),
    ("1. 48.85, 2.35", PARIS, "plain"),
    ("(48.85, 2.35, 35)", PARIS, "plain"),
    ("48.85 ± 0.01, 2.35 ± 0.02", PARIS, "plain"),
    ("-0.37, 0.12", (-0.37, 0.12), "plain"),
    # Unicode signs
    ("\u221233.8568, 151.2153", SYDNEY, "plain"),
    ("\u201333.8568, \u201370.5", (-33.8568, -70.5), "plain"),
    ("\uff14\uff18\uff0e\uff18\uff15\uff0c\uff12\uff0e\uff13\uff15", PARIS, "plain"),
    # decimal commas
    ("48,8566; 2,3522", (48.8566, 2.3522), "plain"),
    ("48,8566, 2,3522", (48.8566, 2.3522), "plain"),
    ("48,8566,2,3522", (48.8566, 2.3522), "plain"),
    ("Breite 48,8566° N, Länge 2,3522° E", (48.8566, 2.3522), "labelled"),
    ("48,8566° N, 2,3522° E", (48.8566, 2.3522), "hemisphere"),
    ("POINT (2.35 48.85)", PARIS, "wkt"),
    ('{"lat": 48,8566, "lon": 2,3522}', (48.8566, 2.3522), "json"),
    # hemispheres
    ("48.85 N, 2.35 W", (48.85, -2.35), "hemisphere"),
    ("N48.85 W2.35", (48.85, -2.35), "hemisphere"),
    ("S 33.8568, E 151.2153", SYDNEY, "hemisphere"),
    ("33.8568S151.2153E", SYDNEY, "hemisphere"),
    ("48.85° north, 2.35° west", (48.85, -2.35), "hemisphere"),
    ("151.2153 E, 33.8568 S", SYDNEY, "hemisphere"),
    ("北纬48.85°，东经2.35°", PARIS, "hemisphere"),
    # degrees, minutes, seconds
    ("33°51'25\"S, 151°12'54\"E", (-33.856944, 151.215), "dms"),
    (
        "33\u00b0 51\u2032 25\u2033 S latitude, 151\u00b0 12\u2032 54\u2033 E longitude",
        (-33.856944, 151.215),
        "dms",
    ),
    ('the panel says "33°51\'25" SOUTH" and "151°12\'54" EAST"', (-33.856944, 151.215), "dms"),
    ("0°22'S, 0°30'W", (-0.366667, -0.5), "dms"),
    ("33°51.5'S, 151°12.9'E", (-33.858333, 151.215), "dms"),
    (
        "33 degrees 51 minutes 25 seconds South, 151 degrees 12 minutes 54 seconds East",
        (-33.856944, 151.215),
        "dms",
    ),
    ("33:51:25S 151:12:54E", (-33.856944, 151.215), "dms"),
    ('{"latitude": "33°51\'25\\"S", "longitude": "151°12\'54\\"E"}', (-33.856944, 151.215), "dms"),
    # damaged degree signs
    ("48.85\u00c2\u00b0 N, 2.35\u00c2\u00b0 W", (48.85, -2.35), "hemisphere"),
    ("48.85\ufffdN, 2.35\ufffdW", (48.85, -2.35), "hemisphere"),
    ("48.85&deg; N, 2.35&deg; W", (48.85, -2.35), "hemisphere"),
    ("$48.85^\\circ$ N, $2.35^\\circ$ W", (48.85, -2.35), "hemisphere"),
    ('{"lat": "48.85\\u00b0 N", "lon": "2.35\\u00b0 W"}', (48.85, -2.35), "json"),
    # labels
    ("**Latitude:** 48.85\n**Longitude:** -2.35", (48.85, -2.35), "labelled"),
    ("*   **Latitude:** 48.85\n*   **Longitude:** 2.35\n*   **City:** Paris", PARIS, "labelled"),
    ("Lat: - 33.8568, Lon: 151.2153", SYDNEY, "labelled"),
    ("Lat. 48.85, Long. 2.35", PARIS, "labelled"),
    ("Latitude, Longitude: 48.85, 2.35", PARIS, "labelled"),
    ("lon/lat: 2.35, 48.85", PARIS, "labelled"),
    ("approximately 12.0 latitude and 100.0 longitude", (12.0, 100.0), "labelled"),
    (
        "a latitude of approximately 36 degrees north and longitude of about -4.3 degrees west",
        (36, -4.3),
        "labelled",
    ),
    ("| Latitude | Longitude |\n|---|---|\n| 48.85 | 2.35 |", PARIS, "labelled"),
    # map links
    ("https://www.google.com/maps/@48.85,2.35,17z", PARIS, "map_link"),
    ("https://www.google.com/maps/place/X/@48.1,2.2,17z/data=!3d48.85!4d2.35", PARIS, "map_link"),
    ("see https://www.openstreetmap.org/?mlat=48.85&mlon=2.35#map=15/48.1/2.1.", PARIS, "map_link"),
    ("[here](https://maps.google.com/?q=48.85,2.35)", PARIS, "map_link"),
    ("https://www.google.com/maps/place/33%C2%B051'25%22S+151%C2%B012'54%22E", (-33.856944, 151.215), "map_link"),
    # thinking and prose
    ("<think>perhaps 40.71, -74.01</think>\n48.85, 2.35", PARIS, "plain"),
    ("perhaps 40.71, -74.01</think>\n48.85, 2.35", PARIS, "plain"),
    ("I'm sorry, I can't be certain. My best estimate is 48.85, 2.35.", PARIS, "plain"),
    ("Taken in 1998 by 3 people 12.5 km from the centre. Location: 48.85, 2.35", PARIS, "plain"),
]


@pytest.mark.parametrize(("text", "position", "form"), READ)
def test_reads(text, position, form):
    reply = parse_coordinates(text)
    assert (reply.status, reply.form, reply.n_candidates) == ("ok", form, 1)
    assert (reply.lat, reply.lon) == pytest.approx(position, abs=1e-6)


SEVERAL = [
    ("It may be 40.71, -74.01, or rather 48.85, 2.35.", PARIS, 2),
    ("Final answer: 48.85, 2.35. I also considered 40.71, -74.01.", PARIS, 2),
    (
        '{"guesses": [{"lat": 1.5, "lon": 2.5}], "final": {"lat": 48.85, "lon": 2.35}, "far": {"lat": 9.5, "lon": 9.5}}',
        PARIS,
        3,
    ),
    ("**Answer:** Rue X, Paris\nAt 48.85, 2.35, not 40.71, -74.01", PARIS, 2),
    ("<answer>48.85, 2.35</answer> and not 40.71, -74.01", PARIS, 2),
    ('{"lat": 40.71, "lon": -74.01} Looking closer: {"lat": 48.85, "lon": 2.35}', PARIS, 2),
    ('{"lat": 48.85, "lon": 2.35}\nNext view: {"lat": null, "lon": null, "heading": 0, "pitch": 0}', PARIS, 1),
    ("Latitude 48.85, longitude 2.35, that is (48.85, 2.35).", PARIS, 1),
    ("100.51, 20.52 is impossible; 48.85, 2.35", PARIS, 2),
]


@pytest.mark.parametrize(("text", "position", "n"), SEVERAL)
def test_of_several_the_final_one_else_the_last(text, position, n):
    reply = parse_coordinates(text)
    assert (reply.lat, reply.lon) == pytest.approx(position)
    assert reply.n_candidates == n
    assert (reply.reason != "") == (n > 1)


NOT_READ = [
    ("", "empty"),
    (" \n\t", "empty"),
    (None, "empty"),
    # out of range is a status, and nothing is swapped to fit
    ('{"lat": 100.5, "lon": 13.7}', "out_of_range"),
    ('{"lat": -157.828, "long": 21.3}', "out_of_range"),
    ('{"lat": 21.3, "long": 196.8}', "out_of_range"),
    ("139.6917, 35.6895", "out_of_range"),
    ("Latitude: 139.7, longitude: 35.7", "out_of_range"),
    # declined
    ("I'm sorry, but I can't help with identifying this location.", "refused"),
    ("Without more clues, a precise location cannot be determined.", "refused"),
    ('{"lat": null, "long": null, "city": "Unknown"}', "refused"),
    ('{"latitude": "Not available", "longitude": "Not available"}', "refused"),
    ('{"lat": "N/A", "lon": "N/A"}', "refused"),
    ('{"lat": "", "lon": ""}', "refused"),
    ("Not available", "refused"),
    ("The picture says: sorry, we have no imagery here.", "refused"),
    # an error stored as a reply; its address is no position
    ("Error: HTTPConnectionPool(host='10.0.0.1', port=11434): Read timed out.", "error"),
    ('{"error": {"code": 429, "message": "48.85, 2.35"}}', "error"),
    ("502 Bad Gateway", "error"),
    # ranges are no positions
    ('{"lat": 0° N - 30° S, "long": 10° E - 40° E}', "unparseable"),
    ("Latitude: Between 20°N and 60°N. Longitude: Between -120°W and +150°E", "unparseable"),
    ("48.85-48.86, 2.35-2.36", "unparseable"),
    ('{"lat_min": 1.5, "lat_max": 2.5, "lon_min": 3.5, "lon_max": 4.5}', "unparseable"),
    # 0,0 only where it is written as coordinates
    ("0,0", "unparseable"),
    ("0/0", "unparseable"),
    ("I look north (heading 0, pitch 0).", "unparseable"),
    # numbers that are something else
    ("Port-au-Prince, Haiti", "unparseable"),
    ("48.85", "unparseable"),
    ("lat: 48.85", "unparseable"),
    ("Version 1.2.3, 4.5.6 at 127.0.0.1, 8.8.8.8", "unparseable"),
    ("It is 12.5, 13.5 km away", "unparseable"),
    ("Between 21.5°C and 30.2°C", "unparseable"),
    ("| 1 | 83° | 0° |\n| 2 | 225° | 30° |", "unparseable"),
    ("20 North Street, then 40 West Avenue", "unparseable"),
    ("Confidence: 0.85, 0.15", "unparseable"),
    ("Taken 2024-05-03, 12:30:45", "unparseable"),
    ("<think>it must be 48.85, 2.35", "unparseable"),
    ("<think>it must be 48.85, 2.35</think>", "unparseable"),
    ("91°75'00\"N, 2°21'00\"E", "unparseable"),
    ('Example: {"lat": 12.34, "lon": 56.78}', "unparseable"),
]


@pytest.mark.parametrize(("text", "status"), NOT_READ)
def test_reads_no_position(text, status):
    reply = parse_coordinates(text)
    assert reply.status == status
    assert math.isnan(reply.lat)
    assert math.isnan(reply.lon)
    assert reply.reason


@pytest.mark.parametrize(
    "text", ['{"lat": 0, "lon": 0}', '{"latitude": "0.0", "longitude": "0.0"}', "0.0, 0.0", "(0, 0)", "0°N, 0°E"]
)
def test_null_island_where_it_is_written_as_coordinates(text):
    reply = parse_coordinates(text)
    assert (reply.status, reply.lat, reply.lon) == ("ok", 0.0, 0.0)


def test_an_echoed_example_is_no_answer():
    prompt = 'Reply like this: {"lat": 40.7128, "lon": -74.006}. Or as 12.5, 13.5.'
    echoed = 'You asked for {"lat": 40.7128, "lon": -74.006}.'
    assert parse_coordinates(echoed).status == "ok"
    assert parse_coordinates(echoed, echo=prompt).status == "unparseable"
    assert "example" in parse_coordinates(echoed, echo=[(40.7128, -74.006)]).reason
    both = f"48.85, 2.35 (format: {echoed})"
    assert parse_coordinates(both, echo=prompt)[:2] == PARIS
    assert parse_coordinates(both, echo=prompt).n_candidates == 1


def test_the_fast_way_reads_as_the_long_way():
    for text in ('{"lat": -1.5, "lon": 2.25}', '{"latitude": 91, "long": 0}', "-1.5, 2.25", " 1.5,190.5 "):
        fast, long = parse_coordinates(text), parse_coordinates(f"{text} \u200b")
        assert fast[2:] == long[2:]
        assert fast[:2] == pytest.approx(long[:2], nan_ok=True)


pieces = st.sampled_from(
    [
        "lat",
        "lon",
        '"',
        "'",
        "{",
        "}",
        ":",
        ",",
        " ",
        "-",
        "48.85",
        "2",
        "°",
        "N",
        "W",
        "<think>",
        "</think>",
        "0",
        ".",
        "to",
        "https://maps.google.com/?q=",
        "final",
        "\\",
        "\n",
        "e",
        "Â°",
        "(",
        ")",
        "±",
        "+",
        "/",
        "%",
        "1e-5",
        "answer: ",
        "null",
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(pieces, max_size=40).map("".join)))
def test_never_raises_and_always_says_why(text):
    reply = parse_coordinates(text)
    assert reply.status in STATUSES
    if reply.status == "ok":
        assert -90 <= reply.lat <= 90
        assert -180 <= reply.lon <= 180
        assert reply.n_candidates >= 1
    else:
        assert math.isnan(reply.lat)
        assert math.isnan(reply.lon)
        assert reply.reason


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_what_is_written_is_read(lat, lon):
    lat, lon = round(lat, 5), round(lon, 5)
    letters = f"{abs(lat):.5f}° {'S' if lat < 0 else 'N'}, {abs(lon):.5f}° {'W' if lon < 0 else 'E'}"
    for text in (
        f'{{"lat": {lat}, "lon": {lon}}}',
        f"({lat:.5f}, {lon:.5f})",
        f"Latitude: {lat:.5f}\nLongitude: {lon:.5f}",
        letters,
    ):
        reply = parse_coordinates(text)
        assert reply.status == "ok", text
        assert (reply.lat, reply.lon) == pytest.approx((lat, lon), abs=1e-9), text


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "1",
        "1 ",
        "1.",
        "1,",
        "1.5, ",
        "lat ",
        "lat: 1.5 ",
        "<think>",
        '"',
        "{",
        '{"lat":',
        " ",
        "1°",
        "final: ",
        "-",
        "N ",
        "https://",
    ],
)
def test_a_megabyte_of_anything_takes_little_time(unit):
    text = unit * (1_000_000 // len(unit))
    started = time.perf_counter()
    parse_coordinates(text)
    # Linear time is 0.1 to 1 s on a busy machine; a backtracking pattern takes minutes.
    assert time.perf_counter() - started < 10
