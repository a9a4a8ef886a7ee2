"""Offline replacement texts: what must hold for every group and seed, and what a check finds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signpost_kit.benchmark.groups import Group, Span
from signpost_kit.errors import ConfigError
from signpost_kit.fonts import missing_glyphs, script_of, scripts_in
from signpost_kit.geo import haversine_km
from signpost_kit.geocoding import Place, continent_of, default_gazetteer
from signpost_kit.geocoding.names import fold
from signpost_kit.replacements.gazetteer import KINDS, country_of, diversity, propose, targets, validate
from signpost_kit.replacements.pool import FAR_KM, target_pool, targets_for
from signpost_kit.replacements.texts import load_words, max_length
from signpost_kit.taxonomy import classify_group

SCENES = {
    "lyon": (45.75, 4.85, "FR", ("Rue de la République", "Lyon", "Boulangerie Petit", "SORTIE")),
    "shanghai": (31.22, 121.43, "CN", ("愚园路", "Yuyuan Rd.", "老王面馆")),
    "tokyo": (35.69, 139.69, "JP", ("明治通り", "東京駅", "ラーメン一番")),
    "cairo": (30.06, 31.25, "EG", ("شارع التحرير", "Tahrir Street", "القاهرة")),
    "moscow": (55.75, 37.62, "RU", ("Тверская улица", "Москва", "Булочная")),
    "mumbai": (19.07, 72.88, "IN", ("लिंकिंग रोड", "Linking Road", "Mumbai Sweets")),
    "seoul": (37.57, 126.98, "KR", ("종로", "Seoul Station")),
    "bangkok": (13.75, 100.5, "TH", ("ถนนสีลม", "Silom Road")),
    "chicago": (41.85, -87.65, "US", ("Michigan Avenue", "STOP", "Lou's Barber")),
    "lima": (-12.05, -77.04, "PE", ("Avenida Arequipa", "Lima", "Bodega Inca")),
    "sydney": (-33.87, 151.21, "AU", ("George Street", "Sydney", "Milk Bar")),
    "nairobi": (-1.28, 36.82, "KE", ("Kenyatta Avenue", "Nairobi CBD")),
    "nowhere": (-12.0, 96.8, "", ("Jalan Melur",)),
}


def _group(name: str, number: int = 0) -> Group:
    lat, lon, country, texts = SCENES[name]
    spans = tuple(Span(text) for text in texts)
    return classify_group(Group(f"{name}/{number}", "d", lat, lon, country=country, spans=spans))


def _writing(text: str) -> str:
    """Japanese is also written in Chinese characters alone."""
    script = script_of(text)
    return "Han" if script == "Japanese" else script


@pytest.mark.parametrize("name", SCENES)
def test_rules_hold_over_many_seeds(name):
    gazetteer = default_gazetteer()
    for seed in range(12):
        group = propose(_group(name), seed=seed)
        country = country_of(group)
        texts = [span.text for span in group.spans]
        for span in group.spans:
            assert set(span.replacements) == set(KINDS)
            similar, random, adversarial = (span.replacements[kind] for kind in KINDS)
            texts += [similar, random, adversarial]
            assert all(len(t) <= max(15, len(span.text) + 4) for t in (similar, random, adversarial))
            assert not missing_glyphs(random, script_of(random))
            # similar: same script, nothing abroad
            assert _writing(similar) == _writing(span.text)
            assert all(p.country == country for p in gazetteer.search(similar)[:1])
            # random: another script than any text of the picture, no place
            assert not set(scripts_in(random)) & {s for t in group.spans for s in scripts_in(t.text)}
            assert gazetteer.search(random) == []
            # adversarial: one clear place, another continent, far away
            place = gazetteer.locate(adversarial)
            assert place is not None and not place.ambiguous
            assert place.continent != continent_of(country)
            assert float(haversine_km(group.lat, group.lon, place.lat, place.lon)) >= FAR_KM
        folded = [fold(t) for t in texts]
        assert len(set(folded)) == len(folded), "a text stands twice in the picture"
        assert validate(group) == []


def test_same_seed_same_texts_other_seed_other_texts():
    assert propose(_group("lyon"), seed=1) == propose(_group("lyon"), seed=1)
    assert propose(_group("lyon"), seed=1) != propose(_group("lyon"), seed=2)
    assert propose(_group("lyon", 1)).spans != propose(_group("lyon", 2)).spans


def test_the_form_and_the_capitals_of_the_original_are_kept():
    by_kind = {"street": 0, "shop": 0}
    for number in range(20):
        street, _, shop, sign = propose(_group("lyon", number)).spans
        assert sign.replacements["similar"].isupper() and sign.replacements["adversarial"].isupper()
        by_kind["street"] += " " in street.replacements["adversarial"]
        by_kind["shop"] += " " in shop.replacements["adversarial"]
    assert min(by_kind.values()) > 8  # `Calle Lima`, `Hotel Quito`: more than the plain name


def test_spans_of_one_picture_point_to_one_country():
    for name in ("lyon", "lima", "sydney"):
        group = propose(_group(name))
        found = {default_gazetteer().locate(s.replacements["adversarial"]).country for s in group.spans}
        assert len(found) == 1


def test_a_picture_without_text_stays_as_it_is():
    group = Group("g", "d", 1.0, 2.0)
    assert propose(group) == group
    assert validate(group) == []
    assert targets(group).trap is None


def test_targets_vary_over_a_set():
    groups = [propose(_group("lyon", n)) for n in range(120)]
    table = diversity(groups)
    assert list(table.columns) == ["target", "country", "continent", "groups", "share"]
    assert table["groups"].sum() == 120 and table["share"].sum() == pytest.approx(1)
    assert table["share"].max() <= 0.05
    assert set(table["continent"]) == {"AF", "AS", "NA", "OC", "SA"}
    assert table["groups"].is_monotonic_decreasing
    assert diversity([]).empty


def test_repeats_are_counted():
    spans = (Span("Rue Pasteur", replacements={"adversarial": "Calle Lima"}, tier="T3"),)
    same = [Group(f"g{n}", "d", 45.7, 4.8, spans=spans) for n in range(3)]
    other = Group("h", "d", 45.7, 4.8, spans=(replace(spans[0], replacements={"adversarial": "no such place"}),))
    table = diversity([*same, other])
    assert table.to_dict("records") == [
        {"target": "Lima", "country": "PE", "continent": "SA", "groups": 3, "share": 0.75},
        {"target": "", "country": "", "continent": "", "groups": 1, "share": 0.25},
    ]


def test_the_trap_is_where_the_representative_text_lies():
    spans = (
        Span("STOP", replacements={"adversarial": "TOKYO"}, tier="T1"),
        Span("Rue Pasteur", replacements={"adversarial": "Calle Lima"}, tier="T3"),
        Span("Lyon", replacements={"adversarial": "Nairobi"}, tier="T3"),
    )
    trap = targets(Group("g", "d", 45.7, 4.8, spans=spans)).trap
    assert trap is not None
    assert (trap.name, trap.query, trap.geocoder) == ("Lima", "Calle Lima", "gazetteer")
    assert float(haversine_km(trap.lat, trap.lon, -12.05, -77.04)) < 5


def test_no_target_no_trap():
    spans = (Span("Rue Pasteur", replacements={"adversarial": "Zzyzx"}, tier="T3"),)
    assert targets(Group("g", "d", 45.7, 4.8, spans=spans)).trap is None


def test_another_geocoder_can_be_given():
    class Fixed:
        name = "fixed"

        def search(self, text: str) -> list[Place]:
            return [Place(1.0, 2.0, text)]

        def locate(self, text: str) -> Place | None:
            return self.search(text)[0]

    spans = (Span("Rue Pasteur", replacements={"adversarial": "Zzyzx"}, tier="T3"),)
    trap = targets(Group("g", "d", 45.7, 4.8, spans=spans), Fixed()).trap
    assert trap is not None and (trap.lat, trap.lon, trap.geocoder) == (1.0, 2.0, "fixed")


@pytest.mark.parametrize(
    ("kind", "text", "fault"),
    [
        ("similar", "", "missing"),
        ("similar", "Rue Pasteur", "twice"),
        ("similar", "Nairobi Road", "names Nairobi, KE"),
        ("similar", "Rue de la Grande Boucherie Centrale", "characters, allowed are"),
        ("random", "umbrella", "shares the script"),
        ("random", "東京の夢", "names Tokyo"),
        ("random", "\u1310\U00012000", "no font draws"),
        ("adversarial", "Zzyzx", "names no place"),
        ("adversarial", "Berlin", "on the continent of the truth"),
    ],
)
def test_a_fault_is_found_and_named(kind, text, fault):
    good = {"similar": "Rue du Moulin", "random": "あまい夢", "adversarial": "Calle Lima"}
    group = Group("g", "d", 45.7, 4.8, country="FR", spans=(Span("Rue Pasteur", replacements=good, tier="T3"),))
    assert validate(group) == []
    bad = replace(group, spans=(replace(group.spans[0], replacements=good | {kind: text}),))
    faults = validate(bad)
    assert len(faults) >= 1
    assert any(fault in f and kind in f and "span 1" in f for f in faults)


def test_the_pool_is_clear_and_world_wide():
    gazetteer = default_gazetteer()
    pool = target_pool()
    assert len(pool) > 500
    assert {t.place.continent for t in pool} == {"AF", "AS", "EU", "NA", "OC", "SA"}
    for target in pool[::25]:
        for name in target.names.values():
            place = gazetteer.locate(name)
            assert place is not None and not place.ambiguous
            assert float(haversine_km(place.lat, place.lon, target.place.lat, target.place.lon)) < 50
    assert sum("Han" in t.names for t in pool) > 20


def test_no_target_is_near_or_on_the_same_continent():
    import numpy as np

    far = targets_for(41.01, 28.95, "TR", np.random.default_rng(1))
    assert {t.place.continent for t in far[:200]} <= {"AF", "EU", "NA", "OC", "SA"}
    assert all(float(haversine_km(41.01, 28.95, t.place.lat, t.place.lon)) >= FAR_KM for t in far)
    assert (
        len(far)
        == len(set(far_id := [t.place.name + t.place.country + str(t.place.lat) for t in far]))
        == len(far_id)
    )


def test_word_lists_name_no_place_and_can_be_drawn():
    gazetteer = default_gazetteer()
    words = load_words()
    listed = [(t, s) for s, texts in words.random.items() for t in texts]
    for language in words.languages.values():
        listed += [(t, script_of(t)) for t in (*language.streets, *language.shops, *language.generic)]
    for text, script in listed:
        assert gazetteer.search(text) == [], text
        assert script_of(text) == script, text
        assert not missing_glyphs(text, script), text
        assert len(text) <= max_length(""), text


def test_a_wrong_list_is_named(tmp_path):
    path = tmp_path / "words.yml"
    path.write_text("languages: {xx: {streets: [a]}}\nrandom: {}\ntargets: {}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"languages\.xx must have exactly"):
        load_words(path)
