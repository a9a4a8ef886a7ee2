"""Runs that have next to nothing, and the notebooks: a table that says so, never a traceback."""

from __future__ import annotations

import ast
import importlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from signpost_kit.tables_cases import redirected_cases, tab19
from signpost_kit.tables_results import tab07, tab11, tab17, tab_dataset
from signpost_kit.tables_rows import run_frame
from signpost_kit.tables_sensitivity import tab04, tab04_ranks, tab05, tab05_ranks, tab12, tab18
from signpost_kit.tables_tests import tab_correlations, tab_pairs, tab_ranks, tab_tests

NOTEBOOKS = {
    "tab02", "tab03", "tab04", "tab05", "tab07", "tab10", "tab11", "tab12", "tab17", "tab18", "tab19", "tab20",
    "tab21", "tab22", "tab23", "tab_tests", "tab_correlations", "tab_ranks", "tab_pairs",
}  # fmt: skip


def tables_of(run):
    """Every table that is made from frames."""

    def frame(name: str) -> pd.DataFrame:
        return run_frame(run, name)

    groups = run.bench.to_frame()
    for pub in (False, True):
        yield tab04(frame("sensitivity"), frame("sensitivity_ranks"), with_published=pub)
        yield tab05(frame("ablation"), with_published=pub)
        yield tab07(frame("cells"), frame("macro"), with_published=pub)
        yield tab11(frame("tiers"), groups, aggregate=frame("aggregate"), with_published=pub)
        yield tab12(frame("alpha"), frame("alpha_ranks"), with_published=pub)
        yield tab17(frame("cells"), frame("macro"), by_dataset=True, with_published=pub)
        yield tab18(frame("radius"), with_published=pub)
        yield tab19(redirected_cases(frame("scores")), run.bench, with_published=pub)
        yield tab_dataset(20, frame("cells"), with_published=pub)
        yield tab_tests(frame("tests"), with_published=pub)
        yield tab_correlations(frame("correlations"), with_published=pub)
    yield tab04_ranks(frame("sensitivity"))
    yield tab05_ranks(frame("ablation"))
    yield tab_ranks(frame("ranks"))
    yield tab_pairs(frame("pairs"))


def test_one_model_one_scene_each(make_study, run_of, rendered) -> None:
    run = run_of(make_study(["only"], 1))
    notes = {}
    for table in tables_of(run):
        rendered(table)
        notes[table.id] = table.note
    assert "There is no pair of models" in notes["tab_pairs"]
    assert "1 model(s) with both scores" in notes["tab_correlations"] and "1 model(s)" in notes["tab04"]


def test_no_scene_has_a_target(make_study, run_of, rendered) -> None:
    run = run_of(make_study(["a", "b"], 4, traps=False))
    notes = {}
    for table in tables_of(run):
        rendered(table)
        notes[table.id] = table.note
    assert "so there is no rate" in notes["tab07"] and "so there is no rate" in notes["tab18"]
    assert "so there is no reduction" in notes["tab17"] and "none of its scenes has" in notes["tab19"]
    assert "A dash: " in notes["tab04"]


def test_every_reply_failed(make_study, run_of, rendered) -> None:
    run = run_of(make_study(["a", "b"], 3, failing=True))
    for table in tables_of(run):
        html = rendered(table)
        own = [row for row in table.rows if row.section not in ("Published, other scenes",)]
        if table.id in ("tab07", "tab20", "tab17"):
            own = [row for row in own if "of 20 models" not in row.label]
            assert own and all(row.coverage == 0 for row in own) and "0 %" in html


def test_one_variant_only(make_study, run_of, rendered) -> None:
    from signpost_kit.metrics import score_signpost

    study = make_study(["a", "b"], 4)
    study.scores = study.scores[study.scores["variant"] == "Original"].reset_index(drop=True)
    names = ["model", "dataset", "group_id", "variant", "lat", "lon", "status"]
    made = score_signpost(study.scores[names], study.groups, n_resamples=20)
    study.cells, study.macro, study.tiers = made["cells"], made["macro"], made["tiers"]
    for table in tables_of(run_of(study)):
        rendered(table)


def test_nothing_was_analysed_or_scored(three, run_of, rendered) -> None:
    run = run_of(three.study, {name: three.frames[name] for name in ("cells", "macro", "tiers", "scores")})
    notes = {table.id: table.note for table in tables_of(run)}
    for name in ("tab04", "tab05", "tab04_ranks", "tab12", "tab18", "tab_tests", "tab_ranks", "tab_pairs"):
        assert "run the stage analysis" in notes[name], name
    run.frames.clear()
    for table in tables_of(run):
        rendered(table)


@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_notebooks_are_thin_and_run(project: Path, three, run_of, monkeypatch, name: str) -> None:
    content = json.loads((project / "notebooks" / "tables" / f"{name}.ipynb").read_text(encoding="utf-8"))
    about = content["metadata"]["signpost"]
    assert about["kind"] == "table" and about["title"] and about["needs"]
    assert "**How to read it.**" in "".join(content["cells"][0]["source"])
    run = run_of(three.study, three.frames)
    monkeypatch.setattr(importlib.import_module("signpost_kit.run"), "open_run", lambda *_: run)
    space: dict[str, object] = {}
    for cell in (cell for cell in content["cells"] if cell["cell_type"] == "code"):
        assert cell["outputs"] == [] and cell["execution_count"] is None and len(cell["source"]) <= 10
        tree = ast.parse("".join(cell["source"]))
        assert not any(isinstance(node, ast.FunctionDef | ast.For | ast.While) for node in ast.walk(tree))
        exec(compile(tree, name, "exec"), space)
    for ending in ("csv", "tex", "html"):
        assert (run.tables_dir / f"{name}.{ending}").stat().st_size > 100
    stages = importlib.import_module("signpost_kit.stages")
    needed = {need.lstrip("0123456789_") for need in about["needs"]}
    assert set(run.ensured) == needed <= set(stages.ORDER)
    assert np.isfinite(len(space["table"].rows))  # pyright: ignore[reportAttributeAccessIssue]
