"""The synthesis stage's checks in a run: counts, marks, resuming; and the figures of edit quality."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from signpost_kit.benchmark.groups import Benchmark, Group, Span
from signpost_kit.editing.checks import UNREADABLE
from signpost_kit.figures.editing import (
    EDIT_COLUMNS,
    TEXT_COLUMNS,
    edits_frame,
    fig_edit_quality,
    fig_worst_edits,
    marked_edits,
    read_back_rates,
    texts_frame,
)
from signpost_kit.figures.style import save
from signpost_kit.frames import EDITED_VARIANTS
from signpost_kit.images import load_rgb, save_png
from signpost_kit.run import open_run


@pytest.fixture(scope="module")
def small_run(tmp_path_factory, project):
    run = open_run("tiny", str(tmp_path_factory.mktemp("edits") / "run"), sets=["source.n=3"])
    run.ensure("synthesis")
    return run


def test_every_edit_is_checked_and_counted(small_run):
    counts = small_run.stage_record("synthesis")["counts"]
    groups = small_run.benchmark().groups
    assert counts["groups"] == len(groups) == 3 and counts["pictures"] == 15
    assert counts["edits passed"] + counts["edits marked"] == 12
    checks = [group.generation[v]["checks"] for group in groups for v in EDITED_VARIANTS]
    assert sum(c["passed"] for c in checks) == counts["edits passed"]
    assert all(c["outside"] == {"changed_share": 0.0, "ssim": 1.0} and c["size_kept"] for c in checks)
    read = [span["verdict"] for c in checks for span in c["spans"] if span["new_text"]]
    assert read.count("read") == counts["texts read"] >= 0.8 * (len(read) - read.count(UNREADABLE))
    json.dumps(checks)


def test_a_group_is_not_dropped_because_of_ocr(tmp_path, project, monkeypatch):
    from signpost_kit.editing import checks

    monkeypatch.setattr(checks, "likeness", lambda *_, **__: (0.0, ""))
    run = open_run("tiny", str(tmp_path / "run"), sets=["source.n=1", "editing.attempts=2"])
    run.ensure("synthesis")
    counts = run.stage_record("synthesis")["counts"]
    assert counts["groups"] == 1 and counts["rejected"] == 0
    assert counts["edits marked"] >= 1 and counts["edits made again"] >= 1
    marked = marked_edits(run.benchmark())
    assert len(marked) == counts["edits marked"] and (marked["attempts"] == 2).all()
    assert marked["reasons"].str.contains("is not read").all()


def test_without_checks_pictures_are_the_first_attempts(tmp_path, project, small_run):
    run = open_run("tiny", str(tmp_path / "run"), sets=["source.n=3", "editing.checks=false"])
    run.ensure("synthesis")
    assert "edits passed" not in run.stage_record("synthesis")["counts"]
    for mine, other in zip(run.benchmark().groups, small_run.benchmark().groups, strict=True):
        for variant in EDITED_VARIANTS:
            assert "checks" not in mine.generation[variant]
            if other.generation[variant]["checks"]["attempt"] == 1:
                pictures = [
                    load_rgb(r.benchmark().image_path(g, variant)) for r, g in ((run, mine), (small_run, other))
                ]
                assert np.array_equal(*pictures)


def test_what_is_finished_is_not_made_again(small_run):
    pictures = sorted((small_run.dir / "benchmark" / "images").glob("*/*.png"))
    before = {path: path.stat().st_mtime_ns for path in pictures}
    (small_run.dir / "stages" / "synthesis.json").unlink()
    small_run.ensure("synthesis")
    assert {path: path.stat().st_mtime_ns for path in pictures} == before
    gone = next(path for path in pictures if path.parent.name == "Random")
    content = gone.read_bytes()
    gone.unlink()
    (small_run.dir / "stages" / "synthesis.json").unlink()
    small_run.ensure("synthesis")
    assert gone.read_bytes() == content
    others = {path for path in pictures if path.name != gone.name}
    assert {path: path.stat().st_mtime_ns for path in others} == {path: before[path] for path in others}


def _benchmark(tmp_path) -> Benchmark:
    """Two groups with made-up checks: one good, one bad, one text in a script that cannot be read."""
    box = ((20.0, 20.0), (80.0, 20.0), (80.0, 34.0), (20.0, 34.0))
    texts = {"similar": "Lyon", "random": "лес", "adversarial": "Lima"}
    bench = Benchmark("b", (), tmp_path)
    groups = []
    for name, good in (("good", True), ("bad", False)):
        group = Group(name, "d", 0, 0, spans=(Span("Nice", box, replacements=texts, tier="T3"),))
        images, generation = {}, {}
        for variant in ("Original", *EDITED_VARIANTS):
            images[variant] = bench.image_name(group, variant)
            save_png(tmp_path / images[variant], np.full((60, 100, 3), 128, np.uint8))
            if variant == "Original":
                continue
            new = texts.get(variant.lower(), "")
            verdict = (
                "removed" if not new else UNREADABLE if variant == "Random" else "read" if good else "not read"
            )
            span = {"text": "Nice", "new_text": new, "verdict": verdict, "read": ""}
            if verdict in ("read", "not read"):
                span["likeness"] = 1.0 if good else 0.25
            passed = verdict != "not read"
            generation[variant] = {"editor": "paint", "status": "ok", "checks": {
                "passed": passed, "reasons": [] if passed else [f"'{new}' is not read"],
                "attempts": 1 if passed else 3, "attempt": 1, "spans": [span],
                "outside": {"changed_share": 0.0 if good else 0.02, "ssim": 1.0 if good else 0.9},
            }}  # fmt: skip
        groups.append(replace(group, images=images, generation=generation))
    return bench.with_groups(groups)


def test_rates_by_kind_script_and_size(tmp_path):
    bench = _benchmark(tmp_path)
    edits, texts = edits_frame(bench), texts_frame(bench)
    assert list(edits.columns) == list(EDIT_COLUMNS) and len(edits) == 8
    assert list(texts.columns) == list(TEXT_COLUMNS) and len(texts) == 6
    assert edits["passed"].sum() == 6 and set(marked_edits(bench)["group_id"]) == {"bad"}
    rates = read_back_rates(texts).set_index(["by", "value"])
    assert tuple(rates.loc[("kind", "Similar"), ["rate", "n", "unreadable"]]) == (0.5, 2, 0)
    assert np.isnan(rates.loc[("kind", "Random"), "rate"]) and rates.loc[("kind", "Random"), "unreadable"] == 2
    assert rates.loc[("script", "Latin"), "n"] == 4 and rates.loc[("size", "12-20 px"), "rate"] == 0.5
    assert [h for by, h in rates.index if by == "size"] == ["12-20 px"]


def test_the_figures_draw_and_say_when_there_is_nothing(tmp_path):
    bench = _benchmark(tmp_path)
    edits, texts = edits_frame(bench), texts_frame(bench)
    figure = fig_edit_quality(edits, texts)
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "New text read back",
        "Outside the mask",
        "Attempts used",
    ]
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[:3] == ["Similar", "Random", "Adversarial"] and "Cyrillic" in labels
    assert save(figure, tmp_path / "figures", "edit_quality").png.stat().st_size > 5000
    worst = fig_worst_edits(edits, bench, limit=2)
    shown = [ax.get_title(loc="left") for ax in worst.axes]
    assert shown[0].startswith("bad") and "is not read" in shown[1].replace("\n", " ")
    nothing = pd.DataFrame(columns=list(EDIT_COLUMNS)), pd.DataFrame(columns=list(TEXT_COLUMNS))
    for empty in (fig_edit_quality(*nothing), fig_worst_edits(nothing[0], bench)):
        assert any("checked" in text.get_text() for ax in empty.axes for text in ax.texts)
        assert save(empty, tmp_path / "figures", "empty").png.is_file()
