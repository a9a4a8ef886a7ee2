"""Encoding a 3840 x 2160 photo for a provider, beside open, transpose, resize and encode without shortcuts.

The yardstick decodes every pixel; ours takes a half where that is enough. The measure is
processor time in the same minute (least of several runs, alternating), and how far the pixels are from the
yardstick's own (peak signal-to-noise ratio; the lossless form is compared, so that compression does not enter).
"""

from __future__ import annotations

import io
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageOps

from signpost_kit.fonts import load_font
from signpost_kit.images import encode_for_model
from signpost_kit.models.catalogue import load_catalogue
from signpost_kit.models.image_limits import encode_arguments

WIDTH, HEIGHT = 3840, 2160
MOST_OF_YARDSTICK = 0.45
LEAST_DB = 42.0
RUNS = 7


def _photo(path: Path) -> None:
    """Amplitudes falling with the frequency, as in photos; walls with edges, lettered signs, a sensor's noise."""
    rng = np.random.default_rng(11)
    across, down = np.fft.rfftfreq(WIDTH), np.fft.fftfreq(HEIGHT)
    falling = 1 / np.maximum(np.hypot(across[None, :], down[:, None]), 1 / WIDTH) ** 1.2
    pixels = np.empty((HEIGHT, WIDTH, 3), np.float32)
    shared = np.exp(2j * np.pi * rng.random(falling.shape))
    for channel in range(3):
        own = np.exp(2j * np.pi * rng.random(falling.shape))
        waves = np.fft.irfft2(falling * (0.9 * shared + 0.1 * own), s=(HEIGHT, WIDTH))
        pixels[..., channel] = 118 + 42 * waves / waves.std()
    pixels += rng.normal(0, 2, pixels.shape)
    picture = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    for number in range(24):
        left, top = int(rng.integers(0, WIDTH - 700)), int(rng.integers(0, HEIGHT - 160))
        colours = [tuple(int(v) for v in rng.integers(0, 256, 3)) for _ in range(2)]
        draw.rectangle((left, top, left + 620, top + 130), fill=colours[0])
        text = ("HOTEL LIMA", "Bäckerei", "Rua 25 de Março", "Osaka 530")[number % 4]
        draw.text((left + 20, top + 20), text, fill=colours[1], font=load_font(text, 72))
    exif = Image.Exif()
    exif[0x0112] = 1
    picture.save(path, "JPEG", quality=92, exif=exif)


def _plain(path: Path, size: tuple[int, int]) -> Image.Image:
    return ImageOps.exif_transpose(Image.open(path)).resize(size, Image.Resampling.LANCZOS)


def _plain_encoded(path: Path, size: tuple[int, int]) -> bytes:
    buffer = io.BytesIO()
    _plain(path, size).save(buffer, "JPEG", quality=92, subsampling=0)
    return buffer.getvalue()


def _decibels(one: Image.Image, other: Image.Image) -> float:
    difference = np.asarray(one, np.float32) - np.asarray(other, np.float32)
    return float(10 * np.log10(255**2 / np.mean(difference**2)))


@pytest.fixture(scope="module")
def photo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("encode") / "photo.jpg"
    _photo(path)
    return path


@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "gpt-5.4"])
def test_a_4k_photo_for_a_provider(photo: Path, model: str) -> None:
    arguments = encode_arguments(load_catalogue()[model].image)
    sent = encode_for_model(photo, **arguments)
    size = (sent.width, sent.height)
    assert 0.9 * arguments["max_side"] <= max(size) <= arguments["max_side"]

    ours, plain = [], []
    for _ in range(RUNS):
        begin = time.process_time()
        encode_for_model(photo, **arguments)
        middle = time.process_time()
        _plain_encoded(photo, size)
        ours.append(middle - begin)
        plain.append(time.process_time() - middle)
    ratio = min(ours) / min(plain)

    exact = encode_for_model(photo, **{**arguments, "formats": ("png",), "max_bytes": 10**9})
    decibels = _decibels(Image.open(io.BytesIO(exact.data)), _plain(photo, size))
    print(
        f"\n{model}: {size[0]} x {size[1]}, {min(ours) * 1000:.0f} ms, yardstick {min(plain) * 1000:.0f} ms, "
        f"ratio {ratio:.2f}, {decibels:.1f} dB"
    )
    assert ratio <= MOST_OF_YARDSTICK
    assert decibels >= LEAST_DB
