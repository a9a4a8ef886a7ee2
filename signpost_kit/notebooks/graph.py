"""The graph of notebooks: what there is, what each needs and takes, and which of them to run.

Every notebook says in its metadata {"signpost": {"title": ..., "needs": [ids], "kind": "stage"|"figure"|"table"}}
(and "study": "geocontext" or "both", if it is not about SIGNPOST-Bench alone)
and has one code cell tagged `parameters` that holds literals only.
"""

from __future__ import annotations

import ast
import difflib
import graphlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from signpost_kit.errors import ConfigError
from signpost_kit.files import hash_bytes

__all__ = [
    "KINDS",
    "STUDIES",
    "Notebook",
    "about_studies",
    "check_parameters",
    "discover",
    "order",
    "read_notebook",
    "select",
]

STUDIES = ("signpost", "geocontext", "both")
KINDS: dict[str, str] = {"stage": "stages", "figure": "figures", "table": "tables"}
"""Kind -> folder below notebooks/."""


@dataclass(frozen=True)
class Notebook:
    """One notebook as it lies on disk."""

    id: str
    """The file's name without .ipynb."""
    path: Path
    kind: str
    title: str
    needs: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    """Name -> default value."""
    source_hash: str = ""
    study: str = "signpost"
    """What it is about: `signpost`, `geocontext`, or `both`."""

    @property
    def stage(self) -> str:
        """The stage that a stage notebook is about: `07_evaluation` -> `evaluation`; else ""."""
        return self.id.lstrip("0123456789_") if self.kind == "stage" else ""


def discover(root: Path) -> dict[str, Notebook]:
    """Every notebook below `root`/notebooks, by id, in the order stages, figures, tables.

    Raises
    ------
    ConfigError
        None found; one is damaged, lacks its metadata or its `parameters` cell; two have one id; a need is
        unknown; needs go round in a circle.
    """
    found: dict[str, Notebook] = {}
    for folder in KINDS.values():
        for path in sorted((root / "notebooks" / folder).glob("*.ipynb")):
            notebook = read_notebook(path)
            if notebook.id in found:
                other = found[notebook.id].path
                raise ConfigError(f"two notebooks are called {notebook.id!r}: {other} and {path}; rename one")
            found[notebook.id] = notebook
    if not found:
        raise ConfigError(
            f"no notebooks in {root / 'notebooks'}/{{stages,figures,tables}}: run in the project's folder"
        )
    for notebook in found.values():
        for need in notebook.needs:
            if need not in found:
                raise ConfigError(f"{notebook.path} needs {_unknown(need, found)}")
    order(found)
    return found


def read_notebook(path: Path) -> Notebook:
    """Read one notebook's metadata and parameters.

    Raises
    ------
    ConfigError
        Not a notebook; metadata or the `parameters` cell is missing or wrong.
    """
    data = path.read_bytes()
    try:
        content = json.loads(data)
        cells = content["cells"]
        about = content["metadata"].get("signpost")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} is not a notebook ({error}): restore it, e.g. with git checkout") from error
    if not isinstance(about, dict) or about.get("kind") not in KINDS:
        raise ConfigError(
            f'{path} lacks metadata "signpost" with "title", "needs" and "kind" ({", ".join(KINDS)}): '
            "add it under Property Inspector > Notebook metadata"
        )
    study = about.get("study", "signpost")
    if study not in STUDIES:
        raise ConfigError(f'{path}: metadata "signpost"."study" must be one of {", ".join(STUDIES)}, got {study!r}')
    needs = about.get("needs", [])
    if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
        raise ConfigError(f'{path}: metadata "signpost"."needs" must be a list of notebook ids, got {needs!r}')
    return Notebook(
        id=path.stem,
        path=path,
        kind=about["kind"],
        title=str(about.get("title", path.stem)),
        needs=tuple(needs),
        parameters=_parameters(path, cells),
        source_hash=hash_bytes(_substance(content)),
        study=study,
    )


def order(notebooks: Mapping[str, Notebook]) -> list[str]:
    """Ids so that each comes after what it needs; needs outside `notebooks` count as met.

    Raises
    ------
    ConfigError
        Needs go round in a circle, which is named.
    """
    graph = {n.id: [need for need in n.needs if need in notebooks] for n in notebooks.values()}
    try:
        return list(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise ConfigError(f"the notebooks need each other in a circle: {circle}; drop one need") from error


def select(notebooks: Mapping[str, Notebook], only: str | Iterable[str] | None = None) -> dict[str, Notebook]:
    """The notebooks named by `only`: ids, stage names, or `stages`, `figures`, `tables`; None selects all.

    Raises
    ------
    ConfigError
        A name is unknown.
    """
    if only is None:
        return dict(notebooks)
    names = only.split(",") if isinstance(only, str) else list(only)
    chosen: set[str] = set()
    for name in (n.strip() for n in names):
        if not name:
            continue
        kinds = {folder: kind for kind, folder in KINDS.items()} | {kind: kind for kind in KINDS}
        if name in kinds:
            matching = {n.id for n in notebooks.values() if n.kind == kinds[name]}
        else:
            matching = {n.id for n in notebooks.values() if name in (n.id, n.stage, n.path.name)}
            if not matching:
                raise ConfigError(_unknown(name, notebooks))
        chosen |= matching
    if not chosen:
        raise ConfigError(f"nothing selected: name {', '.join(KINDS.values())} or some of {', '.join(notebooks)}")
    return {key: value for key, value in notebooks.items() if key in chosen}


def about_studies(notebooks: Mapping[str, Notebook], studies: Iterable[str]) -> dict[str, Notebook]:
    """The notebooks that are about one of `studies`, and all that these need."""
    wanted = {*studies, "both"}
    chosen = {n.id for n in notebooks.values() if n.study in wanted}
    waiting = list(chosen)
    while waiting:
        new = {need for need in notebooks[waiting.pop()].needs if need in notebooks} - chosen
        chosen |= new
        waiting += new
    return {key: value for key, value in notebooks.items() if key in chosen}


def check_parameters(notebook: Notebook, parameters: Mapping[str, Any]) -> None:
    """Refuse a parameter that the notebook does not have (papermill would only warn) or cannot hold.

    Raises
    ------
    ConfigError
        An unknown name, or a value that is not a scalar or a list of scalars (papermill would change it).
    """
    for name, value in parameters.items():
        if name not in notebook.parameters:
            close = difflib.get_close_matches(name, notebook.parameters, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            have = ", ".join(notebook.parameters) or "none"
            raise ConfigError(f"{notebook.path} has no parameter {name!r}: {hint}it has: {have}")
        flat = value if isinstance(value, list) else [value]
        if not all(item is None or isinstance(item, bool | int | float | str) for item in flat):
            raise ConfigError(
                f"the parameter {name!r} of {notebook.id} must be a text, a number, true or false, or a list of "
                f"them, got {value!r}"
            )


def _parameters(path: Path, cells: list[dict[str, Any]]) -> dict[str, Any]:
    tagged = [c for c in cells if "parameters" in c.get("metadata", {}).get("tags", [])]
    if len(tagged) != 1:
        raise ConfigError(
            f"{path} has {len(tagged)} cells tagged `parameters`, it needs one "
            "(formatters have dropped the tag: add it under Property Inspector > Cell tags)"
        )
    text = "".join(tagged[0]["source"])
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise ConfigError(f"{path}: the `parameters` cell is not Python (line {error.lineno})") from error
    out: dict[str, Any] = {}
    for statement in body:
        target = statement.target if isinstance(statement, ast.AnnAssign) else None
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
        value = getattr(statement, "value", None)
        if not isinstance(target, ast.Name) or value is None:
            raise ConfigError(
                f"{path}: line {statement.lineno} of the `parameters` cell is not `name: type = value`"
            )
        try:
            out[target.id] = ast.literal_eval(value)
        except ValueError as error:
            raise ConfigError(f"{path}: the parameter {target.id!r} must be a literal") from error
    return out


def _substance(content: Mapping[str, Any]) -> bytes:
    """What makes a difference when a notebook runs: its cells' type and source, and its metadata for the driver."""
    cells = [[c.get("cell_type"), "".join(c.get("source", ""))] for c in content["cells"]]
    return json.dumps([cells, content["metadata"].get("signpost")], sort_keys=True).encode()


def _unknown(name: str, notebooks: Iterable[str]) -> str:
    names = list(notebooks)
    close = difflib.get_close_matches(name, names, n=2, cutoff=0.5)
    hint = f"did you mean {' or '.join(repr(c) for c in close)}? " if close else ""
    return f"unknown notebook {name!r}: {hint}known: {', '.join([*KINDS.values(), *names])}"
