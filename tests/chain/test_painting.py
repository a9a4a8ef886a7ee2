"""The local editor: nothing outside the mask changes, texts vanish and appear, failures have reasons."""

from __future__ import annotations

import difflib
import json
from dataclasses import replace

import numpy as np
import pytest

from signpost_kit.benchmark.groups import Benchmark, Group, Span
from signpost_kit.editing.base import Unpaintable, edit_mask, place_text, quad_of
from signpost_kit.editing.lettering import letter, runs_of
from signpost_kit.editing.paint import make_variants, paint_variant
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.frames import EDITED_VARIANTS
from signpost_kit.geocoding.names import fold
from signpost_kit.images import load_rgb, save_png
from signpost_kit.ocr import read_text


def _alike(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, fold(a).replace(" ", ""), fold(b).replace(" ", "")).ratio()


def _read_back(image: np.ndarray, text: str) -> float:
    return max((_alike(text, line.text) for line in read_text(image, cache=False)), default=0.0)


@pytest.mark.parametrize("variant", EDITED_VARIANTS)
def test_nothing_outside_the_mask_changes(draw_sign, variant):
    image, group = draw_sign()
    before = image.copy()
    painted, record = paint_variant(image, group, variant)
    mask = edit_mask(image.shape, group)
    assert record["status"] == "ok"
    assert np.array_equal(image, before), "the input was written to"
    assert np.array_equal(painted[~mask], image[~mask])
    assert (painted[mask] != image[mask]).any(axis=1).mean() > 0.2
    assert record["changed_pixels"] == np.count_nonzero((painted != image).any(axis=2))
    json.dumps(record)


def test_the_mask_is_the_polygon_grown_by_the_recorded_pixels(draw_sign):
    import cv2

    image, group = draw_sign()
    _, record = paint_variant(image, group, "Blank")
    inner = np.zeros(image.shape[:2], np.uint8)
    cv2.fillConvexPoly(inner, np.round(np.array(group.spans[0].polygon)).astype(np.int32), 1)
    distance = cv2.distanceTransform(1 - inner, cv2.DIST_L2, 5)
    mask = edit_mask(image.shape, group)
    assert 2 <= record["dilation_px"] <= 8
    assert mask[inner > 0].all()
    assert not mask[distance > record["dilation_px"] + 1].any()


def test_same_seed_same_bytes(draw_sign):
    image, group = draw_sign()
    first, record = paint_variant(image, group, "Adversarial", seed=3)
    again, again_record = paint_variant(image, group, "Adversarial", seed=3)
    other, _ = paint_variant(image, group, "Adversarial", seed=4)
    assert np.array_equal(first, again) and record == again_record
    assert not np.array_equal(first, other)  # the grain
    assert np.abs(first.astype(int) - other.astype(int)).max() < 40


def test_texts_vanish_and_appear(draw_sign):
    """Read by the real OCR engine."""
    image, group = draw_sign()
    assert _read_back(image, "Rue de Rivoli") > 0.9
    blank, _ = paint_variant(image, group, "Blank")
    assert read_text(blank, cache=False) == ()
    for variant in ("Similar", "Random", "Adversarial"):
        painted, _ = paint_variant(image, group, variant)
        assert _read_back(painted, group.spans[0].replacements[variant.lower()]) > 0.8, variant
        assert _read_back(painted, "Rue de Rivoli") < 0.6


def test_ink_ground_and_layout_are_the_signs_own(draw_sign):
    image, group = draw_sign(ink=(240, 220, 40), plate=(20, 90, 60))
    _painted, record = paint_variant(image, group, "Adversarial")
    [span] = record["spans"]
    assert np.abs(np.array(span["ink"]) - (240, 220, 40)).max() < 25
    assert np.abs(np.array(span["ground"]) - (20, 90, 60)).max() < 12
    assert span["fill"] == "surface"
    assert 1.5 < span["noise"] < 3.5  # drawn with 2.0
    assert span["new_text"] == "Nairobi Road" and span["font"] == "Noto Latin"
    blank, _ = paint_variant(image, group, "Blank")
    inside = place_text(image.shape, group.spans[0].polygon)
    plate = blank[inside.slices][inside.inner].astype(float)
    assert np.abs(plate.mean(axis=0) - (20, 90, 60)).max() < 6
    assert plate.std(axis=0).max() < 8  # a plain plate again, with its grain


def test_heavier_letters_get_a_heavier_font():
    quad = np.array([[5.0, 5.0], [205.0, 5.0], [205.0, 55.0], [5.0, 55.0]])
    made = [letter("LIMA", quad, (60, 210), frame=(0, 0.2, 1, 0.8), stroke=s, blur=0.4) for s in (2.5, 4.5, 8.0)]
    assert made[0].weight < made[1].weight < made[2].weight
    assert made[0].alpha.sum() < made[2].alpha.sum()


def test_a_long_text_is_squeezed_then_made_smaller():
    quad = np.array([[5.0, 5.0], [145.0, 5.0], [145.0, 45.0], [5.0, 45.0]])
    options = {"frame": (0.05, 0.2, 0.95, 0.8), "stroke": 3.0, "blur": 0.4}
    short, middle, long = (letter(t, quad, (50, 150), **options) for t in ("LIMA", "MELBOURNE", "ADDIS ABABA CITY"))
    assert short.squeeze == 1.0
    assert 0.6 < middle.squeeze < 1.0 and middle.height == pytest.approx(short.height)
    assert long.height < short.height
    with pytest.raises(Unpaintable, match="does not fit"):
        letter("A TEXT THAT IS FAR TOO LONG FOR THIS SIGN EVEN ON THREE LINES OF IT", quad, (50, 150), **options)


def test_a_column_is_stacked_or_turned(draw_sign):
    corners = ((200, 30), (250, 30), (250, 290), (200, 290))
    image = np.full((320, 480, 3), 200, np.uint8)
    quad = np.array(corners, dtype=float)
    stacked = letter("東京書店", quad, image.shape[:2], frame=(0, 0, 1, 1), stroke=4, blur=0.4)
    turned = letter("Nairobi", quad, image.shape[:2], frame=(0, 0, 1, 1), stroke=4, blur=0.4)
    assert (stacked.layout, turned.layout) == ("stacked", "turned")
    for made in (stacked, turned):
        ys, xs = np.nonzero(made.alpha > 0.5)
        assert xs.min() >= 195 and xs.max() <= 255
        assert np.ptp(ys) > 2 * np.ptp(xs)
    picture = (image * (1 - turned.alpha[..., None])).astype(np.uint8)
    assert _read_back(np.ascontiguousarray(np.rot90(picture)), "Nairobi") > 0.8


def test_mixed_scripts_are_drawn_in_runs():
    assert runs_of("東京 Tokyo 3") == [("Han", "東京 "), ("Latin", "Tokyo 3")]
    assert runs_of("渋谷のパン") == [("Japanese", "渋谷のパン")]
    assert runs_of("24 ул. Мира") == [("Cyrillic", "24 ул. Мира")]
    quad = np.array([[5.0, 5.0], [305.0, 5.0], [305.0, 65.0], [5.0, 65.0]])
    made = letter("東京 Tokyo", quad, (70, 310), frame=(0, 0.2, 1, 0.8), stroke=4, blur=0.4)
    assert made.scripts == ("Han", "Latin")
    assert made.alpha[:, :110].sum() > 100 and made.alpha[:, 150:].sum() > 100


def test_a_grey_picture_stays_grey(draw_sign):
    image, group = draw_sign()
    grey = image.mean(axis=2).astype(np.uint8)
    painted, record = paint_variant(grey, group, "Similar")
    assert record["status"] == "ok" and painted.shape == grey.shape and painted.dtype == np.uint8
    mask = edit_mask(grey.shape, group)
    assert np.array_equal(painted[~mask], grey[~mask])
    assert _read_back(painted, "Rue Pasteur") > 0.8


BOX = ((10.0, 10.0), (90.0, 10.0), (90.0, 40.0), (10.0, 40.0))


@pytest.mark.parametrize(
    ("polygon", "reason"),
    [
        ((), "0 corners"),
        (BOX[:3], "3 corners"),
        (((10, 10), (90, 10), (90, 13), (10, 13)), "80 x 3 pixels"),
        (((10, 10), (90, 10), (170, 10), (250, 10)), "no area"),
        (((10, 10), (90, 40), (90, 10), (10, 40)), "no area|folded"),
        (((10, 10), (90, 10), (40, 20), (10, 60)), "folded|outline"),
        (((10, float("nan")), *BOX[1:]), "no numbers"),
        (tuple((x + 900, y) for x, y in BOX), "outside the picture"),
        ((("a", "b"), *BOX[1:]), "no list of x, y pairs"),
    ],
)
def test_a_degenerate_polygon_is_a_recorded_failure(draw_sign, polygon, reason):
    image, group = draw_sign()
    bad = replace(group, spans=(replace(group.spans[0], polygon=polygon),))
    painted, record = paint_variant(image, bad, "Similar")
    assert record["status"] == "failed"
    assert np.array_equal(painted, image)
    import re

    assert re.search(reason, record["reason"])


def test_polygons_are_put_in_order():
    box = np.array(BOX)
    assert np.allclose(quad_of(BOX), box)
    assert np.allclose(quad_of(box[[1, 0, 3, 2]]), box)  # counter-clockwise, from the top right
    curved = [(10, 10), (50, 8), (90, 10), (90, 40), (50, 42), (10, 40)]
    assert np.abs(quad_of(curved) - box).max() < 5


def test_a_polygon_that_reaches_over_the_edge(draw_sign):
    image, group = draw_sign(corners=((-60, 120), (200, 100), (202, 170), (-58, 180)))
    painted, record = paint_variant(image, group, "Blank")
    assert record["status"] == "ok"
    assert np.array_equal(painted[~edit_mask(image.shape, group)], image[~edit_mask(image.shape, group)])


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({}, "there is no adversarial text"),
        ({"adversarial": "   "}, "there is no adversarial text"),
        ({"adversarial": "\U00012000\U00012001"}, "font"),
        ({"adversarial": "A name that never ends and never fits " * 4}, "does not fit"),
    ],
)
def test_a_text_that_cannot_be_written_is_a_recorded_failure(draw_sign, texts, reason):
    image, group = draw_sign()
    bad = replace(group, spans=(replace(group.spans[0], replacements=texts),))
    painted, record = paint_variant(image, bad, "Adversarial")
    assert record["status"] == "failed" and reason in record["reason"]
    assert np.array_equal(painted, image)
    assert paint_variant(image, bad, "Blank")[1]["status"] == "ok"


def test_a_lesser_span_that_fails_is_left_blank_and_says_so(draw_sign):
    image, group = draw_sign()
    small = Span("x", ((10, 250), (20, 250), (20, 253), (10, 253)), tier="T1")
    _painted, record = paint_variant(image, replace(group, spans=(*group.spans, small)), "Similar")
    assert record["status"] == "ok"
    assert [s["status"] for s in record["spans"]] == ["ok", "skipped"]
    assert "10 x 3 pixels" in record["spans"][1]["reason"]
    nameless = replace(group.spans[0], text="Rue", tier="T1", replacements={})
    _, record = paint_variant(image, replace(group, spans=(group.spans[0], nameless)), "Similar")
    assert record["status"] == "ok" and record["spans"][1]["status"] in ("blank", "skipped")


def test_a_plain_patch_without_letters_is_a_recorded_failure():
    image = np.full((100, 200, 3), 120, np.uint8)
    group = Group("g", "d", 0, 0, spans=(Span("x", BOX, tier="T3"),))
    _, record = paint_variant(image, group, "Blank")
    assert record["status"] == "failed" and "same colour" in record["reason"]


def test_no_spans_and_bad_arguments(draw_sign):
    image, group = draw_sign()
    _, record = paint_variant(image, replace(group, spans=()), "Blank")
    assert record["status"] == "failed" and "no spans" in record["reason"]
    with pytest.raises(ConfigError, match="Original"):
        paint_variant(image, group, "Original")
    with pytest.raises(DataError, match="float64"):
        paint_variant(image.astype(float), group, "Blank")


def test_variants_of_a_benchmark(draw_sign, tmp_path):
    image, group = draw_sign()
    bench = Benchmark("b", (group,), tmp_path)
    original = bench.image_name(group, "Original")
    save_png(tmp_path / original, image)
    group = replace(group, images={"Original": original}, generation={"Original": {"note": "kept"}})
    made = make_variants(bench, group, seed=9)
    assert set(made.images) == {"Original", *EDITED_VARIANTS}
    assert made.generation["Original"] == {"note": "kept"}
    for variant in EDITED_VARIANTS:
        picture = load_rgb(bench.image_path(made, variant))
        alone, record = paint_variant(image, group, variant, seed=9)
        assert np.array_equal(picture, alone)
        assert made.generation[variant] == record
        assert record["seed"] == 9 and record["editor"] == "paint"
    Benchmark("b", (made,), tmp_path).write()
    assert Benchmark.read(tmp_path).groups[0] == made


def test_a_failed_variant_has_a_record_and_no_picture(draw_sign, tmp_path):
    image, group = draw_sign(replacements={"similar": "Rue Pasteur", "random": "\U00012000", "adversarial": "Lima"})
    bench = Benchmark("b", (group,), tmp_path)
    group = replace(group, images={"Original": "o.png"})
    save_png(tmp_path / "o.png", image)
    made = make_variants(bench, group)
    assert "Random" not in made.images and {"Blank", "Similar", "Adversarial"} <= set(made.images)
    assert made.generation["Random"]["status"] == "failed"
    assert not (tmp_path / bench.image_name(group, "Random")).exists()
    with pytest.raises(DataError):
        make_variants(bench, replace(group, images={"Original": "missing.png"}))


def test_drawn_scenes_are_read_back(tmp_path):
    """Replacements of drawn street scenes: at least 80 % of Latin and CJK texts are read by OCR, none of the old ones."""
    from signpost_kit.benchmark import town
    from signpost_kit.fonts import script_of
    from signpost_kit.replacements.gazetteer import propose
    from signpost_kit.taxonomy import classify_group

    bench = town.build(6, 11, out_dir=tmp_path, cities=["lyon", "chicago", "tokyo", "sydney", "lima", "berlin"])
    asked = found = 0
    for group in bench.groups:
        ready = propose(classify_group(group))
        image = load_rgb(bench.image_path(group, "Original"))
        mask = edit_mask(image.shape, ready)
        for variant in ("Blank", "Adversarial"):
            painted, record = paint_variant(image, ready, variant)
            assert record["status"] == "ok", record["reason"]
            assert np.array_equal(painted[~mask], image[~mask])
            lines = read_text(painted, cache=False)
            for span, done in zip(ready.spans, record["spans"], strict=True):
                if done["status"] == "ok":
                    assert max((_alike(span.text, line.text) for line in lines), default=0) < 0.75, span.text
                text = span.replacements["adversarial"]
                if variant == "Adversarial" and script_of(text) in ("Latin", "Han", "Japanese"):
                    asked += 1
                    found += max((_alike(text, line.text) for line in lines), default=0) >= 0.75
    assert asked >= 10
    assert found / asked >= 0.8


def test_real_signs(shared_data):
    """Three real photos with spans from OCR: the old texts go, the new ones are read, the rest stays."""
    from signpost_kit.ocr import screen

    texts = iter(["Nairobi", "Calle Lima", "Hotel Quito", "Osaka", "Via Accra", "Melbourne"])
    asked = found = 0
    for name in ("easyocr_french.jpg", "paddle_ger_1_epping.jpg", "mmocr_plaque_octavia_hill.jpg"):
        image = load_rgb(shared_data / "photos" / "text" / name)
        kept = [s.line for s in screen(read_text(image)) if s.kept][:2]
        spans = tuple(Span(k.text, k.polygon, replacements={"adversarial": next(texts)}, tier="T3") for k in kept)
        group = Group(name, "photos", 0, 0, spans=spans)
        painted, record = paint_variant(image, group, "Adversarial")
        assert record["status"] == "ok", record["reason"]
        mask = edit_mask(image.shape, group)
        assert np.array_equal(painted[~mask], image[~mask])
        for span in spans:
            asked += 1
            found += _read_back(painted, span.replacements["adversarial"]) >= 0.75
            assert _read_back(painted, span.text) < 0.75
    assert asked == 6 and found / asked >= 0.8
