"""Every category of the rule system, in every language that it names; a reason per span; what tiers mean."""

from __future__ import annotations

import pytest
import yaml

from signpost_kit.benchmark import Group, Span
from signpost_kit.errors import ConfigError
from signpost_kit.frames import TIERS
from signpost_kit.roadwords import RoadIndex, RoadWords
from signpost_kit.taxonomy import classify, classify_group, road_language
from signpost_kit.wordlists import load_wordlists, tier_definitions, wordlists_file

PORTABLE = {
    "empty": ["", "  ", "--", "\n"],
    "one character": ["A", "7", "西", "(B)"],
    "numbers": ["315", "24/7", "12 km", "1887-90", "No. 5"],
    "date or time": ["2014-07-02", "12/03/2021", "July 2014", "9:00 - 18:00", "2021年3月4日"],
    "global brand": ["Coca-Cola", "STARBUCKS", "BURGERKING", "麦当劳"],
    "vehicle brand": ["Toyota", "MERCEDES-BENZ", "VW"],
    "camera brand": ["NIKON", "GoPro", "Lumix"],
    "generic sign": [
        "EXIT",
        "No Entry",
        "SORTIE",
        "Ausgang",
        "salida",
        "uscita",
        "uitgang",
        "wyjście",
        "utgång",
        "出口",
    ],
    "watermark": ["© 2021 Google", "Mapillary", "shutterstock", "百度"],
    "web address": ["www.example.com", "https://a.org/b", "info@example.net", "@shopname"],
    "noise": ["llllll", "~~~ab/|"],
}
ROADS = {
    "en": ["High Street", "Abbey Rd", "Fifth Avenue"],
    "de": ["Hauptstraße", "Bahnhofstr.", "Goetheplatz", "Unter den Linden Allee"],
    "fr": ["Rue de Rivoli", "Boulevard Voltaire", "Quai Branly"],
    "es": ["Calle Mayor", "Avenida Corrientes", "Paseo del Prado"],
    "it": ["Via Dante", "Piazza Navona", "Corso Vittorio"],
    "nl": ["Kerkstraat", "Prinsengracht", "Stationsplein"],
    "pl": ["ul. Długa", "Aleja Jana", "Plac Nowy"],
    "sv": ["Storgatan", "Södra vägen", "Stora Torget"],
    "zh": ["南京东路", "长安街", "建设大道"],
}
PLACES = {
    "city name: Lyon": ["Lyon", "Café Lyon Centre"],
    "address": ["P.O. Box 1234", "Postfach 10 20", "Casilla de Correo 55"],
    "postal code (US)": ["NY 10001", "90210-1234"],
    "postal code (UK)": ["SW1A 2AA", "M1 1AE"],
    "postal code (JP)": ["〒100-0001"],
    "postal code (generic)": ["75001 Paris", "D-80331 München"],
    "landmark: eiffel tower": ["Eiffel Tower", "the EIFFEL TOWER"],
    "landmark: 天安门": ["天安门"],
}
HINTS = {
    "non-Latin script: Han": ["土地整治与土壤修复研究中心"],
    "local business": ["Boulangerie Petit"],
    "short": ["REWE"],
    "local text": ["Octavia Hill"],
}


def flat(tier, table):
    return [(text, tier, reason) for reason, texts in table.items() for text in texts]


@pytest.mark.parametrize(
    ("text", "tier", "reason"), [*flat("T1", PORTABLE), *flat("T3", PLACES), *flat("T2", HINTS)]
)
def test_each_category(text, tier, reason):
    assert classify(text) == (tier, reason)


@pytest.mark.parametrize(("text", "language"), [(t, code) for code, texts in ROADS.items() for t in texts])
def test_roads_of_each_language(text, language):
    tier, reason = classify(text)
    assert tier == "T3" and (reason.startswith("road name (") or "name:" in reason)
    assert road_language(text) == language


def test_a_box_without_a_number_is_no_address():
    assert classify("Post Box")[1] != "address" and classify("Box 12")[1] != "address"
    assert classify("12 PO Box")[1] != "address"


def test_where_several_languages_would_do_the_first_is_taken():
    words = {"words": frozenset({"weg"}), "glued": ("weg",), "run": (), "ends": ()}
    roads = {"b": RoadWords("last", **words), "a": RoadWords("last", **words)}
    assert RoadIndex(roads).language("Ander Weg") == RoadIndex(roads).language("Anderweg") == "b"
    first = {"x": RoadWords("first", frozenset({"strada"}), (), (), ())}
    index = RoadIndex(first)
    assert index.language("Strada Mare") == "x" and index.language("Mare Strada") == ""
    assert index.language("Strado Mare") == "x"  # one slip
    assert index.language("Stredo Mare") == index.language("Xtrada Mare") == index.language("Strada") == ""
    assert index.language("La Strada Mare") == "x"  # an article before it
    assert RoadIndex({}).language("High Street") == ""


def test_every_span_has_a_reason():
    texts = [text for table in (PORTABLE, PLACES, HINTS) for found in table.values() for text in found]
    group = classify_group(Group("g", "d", 1, 1, spans=tuple(Span(text) for text in texts)))
    assert all(span.tier in TIERS and span.tier_reason for span in group.spans)
    assert group.tier == "T3" and group.tier_reason


def test_the_same_lists_give_the_same_answer_again_and_others_their_own(tmp_path):
    assert classify("Octavia Hill") is classify("Octavia Hill")
    path = tmp_path / "taxonomy.yml"
    text = wordlists_file().read_text(encoding="utf-8")
    path.write_text(text.replace("landmarks: [", "landmarks: [octavia hill, ", 1), encoding="utf-8")
    assert classify("Octavia Hill", wordlists=load_wordlists(path)) == ("T3", "landmark: octavia hill")
    assert classify("Octavia Hill") == ("T2", "local text")


def test_what_the_tiers_mean(tmp_path):
    frame = tier_definitions()
    assert list(frame["tier"]) == list(TIERS) and list(frame["name"]) == ["Portable", "Cultural", "Geo-specific"]
    for row in frame.to_dict("records"):  # the examples are what they say
        assert {classify(text)[0] for text in row["examples"].split("; ")} == {row["tier"]}
    data = yaml.safe_load(wordlists_file().read_text(encoding="utf-8"))
    del data["tiers"]["T2"]["meaning"]
    path = tmp_path / "taxonomy.yml"
    path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"meaning is missing"):
        tier_definitions(path)
