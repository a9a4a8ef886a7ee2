"""JSON objects, verdicts, probing and defense replies: what is said is read, what is not said is missing."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signpost_kit.parsing import parse_defense, parse_json_object, parse_probing, parse_verdict

OBJECTS = [
    ('{"a": 1}', {"a": 1}),
    ('Sure!\n```json\n{"a": 1,}\n```\nHope it helps {smile}.', {"a": 1}),
    ('first {"a": 1} then {"b": 2} end', {"b": 2}),
    ('{"a": 1} {"a": null}', {"a": 1}),
    ("{a: 1, 'b': 'it's fine', c: True, d: None,}", {"a": 1, "b": "it's fine", "c": True, "d": None}),
    (
        '{"lat": 29.7, "city": Houston, "country": United States}',
        {"lat": 29.7, "city": "Houston", "country": "United States"},
    ),
    ('{"city": "Kyiv," "country": "Ukraine"}', {"city": "Kyiv,", "country": "Ukraine"}),
    ('{"x": 1, // one, two\n "url": "http://a/b"}', {"x": 1, "url": "http://a/b"}),
    ('{"a": "say "hi" now", "b": 2}', {"a": 'say "hi" now', "b": 2}),
    ('{"a": {"b": [1, 2, {"c": 3}]}}', {"a": {"b": [1, 2, {"c": 3}]}}),
    ('{"a": 6.05,\n St. Andrew\'s, Lagos\n}', {"a": 6.05}),
    ('"{\\"a\\": 1}"', {"a": 1}),
    ('<think>{"a": 0}</think>{"a": 1}', {"a": 1}),
    ('He said "ok {"a": 1}', {"a": 1}),
    ('{"a": -12.97° S}', {"a": "-12.97° S"}),
    ("{}", {}),
    ("no object", None),
    ("{broken", None),
    ("", None),
    (None, None),
]


@pytest.mark.parametrize(("text", "expected"), OBJECTS)
def test_objects(text, expected):
    assert parse_json_object(text) == expected


VERDICTS = [
    ('{"verdict": "no", "confidence": 0.85}', "no", 0.85),
    ('```json\n{"verdict": "Yes", "confidence": "85%", "evidence": ["a", "b"],}\n```', "yes", 0.85),
    ('{"verdict": true, "confidence": 90}', "yes", 0.9),
    ("**Verdict:** No\n**Confidence:** 0.7", "no", 0.7),
    ("Yes. The tower is visible.", "yes", math.nan),
    ('{"verdict": "no", "confidence": "high"}', "no", math.nan),
    ('{"verdict": "yes", "confidence": 1}', "yes", 1.0),
]


@pytest.mark.parametrize(("text", "verdict", "confidence"), VERDICTS)
def test_verdicts(text, verdict, confidence):
    found = parse_verdict(text)
    assert (found.verdict, found.status) == (verdict, "ok")
    assert found.confidence == pytest.approx(confidence, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "empty"),
        ('{"verdict": "uncertain"}', "unparseable"),
        ("I cannot determine where this is.", "refused"),
        ("Error: timeout", "error"),
        ("No doubt it is close.", "unparseable"),
    ],
)
def test_no_verdict_is_missing(text, status):
    found = parse_verdict(text)
    assert found.verdict is None
    assert found.status == status
    assert found.reason


def test_thirty_real_verdicts(shared_data: Path):
    rows = [
        json.loads(line)
        for name in ("verify_raw.jsonl", "verify_raw_2.jsonl")
        for line in (shared_data / "geocontext" / name).read_text(encoding="utf-8").splitlines()
    ]
    assert len(rows) == 30
    for row in rows:
        found = parse_verdict(row["raw"])
        written = row["raw"].split('"verdict": "')[1].split('"')[0]
        assert (found.verdict, found.status) == (written, "ok")
        assert found.confidence == float(row["raw"].split('"confidence": ')[1].split(",")[0])


PROBING = {
    "visual_evidence": "palms",
    "visual_region": "Spain",
    "textual_evidence": ["CALLE", "MAYOR"],
    "textual_region": "none",
    "consistent": False,
    "consistency_explanation": "they differ",
    "trusted_source": "Visual",
    "trust_explanation": "the sign looks new",
    "final_prediction": {"lat": 36.7, "lon": -4.4},
}


def test_probing_from_json():
    reply = parse_probing(f"```json\n{json.dumps(PROBING)}\n```")
    assert (reply.lat, reply.lon, reply.status) == (36.7, -4.4, "ok")
    assert reply.textual_evidence == "CALLE; MAYOR"
    assert reply.textual_region == "none"
    assert reply.consistent is False
    assert (reply.consistency_explanation, reply.trust_explanation) == ("they differ", "the sign looks new")
    assert reply.trusted_source == "Visual"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (True, True),
        ("Yes", True),
        ("false", False),
        ("Inconsistent", False),
        ("N/A", None),
        (None, None),
        ("partly", None),
    ],
)
def test_consistent_is_true_false_or_missing(written, meant):
    assert parse_probing(json.dumps(PROBING | {"consistent": written})).consistent is meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("visual cues", "Visual"),
        ("the text", "Textual"),
        ("Both", "Both"),
        ("visual and textual", "Both"),
        ("unknown", "Unknown"),
        ("Visual, since the text looks edited", "Visual"),
        ("42", None),
        (None, None),
    ],
)
def test_trusted_source_under_four_names(written, meant):
    assert parse_probing(json.dumps(PROBING | {"trusted_source": written})).trusted_source == meant


def test_probing_from_lines_and_without_a_prediction():
    text = (
        "**Visual evidence:** palms\n**Visual region:** Spain\n**Textual evidence:** near 10.5, 20.5\n"
        "**Consistent:** No\n**Explanation:** they differ\n**Trusted source:** Both\n**Explanation:** either may hold\n"
        "**Final prediction:** 36.7, -4.4"
    )
    reply = parse_probing(text)
    assert (reply.visual_region, reply.consistent, reply.trusted_source) == ("Spain", False, "Both")
    assert (reply.consistency_explanation, reply.trust_explanation) == ("they differ", "either may hold")
    assert (reply.lat, reply.lon) == (36.7, -4.4)  # not the numbers of the evidence
    assert reply.textual_region is None
    unsure = parse_probing(json.dumps(PROBING | {"final_prediction": "unknown"}))
    assert unsure.status == "refused"
    assert unsure.consistent is False  # the other fields stand


DEFENSE = "Visual: palms, Spain\nText: CALLE, Spain\nConflict: {conflict}\nTrusted: Both\nFinal: 36.7, -4.4"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("yes", True),
        ("**No**", False),
        ("Yes, they differ", True),
        ("none", False),
        ("N/A", None),
        ("unclear", None),
        ("There is no conflict", False),
    ],
)
def test_defense_conflict(written, meant):
    reply = parse_defense(DEFENSE.format(conflict=written))
    assert reply.conflict is meant
    assert (reply.visual, reply.text, reply.trusted) == ("palms, Spain", "CALLE, Spain", "Both")
    assert (reply.lat, reply.lon, reply.status) == (36.7, -4.4, "ok")


def test_a_missing_conflict_line_is_missing():
    reply = parse_defense(
        "**Visual:** palms\n**Text:** reads 10.5, 20.5\n**Trusted:** Visual\n**Final:** 36.7° N, 4.4° W"
    )
    assert reply.conflict is None
    assert (reply.lat, reply.lon) == (36.7, -4.4)
    numbered = parse_defense("1. Visual: a\n2. Text: b\n3. Conflict: yes\n4. Trusted: Textual\n5. Final: 1.5, 2.5")
    assert (numbered.conflict, numbered.trusted, numbered.lat) == (True, "Textual", 1.5)
    as_json = parse_defense(
        '{"visual": "a", "text": "b", "conflict": false, "trusted": "visual", "final": {"lat": 1, "lon": 2}}'
    )
    assert (as_json.conflict, as_json.trusted, as_json.lon) == (False, "Visual", 2.0)
    nothing = parse_defense("")
    assert (nothing.status, nothing.conflict, nothing.visual) == ("empty", None, None)


pieces = st.sampled_from(
    [
        '{"',
        '": "',
        '"}',
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        ":",
        ",",
        "\\",
        "\n",
        "//",
        "/*",
        "*/",
        "a",
        "1",
        "null",
        "Visual: ",
        "yes",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=120), st.lists(pieces, max_size=40).map("".join)))
def test_never_raises(text):
    found = parse_json_object(text)
    assert found is None or isinstance(found, dict)
    parse_verdict(text)
    parse_probing(text)
    parse_defense(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=20),
    lambda x: st.lists(x, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(min_size=1, max_size=8), json_values, min_size=1, max_size=5))
def test_strict_json_is_read_unchanged(value):
    written = json.dumps(value)
    assert parse_json_object(written) == value
    if '"' in written and any(item is not None and item != [] for item in value.values()):
        assert parse_json_object(f"Here you are:\n```json\n{json.dumps(value, indent=1)}\n```") is not None


@pytest.mark.parametrize(
    "unit", ["{", '{"a":', '"', "'", "/*", "{x", '{"a": b "', "Visual: ", "[", '{"a":1}', "\\"]
)
def test_a_megabyte_of_anything_takes_little_time(unit):
    text = unit * (1_000_000 // len(unit))
    started = time.perf_counter()
    for parse in (parse_json_object, parse_verdict, parse_probing, parse_defense):
        parse("{" + text + "}")
    assert time.perf_counter() - started < 20  # linear: about 1 s
