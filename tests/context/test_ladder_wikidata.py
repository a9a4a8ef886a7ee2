"""Candidates around sites from Wikidata's query service: against a loopback stand-in, with its bad days."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from ladder_servers import QueryService, Step, Thing, far

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.geocoding.base import GeocodingStopped
from signpost_kit.geocoding.lookups import Patience
from signpost_kit.hints.plan import HintSite
from signpost_kit.ladder.around import Around, AroundSource
from signpost_kit.ladder.wikidata import CANDIDATE_COLUMNS, candidates, photographable
from signpost_kit.profile_context import Ladder

HOME = (35.66, 139.70)
QUICK = Patience(attempts=3, backoff_s=0.01, longest_s=0.05)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    for module in ("geocoding.pace", "ladder.around"):
        monkeypatch.setattr(f"signpost_kit.{module}.cache_dir", lambda kind: tmp_path / "cache" / kind)
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def scattered(n, *, seed=1, km=7.0):
    """Entities at random places up to `km` away; some without an English, some without any name."""
    rng = np.random.default_rng(seed)
    things = []
    for i in range(n):
        r, angle = km * np.sqrt(rng.random()), rng.uniform(0, 2 * np.pi)
        lat = HOME[0] + r * np.cos(angle) / 111.195
        lon = HOME[1] + r * np.sin(angle) / 111.195 / np.cos(np.radians(HOME[0]))
        en = "" if i % 7 == 0 else f"Thing {i}"
        own = {} if i % 14 == 0 else {"ja": f"物{i}"}
        things.append(Thing(f"Q{1000 + i}", float(lat), float(lon), en, own))
    return things


def around(server, *, rows=4000, **more):
    source = AroundSource(contact="tests@signpost.test", url=server.url, rows=rows, timeout_s=5, **more)
    return Around(source, interval_s=0.0, patience=QUICK)


def test_all_entities_of_the_disc_come_with_names_kinds_and_links():
    things = [
        Thing("Q1", *HOME, "Old Bridge", {"ja": "古い橋"}, (("Q12280", "bridge"), ("Q41176", "building")), 12),
        Thing("Q2", HOME[0] + 0.2, HOME[1], "Far Away"),  # 22 km
        Thing("Q3", HOME[0] + 0.01, HOME[1], "", {"ja": "駅"}, (("", ""),)),
    ]
    with QueryService(things) as server, around(server, language="ja") as service:
        found = service.entities(*HOME, 6.0)
        assert [(e.qid, e.name_en, e.name_local, e.kinds, e.kind, e.sitelinks) for e in found] == [
            ("Q1", "Old Bridge", "古い橋", ("Q12280", "Q41176"), "bridge", 12),
            ("Q3", "", "駅", (), "", 3),
        ]
        agents = {headers["User-Agent"] for _, _, headers in server.seen}
        assert len(agents) == 1 and "signpost_kit/" in min(agents) and "tests@signpost.test" in min(agents)
        assert service.entities(*HOME, 6.0) == found and len(server.seen) == 1  # kept


@pytest.mark.parametrize(("rows", "slow_km"), [(60, 99.0), (4000, 2.0)], ids=["full answers", "time-outs"])
def test_a_dense_city_is_covered_by_smaller_discs_and_nothing_is_lost(rows, slow_km):
    things = scattered(500)
    inside = {t.qid for t in things if far(*HOME, t.lat, t.lon) <= 6.0}
    with QueryService(things, slow_km=slow_km) as server:
        with around(server, rows=rows, language="ja") as service:
            found = service.entities(*HOME, 6.0)
        assert {e.qid for e in found} == inside and len(inside) > 300
        asked = len(server.seen)
        assert asked > 7
        with around(server, rows=rows, language="ja") as service:
            assert service.entities(*HOME, 6.0) == found
        # What was found, and that a disc was full, is kept; only discs that ran out of time are tried once more.
        radii = [float(re.search(r'radius "([\d.]+)"', p["query"])[1]) for _, p, _ in server.seen[:asked]]
        assert len(server.seen) - asked == sum(radius > slow_km for radius in radii)


def test_bad_days_are_waited_out_and_damaged_answers_are_never_kept():
    bad = [
        Step(429, b"slow down", {"Retry-After": "0"}),
        Step(503, b"<html>busy</html>"),
    ]
    with QueryService([Thing("Q1", *HOME, "A")], bad) as server, around(server) as service:
        assert [e.qid for e in service.entities(*HOME, 1.0)] == ["Q1"] and len(server.seen) == 3
    damaged = [Step(body=b'{"head": {}, "results": {"bindings": [{"item"'), Step(body=b"[]")]
    with QueryService([Thing("Q1", *HOME, "A")], damaged) as server, around(server) as service:
        assert [e.qid for e in service.entities(*HOME, 2.0)] == ["Q1"] and len(server.seen) == 3
    with QueryService([], [Step(500, b"down")] * 3) as server, around(server) as service:
        with pytest.raises(DataError, match=r"HTTP 500.*run again"):
            service.entities(*HOME, 3.0)
        assert service.entities(*HOME, 3.0) == [] and len(server.seen) == 4  # the failure was not kept
    with (
        QueryService([], [Step(403, b"no")]) as server,
        around(server) as service,
        pytest.raises(GeocodingStopped, match=r"403.*context\.ladder\.contact"),
    ):
        service.entities(*HOME, 3.0)


def test_what_can_be_wrong_before_asking_is_said_with_the_key():
    with pytest.raises(ConfigError, match=r"context\.ladder\.contact is missing"):
        AroundSource(contact=None)
    with pytest.raises(ConfigError, match=r"context\.ladder\.contact 'me'"):
        AroundSource(contact="me")
    with pytest.raises(ConfigError, match=r"context\.ladder\.url"):
        AroundSource(contact="tests@signpost.test", url="http://wikidata.org/sparql")
    with pytest.raises(ConfigError, match=r"interval_s is 0.5"):
        Around(AroundSource(contact="tests@signpost.test"), interval_s=0.5)
    with pytest.raises(ConfigError, match="language"):
        AroundSource(contact="tests@signpost.test", language='ja") }')


def test_craters_of_the_moon_and_rows_without_sense_are_left_out():
    def row(qid, where):
        return {"item": {"value": f"http://www.wikidata.org/entity/{qid}"}, "where": {"value": where}}

    body = {
        "results": {
            "bindings": [
                row("Q1", "<http://www.wikidata.org/entity/Q405> Point(139.7 35.66)"),
                row("Q2", "Point(139.7 95.0)"),
                row("Q3", "t12345"),
                row("L4", "Point(139.7 35.66)"),
                row("Q5", "<http://www.wikidata.org/entity/Q2> Point(139.7 35.66)"),
                "nonsense",
            ]
        }
    }
    with QueryService([], [Step(body=body)]) as server, around(server) as service:
        assert [e.qid for e in service.entities(*HOME, 1.0)] == ["Q5"]


def site(**more):
    return HintSite(**{"site": "s1", "city": "Tokyo", "lat": HOME[0], "lon": HOME[1], "pictures": (), **more})


def test_candidates_are_drawn_by_band_by_seed_and_never_by_distance():
    things = scattered(600, seed=3)
    with QueryService(things) as server, around(server, language="ja") as service:
        places = {"ja": service}
        few = candidates([site(country="JP")], Ladder(per_band=40), around=places)
        every = candidates([site(country="JP")], Ladder(per_band=5000), around=places)
        other = candidates([site(country="JP")], Ladder(per_band=40, seed=43), around=places)
    assert list(few.columns) == list(CANDIDATE_COLUMNS)
    band = np.digitize(few["ref_km"], [0.5, 1.5, 3.0])
    assert list(np.bincount(band)) == [
        min(40, n) for n in np.bincount(np.digitize(every["ref_km"], [0.5, 1.5, 3.0]))
    ]
    named = [t for t in things if (t.en or t.own) and far(*HOME, t.lat, t.lon) <= 6]
    assert set(every["qid"]) == {t.qid for t in named}
    assert set(few["qid"]) != set(other["qid"]) and set(few["qid"]) < set(every["qid"])
    outer = every.loc[every["ref_km"] > 3, "ref_km"]
    drawn = few.loc[few["ref_km"] > 3, "ref_km"]
    assert abs(drawn.mean() - outer.mean()) < 3 * outer.std() / np.sqrt(40)  # as far as the others, on average
    assert np.allclose(
        every["ref_km"], [far(*HOME, a, b) for a, b in zip(every["lat"], every["lon"], strict=True)], atol=0.001
    )
    nameless = every.loc[every["name_en"] == ""]
    assert len(nameless) and (nameless["name_local"].str.startswith("物")).all()


def test_local_names_are_in_the_language_of_the_country_unless_told():
    with QueryService([]) as server:
        options = Ladder(contact="tests@signpost.test", url=server.url, interval_s=0.0)
        sites = [site(country="JP"), site(site="s2", country="FR"), site(site="s3", country="GB"), site(site="s4")]
        assert candidates(sites, options).empty
        own = [p["query"].partition('LANG(?own) = "')[2][:2] for _, p, _ in server.seen]
        assert sorted(own) == ["", "fr", "ja"]  # the two that are read in English share one question
        server.seen.clear()
        candidates(sites[1:2], options.model_copy(update={"language": "ko"}))
        assert 'LANG(?own) = "ko"' in server.seen[0][1]["query"]


def test_there_are_sixteen_photographable_kinds_and_a_search_keeps_to_them(shared_data):
    import pandas as pd

    kinds = photographable()
    assert len(kinds) == len(set(kinds.values())) == 16
    released = pd.read_csv(shared_data / "geocontext" / "sites.csv", keep_default_na=False)
    assert set(released["wd_type"]) - {""} <= set(kinds)
    things = [Thing("Q1", *HOME, "A Bridge", kinds=(("Q12280", "bridge"),)), Thing("Q2", *HOME, "A Shop")]
    with QueryService(things) as server, around(server, kinds=list(kinds.values())) as service:
        assert [e.qid for e in service.entities(*HOME, 3.0)] == ["Q1"]
        assert "wdt:P31/wdt:P279* ?kind" in server.seen[0][1]["query"]
