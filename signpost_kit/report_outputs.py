"""What the report says of figures and tables: titles and legends stand in the notebooks that draw them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from signpost_kit.errors import ConfigError
from signpost_kit.notebooks.graph import Notebook, about_studies, discover

__all__ = ["HEADINGS", "Described", "described", "grouped"]

HEADINGS = {"signpost": "SIGNPOST-Bench", "geocontext": "GeoContext", "both": ""}
"""Study -> heading; what is about both stands with the first."""
_FIRST = ("fig01", "fig03", "fig12", "fig13", "fig16", "fig17", "variants", "answers_map", "coverage")


@dataclass(frozen=True)
class Described:
    """One figure or table that a run can have."""

    id: str
    kind: str
    title: str
    text: str
    """Its legend; may be empty."""
    study: str


def described(root: Path, studies: Iterable[str]) -> list[Described]:
    """Figures and tables of the studies, in the order in which a reader wants them; [] without sound notebooks."""
    try:
        notebooks = about_studies(discover(root), studies)
    except ConfigError:
        return []
    found = [_describe(n) for n in notebooks.values() if n.kind in ("figure", "table")]
    return sorted(found, key=_place)


def _describe(notebook: Notebook) -> Described:
    study = "signpost" if notebook.study == "both" else notebook.study
    return Described(notebook.id, notebook.kind, notebook.title, _legend(notebook.path), study)


def _legend(path: Path) -> str:
    """The first paragraph below the heading of a notebook."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return ""
    parts = [part.strip() for part in re.split(r"\n\s*\n", text) if not part.lstrip().startswith("#")]
    plain = re.sub(r"[*_`]{1,2}(\S(?:.*?\S)?)[*_`]{1,2}", r"\1", parts[0]) if parts else ""
    return " ".join(plain.split())


def _place(item: Described) -> tuple[object, ...]:
    """By study; the main figures first, then the study's own numbers (fig04, tab13), then the others by name."""
    first = _FIRST.index(item.id) if item.id in _FIRST else len(_FIRST)
    numbered = re.fullmatch(r"(?:fig|tab)(\d+)", item.id)
    return list(HEADINGS).index(item.study), first, int(numbered[1]) if numbered else 999, item.id


def grouped(items: Iterable[Mapping[str, object]]) -> list[tuple[str, list[Mapping[str, object]]]]:
    """Items under the heading of their study, in order; one heading is none."""
    groups: dict[str, list[Mapping[str, object]]] = {}
    for item in items:
        groups.setdefault(HEADINGS.get(str(item.get("study")), ""), []).append(item)
    return list(groups.items()) if len(groups) > 1 else [("", [item for part in groups.values() for item in part])]
