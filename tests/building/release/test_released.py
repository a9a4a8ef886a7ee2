"""A release as it lies on disk: read, gaps counted, nothing outside its folder, and into a run."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from signpost_kit.benchmark import Benchmark, Group, Trap
from signpost_kit.benchmark.release_names import edited_name, readable_picture, safe_text
from signpost_kit.benchmark.release_write import adopt_release, carry_files, write_release
from signpost_kit.benchmark.released import check_release, is_complete, read_release
from signpost_kit.errors import DataError
from signpost_kit.frames import VARIANTS


@pytest.fixture
def folder(released_folder, tmp_path) -> Path:
    return Path(shutil.copytree(released_folder, tmp_path / "data"))


def test_groups_texts_tiers_and_traps(released_folder):
    found = read_release(released_folder)
    one, two, old = found.groups
    assert [g.group_id for g in found.groups] == ["p1_x@N01", "p2", "q1"]
    assert (one.dataset, one.source_id, one.lat, one.lon) == ("alpha", "p1_x@N01.png", 45.75, 4.85)
    assert [s.text for s in one.spans] == ["Rue Pasteur", "STOP"]
    assert (one.tier, one.tier_reason) == ("T3", "road_suffix")
    assert [s.tier for s in one.spans] == ["T3", ""] and one.representative == one.spans[0]
    assert one.trap == Trap(-12.05, -77.04, "Lima, Peru", "Lima, Perú", "nominatim")
    assert two.trap is None and two.tier == "T2"  # "nothing found" is cached
    assert old.spans[0].text == "Kadıköy" and old.spans[0].location == "left"  # one text at the top of the line
    assert old.spans[0].replacements == {"similar": "Moda", "random": "zz", "adversarial": "Lima, Perú"}
    assert old.tier == "" and old.trap is not None
    assert one.generation["Blank"]["seed"] == 11 and one.generation["Blank"]["release"] == {"num_texts_removed": 2}
    assert is_complete(one) and not is_complete(old) and not is_complete(old, pictures=False)


def test_pictures_and_what_is_missing(released_folder):
    found = read_release(released_folder)
    assert found.missing == {"beta": dict.fromkeys(VARIANTS[1:], 1)}
    images = found.groups[0].images
    assert list(images) == list(VARIANTS)
    assert images["Adversarial"] == "alpha/images/Adversarial/p1_x@N01_adversarial_Lima Perú  Oruro.png"
    assert all(found.benchmark.image_path(found.groups[0], v).is_file() for v in VARIANTS)
    plain = read_release(released_folder, pictures=False)
    assert plain.missing == {} and all(not g.images for g in plain.groups) and len(plain.groups) == 3


def test_the_last_line_wins_and_a_torn_one_is_told(released_folder):
    found = read_release(released_folder)
    assert found.n_repeated == 1
    (torn,) = found.problems
    assert (torn.path.name, torn.line, torn.is_last) == ("attacks.jsonl", 4, True)
    assert any("line 4 (the last)" in line for line in found.summary())


def test_the_names_of_pictures_without_their_list(folder):
    (folder / "alpha" / "images" / "benchmark_meta.jsonl").unlink()
    assert read_release(folder).missing == {"beta": dict.fromkeys(VARIANTS[1:], 1)}  # by the texts
    path = folder / "alpha" / "images" / "Random" / "p2_random_くじら.png"
    path.rename(path.with_name("p2_random_otherwise.png"))
    assert read_release(folder).groups[1].images["Random"].endswith("p2_random_otherwise.png")  # the only one
    shutil.copyfile(path.with_name("p2_random_otherwise.png"), path.with_name("p2_random_twice.png"))
    assert "Random" not in read_release(folder).groups[1].images


def test_a_name_is_cut_at_255_bytes(released_folder):
    group = read_release(released_folder).groups[1]
    span = group.spans[0]
    long = type(group)("g", "d", 1, 1, spans=(type(span)("x", replacements={"random": "字" * 200}),))
    name = edited_name("id", long, "Random")
    assert len(name.encode()) <= 255 and name.endswith("字.png")
    assert safe_text(" a/b: c+d_e-f\n") == "ab cd_e-f"


def test_one_data_set_a_limit_and_only_labels(folder):
    assert {g.dataset for g in read_release(folder / "beta").groups} == {"beta"}
    assert {g.dataset for g in read_release(folder, datasets=["alpha"]).groups} == {"alpha"}
    assert [g.group_id for g in read_release(folder.parent, limit=1).groups] == ["p1_x@N01", "q1"]
    with pytest.raises(DataError, match="no data set 'gamma'; it has: alpha, beta"):
        read_release(folder, datasets=["gamma"])
    (folder / "alpha" / "attacks.jsonl").unlink()
    found = read_release(folder, datasets=["alpha"])
    assert [g.group_id for g in found.groups] == ["p1_x@N01", "p2"]
    assert found.groups[0].spans[0].replacements == {"adversarial": "Lima, Perú"}
    assert found.groups[0].images["Original"].endswith("p1_x@N01.png")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("p2.png\t\t\t\t\t\t\t\t\t121.3\t31.2", "not on the globe"),
        ("p2.png\t\t\t\t\t\t\t\t\t31.2\t121.3", "seem to be exchanged"),
        ("p2.png\t\t\t\t\t\t\t\t\t0\t0.0", "stands for a missing one"),
        ("p2.png\t\t\t\t\t\t\t\t\tnan\t3", "no pair of finite numbers"),
        ("p2.png\t\t\t\t\t\t\t\t\tx\t3", "no pair of numbers"),
    ],
)
def test_positions_are_checked(folder, row, reason):
    row = row.replace("121.3\t31.2", "200\t31.2") if "globe" in reason else row
    table = folder / "alpha" / "metadata" / "alpha_gt.tsv"
    table.write_text(table.read_text().splitlines()[0] + "\n0\t" + row + "\n")
    found = read_release(folder)
    assert [g.group_id for g in found.groups] == ["p1_x@N01", "q1"]
    (item,) = found.rejected
    assert item.item == "alpha/p2.png" and reason in item.reason


def test_what_cannot_be_used_is_told(folder):
    path = folder / "alpha" / "attacks.jsonl"
    good = path.read_bytes().splitlines()[1]
    line = json.loads(good)
    rows = [
        {**line, "original_filename": "../../../p1.png"},
        {**line, "original_filename": "none.png"},
        {**line, "original_filename": "p2.png", "texts": "Rue"},
        ["no object"],
    ]
    path.write_bytes(b"\n".join([good, *(json.dumps(row).encode() for row in rows)]))
    found = read_release(folder)
    assert [g.group_id for g in found.groups] == ["p1_x@N01", "q1"]
    reasons = {item.item: item.reason for item in found.rejected}
    assert reasons == {
        "alpha/../../../p1.png": "its file name leads out of the release's folder",
        "alpha/none.png": "has no row in the metadata",
        "alpha/p2.png": "its texts are no list of objects",
    }
    assert [p.reason for p in found.problems] == ["is no JSON object"]
    labels = folder / "alpha" / "taxonomy_labels.jsonl"
    labels.write_text(labels.read_text().replace('"T3"', '"T4"'))
    assert any("'T4' is none of T1, T2, T3" in item.reason for item in read_release(folder).rejected)


def test_no_release(tmp_path, folder):
    with pytest.raises(DataError, match="does not exist"):
        check_release(tmp_path / "absent")
    with pytest.raises(DataError, match="is not given"):
        check_release(None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no released data set"):
        read_release(tmp_path / "empty")
    (folder / "geocode_cache.json").write_text('{"a": {"lat": 1')
    with pytest.raises(DataError, match="is damaged"):
        read_release(folder)


def test_links_lead_nowhere_but_into_the_download_cache(folder, tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"secret")
    picture = folder / "beta" / "filtered_images" / "q1.jpg"
    content = picture.read_bytes()
    picture.unlink()
    picture.symlink_to(secret)
    adopted = adopt_release(read_release(folder), tmp_path / "run" / "benchmark")
    assert "points outside" in adopted.rejected[0].reason and len(adopted.groups) == 2
    cache = tmp_path / "cache"
    snapshot = cache / "snapshots" / "rev1"
    shutil.copytree(folder, snapshot)
    blob = cache / "blobs" / "abc"
    blob.parent.mkdir()
    blob.write_bytes(content)
    link = snapshot / "beta" / "filtered_images" / "q1.jpg"
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.relpath(blob, link.parent))
    assert readable_picture(snapshot, link) == blob.resolve()
    assert len(adopt_release(read_release(snapshot), tmp_path / "run2" / "benchmark").groups) == 3


def test_into_a_run_and_out_again(folder, tmp_path):
    found = read_release(folder)
    adopted = adopt_release(found, tmp_path / "run" / "benchmark")
    assert adopted.missing == dict.fromkeys(VARIANTS[1:], 1) and adopted.rejected == ()
    benchmark = Benchmark("run", adopted.groups, tmp_path / "run" / "benchmark")
    assert benchmark.image_path(adopted.groups[2], "Original").read_bytes().startswith(b"\x89PNG")
    assert [g.images["Original"] for g in adopted.groups][2] == "images/Original/q1.jpg"
    again = adopt_release(found, tmp_path / "run" / "benchmark")  # resumed
    assert again == adopted
    benchmark.write()
    written = write_release(Benchmark.read(benchmark.root), tmp_path / "out", geocode_cache=found.geocode_cache)
    back = read_release(tmp_path / "out")
    assert (written.n_groups, written.n_pictures) == (3, 11)
    assert [without_paths(g) for g in back.groups] == [without_paths(g) for g in found.groups]
    assert back.geocode_cache == found.geocode_cache and back.missing == found.missing
    names = sorted(p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*.png"))
    assert names == sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.png"))
    assert carry_files(folder, found.other_files, tmp_path / "out")
    assert read_release(tmp_path / "out").other_files == found.other_files


def without_paths(group):
    return replace(group, images=dict.fromkeys(group.images, ""))


def test_metadata_alone_still_makes_groups(folder, tmp_path):
    for name in ("images", "filtered_images"):
        shutil.rmtree(folder / "alpha" / name)
    shutil.rmtree(folder / "beta" / "filtered_images")
    adopted = adopt_release(read_release(folder), tmp_path / "run")
    assert len(adopted.groups) == 3 and adopted.missing == dict.fromkeys(VARIANTS, 3)


def test_names_from_data_do_not_lead_out_when_written(tmp_path):
    kept = {"Original": {"release": {"original_filename": "../../../up.png"}}}
    group = Group("../g", "../d", 1.0, 2.0, images={"Original": "a.png"}, generation=kept)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.png").write_bytes(b"picture")
    written = write_release(Benchmark("b", (group,), tmp_path / "b"), tmp_path / "deep" / "er" / "out")
    assert written.n_pictures == 1
    files = [p for p in tmp_path.rglob("*") if p.is_file() and not p.is_relative_to(tmp_path / "b")]
    assert files and all(p.is_relative_to(written.folder) for p in files)
    assert len(read_release(written.folder).groups) == 1
