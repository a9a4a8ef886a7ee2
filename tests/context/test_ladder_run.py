"""The ladder of a run from Wikidata with an auditor, and names looked up online: stages, against loopback servers."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "building" / "geocoder_server"))

from geocoder_stand_in import GeocoderServer
from ladder_servers import QueryService, Thing, far

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.models.registry import _FACTORIES, register
from signpost_kit.models.scripted import ScriptedProvider
from signpost_kit.run import open_run
from signpost_kit.stages.context_lookup import KEPT_ANSWERS, finder_of, lookup_section

LINE = re.compile(r"^(\d+)\. (Thing \d+)", re.MULTILINE)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    for module in ("geocoding.pace", "geocoding.lookups", "ladder.around"):
        monkeypatch.setattr(f"signpost_kit.{module}.cache_dir", lambda kind: tmp_path / "cache" / kind)
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def auditor():
    """A registered model of words: every seventh name is unusable, every tenth contentious."""

    def script(request):
        rows = []
        for number, label in LINE.findall(request.prompt):
            i = int(label.split()[1])
            row = {"n": int(number), "name": label, "why": "because"}
            if request.task == "audit_points":
                rows.append(
                    {**row, "usable": "no" if i % 7 == 0 else "yes", "referenceability": i % 6, "name_en": label}
                )
            else:
                rows.append({**row, "contentious": "yes" if i % 10 == 0 else "no"})
        return json.dumps({"names": rows})

    model = ScriptedProvider("auditor", script=script)
    register("test-auditor", lambda: model)
    yield model
    _FACTORIES.pop("test-auditor")


def profile(folder, **ladder):
    options = {"points": "wikidata", "contact": "tests@signpost.test", "interval_s": 0.0, "auditor": "test-auditor"}
    content = {
        "source": {"kind": "town", "n": 2, "seed": 7},
        "models": ["prior", "reader"],
        "context": {"ladder": {**options, **ladder}, "hints": {"schemas": ["forced"]}, "claims": {"per_band": 1}},
    }
    (folder / "p.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return open_run(str(folder / "p.yml"), str(folder / "run"))


def around_sites(run):
    from signpost_kit.stages.context_common import sites_of_run

    run.ensure("sources")
    rng, things = np.random.default_rng(5), []
    for site in sites_of_run(run):
        for _ in range(60):
            r, angle = 6.5 * rng.random(), rng.uniform(0, 2 * np.pi)
            lat, lon = site.lat + r * np.cos(angle) / 111.195, site.lon + r * np.sin(angle) / 111.195
            things.append(Thing(f"Q{500 + len(things)}", float(lat), float(lon), f"Thing {len(things)}"))
    return things, sites_of_run(run)


def test_a_run_draws_its_ladder_from_audited_entities(tmp_path, auditor):
    with QueryService([]) as server:
        run = profile(tmp_path, url=server.url, per_band=12, batch_size=10)
        server.things, sites = around_sites(run)
        run.ensure("ladder")
        asked, put = len(server.seen), len(auditor.history)
        points, candidates = run.table("points"), run.table("candidates")
        assert set(candidates["status"]) == {"usable", "unusable", "contentious"}
        number = candidates["name_en"].str.split().str[1].astype(int)
        assert ((candidates["status"] == "unusable") == (number % 7 == 0)).all()
        assert ((candidates["status"] == "contentious") == ((number % 7 != 0) & (number % 10 == 0))).all()
        assert len(points) == (candidates["status"] == "usable").sum() and set(points["auditor"]) == {
            "test-auditor"
        }
        home = {s.site: s for s in sites}
        km = [far(home[r.site].lat, home[r.site].lon, r.lat, r.lon) for r in points.itertuples()]
        assert np.allclose(km, points["ref_km"], atol=0.001)
        ladder = run.table("ladder")
        assert set(ladder["band"]) == {"0.5-1.5km", "1.5-3.0km", "3.0-6.0km"} and len(ladder) > 12
        for name in ("decisions.jsonl", "contentious.jsonl"):
            rows = [json.loads(line) for line in (run.dir / "ladders" / name).read_text().splitlines()]
            assert {row["auditor"] for row in rows} == {"test-auditor"}
        # Made anew, from what is kept: nothing is asked again, of Wikidata or of the auditor.
        run.forget(["ladder"])
        run.ensure("ladder")
        assert (len(server.seen), len(auditor.history)) == (asked, put)
        pd.testing.assert_frame_equal(run.table("points"), points)


def test_kept_decisions_are_used_instead_of_asking_unless_an_evaluated_model_made_them(tmp_path, auditor):
    with QueryService([]) as server:
        run = profile(tmp_path, url=server.url, contentious=False)
        things, _ = around_sites(run)
        server.things = things
        about = {"ok": True, "familiarity": 4, "name_en": "Kept Name", "why": "kept"}
        rows = [
            {"qid": t.qid, "label": t.en, "model": "claude-x" if i else "prior", **about}
            for i, t in enumerate(things)
        ]
        (tmp_path / "kept.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        run = profile(tmp_path, url=server.url, contentious=False, decisions=str(tmp_path / "kept.jsonl"))
        run.ensure("ladder")
        found = run.table("candidates").set_index("qid")
        # The first was decided by an evaluated model: it alone is asked about, if it lies within 6 km of a site.
        assert len(auditor.history) == int(things[0].qid in found.index)
        assert set(found.drop(index=things[0].qid, errors="ignore")["name_en"]) == {"Kept Name"}
        assert (found.drop(index=things[0].qid, errors="ignore")["auditor"] == "claude-x").all()


def test_who_may_not_audit_and_what_is_missing_is_said_before_anything_is_asked(tmp_path, auditor):
    with QueryService([]) as server:
        for change, match in (
            ({"auditor": None}, r"context\.ladder\.auditor is missing"),
            ({"auditor": "prior"}, "must not be evaluated"),
            ({"contact": None}, r"context\.ladder\.contact is missing"),
        ):
            with pytest.raises(ConfigError, match=match):
                profile(tmp_path, url=server.url, **change).ensure("ladder")
        with pytest.raises(DataError, match="none of 0 candidates around 2 sites"):
            profile(tmp_path, url=server.url).ensure("ladder")
        assert not auditor.history


def test_everything_is_checked_before_the_first_stage(tmp_path, auditor):
    from signpost_kit.ladder.checks import check_ladder, check_lookup, ladder_models

    good = profile(tmp_path, url="http://127.0.0.1:9").profile
    check_ladder(good)
    check_lookup(good)
    assert ladder_models(good) == ["test-auditor"]
    (tmp_path / "none.jsonl").write_text("")
    for change, error, match in (
        ({"contact": None}, ConfigError, r"context\.ladder\.contact is missing"),
        ({"auditor": "reader"}, ConfigError, "must not be evaluated"),
        ({"image_auditor": "reader"}, ConfigError, "must not be evaluated"),
        ({"interval_s": 0.5, "url": None}, ConfigError, "public service"),
        ({"decisions": str(tmp_path / "none.jsonl")}, DataError, "holds no decision"),
        ({"points": "file"}, ConfigError, r"context\.ladder\.path is missing"),
        ({"points": "file", "path": "nowhere"}, DataError, "do not exist"),
    ):
        with pytest.raises(error, match=match):
            check_ladder(profile(tmp_path, **({"url": "http://127.0.0.1:9"} | change)).profile)
    with pytest.raises(ConfigError, match=r"targets\.contact is missing"):
        check_lookup(lookup_run(tmp_path, "nominatim", None, contact=None).profile)


def test_points_of_a_file_become_the_ladder(tmp_path):
    run = profile(tmp_path)
    _, sites = around_sites(run)
    rows = [f"{s.site},Place {i},{s.lat + i / 111.195},{s.lon},{i % 6}" for s in sites for i in range(1, 6)]
    (tmp_path / "points.csv").write_text("site,name_en,lat,lon,referenceability\n" + "\n".join(rows) + "\n")
    run = profile(tmp_path, points="file", path=str(tmp_path / "points.csv"))
    run.ensure("ladder")
    assert len(run.table("points")) == 5 * len(sites) and set(run.table("ladder")["auditor"]) == {"own"}


def lookup_run(folder, geocoder, url, *, contact="tests@signpost.test", **hints):
    content = {
        "source": {"kind": "town", "n": 2, "seed": 7},
        "models": ["prior"],
        "targets": {
            "geocoder": geocoder,
            "url": url,
            "contact": contact,
            "interval_s": 1.0 if url is None else 0.0,
        },
        "context": {"hints": {"schemas": ["forced"], "geocoder": geocoder, **hints}},
    }
    (folder / "l.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return open_run(str(folder / "l.yml"), str(folder / "lookup"))


def test_answers_that_were_used_are_kept_with_the_run_and_rebuild_it_without_a_server(tmp_path):
    with GeocoderServer() as server:
        run = lookup_run(tmp_path, "nominatim", server.url)
        with finder_of(run, "nominatim") as finder:
            places = finder.search("Lima")
            assert finder.search("nowhere at all") == [] and places[0].country == "PE"
            assert finder.search("Lima") == places
            asked = len(server.seen)
        # A frozen run from that very file asks nobody; a name that is not in it is a failed lookup, not a miss.
        frozen = lookup_run(tmp_path, "nominatim", server.url, frozen=str(run.dir / KEPT_ANSWERS))
        copy = tmp_path / "copy.sqlite"
        copy.write_bytes((run.dir / KEPT_ANSWERS).read_bytes())
        other = lookup_run(tmp_path, "nominatim", server.url, frozen=str(copy))
        for again in (frozen, other):
            with finder_of(again, "nominatim") as finder:
                assert finder.search("Lima") == places and finder.search("nowhere at all") == []
                with pytest.raises(DataError, match="'Springfield' is not in the kept answers"):
                    finder.search("Springfield")
        assert len(server.seen) == asked


def test_the_gazetteer_is_kept_too_and_the_section_follows_targets(tmp_path):
    run = lookup_run(tmp_path, "gazetteer", None)
    with finder_of(run, "gazetteer") as finder:
        assert finder.search("Lima")[0].name == "Lima"
    assert (run.dir / KEPT_ANSWERS).is_file()
    with pytest.raises(ConfigError, match=r"context\.hints\.geocoder"):
        finder_of(run, "wikidata")
    section = lookup_section(run.profile)
    assert section is not None and (section.geocoder, section.contact) == ("gazetteer", "tests@signpost.test")
    assert lookup_section(profile(tmp_path).profile) is None  # local
