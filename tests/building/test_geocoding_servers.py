"""Nominatim and Wikidata against loopback stand-ins: what is kept, what is tried again, what ends the work."""

from __future__ import annotations

import email.utils
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "geocoder_server"))

from geocoder_stand_in import ATLAS, GeocoderServer, Step, entity, item, osm, point, snak

from signpost_kit.errors import ConfigError
from signpost_kit.geocoding.base import GeocodingStopped, LookupFailed, NothingToAsk
from signpost_kit.geocoding.cache import GeocodeCache
from signpost_kit.geocoding.choose import check_targets, open_finder
from signpost_kit.geocoding.lookups import Patience
from signpost_kit.geocoding.queries import query_of
from signpost_kit.geocoding.servers import server_address, user_agent
from signpost_kit.profile_sections import Targets

QUICK = Patience(attempts=3, backoff_s=0.02, longest_s=0.1)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    import os

    for module in ("pace", "lookups"):  # not the whole cache: it holds the gazetteer's index
        monkeypatch.setattr(f"signpost_kit.geocoding.{module}.cache_dir", lambda kind: tmp_path / "cache" / kind)
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def _finder(server, tmp_path, *, timeout_s=5.0, patience=QUICK, **more):
    section = Targets(geocoder=server._kind, contact="tests@signpost.test", url=server.url, interval_s=0.01, **more)
    return open_finder(section, cache=tmp_path / "answers.sqlite", patience=patience, timeout_s=timeout_s)


# -- Nominatim --------------------------------------------------------------------------------------------------------


def test_all_candidates_are_kept_with_country_and_continent(tmp_path):
    with GeocoderServer() as server, _finder(server, tmp_path) as finder:
        entry = finder.find("Lima")
        assert [(p.country, p.continent, p.kind, p.level) for p in entry.places] == [
            ("PE", "SA", "place/city", "city"),
            ("US", "NA", "place/city", "city"),
            ("US", "NA", "highway/residential", "road"),
        ]
        first = entry.places[0]
        assert (first.lat, first.lon) == (-12.0621065, -77.0365256) and first.display == "Lima, Somewhere, PE"
        assert first.source_id.startswith("relation/") and first.importance == 0.73
        homonyms = finder.homonyms(entry)
        # Lima, Ohio is called so too, but far less prominent; the avenue has another name.
        assert (homonyms.count, homonyms.ambiguous) == (1, False) and 5000 < homonyms.farthest_km < 7000
        assert finder.homonyms(finder.find("Springfield")).ambiguous
        assert finder.locate("Nairobi").country == "KE" and not finder.homonyms(finder.find("Nairobi")).count
        request = server.seen[0]
    assert request.path == "/search" and request.agent == f"signpost_kit/{_version()} (tests@signpost.test)"
    assert request.params == {
        "q": "Lima", "format": "json", "limit": "10", "addressdetails": "1", "accept-language": "en"
    }  # fmt: skip


def _version():
    import signpost_kit

    return signpost_kit.__version__


def test_each_text_is_asked_once_and_nothing_found_is_an_answer(tmp_path):
    with GeocoderServer() as server:
        for _ in range(2):
            with _finder(server, tmp_path) as finder:
                assert finder.search("Zzyzxqu") == [] and finder.locate("zzyzxqu ") is None
                assert finder.locate("LIMA") == finder.locate(" lima")
                assert finder.locate("«Lima»") == finder.locate("(lima)")  # sent as the same query
        assert server.queries == ["Zzyzxqu", "LIMA"]
        with GeocodeCache(tmp_path / "answers.sqlite") as cache:
            assert {e.key: len(e.places) for e in cache.entries()} == {
                "zzyzxqu": 0, "lima": 3, "«lima»": 3, "(lima)": 3
            }  # fmt: skip


def test_another_language_or_limit_is_another_question(tmp_path):
    with GeocoderServer() as server:
        for more, count in (({}, 3), ({"limit": 2}, 2), ({"language": "de"}, 3), ({"limit": 2}, 2)):
            with _finder(server, tmp_path, **more) as finder:
                assert len(finder.search("Lima")) == count
        assert [(s.params["limit"], s.params["accept-language"]) for s in server.seen] == [
            ("10", "en"), ("2", "en"), ("10", "de")
        ]  # fmt: skip


TROUBLE = {
    "500": Step(500, b"<html><h1>Internal error</h1>"),
    "502": Step(502, b""),
    "503": Step(503, b"busy"),
    "cut off": Step(200, b'[{"lat": "1.0", "lon'),
    "page": Step(200, b"<html>Welcome to Airport Wi-Fi</html>"),
    "null": Step(200, b"null"),
    "empty mapping": Step(200, {}),
    "error in 200": Step(200, {"error": "database down"}),
    "list of text": Step(200, ["Lima"]),
    "off the globe": Step(200, [osm("Lima", 95.0, 200.0, "PE", 0.7)]),
    "no position": Step(200, [{"display_name": "Lima"}]),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_is_tried_again_and_never_kept(name, tmp_path):
    with GeocoderServer(steps={"lima": [TROUBLE[name]] * 4}) as server, _finder(server, tmp_path) as finder:
        with pytest.raises(LookupFailed, match=r"'Lima' could not be looked up at nominatim in 3 attempts: .+"):
            finder.find("Lima")
        with GeocodeCache(tmp_path / "answers.sqlite") as cache:
            assert len(cache) == 0
        assert len(finder.find("Lima").places) == 3  # the fourth goes wrong too, the fifth is right
        assert server.queries == ["Lima"] * 5


def test_a_slow_server_is_given_up_in_time(tmp_path):
    with (
        GeocoderServer(steps={"lima": [Step(delay_s=1.0)] * 3}) as server,
        _finder(server, tmp_path, timeout_s=0.1) as finder,
    ):
        start = time.monotonic()
        with pytest.raises(LookupFailed, match="3 attempts: no answer in time"):
            finder.find("Lima")
        assert time.monotonic() - start < 2.5 and len(server.seen) == 3


def test_one_bad_candidate_does_not_cost_the_others(tmp_path):
    rows = [osm("Lima", 95.0, 0.0, "PE", 0.7), {"lat": "x"}, *ATLAS["lima"]]
    with GeocoderServer(steps={"lima": [Step(body=rows)]}) as server, _finder(server, tmp_path) as finder:
        assert [p.country for p in finder.search("Lima")] == ["PE", "US", "US"]


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_honoured_for_everybody(status, tmp_path):
    steps = {"lima": [Step(status, b"slow down", {"Retry-After": "1"})]}
    with (
        GeocoderServer(steps=steps) as server,
        _finder(server, tmp_path) as finder,
        _finder(server, tmp_path) as other,
    ):
        with pytest.raises(LookupFailed):
            finder.patience = Patience(attempts=1)
            finder.find("Lima")
        assert len(other.find("Nairobi").places) == 1
        assert server.queries == ["Lima", "Nairobi"] and 1.0 <= server.gaps[0] < 1.6


def test_retry_after_as_a_date(tmp_path):
    when = email.utils.formatdate(time.time() + 2, usegmt=True)  # whole seconds: between 1 and 2 from now
    with (
        GeocoderServer(steps={"lima": [Step(429, b"", {"Retry-After": when})]}) as server,
        _finder(server, tmp_path) as finder,
    ):
        assert len(finder.find("Lima").places) == 3 and 0.9 < server.gaps[0] < 2.6


def test_a_long_pause_ends_the_work_now_and_at_the_next_start(tmp_path):
    steps = {"lima": [Step(429, b"", {"Retry-After": "7200"})]}
    with GeocoderServer(steps=steps) as server:
        with _finder(server, tmp_path) as finder, pytest.raises(GeocodingStopped, match="pause of 120 minutes"):
            finder.find("Lima")
        with _finder(server, tmp_path) as finder, pytest.raises(GeocodingStopped, match="run again after 20"):
            finder.find("Nairobi")
        assert server.queries == ["Lima"]


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_is_explained_and_ends_the_work(status, tmp_path):
    page = b"<html><title>Access blocked</title><p>Usage policy</p></html>"
    with GeocoderServer(steps={"*": [Step(status, page)]}) as server, _finder(server, tmp_path) as finder:
        with pytest.raises(
            GeocodingStopped, match=rf"HTTP {status} \(Access blocked Usage policy\).*Stop for a day"
        ):
            finder.find("Lima")
        assert len(server.seen) == 1


def test_a_query_that_the_server_does_not_take_is_not_tried_again(tmp_path):
    with GeocoderServer(steps={"lima": [Step(400, {"error": "no"})] * 2}) as server:
        with _finder(server, tmp_path) as finder:
            with pytest.raises(NothingToAsk, match="does not take the query: HTTP 400"):
                finder.find("Lima")
            assert len(finder.find("Nairobi").places) == 1
        assert server.queries == ["Lima", "Nairobi"]


def test_a_redirect_is_not_followed(tmp_path):
    with GeocoderServer() as target, GeocoderServer() as server:
        server.steps["*"] = [Step(302, b"", {"Location": target.url + "/search?q=Lima"})]
        with _finder(server, tmp_path) as finder, pytest.raises(GeocodingStopped, match=r"check targets\.url"):
            finder.find("Lima")
        assert not target.seen


def test_a_server_that_is_down_ends_the_work_after_three_texts(tmp_path):
    with GeocoderServer() as server:
        pass
    with _finder(server, tmp_path) as finder:
        for text in ("Lima", "Nairobi"):
            with pytest.raises(LookupFailed, match="no connection"):
                finder.find(text)
        with pytest.raises(GeocodingStopped, match="3 texts in a row .* check the connection"):
            finder.find("Lyon")


# -- Wikidata ---------------------------------------------------------------------------------------------------------


def _wikidata(steps=None):
    server = GeocoderServer("wikidata", steps)
    server.entities = {
        "Q90": entity(
            "Paris", "capital of France", 320,
            P625=[snak(point(48.8567, 2.3508))], P31=[snak(item("Q515")), snak(item("Q5119"))],
            P17=[snak(item("Q70972"), qualifiers={"P582": [{}]}), snak(item("Q142"))],
        ),
        "Q830149": entity(
            "Paris", "city in Texas", 60, P625=[snak(point(33.6625, -95.5478))], P17=[snak(item("Q30"))]
        ),
        "Q167646": entity("Paris", "prince of Troy", 70, P31=[snak(item("Q22988604"))]),
        "Q3": entity("Paris", "crater", 4, P625=[snak(point(1.0, 2.0, globe="Q405"))]),
        "Q5": entity("Parishan", "", 0, P625=[snak(point(10.0, 10.0), rank="deprecated"), snak(point(29.5, 51.8))]),
        "Q142": entity("France", "", 300, P297=[snak("FR")]),
        "Q30": entity("United States", "", 300, P297=[snak("US")]),
    }  # fmt: skip
    server.found = {"paris": ["Q90", "Q167646", "Q830149", "Q3", "Q5"], "paris, texas": ["Q830149"]}
    return server


def test_wikidata_gives_positions_on_earth_with_country_kind_and_sitelinks(tmp_path):
    with _wikidata() as server, _finder(server, tmp_path) as finder:
        entry = finder.find("Paris")
        assert [(p.source_id, p.country, p.continent, p.kind, p.sitelinks) for p in entry.places] == [
            ("Q90", "FR", "EU", "Q515 Q5119", 320),
            ("Q830149", "US", "NA", "", 60),
            ("Q5", "IR", "AS", "", 0),  # no country said: that of the nearest city
        ]
        assert entry.places[0].display == "Paris, capital of France" and entry.places[0].language == "en"
        assert (entry.places[2].lat, entry.places[2].lon) == (29.5, 51.8)
        homonyms = finder.homonyms(entry)
        assert homonyms.count == 1 and not homonyms.ambiguous  # 320 wikis against 60
        assert all(s.params["maxlag"] == "5" and "tests@signpost.test" in s.agent for s in server.seen)
        assert [s.params["action"] for s in server.seen] == [
            "wbsearchentities", "wbgetentities", "wbgetclaims", "wbgetclaims"
        ]  # fmt: skip
        assert min(server.gaps) >= 0.01
        assert finder.find("Paris, Texas").places[0].country == "US"
        assert len(server.seen) == 6, "the code of a country is asked once"
    with _finder(server, tmp_path) as finder:  # the server is gone
        assert [p.source_id for p in finder.search("paris")] == ["Q90", "Q830149", "Q5"]


def test_wikidata_nothing_found_is_kept_and_trouble_is_not(tmp_path):
    steps = {
        "zzz": [Step(200, {"error": {"code": "maxlag", "info": "lagged"}}, {"Retry-After": "0"})],
        "paris": [Step(200, b"[]"), Step(200, {"search": None, "success": 1}), Step(200, {"batchcomplete": ""})],
    }
    with _wikidata(steps) as server, _finder(server, tmp_path) as finder:
        assert finder.search("zzz") == [] and server.queries == ["zzz", "zzz"]
        with pytest.raises(LookupFailed, match="3 attempts"):
            finder.find("Paris")
        assert len(finder.search("Paris")) == 3
        steps["*"] = [Step(200, {"error": {"code": "blocked", "info": "open proxy"}})]
        with pytest.raises(GeocodingStopped, match="open proxy"):
            finder.find("Lima")


# -- before anything is asked -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({}, r"targets\.contact is missing.*--set targets\.contact=NAME@HOST"),
        ({"contact": "me"}, "no e-mail or web address"),
        ({"contact": "me@x.org\r\nX-Evil: 1"}, "no e-mail or web address"),
        ({"contact": "you@example.com"}, "placeholder"),
        ({"contact": "a@b.org", "interval_s": 0.5}, "allows one request a second at most"),
        (
            {"contact": "a@b.org", "url": "https://nominatim.openstreetmap.org/", "interval_s": 0.2},
            "one request a second",
        ),
        ({"contact": "a@b.org", "url": "http://nominatim.openstreetmap.org"}, "write https://"),
        ({"contact": "a@b.org", "url": "http://geo.university.edu"}, "write https://"),
        ({"contact": "a@b.org", "url": "geo.university.edu"}, "no web address"),
        ({"contact": "a@b.org", "url": "https://me:secret@host.org"}, "without a user"),
        ({"contact": "a@b.org", "limit": 50}, "at most 40"),
    ],
)
def test_what_cannot_be_asked_is_said_before_it_starts(more, match):
    with pytest.raises(ConfigError, match=match) as caught:
        check_targets(Targets(geocoder="nominatim", **more))
    assert "secret" not in str(caught.value)


def test_sound_profiles_pass_the_check():
    check_targets(Targets())
    check_targets(Targets(geocoder="nominatim", contact="https://lab.university.edu/geo"))
    check_targets(Targets(geocoder="wikidata", contact="a@b.org"))
    for url in ("http://127.0.0.1:8080", "http://[::1]:8080", "http://nominatim:8080/api", "http://192.168.1.9"):
        check_targets(Targets(geocoder="nominatim", contact="a@b.org", url=url, interval_s=0.0))


def test_addresses_and_agent():
    assert server_address("nominatim", "https://geo.uni.edu/nominatim/").url == "https://geo.uni.edu/nominatim"
    assert server_address("nominatim", None).public and server_address("wikidata", None).public
    assert user_agent("mailto:a@b.org").endswith("(mailto:a@b.org)")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("  Rue de Lyon ", "Rue de Lyon"),
        ("'Roma'", "Roma"),
        ("L'Aquila (Abruzzo)", "L'Aquila Abruzzo"),
        ("King’s Cross", "King’s Cross"),
        ("「東京」駅", "東京 駅"),
        ('12"\nMain St.', "12 Main St."),
    ],
)
def test_quotes_and_brackets_leave_the_query(text, query):
    assert query_of(text) == query


@pytest.mark.parametrize("text", ["", "()", "—", "x" * 300, "ab\ud800"])
def test_what_holds_nothing_to_ask_is_not_asked(text, tmp_path):
    with GeocoderServer() as server, _finder(server, tmp_path) as finder:
        with pytest.raises(NothingToAsk):
            finder.find(text)
        assert not server.seen
