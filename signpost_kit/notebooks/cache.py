"""Which notebooks need not run again: those whose inputs are the same and whose outputs are still there, untouched.

A figure or table depends on its own source, the package's code, the profile, the parameter files, and what the
stages it needs left in the run's folder; a stage notebook on its stage being up to date. `--force` asks nothing of
this.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from signpost_kit.files import hash_file
from signpost_kit.manifest import relative
from signpost_kit.notebooks.graph import Notebook
from signpost_kit.profiles import dump_profile
from signpost_kit.run import Run
from signpost_kit.run_inputs import code_hash, hash_mapping

__all__ = ["Cache", "is_done", "outputs_of", "remove_outputs"]


def outputs_of(run: Run, notebook: Notebook) -> list[Path]:
    """The figures and tables that a notebook has written: files named <id>.* or <id>-*.* in their folders."""
    if notebook.kind == "stage":
        return []
    found: list[Path] = []
    for folder in (run.figures_dir, run.tables_dir):
        for pattern in (f"{notebook.id}.*", f"{notebook.id}[-_]*.*"):
            found += [path for path in folder.glob(pattern) if path.is_file()]
    return sorted(set(found))


def remove_outputs(run: Run, notebook: Notebook) -> None:
    """Remove what an earlier execution wrote, so that a failure never leaves an old figure that looks new."""
    for path in outputs_of(run, notebook):
        path.unlink(missing_ok=True)


def is_done(run: Run, notebook: Notebook) -> bool:
    """Whether the stage that a stage notebook is about is up to date; False if it is about none that is known."""
    return notebook.stage in run.stages and run.is_current(notebook.stage)


class Cache:
    """Answers for one execution, from the manifest of the one before."""

    def __init__(self, run: Run, notebooks: Mapping[str, Notebook], earlier: Mapping[str, Any]) -> None:
        self._run = run
        self._notebooks = notebooks
        self._earlier = {entry["id"]: entry for entry in earlier.get("notebooks", [])}
        params = sorted(path for path in (run.root / "params").rglob("*") if path.is_file())
        self._params = {relative(path, run): hash_file(path) for path in params}

    def earlier(self, notebook: Notebook) -> dict[str, Any] | None:
        """What the manifest says of the notebook's last execution."""
        return self._earlier.get(notebook.id)

    def key(self, notebook: Notebook) -> str:
        """Hash of everything that the notebook's results depend on, as it is now."""
        run = self._run
        parts: dict[str, Any] = {"source": notebook.source_hash, "code": code_hash(faces=True)}
        if notebook.kind != "stage":  # whether a stage is up to date is asked of the run itself
            parts["profile"] = dump_profile(run.profile, run.root)
            parts["params"] = self._params
            files = self._inputs(notebook)
            parts["inputs"] = {relative(path, run): hash_file(path) for path in files if path.is_file()}
        return hash_mapping(parts)

    def is_fresh(self, notebook: Notebook, key: str) -> bool:
        """Whether the last execution still stands."""
        entry = self.earlier(notebook)
        if entry is None or entry.get("status") not in ("ok", "cached") or entry.get("key") != key:
            return False
        if not (self._run.dir / "notebooks" / f"{notebook.id}.ipynb").is_file():
            return False
        if not all(is_done(self._run, n) for n in (notebook, *self._needs(notebook)) if n.stage):
            return False
        if notebook.kind == "stage":
            return True
        outputs = entry.get("outputs") or {}
        present = {relative(path, self._run): hash_file(path) for path in outputs_of(self._run, notebook)}
        return bool(outputs) and present == outputs

    def _inputs(self, notebook: Notebook) -> list[Path]:
        """What the stages that a figure or table needs have left behind, and those before them."""
        run = self._run
        needed = [run.stages.index(n.stage) for n in self._needs(notebook) if n.stage in run.stages]
        if not needed:
            return []
        files = [run.dir / "benchmark" / "groups.jsonl"]
        for stage in run.stages[: max(needed) + 1]:
            files.append(run.dir / "stages" / f"{stage}.json")
            files += [run.dir / str(name) for name in (run.stage_record(stage) or {}).get("outputs", [])]
        return files

    def _needs(self, notebook: Notebook) -> list[Notebook]:
        return [self._notebooks[need] for need in notebook.needs if need in self._notebooks]
