"""Every script of the kit can be written; a missing glyph is an error."""

from __future__ import annotations

import pytest

from signpost_kit.errors import DataError
from signpost_kit.fonts import load_font, missing_glyphs, script_of, scripts_in

SAMPLES = {
    "Latin": "Łódź, Rue de Rivoli",
    "Cyrillic": "Улица",
    "Greek": "Ωδός",
    "Arabic": "شارع",
    "Han": "愚园路",
    "Japanese": "東京タワー",
    "Hangul": "서울",
    "Thai": "ถนน",
    "Devanagari": "मार्ग",
    "Hebrew": "רחוב",
}


@pytest.mark.parametrize(("script", "text"), SAMPLES.items())
def test_script_is_recognised_and_drawn(script: str, text: str) -> None:
    assert script_of(text) == script
    assert missing_glyphs(text, script) == ""
    assert load_font(text, 24).getbbox(text)[2] > 20


def test_a_missing_glyph_is_an_error_not_a_box() -> None:
    with pytest.raises(DataError, match="no glyph for '서울'"):
        load_font("Seoul 서울", 20, script="Latin")


def test_weight_changes_the_strokes() -> None:
    light, heavy = load_font("HHH", 60, 200).getlength("HHH"), load_font("HHH", 60, 900).getlength("HHH")
    assert heavy > light


def test_digits_have_no_script_and_default_to_latin() -> None:
    assert scripts_in("12-3") == () and script_of("12-3") == "Latin"
