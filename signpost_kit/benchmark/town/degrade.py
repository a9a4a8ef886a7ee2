"""What a real camera and a real upload do to a picture: softness, grain, vignette, JPEG."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from signpost_kit.benchmark.town.dice import between
from signpost_kit.errors import DataError

__all__ = ["degrade"]


def degrade(pixels: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Blur mildly, shift the colours a little, darken the corners, add grain, compress as JPEG and decompress."""
    height, width = pixels.shape[:2]
    soft = cv2.GaussianBlur(pixels, (0, 0), between(rng, 0.35, 0.75) * width / 768)
    gain = 1.0 + rng.normal(0, 0.025, 3)
    contrast = between(rng, 0.94, 1.08)
    strength = between(rng, 0.0, 0.22)
    x = np.linspace(-1, 1, width, dtype=np.float32)[None, :] ** 2
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None] ** 2
    corner = contrast * (1.0 - strength * 0.5 * (x + y) ** 1.5)
    shading = cv2.merge([corner * np.float32(part) for part in gain])
    # The sum of two uniform bytes is near enough to normal noise and ten times quicker to draw.
    draws = np.frombuffer(rng.bytes(2 * height * width), np.uint8).reshape(2, height, width)
    grain = draws[0].astype(np.float32) + draws[1] - 255.0
    grain = grain * np.float32(between(rng, 1.5, 4.5) / 104.5) + np.float32(118.0 * (1 - contrast))
    shaded = cv2.multiply(soft, shading, dtype=cv2.CV_32F)
    noisy = cv2.add(shaded, cv2.merge([grain] * 3), dtype=cv2.CV_8U)
    quality = int(between(rng, 72, 94))
    done, packed = cv2.imencode(".jpg", cv2.cvtColor(noisy, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    unpacked = cv2.imdecode(packed, cv2.IMREAD_COLOR) if done else None
    if unpacked is None:
        raise DataError(
            f"a picture of {width} x {height} pixels cannot be compressed as JPEG; choose a smaller size"
        )
    return np.asarray(cv2.cvtColor(unpacked, cv2.COLOR_BGR2RGB), dtype=np.uint8)
