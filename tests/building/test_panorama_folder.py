"""A folder of panoramas becomes a benchmark: the view with the text is kept, and everything else has its reason."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from signpost_kit.benchmark import panoramas
from signpost_kit.benchmark.panoramas import ViewRules, import_panoramas
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.fonts import load_font
from signpost_kit.images import load_rgb
from signpost_kit.ocr import TextLine


def board(text: str, size: tuple[int, int] = (520, 150)) -> np.ndarray:
    image = Image.new("RGB", size, (250, 250, 245))
    ImageDraw.Draw(image).text(
        (size[0] / 2, size[1] / 2), text, font=load_font(text, 62, 700), fill=(10, 20, 90), anchor="mm"
    )
    return np.array(image)


def panorama(signs: dict[float, str], height: int = 1024, ground: int = 90) -> Image.Image:
    """A grey street with flat boards, each square to the line of sight at its angle from the middle."""
    width = 2 * height
    pixels = np.full((height, width, 3), (120, 150, 190), np.uint8)
    pixels[height // 2 :] = ground
    lon = ((np.arange(width) + 0.5) / width * 2 * math.pi - math.pi)[None, :]
    lat = (math.pi / 2 - (np.arange(height) + 0.5) / height * math.pi)[:, None]
    for angle, text in signs.items():
        art = board(text)
        turn = (lon - math.radians(angle) + math.pi) % (2 * math.pi) - math.pi
        front = np.abs(turn) < math.radians(60)
        x = np.where(front, np.tan(np.where(front, turn, 0)), 9.0) + 0 * lat
        y = np.tan(lat) / np.cos(np.where(front, turn, 0))
        column = np.rint((x / 0.9 + 0.5) * art.shape[1]).astype(int)
        row = np.rint((0.5 - y / (0.9 * art.shape[0] / art.shape[1])) * art.shape[0]).astype(int)
        seen = (column >= 0) & (column < art.shape[1]) & (row >= 0) & (row < art.shape[0])
        pixels[seen] = art[row[seen], column[seen]]
    return Image.fromarray(pixels)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Panoramas with signs at 270 and (across the seam) 180 degrees, one without text, and what is none."""
    root = tmp_path_factory.mktemp("panoramas")
    panorama({270: "BAKERY STREET"}).save(root / "left.jpg", quality=95)
    panorama({180: "RUE DE LYON", 90: "2024"}).save(root / "behind.jpg", quality=95)
    panorama({}, ground=60).save(root / "empty.png")
    panorama({0: "CUT"}).crop((0, 0, 1500, 1024)).save(root / "cut.jpg")
    (root / "broken.jpg").write_bytes((root / "left.jpg").read_bytes()[:30_000])
    shutil.copy(root / "left.jpg", root / "twice.jpg")
    return root


STREET = (
    "panoid,province,city,wgs_lat,wgs_lon,heading\nleft,Hubei,Wuhan,30.5,114.3,90\nbehind,Hunan,Changsha,28.2,113.0,\n"
    "empty,Hubei,Wuhan,30.51,114.31,\ncut,Hubei,Wuhan,30.52,114.32,\nbroken,Hubei,Wuhan,30.53,114.33,\n"
    "twice,Hunan,Changsha,28.3,113.1,\nabsent,Hunan,Changsha,28.4,113.1,\n"
)


def test_the_view_with_the_text_is_kept(folder, tmp_path):
    table = tmp_path / "sv.csv"
    table.write_text(STREET)
    made = import_panoramas(folder, tmp_path / "out", positions=table, scheduler="serial", progress=False)
    groups = {group.source_id: group for group in made.benchmark.groups}
    assert set(groups) == {"left", "behind", "empty"}
    left, behind, empty = (groups[name].generation["Original"] for name in ("left", "behind", "empty"))
    # 270 degrees to the right of a middle that faces east is north
    assert (left["angle"], left["heading"], left["heading_from"]) == (0, 90, "list")
    assert left["strings"] == {"0": 1, "90": 0, "180": 0, "270": 0}
    assert (behind["angle"], "heading" in behind) == (180, False)
    assert behind["strings"]["90"] == 0  # a year is no string that counts
    assert set(empty["strings"].values()) == {0}
    assert (groups["left"].admin, groups["left"].city, groups["left"].country) == ("Hubei", "Wuhan", "CN")
    picture = load_rgb(tmp_path / "out" / groups["left"].images["Original"])
    assert picture.shape == (512, 1024, 3)
    assert picture[256, 512].mean() > 80  # the board is in the middle
    reasons = {item.item: item.reason for item in made.rejected}
    assert "not 2:1" in reasons["cut"]
    assert "damaged or cut off" in reasons["broken"]
    assert "the same picture as left" in reasons["twice"]
    assert made.report is not None
    assert made.report.reasons == {"no picture": 1}


class Counting:
    """An engine that finds as many strings as a view has dark columns, and counts its calls."""

    def __init__(self, monkeypatch) -> None:
        self.calls = 0
        monkeypatch.setattr(panoramas, "read_text", self.read)

    def read(self, path, **_):
        self.calls += 1
        dark = int((load_rgb(path)[:, :, 2] < 10).any())
        return tuple(TextLine("Bakery", ((0, 0), (9, 0), (9, 9), (0, 9)), 0.9) for _ in range(dark))


def photos(folder: Path, n: int) -> None:
    rows = ["filename,lat,lon"]
    for i in range(n):
        pixels = np.full((128, 256, 3), 40 + i, np.uint8)
        pixels[60:70, (64 * (i % 4) + 128) % 256] = 0  # seen in one of the four views
        Image.fromarray(pixels).save(folder / f"p{i:02d}.png")
        rows.append(f"p{i:02d}.png,{48 + i * 0.01},{2 if i % 2 else 13}")
    (folder / "positions.csv").write_text("\n".join(rows) + "\n")


def test_a_table_of_positions_in_the_folder_and_a_sample_by_country(tmp_path, monkeypatch):
    folder = tmp_path / "in"
    folder.mkdir()
    photos(folder, 12)
    Counting(monkeypatch)
    from signpost_kit.benchmark.lists import Sample

    made = import_panoramas(
        folder, tmp_path / "out", sample=Sample("country", at_least=2), scheduler="serial", progress=False
    )
    assert sorted(group.country for group in made.benchmark.groups) == ["DE", "DE", "FR", "FR"]
    angles = {group.source_id: group.generation["Original"]["angle"] for group in made.benchmark.groups}
    assert all(angle == 90 * (int(name[1:3]) % 4) for name, angle in angles.items())
    notes = made.benchmark.groups[0].generation["Original"]["notes"]
    assert any("only 256 pixels around" in note for note in notes)
    with pytest.raises(ConfigError, match="column `province`"):
        import_panoramas(folder, tmp_path / "out", sample=Sample("province"), progress=False)


def test_a_second_call_reads_nothing_again(tmp_path, monkeypatch):
    folder = tmp_path / "in"
    folder.mkdir()
    photos(folder, 4)
    engine = Counting(monkeypatch)
    options = {"journal": tmp_path / "j.sqlite", "scheduler": "serial", "progress": False}
    first = import_panoramas(folder, tmp_path / "out", limit=2, **options)
    assert engine.calls == 8
    again = import_panoramas(folder, tmp_path / "out", **options)
    assert engine.calls == 16
    assert again.benchmark.groups[:2] == first.benchmark.groups
    import_panoramas(folder, tmp_path / "out", rules=ViewRules(min_confidence=0.5), **options)
    assert engine.calls == 32  # another rule may choose another view


def test_nothing_that_is_a_panorama(tmp_path):
    Image.new("RGB", (640, 480)).save(tmp_path / "a.png")
    (tmp_path / "positions.csv").write_text("filename,lat,lon\na.png,48,2\n")
    with pytest.raises(DataError, match=r"no usable panorama in .*640 x 480 pixels are not 2:1"):
        import_panoramas(tmp_path, tmp_path / "out", progress=False)


def test_the_heading_in_exif_counts_only_where_it_is_true_north(tmp_path):
    from PIL import ExifTags

    from signpost_kit.images import read_metadata

    item = panoramas.Panorama("a", tmp_path / "a.jpg", 1, 2, "exif")
    for reference, expected in (("T", (123.5, "exif")), ("M", (None, ""))):
        exif = Image.Exif()
        exif.get_ifd(ExifTags.IFD.GPSInfo)[16] = reference
        exif.get_ifd(ExifTags.IFD.GPSInfo)[17] = 123.5
        Image.new("RGB", (256, 128)).save(item.path, exif=exif)
        assert panoramas._heading(item, read_metadata(item.path)) == expected
