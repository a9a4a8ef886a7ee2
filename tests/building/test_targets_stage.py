"""The stage `targets`: the gazetteer as before, a server resumably, kept answers alone; Table 6."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent / "geocoder_server"))

from geocoder_stand_in import GeocoderServer, Step

from signpost_kit.benchmark import Group, Span
from signpost_kit.cli_geocode import export_answers, import_answers, list_answers
from signpost_kit.errors import ConfigError, DataError, StorageError
from signpost_kit.figures.targets import fig_targets
from signpost_kit.geocoding.base import GeocodingStopped
from signpost_kit.geocoding.lookups import OfflineFinder, Patience
from signpost_kit.geocoding.traps import COLUMNS, find_targets
from signpost_kit.profiles import load_profile
from signpost_kit.replacements import gazetteer
from signpost_kit.run import Run
from signpost_kit.stages import show
from signpost_kit.stages.common import load_groups, save_groups
from signpost_kit.stages.targets import KEPT_ANSWERS, targets
from signpost_kit.tables_targets import published_cohort, tab06

TEXTS = ["Lima", "springfield", "Zzyzxqu", "", "Lyon", "lima", "(—)"]


@pytest.fixture(autouse=True)
def _own_answers(tmp_path, monkeypatch):
    for module in ("pace", "lookups"):  # not the whole cache: it holds the gazetteer's index
        monkeypatch.setattr(f"signpost_kit.geocoding.{module}.cache_dir", lambda kind: tmp_path / "cache" / kind)
    monkeypatch.setattr("signpost_kit.geocoding.lookups.Patience", lambda: Patience(3, 0.02, 0.1))


def _group(number: int, text: str) -> Group:
    spans = (Span("Rue", replacements={"adversarial": text}, tier="T3"),) if text else ()
    return Group(
        f"g{number}", "A" if number < 4 else "B", 45.75, 4.85, source_id=f"photo {number}.jpg", spans=spans
    )


def _run(folder: Path, texts=TEXTS, **section) -> Run:
    run = Run(load_profile("tiny", {f"targets.{k}": v for k, v in section.items()}), folder, folder)
    save_groups(run, "replacements", [_group(i, text) for i, text in enumerate(texts)])
    return run


def _online(server, **more):
    return {"geocoder": "nominatim", "contact": "a@b.org", "url": server.url, "interval_s": 0.01, **more}


SIGNS = [
    "圣保罗街",
    "Sydney Bank",
    "Rue de Vientiane",
    "DHANBAD",
    "NICE",
    "Nice",
    "SALE",
    "",
    " Lima ",
    "Москва",
    "Qxz",
]


def test_the_gazetteer_gives_what_it_gave(tmp_path):
    run = _run(tmp_path / "run", SIGNS)
    targets(run)
    before = load_groups(run, "replacements")
    assert load_groups(run, "targets") == tuple(gazetteer.targets(group) for group in before)
    assert run.benchmark().groups == load_groups(run, "targets")
    record = run.stage_record("targets")
    assert record["counts"]["groups"] == 11 and record["counts"]["geocoded"] == 8
    table = run.table("targets")
    assert list(table.columns) == list(COLUMNS) and set(table["geocoder"]) == {"gazetteer", ""}
    again = Run(run.profile.model_copy(update={"targets": _kept(run)}), tmp_path / "again", tmp_path)
    save_groups(again, "replacements", before)
    targets(again)
    twins = ("NICE", "Nice")  # the kept answers know one of the two
    old, new = (
        [
            g.trap
            for g in load_groups(r, "targets")
            if g.spans and g.spans[0].replacements["adversarial"] not in twins
        ]
        for r in (run, again)
    )
    assert old == new and sum(trap is not None for trap in old) == 6, "the kept answers give the same traps"


def _kept(run, **more):
    return run.profile.targets.model_copy(update={"frozen": str(run.dir / KEPT_ANSWERS), **more})


def test_names_that_differ_in_case_alone_stay_apart_for_the_gazetteer():
    groups = [_group(0, "NICE"), _group(1, "Nice")]
    found = find_targets(groups, OfflineFinder())
    assert [g.trap for g in found.groups] == [gazetteer.targets(g).trap for g in groups]


def test_a_server_is_asked_once_per_text_and_every_group_has_its_reason(tmp_path):
    with GeocoderServer() as server:
        run = _run(tmp_path / "run", **_online(server))
        targets(run)
        assert server.queries == ["Lima", "springfield", "Zzyzxqu", "Lyon"]
        targets(_run(tmp_path / "other", **_online(server)))
        assert len(server.seen) == 4, "another run has the answers already"
    groups, table = load_groups(run, "targets"), run.table("targets").set_index("group_id")
    assert [g.trap.name if g.trap else "" for g in groups] == [
        "Lima, Somewhere, PE", "Springfield, Somewhere, US", "", "", "Lyon, Somewhere, FR", "Lima, Somewhere, PE", ""
    ]  # fmt: skip
    assert groups[0].trap.geocoder == "nominatim" and groups[0].trap.query == "Lima"
    assert table["status"].tolist() == ["found", "found", "nothing", "no text", "found", "found", "not asked"]
    assert table["candidates"].tolist() == [3, 3, 0, 0, 1, 3, 0]
    assert table["ambiguous"].tolist() == [False, True, False, False, False, False, False]
    assert table.loc["g4", "km_from_photo"] < 5 and table.loc["g0", "continent"] == "SA"
    counts = show.counts(run, "targets")["count"].to_dict()
    assert counts["geocoded"] == 4 and counts["ambiguous"] == 1 and counts["trap near the photo"] == 1
    assert {k: v for k, v in counts.items() if k.startswith("without")} == {
        "without: nothing": 1, "without: not asked": 1, "without: no text": 1
    }  # fmt: skip
    reasons = show.rejected(run, "targets").set_index("item")["reason"]
    assert reasons["photo 2.jpg"] == "no target found for 'Zzyzxqu'; stays without a trap"
    assert "no letter or digit" in reasons["photo 6.jpg"] and len(reasons) == 3


def test_a_text_that_fails_ends_the_stage_and_the_next_start_asks_for_it_alone(tmp_path):
    with GeocoderServer(steps={"springfield": [Step(500)] * 6}) as server:
        run = _run(tmp_path / "run", **_online(server))
        with pytest.raises(GeocodingStopped, match=r"1 of 6 texts could not .* 4 are answered and kept"):
            targets(run)
        assert run.stage_record("targets") is None
        asked = Counter(server.queries)
        assert asked == {"Lima": 1, "springfield": 6, "Zzyzxqu": 1, "Lyon": 1}, (
            "tried again at the end, 3 times each"
        )
        targets(run)
        assert Counter(server.queries) - asked == {"springfield": 1}
    assert run.stage_record("targets")["counts"]["geocoded"] == 4


def test_failures_can_go_on_without_a_trap(tmp_path):
    with GeocoderServer(steps={"springfield": [Step(500)] * 6}) as server:
        run = _run(tmp_path / "run", **_online(server, failures="without_trap"))
        targets(run)
    assert run.stage_record("targets")["counts"]["without: failed"] == 1
    reason = show.rejected(run, "targets").set_index("item").loc["photo 1.jpg", "reason"]
    assert reason.startswith("'springfield' could not be looked up at nominatim in 3 attempts: HTTP 500")
    assert tab06(run.table("targets")).to_frame()["Failed"].tolist() == [1, 0, 1]


def test_a_refusal_ends_the_stage_with_what_to_do(tmp_path):
    with GeocoderServer(steps={"lyon": [Step(403, b"blocked")]}) as server:
        run = _run(tmp_path / "run", **_online(server))
        with pytest.raises(GeocodingStopped, match="HTTP 403"):
            targets(run)
        targets(run)
        assert Counter(server.queries).most_common(1) == [("Lyon", 2)]


CHILD = """
import sys
from pathlib import Path
from signpost_kit.profiles import load_profile
from signpost_kit.run import Run
from signpost_kit.stages.targets import targets
folder = Path(sys.argv[1])
targets(Run(load_profile("tiny", sys.argv[2:]), folder, folder))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_stage_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path / "child"))
    texts = [f"Place {i}" for i in range(10)]
    with GeocoderServer(steps={"place 6": [Step(delay_s=5)]}) as server:
        run = _run(tmp_path / "run", texts)
        sets = [f"targets.{k}={v}" for k, v in _online(server).items() if k != "interval_s"]
        command = [sys.executable, "-c", CHILD, str(run.dir), *sets, "targets.interval_s=0.02"]
        child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 40
        while "Place 6" not in server.queries and time.monotonic() < end and child.poll() is None:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=10)
        assert run.stage_record("targets") is None and "Place 6" in server.queries
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert Counter(server.queries) == Counter(texts) + Counter(["Place 6"])
    assert run.stage_record("targets")["counts"]["geocoded"] == 10


def test_frozen_asks_nothing_and_says_what_is_not_kept(tmp_path):
    (tmp_path / "geocode_cache.json").write_text(
        '{"lima": {"lat": -12.06, "lon": -77.03, "display": "Lima, Peru"}, "zzyzxqu": null}'
    )
    run = _run(tmp_path / "run", frozen=str(tmp_path / "geocode_cache.json"))
    targets(run)
    assert [g.trap.name if g.trap else "" for g in load_groups(run, "targets")] == [
        "Lima, Peru", "", "", "", "", "Lima, Peru", ""
    ]  # fmt: skip
    status = run.table("targets")["status"].tolist()
    assert status == ["found", "not kept", "nothing", "no text", "not kept", "found", "not asked"]
    assert set(run.table("targets")["origin"]) == {"geocode_cache.json", ""}
    with GeocoderServer() as server:
        online = _run(tmp_path / "online", **_online(server))
        targets(online)
        asked = len(server.seen)
        section = _kept(online, contact=None)
        frozen = Run(online.profile.model_copy(update={"targets": section}), tmp_path / "f", tmp_path)
        save_groups(frozen, "replacements", load_groups(online, "replacements"))
        targets(frozen)
        assert len(server.seen) == asked
    assert load_groups(frozen, "targets") == load_groups(online, "targets")
    pd.testing.assert_frame_equal(frozen.table("targets"), online.table("targets"))


def test_no_contact_and_a_damaged_cache_end_it_before_anything_is_asked(tmp_path):
    with GeocoderServer() as server:
        with pytest.raises(ConfigError, match=r"targets\.contact is missing"):
            targets(_run(tmp_path / "run", geocoder="nominatim", url=server.url))
        run = _run(tmp_path / "run", **_online(server))
        (tmp_path / "cache" / "geocoding").mkdir(parents=True)
        (tmp_path / "cache" / "geocoding" / "answers.sqlite").touch()
        with pytest.raises(StorageError, match="is damaged .it is empty"):
            targets(run)
        assert not server.seen


# -- the files in and out ---------------------------------------------------------------------------------------------


def test_a_release_can_be_gone_on_from_and_a_run_exported(tmp_path):
    file = tmp_path / "geocode_cache.json"
    file.write_text('{"lima": {"lat": -12.06, "lon": -77.03, "display": "Lima, Peru"}, "zzyzxqu": null}')
    said: list[str] = []
    with GeocoderServer() as server:
        run = _run(tmp_path / "run", **_online(server))
        assert import_answers(file, run.profile, say=said.append) == 2
        assert import_answers(file, run.profile, say=said.append) == 0
        targets(run)
        assert server.queries == ["springfield", "Lyon"]
        assert export_answers(run, tmp_path / "out.json", say=said.append) == 4
        list_answers(say=said.append)
    data = json.loads((tmp_path / "out.json").read_text())
    assert {k: v and v["display"] for k, v in data.items()} == {
        "lima": "Lima, Peru", "springfield": "Springfield, Somewhere, US", "zzyzxqu": None,
        "lyon": "Lyon, Somewhere, FR",
    }  # fmt: skip
    assert data["lima"] == {"lat": -12.06, "lon": -77.03, "display": "Lima, Peru"}
    origins = run.table("targets")["origin"].tolist()
    assert origins == ["geocode_cache.json", "asked", "geocode_cache.json", "", "asked", "geocode_cache.json", ""]
    assert said[0].startswith("2 of 2 answers are new") and "nominatim, language en, limit 10" in said[-1]
    with pytest.raises(ConfigError, match=r"add --set targets\.geocoder=nominatim"):
        import_answers(file, load_profile("tiny"), say=said.append)
    with pytest.raises(DataError, match="run the stage 'targets' first"):
        export_answers(_run(tmp_path / "none"), tmp_path / "x.json")


# -- the map ----------------------------------------------------------------------------------------------------------


def test_the_map_counts_what_it_shows(tmp_path):
    with GeocoderServer() as server:
        run = _run(tmp_path / "run", **_online(server))
        targets(run)
    table = run.table("targets")
    axes = fig_targets(table).axes[0]
    assert axes.get_title(loc="left") + axes.get_title() == "4 of 7 texts name a place, 1 ambiguous"
    drawn = {line.get_gid(): len(line.get_xdata()) for line in axes.lines if line.get_gid() not in (None, "arc")}
    assert drawn == {"photo": 4, "place on the sign": 3, "ambiguous place": 1}
    for frame, said in (
        (table.iloc[2:4], "None of 2 texts names a place."),
        (table.iloc[:0], "No group was looked up."),
    ):
        assert said in " ".join(" ".join(t.get_text().split()) for t in fig_targets(frame).axes[0].texts)


# -- Table 6 ----------------------------------------------------------------------------------------------------------


def test_table_6_counts_groups_and_stands_beside_the_published_numbers(tmp_path):
    with GeocoderServer() as server:
        run = _run(tmp_path / "run", **_online(server))
        targets(run)
    table = tab06(run.table("targets"), published=published_cohort())
    frame = table.to_frame()
    mine = frame[frame["Source"] == "This run"].set_index("Data set")
    assert mine["Groups"].tolist() == [4, 3, 7] and mine["Geocodable"].tolist() == [2, 2, 4]
    assert mine["Rate (%)"].tolist() == pytest.approx([50.0, 66.6667, 57.142857], abs=1e-4)
    # Wilson for 2 of 4, by hand: (0.5 + z²/8 ± z sqrt(1/16 + z²/64)) / (1 + z²/4), z = 1.959964 -> 15.004, 84.996
    assert mine.loc["A", ["Rate low", "Rate high"]].tolist() == pytest.approx([15.0036, 84.9964], abs=1e-3)
    assert mine["Ambiguous"].tolist() == [1, 0, 1] and mine["Near the photo"].tolist() == [0, 1, 1]
    assert mine["Nothing found"].tolist() == [1, 0, 1] and mine["Not looked up"].tolist() == [1, 1, 2]
    assert mine["coverage"].tolist() == pytest.approx([0.75, 2 / 3, 5 / 7], abs=1e-5)
    paper = frame[frame["Source"] != "This run"].set_index("Data set")
    assert paper["Groups"].tolist() == [651, 992, 2337, 1131, 5111]
    assert paper.loc["All", "Geocodable"] == 1732 and round(paper.loc["All", "Rate (%)"], 1) == 33.9  # section 6
    assert paper["Geocodable"].isna().tolist() == [True] * 4 + [False]
    assert "Geocoder: nominatim." in table.note and "1732" in table.to_html() and r"\toprule" in table.to_latex()


def test_table_6_of_no_groups_has_no_rows():
    table = tab06(pd.DataFrame(columns=list(COLUMNS)))
    assert len(table.to_frame()) == 0 and "No rows" in table.to_html()
