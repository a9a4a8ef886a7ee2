"""The screening stage and what it shows: photos kept and left out with reasons, known texts untouched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageDraw

from signpost_kit.benchmark import Benchmark, Group, Span
from signpost_kit.errors import DataError
from signpost_kit.figures.screening import SCREENING_COLUMNS, fig_screening, screened_picture, screening_frame
from signpost_kit.fonts import load_font
from signpost_kit.ocr import TextLine, screen
from signpost_kit.ocr import reading as reading_module
from signpost_kit.ocr.screened import iter_screened, reasons_frame, strings_frame
from signpost_kit.ocr.spans import choose_spans, where, why_nothing_counts
from signpost_kit.run import Run, open_run
from signpost_kit.stages.common import load_groups, save_groups
from signpost_kit.stages.screening import screening

SIGNS = {"road": ("Rue de Rivoli", "EXIT"), "number": ("315",), "blank": ()}
BOX = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))


@pytest.fixture
def photo_run(tmp_path: Path) -> Run:
    """Three photos after `sources`: one with two texts, one with a number, one with nothing; and a damaged one."""
    run = open_run("photos", str(tmp_path / "run"), sets=[f"source.path={tmp_path}"])
    folder = run.dir / "benchmark" / "images" / "Original"
    folder.mkdir(parents=True)
    groups = []
    for name, texts in SIGNS.items():
        image = Image.new("RGB", (480, 320), (70, 110, 100))
        for row, text in enumerate(texts):
            ImageDraw.Draw(image).text((40, 200 + 60 * row), text, font=load_font(text, 46, 500), fill="white")
        image.save(folder / f"{name}.png")
        groups.append(_group(name))
    (folder / "damaged.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    save_groups(run, "sources", [*groups, _group("damaged")])
    return run


def _group(name: str, **more: object) -> Group:
    return Group(
        name,
        "photos",
        1.0,
        2.0,
        source_id=f"{name}.jpg",
        images={"Original": f"images/Original/{name}.png"},
        **more,
    )  # type: ignore[arg-type]


def test_photos_get_their_spans_and_the_others_a_reason(photo_run: Run) -> None:
    screening(photo_run)
    [kept] = load_groups(photo_run, "screening")
    assert kept.group_id == "road"
    assert [span.text for span in kept.spans] == ["Rue de Rivoli", "EXIT"]  # the road before the generic sign
    assert kept.spans[0].location == "lower" and (kept.spans[0].confidence or 0) > 0.9
    record = photo_run.stage_record("screening")
    assert record is not None
    assert record["counts"] == {"groups": 1, "lines_read": 3, "rejected": 3, "spans": 2}
    reasons = {item["item"]: item["reason"] for item in record["rejected"]}
    assert reasons["number.jpg"] == "no text that counts: '315' (digits only)"
    assert reasons["blank.jpg"] == "no text that counts: nothing read"
    assert "damaged.png" in reasons["damaged.jpg"]
    assert [g.group_id for g in Benchmark.read(photo_run.dir / "benchmark").groups] == ["road"]


def test_what_was_seen_is_kept_for_a_look(photo_run: Run) -> None:
    screening(photo_run)
    pictures = list(iter_screened(photo_run))
    assert [(p.group_id, p.kept, len(p.lines)) for p in pictures] == [
        ("road", True, 2),
        ("number", False, 1),
        ("blank", False, 0),
        ("damaged", False, 0),
    ]
    strings = strings_frame(pictures)
    assert strings["kept"].tolist() == [True, True, False]
    assert strings["reason"].tolist() == ["", "", "digits only"]
    reasons = reasons_frame(pictures).set_index("reason")
    assert reasons.loc["counts", "count"] == 2 and reasons.loc["digits only", "count"] == 1
    assert reasons["share"].sum() == pytest.approx(1)
    assert reasons_frame([])["share"].isna().all()


def test_a_second_time_nothing_is_read_again(photo_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    screening(photo_run)
    before = (photo_run.dir / "benchmark" / "groups.jsonl").read_bytes()

    def never(*_: object) -> None:
        raise AssertionError("an engine was made")

    monkeypatch.setattr(reading_module, "get_engine", never)
    screening(photo_run)
    assert (photo_run.dir / "benchmark" / "groups.jsonl").read_bytes() == before


def test_the_profile_says_how_it_is_read(photo_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import signpost_kit.ocr

    asked: dict[str, object] = {}
    save_groups(photo_run, "sources", [_group("road"), _group("blank")])

    def each(paths, **options):
        asked.update(options)
        return (reading_module.Reading(path, (TextLine("Rue X", BOX, 0.9),)) for path in paths)

    monkeypatch.setattr(signpost_kit.ocr, "read_each", each)
    sets = ["screening.engine=easyocr", "screening.languages=[ch_sim, en]", f"screening.weights={tmp_path}",
            "compute.scheduler=processes", "compute.workers=2", f"source.path={tmp_path}"]  # fmt: skip
    screening(open_run("photos", str(photo_run.dir), sets=sets))
    assert asked["engine"] == "easyocr" and asked["scheduler"] == "processes" and asked["workers"] == 2
    assert asked["settings"].languages == ("ch_sim", "en") and asked["settings"].weights == str(tmp_path)  # type: ignore[attr-defined]
    assert asked["total"] == 2


def test_texts_that_the_source_knows_stay(photo_run: Run) -> None:
    spans = (
        Span("Rue de Rivoli", ((30, 190), (400, 190), (400, 260), (30, 260))),
        Span("unseen", BOX),
        Span("no polygon"),
    )
    save_groups(photo_run, "sources", [_group("road", spans=spans), _group("blank")])
    screening(photo_run)
    [kept] = load_groups(photo_run, "screening")
    assert kept.spans == spans
    record = photo_run.stage_record("screening")
    assert record is not None
    assert record["counts"]["spans"] == 3 and record["counts"]["spans_found_by_ocr"] == 1


def test_when_no_picture_counts_nothing_is_written(photo_run: Run) -> None:
    save_groups(photo_run, "sources", [_group("number"), _group("blank")])
    with pytest.raises(DataError, match=r"none of the 2 pictures.*min_confidence"):
        screening(photo_run)
    with pytest.raises(DataError, match="run the stage 'screening'"):
        load_groups(photo_run, "screening")
    with pytest.raises(DataError, match="run the stage 'screening' again"):
        list(iter_screened(photo_run))


def test_a_damaged_file_is_named_by_line(photo_run: Run) -> None:
    screening(photo_run)
    path = photo_run.dir / "stages" / "screening.pictures.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="line 4 is damaged"):
        list(iter_screened(photo_run))


def test_where_is_said_of_the_picture_not_of_the_texts() -> None:
    line = TextLine("Rue X", tuple((x + 10, y + 10) for x, y in BOX), 0.9)
    [span] = choose_spans(screen([line]), width=30, height=30)
    assert span.location == "centre"
    assert where(BOX, 300, 300) == "upper left" and where(BOX, 12, 300) == "upper"


def test_long_lists_of_reasons_are_cut() -> None:
    many = screen([TextLine(str(n), BOX, 0.9) for n in range(100, 110)])
    assert why_nothing_counts(many).endswith("'105' (digits only) and 4 more")


# --- the figure


def test_kept_and_left_out_are_drawn_apart(photo_run: Run) -> None:
    screening(photo_run)
    frame = screening_frame(photo_run)
    assert tuple(frame.columns) == SCREENING_COLUMNS
    assert frame["kept"].tolist() == [True, False, False, False]
    figure = fig_screening(frame)
    upper, lower = figure.subfigs
    assert upper._suptitle.get_text() == "Kept: 1 picture, 2 of 2 strings count"
    assert lower._suptitle.get_text() == "Left out: 3 pictures, 0 of 1 strings count"
    labels = [ax.get_xlabel() for ax in upper.axes + lower.axes if ax.get_xlabel()]
    assert labels[0] == "road.jpg\n1 Rue de Rivoli  2 EXIT"
    assert labels[1] == "number.jpg\n'315' (digits only)"
    assert labels[2] == "blank.jpg\nnothing read"
    outlines = upper.axes[0].patches
    shown = upper.axes[0].images[0].get_array().shape[1]
    corners = np.asarray(frame["strings"][0][0]["polygon"]) * shown / 480
    assert np.allclose(outlines[0].get_xy()[:4], corners)
    assert [t.get_text() for t in upper.axes[0].texts] == ["1", "2"]
    assert {p.get_linestyle() for p in lower.axes[0].patches} != {"-"}


def test_an_empty_frame_says_so() -> None:
    figure = fig_screening(pd.DataFrame(columns=pd.Index(SCREENING_COLUMNS)))
    said = [text.get_text() for part in figure.subfigs for ax in part.axes for text in ax.texts]
    assert said == ["No picture was kept.", "No picture was left out."]


def test_the_choice_of_pictures_is_even_and_the_seeds() -> None:
    class Stub:
        dir = Path("nowhere")

    from signpost_kit.ocr import screened

    pictures = [screened.Picture(str(n), str(n), "", n % 3 > 0, "" if n % 3 else "short") for n in range(300)]
    original = screened.iter_screened
    screened.iter_screened = lambda run: iter(pictures)
    try:
        one, again, two = (screening_frame(Stub(), limit=5, seed=s) for s in (1, 1, 2))  # type: ignore[arg-type]
    finally:
        screened.iter_screened = original
    assert one.equals(again) and not one.equals(two)
    assert one["kept"].tolist() == [True] * 5 + [False] * 5
    numbers = one["group_id"].astype(int)
    assert numbers[:5].is_monotonic_increasing and numbers.max() > 100


def test_a_picture_that_cannot_be_read_is_a_frame_that_says_so(tmp_path: Path) -> None:
    from signpost_kit.figures.style import canvas

    _, ax = canvas()
    row = {"label": "x", "image": str(tmp_path / "none.png"), "kept": False, "reason": "damaged", "strings": []}
    screened_picture(ax, row)
    assert "unreadable" in ax.texts[0].get_text()
