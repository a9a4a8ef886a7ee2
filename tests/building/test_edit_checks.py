"""Checks after an edit: what passes, what fails and why, what is tried again, what is marked. OCR is the real engine."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from signpost_kit.benchmark.groups import Benchmark, Group, Span
from signpost_kit.editing.base import edit_mask
from signpost_kit.editing.checks import UNREADABLE, Attempt, CheckSettings, attempted, check_edits, outside
from signpost_kit.editing.paint import make_variants
from signpost_kit.editing.painter import Painter
from signpost_kit.editing.readback import distance, likeness, read_spans, readable
from signpost_kit.errors import ConfigError
from signpost_kit.fonts import load_font
from signpost_kit.images import load_rgb, save_png

BOX = ((60.0, 60.0), (300.0, 60.0), (300.0, 110.0), (60.0, 110.0))
TEXTS = {"similar": "Rue Pasteur", "random": "温暖袜子", "adversarial": "Nairobi Road"}


def plate(text: str, *, ink: tuple[int, int, int] = (250, 250, 245), second: str = "") -> np.ndarray:
    """A street-like picture with a blue plate that says `text` in BOX; `second` below it."""
    rng = np.random.default_rng(3)
    picture = Image.fromarray(rng.integers(90, 170, (240, 360, 3)).astype(np.uint8)).resize((360, 240))
    pen = ImageDraw.Draw(picture)
    pen.rectangle((40, 45, 320, 200), fill=(25, 70, 150))
    for line, y in ((text, 66), (second, 140)):
        if line:
            pen.text((70, y), line, font=load_font(line, 36, 600), fill=ink)
    return np.asarray(picture)


def group(**texts: str) -> Group:
    return Group("g", "d", 0, 0, spans=(Span("Rue Lepic", BOX, replacements=TEXTS | texts, tier="T3"),))


def checked(
    after: np.ndarray | None, variant: str = "Adversarial", *, settings: CheckSettings | None = None, **record
):
    before = plate("Rue Lepic")
    found = check_edits(
        before, group(), {variant: (after, {"status": "ok", **record})}, settings=settings or CheckSettings()
    )
    return found[variant]


def test_distance_is_the_normalised_edit_distance():
    assert distance("Nairobi", "NAÏROBI ") == 0.0
    assert distance("kitten", "sitting") == pytest.approx(3 / 7)  # Levenshtein's own example: 3 edits, 7 letters
    assert distance("abc", "xyz") == 1.0 and distance("", "abc") == 1.0 and distance("", "!") == 0.0
    assert distance("上海", "上梅") == 0.5


def test_a_reading_in_two_lines_or_within_a_longer_one_counts():
    assert likeness("Nairobi Road", ["Nairobi", "Road"])[0] == 1.0
    assert likeness("Denver", ["xxDenverDeli"])[0] < 0.6
    assert likeness("Denver", ["xxDenverDeli"], within=True) == (1.0, "xxDenverDeli")
    assert likeness("SO", ["LASOTE"], within=True)[0] < 0.5  # two letters are found in any word
    assert likeness("Denver", []) == (0.0, "")


def test_what_an_engine_can_read():
    assert readable("Nairobi 12", "rapidocr") and readable("東京の店", "rapidocr") and readable("12", "rapidocr")
    assert not readable("улица", "rapidocr") and not readable("Tokyo 서울", "rapidocr")
    assert readable("서울", "easyocr", ("ko", "en")) and not readable("서울", "easyocr", ("en",))
    with pytest.raises(ConfigError, match="tesseract"):
        readable("a", "tesseract")


def test_lines_are_read_where_they_stand():
    picture = plate("Rue Lepic", second="Nairobi")
    below = tuple((x, y + 74) for x, y in BOX)
    ((first, second), empty) = read_spans(
        [(picture, [BOX, below]), (picture, [((900, 900), (950, 900), (950, 950))])]
    )
    assert first == ["Rue Lepic"] and second == ["Nairobi"] and empty == [[]]
    (whole,) = read_spans([(picture, [()])])[0]
    assert {"Rue Lepic", "Nairobi"} <= set(whole)


def test_a_good_edit_passes():
    found = checked(plate("Nairobi Road"))
    assert found["passed"] and not found["reasons"] and found["size_kept"]
    assert found["spans"][0]["verdict"] == "read" and found["spans"][0]["likeness"] > 0.9
    assert found["outside"] == {"changed_share": 0.0, "ssim": 1.0}
    json.dumps(found)
    assert checked(plate(""), "Blank")["spans"][0]["verdict"] == "removed"


@pytest.mark.parametrize(
    ("after", "variant", "reason"),
    [
        (lambda: plate("Quito"), "Adversarial", "'Nairobi Road' is not read"),
        (lambda: plate(""), "Adversarial", "'Nairobi Road' is not read"),
        (lambda: plate("Rue Lepic"), "Adversarial", "'Rue Lepic' is still read"),
        (lambda: plate("Rue Lepic"), "Blank", "'Rue Lepic' is still read"),
        (lambda: plate("Nairobi Road", second="more"), "Adversarial", "pixels outside the mask changed"),
        (lambda: plate("Nairobi Road")[:-2], "Adversarial", "size not kept: 360 x 240 became 360 x 238"),
    ],
)
def test_a_bad_edit_fails_with_its_reason(after, variant, reason):
    found = checked(after(), variant)
    assert not found["passed"] and any(reason in text for text in found["reasons"]), found["reasons"]
    assert found["worth_another"]


def test_a_script_that_the_engine_cannot_read_has_not_failed():
    found = checked(plate(""), "Random", spans=[{"text": "Rue Lepic", "status": "ok", "new_text": "улица Мира"}])
    assert found["passed"] and found["spans"][0]["verdict"] == UNREADABLE


def test_a_text_that_was_not_written_is_a_reason_but_not_worth_another_attempt():
    spans = [{"text": "Rue Lepic", "status": "blank", "new_text": "Nairobi Road", "reason": "it does not fit"}]
    found = checked(plate(""), spans=spans)
    assert found["reasons"] == ["'Nairobi Road' is not written: it does not fit"] and not found["worth_another"]


def test_like_texts_may_be_read_as_the_old_one():
    before = plate("Rue Lepic")
    near = Group("g", "d", 0, 0, spans=(Span("Rue Lepic", BOX, replacements={"similar": "Rue Lepin"}),))
    found = check_edits(before, near, {"Similar": (plate("Rue Lepin"), {"status": "ok"})}, settings=CheckSettings())
    assert found["Similar"]["passed"]


def test_an_editor_that_draws_anew_has_tolerances():
    before = plate("Rue Lepic")
    mask = edit_mask(before.shape, group())
    loose = CheckSettings(exact=False)
    rng = np.random.default_rng(0)
    soft = np.clip(before + rng.normal(0, 3, before.shape), 0, 255).astype(np.uint8)
    measures, reason = outside(before, soft, mask, loose)
    assert not reason and 0.9 < measures["ssim"] < 1.0 and measures["changed_share"] == 0.0
    assert outside(before, soft, mask, CheckSettings())[1]  # for the painter each pixel counts
    other = 255 - before
    assert "outside the mask changed" in outside(before, other, mask, loose)[1]
    flat = np.full_like(before, 128)
    flat[mask] = before[mask]
    lenient = replace(loose, max_changed=1.0)
    assert "SSIM" in outside(before, flat, mask, lenient)[1]
    # Beside the sign it may change more: the mask is grown.
    beside = before.copy()
    beside[:, 300:308] = 255
    assert outside(before, beside, mask, replace(loose, max_changed=0.0, min_ssim=0.0))[0]["changed_share"] < 0.02


def test_without_a_place_the_whole_picture_is_read_and_nothing_is_outside():
    nowhere = Group("g", "d", 0, 0, spans=(Span("Rue Lepic", replacements=TEXTS),))
    edits = {"Adversarial": (plate("Nairobi Road"), {"status": "ok"})}
    found = check_edits(plate("Rue Lepic"), nowhere, edits, settings=CheckSettings(exact=False))["Adversarial"]
    assert found["passed"] and found["outside"]["ssim"] is None


class Maker:
    """An editor whose attempts are given."""

    def __init__(self, *texts: str | None) -> None:
        self.texts, self.seen = list(texts), []

    def __call__(self, wanted: dict[str, Attempt]):
        self.seen.append({variant: attempt.number for variant, attempt in wanted.items()})
        made = {}
        for variant, attempt in wanted.items():
            text = self.texts[min(attempt.number, len(self.texts) - 1)]
            status = "failed" if text is None else "ok"
            made[variant] = (None if text is None else plate(text), {"status": status, "seed": attempt.number})
        return made


def run(maker: Maker, attempts: int = 3, variants: tuple[str, ...] = ("Adversarial",)):
    return attempted(plate("Rue Lepic"), group(), variants, maker, attempts=attempts)


def test_what_fails_is_made_again_until_it_passes():
    maker = Maker("Quito", "Nairobi Road", "never asked")
    picture, record = run(maker)["Adversarial"]
    assert maker.seen == [{"Adversarial": 0}, {"Adversarial": 1}]
    assert np.array_equal(picture, plate("Nairobi Road")) and record["seed"] == 1
    assert record["checks"]["passed"] and (record["checks"]["attempt"], record["checks"]["attempts"]) == (2, 2)
    assert "worth_another" not in record["checks"]


def test_after_the_last_attempt_the_best_is_kept_and_marked():
    maker = Maker("Quito", "Nairobe Rd", "")  # the second is nearest, yet too far at this limit
    strict = CheckSettings(max_distance=0.05)
    found = attempted(plate("Rue Lepic"), group(), ("Adversarial",), maker, attempts=3, settings=strict)
    picture, record = found["Adversarial"]
    checks = record["checks"]
    assert not checks["passed"] and checks["reasons"] and (checks["attempt"], checks["attempts"]) == (2, 3)
    assert np.array_equal(picture, plate("Nairobe Rd"))


def test_only_the_variant_that_failed_is_made_again():
    maker = Maker("Rue Pasteur")  # right for Similar alone
    found = run(maker, 2, ("Similar", "Adversarial"))
    assert maker.seen == [{"Similar": 0, "Adversarial": 0}, {"Adversarial": 1}]
    assert found["Similar"][1]["checks"]["attempts"] == 1 and not found["Adversarial"][1]["checks"]["passed"]


def test_a_failed_edit_is_not_checked_and_never_replaces_a_made_one():
    assert "checks" not in run(Maker(None))["Adversarial"][1]
    picture, record = run(Maker("Quito", None))["Adversarial"]
    assert picture is not None and record["status"] == "ok" and not record["checks"]["passed"]


def test_the_painter_changes_what_was_not_read(tmp_path):
    """Faint letters that no engine reads: the next attempt has more contrast, and is read."""
    ground = np.array([25, 70, 150])
    faint = plate("Rue Lepic", ink=tuple(int(v) for v in ground + 9))
    rng = np.random.default_rng(1)
    noisy = np.clip(faint + rng.normal(0, 2.0, faint.shape), 0, 255).astype(np.uint8)
    bench = Benchmark("b", (), tmp_path)
    asked = replace(group(), images={"Original": bench.image_name(group(), "Original")})
    save_png(tmp_path / asked.images["Original"], noisy)
    first = make_variants(bench, asked, attempts=1, checks=CheckSettings(), variants=("Adversarial",))
    assert not first.generation["Adversarial"]["checks"]["passed"]
    made = make_variants(bench, asked, attempts=3, checks=CheckSettings(), variants=("Adversarial",))
    record = made.generation["Adversarial"]
    assert record["checks"]["passed"] and record["checks"]["attempts"] > 1 and record["spans"][0]["plain"] >= 1
    picture = load_rgb(bench.image_path(made, "Adversarial"))
    mask = edit_mask(noisy.shape, asked)
    assert np.array_equal(picture[~mask], noisy[~mask])
    assert record["seed"] == 42 + record["checks"]["attempt"] - 1
    again = make_variants(bench, asked, attempts=3, checks=CheckSettings(), variants=("Adversarial",))
    assert again.generation == made.generation


def test_the_painter_takes_more_away_when_the_old_text_remains():
    clean = plate("Rue Lepic")
    picture = np.clip(clean + np.random.default_rng(1).normal(0, 2.0, clean.shape), 0, 255).astype(np.uint8)
    painter = Painter(picture, group(), 42)
    told = {"spans": [{"verdict": "old text still read"}]}
    first, _ = painter.make("Blank", Attempt(0))
    second, _ = painter.make("Blank", Attempt(1, told))
    third, _ = painter.make("Blank", Attempt(2, told))
    assert first is not None and second is not None and third is not None
    changed = [np.count_nonzero((p != picture).any(axis=2)) for p in (first, second, third)]
    assert changed[0] < changed[1] < changed[2]
    mask = edit_mask(picture.shape, group())
    assert all(np.array_equal(p[~mask], picture[~mask]) for p in (first, second, third))
