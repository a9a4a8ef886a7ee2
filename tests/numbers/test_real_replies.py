"""Real replies: distances recorded by the benchmark they come from, and odd ones read by eye."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pandas as pd
import pytest

from signpost_kit.geo import haversine_km
from signpost_kit.parsing import parse_coordinates


@pytest.fixture(scope="module")
def replies(shared_data: Path) -> pd.DataFrame:
    return pd.read_csv(shared_data / "replies" / "qwen2_vl_7b_replies.csv")


def test_801_replies_give_the_recorded_distance(replies):
    assert len(replies) == 801
    compared = 0
    for row in replies.itertuples():
        reply = parse_coordinates(row.reply)
        if pd.isna(row.recorded_lat) or not _stand_in(row.reply, row.recorded_lat, row.recorded_lon):
            continue
        compared += 1
        assert reply.status == "ok", row.reply
        assert haversine_km(reply.lat, reply.lon, row.label_lat, row.label_lon) == pytest.approx(
            row.distance_km, abs=0.01
        )
    assert compared == 800


def test_a_reply_the_benchmark_failed_to_read_is_read(replies):
    # Broken JSON with a loose address line; the text gives 6.05, 3.05 and the benchmark recorded nothing.
    row = replies[replies["recorded_lat"].isna()].iloc[0]
    assert parse_coordinates(row["reply"])[:3] == (6.05, 3.05, "ok")


def _stand_in(text: str, lat: float, lon: float) -> bool:
    written = {float(number) for number in re.findall(r"-?\d+\.?\d*", text)}
    return lat in written and lon in written


# Number of the line -> what a person reads there.
BY_EYE = {
    0: (40.7711, -111.8911, "ok"),  # the second estimate, under "Answer"
    1: (52.654, -1.2026, "ok"),  # mojibake degrees, and a map link in degrees, minutes, seconds
    2: (40.7414, -74.0143, "ok"),
    3: (32.3666, -110.7263, "ok"),  # "-110.7263E", "-110.7263W" and "110.7263 W" for one place
    4: (29.425967, -98.486142, "ok"),
    6: (52.523, 13.592, "ok"),  # two places, neither labelled final: the last
    7: (None, None, "unparseable"),  # a city by name
    8: (None, None, "empty"),
    10: (None, None, "refused"),
    11: (None, None, "unparseable"),
    14: (-0.75, 37.0, "ok"),  # Unicode minus
    16: (43.3639, -8.409, "ok"),  # minus and W
    18: (45.593056, 22.802778, "ok"),  # degrees, minutes, seconds with primes
    20: (-34.357222, 18.471944, "ok"),  # SOUTH and EAST in quotation marks
    21: (-33.856944, 151.215, "ok"),
    22: (30.5136, -91.2768, "ok"),
    24: (None, None, "refused"),
    25: (None, None, "refused"),  # "Not available"
    28: (0.0, 0.0, "ok"),  # 0,0 written as coordinates
    33: (None, None, "refused"),  # empty strings
    39: (-5.7793, -35.2009, "ok"),  # a second object full of nulls
    40: (-26.1822, 28.0089, "ok"),  # unquoted strings
    44: (52.36667, 4.91667, "ok"),  # a table of headings before
    47: (27.483915, -80.764043, "ok"),  # no braces
    48: (None, None, "out_of_range"),  # latitude -95.983
    55: (None, None, "refused"),
    59: (None, None, "refused"),  # the benchmark recorded a position that is not in the text
    60: (None, None, "refused"),  # the same, "N/A"
    63: (None, None, "out_of_range"),
    66: (None, None, "error"),  # a connection error stored as a reply
    68: (None, None, "unparseable"),  # ranges
    69: (None, None, "unparseable"),
    70: (36.74, -5.16, "ok"),
    72: (50.4528, 30.5942, "ok"),  # a comma inside the quotation marks
    75: (50.0, -100.0, "ok"),  # comments in the JSON
}


@pytest.fixture(scope="module")
def odd(shared_data: Path) -> list[dict]:
    with (shared_data / "replies" / "raw_replies.jsonl").open(encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


def test_odd_replies_are_read_as_a_person_reads_them(odd):
    assert len(odd) == 78
    for number, (lat, lon, status) in BY_EYE.items():
        reply = parse_coordinates(odd[number]["raw"])
        assert reply.status == status, (number, reply)
        if status == "ok":
            assert (reply.lat, reply.lon) == pytest.approx((lat, lon), abs=2e-5), (number, reply)


def test_recorded_positions_that_stand_in_the_text_are_found(odd):
    compared = 0
    for number, row in enumerate(odd):
        reply = parse_coordinates(row["raw"])
        try:
            recorded = float(row["source_recorded_lat"]), float(row["source_recorded_lon"])
        except (TypeError, ValueError):
            continue
        if reply.status == "ok":
            compared += 1
            assert (reply.lat, reply.lon) == pytest.approx(recorded), number
    assert compared == 32  # of 36; two are off the globe, two stand nowhere in the text


def test_a_typical_json_reply_takes_under_15_microseconds(replies):
    text = replies["reply"].iloc[0]
    best = min(_timed(text) for _ in range(7))
    assert best < 15e-6


def _timed(text: str) -> float:
    started = time.perf_counter()
    for _ in range(500):
        parse_coordinates(text)
    return (time.perf_counter() - started) / 500
