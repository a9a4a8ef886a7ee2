"""A list and a folder of pictures become a benchmark: found by id, copied bare, resumed after a kill."""

from __future__ import annotations

import csv
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from signpost_kit.benchmark import Benchmark
from signpost_kit.benchmark.lists import Sample
from signpost_kit.benchmark.lists.importing import import_list
from signpost_kit.benchmark.lists.pictures import PictureIndex, download_stem
from signpost_kit.benchmark.source_checks import check_source_section
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.profile_sections import Source
from signpost_kit.run import open_run
from signpost_kit.stages.sources import checks, strata

_spec = importlib.util.spec_from_file_location("picture_server", Path(__file__).with_name("picture_server.py"))
picture_server = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(picture_server)


def picture(path: Path, colour: int, size=(120, 90), **options) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (colour, 100, 50)).save(path, **options)


# -- pictures by id --------------------------------------------------------------------------------------------------


@pytest.fixture
def index(tmp_path) -> PictureIndex:
    for name in (
        "45/77/32.jpg", "a_b_c.png", "x@N00.jpg.webp", "-AbC.jpg", "-abC.jpg", "one/same.jpg", "two/same.png",
        f"{download_stem('../etc/passwd')}.jpg", "123456789.jpg", "dots.in.id.jpeg",
    ):  # fmt: skip
        picture(tmp_path / "in" / name, 1)
    (tmp_path / "secret.jpg").write_bytes(b"x")
    (tmp_path / "in" / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    return PictureIndex(tmp_path / "in")


@pytest.mark.parametrize(
    ("ident", "found"),
    [
        ("45/77/32.jpg", "45/77/32.jpg"),
        ("45/77/32", "45/77/32.jpg"),
        ("32.png", "45/77/32.jpg"),
        ("./45\\77\\32.jpg", "45/77/32.jpg"),
        ("a/b/c.jpg", "a_b_c.png"),
        ("x@N00.jpg", "x@N00.jpg.webp"),
        ("-AbC", "-AbC.jpg"),
        ("-abC", "-abC.jpg"),
        ("-ABC", None),
        ("one/same", "one/same.jpg"),
        ("same", None),
        ("123456789.0", "123456789.jpg"),
        ("dots.in.id", "dots.in.id.jpeg"),
        ("dots.in", None),
        ("../secret", None),
        ("../secret.jpg", None),
        ("link", None),
        ("../etc/passwd", f"{download_stem('../etc/passwd')}.jpg"),
        ("/etc/passwd", None),
        ("", None),
    ],
)
def test_pictures_are_found_by_id_and_never_outside(index, ident, found):
    assert index.find(ident) == found


def test_why_there_is_no_picture(index):
    reasons = index.missing(["-AbC", "same", "nobody"])
    assert sorted(reasons) == [1, 2]
    assert "several pictures" in reasons[1]
    assert "no picture of this id" in reasons[2]


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        PictureIndex(tmp_path / "none")
    with pytest.raises(DataError, match="is empty"):
        PictureIndex(tmp_path)


# -- import ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def listed(tmp_path) -> Path:
    """Ten rows with pictures, two without, one broken, one twice, one with the pixels of another."""
    lines = ["IMG_ID,LAT,LON"]
    for i in range(10):
        picture(tmp_path / "in" / f"aa/{i}.jpg", 20 * i, size=(2000, 100) if i == 9 else (120, 90))
        lines.append(f"aa/{i}.jpg,{48 + i * 0.1},{2 + i * 0.1}")
    (tmp_path / "in" / "broken.jpg").write_bytes((tmp_path / "in" / "aa/3.jpg").read_bytes()[:-300])
    shutil.copy(tmp_path / "in" / "aa/4.jpg", tmp_path / "in" / "copy.jpg")
    with Image.open(tmp_path / "in" / "aa/5.jpg") as image:
        image.load()
        image.save(tmp_path / "in" / "pixels.png")
    lines += [f"{name},50,{5 + i}" for i, name in enumerate(("gone", "../up", "broken", "copy", "pixels"))]
    lines += ["12345678901234567.0,50,5", "aa/1.jpg,48.1,2.1", "zero,0,0"]
    (tmp_path / "list.csv").write_text("\r\n".join(lines) + "\r\n")
    return tmp_path


def run_import(root: Path, **options):
    given = {"images": root / "in", "scheduler": "serial", "progress": False} | options
    return import_list(root / "list.csv", root / "out", **given)


def test_every_row_is_accounted_for(listed):
    made = run_import(listed, rejects=listed / "rejected.csv")
    groups = made.benchmark.groups
    assert [group.source_id for group in groups] == [f"aa/{i}.jpg" for i in range(10)]
    assert all(group.group_id.startswith("photo-") and group.dataset == "list" for group in groups)
    assert (groups[2].lat, groups[2].lon, groups[2].country) == (48.2, 2.2, "FR")
    assert {item.item: item.kind for item in made.rejected} == {
        "broken": "unusable picture", "copy": "duplicate", "pixels": "duplicate",
    }  # fmt: skip
    assert made.report.reasons == {"no picture": 2, "damaged id": 1, "duplicate id": 1, "0, 0": 1}
    with (listed / "rejected.csv").open(newline="") as handle:
        assert len(list(csv.DictReader(handle))) == 5
    assert Benchmark.read(listed / "out").groups == groups
    written = {path.relative_to(listed / "out").as_posix() for path in (listed / "out").rglob("*.png")}
    assert written == {group.images["Original"] for group in groups}
    with Image.open(listed / "out" / groups[9].images["Original"]) as image:
        assert image.size == (1600, 80)


def test_one_picture_belongs_to_one_id(listed):
    with (listed / "list.csv").open("a") as handle:
        handle.write("aa/2,48.2,2.2\r\n")
    (item,) = [item for item in run_import(listed).rejected if item.item == "aa/2"]
    assert "belongs to the id 'aa/2.jpg' already" in item.reason


def test_the_picture_that_says_it_is_elsewhere_is_noted(listed):
    exif = Image.Exif()
    gps = exif.get_ifd(0x8825)
    gps.update({1: "N", 2: (35.0, 0.0, 0.0), 3: "E", 4: (139.0, 0.0, 0.0)})
    picture(listed / "in" / "aa/0.jpg", 7, exif=exif)
    (note,) = run_import(listed).benchmark.groups[0].generation["Original"]["notes"]
    assert "the picture itself says 35.00000, 139.00000" in note


def test_threads_and_processes_give_the_same(listed):
    serial = run_import(listed)
    for scheduler in ("threads", "processes"):
        assert run_import(listed, scheduler=scheduler, workers=2).benchmark.groups == serial.benchmark.groups


def test_a_sample_takes_only_rows_that_have_pictures(listed):
    made = run_import(listed, sample=Sample("country", at_least=3))
    drawn = {name: (rows, drawn) for name, rows, drawn in made.report.strata}
    assert drawn["FR"] == (10, 3)
    assert sum(rows for rows, _ in drawn.values()) == made.report.usable == 13
    assert len(made.benchmark) + len(made.rejected) == made.report.chosen == sum(d for _, d in drawn.values())


def test_a_second_call_copies_nothing_again(listed, monkeypatch):
    from signpost_kit.benchmark.lists import importing

    calls: list[Path] = []
    opened = importing.open_image
    monkeypatch.setattr(importing, "open_image", lambda path, **o: calls.append(path) or opened(path, **o))
    first = run_import(listed, journal=listed / "j.sqlite", limit=4)
    assert len(calls) == 4
    second = run_import(listed, journal=listed / "j.sqlite")
    assert len(calls) == 4 + 8  # the broken one fails before
    assert second.benchmark.groups[:4] == first.benchmark.groups
    (listed / "out" / second.benchmark.groups[0].images["Original"]).unlink()
    picture(listed / "in" / "aa/1.jpg", 251)  # another picture of that id
    third = run_import(listed, journal=listed / "j.sqlite")
    assert sorted({path.name for path in calls[12:]}) == [
        "0.jpg",
        "1.jpg",
        "pixels.png",
    ]  # the last one keeps no copy
    assert third.benchmark.groups[1].group_id != second.benchmark.groups[1].group_id


def test_pictures_that_are_not_in_the_folder_are_fetched(listed, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = picture_server.PictureServer()
    try:
        urls = [
            f"gone,{server.url}/ok/1",
            f"../up,{server.url}/404/2",
            f"aa/3.jpg,{server.url}/ok/3",
            f"zero,{server.url}/ok/4",
        ]
        (listed / "urls.csv").write_text("id,url\n" + "\n".join(urls) + "\n")
        made = run_import(listed, downloads=listed / "urls.csv", download_dir=listed / "fetched")
        ids = [group.source_id for group in made.benchmark.groups]
        assert "gone" in ids
        assert made.downloaded == 1
        assert server.asked == {"/ok/1": 1, "/404/2": 1}  # not what is there, and not what is of no use
        assert "404" in {item.item: item.reason for item in made.rejected}["../up"]
    finally:
        server.shutdown()
        server.server_close()


def test_nothing_is_fetched_without_a_list(listed):
    with pytest.raises(ConfigError, match="source.images"):
        import_list(listed / "list.csv", listed / "out", progress=False)


def test_a_kill_loses_no_copy(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["id,lat,lon"]
    (tmp_path / "in").mkdir()
    for i in range(30):
        Image.fromarray(rng.integers(0, 255, (700, 900, 3), dtype=np.uint8)).save(tmp_path / "in" / f"{i}.jpg")
        lines.append(f"{i},48.{i:02d},2.5")
    (tmp_path / "list.csv").write_text("\n".join(lines) + "\n")
    code = (
        "import sys\nfrom signpost_kit.benchmark.lists.importing import import_list\n"
        "root = sys.argv[1]\n"
        "import_list(root + '/list.csv', root + '/out', images=root + '/in', journal=root + '/j.sqlite',"
        " scheduler='serial', progress=False)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    originals = tmp_path / "out" / "images" / "Original"
    end = time.monotonic() + 60
    while len(list(originals.glob("[!.]*.png"))) < 8 and time.monotonic() < end:
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert not (tmp_path / "out" / "groups.jsonl").exists()
    before = {path.name: path.stat().st_mtime_ns for path in originals.glob("[!.]*.png")}
    assert 8 <= len(before) < 30
    made = import_list(
        tmp_path / "list.csv", tmp_path / "out", images=tmp_path / "in", journal=tmp_path / "j.sqlite",
        scheduler="serial", progress=False,
    )  # fmt: skip
    assert len(made.benchmark) == 30
    again = [name for name, stamp in before.items() if (originals / name).stat().st_mtime_ns != stamp]
    assert len(again) <= 1  # the one whose result was not noted yet


# -- the stage -------------------------------------------------------------------------------------------------------


def test_the_stage_of_a_list(listed):
    sets = [
        "source.kind=list",
        f"source.path={listed / 'list.csv'}",
        f"source.images={listed / 'in'}",
        "source.limit=6",
    ]
    run = open_run("tiny", str(listed / "run"), sets=sets)
    run.ensure("sources")
    record = run.stage_record("sources")
    assert record["counts"] | {"seconds": 0} == {
        "rows": 18, "usable_rows": 13, "chosen_rows": 6, "rejected": 5, "groups": 6, "datasets": 1, "seconds": 0,
    }  # fmt: skip
    assert "line 12: gone" in [item["item"] for item in record["rejected"]]
    frame = checks(run)
    assert {"form", "rows", "latitude and longitude", "ids", "no picture"} <= set(frame["check"])
    assert strata(run).empty
    assert len(run.benchmark()) == 6


def test_the_teaching_set_has_no_checks_to_show(tmp_path):
    run = open_run("tiny", str(tmp_path / "run"), sets=["source.n=1"])
    run.ensure("sources")
    assert list(checks(run).columns) == ["check", "verdict", "found", "remedy"]
    assert checks(run).empty
    assert run.stage_record("sources")["counts"] == {"groups": 1, "rejected": 0, "datasets": 1}


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"kind": "list"}, ConfigError, "source.path=FILE"),
        ({"kind": "list", "path": "list.csv"}, ConfigError, "source.images to the folder"),
        ({"kind": "list", "path": "none.csv", "images": "in"}, DataError, "none.csv does not exist"),
        ({"kind": "list", "path": "list.csv", "images": "none"}, DataError, "check source.images"),
        ({"kind": "list", "path": "list.csv", "images": "in", "format": "osv5m"}, DataError, "no column id"),
        (
            {"kind": "list", "path": "list.csv", "images": "in", "sample_by": "province"},
            ConfigError,
            "add a column",
        ),
        ({"kind": "list", "path": "list.csv", "downloads": "list.csv"}, DataError, "web address"),
        ({"kind": "panoramas"}, ConfigError, "source.path=FOLDER"),
        ({"kind": "panoramas", "path": "in", "sample_by": "province"}, ConfigError, "add a column"),
        ({"kind": "panoramas", "path": "in", "positions": "none.csv"}, DataError, "check source.positions"),
        ({"kind": "photos", "path": "list.csv"}, DataError, "is a file"),
        ({"kind": "town", "sample_by": "country"}, ConfigError, "not from the kind 'town'"),
        ({"kind": "photos", "path": "in", "downloads": "list.csv"}, ConfigError, "goes with the kind list"),
    ],
)
def test_what_is_wrong_is_said_before_the_run(listed, monkeypatch, settings, error, message):
    monkeypatch.chdir(listed)
    with pytest.raises(error, match=message):
        check_source_section(Source(**settings))


def test_what_is_right_passes(listed, monkeypatch):
    monkeypatch.chdir(listed)
    check_source_section(Source())
    check_source_section(Source(kind="list", path="list.csv", images="in", sample_by="country"))
    check_source_section(Source(kind="panoramas", path="in"))
    check_source_section(Source(kind="photos", path="in"))


def test_the_map_shows_every_picture_and_says_when_there_is_none():
    import pandas as pd

    from signpost_kit.figures.positions import fig_positions

    names = [f"set{i % 8}" for i in range(40)]
    groups = pd.DataFrame(
        {"dataset": names, "lat": [float(i) for i in range(40)], "lon": [170.0 + i for i in range(40)]}
    )
    (ax,) = fig_positions(groups).axes
    drawn = [line for line in ax.get_lines() if line.get_gid() == "picture"]
    assert sum(len(line.get_xdata()) for line in drawn) == 40
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "3 other data sets (15)"
    low, high = ax.get_xlim()
    assert all(low <= x <= high for line in drawn for x in line.get_xdata())
    (ax,) = fig_positions(groups.iloc[:0]).axes
    assert "No picture" in ax.texts[0].get_text()
