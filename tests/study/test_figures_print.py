"""Every figure of the study at print quality, drawn for 20 models, for five, and for one."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from signpost_kit import figures
from signpost_kit.figures import canvas, published_models, save, style
from signpost_kit.figures.agreement import fig_agreement
from signpost_kit.figures.arcs import arcs_frame, fig_arcs
from signpost_kit.figures.cells import published_beside
from signpost_kit.figures.cost import fig_cost
from signpost_kit.figures.errors import fig_error_cdf
from signpost_kit.figures.harm import fig_harm
from signpost_kit.figures.print_check import legend_faults, print_faults, text_boxes
from signpost_kit.figures.prompt_cards import fig_prompt_card, prompts_frame
from signpost_kit.figures.style import PALETTE, VARIANT_DASHES, VARIANT_LOOK, ink, provider_looks
from signpost_kit.figures.vision import VISIONS, contrast, least_distance, seen_as
from signpost_kit.metrics.error_cdf import error_cdf
from signpost_kit.metrics.harm import harm
from signpost_kit.metrics.misled import misled, misled_agreement


def _costs(study) -> pd.DataFrame:
    models = list(dict.fromkeys(study.macro["model"]))
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"model": models, "usd_per_1000": 10 ** rng.uniform(-1, 1.5, len(models)),
                          "coverage": rng.uniform(0.93, 1.0, len(models))})  # fmt: skip
    frame.loc[frame.index[3:5], "usd_per_1000"] = np.nan
    frame.loc[frame.index[5:7], "usd_per_1000"] = 0.0
    return frame


def _arcs(study) -> pd.DataFrame:
    from signpost_kit.benchmark.groups import Benchmark, Group, Trap

    rows = study.groups.to_dict("records")
    groups = [
        Group(r["group_id"], r["dataset"], r["lat"], r["lon"], city="São Paulo", country="BR", tier=r["tier"],
              trap=Trap(r["trap_lat"], r["trap_lon"], "Ulaanbaatar, Mongolia") if r["trap_lat"] == r["trap_lat"] else None)
        for r in rows
    ]  # fmt: skip
    return arcs_frame(study.scores, Benchmark("s", tuple(groups), Path()))


def _agreement(study):
    table = misled(study.scores)
    return fig_agreement(table, misled_agreement(table), what="200 km further off than on the Blank picture")


FIGURES: dict[str, Callable] = {
    "fig03": lambda s: figures.fig03(s.macro, published=published_beside("macro")),
    "fig12": lambda s: figures.fig12(s.macro),
    "fig12_published": lambda s: figures.fig12(s.macro, published=published_models()),
    "fig13": lambda s: figures.fig13(s.tiers, s.groups, published=published_beside("tiers")),
    "fig16": lambda s: figures.fig16(s.cells),
    "fig17": lambda s: figures.fig17(s.macro, published=published_beside("macro")),
    "coverage": lambda s: figures.fig_coverage(s.scores),
    "answers_map": lambda s: figures.fig_answers(figures.answers_frame(s.scores, s.groups)),
    "error_cdf": lambda s: fig_error_cdf(error_cdf(s.scores, n_resamples=30)),
    "harm": lambda s: fig_harm(harm(s.scores, s.groups, n_resamples=30)),
    "agreement": _agreement,
    "cost": lambda s: fig_cost(s.macro, _costs(s), published=published_models()),
    "arcs": lambda s: fig_arcs(_arcs(s)),
}


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_twenty_models_at_print_quality(twenty, name: str) -> None:
    assert print_faults(FIGURES[name](twenty)) == []


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_one_model_at_print_quality(one_model, name: str) -> None:
    assert print_faults(FIGURES[name](one_model)) == []


@pytest.mark.filterwarnings("error:Glyph")  # a name is measured in the fonts that it is drawn with
@pytest.mark.parametrize("name", sorted(FIGURES))
def test_five_models_with_long_names_in_many_scripts(study_of, name: str) -> None:
    study = _five(study_of)
    assert print_faults(FIGURES[name](study)) == []


_FIVE: list = []


def _five(study_of):
    if not _FIVE:
        _FIVE.append(
            study_of(["通义千问-VL-Max-2026", "नमस्ते-मॉडल", "نموذج-عربي", "a$b_model^2", "한국어-모델"], 20)
        )
    return _FIVE[0]


@pytest.mark.parametrize("task", ["replacements", "coordinate", "probing", "defense", "no-such-task"])
def test_prompt_cards_at_print_quality(task: str) -> None:
    assert print_faults(fig_prompt_card(prompts_frame([task]), "Prompt card")) == []


@pytest.mark.parametrize("name", ["fig03", "error_cdf", "agreement", "cost", "harm"])
def test_pdfs_embed_every_font_as_true_type(study_of, tmp_path: Path, name: str) -> None:
    data = save(FIGURES[name](_five(study_of)), tmp_path, name).pdf.read_bytes()
    text = data + b"".join(_inflated(data))
    assert b"/Type3" not in text
    described = set(re.findall(rb"/FontName /([A-Z]{6}\+[\w-]+)", text))
    assert len(described) >= (2 if name == "harm" else 3) and text.count(b"/FontFile2") >= len(described)
    assert b"/Subtype /Image" not in text or name in ("agreement",)  # vector but for the matrix of scenes
    assert b"/MediaBox [ 0 0 237.6 " in text or b"/MediaBox [ 0 0 496.8 " in text  # 3.3 or 6.9 inches


def _inflated(data: bytes):
    for match in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
        try:
            yield zlib.decompress(match.group(1))
        except zlib.error:
            continue


# -- looks ----------------------------------------------------------------------------------------------------


def test_variants_are_told_apart_by_marker_and_dashes_alone() -> None:
    assert len({(look.marker, look.filled) for look in VARIANT_LOOK.values()}) == 5
    assert len({str(dashes) for dashes in VARIANT_DASHES.values()}) == 5


def test_providers_are_told_apart_without_colour() -> None:
    looks = provider_looks([f"p{i}" for i in range(16)])
    assert len({(look.marker, look.filled) for look in looks.values()}) == 16
    eight = list(looks.values())[:8]
    assert len({look.hatch for look in eight}) == 8


def test_the_first_colours_survive_every_vision_that_has_hue() -> None:
    """The first four, at least: beyond, and in grey, the markers tell."""
    for i, one in enumerate(PALETTE[:4]):
        for other in PALETTE[:i]:
            for vision in ("deuteranopia", "protanopia"):
                a, b = (seen_as(to_rgb(c), vision) for c in (one, other))
                assert np.abs(a - b).max() > 0.1, (one, other, vision)


def test_colour_blindness_turns_red_and_green_into_one_and_leaves_grey_alone() -> None:
    for vision in VISIONS:
        np.testing.assert_allclose(seen_as([0.4, 0.4, 0.4], vision), 0.4, atol=2e-3)
    red, green, blue = (0.8, 0.25, 0.1), (0.42, 0.48, 0.1), (0.1, 0.2, 0.9)
    alike, apart = (np.abs(seen_as(red, "deuteranopia") - seen_as(c, "deuteranopia")).max() for c in (green, blue))
    assert alike < 0.12 and apart > 0.5
    assert least_distance(red, green) < 10
    # A full red, deuteranopia, severity 1.0: first column of Machado et al.'s table, sRGB-encoded.
    np.testing.assert_allclose(seen_as([1, 0, 0], "deuteranopia"), [0.6414, 0.5660, 0.0], atol=2e-3)
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21.0)  # WCAG's own example


def test_letters_are_dark_enough_to_read() -> None:
    for look in VARIANT_LOOK.values():
        assert contrast(to_rgb(ink(look.color)), (1, 1, 1)) >= 4.5
    assert ink("#1a1a1a") == "#1a1a1a"


# -- the check itself -----------------------------------------------------------------------------------------


def faulty(change: Callable) -> list[str]:
    with style():
        figure, ax = canvas(3.3, 2.0)
        ax.plot([0, 1], [0, 1], "o-", color="#cc0000", label="one")
        change(figure, ax)
        return print_faults(figure)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f, ax: ax.text(0.5, 0.5, "small", fontsize=4), "'small' has 4.0 points"),
        (lambda f, ax: ax.text(0.5, 0.5, "pale", color="#dddddd"), "'pale' is too pale"),
        (lambda f, ax: (ax.text(0.5, 0.5, "first"), ax.text(0.52, 0.5, "second")), "'first' overlaps 'second'"),
        (lambda f, ax: f.text(0.99, 0.5, "beyond the edge"), "sticks out"),
        (lambda f, ax: f.set_size_inches(4.0, 2.0), "inches wide"),
        (lambda f, ax: f.set_size_inches(6.9, 12.0), "inches high"),
        (lambda f, ax: (ax.plot([0, 1], [1, 0], "o-", color="#00662f", label="two"), ax.legend()), "look alike"),
    ],
)
def test_the_check_finds_what_is_wrong(change: Callable, said: str) -> None:
    faults = faulty(change)
    assert any(said in fault for fault in faults), faults


def test_the_check_lets_good_figures_pass() -> None:
    def good(figure, ax):
        ax.plot([0, 1], [1, 0], "s--", color="#00662f", label="two")
        ax.legend()
        ax.set_xticks([0, 0.5, 1, 9], ["a", "b", "c", "outside, not drawn, as long as the figure is wide"])
        ax.set_xlim(0, 1)

    assert faulty(good) == []


def test_turned_labels_have_turned_boxes() -> None:
    with style():
        figure, ax = canvas(3.3, 2.0)
        ax.plot([0, 1, 2, 3], [0, 1, 2, 3])
        names = ["a long name", "another name", "a third name", "one more name"]
        ax.set_xticks(range(4), names, rotation=55, ha="right", rotation_mode="anchor")
        figure.draw_without_rendering()
        boxes = {t.get_text(): corners for t, corners in text_boxes(figure)}
        assert print_faults(figure) == [] and legend_faults(figure) == []
    sides = [np.hypot(*(boxes[names[0]][i] - boxes[names[0]][(i + 1) % 4])) for i in range(2)]
    assert max(sides) > 4 * min(sides)
