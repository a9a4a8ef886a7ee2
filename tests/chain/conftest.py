"""Signs drawn for the chain's tests: what they say, and where, is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageDraw

from signpost_kit.benchmark.groups import Group, Span
from signpost_kit.fonts import load_font


@pytest.fixture
def draw_sign() -> Callable[..., tuple[np.ndarray, Group]]:
    """A street-like picture with one plate, and the group that describes it."""

    def draw(
        text: str = "Rue de Rivoli",
        *,
        size: tuple[int, int] = (480, 320),
        corners: tuple[tuple[float, float], ...] = ((110, 120), (350, 100), (352, 160), (112, 176)),
        ink: tuple[int, int, int] = (250, 250, 245),
        plate: tuple[int, int, int] = (25, 70, 150),
        noise: float = 2.0,
        replacements: dict[str, str] | None = None,
        tier: str = "T3",
    ) -> tuple[np.ndarray, Group]:
        import cv2

        rng = np.random.default_rng(5)
        street = rng.integers(70, 190, (5, 7, 3)).astype(np.uint8)
        image = cv2.resize(street, size, interpolation=cv2.INTER_CUBIC)
        font = load_font(text, 60, 600)
        left, top, right, bottom = font.getbbox(text, anchor="ls")
        flat = Image.new("RGB", (round(right - left) + 60, round(bottom - top) + 50), plate)
        ImageDraw.Draw(flat).text((30 - left, 25 - top), text, font=font, fill=ink, anchor="ls")
        width, height = flat.size
        plate_corners = np.float32([[0, 0], [width, 0], [width, height], [0, height]])
        matrix = cv2.getPerspectiveTransform(plate_corners, np.float32(corners))
        warped = cv2.warpPerspective(np.asarray(flat), matrix, size, flags=cv2.INTER_AREA)
        inside = cv2.warpPerspective(np.full((height, width), 255, np.uint8), matrix, size)
        image = np.where(inside[..., None] > 127, warped, image)
        image = np.clip(image + rng.normal(0, noise, image.shape), 0, 255).astype(np.uint8)
        line = np.float32([[[20, 14], [width - 20, 14], [width - 20, height - 14], [20, height - 14]]])
        polygon = tuple((float(x), float(y)) for x, y in cv2.perspectiveTransform(line, matrix)[0])
        chosen = replacements or {"similar": "Rue Pasteur", "random": "あまい夢", "adversarial": "Nairobi Road"}
        span = Span(text, polygon, replacements=chosen, tier=tier)
        return image, Group("sign/1", "drawn", 48.86, 2.35, country="FR", spans=(span,))

    return draw
