"""Which strings count, and the reason for each that does not."""

from __future__ import annotations

import pytest

from signpost_kit.errors import ConfigError
from signpost_kit.ocr import TextLine, screen
from signpost_kit.ocr.screen import REASONS

BOX = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))


def _code(text: str, confidence: float = 0.95, **options) -> str:
    [result] = screen([TextLine(text, BOX, confidence)], **options)
    assert result.kept == (result.reason == "")
    assert result.kept or result.code in REASONS
    return result.code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Octavia Hill", ""),
        ("愚园路", ""),
        ("STOP", ""),
        ("Bahnhofstr. 5", ""),
        ("24h Shop", ""),
        ("May Street", ""),
        ("Café 1900", ""),
        ("西", "short"),
        ("W", "short"),
        ("- 5 -", "short"),
        ("2014-07-02", "date"),
        ("04/03/2011 12:30", "date"),
        ("July 2014", "date"),
        ("9:00 - 18:00", "date"),
        ("Mon-Fri 9-17", "date"),
        ("2011年3月4日", "date"),
        ("315", "digits only"),
        ("1887-90", "digits only"),
        ("56Km", "digits only"),
        ("+49 30 123456", "digits only"),
        ("© 2021 Google", "watermark"),
        ("Google Street View", "watermark"),
        ("百度地图", "watermark"),
        ("www.flavoursofiloilo.blogspot.com", "url"),
        ("info@example.org", "url"),
        ("Photo is no longer available", "placeholder"),
        ("TOYOTA", "vehicle brand"),
        ("Mercedes-Benz", "vehicle brand"),
        ("Nikon", "camera brand"),
        ("-|-|_", "short"),
        ("llllll", "noise"),
        ("||I|a|", "noise"),
    ],
)
def test_reason(text, code):
    assert _code(text) == code


def test_confidence_and_length_are_arguments():
    assert _code("Octavia Hill", 0.29) == "low confidence"
    assert _code("Octavia Hill", 0.29, min_confidence=0.2) == ""
    assert _code("西", min_chars=1) == ""
    assert _code("Rue", min_chars=4) == "short"
    assert _code("SRTWQ", 0.5) == "noise"
    assert _code("SRTWQ", 0.99) == ""  # an abbreviation that the engine is sure of


def test_order_is_kept_and_nothing_gives_nothing():
    lines = [TextLine(t, BOX, 0.9) for t in ("Lyon", "315", "Rue Pasteur")]
    assert [s.line.text for s in screen(lines)] == ["Lyon", "315", "Rue Pasteur"]
    assert screen([]) == []


def test_thresholds_out_of_range():
    with pytest.raises(ConfigError, match=r"1\.5"):
        screen([], min_confidence=1.5)
    with pytest.raises(ConfigError, match="min_chars 0"):
        screen([], min_chars=0)
