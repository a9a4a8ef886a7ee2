"""Pictures of any shape are read or passed over; the engine's own errors never come out."""

from __future__ import annotations

import numpy as np
import pytest

from signpost_kit.errors import DataError
from signpost_kit.ocr import OcrSettings, read_text
from signpost_kit.ocr.rapid import RapidOcr


@pytest.mark.parametrize(
    "shape", [(2, 2500, 3), (2500, 2, 3), (1, 1, 3), (12, 4000, 3), (4000, 9, 3), (30, 1801, 3)]
)
def test_strips_hold_no_text(shape: tuple[int, int, int]) -> None:
    assert read_text(np.full(shape, 90, np.uint8), cache=False) == ()


def test_a_failing_engine_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = RapidOcr(OcrSettings())

    def broken(_: np.ndarray) -> None:
        raise RuntimeError("inside")

    monkeypatch.setattr(reader, "_engine", broken)
    with pytest.raises(DataError, match="OCR failed on a picture of 40 x 30 pixels: inside"):
        reader.read(np.zeros((30, 40, 3), np.uint8))
