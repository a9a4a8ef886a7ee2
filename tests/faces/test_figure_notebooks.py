"""Figure and table notebooks: no logic, no outputs, the driver's metadata, one figure or table each."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

FIGURES = {"fig01", "fig03", "fig12", "fig13", "fig16", "fig17", "variants", "answers_map", "coverage"}
TABLES = {"tab01", "tab08", "tab13"}


@pytest.mark.parametrize("name", sorted(FIGURES | TABLES))
def test_notebook_is_thin_and_clean(project: Path, name: str) -> None:
    kind = "figure" if name in FIGURES else "table"
    content = json.loads((project / "notebooks" / f"{kind}s" / f"{name}.ipynb").read_text(encoding="utf-8"))
    about = content["metadata"]["signpost"]
    assert about["kind"] == kind and about["title"] and about["needs"]
    assert content["metadata"]["kernelspec"]["name"] == "python3"
    assert content["cells"][0]["cell_type"] == "markdown" and "**How to read it.**" in "".join(
        content["cells"][0]["source"]
    )
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert [cell["metadata"].get("tags") for cell in code] == [["parameters"]] + [None] * (len(code) - 1)
    for cell in code:
        tree = ast.parse("".join(cell["source"]))
        assert cell["outputs"] == [] and cell["execution_count"] is None
        assert len(cell["source"]) <= 10
        assert not any(isinstance(n, (ast.FunctionDef, ast.For, ast.While, ast.ClassDef)) for n in ast.walk(tree))
    lines = [line for line in code[0]["source"] if line.strip()]
    assert all("  # " in line and ": " in line for line in lines)
    assert lines[0].startswith('profile: str = "tiny"') and lines[1].startswith('run_dir: str = ""')
    saved = "".join(code[-1]["source"])
    assert f'save(figure, run, "{name}")' in saved if kind == "figure" else "save_table(table, run)" in saved
