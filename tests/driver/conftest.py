"""A throwaway project: params/, notebooks/, and notebooks that take no time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

PARAMETERS = 'profile: str = "tiny"  # profile\nrun_dir: str = ""  # folder of the run'
FOLDERS = {"stage": "stages", "figure": "figures", "table": "tables"}

Writer = Callable[..., Path]


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's folder, also the current one, with a profile `tiny` of one model."""
    root = tmp_path / "toy"
    for folder in ("params", "notebooks/stages", "notebooks/figures", "notebooks/tables"):
        (root / folder).mkdir(parents=True)
    (root / "params/tiny.yml").write_text("title: A toy\nsource: {n: 2}\nmodels: [prior]\n", encoding="utf-8")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def write_notebook(toy: Path) -> Writer:
    """`write_notebook("fig01", "1 + 1", needs=["08_scoring"])` puts a notebook where its kind belongs."""

    def write(
        name: str,
        *cells: str,
        kind: str = "figure",
        needs: list[str] | None = None,
        parameters: str | None = PARAMETERS,
    ) -> Path:
        code = [new_code_cell(source) for source in cells]
        if parameters is not None:
            code.insert(0, new_code_cell(parameters, metadata={"tags": ["parameters"]}))
        about = {"title": name, "needs": needs or [], "kind": kind}
        kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
        path = toy / "notebooks" / FOLDERS[kind] / f"{name}.ipynb"
        nbformat.write(new_notebook(cells=code, metadata={"kernelspec": kernel, "signpost": about}), path)
        return path

    return write
