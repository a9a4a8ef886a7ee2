"""The file of answers: whole or reported, never taken for empty; the release's file in and out without loss."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signpost_kit.errors import ConfigError, DataError, StorageError
from signpost_kit.geocoding.base import NotKept, Place
from signpost_kit.geocoding.cache import Entry, GeocodeCache, Settings, write_cache
from signpost_kit.geocoding.choose import check_targets, open_finder
from signpost_kit.geocoding.release_cache import (
    RELEASE,
    dump_release_cache,
    read_release_cache,
    release_cache_of,
    write_release_cache,
)
from signpost_kit.profile_sections import Targets

EN = Settings("nominatim", "en", 10)
LIMA = Place(-12.06, -77.03, "Lima", "PE", kind="place/city", continent="SA", display="Lima, Peru", sitelinks=200)


def _filled(path: Path, n: int = 200) -> Path:
    with GeocodeCache(path) as cache:
        cache.add(
            Entry(EN, f"Place {i}", f"Place {i}", (LIMA,) * (i % 4), reply=os.urandom(300).hex().encode())
            for i in range(n)
        )
    return path


def test_an_answer_comes_back_whole(tmp_path):
    path = tmp_path / "answers.sqlite"
    entry = Entry(EN, " «Lima» ", "Lima", (LIMA, Place(40.74, -84.1, "Lima", "US")), "asked", 12.5, b'[{"a":1}]')
    with GeocodeCache(path) as cache:
        assert cache.put(entry) == entry
    with GeocodeCache(path) as cache:
        assert cache.get(EN, "«LIMA»") == entry and cache.get(EN, "lima", "LIMA") == entry
        assert cache.get(EN, "lima") is None and cache.get(Settings("nominatim", "de", 10), "«lima»") is None
        assert list(cache.entries()) == [entry] and cache.settings() == {EN: 1}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["answers.sqlite"], "one plain file at rest"


def test_the_first_answer_stands(tmp_path):
    with GeocodeCache(tmp_path / "a.sqlite") as cache:
        first = cache.put(Entry(EN, "Lima", "Lima", (LIMA,), asked_at=1.0))
        assert cache.put(Entry(EN, "LIMA", "LIMA", (), asked_at=2.0)) == first
        assert cache.add([Entry(EN, "LIMA", "LIMA", (), asked_at=2.0)], replace=True) == 1
        assert cache.get(EN, "lima").places == ()


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.002, 0.2, 0.5, 0.9, 0.99])
def test_a_cut_off_cache_is_reported_and_left_alone(share, tmp_path):
    path = _filled(tmp_path / "answers.sqlite")
    whole = path.read_bytes()
    cut = whole[: int(len(whole) * share)]
    path.write_bytes(cut)
    for read_only in (False, True):
        with pytest.raises(StorageError, match=r"answers\.sqlite is damaged .* put back a copy"):
            GeocodeCache(path, read_only=read_only)
    assert path.read_bytes() == cut


def test_damage_in_the_middle_is_reported(tmp_path):
    path = _filled(tmp_path / "answers.sqlite")
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(data)
    with pytest.raises(StorageError, match="is damaged"):
        GeocodeCache(path)


def test_a_damaged_answer_is_named(tmp_path):
    path = _filled(tmp_path / "answers.sqlite", 5)
    connection = sqlite3.connect(path)
    for key, what in (("place 1", "[]"), ("place 2", '[{"lat": 1'), ("place 3", '[{"lat":95,"lon":1,"name":""}]')):
        connection.execute("UPDATE answers SET candidates = ? WHERE key = ?", (what, key))
    connection.commit()
    connection.close()
    with GeocodeCache(path) as cache:
        for number in (1, 2, 3):
            with pytest.raises(StorageError, match=f"damaged .the answer to 'Place {number}'"):
                cache.get(EN, f"place {number}")
        assert cache.get(EN, "place 4") is not None


def test_foreign_newer_and_missing_files(tmp_path):
    other = tmp_path / "other.sqlite"
    sqlite3.connect(other).execute("CREATE TABLE t (a)").connection.close()
    with pytest.raises(StorageError, match="another program's"):
        GeocodeCache(other)
    newer = _filled(tmp_path / "newer.sqlite", 1)
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(StorageError, match="format 9, this version reads 1: update"):
        GeocodeCache(newer)
    (tmp_path / "text.sqlite").write_text("lima;-12;-77\n" * 30)
    with pytest.raises(StorageError, match="is no cache"):
        GeocodeCache(tmp_path / "text.sqlite")
    with pytest.raises(StorageError, match="is a folder"):
        GeocodeCache(tmp_path)
    with pytest.raises(StorageError, match="there is no cache"):
        GeocodeCache(tmp_path / "absent.sqlite", read_only=True)
    assert not (tmp_path / "absent.sqlite").exists()


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path):
    with GeocodeCache(tmp_path / "a.sqlite") as cache:
        with pytest.raises(StorageError):
            cache.add([Entry(EN, "a", "a"), Entry(EN, "b", object()), Entry(EN, "c", "c")])
        assert len(cache) == 0
        assert cache.put(Entry(EN, "a", "a")).key == "a"


def test_a_read_only_copy_can_be_read(tmp_path):
    folder = tmp_path / "published"
    folder.mkdir()
    path = _filled(folder / "answers.sqlite", 3)
    path.chmod(stat.S_IRUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with GeocodeCache(path, read_only=True) as cache:
            assert len(list(cache.entries())) == 3
            with pytest.raises(StorageError, match="read-only"):
                cache.put(Entry(EN, "new", "new"))
    finally:
        folder.chmod(stat.S_IRWXU)


WRITER = """
import sys
from signpost_kit.geocoding.cache import Entry, GeocodeCache, Settings
with GeocodeCache(sys.argv[1]) as cache:
    for i in range(40):
        cache.put(Entry(Settings("nominatim", "en", 10), f"{sys.argv[2]} {i}", "q"))
        cache.put(Entry(Settings("nominatim", "en", 10), f"both {i}", "q"))
"""


def test_two_processes_write_at_once(tmp_path):
    path = tmp_path / "answers.sqlite"
    children = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stderr=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    for child in children:
        error = child.communicate(timeout=60)[1]
        assert child.returncode == 0, error
    with GeocodeCache(path) as cache:
        assert len(cache) == 120


# -- the release's file -----------------------------------------------------------------------------------------------

RELEASED = {
    "rue de lyon": {"lat": 45.7578137, "lon": 4.8320114, "display": "Lyon, Métropole de Lyon, France"},
    "東京駅": {"lat": 35.681236, "lon": 139.767125, "display": "東京駅, 千代田区, 日本"},
    '"sale" <b>': None,
    "nairobi": {"lat": "-1.3026148", "lon": "36.8288420", "display": "Nairobi, Kenya", "importance": 0.71},
    "middle of the sea": {"lat": 0, "lon": -30, "display": ""},
}


def _released(tmp_path: Path, data: object = RELEASED) -> Path:
    path = tmp_path / "geocode_cache.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return path


def test_the_release_goes_in_and_out_without_loss(tmp_path):
    entries = read_release_cache(_released(tmp_path))
    with GeocodeCache(tmp_path / "a.sqlite") as cache:
        assert cache.add(entries) == 5
        write_release_cache(tmp_path / "out.json", cache.entries(RELEASE))
    out = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert out == RELEASED and list(out) == list(RELEASED)
    first = entries[0].places[0]
    assert (first.name, first.country, first.continent) == ("Lyon", "FR", "EU")
    assert entries[3].places[0].lat == -1.3026148 and entries[3].places[0].country == "KE"
    assert entries[2].places == () and entries[4].places[0].country == ""


_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
_POSITIONS = st.fixed_dictionaries(
    {
        "lat": st.floats(-90, 90, allow_nan=False),
        "lon": st.floats(-180, 180, allow_nan=False),
        "display": _TEXTS,
    },
    optional={"class": _TEXTS, "bbox": st.lists(st.integers(), max_size=2)},
)


@given(st.dictionaries(_TEXTS.map(lambda t: t.strip().lower()), st.none() | _POSITIONS, max_size=6))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_release_cache_goes_in_and_out_without_loss(tmp_path, data):
    texts = {}
    for text, value in data.items():  # strip and lower of a text are not always their own fixed point
        texts.setdefault(text.strip().lower(), (text, value))
    data = dict(texts.values())
    entries = read_release_cache(_released(tmp_path, data))
    write_cache(tmp_path / "kept.sqlite", entries)
    with GeocodeCache(tmp_path / "kept.sqlite", read_only=True) as cache:
        assert json.loads(dump_release_cache(cache.entries())) == data


def test_asked_answers_are_exported_in_the_same_shape(tmp_path):
    entries = [Entry(EN, "LIMA", "LIMA", (LIMA,), reply=b"[]"), Entry(EN, "Zzz", "Zzz", reply=b"[]")]
    assert release_cache_of(entries) == {
        "lima": {"lat": -12.06, "lon": -77.03, "display": "Lima, Peru"},
        "zzz": None,
    }


@pytest.mark.parametrize(
    ("data", "match"),
    [
        ("", "damaged or cut off"),
        ('{"lima": {"lat": -12.0, "lo', "damaged or cut off"),
        ("[1, 2]", "should be a mapping"),
        ({"lima": {"lat": 95, "lon": 0}}, "'lima' has no sound lat and lon"),
        ({"lima": {"lat": "NaN", "lon": 0}}, "'lima' has no sound lat and lon"),
        ({"lima": [1, 2]}, "'lima' has no sound lat and lon"),
        (
            {"Lima": None, "lima": {"lat": 1, "lon": 2, "display": ""}},
            "'Lima' and 'lima' are one text with two answers",
        ),
        ('{"lima": null, "lima": {"lat": 1, "lon": 2}}', "are one text with two answers"),
        ('{"li\\ud800ma": null}', "no sound text"),
    ],
)
def test_a_damaged_release_cache_is_reported(data, match, tmp_path):
    with pytest.raises(DataError, match=match):
        read_release_cache(_released(tmp_path, data))


# -- frozen -----------------------------------------------------------------------------------------------------------


def test_frozen_answers_from_a_release_alone(tmp_path):
    section = Targets(frozen=str(_released(tmp_path)))  # no contact, and the profile's geocoder is the gazetteer
    check_targets(section)
    with open_finder(section) as finder:
        assert finder.name == "nominatim"
        assert finder.locate(" RUE DE LYON").country == "FR" and finder.search('"sale" <b>') == []
        assert finder.locate("(Nairobi)").country == "KE"
        with pytest.raises(NotKept, match=r"'Lima' is not in the kept answers of geocode_cache\.json, and nothing"):
            finder.find("Lima")


def test_frozen_answers_of_a_run_must_be_of_its_settings(tmp_path):
    path = _filled(tmp_path / "kept.sqlite", 4)
    with open_finder(Targets(geocoder="nominatim", frozen=str(path))) as finder:
        assert len(finder.find("place 3").places) == 3
    with pytest.raises(
        ConfigError, match=r"of other settings .*language de.* they hold: nominatim, language en, limit 10"
    ):
        check_targets(Targets(geocoder="nominatim", language="de", frozen=str(path)))


def test_frozen_files_that_are_missing_empty_or_damaged(tmp_path):
    with pytest.raises(DataError, match=r"does not exist: check targets\.frozen"):
        check_targets(Targets(frozen=str(tmp_path / "absent.json")))
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match="empty: put back a copy"):
        check_targets(Targets(frozen=str(tmp_path / "empty")))
    path = _filled(tmp_path / "kept.sqlite")
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(StorageError, match="damaged"):
        check_targets(Targets(geocoder="nominatim", frozen=str(path)))
