"""Tables 2, 3 and 10: counts from the stages' own groups, models from the catalogue and the store, tiers."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from signpost_kit.benchmark.groups import Group, Span
from signpost_kit.evaluation.reply import Reply
from signpost_kit.models.base import Request
from signpost_kit.stages.common import save_groups
from signpost_kit.tables_build import composition, model_registration, refused, tab02, tab03, tab10, tier_examples
from signpost_kit.wordlists import tier_definitions


@pytest.fixture
def built(three, run_of):
    """A stand-in run in which every stage loses some groups: 28, 25, 22, 22, 20."""
    run = run_of(three.study, three.frames)
    groups = list(run.bench.groups)
    save_groups(run, "screening", groups[3:])
    save_groups(run, "replacements", groups[6:])
    save_groups(run, "targets", groups[6:])
    last = [*groups[8:]]
    last[0] = replace(last[0], images={"Original": "images/Original/x.png"})  # a release that lacks pictures
    save_groups(run, "synthesis", last)
    return run


def test_tab02_counts_the_groups_of_every_stage(built, rendered) -> None:
    counts = composition(built)
    frame = tab02(counts, with_published=True, left_out=refused(built)).to_frame()
    mine = frame[frame["Source"] == "This run"].set_index("Data set")
    assert mine.loc["IM2GPS3K", ["Sources", "With text", "Replacements", "Complete", "Removed"]].tolist() == [
        14,
        11,
        8,
        5,
        6,
    ]
    assert mine.loc["BaiduSV", ["Sources", "With text", "Complete"]].tolist() == [14, 14, 14]
    assert mine.loc["All", "Complete"] == 19 and mine.loc["All", "Kept (%)"] == pytest.approx(
        100 * 19 / 28, abs=1e-5
    )
    groups = built.bench.groups
    assert mine.loc["All", "Geocoded"] == sum(g.trap is not None for g in groups[6:])
    assert mine.loc["All", "Texts"] == 2 * 19
    assert mine.loc["All", ["T1", "T2", "T3"]].sum() == 19
    theirs = frame[frame["Source"] != "This run"].set_index("Data set")
    assert theirs["Complete"].to_dict() == {
        "IM2GPS3K": 651,
        "YFCC4K": 992,
        "GoogleSV": 2337,
        "BaiduSV": 1131,
        "All": 5111,
    }
    table = tab02(counts, left_out=refused(built), origin="signpost-release")
    assert "refused 3 further pictures" in table.note and "A release holds finished groups" in table.note
    rendered(table)


def test_tab02_of_a_run_that_has_just_begun(three, run_of, rendered) -> None:
    run = run_of(three.study, three.frames)
    for path in (run.dir / "stages").glob("*.groups.jsonl"):
        if not path.name.startswith("sources"):
            path.unlink()
    frame = tab02(composition(run)).to_frame().set_index("Data set")
    assert frame.loc["All", "Sources"] == 28 and frame["Complete"].isna().all() and frame["T1"].isna().all()
    (run.dir / "stages" / "sources.groups.jsonl").unlink()
    table = tab02(composition(run))
    assert table.rows == () and "No construction stage" in table.note
    rendered(table)


def request(model: str, i: int, task: str = "coordinate") -> Request:
    return Request(task, model, None, "", "Where?", "p1", dataset="d", group_id=f"g{i}", variant="Original",
                   sample_index=i)  # fmt: skip


def test_tab03_tells_route_price_with_date_and_what_was_asked(three, run_of, rendered) -> None:
    run = run_of(three.study, three.frames)
    run.profile = run.profile.model_copy(update={"models": ["gpt-5", "reader", "qwen3-vl-plus", "gone"]})
    with run.store() as store:
        for i in range(4):
            status = "ok" if i else "refused"
            reply = Reply(status, lat=1.0 if i else None, lon=2.0 if i else None, price_usd=0.25,
                          notes={"temperature": "not sent: refused"} if i else {})  # fmt: skip
            store.put(request("gpt-5", i), reply)
        store.put(request("someone else", 0), Reply("ok", lat=1.0, lon=2.0))
    models = model_registration(run)
    table = tab03(models, with_published=True)
    frame = table.to_frame()
    mine = frame[frame["Source"] == "This run"].set_index("Model")
    assert mine.index.tolist() == ["gpt-5 (GPT-5)", "reader", "qwen3-vl-plus (Qwen3-VL-Plus)", "gone"]
    gpt = mine.loc["gpt-5 (GPT-5)"]
    assert (gpt["API identifier"], gpt["Provider"], gpt["Input ($/M)"]) == ("gpt-5", "OpenAI", 1.25)
    assert gpt["Price as of"].startswith("2025-11-13, ") and gpt["Asked"] == 4 and gpt["Paid ($)"] == 1.0
    assert gpt["coverage"] == 0.75 and gpt["Sent otherwise"] == "temperature not sent: refused (3 replies)"
    assert math.isnan(mine.loc["qwen3-vl-plus (Qwen3-VL-Plus)", "Input ($/M)"])  # unknown is not 0
    assert mine.loc["reader", "Route"] == "offline, in this kit" and mine.loc["reader", "Asked"] == 0
    assert mine.loc["gone", "Route"] == "not in params/models.yml" and mine.loc["gone", "Provider"] == "Other"
    assert (frame["Source"] == "Published: main").sum() == 13 and (
        frame["Source"] == "Published: secondary"
    ).sum() == 7
    assert "temperature 0, at most 1024 tokens" in table.note
    rendered(table)


def test_tab03_of_imported_replies_and_of_no_model(three, run_of, rendered) -> None:
    run = run_of(three.study, three.frames)
    asked = run.profile.evaluation.model_copy(update={"stored_only": True})
    run.profile = run.profile.model_copy(update={"evaluation": asked})
    with run.store() as store:
        store.put(request("Gemini-2.5-Flash", 0), Reply("ok", lat=1.0, lon=2.0))
    table = tab03(model_registration(run))
    assert [row.label for row in table.rows] == ["Gemini-2.5-Flash"] and table.rows[0].texts["provider"] == "Google"
    assert table.note.startswith("Imported replies")
    run.profile = run.profile.model_copy(
        update={"models": [], "evaluation": asked.model_copy(update={"stored_only": False})}
    )
    empty = tab03(model_registration(run))
    assert empty.rows == () and "names no model" in empty.note
    rendered(table), rendered(empty)


def test_tab10_defines_and_shows_examples(rendered) -> None:
    groups = (
        Group("1", "d", 0, 0, tier="T3", spans=(Span("STOP", tier="T1"), Span("Rue de\n Rivoli", tier="T3"))),
        Group("2", "d", 0, 0, tier="T2", spans=(Span("<b>Café</b> & Söhne", tier="T2"), Span("x" * 41, tier="T2"))),
        Group("3", "d", 0, 0, tier="T3", spans=(Span("Rue de Rivoli", tier="T3"), Span("SW1A 2AA", tier="T3"))),
        Group("4", "d", 0, 0),
    )
    table = tab10(tier_definitions(), tier_examples(groups), with_published=True)
    frame = table.to_frame()
    mine = frame[frame["Source"] == "This run"].set_index("Tier")
    assert mine.index.tolist() == ["T1 Portable", "T2 Cultural", "T3 Geo-specific"]
    assert mine["In this run"].tolist() == ["“STOP”", "“<b>Café</b> & Söhne”", "“Rue de Rivoli”, “SW1A 2AA”"]
    assert mine["Groups"].tolist() == [0, 1, 2] and mine["Texts"].tolist() == [1, 2, 3]
    assert mine["Share (%)"].tolist() == pytest.approx([0, 100 / 3, 200 / 3], abs=1e-4)
    assert all(mine["Meaning"].str.len() > 20) and all(mine["Rules"].str.contains("; "))
    theirs = frame[frame["Source"] != "This run"]
    assert theirs["Groups"].tolist() == [347, 3851, 913]
    assert theirs["Share (%)"].tolist() == pytest.approx([6.8, 75.3, 17.9], abs=0.05)
    html = rendered(table)
    assert "&lt;b&gt;Café&lt;/b&gt; &amp; Söhne" in html and r">{\raggedright\arraybackslash}p{" in table.to_latex()
    nothing = tab10(tier_definitions(), tier_examples(()))
    assert nothing.note.startswith("No group of this run has a tier") and len(nothing.rows) == 3
    rendered(nothing)
    assert pd.isna(nothing.to_frame()["Share (%)"]).all()
