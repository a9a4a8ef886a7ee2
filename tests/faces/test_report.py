"""The report: complete, escaped, movable, and there even when half of the run is not."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from signpost_kit.errors import StorageError
from signpost_kit.figures import choose_story, fig01, fig03, save, story_frame
from signpost_kit.report import write_report
from signpost_kit.report_findings import failed_replies, findings, headline
from signpost_kit.tables import save_table, tab01

EVIL = "<script>alert('x')</script>"


class Page(HTMLParser):
    """Tags, addresses and text of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href") and v and not v.startswith("#")]
        self.handlers += [k for k, _ in attrs if k.startswith("on")]

    def handle_data(self, data) -> None:
        self.text += data


def page_of(run) -> Page:
    return Page(write_report(run).read_text(encoding="utf-8"))


@pytest.fixture
def full_run(toy_run):
    """A run with figures, tables, stage records, failures and hostile text in every place a user's data can reach."""
    scores = toy_run.table("scores")
    save(fig03(toy_run.table("macro")), toy_run, "fig03")
    save(fig01(story_frame(scores, toy_run.benchmark(), *choose_story(scores))), toy_run, "fig01")
    macro = toy_run.table("macro").replace({"model": {"looker": EVIL}})
    toy_run.tables |= {"macro": macro, "scores": scores.assign(text=EVIL, reason=EVIL)}
    save_table(tab01(macro), toy_run)
    (toy_run.tables_dir / "custom.html").write_text(
        f"<table onclick='alert(1)'><tr><td>kept{EVIL}</td></tr></table><style>@import 'x'</style><img src=x>"
    )
    stages = toy_run.dir / "stages"
    stages.mkdir()
    record = {"stage": "sources", "counts": {"found": 5, EVIL: 3}, "seconds": 0.5,
              "rejected": [{"item": f"{EVIL}.jpg", "reason": f"no position {EVIL}"}]}  # fmt: skip
    (stages / "sources.json").write_text(json.dumps(record))
    manifest = {"format": 1, "finished": "2030-01-02T03:04:05Z", "seconds": 9, "python": "3.12", "platform": "Linux",
                "git": {"commit": "c0ffee", "dirty": False}, "packages": {"numpy": "2.9"},
                "notebooks": [{"id": "fig17", "title": EVIL, "status": "failed", "seconds": 1, "message": EVIL}],
                "failures": [{"id": "fig17", "message": EVIL}]}  # fmt: skip
    (toy_run.dir / "manifest.json").write_text(json.dumps(manifest))
    (toy_run.dir / "profile.yml").write_text(f"title: {EVIL}\n")
    group = toy_run.bench.groups[0]
    toy_run.bench = toy_run.bench.with_groups([replace(group, group_id=EVIL, city=EVIL), *toy_run.bench.groups[1:]])
    toy_run.profile.title = EVIL
    return toy_run


def test_nothing_hostile_survives(full_run) -> None:
    page = page_of(full_run)
    assert "script" not in page.tags and page.handlers == []
    assert not {"iframe", "object", "embed", "link", "form"} & set(page.tags)
    assert page.text.count(EVIL) >= 8  # it is all there, as text
    assert page.tags.count("img") == sum(link.endswith((".png", ".jpg")) for link in page.links)
    assert "kept" in page.text and "@import" not in page.text
    source = (full_run.dir / "index.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in source


def test_the_page_and_its_folder_can_be_moved(full_run, tmp_path: Path) -> None:
    write_report(full_run)
    new = tmp_path / "elsewhere"
    new.mkdir()
    shutil.copy(full_run.dir / "index.html", new)
    shutil.copytree(full_run.dir / "report", new / "report")
    links = Page((new / "index.html").read_text(encoding="utf-8")).links
    assert len(links) >= 20
    for link in links:
        assert not re.match(r"[a-z]+:|/", link), link
        assert (new / unquote(link)).is_file(), link


def test_every_part_is_named(full_run) -> None:
    text = page_of(full_run).text
    for part in (
        "3 / 3",
        "2 / 3",
        "refused: 1",
        "no position",
        "c0ffee",
        "numpy",
        "2030-01-02",
        "tab01.csv",
        "Rue Cler",
    ):
        assert part in text, part
    assert "The notebook fig17 failed" in text and "The notebook fig16 has not run" in text
    assert "the conflicting sign names Nairobi" in text


def test_an_empty_run_still_has_a_report(toy_run) -> None:
    toy_run.tables.clear()
    toy_run.bench = None
    text = page_of(toy_run).text
    assert "No model has been scored yet." in text
    assert "run the stage 'sources' first" in text and "run the stage 'scoring' first" in text
    assert "No stage has run yet." in text and "No manifest.json" in text and "Nothing was asked yet." in text


def test_damaged_parts_are_survived(full_run) -> None:
    (full_run.dir / "manifest.json").write_text("{")
    (full_run.dir / "stages" / "sources.json").write_text("[1")
    path = full_run.bench.image_path(full_run.bench.groups[1], "Blank")
    path.write_bytes(b"no picture")
    text = page_of(full_run).text
    assert "No manifest.json" in text and path.name in text


def test_an_old_report_leaves_nothing_behind(full_run) -> None:
    write_report(full_run)
    (full_run.figures_dir / "fig03.png").unlink()
    write_report(full_run)
    assert not (full_run.dir / "report" / "figures" / "fig03.png").exists()
    assert (full_run.dir / "report" / "figures" / "fig01.png").exists()


def test_a_place_that_cannot_be_written_is_named(toy_run) -> None:
    toy_run.dir.mkdir(exist_ok=True)
    (toy_run.dir / "index.html").mkdir()
    with pytest.raises(StorageError, match=r"index\.html"):
        write_report(toy_run)


def test_findings_say_what_the_numbers_say(frames) -> None:
    macro = frames(["reader", "looker"])["macro"]

    def put(model: str, metric: str, value: float, low: float, high: float) -> None:
        hit = (macro["model"] == model) & (macro["metric"] == metric) & macro["variant"].isin(["", "Adversarial"])
        macro.loc[hit, ["value", "low", "high"]] = [value, low, high]

    put("reader", "tfr", 0.62, 0.5, 0.71)
    put("reader", "tbs_km", 5200, 4100, 6300)
    put("looker", "tfr", 0.0, 0.0, 0.0)
    put("looker", "tbs_km", -40, -200, 110)
    found = findings(macro)
    assert [f.model for f in found] == ["reader", "looker"]
    assert (
        "5,200 km [4,100, 6,300] further from the truth; 62 % [50, 71] of its answers lie within 50 km"
        in found[0].sentence
    )
    assert "no clear push by conflicting signs (text bias −40 km [−200, 110])" in found[1].sentence
    assert headline(found) == (
        "With a conflicting sign in the picture, 62 % [50, 71] of the answers of reader lie within 50 km of the place on "
        "the sign, and its error grows by 5,200 km [4,100, 6,300]; for looker it is 0 % [0, 0]."
    )
    put("reader", "tbs_km", 3116, -3922, 10153)
    assert "grows" not in headline(findings(macro))  # the interval leaves the direction open
    put("looker", "tbs_km", 0, 0, 0)
    assert "do not change" in findings(macro)[1].sentence
    put("reader", "tbs_km", -300, -500, -100)
    assert "bring its answers 300 km [100, 500] nearer to the truth" in findings(macro)[0].sentence


def test_findings_without_traps_or_answers(frames) -> None:
    macro = frames(["reader"])["macro"]
    assert "no scene has a geocoded target" in headline(findings(macro[macro["metric"] != "tfr"]))
    assert "cannot tell" in headline(findings(macro.assign(value=np.nan)))
    assert findings(macro.iloc[:0]) == [] and headline([]) == "No model has been scored yet."


def test_failed_replies_show_every_model_first(toy_run) -> None:
    rows, n = failed_replies(toy_run.table("scores"), limit=2)
    assert n == 2 and [r["model"] for r in rows] == ["reader", "looker"]
    assert rows[0]["status"] == "refused" and rows[0]["text"] == ""


def test_titles_and_legends_come_from_the_notebooks(project):
    from signpost_kit.report_outputs import described, grouped

    found = described(project, ["signpost"])
    ids = [item.id for item in found]
    assert ids[:3] == ["fig01", "fig03", "fig12"] and len(ids) == len(set(ids))
    source = json.loads((project / "notebooks/figures/fig12.ipynb").read_text(encoding="utf-8"))
    heading = "".join(source["cells"][0]["source"])
    mine = found[2]
    assert (
        mine.title == source["metadata"]["signpost"]["title"]
        and mine.text
        and mine.text[:40] in " ".join(heading.split())
    )
    assert described(project / "tests", ["signpost"]) == []
    rows = [{"study": "signpost", "n": 1}, {"study": "geocontext", "n": 2}, {"study": "signpost", "n": 3}]
    assert [(h, [r["n"] for r in part]) for h, part in grouped(rows)] == [
        ("SIGNPOST-Bench", [1, 3]),
        ("GeoContext", [2]),
    ]
    assert [h for h, _ in grouped(rows[:1])] == [""]
