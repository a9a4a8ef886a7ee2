"""Reading text in pictures: engines behind one call, a cache, and the rules for which strings count."""

from __future__ import annotations

from signpost_kit.ocr.checks import check_ocr
from signpost_kit.ocr.engines import ENGINES, OcrSettings, TextLine
from signpost_kit.ocr.reading import Reading, read_each, read_many, read_text
from signpost_kit.ocr.screen import ScreenedLine, screen

__all__ = [
    "ENGINES",
    "OcrSettings",
    "Reading",
    "ScreenedLine",
    "TextLine",
    "check_ocr",
    "read_each",
    "read_many",
    "read_text",
    "screen",
]
