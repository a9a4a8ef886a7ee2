"""Tiers by rule, with a reason; in many languages and with OCR's slips."""

from __future__ import annotations

import doctest

import pytest

from signpost_kit import taxonomy
from signpost_kit.benchmark.groups import Group, Span
from signpost_kit.errors import ConfigError
from signpost_kit.taxonomy import classify, classify_group, road_language
from signpost_kit.wordlists import load_wordlists, wordlists_file

T1 = {
    "": "empty",
    "----": "empty",
    "A": "one character",
    "西": "one character",
    "315": "numbers",
    "56Km": "numbers",
    "2014-07-02": "date or time",
    "9:00-18:00": "date or time",
    "Coca-Cola": "global brand",
    "TOYOTA": "vehicle brand",
    "Canon": "camera brand",
    "NO PARKING": "generic sign",
    "NOPARKING": "generic sign",
    "ST0P": "generic sign",
    "Ausgang": "generic sign",
    "SORTIE": "generic sign",
    "出口": "generic sign",
    "تخفيضات": "generic sign",
    "© Google": "watermark",
    "www.example.com": "web address",
    "llllll": "noise",
}
T3 = {
    "Lyon": "city name: Lyon",
    "Café Lyon Centre": "city name: Lyon",
    "Main Street": "road name (en)",
    "Karangahape Rd": "road name (en)",
    "Hauptstraße": "road name (de)",
    "HAUPTSTRASSE": "road name (de)",
    "Hauptstr.": "road name (de)",
    "Rue de Rivoli": "road name (fr)",
    "Avenne Foch": "road name (fr)",
    "Calle Mayor": "road name (es)",
    "Kerkstraat": "road name (nl)",
    "ul. Długa": "road name (pl)",
    "Storgatan": "road name (sv)",
    "Rua Augusta": "road name (pt)",
    "愚园路": "road name (zh)",
    "打浦路15号": "road name (zh)",
    "新宿通り": "road name (ja)",
    "улица Ленина": "road name (ru)",
    "شارع التحرير": "road name (ar)",
    "ถนนสุขุมวิท": "road name (th)",
    "강남대로": "road name (ko)",
    "Phố Huế": "road name (vi)",
    "Jalan Sudirman": "road name (id)",
    "İstiklal Caddesi": "road name (tr)",
    "NY 10001": "postal code (US)",
    "SW1A 2AA": "postal code (UK)",
    "〒100-0001": "postal code (JP)",
    "75001 Paris": "postal code (generic)",
    "Eiffel Tower": "landmark: eiffel tower",
    "東京都港区": "city name: Tokyo",
    "中国农业银行": "country name: China",
    "Mairie du Ier": "district or station name",
}
T2 = {
    "Octavia Hill": "local text",
    "Boulangerie Petit": "local business",
    "Phở Ngon": "local business",
    "土地整治与土壤修复研究中心": "non-Latin script: Han",
    "ポイ捨て注意だよ": "non-Latin script: Japanese",
    "REWE": "short",
}


@pytest.mark.parametrize(
    ("text", "tier", "reason"),
    [(t, "T1", r) for t, r in T1.items()]
    + [(t, "T2", r) for t, r in T2.items()]
    + [(t, "T3", r) for t, r in T3.items()],
)
def test_examples(text, tier, reason):
    assert classify(text) == (tier, reason)


def test_case_and_accents_do_not_matter():
    assert classify("RUE DE L'ÉGLISE")[0] == classify("rue de l'eglise")[0] == "T3"
    assert classify("FARMÁCIA") == classify("farmacia")


def test_a_road_word_alone_or_in_the_wrong_place_is_no_road():
    assert road_language("Street") == ""
    assert road_language("Street Food") == ""
    assert road_language("St. Mary") == ""
    assert road_language("Church St") == "en"
    assert road_language("Main Street N") == "en"


def test_a_group_takes_the_highest_tier_and_the_representative_follows():
    spans = tuple(Span(t) for t in ("NO PARKING", "Boulangerie Petit", "Rue Pasteur", "Lyon"))
    group = classify_group(Group("g", "d", 45.7, 4.8, spans=spans))
    assert [s.tier for s in group.spans] == ["T1", "T2", "T3", "T3"]
    assert all(s.tier_reason for s in group.spans)
    assert group.representative is not None and group.representative.text == "Rue Pasteur"  # the longer of two T3
    assert (group.tier, group.tier_reason) == ("T3", "road name (fr)")


def test_a_group_without_text_is_t1():
    group = classify_group(Group("g", "d", 0, 0))
    assert (group.tier, group.tier_reason) == ("T1", "no text")


def test_the_examples_in_the_docstrings_run():
    assert doctest.testmod(taxonomy).failed == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("landmarks:", "landmark:", "unknown key landmark"),
        ("position: last", "position: end", "roads.en.position is 'end'"),
        ("words: [street,", "wrds: [street,", "unknown key roads.en.wrds"),
        ("generic_words: [the,", "generic_words: [yes, the,", "put it in quotes"),
        ("months: [", "shop_wordz: [", "unknown key shop_wordz"),
    ],
)
def test_a_wrong_word_list_is_named(tmp_path, old, new, message):
    text = wordlists_file().read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "taxonomy.yml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=message) as caught:
        load_wordlists(path)
    assert str(path) in str(caught.value)


def test_a_changed_word_list_changes_the_tier(tmp_path):
    text = (
        wordlists_file()
        .read_text(encoding="utf-8")
        .replace("generic_signs: [", "generic_signs: [octavia hill, ", 1)
    )
    path = tmp_path / "taxonomy.yml"
    path.write_text(text, encoding="utf-8")
    assert classify("Octavia Hill", wordlists=load_wordlists(path)) == ("T1", "generic sign")
