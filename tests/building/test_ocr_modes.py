"""Every kind of file that a photo collection holds is read, by both engines; huge ones are decoded small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from signpost_kit.errors import SignpostError
from signpost_kit.fonts import load_font
from signpost_kit.ocr import OcrSettings, read_text
from signpost_kit.ocr import reading as reading_module
from signpost_kit.ocr.checks import check_packages
from signpost_kit.ocr.weights import find_weights

WORD = "LONDON"
MODES = ("RGB", "L", "LA", "P", "RGBA", "CMYK", "16-bit", "16-bit tiff", "1-bit", "palette with alpha")
SMALL = OcrSettings(min_megapixels=0.05, max_megapixels=0.09)


def _sign() -> Image.Image:
    image = Image.new("RGB", (360, 190), (235, 235, 225))
    font = load_font(WORD, 52, 600)
    ImageDraw.Draw(image).text((72, 120), WORD, font=font, fill=(20, 30, 90), anchor="ls")
    return image


def _middle() -> np.ndarray:
    """Of the word's ink."""
    ink = np.argwhere(np.asarray(_sign().convert("L")) < 120)
    return (ink.min(axis=0) + ink.max(axis=0))[::-1] / 2


def _save(folder: Path, mode: str) -> Path:
    sign = _sign()
    path = folder / f"{mode.replace(' ', '_')}.png"
    if mode == "RGB":
        sign.save(path)
    elif mode in ("L", "LA", "RGBA"):
        made = sign.convert(mode)
        if "A" in mode:  # see-through away from the word, where the colours below are noise
            alpha = Image.new("L", sign.size, 0)
            ImageDraw.Draw(alpha).rectangle((40, 40, 320, 150), fill=255)
            made.putalpha(alpha)
        made.save(path)
    elif mode == "P":
        sign.quantize(8).save(path)
    elif mode == "CMYK":
        path = path.with_suffix(".jpg")
        sign.convert("CMYK").save(path, quality=95)
    elif mode.startswith("16-bit"):
        levels = np.asarray(sign.convert("L")).astype(np.uint16) * 257
        path = path.with_suffix(".tiff") if mode.endswith("tiff") else path
        Image.fromarray(levels).save(path)
    elif mode == "1-bit":
        sign.convert("1").save(path)
    else:
        sign.quantize(8).save(path, transparency=bytes([255] * 7 + [0]))
    return path


def _check(path: Path, engine: str, settings: OcrSettings) -> None:
    lines = read_text(path, engine=engine, settings=settings, cache=False)
    assert ["".join(line.text.split()) for line in lines] == [WORD]  # easyocr sees a gap in the dithered one
    assert np.abs(np.mean(lines[0].polygon, axis=0) - _middle()).max() < 8


@pytest.mark.parametrize("mode", MODES)
def test_rapidocr_reads_every_mode(mode: str, tmp_path: Path) -> None:
    _check(_save(tmp_path, mode), "rapidocr", OcrSettings())


@pytest.mark.parametrize("mode", MODES)
def test_easyocr_reads_every_mode(mode: str, tmp_path: Path) -> None:
    try:
        check_packages()
        find_weights(("en",))
    except SignpostError as error:
        pytest.skip(str(error))
    _check(_save(tmp_path, mode), "easyocr", SMALL)


@pytest.mark.parametrize("suffix", [".jpg", ".png"])
def test_a_huge_picture_is_decoded_small_and_its_polygon_is_in_its_own_pixels(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, ...]] = []
    real = reading_module.get_engine

    class Watch:
        def __init__(self, *what: object) -> None:
            self._engine = real(*what)  # type: ignore[arg-type]

        def read(self, image: np.ndarray) -> object:
            seen.append(image.shape)
            return self._engine.read(image)

    monkeypatch.setattr(reading_module, "get_engine", Watch)
    factor = 15
    path = tmp_path / f"huge{suffix}"
    _sign().resize((360 * factor, 190 * factor), Image.Resampling.BILINEAR).save(path)  # 15.4 megapixels
    monkeypatch.setattr(reading_module, "_LARGEST_PX", 4_000_000)
    [line] = read_text(path, cache=False)
    assert line.text == WORD
    assert seen[0][0] * seen[0][1] <= 4_100_000
    centre = np.mean(line.polygon, axis=0) / factor
    assert np.abs(centre - _middle()).max() < 3


def test_a_turned_huge_picture_keeps_its_polygon_upright(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_module, "_LARGEST_PX", 400_000)
    path = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown a quarter turn to the right
    _sign().resize((1440, 760)).transpose(Image.Transpose.ROTATE_90).save(path, exif=exif)
    [line] = read_text(path, cache=False)
    centre = np.mean(line.polygon, axis=0) / 4
    assert line.text == WORD
    assert np.abs(centre - _middle()).max() < 3
