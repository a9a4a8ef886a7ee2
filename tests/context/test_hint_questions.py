"""GeoHint's questions, replies in words, and where they lie: each against values worked out by hand."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.evaluation import ReplyStore, ask_plan
from signpost_kit.geocoding.base import LookupFailed, NothingToAsk, Place
from signpost_kit.geocoding.resolve import is_linear, label_variants, resolve
from signpost_kit.hints import HintSite, answers_frame, chains_frame, hint_plan, question
from signpost_kit.models.scripted import ScriptedProvider
from signpost_kit.parsing.hints import names_nothing, parse_hint
from signpost_kit.profile_context import SCHEMAS

# -- what is asked -------------------------------------------------------------------------------------------------


def test_the_hint_is_one_sentence_before_the_same_question():
    plain = question("forced", None)
    hinted = question("forced", "Harajuku  {station}\n")
    assert hinted.text == "I took this photo near Harajuku {station}.\n\n" + plain.text
    assert question("forced_warn", None).text == plain.text == question("forced_hedge", None).text
    assert (
        question("forced_warn", "X").text.endswith(plain.text) and question("forced_warn", "X").hash != hinted.hash
    )
    assert len({question(schema, "X").hash for schema in SCHEMAS}) == len(SCHEMAS)
    assert '"evidence"' in question("forced_chain", None).text and "unknown" in question("v1", None).text
    with pytest.raises(ConfigError, match="unknown schema 'forcd'; allowed: v1, forced"):
        question("forcd", None)


def test_a_sentence_without_a_place_for_the_name_is_refused(tmp_path):
    (tmp_path / "hint_context.md").write_text("I was near there.")
    (tmp_path / "hint_forced.md").write_text("Where?")
    with pytest.raises(ConfigError, match="lacks {name}"):
        question("forced", "X", folder=tmp_path)


@pytest.fixture
def sites(tmp_path) -> list[HintSite]:
    made = []
    for name, lat, lon in (("rome_a", 41.90, 12.48), ("rome_b", 41.91, 12.50)):
        pictures = []
        for i in range(2):
            file = tmp_path / f"{name}{i}.jpg"
            file.write_bytes(f"{name}{i}".encode())
            pictures.append((f"{name}/{i}.jpg", file))
        made.append(HintSite(name, "Rome", lat, lon, tuple(pictures)))
    return made


@pytest.fixture
def ladder() -> pd.DataFrame:
    rows = [
        ("rome_a", "0.5-1.5km", "high", "Q1", "Trevi Fountain", 0.9),
        ("rome_a", "3.0-6.0km", "low", "Q2", "Tiburtina Station", 3.7),
        ("rome_b", "1.5-3.0km", "mid", "Q1", "Trevi Fountain", 2.1),
    ]
    return pd.DataFrame(rows, columns=["site", "band", "tier", "qid", "name_en", "ref_km"])


def test_the_plan_is_strictly_paired(sites, ladder):
    plan = hint_plan(
        sites, ladder, ["m", "n"], schemas=["forced", "forced_warn", "forced_chain"], baseline_samples=3
    )
    # per picture and model: forced 3 + 2 rungs, forced_warn 2 (its baseline is forced's), forced_chain 3 + 2; b has 1 rung
    assert len(plan) == 2 * (2 * (3 + 2 + 2 + 3 + 2) + 2 * (3 + 1 + 1 + 3 + 1))
    frame = pd.DataFrame([(r.model, r.group_id, r.variant, r.sample_index) for r in plan], columns=list("mpvs"))
    assert not frame.duplicated().any()
    per_model = [set(map(tuple, part[["p", "v", "s"]].to_numpy())) for _, part in frame.groupby("m")]
    assert per_model[0] == per_model[1]
    hinted = [
        {v.split("|")[1] for v in part["v"] if "none" not in v}
        for _, part in frame.groupby(frame["v"].str.split("|").str[0])
    ]
    assert hinted[0] == hinted[1] == hinted[2] == {"high_05_15km_Q1", "low_30_60km_Q2", "mid_15_30km_Q1"}
    for request in plan:  # what is sent names neither the site nor the city nor a distance
        assert "rome" not in request.prompt.lower() and "km" not in request.prompt
    # With hedge, warn and no forced: each asks its own baseline.
    alone = hint_plan(sites[:1], ladder, ["m"], schemas=["forced_warn"])
    assert sum(r.variant == "forced_warn|none" for r in alone) == 2


def test_a_plan_that_cannot_be(sites, ladder, tmp_path):
    with pytest.raises(ConfigError, match="at least one model"):
        hint_plan(sites, ladder, [], schemas=["forced"])
    with pytest.raises(ConfigError, match="unknown schema"):
        hint_plan(sites, ladder, ["m"], schemas=["forced", "x"])
    with pytest.raises(DataError, match="ladder of 'rome_a' has a point without an English name"):
        hint_plan(sites, ladder.assign(name_en=[" ", "b", "c"]), ["m"], schemas=["forced"])
    with pytest.raises(DataError, match="no site with a picture"):
        hint_plan([], ladder, ["m"], schemas=["forced"])
    sites[0].pictures[0][1].unlink()
    plan = hint_plan(sites, ladder, ["m"], schemas=["forced"])
    assert [m.group_id for m in plan.missing] == ["rome_a/0.jpg"]


# -- what is answered ----------------------------------------------------------------------------------------------

FORCED = {
    "city": "Rome",
    "area": "Trevi",
    "building": "Trevi Fountain",
    "confidence_area": 0.8,
    "confidence_building": "60 %",
}


@pytest.mark.parametrize(
    ("text", "status", "place"),
    [
        (json.dumps(FORCED), "ok", "Trevi Fountain"),
        ("Sure!\n```json\n" + json.dumps(FORCED) + "\n```\nHope it helps", "ok", "Trevi Fountain"),
        (json.dumps({"answer": FORCED, "evidence": {"terrain": "flat"}}), "ok", "Trevi Fountain"),
        ("**City:** Rome\n**Area:** Trevi\n**Building:** Trevi Fountain\nConfidence area: 0.8\nConfidence building: 0.6", "ok", "Trevi Fountain"),
        ("<think>Paris?</think>" + json.dumps(FORCED), "ok", "Trevi Fountain"),
        (json.dumps(FORCED | {"building": "unknown"}), "ok", "unknown"),
        ('{"city": "unknown", "area": null, "place": "N/A"}', "empty", "N/A"),
        ("I'm sorry, but I can't help with identifying locations.", "refused", None),
        ("A nice street.", "unparseable", None),
        ("", "empty", None),
        (None, "empty", None),
        ('{"error": {"message": "rate limit", "code": 429}}', "error", None),
    ],
)  # fmt: skip
def test_replies(text, status, place):
    reply = parse_hint(text)
    assert (reply.status, reply.place) == (status, place)
    assert bool(reply.reason) == (status != "ok")
    if status == "ok":
        assert (reply.city, reply.area) == ("Rome", "Trevi") and reply.conf_area == 0.8 and reply.conf_fine == 0.6


def test_the_permissive_schema_has_one_confidence_and_the_checklist_is_kept():
    reply = parse_hint(
        '{"city": "Rome", "area": "unknown", "place": "unknown", "confidence": 0.3, "clues": ["a", "b"]}'
    )
    assert (reply.conf_area, reply.conf_fine, reply.clues) == (0.3, 0.3, "a; b")
    chain = parse_hint(json.dumps({"evidence": {"terrain": "not visible", "script": ["Latin"]}} | FORCED))
    assert chain.evidence == {"terrain": "not visible", "script": ["Latin"]} and chain.status == "ok"
    assert [names_nothing(t) for t in (None, "", "Unknown", "n/a", "None visible hotel", float("nan"))] == [
        True,
        True,
        True,
        True,
        False,
        True,
    ]


# -- where it lies -------------------------------------------------------------------------------------------------


def place(name: str, lat: float, lon: float, sitelinks: int = 1) -> Place:
    return Place(lat, lon, name, sitelinks=sitelinks)


ATLAS = {
    "rome": [place("Rome, Georgia", 34.26, -85.16, 60), place("Rome", 41.9, 12.5, 300)],
    "trevi fountain": [place("Trevi Fountain", 41.9009, 12.4833, 80)],
    "trevi": [place("Trevi, Umbria", 42.88, 12.75, 40), place("Trevi", 41.902, 12.482, 10)],
    "caffè greco": [place("Caffè Greco, Sydney", -33.9, 151.2, 5)],
    "paris": [place("Paris", 48.8566, 2.3522, 300)],
    "lyon": [],
}


def lookup(text: str) -> list[Place]:
    if text == "boom":
        raise LookupFailed("the server is down")
    if text == "!!":
        raise NothingToAsk("nothing to ask")
    return ATLAS.get(text.lower(), [])


@pytest.mark.parametrize(
    ("said", "level", "label", "lat"),
    [
        (("Rome", "Trevi", "Trevi Fountain"), "place", "Trevi Fountain", 41.9009),
        (("Rome", "Trevi", "Trevi Fountain (Fontana), near a bar"), "place", "Trevi Fountain", 41.9009),  # first segment
        (("Rome", "Trevi", "La Barcaccia (Trevi Fountain)"), "place", "Trevi Fountain", 41.9009),  # in brackets
        (("Rome", "Trevi", "Caffè Greco"), "area", "Trevi", 41.902),  # found, but nowhere near: its level fails
        (("Rome", "Trevi", "Via del Corso"), "area", "Trevi", 41.902),  # a street is no place
        (("Rome", "unknown", None), "city", "Rome", 41.9),  # most sitelinks, not the first
        (("Rome, Italy", "Nowhere", "Nothing"), "city", "Rome, Italy", 41.9),
        (("Lyon", "Trevi", "Trevi Fountain"), "", "", None),  # the anchor does not resolve: never a global search
        (("unknown", "Trevi", "Trevi Fountain"), "", "", None),
        (("Paris", "Trevi", "Trevi Fountain"), "city", "Paris", 48.8566),  # the anchor is the answered city, not the truth
        (("Rome", "Trevi", "!!"), "area", "Trevi", 41.902),  # nothing to look up is no failure
    ],
)  # fmt: skip
def test_resolution(said, level, label, lat):
    found = resolve(*said, lookup)
    assert (found.level, found.label) == (level, label)
    assert math.isnan(found.lat) if lat is None else found.lat == lat
    assert (found.status, bool(found.reason)) == (("ok", False) if level else ("unresolved", True))


def test_a_failed_lookup_is_an_error_and_not_a_coarser_level():
    for said in (("boom", "Trevi", "x"), ("Rome", "Trevi", "boom"), ("Rome", "boom", None)):
        found = resolve(*said, lookup)
        assert (found.status, found.level, found.reason) == ("error", "", "the server is down")
    asked = []
    resolve("Rome", "boom", "Trevi Fountain", lambda t: asked.append(t) or lookup(t))
    assert asked == ["Rome", "Trevi Fountain"]  # what is settled by a finer level is not asked


@pytest.mark.parametrize(
    ("label", "linear"),
    [
        ("Baker Street", True), ("Baker St.", True), ("5th Ave N", True), ("St. James's Park", False), ("Rue de Rivoli", True), ("Ruella", False),
        ("Karl-Marx-Allee", True), ("Schönhauser Allee", True), ("Kurfürstendamm", True), ("Via Veneto", True), ("Viaduct Tavern", False),
        ("Meiji-dōri", True), ("Meiji-dori (Shibuya)", True), ("宮益坂", True), ("明治通り", True), ("Nihonbashi", False), ("Nihon-bashi", True),
        ("Calle de Alcalá", True), ("Carrer de Gràcia", True), ("Avenue Café", True), ("Broadway Theatre", False), ("渋谷駅", False), ("", False),
    ],
)  # fmt: skip
def test_linear_features(label, linear):
    assert is_linear(label) is linear


def test_label_variants_are_tried_in_order_and_once():
    assert label_variants("Reebok Store / Marunouchi Building") == (
        "Reebok Store / Marunouchi Building",
        "Reebok Store",
        "Marunouchi Building",
    )
    assert label_variants("Odéon") == ("Odéon",) and label_variants("unknown") == () and label_variants("()") == ()


# -- end to end ----------------------------------------------------------------------------------------------------


def test_from_questions_to_the_answers_frame(sites, ladder, tmp_path):
    def say(request) -> str:
        if request.group_id == "rome_b/1.jpg":
            return "I'm sorry, I can't help with that."
        spot = {"building": "boom"} if request.group_id == "rome_a/1.jpg" else {}
        if "Tiburtina" in request.prompt:
            spot = {"area": "Tiburtina", "building": "Tiburtina Station"}
        return json.dumps({"evidence": {"terrain": "hill"}} | FORCED | spot)

    plan = hint_plan(sites, ladder, ["m"], schemas=["forced", "forced_warn", "forced_chain"])
    with ReplyStore(tmp_path / "r.sqlite") as store:
        ask_plan(plan, {"m": ScriptedProvider(script=say)}, store=store, progress=False)
        replies = store.planned(plan, extra=("fields", "reason"))
    frame = answers_frame(replies, sites, ladder, lookup, schemas=["forced", "forced_warn", "forced_chain"])
    # the baseline of forced stands for forced_warn too
    assert len(frame) == len(plan) + 4
    by = frame.set_index(["path", "schema", "context"])
    good = by.loc[("rome_a/0.jpg", "forced", "none")]
    assert good["level"] == "place" and good["error_km"] == pytest.approx(0.2916, abs=2e-3) and good["hit"] == 1
    assert math.isnan(good["ref_km"]) and math.isnan(good["echo"])
    echoed = by.loc[("rome_a/0.jpg", "forced", "high_05_15km_Q1")]
    assert (echoed["echo"], echoed["echo_study"], echoed["ref_km"], echoed["tier"]) == (1, 1, 0.9, "high")
    far = by.loc[("rome_a/0.jpg", "forced", "low_30_60km_Q2")]
    assert (far["level"], far["hit"], far["echo"]) == ("city", 0, 1)  # unresolved names: the city level is censored
    failed = by.loc[("rome_a/1.jpg", "forced", "none")]
    assert (failed["status"], failed["reason"]) == ("lookup_failed", "the server is down") and math.isnan(
        failed["error_km"]
    )
    refused = by.loc[("rome_b/1.jpg", "forced", "none")]
    assert refused["status"] == "refused" and refused["reason"] and refused["hit"] == 0
    chains = chains_frame(replies)
    assert len(chains) == 4 + 6 and json.loads(chains["evidence"].iloc[0]) == {"terrain": "hill"}
    assert set(chains.loc[chains["status"] != "ok", "evidence"]) == {""}
