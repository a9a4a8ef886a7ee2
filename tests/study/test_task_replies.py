"""Replies to the cross-task questions: what is said is read, what is not said is missing."""

from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signpost_kit.evaluation.tasks import parser_of, read_text
from signpost_kit.parsing.cross_task import parse_consistency, parse_country, parse_language
from signpost_kit.parsing.judgements import agreement_of, conflict_of, presence_of, source_of
from signpost_kit.prompts import load

# -- consistency ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "meant"),
    [
        ('{"consistent": false, "confidence": 0.9, "explanation": "x"}', False),
        ('```json\n{"consistent": true}\n```', True),
        ("Sure!\n{'Consistent': 'Yes', confidence: 80%,}", True),
        ('{"answer": {"consistent": "inconsistent"}}', False),
        ('{"consistency": {"value": false, "explanation": "Thai under firs"}}', False),
        ('{"result": {"consistent": false}, "note": "n"}', False),
        ('{"conflict": true}', False),
        ('{"conflict": "none"}', True),
        ('{"consistent": true, "conflict": true}', True),
        ("**Consistent:** No\n**Explanation:** they differ", False),
        ("1. Consistent: yes\n2. Confidence: 70%", True),
        ("No.", False),
        ("False", False),
        (
            "Yes, both belong to Italy and nothing in the picture speaks against it, neither plants nor vehicles.",
            True,
        ),
        ("The writing is Polish while palms line the road, so they are inconsistent.", False),
        ("I find the sign consistent with the brick terraces behind it.", True),
        ('<think>{"consistent": true}? hm</think>{"consistent": false}', False),
        ('{"consistent": true} Wait, on a second look: {"consistent": false}', False),
    ],
)
def test_consistency_is_read(reply, meant):
    found = parse_consistency(reply)
    assert (found.status, found.reason, found.consistent) == ("ok", "", meant)


@pytest.mark.parametrize("said", ['"N/A"', "null", '"n/a, no text"', '"not applicable"', '"None"', '""'])
def test_not_applicable_is_an_answer_that_says_neither(said):
    found = parse_consistency(f'{{"consistent": {said}, "confidence": 0.5, "explanation": "no writing"}}')
    assert (found.status, found.consistent) == ("ok", None)
    assert found.explanation == "no writing"


@pytest.mark.parametrize(
    ("reply", "status", "why"),
    [
        (None, "empty", "the reply is empty"),
        ("  \n", "empty", "the reply is empty"),
        ("<think>is it?</think>", "empty", "nothing but thinking"),
        ('{"consistent": "partly"}', "unparseable", "neither true nor false: 'partly'"),
        ('{"consistent": "true or false"}', "unparseable", "neither true nor false"),
        ('{"explanation": "they differ"}', "unparseable", "no field 'consistent'"),
        ("I'm sorry, I cannot determine that.", "refused", "declined"),
        ("The scene is consistent with Spain, the sign is inconsistent with it.", "unparseable", "no field"),
        ("It shows a street with some shops.", "unparseable", "no field 'consistent'"),
        ("Error: 503 Service Unavailable", "error", "an error text"),
        ("[]", "unparseable", "no field"),
    ],
)
def test_consistency_that_is_not_said_is_missing(reply, status, why):
    found = parse_consistency(reply)
    assert (found.status, found.consistent) == (status, None)
    assert why in found.reason


def test_consistency_confidence():
    assert parse_consistency('{"consistent": true, "confidence": "85%"}').confidence == 0.85
    assert math.isnan(parse_consistency('{"consistent": true, "confidence": "high"}').confidence)
    assert math.isnan(parse_consistency('{"consistent": true}').confidence)


# -- country -------------------------------------------------------------------------------------------------------

COUNTRY = {
    "visual_country": "Kenya",
    "textual_country": "none",
    "trusted_source": "Visual",
    "final_country": "Kenya",
    "explanation": "red soil",
}


def test_country_from_json():
    found = parse_country(json.dumps(COUNTRY))
    assert vars(found) == {"status": "ok", "reason": "", **COUNTRY}


@pytest.mark.parametrize(
    ("reply", "final"),
    [
        ('{"country": "Japan"}', "Japan"),
        ('{"final_region": "**Côte d\'Ivoire**."}', "Côte d'Ivoire"),
        ('{"answer": {"final_country": "Peru"}}', "Peru"),
        ('{"final_country": ["Norway"]}', "Norway"),
        ('{"final_country": {"name": "Chile", "confidence": 0.4}}', "Chile"),
        ("**Visual country:** Chile\n**Trusted source:** both\n**Final country:** Peru", "Peru"),
        ("Final answer: United States", "United States"),
        ("Country: NA", None),
        ("France.", "France"),
        ("The Netherlands", "The Netherlands"),
        ("Bosnia and Herzegovina", "Bosnia and Herzegovina"),
        ("日本", "日本"),
    ],
)
def test_country_forms(reply, final):
    found = parse_country(reply)
    assert found.final_country == final
    assert (found.status == "ok") == (final is not None)


@pytest.mark.parametrize(
    ("reply", "status", "why"),
    [
        ('{"visual_country": "Kenya", "final_country": "unknown"}', "refused", "given as 'unknown'"),
        ('{"final_country": "Cannot be determined from this picture"}', "refused", "Cannot be"),
        ('{"final_country": "not enough information"}', "refused", "not enough"),
        ('{"final_country": null}', "refused", "left open"),
        ('{"final_country": ""}', "refused", "left open"),
        ('{"visual_country": "Kenya", "trusted_source": "Visual"}', "unparseable", "no field 'final_country'"),
        ("I cannot identify where this was taken.", "refused", "declined"),
        ("A street with shops and two bicycles.", "unparseable", "no field"),
        ("Yes", "unparseable", "no field"),
        ("", "empty", "empty"),
        ("HTTP 429 Too Many Requests", "error", "error text"),
    ],
)
def test_country_that_is_not_named(reply, status, why):
    found = parse_country(reply)
    assert (found.status, found.final_country) == (status, None)
    assert why in found.reason


def test_the_other_fields_stand_without_a_final_country():
    found = parse_country('{"visual_country": "Kenya", "textual_country": "Italy", "trusted_source": "text"}')
    assert (found.visual_country, found.textual_country, found.trusted_source) == ("Kenya", "Italy", "Textual")
    assert parse_country('{"final_country": "Italy"}').trusted_source is None  # missing is not "Unknown"


# -- language ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "found", "texts", "languages"),
    [
        (
            '{"text_found": true, "texts": ["RUE DU BAC"], "languages": ["French"]}',
            True,
            ("RUE DU BAC",),
            ("French",),
        ),
        ('{"text_found": false, "texts": [], "languages": []}', False, (), ()),
        ('{"text_found": "no", "languages": "none"}', False, (), ()),
        ('{"languages": ["Thai", "English", "thai"]}', True, (), ("Thai", "English")),
        ('{"texts": ["STOP"]}', True, ("STOP",), ()),
        (
            '{"text_found": "yes", "languages": "Chinese (simplified) and English"}',
            True,
            (),
            ("Chinese", "English"),
        ),
        ('{"text_found": true, "languages": [{"language": "Polish", "share": 0.8}]}', True, (), ("Polish",)),
        ('{"text_found": true, "texts": [{"text": "CALLE"}], "languages": ["unknown"]}', True, ("CALLE",), ()),
        ("**Text found:** Yes\n**Languages:** German, Turkish", True, (), ("German", "Turkish")),
        ("Languages: none\nText found: no readable text", False, (), ()),
        ('{"detected_language": "Arabic"}', True, (), ("Arabic",)),
        ('{"text_found": false, "languages": ["Greek"]}', False, (), ("Greek",)),  # as it says itself
    ],
)
def test_language_is_read(reply, found, texts, languages):
    got = parse_language(reply)
    assert (got.status, got.text_found, got.texts, got.languages) == ("ok", found, texts, languages)


@pytest.mark.parametrize(
    ("reply", "status", "why"),
    [
        ('{"languages": [], "texts": []}', "unparseable", "no field 'text_found'"),
        ('{"text_found": null, "languages": []}', "refused", "given as 'None'"),
        ('{"text_found": "N/A"}', "refused", "given as 'N/A'"),
        ('{"text_found": "unclear"}', "refused", "'unclear'"),
        ("I cannot tell.", "refused", "declined"),
        ("Nice street!", "unparseable", "no field"),
        (None, "empty", "empty"),
    ],
)
def test_language_that_is_not_said_is_missing(reply, status, why):
    got = parse_language(reply)
    assert (got.status, got.text_found) == (status, None)
    assert why in got.reason


# -- together ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["consistency", "country", "language"])
def test_the_question_itself_is_no_answer(task):
    prompt = load(task).text
    parsed = read_text(prompt, prompt, parser_of(task))
    assert parsed.status == "empty", parsed
    assert not {parsed.fields.get(name) for name in ("consistent", "final_country", "text_found")} - {None}


def test_a_question_handed_back_before_the_answer_does_no_harm():
    for task, answer, name, said in (
        ("consistency", "Consistent: no", "consistent", False),
        ("country", '{"final_country": "Peru"}', "final_country", "Peru"),
        ("language", "Text found: no", "text_found", False),
    ):
        prompt = load(task).text
        assert read_text(f"{prompt}\n\n{answer}", prompt, parser_of(task)).fields[name] == said


@pytest.mark.parametrize("task", ["probing", "defense"])
def test_the_older_questions_are_no_answers_either(task):
    prompt = load(task).text
    parsed = read_text(prompt, prompt, parser_of(task))
    assert parsed.status != "ok"
    assert {parsed.fields.get(name) for name in ("consistent", "conflict", "trusted_source", "trusted")} == {None}


def test_registered_parsers_keep_fields_as_json_takes_them():
    for task, text in (
        ("consistency", '{"consistent": "N/A"}'),
        ("country", json.dumps(COUNTRY)),
        ("language", '{"text_found": true, "languages": ["Thai"]}'),
        ("country", "Sorry, I can't help with that."),
    ):
        parsed = read_text(text, "", parser_of(task))
        assert (parsed.lat, parsed.lon) == (None, None)
        assert json.loads(json.dumps(parsed.fields, allow_nan=False)) == parsed.fields
    assert parsed.status == "refused" and parsed.fields["final_country"] is None


PARSERS = (parse_consistency, parse_country, parse_language)
pieces = st.sampled_from(
    [
        '{"consistent',
        '": "',
        '"}',
        "{",
        "}",
        "[",
        '"',
        ":",
        ",",
        "\n",
        "no",
        "yes",
        "text",
        "final country: ",
        "N/A",
        "not ",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=120), st.lists(pieces, max_size=40).map("".join)))
def test_nothing_raises_and_only_ok_says_something(text):
    consistency, country, language = (parse(text) for parse in PARSERS)
    for found in (consistency, country, language):
        assert found.status in {"ok", "empty", "refused", "unparseable", "error"}
        assert bool(found.reason) == (found.status != "ok")
    assert consistency.status == "ok" or consistency.consistent is None
    assert (country.status == "ok") == (country.final_country is not None)
    assert (language.status == "ok") == (language.text_found is not None)


@pytest.mark.parametrize(
    "unit", ["{", '{"consistent": "', "no ", "not ", "visual and ", "is it ", "a", " ", "Text: ", '"', "a,"]
)
def test_long_replies_take_little_time(unit):
    text = unit * (300_000 // len(unit))
    started = time.perf_counter()
    for parse in PARSERS:
        parse(text)
        parse('{"consistent": "' + text.replace('"', "") + '", "final_country": "' + text.replace('"', "") + '"}')
    for read in (agreement_of, conflict_of, presence_of, source_of):
        read(text)
    assert time.perf_counter() - started < 20  # linear: well below a second
