"""The project's own files agree with each other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    tomllib = pytest.importorskip("tomli")


def _pyproject(project: Path) -> dict:
    return tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))


def test_environment_yml_has_the_names_and_bounds_of_pyproject(project: Path) -> None:
    conda = yaml.safe_load((project / "environment.yml").read_text(encoding="utf-8"))
    pip = next(d["pip"] for d in conda["dependencies"] if isinstance(d, dict))
    plain = [d for d in conda["dependencies"] if isinstance(d, str)]
    listed = sorted(d for d in plain + pip if d not in ("pip", "-e .") and not d.startswith("python>="))
    meta = _pyproject(project)["project"]
    assert listed == sorted(meta["dependencies"])
    assert f"python{meta['requires-python']}" in plain


def test_extras_are_the_ones_the_readme_promises(project: Path) -> None:
    assert {"easyocr", "dask", "test", "dev"} <= set(_pyproject(project)["project"]["optional-dependencies"])


def test_ci_calls_the_readmes_test_command(project: Path) -> None:
    assert re.search(r"^make test$", (project / ".ci/run").read_text(encoding="utf-8"), re.M)
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme and "make test" in readme


def test_importing_the_package_is_cheap() -> None:
    heavy = [
        "torch",
        "matplotlib",
        "seaborn",
        "openai",
        "anthropic",
        "google.genai",
        "sklearn",
        "cv2",
        "onnxruntime",
    ]
    code = (
        "import sys, signpost_kit, signpost_kit.benchmark, signpost_kit.metrics, signpost_kit.models, "
        "signpost_kit.evaluation, signpost_kit.parsing, signpost_kit.stats, signpost_kit.cli; "
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def _notebooks(project: Path) -> list[Path]:
    found = sorted((project / "notebooks").rglob("*.ipynb"))
    return [p for p in found if ".ipynb_checkpoints" not in p.parts]


def test_notebooks_are_committed_clean(project: Path) -> None:
    paths = _notebooks(project)
    assert len(paths) >= 17
    for path in paths:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        code = [c for c in notebook["cells"] if c["cell_type"] == "code"]
        assert all(not c["outputs"] and c["execution_count"] is None for c in code), f"{path.name} holds outputs"
        tagged = [c for c in code if "parameters" in c["metadata"].get("tags", [])]
        assert len(tagged) == 1, f"{path.name} needs exactly one cell tagged parameters"
        for line in "".join(tagged[0]["source"]).splitlines():
            assert re.fullmatch(r"\w+: [\w\[\]| .]+ = .+  # .+", line), f"{path.name}: {line!r}"
        for cell in code:
            source = "".join(cell["source"])
            assert len(source.splitlines()) <= 12, f"{path.name}: a long cell; logic belongs in the package"
            assert not re.search(r"^\s*(def|class) ", source, re.M), f"{path.name} defines something"
        assert notebook["metadata"]["kernelspec"]["name"] == "python3"
        assert {"title", "needs", "kind"} <= set(notebook["metadata"]["signpost"])


def test_no_machine_path_or_registry_address_is_committed(project: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=project, capture_output=True, text=True, check=False).stdout
    bad = re.compile(
        "index-" + r"url\s*=?\s*https?:|find-" + r"links\s*=?\s*https?:|" + re.escape(str(project)) + "/"
    )
    suffixes = {".py", ".md", ".toml", ".yml", ".txt", ".ipynb", ".sh", ".csv", ""}
    names = [project / name for name in listed.splitlines()]
    for path in (p for p in names if p.suffix in suffixes and p.is_file() and p.stat().st_size < 1_000_000):
        match = bad.search(path.read_text(encoding="utf-8", errors="ignore"))
        assert match is None, f"{path} names {match.group(0)}"


def test_ruff_is_clean(project: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=project, capture_output=True, text=True, check=False).stdout
    names = [
        name for name in listed.splitlines() if name.endswith((".py", ".ipynb")) and (project / name).is_file()
    ]
    assert len(names) > 100
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *names],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-500:]
