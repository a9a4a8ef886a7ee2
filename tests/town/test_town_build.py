"""Building a teaching set: what is written, that it can be read back, and how bad input ends."""

from __future__ import annotations

import struct
from collections import Counter

import pytest

from signpost_kit.benchmark import Benchmark, town
from signpost_kit.errors import ConfigError, DataError, StorageError


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Benchmark:
    return town.build(6, seed=7, out_dir=tmp_path_factory.mktemp("town") / "set")


def chunks(data: bytes) -> list[bytes]:
    """Chunk names of a PNG."""
    names, at = [], 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        names.append(data[at + 4 : at + 8])
        at += 12 + length
    return names


def test_what_is_written_can_be_read_back(built: Benchmark) -> None:
    again = Benchmark.read(built.root)
    assert again.groups == built.groups and len(again) == 6 and again.name == "town"
    assert set(Counter(g.dataset for g in built.groups)) == set(town.DATASETS.values())
    for group in built.groups:
        path = built.image_path(group, "Original")
        assert path.is_file() and path.parent.name == "Original"
        assert group.tier == "" and group.tier_reason == "" and group.trap is None
        assert 2 <= len(group.spans) <= 4
        assert town.nearest_city(group.lat, group.lon).name == group.city
        city = town.city_named(group.city)
        assert group.country == city.country
        assert abs(group.lat - city.lat) < 0.04 and group.lat != city.lat


def test_nothing_in_ids_files_or_pictures_names_the_place(built: Benchmark) -> None:
    for group in built.groups:
        data = built.image_path(group, "Original").read_bytes()
        assert set(chunks(data)) == {b"IHDR", b"IDAT", b"IEND"}
        told = f"{group.group_id} {group.images['Original']} {group.source_id}".casefold()
        assert group.city.casefold() not in told and group.country.casefold() not in told.split("-")


def test_a_scene_does_not_depend_on_how_many_follow(built: Benchmark, tmp_path) -> None:
    shorter = town.build(3, seed=7, out_dir=tmp_path / "three")
    assert shorter.groups == built.groups[:3]
    for group in shorter.groups:
        assert (
            shorter.image_path(group, "Original").read_bytes() == built.image_path(group, "Original").read_bytes()
        )
    other = town.build(3, seed=8, out_dir=tmp_path / "other")
    assert [g.generation for g in other.groups] != [g.generation for g in shorter.groups]


def test_rounds_deal_every_city_once(tmp_path) -> None:
    bench = town.build(7, seed=1, out_dir=tmp_path, cities=["Rome", "tokyo", "Lima", "Rome"], size=(192, 128))
    counts = Counter(group.city for group in bench.groups)
    assert set(counts) == {"Rome", "Tokyo", "Lima"} and sorted(counts.values()) == [2, 2, 3]
    assert {g.city for g in bench.groups[:3]} == {g.city for g in bench.groups[3:6]} == set(counts)


def test_without_a_folder_it_goes_to_the_cache_once_per_content(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path))
    one = town.build(1, 3, size=(192, 128))
    other = town.build(1, 4, size=(192, 128))
    assert one.root.is_relative_to(tmp_path) and one.root != other.root


@pytest.mark.parametrize("n", [0, -3])
def test_no_scenes_is_an_error(n: int, tmp_path) -> None:
    with pytest.raises(DataError, match="at least 1"):
        town.build(n, seed=1, out_dir=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_wrong_arguments_are_named(tmp_path) -> None:
    with pytest.raises(DataError, match=r"n = 2\.5"):
        town.build(2.5, seed=1, out_dir=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="Atlantis"):
        town.build(2, seed=1, out_dir=tmp_path / "x", cities=["Atlantis"])
    with pytest.raises(ConfigError, match="empty"):
        town.build(2, seed=1, out_dir=tmp_path / "x", cities=[])
    with pytest.raises(ConfigError, match="size"):
        town.build(2, seed=1, out_dir=tmp_path / "x", size=(5, 5))
    assert not (tmp_path / "x").exists()


def test_a_folder_that_cannot_be_written_is_a_storage_error(tmp_path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(StorageError, match="cannot write"):
        town.build(1, seed=1, out_dir=blocked / "set", size=(192, 128))


def test_pictures_never_leave_the_folder(built: Benchmark) -> None:
    root = built.root.resolve()
    for group in built.groups:
        assert built.image_path(group, "Original").resolve().is_relative_to(root / "images" / "Original")


def test_importing_the_package_draws_and_reads_nothing() -> None:
    import subprocess
    import sys

    code = "import sys, signpost_kit.benchmark.town; print('cv2' in sys.modules, 'PIL.ImageDraw' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
