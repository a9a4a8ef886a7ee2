"""Reading text: what comes out, the cache, many files at once, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import cache_dir
from signpost_kit.ocr import OcrSettings, TextLine, read_many, read_text
from signpost_kit.ocr import reading as reading_module
from signpost_kit.ocr.corners import own_corners
from signpost_kit.ocr.engines import engine_signature


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path / "cache"))


class _Engine:
    """Stands in where only the way around the engine is tested."""

    def __init__(self) -> None:
        self.calls = 0

    def read(self, image: np.ndarray) -> tuple[TextLine, ...]:
        self.calls += 1
        return (TextLine(f"mean {int(image.mean())}", ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0)), 0.5),)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> _Engine:
    made = _Engine()
    monkeypatch.setattr(reading_module, "get_engine", lambda name, settings: made)
    return made


def _save(path: Path, level: int) -> Path:
    Image.fromarray(np.full((40, 60, 3), level, np.uint8)).save(path)
    return path


def test_reads_a_sign_and_says_where(draw_sign):
    image, group = draw_sign("Rue de Rivoli")
    lines = read_text(image)
    assert [line.text for line in lines] == ["Rue de Rivoli"]
    line = lines[0]
    assert line.confidence > 0.9
    assert all(type(v) is float for point in line.polygon for v in point)
    assert type(line.confidence) is float
    json.dumps(line.polygon)
    # Clockwise from the text's top left, and where it was drawn (within the margin that the engine adds).
    drawn = np.array(group.spans[0].polygon)
    assert np.abs(np.array(line.polygon) - drawn).max() < 16


def test_a_blank_picture_has_no_lines():
    assert read_text(np.full((200, 300, 3), 180, np.uint8)) == ()


def test_a_large_picture_gives_polygons_in_its_own_pixels(draw_sign):
    image, group = draw_sign("EXIT")
    large = np.asarray(Image.fromarray(image).resize((480 * 4, 320 * 4), Image.Resampling.BICUBIC))
    [line] = read_text(large)
    assert line.text == "EXIT"
    centre = np.array(line.polygon).mean(axis=0) / 4
    assert np.abs(centre - np.array(group.spans[0].polygon).mean(axis=0)).max() < 4


def test_working_size():
    settings = OcrSettings()
    assert settings.scale_for(768, 512) == 1.0
    assert settings.scale_for(1024, 768) == 1.0
    assert settings.scale_for(4000, 3000) == pytest.approx((0.8 / 12) ** 0.5)
    assert settings.scale_for(100, 80) == 2.5
    with pytest.raises(ConfigError, match="min must be above 0"):
        OcrSettings(min_megapixels=2, max_megapixels=1)


def test_second_reading_comes_from_the_cache(engine, tmp_path):
    path = _save(tmp_path / "a.png", 100)
    first = read_text(path)
    assert read_text(path) == first
    assert engine.calls == 1
    _save(path, 120)  # another content under the same name is read again
    assert read_text(path)[0].text == "mean 120"
    assert engine.calls == 2


def test_other_settings_are_another_reading(engine, tmp_path):
    path = _save(tmp_path / "a.png", 100)
    read_text(path)
    read_text(path, settings=OcrSettings(max_megapixels=1.0))
    assert engine.calls == 2
    read_text(path, settings=OcrSettings(threads=2))  # threads change nothing that is read
    assert engine.calls == 2
    assert "rapidocr=" in engine_signature("rapidocr", OcrSettings())


def test_a_damaged_cache_file_is_reported_and_read_again(engine, tmp_path, caplog):
    path = _save(tmp_path / "a.png", 100)
    lines = read_text(path)
    [kept] = cache_dir("ocr").rglob("*.json")
    kept.write_bytes(kept.read_bytes()[:-9])
    assert read_text(path) == lines
    assert engine.calls == 2
    assert "is damaged" in caplog.text
    assert read_text(path) == lines
    assert engine.calls == 2  # and written whole again


def test_a_cache_that_cannot_be_written_stops_nothing(engine, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path / "file"))
    assert read_text(_save(tmp_path / "a.png", 100))[0].text == "mean 100"
    assert "is not kept" in caplog.text


def test_many_files_in_order_with_reasons_for_the_bad_ones(engine, tmp_path):
    good = [_save(tmp_path / f"{i}.png", 10 * i) for i in range(1, 6)]
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"not a picture at all")
    seen: list[tuple[int, int]] = []
    failures: dict[Path, str] = {}
    found = read_many(
        [*good, bad, good[0]], workers=2, failures=failures, progress=lambda d, n: seen.append((d, n))
    )
    assert list(found) == good
    assert [lines[0].text for lines in found.values()] == [f"mean {10 * i}" for i in range(1, 6)]
    assert list(failures) == [bad] and "bad.png" in failures[bad]
    assert seen == [(i, 6) for i in range(1, 7)]
    with pytest.raises(DataError, match=r"bad\.png"):
        read_many([bad])


def test_an_interrupted_call_resumes_with_what_is_missing(engine, tmp_path):
    paths = [_save(tmp_path / f"{i}.png", 10 * i) for i in range(1, 7)]
    read_many(paths[:4])
    assert engine.calls == 4
    assert len(read_many(paths)) == 6
    assert engine.calls == 6


def test_no_files_is_no_error():
    assert read_many([]) == {}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: read_text("missing.png"), DataError, "no picture missing.png"),
        (lambda: read_text(np.zeros((4, 4, 4), np.uint8)), DataError, "3 channels, got 4"),
        (lambda: read_text(np.zeros((4, 4, 3))), DataError, "float64"),
        (
            lambda: read_text(np.zeros((4, 4, 3), np.uint8), engine="rapidocrr"),
            ConfigError,
            "did you mean 'rapidocr'",
        ),
        (lambda: read_many([], workers=0), ConfigError, "workers"),
    ],
)
def test_bad_input_names_the_thing(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_tall_box_with_letters_starts_at_its_top_right():
    tall = ((10.0, 10.0), (30.0, 10.0), (30.0, 110.0), (10.0, 110.0))
    assert own_corners("HOTEL", tall)[0] == (30.0, 10.0)
    assert own_corners("土地整治", tall) == tall  # written in a column
    wide = ((10.0, 10.0), (110.0, 10.0), (110.0, 30.0), (10.0, 30.0))
    assert own_corners("HOTEL", wide) == wide


def test_real_photos(shared_data):
    """What stands on two real photos, by eye (shared/data/photos/SOURCES.md)."""
    folder = shared_data / "photos" / "text"
    plaque = [line.text for line in read_text(folder / "mmocr_plaque_octavia_hill.jpg")]
    assert {"Octavia Hill", "Social Reformer"} <= set(plaque)
    shanghai = [line.text for line in read_text(folder / "easyocr_chinese.jpg")]
    assert "愚园路" in shanghai and "Yuyuan Rd." in shanghai
