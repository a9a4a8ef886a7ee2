"""A folder of photos: usable or listed with a reason, nothing ends the run, nothing leaks into the copies."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from signpost_kit.benchmark import Benchmark
from signpost_kit.benchmark.photos import PhotoFolder, from_folder, import_photos
from signpost_kit.errors import ConfigError, DataError, StorageError
from signpost_kit.files import hash_bytes
from signpost_kit.images import load_rgb


def _reasons(result: PhotoFolder) -> dict[str, str]:
    return {item.item: item.reason for item in result.rejected}


def _mixed(maker) -> None:
    """Two usable photos and one of everything else."""
    maker.photo("a.jpg", 48.2, 16.3)
    maker.photo("sub/b.png", -33.4, 151.2)
    shutil.copy(maker.folder / "a.jpg", maker.folder / "copy of a.jpg")
    maker.photo("nowhere.jpg")
    maker.photo("null.jpg", 0.0, 0.0)
    (maker.folder / "cut.jpg").write_bytes(maker.photo("whole.jpg", 1, 2).read_bytes()[:-300])
    (maker.folder / "whole.jpg").unlink()
    (maker.folder / "empty.jpg").write_bytes(b"")
    (maker.folder / "notes.txt").write_text("hello, notes")
    (maker.folder / "track.json").write_text('{"type": "FeatureCollection"}')
    (maker.folder / "raw.NEF").write_bytes(b"II*\0" + b"\0" * 60)
    (maker.folder / ".hidden.jpg").write_bytes(b"x")
    (maker.folder / ".thumbs").mkdir()
    (maker.folder / ".thumbs" / "t.jpg").write_bytes(b"x")


def test_every_file_is_used_or_listed(maker):
    _mixed(maker)
    result = from_folder(maker.folder)
    assert [(g.source_id, g.lat, g.lon) for g in result.groups] == [
        ("a.jpg", pytest.approx(48.2), pytest.approx(16.3)),
        ("sub/b.png", pytest.approx(-33.4), pytest.approx(151.2)),
    ]
    reasons = _reasons(result)
    for name, words in {
        "copy of a.jpg": "the same file as a.jpg",
        "nowhere.jpg": "no position in EXIF or XMP",
        "null.jpg": "placeholder",
        "cut.jpg": "damaged or cut off",
        "empty.jpg": "empty",
        "notes.txt": "not a picture",
        "track.json": "not a picture",
        "raw.NEF": "raw file",
        ".hidden.jpg": "not a picture: a hidden file",
        ".thumbs": "not a picture: a hidden folder",
    }.items():
        assert words in reasons.pop(name), name
    assert reasons == {}
    assert result.summary().startswith("2 usable photos; 10 not used (6 not a picture, ")


def test_the_result_is_a_benchmark_in_place(maker):
    _mixed(maker)
    result = from_folder(maker.folder, dataset="mine")
    assert isinstance(result, Benchmark) and len(result) == 2
    assert type(result.benchmark) is Benchmark
    assert result.benchmark.groups == result.groups
    group = result.groups[0]
    assert (group.dataset, group.city, group.country, group.spans) == ("mine", "", "", ())
    assert group.group_id.startswith("photo-") and "48" not in group.group_id[:6]
    assert result.image_path(group, "Original") == (maker.folder / "a.jpg").resolve()
    record = group.generation["Original"]
    assert (record["position_from"], record["notes"], record["source_size"]) == ("exif", [], [96, 64])
    account = result.account()
    assert len(account) == 12 and account["usable"].sum() == 2
    assert isinstance(result.to_frame(), pd.DataFrame)


def test_without_the_check_no_pixel_is_decoded(maker, monkeypatch, no_reader):
    for number in range(3):
        maker.photo(f"{number}.jpg", 10 + number, 20)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", no_reader)
    assert len(from_folder(maker.folder, check=False)) == 3


def test_limit_recursion_and_order(maker):
    for name in ("b.jpg", "a.jpg", "sub/c.jpg", "d.jpg"):
        maker.photo(name, 10 + ord(name[-5]) / 100, 20)
    result = from_folder(maker.folder, limit=2)
    assert [g.source_id for g in result.groups] == ["a.jpg", "b.jpg"]
    assert "2 more files were not looked at" in result.notes[-1].text
    assert [g.source_id for g in from_folder(maker.folder, recursive=False).groups] == ["a.jpg", "b.jpg", "d.jpg"]
    with pytest.raises(ConfigError, match="limit=0"):
        from_folder(maker.folder, limit=0)


def test_too_many_pixels(maker):
    maker.photo("a.jpg", 10, 20, image=maker.corners(40, 40))
    maker.photo("big.jpg", 10, 20, image=maker.corners(60, 60))
    assert "60 x 60 pixels" in _reasons(from_folder(maker.folder, max_pixels=2000))["big.jpg"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no links or pipes here")
def test_links_and_pipes(maker, tmp_path):
    maker.photo("a.jpg", 10, 20)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.jpg").write_bytes((maker.folder / "a.jpg").read_bytes() + b"x")
    (maker.folder / "out.jpg").symlink_to(outside / "secret.jpg")
    (maker.folder / "outdir").symlink_to(outside)
    (maker.folder / "gone.jpg").symlink_to(maker.folder / "missing.jpg")
    (maker.folder / "loop").symlink_to(maker.folder)
    (maker.folder / "inside.jpg").symlink_to(maker.folder / "a.jpg")
    os.mkfifo(maker.folder / "pipe.jpg")  # opening it would wait for ever
    reasons = _reasons(from_folder(maker.folder))
    assert "out of the folder" in reasons["out.jpg"]
    assert "out of the folder" in reasons["outdir"]
    assert "leads nowhere" in reasons["gone.jpg"]
    assert "link to a folder" in reasons["loop"]
    assert "the same file as a.jpg" in reasons["inside.jpg"]
    assert "no regular file" in reasons["pipe.jpg"]


def test_a_name_that_is_no_unicode(maker):
    maker.photo("a.jpg", 10, 20)
    try:
        shutil.copy(maker.folder / "a.jpg", os.fsencode(maker.folder) + b"/\xff.jpg")
    except OSError:
        pytest.skip("this file system takes only Unicode names")
    result = from_folder(maker.folder)
    assert [item.reason for item in result.rejected] == ["its name is not valid UTF-8; rename it"]
    result.write(maker.folder)


def test_sidecar_wins_over_exif(maker):
    maker.photo("a.jpg", 48.2, 16.3)
    maker.photo("b.jpg", 48.2, 16.3)
    maker.photo("plain.jpg")
    maker.photo("c.jpg", 1.0, 2.0)
    maker.photo("d.jpg", 48.2, 16.3)
    table = maker.folder / "positions.csv"
    table.write_text(
        "filename;lat;lon\na.jpg;-33,4;151,2\nplain.jpg;10;20\nb.jpg;95;200\nghost.jpg;1;1\nd.jpg;16,3;48,2\n"
    )
    result = from_folder(maker.folder)
    found = {g.source_id: (g.lat, g.lon, g.generation["Original"]["position_from"]) for g in result.groups}
    assert found == {"a.jpg": (-33.4, 151.2, "sidecar"), "plain.jpg": (10, 20, "sidecar"), "c.jpg": (1, 2, "exif")}
    notes = {note.item: note.text for note in result.notes}
    assert "the photo's EXIF says 48.20000, 16.30000" in notes["a.jpg"]
    reasons = _reasons(result)
    assert reasons["b.jpg"].startswith("positions.csv line 4: latitude 95")
    assert "the same the other way round" in reasons["d.jpg"]
    assert reasons["positions.csv line 5: ghost.jpg"] == "no picture of this name is in the folder"
    assert "positions.csv" not in reasons


def test_a_named_table_elsewhere(maker, tmp_path):
    maker.photo("a.jpg")
    table = tmp_path / "where.csv"
    table.write_text("name,latitude,longitude\na,10,20\n")
    assert from_folder(maker.folder, positions=table).groups[0].lat == 10
    with pytest.raises(DataError, match=r"absent\.csv does not exist"):
        from_folder(maker.folder, positions=tmp_path / "absent.csv")


def test_bad_folders_give_one_line(maker, tmp_path):
    with pytest.raises(DataError, match="does not exist; check the path"):
        from_folder(tmp_path / "absent")
    with pytest.raises(DataError, match="is empty; put photos"):
        from_folder(maker.folder)
    photo = maker.photo("a.jpg")
    with pytest.raises(DataError, match="is a file; give the folder"):
        from_folder(photo)
    (maker.folder / "notes.txt").write_text("hello")
    for action in (from_folder, lambda folder: import_photos(folder, tmp_path / "out")):
        with pytest.raises(DataError) as caught:
            action(maker.folder)
        assert "no usable photo" in str(caught.value)
        assert "2 not used (1 no position, 1 not a picture)" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_import_writes_upright_copies_without_metadata(maker, tmp_path):
    _mixed(maker)
    stored = maker.corners(3000, 1500).transpose(Image.Transpose.ROTATE_90)
    maker.photo(
        "turned.jpg",
        35.0,
        139.0,
        image=stored,
        orientation=6,
        comment=b"SECRET",
        xmp=maker.xmp_packet(GPSLatitude="35,0N"),
    )
    out = tmp_path / "bench"
    result = import_photos(maker.folder, out, max_side=800)
    assert len(result) == 3 and len(result.rejected) == 10
    again = Benchmark.read(out)
    assert again.groups == result.groups
    turned = next(g for g in again.groups if g.source_id == "turned.jpg")
    pixels = load_rgb(again.image_path(turned, "Original"))
    assert (pixels.shape, maker.seen(pixels)) == ((400, 800, 3), "RGBW")
    record = turned.generation["Original"]
    assert (record["orientation"], record["source_size"], record["max_side"]) == (6, [1500, 3000], 800)
    for group in again.groups:
        path = again.image_path(group, "Original")
        data = path.read_bytes()
        assert path.suffix == ".png" and path.stem == group.group_id
        assert group.generation["Original"]["image_hash"] == hash_bytes(data)
        assert maker.parts(data) == {"IHDR", "IDAT", "IEND"}
        assert not [marker for marker in (b"Exif", b"adobe", b"SECRET", b"a.jpg", b"turned") if marker in data]
    names = {path.name for path in out.rglob("*") if path.is_file()}
    assert names == {"groups.jsonl", "benchmark.json"} | {f"{g.group_id}.png" for g in again.groups}


def test_import_twice_gives_the_same_bytes(maker, tmp_path):
    maker.photo("a.jpg", 48.2, 16.3)
    maker.photo("b.jpg", -48.2, 16.3)
    import_photos(maker.folder, tmp_path / "one")
    import_photos(maker.folder, tmp_path / "two")
    one, two = (
        {p.relative_to(r): p.read_bytes() for p in r.rglob("*") if p.is_file()}
        for r in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two


def test_import_into_a_folder_within_the_photos(maker):
    maker.photo("a.jpg", 48.2, 16.3)
    out = maker.folder / "bench"
    first = import_photos(maker.folder, out)
    assert import_photos(maker.folder, out).groups == first.groups
    assert import_photos(maker.folder, out).rejected == ()
    with pytest.raises(DataError, match="is the folder of the photos itself"):
        import_photos(maker.folder, maker.folder)


def test_same_pixels_under_other_metadata_are_a_duplicate(maker, tmp_path):
    pixels = Image.fromarray(np.full((70, 70, 3), 90, np.uint8))
    maker.photo("a.png", 10, 20, image=pixels)
    maker.photo("b.png", 30, 40, image=pixels)
    result = import_photos(maker.folder, tmp_path / "out")
    assert [g.source_id for g in result.groups] == ["a.png"]
    assert _reasons(result) == {"b.png": "the same picture as a.png, pixel for pixel"}


def test_import_into_a_place_that_cannot_be_written(maker, tmp_path):
    maker.photo("a.jpg", 48.2, 16.3)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="is a file, not a folder"):
        import_photos(maker.folder, tmp_path / "file" / "out")
    with pytest.raises(ConfigError, match="max_side=0"):
        import_photos(maker.folder, tmp_path / "out", max_side=0)
