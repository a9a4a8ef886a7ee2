"""The notebooks of the prompt cards, samples and figures beyond the paper: thin, clean, well described."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from signpost_kit.report_outputs import described

CARDS = tuple(f"fig{i:02d}" for i in range(5, 12))
NAMES = (*CARDS, "fig14", "fig15", "error_cdf", "arcs", "harm", "agreement", "cost")


@pytest.mark.parametrize("name", NAMES)
def test_notebook_is_thin_and_clean(project: Path, name: str) -> None:
    content = json.loads((project / "notebooks" / "figures" / f"{name}.ipynb").read_text(encoding="utf-8"))
    about = content["metadata"]["signpost"]
    assert about["kind"] == "figure" and about["title"]
    assert about["needs"] == ([] if name in CARDS else ["08_scoring"])
    assert content["metadata"]["kernelspec"]["name"] == "python3"
    assert "**How to read it.**" in "".join(content["cells"][0]["source"])
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert [cell["metadata"].get("tags") for cell in code] == [["parameters"]] + [None] * (len(code) - 1)
    for cell in code:
        tree = ast.parse("".join(cell["source"]))
        assert cell["outputs"] == [] and cell["execution_count"] is None and len(cell["source"]) <= 10
        assert not any(isinstance(n, (ast.FunctionDef, ast.For, ast.While, ast.ClassDef)) for n in ast.walk(tree))
        assert all(len(line.rstrip("\n")) <= 116 for line in cell["source"])
    lines = [line for line in code[0]["source"] if line.strip()]
    assert all("  # " in line and ": " in line for line in lines)
    assert lines[0].startswith('profile: str = "tiny"') and lines[1].startswith('run_dir: str = ""')
    assert f'save(figure, run, "{name}")' in "".join(code[-1]["source"])


def test_the_report_has_a_title_and_a_legend_for_each(project: Path) -> None:
    found = {item.id: item for item in described(project, ["signpost"])}
    for name in NAMES:
        assert len(found[name].title) < 60 and not re.search(r"[*_`#]", found[name].title)
        assert 80 < len(found[name].text) < 600, name
    assert len({found[name].text for name in NAMES}) == len(NAMES)
