"""The graph of notebooks: what is wrong with one is said before anything starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from signpost_kit.errors import ConfigError
from signpost_kit.notebooks.graph import about_studies, check_parameters, discover, order, read_notebook, select


def test_discover_reads_ids_kinds_needs_and_defaults(toy: Path, write_notebook) -> None:
    write_notebook("01_sources", kind="stage")
    write_notebook(
        "fig01", needs=["01_sources"], parameters='profile: str = "x"  # p\nn: int = -3  # n\nl = [1, 2]'
    )
    write_notebook("tab01", kind="table", needs=["01_sources"])
    (toy / "notebooks/figures/.ipynb_checkpoints").mkdir()
    found = discover(toy)
    assert list(found) == ["01_sources", "fig01", "tab01"]
    assert found["fig01"].parameters == {"profile": "x", "n": -3, "l": [1, 2]}
    assert (found["01_sources"].stage, found["fig01"].stage) == ("sources", "")
    assert order(found)[0] == "01_sources"


def test_select(toy: Path, write_notebook) -> None:
    write_notebook("07_evaluation", kind="stage")
    write_notebook("fig01")
    write_notebook("fig02")
    write_notebook("tab01", kind="table")
    found = discover(toy)
    assert list(select(found)) == ["07_evaluation", "fig01", "fig02", "tab01"]
    assert list(select(found, "tables,fig02")) == ["fig02", "tab01"]
    assert list(select(found, "evaluation")) == ["07_evaluation"]
    assert list(select(found, ["figure"])) == ["fig01", "fig02"]
    with pytest.raises(ConfigError, match="unknown notebook 'fig10': did you mean 'fig0.' or 'fig0.'"):
        select(found, "fig10")
    with pytest.raises(ConfigError, match="nothing selected"):
        select(found, " , ")


def test_circles_and_unknown_needs_are_named(toy: Path, write_notebook) -> None:
    write_notebook("fig01", needs=["fig02"])
    with pytest.raises(ConfigError, match=r"fig01\.ipynb needs unknown notebook 'fig02'"):
        discover(toy)
    write_notebook("fig02", needs=["fig03"])
    write_notebook("fig03", needs=["fig01"])
    with pytest.raises(ConfigError, match="in a circle: fig0. -> fig0. -> fig0. -> fig0."):
        discover(toy)


def test_two_notebooks_of_one_name(toy: Path, write_notebook) -> None:
    write_notebook("same", kind="figure")
    write_notebook("same", kind="table")
    with pytest.raises(ConfigError, match="two notebooks are called 'same'"):
        discover(toy)


def test_an_empty_project(toy: Path) -> None:
    with pytest.raises(ConfigError, match="no notebooks in"):
        discover(toy)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        (None, "0 cells tagged `parameters`"),
        ("x: int = 1 +", "is not Python"),
        ("x: int", "not `name: type = value`"),
        ("import os", "not `name: type = value`"),
        ("import os\nx = os.environ['KEY']", "not `name: type = value`"),
        ("x: int = int('3')", "'x' must be a literal"),
    ],
)
def test_a_wrong_parameters_cell(toy: Path, write_notebook, parameters: str | None, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        read_notebook(write_notebook("fig01", parameters=parameters))
    assert "fig01.ipynb" in str(caught.value)


def test_wrong_files(toy: Path, write_notebook) -> None:
    path = write_notebook("fig01")
    content = json.loads(path.read_text())
    path.write_text("{")
    with pytest.raises(ConfigError, match="is not a notebook"):
        read_notebook(path)
    for about in (None, {"kind": "picture"}, {"kind": "figure", "needs": "x"}):
        content["metadata"]["signpost"] = about
        path.write_text(json.dumps(content))
        with pytest.raises(ConfigError, match='"signpost"'):
            read_notebook(path)


def test_parameters_are_checked_where_papermill_would_only_warn(toy: Path, write_notebook) -> None:
    notebook = read_notebook(write_notebook("fig01"))
    check_parameters(notebook, {"profile": "demo", "run_dir": ""})
    with pytest.raises(ConfigError, match="no parameter 'runs_dir': did you mean 'run_dir'"):
        check_parameters(notebook, {"runs_dir": ""})
    for value in (Path("x"), (1, 2), {"a": 1}, [Path("x")]):
        with pytest.raises(ConfigError, match="must be a text, a number"):
            check_parameters(notebook, {"profile": value})


def test_the_hash_notices_code_and_not_outputs(toy: Path, write_notebook) -> None:
    path = write_notebook("fig01", "1 + 1")
    before = read_notebook(path).source_hash
    content = json.loads(path.read_text())
    content["cells"][1]["execution_count"] = 7
    path.write_text(json.dumps(content))
    assert read_notebook(path).source_hash == before
    content["cells"][1]["source"] = "1 + 2"
    path.write_text(json.dumps(content))
    assert read_notebook(path).source_hash != before


def test_notebooks_of_a_study_and_what_they_need(toy: Path, write_notebook) -> None:
    for name, study, needs in (
        ("01_sources", None, []),
        ("fig01", None, ["01_sources"]),
        ("02_ladder", "geocontext", ["01_sources"]),
        ("fig_echo", "geocontext", ["02_ladder"]),
        ("coverage", "both", []),
    ):
        kind = "stage" if name[0] == "0" else "figure"
        path = write_notebook(name, kind=kind, needs=needs)
        content = json.loads(path.read_text())
        if study:
            content["metadata"]["signpost"]["study"] = study
        path.write_text(json.dumps(content))
    found = discover(toy)
    assert set(about_studies(found, ["signpost"])) == {"01_sources", "fig01", "coverage"}
    assert set(about_studies(found, ["geocontext"])) == {"01_sources", "02_ladder", "fig_echo", "coverage"}
    assert set(about_studies(found, ["signpost", "geocontext"])) == set(found)
    content = json.loads(found["fig01"].path.read_text())
    content["metadata"]["signpost"]["study"] = "other"
    found["fig01"].path.write_text(json.dumps(content))
    with pytest.raises(ConfigError, match='"study" must be one of signpost, geocontext, both'):
        discover(toy)
