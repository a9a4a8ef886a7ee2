"""Lettering of other shapes: several lines, columns, curves, slants; and the ways of filling the ground."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from signpost_kit.benchmark.groups import Group, Span
from signpost_kit.editing.base import edit_mask, place_text
from signpost_kit.editing.fill import cloned, from_plate, joined
from signpost_kit.editing.glyphs import EM, column, split_text
from signpost_kit.editing.lettering import letter
from signpost_kit.editing.measure import flush_left, look_of
from signpost_kit.editing.paint import paint_variant
from signpost_kit.editing.readback import distance, likeness, read_spans
from signpost_kit.editing.ribbon import Ribbon, bend_of, flatten, lay, ribbon_of
from signpost_kit.fonts import load_font

GROUND, INK = (30, 60, 120), (245, 240, 225)


def sign(
    *lines: tuple[str, tuple[int, int], int], size: tuple[int, int] = (420, 300), noise: float = 2.0
) -> np.ndarray:
    """A plate that fills the picture with (text, top left, height) drawn on it."""
    picture = Image.new("RGB", size, GROUND)
    pen = ImageDraw.Draw(picture)
    for text, at, height in lines:
        pen.text(at, text, font=load_font(text, height, 600), fill=INK)
    rng = np.random.default_rng(0)
    return np.clip(np.asarray(picture) + rng.normal(0, noise, (size[1], size[0], 3)), 0, 255).astype(np.uint8)


def group(polygon, text: str, new: str) -> Group:
    return Group("g", "d", 0, 0, spans=(Span(text, polygon, replacements={"adversarial": new}, tier="T3"),))


def read(picture: np.ndarray, polygon) -> list[str]:
    return read_spans([(picture, [polygon])])[0][0]


def arc(radius: float, centre: tuple[float, float], start: float, stop: float, n: int = 7) -> np.ndarray:
    """n points of an arc in pixels, angles in degrees from the right, y down."""
    angles = np.radians(np.linspace(start, stop, n))
    return np.stack([centre[0] + radius * np.cos(angles), centre[1] + radius * np.sin(angles)], axis=1)


# --- several lines ---------------------------------------------------------------------------------------------------


def test_texts_are_parted_at_blanks_or_between_letters():
    assert split_text("Gare de Lyon Part Dieu", 2) == ["Gare de Lyon", "Part Dieu"]
    assert split_text("Lyon", 2) is None and split_text("Lyon", 1) == ["Lyon"]
    assert split_text("一二三四五六", 2) == ["一二三", "四五六"]
    parts = split_text("ニューヨークホテル", 2)
    assert parts is not None and "".join(parts) == "ニューヨークホテル"
    assert not any(part[0] in "ュー" for part in parts)  # they belong to the letter before


def test_two_lines_in_one_outline_are_seen_and_written():
    picture = sign(("MUSEE DU", (80, 70), 44), ("LOUVRE", (95, 140), 44))
    outline = ((70.0, 72.0), (320.0, 72.0), (320.0, 200.0), (70.0, 200.0))
    painted, record = paint_variant(picture, group(outline, "MUSEE DU LOUVRE", "NAIROBI CENTRAL"), "Adversarial")
    [span] = record["spans"]
    assert span["old_lines"] == 2 and span["layout"] == "lines" and span["lines"] == 2
    assert likeness("NAIROBI CENTRAL", read(painted, outline))[0] > 0.8
    assert 20 < span["letter_px"] < 40  # as high as one of the old lines (31), not as both together
    short, record = paint_variant(picture, group(outline, "MUSEE DU LOUVRE", "LIMA"), "Adversarial")
    assert record["spans"][0]["layout"] == "line" and record["spans"][0]["letter_px"] < 40
    assert likeness("LIMA", read(short, outline))[0] > 0.8


def test_a_long_text_in_a_high_outline_is_broken_into_larger_lines():
    quad = np.array([[5.0, 5.0], [155.0, 5.0], [155.0, 125.0], [5.0, 125.0]])
    made = letter("Addis Ababa Market", quad, (130, 160), frame=(0.05, 0.25, 0.95, 0.75), stroke=6.0, blur=0.4)
    one = letter("Addis", quad, (130, 160), frame=(0.05, 0.25, 0.95, 0.75), stroke=6.0, blur=0.4)
    assert made.layout == "lines" and made.lines >= 2 and one.lines == 1
    rows = made.alpha.max(axis=1) > 0.5
    assert np.count_nonzero(np.diff(rows.astype(int)) == 1) >= 2


def test_a_break_in_the_text_is_kept():
    quad = np.array([[5.0, 5.0], [205.0, 5.0], [205.0, 85.0], [5.0, 85.0]])
    assert letter("Lima\nPeru", quad, (90, 210), frame=(0, 0, 1, 1), stroke=4, blur=0.4).lines == 2


# --- columns ---------------------------------------------------------------------------------------------------------


def test_long_vowel_marks_stand_upright_in_a_column():
    from PIL import features

    if not features.check("raqm"):
        pytest.skip("this Pillow has no text shaper")
    ys, xs = np.nonzero(column(["ー"], 500).mask > 0.5)
    assert np.ptp(ys) > 2 * np.ptp(xs)  # in a line it lies
    small = column(["ッ"], 500).mask
    assert small[: EM // 2, EM // 2 :].sum() > small[EM // 2 :, : EM // 2].sum()  # at the cell's top right


def test_a_long_text_takes_two_columns_from_the_right():
    quad = np.array([[10.0, 10.0], [90.0, 10.0], [90.0, 190.0], [10.0, 190.0]])
    made = letter("東京銀行本店営業部", quad, (200, 100), frame=(0.1, 0, 0.9, 1), stroke=3, blur=0.4)
    assert made.layout == "stacked" and made.lines == 2
    ink = made.alpha > 0.5
    left, right = ink[:, :50], ink[:, 50:]
    assert left.any() and right.any()
    assert np.nonzero(right)[0].max() >= np.nonzero(left)[0].max()  # five letters at the right, four at the left


def test_columns_of_a_sign_are_removed_and_written():
    picture = sign(("東", (180, 30), 50), ("京", (180, 85), 50), ("本", (180, 140), 50), ("店", (180, 195), 50))
    outline = ((172.0, 36.0), (238.0, 36.0), (238.0, 258.0), (172.0, 258.0))
    painted, record = paint_variant(picture, group(outline, "東京本店", "上海路"), "Adversarial")
    assert record["spans"][0]["layout"] == "stacked"
    lines = read(painted, outline)
    assert likeness("上海路", [*lines, "".join(lines)])[0] >= 0.66
    blank, _ = paint_variant(picture, group(outline, "東京本店", ""), "Blank")
    assert read(blank, outline) == []


def test_latin_in_a_column_is_turned_and_upright_when_that_was_not_read():
    quad = np.array([[10.0, 10.0], [50.0, 10.0], [50.0, 290.0], [10.0, 290.0]])
    options = {"frame": (0.1, 0.05, 0.9, 0.95), "stroke": 4, "blur": 0.4}
    assert letter("HOTEL", quad, (300, 60), **options).layout == "turned"
    assert letter("HOTEL", quad, (300, 60), plain=2, **options).layout == "stacked"


# --- curves ----------------------------------------------------------------------------------------------------------


def curved_outline(n: int = 7) -> list[tuple[float, float]]:
    """A band over the top of a circle, clockwise from the text's top left."""
    top, bottom = arc(170, (210, 250), -140, -40, n), arc(125, (210, 250), -140, -40, n)
    return [tuple(p) for p in np.concatenate([top, bottom[::-1]])]


def test_a_band_and_back():
    ribbon = ribbon_of(curved_outline())
    assert ribbon is not None
    length, height = ribbon.size
    assert length == pytest.approx(147.5 * np.radians(100), rel=0.02) and height == pytest.approx(45, rel=0.03)
    strip = np.zeros((round(height), round(length)), np.float32)
    strip[10:35, 40:60] = 1.0
    laid = lay(strip, ribbon, (300, 420))
    assert laid.sum() == pytest.approx(strip.sum(), rel=0.06)
    again = flatten(laid, ribbon)
    assert np.abs(again[14:33, 43:57] - 1).max() < 0.1 and again[:, 80:].max() < 0.05
    turned = ribbon_of([*curved_outline()[7:], *curved_outline()[:7]])
    assert turned is not None  # begins at the other end: the text would stand on its head, a band all the same


@pytest.mark.parametrize(
    "outline",
    [
        [(0, 0), (9, 0), (9, 9), (0, 9)],
        curved_outline()[:13],
        [(0, 0), (50, 0), (20, 40), (60, 60), (0, 90), (-20, 30)],
        [(0, 0), (100, 0), (100, 30), (100, 0), (50, 15), (0, 30)],
    ],
)
def test_other_outlines_are_no_band(outline):
    assert ribbon_of(outline) is None


def test_curved_text_is_written_along_the_curve():
    from signpost_kit.editing.glyphs import block

    outline = curved_outline()
    ribbon = ribbon_of(outline)
    assert ribbon is not None
    made = letter("GRAND HOTEL", np.zeros((4, 2)), (300, 420), frame=(0.03, 0.1, 0.97, 0.9), stroke=5, blur=0.3, ribbon=ribbon)  # fmt: skip
    assert made.layout == "curved" and block(["A"], 500).line > 0
    picture = sign()
    drawn = picture + (np.array(INK) - picture) * made.alpha[..., None]
    picture = np.clip(drawn, 0, 255).astype(np.uint8)
    painted, record = paint_variant(picture, group(outline, "GRAND HOTEL", "CAFE NAIROBI"), "Adversarial")
    assert record["status"] == "ok" and record["spans"][0]["layout"] == "curved"
    mask = edit_mask(picture.shape, group(outline, "", ""))
    assert np.array_equal(painted[~mask], picture[~mask])
    assert mask.mean() < 0.13  # (257 + 12) x (45 + 12) pixels of 300 x 420: the band, not the rectangle around it
    ink = np.linalg.norm(painted.astype(float) - INK, axis=2) < 60
    ys, xs = np.nonzero(ink)
    radius = np.hypot(xs - 210, ys - 250)
    assert np.percentile(radius, 2) > 120 and np.percentile(radius, 98) < 175
    straight = np.clip(flatten(painted[..., 0].astype(np.float32), ribbon), 0, 255).astype(np.uint8)
    flat = np.pad(np.repeat(straight[..., None], 3, 2), ((25, 25), (25, 25), (0, 0)), mode="edge")
    h, w = flat.shape[:2]
    lines = read(flat, ((10, 10), (w - 10, 10), (w - 10, h - 10), (10, h - 10)))
    assert likeness("CAFE NAIROBI", lines)[0] > 0.7
    blank, _ = paint_variant(picture, group(outline, "GRAND HOTEL", ""), "Blank")
    assert blank[mask].std(axis=0).max() < 6


def test_letters_that_bend_within_a_straight_outline_are_followed():
    from signpost_kit.editing.ribbon import bent

    quad = np.array([[40.0, 100.0], [380.0, 100.0], [380.0, 180.0], [40.0, 180.0]])
    ribbon = bent(quad, 0.4, 0.5, 0.95)
    made = letter("VOTED BY THE PEOPLE", quad, (300, 420), frame=(0.03, 0.1, 0.97, 0.9), stroke=4, blur=0.3, ribbon=ribbon)  # fmt: skip
    base = sign()
    picture = np.clip(base + (np.array(INK) - base) * made.alpha[..., None], 0, 255).astype(np.uint8)
    outline = [tuple(p) for p in quad]
    painted, record = paint_variant(
        picture, group(outline, "VOTED BY THE PEOPLE", "MERCADO DE LIMA"), "Adversarial"
    )
    assert record["spans"][0]["layout"] == "curved"
    ys, xs = np.nonzero(np.linalg.norm(painted.astype(float) - INK, axis=2) < 60)
    middle, ends = ys[abs(xs - 210) < 40].mean(), ys[abs(xs - 210) > 110].mean()
    assert middle > ends + 8
    straight = np.zeros((40, 200), np.float32)
    straight[10:30, 10:190:4] = 1
    assert bend_of(straight)[0] == 0.0


# --- slant, alignment ------------------------------------------------------------------------------------------------


def test_a_slant_is_measured_and_an_upright_text_has_none():
    import cv2

    upright = sign(("HOTEL NAIROBI", (50, 100), 44))
    outline = ((40.0, 95.0), (400.0, 95.0), (400.0, 160.0), (40.0, 160.0))
    lean = 0.24
    matrix = np.array([[1, -lean, lean * 130], [0, 1, 0]])
    leaning = cv2.warpAffine(upright, matrix, (420, 300), borderMode=cv2.BORDER_REPLICATE)
    slants = [
        paint_variant(picture, group(outline, "x", "LIMA"), "Blank")[1]["spans"][0]["slant"]
        for picture in (upright, leaning)
    ]
    assert slants[0] == 0.0 and slants[1] == pytest.approx(lean, abs=0.07)


def test_lines_that_begin_at_one_edge_stay_there():
    quads = [np.array([[20.0, y], [20 + w, y], [20 + w, y + 30], [20.0, y + 30]]) for y, w in ((0, 200), (40, 120))]
    frames = [(0.0, 0.1, 1.0, 0.9)] * 2
    assert flush_left(quads, frames) == [True, True]
    centred = [quads[0], quads[1] + (40, 0)]
    assert flush_left(centred, frames) == [False, False]
    assert flush_left(quads[:1], frames[:1]) == [False]
    assert flush_left([quads[0], quads[1] + (0, 400)], frames) == [False, False]  # another sign


# --- the ground ------------------------------------------------------------------------------------------------------


def test_a_plate_between_bars_keeps_its_own_colour():
    """Red letters on a white plate in a yellow frame before a grey street: nothing of frame or street comes in."""
    picture = np.full((160, 420, 3), 120, np.uint8)
    image = Image.fromarray(picture)
    pen = ImageDraw.Draw(image)
    for x in range(0, 420, 60):
        pen.rectangle((x, 0, x + 10, 160), fill=(200, 160, 20))
    pen.rectangle((60, 45, 360, 115), fill=(200, 160, 20))
    pen.rectangle((70, 53, 350, 107), fill=(225, 225, 220))
    pen.text((84, 54), "NO PARKING", font=load_font("NO PARKING", 38, 800), fill=(150, 30, 30))
    noise = np.random.default_rng(0).normal(0, 2, picture.shape)
    picture = np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8)
    outline = ((64.0, 48.0), (356.0, 48.0), (356.0, 112.0), (64.0, 112.0))
    blank, record = paint_variant(picture, group(outline, "NO PARKING", ""), "Blank")
    assert record["status"] == "ok"
    inside = blank[56:104, 74:346].astype(float)
    assert np.abs(np.median(inside, axis=(0, 1)) - (225, 225, 220)).max() < 5
    assert (np.linalg.norm(inside - (225, 225, 220), axis=2) < 30).mean() > 0.985
    frame = blank[46:52, 80:340].astype(float)
    assert np.linalg.norm(frame.mean(axis=(0, 1)) - (200, 160, 20)) < 12


def test_letters_beside_an_edge_leave_the_edge_alone():
    """A white rim runs through the outline's corner; it is not taken for a letter and stays."""
    picture = sign(("PARIS", (120, 110), 50))
    picture[168:174] = 250  # a rim along the whole picture, through the outline's lower part
    picture[174:] = (150, 80, 60)
    outline = ((110.0, 108.0), (290.0, 108.0), (290.0, 171.0), (110.0, 171.0))
    blank, record = paint_variant(picture, group(outline, "PARIS", ""), "Blank")
    assert record["status"] == "ok"
    assert np.abs(blank[169:173, 130:270].astype(float) - 250).mean() < 12
    assert read(blank, outline) == []


def test_a_regular_ground_is_continued():
    """Bricks behind a letter: the hole is filled with the same bricks, not smeared."""
    y, x = np.mgrid[0:120, 0:160]
    wall = np.where((y % 12 < 2) | ((x + 12 * ((y // 12) % 2)) % 24 < 2), 200.0, 120.0)
    wall = np.repeat((wall + np.random.default_rng(0).normal(0, 2, wall.shape))[..., None], 3, axis=2).astype(
        np.float32
    )
    hole = np.zeros((120, 160), np.uint8)
    hole[50:70, 70:84] = 1
    damaged = wall.copy()
    damaged[hole > 0] = 0
    filled = cloned(damaged, hole, damaged, offset=(0, 0), blocked=hole > 0, tall=24.0)
    assert filled is not None
    assert np.abs(filled - wall)[hole > 0].mean() < 6
    noise = np.random.default_rng(1).uniform(0, 255, wall.shape).astype(np.float32)
    assert cloned(noise, hole, noise, offset=(0, 0), blocked=hole > 0, tall=24.0) is None  # nothing is alike


def test_poisson_blending_takes_the_step_at_the_rim_away():
    y, x = np.mgrid[0:60, 0:80].astype(np.float32)
    picture = np.repeat((100 + x + 0.5 * y)[..., None], 3, axis=2)
    filled = np.repeat((40 + 5 * np.sin(x) + 0 * y)[..., None], 3, axis=2).astype(
        np.float32
    )  # dark, with a texture
    hole = np.zeros((60, 80), np.uint8)
    hole[20:40, 25:55] = 1
    mixed = joined(picture, filled, hole)
    inside = hole > 0
    assert np.abs((filled - picture)[inside]).mean() > 90
    assert np.abs((mixed - picture)[inside]).mean() < 8
    assert np.array_equal(mixed[~inside], filled[~inside])
    step = np.diff(mixed, axis=1)[25:35, 30:50] - np.diff(filled, axis=1)[25:35, 30:50]
    assert np.abs(step).mean() < 3  # its own texture stays
    assert np.array_equal(joined(picture, filled, np.zeros_like(hole)), filled)


def test_a_plates_colour_is_carried_over_its_gaps():
    y, _ = np.mgrid[0:40, 0:60].astype(np.float32)
    picture = np.repeat((100 + y)[..., None], 3, axis=2)
    known = np.ones((40, 60), bool)
    known[10:30, 10:50] = False
    filled = from_plate(np.where(known[..., None], picture, 0), known)
    assert np.abs(filled - picture)[10:30, 10:50].mean() < 4


def test_a_ribbon_can_be_moved():
    ribbon = Ribbon(np.zeros((3, 2)), np.ones((3, 2)))
    assert np.array_equal(ribbon.moved(2, 3).top, [[2, 3]] * 3)
    look, found = look_of(np.ones((20, 60), bool), place_text((20, 60), ((2, 2), (58, 2), (58, 18), (2, 18))))
    assert found is None and look.rows == () and distance("a", "a") == 0
