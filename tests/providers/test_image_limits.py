"""Pictures within a model's limits: the base64 text is what is measured, and nothing but pixels goes out."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from signpost_kit.errors import ModelError
from signpost_kit.images import PictureError, encode_for_model, encode_jpeg, save_png
from signpost_kit.models.catalogue import ImageLimits, load_catalogue
from signpost_kit.models.image_limits import base64_length, encode_arguments, encode_within, file_bytes

PRIVATE = (b"Exif", b"adobe", b"xpacket", b"ICC_PROFILE", b"http://ns.", b"tEXt", b"iTXt", b"eXIf")


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 1000, 3_749_999, 3_750_000])
def test_base64_arithmetic(n: int) -> None:
    assert base64_length(n) == len(base64.b64encode(b"x" * n))
    assert base64_length(file_bytes(n)) <= n
    assert base64_length(file_bytes(n) + 1) > n


def test_arguments_come_from_the_limits() -> None:
    limits = ImageLimits(max_base64_bytes=5_000_000, max_side_px=8000, many_side_px=2000, useful_side_px=2576)
    assert encode_arguments(limits) == {"max_side": 2576, "max_bytes": 3_750_000, "formats": ("jpeg", "png")}
    assert encode_arguments(limits, n_images=20)["max_side"] == 2576
    assert encode_arguments(limits, n_images=21)["max_side"] == 2000
    with pytest.raises(ModelError, match="101 pictures in one request, but this model takes 100"):
        encode_arguments(limits, n_images=101)
    with pytest.raises(ModelError, match="reads text only"):
        encode_arguments(ImageLimits(max_images=0))


def test_a_side_beyond_the_refused_one_never_goes_out(tmp_path: Path) -> None:
    path = tmp_path / "long.png"
    save_png(path, np.zeros((10, 9000, 3), np.uint8))
    sent = encode_within(path, ImageLimits(max_side_px=8000, useful_side_px=20_000))
    assert (sent.width, sent.height) == (8000, 9)


@pytest.mark.parametrize("limit", [5_000_000, 200_000, 60_000])
@pytest.mark.parametrize("formats", [["jpeg", "png"], ["png"]])
def test_noise_is_made_to_fit(tmp_path: Path, limit: int, formats: list) -> None:
    path = tmp_path / "noise.png"
    save_png(path, np.random.default_rng(5).integers(0, 256, (700, 900, 3), np.uint8))
    sent = encode_within(path, ImageLimits(max_base64_bytes=limit, formats=formats))
    assert len(base64.b64encode(sent.data)) <= limit
    assert sent.mime == f"image/{formats[0]}"
    assert len(base64.b64encode(sent.data)) > limit / 4 or sent.width == 900  # and not smaller than it must be


def test_real_photos_keep_every_models_limits(shared_data: Path) -> None:
    """Real pictures of every kind: sent within the limits and bare, or refused with a reason that names the file."""
    photos = shared_data / "photos"
    paths = sorted([*(photos / "nasty").iterdir(), *(photos / "gps").iterdir()], key=lambda p: p.stat().st_size)
    paths = paths[:60:3] + paths[60:-12:6] + paths[-12:]
    kinds = {spec.image.model_dump_json(): spec.image for spec in load_catalogue().values() if spec.reads_images}
    tight = ImageLimits(max_base64_bytes=40_000, useful_side_px=700, formats=["jpeg"])
    sent_count = refused = 0
    for path in paths:
        for limits in (*kinds.values(), tight) if path.stat().st_size < 200_000 else (tight,):
            try:
                sent = encode_within(path, limits)
            except PictureError as error:
                assert str(error).startswith(str(path))
                refused += 1
                continue
            sent_count += 1
            assert base64_length(len(sent.data)) <= limits.max_base64_bytes
            picture = Image.open(io.BytesIO(sent.data))
            picture.load()
            assert picture.format in ("JPEG", "PNG") and picture.mode == "RGB"
            assert picture.size == (sent.width, sent.height)
            assert max(picture.size) <= min(limits.useful_side_px, limits.max_side_px)
            assert [mark for mark in PRIVATE if mark in sent.data] == []
    assert sent_count > 100
    assert refused > 5


def _wavy(width: int, height: int) -> np.ndarray:
    y, x = np.mgrid[0:height, 0:width]
    red = 128 + 90 * np.sin(x / 31) * np.cos(y / 47)
    waves = np.stack([red, 128 + 80 * np.cos(x / 90), 128 + 80 * np.sin(y / 70)], -1)
    grain = np.random.default_rng(4).normal(0, 4, (height, width, 1))
    return np.clip(waves + grain, 0, 255).astype(np.uint8)


def _decibels(one: Image.Image, other: Image.Image) -> float:
    return float(
        10 * np.log10(255**2 / max(1e-9, np.mean((np.asarray(one, float) - np.asarray(other, float)) ** 2)))
    )


@pytest.mark.parametrize(
    ("size", "side", "expected"),
    [
        ((3840, 2160), 2048, (1920, 1080)),  # a half is near enough, and three times as fast
        ((4032, 3024), 2048, (2016, 1512)),
        ((3840, 2160), 1568, (1568, 882)),  # a half is not small enough: decoded at a half, then scaled
        ((2400, 1000), 1568, (1568, 653)),  # a half would be too small
        ((3001, 2001), 1568, (1501, 1001)),  # odd sides round up, as the decoder does
        ((1200, 800), 1568, (1200, 800)),
    ],
)
def test_large_photos_take_the_cheap_way_where_it_is_as_good(
    tmp_path: Path, size: tuple[int, int], side: int, expected: tuple[int, int]
) -> None:
    path = tmp_path / "wavy.jpg"
    path.write_bytes(encode_jpeg(_wavy(*size), quality=95))
    sent = encode_for_model(path, max_side=side, formats=("png",), max_bytes=10**8)
    assert (sent.width, sent.height) == expected
    plain = Image.open(path).resize(expected, Image.Resampling.LANCZOS)
    assert _decibels(Image.open(io.BytesIO(sent.data)), plain) > 42


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_the_cheap_way_turns_too(tmp_path: Path, orientation: int) -> None:
    path = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(_wavy(2400, 1600)).save(path, quality=95, exif=exif)
    sent = encode_for_model(path, max_side=1250, formats=("png",), max_bytes=10**8)
    expected = (1200, 800) if orientation in (1, 3) else (800, 1200)
    assert (sent.width, sent.height) == expected
    plain = ImageOps.exif_transpose(Image.open(path)).resize(expected, Image.Resampling.LANCZOS)
    assert _decibels(Image.open(io.BytesIO(sent.data)), plain) > 42
