"""Sheets for people: drawn by seed, blind, harmless in a spreadsheet and a browser, read back strictly."""

from __future__ import annotations

import base64
import csv
import io
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost_kit.audits import (
    read_sheets,
    sample_edits,
    sample_tiers,
    write_edit_sheets,
    write_tier_sheets,
)
from signpost_kit.audits.cells import neutral, plain, read_sheet, write_sheet
from signpost_kit.audits.filled import filled_audits, save_answers
from signpost_kit.benchmark import Benchmark, Group, Span
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.frames import VARIANTS

EVIL = '=HYPERLINK("http://x","y")</li><script>alert(1)</script>'


def groups(n: int = 30) -> list[Group]:
    span = Span(
        "Rue X", ((60, 40), (200, 40), (200, 80), (60, 80)), replacements={"similar": "Rue Y", "random": "z"}
    )
    span = replace(span, replacements={**span.replacements, "adversarial": "Lima"})
    return [
        Group(
            f"Paris-{i}",
            f"set{i % 2}",
            48.8,
            2.3,
            spans=(replace(span, text=EVIL if i == 0 else f"Rue {i}"),),
            tier=f"T{1 + i % 3}",
            images={v: f"{v}.png" for v in VARIANTS},
        )
        for i in range(n)
    ]


@pytest.fixture
def pictured(tmp_path) -> Benchmark:
    from signpost_kit.images import save_png

    picture = np.random.default_rng(0).integers(0, 255, (120, 260, 3)).astype(np.uint8)
    for variant in VARIANTS:
        save_png(tmp_path / "b" / f"{variant}.png", picture)
    return Benchmark("b", tuple(groups()), tmp_path / "b")


@pytest.fixture
def sheets(pictured, tmp_path):
    chosen = sample_tiers(pictured.groups, quotas={"T1": 3, "T2": 4, "T3": 3}).groups
    return write_tier_sheets(pictured, chosen, tmp_path / "audits" / "taxonomy")


@pytest.fixture
def edits(pictured, tmp_path):
    return write_edit_sheets(pictured, sample_edits(pictured.groups, n=6), tmp_path / "audits" / "edits")


def fill(
    path: Path, values: dict[str, str] | list[dict[str, str]], out: Path, *, rows: slice = slice(None)
) -> Path:
    found = [row for _, row in read_sheet(path)][rows]
    for i, row in enumerate(found):
        row.update(values if isinstance(values, dict) else values[i % len(values)])
    write_sheet(out, list(found[0]), found)
    return out


# --- drawing --------------------------------------------------------------------------------------------------


def test_quotas_and_what_is_short():
    sample = sample_tiers(groups(), quotas={"T1": 4, "T2": 25, "T3": 0})
    assert Counter(g.tier for g in sample.groups) == {"T1": 4, "T2": 10}
    assert sample.short == {"T2": (25, 10)}
    assert sample_tiers(groups()).short == {"T1": (100, 10), "T2": (150, 10), "T3": (100, 10)}


def test_the_draw_depends_on_seed_and_ids_alone():
    one = [g.group_id for g in sample_tiers(groups(), quotas={"T1": 4, "T2": 4}).groups]
    assert one == [g.group_id for g in sample_tiers(groups()[::-1], quotas={"T1": 4, "T2": 4}).groups]
    assert one != [g.group_id for g in sample_tiers(groups(), quotas={"T1": 4, "T2": 4}, seed=1).groups]
    tiers = [g.tier for g in sample_tiers(groups(300), quotas={"T1": 40, "T2": 40}).groups]
    assert sum(a != b for a, b in pairwise(tiers)) > 20  # not tier after tier


def test_edits_are_even_over_data_sets_and_variants():
    chosen = sample_edits(groups(), n=12)
    assert set(Counter((g.dataset, v) for g, v in chosen).values()) == {2}
    assert len({(g.group_id, v) for g, v in chosen}) == 12
    assert len(sample_edits(groups(3), n=50)) == 9
    with pytest.raises(DataError, match="synthesis"):
        sample_edits([replace(g, images={}) for g in groups(3)])
    with pytest.raises(ConfigError, match="T4=1"):
        sample_tiers(groups(), quotas={"T4": 1})


# --- blind and harmless ---------------------------------------------------------------------------------------


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.texts: list[str] = []
        self.images: list[bytes] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        values = dict(attrs)
        if tag == "img":
            self.images.append(base64.b64decode(values["src"].removeprefix("data:image/jpeg;base64,")))
        self.links += [v for k, v in attrs if k in ("href", "src") and not v.startswith("data:")]

    def handle_data(self, data):
        self.texts.append(data)


def page_of(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def test_a_page_is_whole_and_runs_nothing_of_the_pictures(pictured, tmp_path):
    made = write_tier_sheets(pictured, pictured.groups[:2], tmp_path / "s")
    page = page_of(made.pages[0])
    assert page.tags["script"] == 1 and page.tags["section"] == 2 and page.links == []
    assert EVIL in page.texts  # as text
    assert len(page.images) == 4  # whole and enlarged
    assert all(image.startswith(b"\xff\xd8\xff") and b"Exif" not in image for image in page.images)
    assert page.tags["input"] == 2 * (3 + 1)


def test_annotators_see_no_tier_and_no_place(sheets, edits):
    for path in (*sheets.sheets, *sheets.pages, *edits.sheets, *edits.pages):
        text = path.read_text(encoding="utf-8-sig")
        assert "Paris" not in text and "set0" not in text and "Adversarial" not in text
    rows = [row for _, row in read_sheet(sheets.sheets[0])]
    assert all(row["tier"] == "" for row in rows)
    key = {row["item"]: row for _, row in read_sheet(sheets.key)}
    first, second = ([row["item"] for _, row in read_sheet(path)] for path in sheets.sheets)
    assert [key[i]["group_id"] for i in first] != [key[i]["group_id"] for i in second]  # orders of their own
    assert sorted(key[i]["group_id"] for i in first) == sorted(key[i]["group_id"] for i in second)


def test_a_sheet_opens_in_a_spreadsheet_program_and_runs_nothing(pictured, tmp_path):
    made = write_tier_sheets(pictured, pictured.groups[:1], tmp_path / "s")
    data = made.sheets[0].read_bytes()
    assert data.startswith(b"\xef\xbb\xbf") and b"\r\n" in data
    row = next(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert row["texts"] == "'" + EVIL


@given(st.text(max_size=30))
def test_no_cell_begins_like_a_formula(text):
    cell = neutral(text)
    assert not re.match(r"[\s=+\-@|%＝＋－＠]*[=+\-@|%＝＋－＠]", cell)
    assert not re.search(r"[\x00-\x1f]", cell)
    if not re.search(r"[\x00-\x1f\x7f]", text):
        assert plain(cell) == text


# --- reading --------------------------------------------------------------------------------------------------


def test_filled_sheets_come_back(sheets, edits, tmp_path):
    one = fill(sheets.sheets[0], {"tier": "T1"}, tmp_path / "one.csv")
    two = fill(sheets.sheets[1], [{"tier": " t2"}, {"tier": "3"}], tmp_path / "two.csv")
    rated = {"naturalness": "4,0", "artefacts": "1", "context_damage": "2.0", "readability": "Full"}
    three = fill(edits.sheets[0], rated, tmp_path / "three.csv")
    answers = read_sheets([three, two, one], [sheets.key, edits.key])
    folder = tmp_path / "run" / "audits"
    assert [p.name for p in save_answers(answers, folder)] == ["taxonomy_annotations.csv", "edit_ratings.csv"]
    found = filled_audits(tmp_path / "run")
    assert found.tiers is not None and found.edits is not None
    assert len(found.tiers) == 10 and set(found.tiers["annotator1_tier"]) == {"T1"}
    assert set(found.tiers["annotator2_tier"]) == {"T2", "T3"}
    assert Counter(found.tiers["tier_auto"]) == {"T1": 3, "T2": 4, "T3": 3}
    wanted = {f"Paris-{i}": f"T{1 + i % 3}" for i in range(30)}
    assert all(wanted[row["group_id"]] == row["tier_auto"] for row in found.tiers.to_dict("records"))
    assert set(found.edits["naturalness"]) == {"4"} and set(found.edits["readability"]) == {"full"}


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(";", "cp1252"), ("\t", "utf-16"), (",", "utf-8"), (";", "utf-8-sig")]
)
def test_as_spreadsheet_programs_save_them(sheets, tmp_path, delimiter, encoding):
    filled = fill(sheets.sheets[0], {"tier": "T2", "remark": "über"}, tmp_path / "a.csv")
    rows = list(csv.reader(io.StringIO(filled.read_bytes().decode("utf-8-sig"), newline="")))
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows([*rows, [""] * len(rows[0])])
    (tmp_path / "b.csv").write_bytes(out.getvalue().encode(encoding))
    assert len(read_sheets([tmp_path / "b.csv"], [sheets.key])) == 10


def test_faults_are_named_by_row(sheets, tmp_path):
    rows = [row for _, row in read_sheet(sheets.sheets[0])]
    for row in rows:
        row["tier"] = "T1"
    rows[0]["item"], rows[1]["tier"], rows[2]["tier"] = "t1-none-001", "T4", ""
    rows[4] = rows[3]
    write_sheet(tmp_path / "bad.csv", list(rows[0]), rows[:9])
    with pytest.raises(DataError) as caught:
        read_sheets([tmp_path / "bad.csv"], [sheets.key])
    said = str(caught.value)
    assert "row 2: unknown item 't1-none-001'" in said
    assert re.search(r"row 3 \(t1-\w+-002\): tier is 'T4'; allowed: T1, T2, T3", said)
    assert re.search(r"row 4 \(t1-\w+-003\): tier missing", said) and "--partial" in said
    assert re.search(r"row 6: the item t1-\w+-004 stands already in bad\.csv row 5", said)
    assert re.search(r"items without a row: t1-\w+-001, t1-\w+-005, t1-\w+-010", said)


def test_ratings_out_of_range(edits, tmp_path):
    rated = {"naturalness": "6", "artefacts": "2.5", "context_damage": "1", "readability": "mostly"}
    with pytest.raises(DataError, match=r"naturalness is '6'; allowed: 1, 2, 3, 4, 5.*'2\.5'.*'mostly'"):
        read_sheets([fill(edits.sheets[0], rated, tmp_path / "x.csv")], [edits.key])


def test_an_unfinished_sheet_is_taken_when_asked(sheets, tmp_path):
    half = fill(sheets.sheets[0], [{"tier": "T1"}, {"tier": ""}], tmp_path / "half.csv", rows=slice(0, 6))
    with pytest.raises(DataError, match="missing"):
        read_sheets([half], [sheets.key])
    answers = read_sheets([half], [sheets.key], partial=True)
    assert [a["tier"] for a in answers] == ["T1", ""] * 3


def test_sheets_of_another_draw_are_not_mixed_in(pictured, sheets, tmp_path):
    other = write_tier_sheets(pictured, pictured.groups[:10], tmp_path / "other")
    with pytest.raises(DataError, match="unknown item"):
        read_sheets([fill(other.sheets[0], {"tier": "T1"}, tmp_path / "o.csv")], [sheets.key])
    with pytest.raises(DataError, match="signpost audit sheets"):
        read_sheets([sheets.sheets[0]], [])


def test_files_that_are_no_sheets(sheets, tmp_path):
    (tmp_path / "book.csv").write_bytes(b"PK\x03\x04rest")
    with pytest.raises(DataError, match="is a workbook, not CSV"):
        read_sheets([tmp_path / "book.csv"], [sheets.key])
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(DataError, match="is empty"):
        read_sheets([tmp_path / "empty.csv"], [sheets.key])
    with pytest.raises(DataError, match="cannot read"):
        read_sheets([tmp_path / "absent.csv"], [sheets.key])
