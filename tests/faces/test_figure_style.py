"""The one style: files, fonts, sizes, and nothing left behind in matplotlib's global settings."""

from __future__ import annotations

import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from PIL import Image

from signpost_kit.errors import ConfigError, DataError, StorageError
from signpost_kit.figures import canvas, empty, save, style
from signpost_kit.figures.style import VARIANT_LOOK, provider_looks

MANY_SCRIPTS = "Hello Привет Ωmega 東京駅 北京 서울 हिन्दी ไทยน้ำ مرحبا → −5"


def titled(text: str):
    with style():
        figure, ax = canvas(3.3, 1.2)
        ax.set_title(text, fontsize=7)
        ax.plot([0, 1], [0, 1])
    return figure


def test_importing_figures_loads_no_plotting_library() -> None:
    code = "import sys, signpost_kit.figures, signpost_kit.tables, signpost_kit.report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_style_leaves_no_trace_in_the_global_settings(tmp_path: Path) -> None:
    import matplotlib
    from matplotlib import pyplot

    before = dict(matplotlib.rcParams)
    save(titled("a"), tmp_path, "a")
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == []


def test_files_have_print_resolution_and_equal_bytes(tmp_path: Path) -> None:
    first, second = (save(titled("equal"), tmp_path / name, "x") for name in ("one", "two"))
    assert first.png.read_bytes() == second.png.read_bytes()
    assert first.pdf.read_bytes() == second.pdf.read_bytes()
    with Image.open(first.png) as picture:
        assert picture.size == (990, 360)  # 3.3 x 1.2 inches at 300 dpi
        assert picture.info["dpi"][0] == pytest.approx(300, abs=1)
    assert first._repr_png_() == (first.png.read_bytes(), {"width": 363, "height": 132})
    assert [p.name for p in sorted((tmp_path / "one").iterdir())] == ["x.pdf", "x.png"]


def test_pdf_embeds_true_type_fonts_in_every_script(tmp_path: Path) -> None:
    data = save(titled(MANY_SCRIPTS), tmp_path, "scripts").pdf.read_bytes()
    text = data + b"".join(_inflated(data))
    assert b"/Type3" not in text and b"/Subtype /Type3" not in text
    fonts = set(re.findall(rb"/FontName /[A-Z]{6}\+(\w+)", text))
    embedded = text.count(b"/FontFile2")
    assert {b"SignpostSans-Bold"[:12]} <= {name[:12] for name in fonts}
    assert any(b"SignpostHan" in name or b"SignpostJapanese" in name for name in fonts)
    assert any(b"Devanagari" in name for name in fonts) and any(b"Thai" in name for name in fonts)
    assert embedded >= len(fonts) >= 5


def _inflated(data: bytes):
    for match in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
        try:
            yield zlib.decompress(match.group(1))
        except zlib.error:
            continue


def test_a_missing_glyph_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="𓀀.*hieroglyph"):
        save(titled("hieroglyph 𓀀"), tmp_path, "x")
    assert list(tmp_path.iterdir()) == []


def test_dollar_signs_in_names_are_no_formula(tmp_path: Path) -> None:
    save(titled("model a$\\frac b$c"), tmp_path, "x")  # a formula this broken would raise


def test_bad_ids_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'../x'"):
        save(titled("a"), tmp_path, "../x")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="file"):
        save(titled("a"), tmp_path / "file", "x")


def test_empty_says_why_and_draws_nothing_else() -> None:
    with style():
        _, ax = canvas()
        ax.plot([1, 2], [3, 4])
        empty(ax, "No model was asked.")
    assert [t.get_text() for t in ax.texts] == ["No model was asked."]
    assert not ax.lines and not ax.get_xticks().size


def test_looks_differ_without_colour() -> None:
    assert len({look.marker for look in VARIANT_LOOK.values()}) == 5
    looks = provider_looks([f"p{i}" for i in range(20)])
    assert len({(look.marker, look.filled) for look in list(looks.values())[:8]}) == 8
    assert len({look.hatch for look in list(looks.values())[:8]}) == 8
    assert len({(look.color, look.marker, look.filled) for look in looks.values()}) >= 16
