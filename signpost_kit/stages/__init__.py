"""The stages of a run, in order: eight of SIGNPOST-Bench, its further tasks and analysis, and those of GeoContext.

`STAGES[name](run)` does the work of one stage and records what it did; :meth:`signpost_kit.run.Run.ensure`
decides which of them have to run. A stage may be killed at any moment: run it again and it goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["NEEDS", "ORDER", "STAGES"]

ORDER: tuple[str, ...] = (
    "sources",
    "screening",
    "taxonomy",
    "replacements",
    "targets",
    "synthesis",
    "evaluation",
    "scoring",
    "probing",
    "defense",
    "cross_task",
    "analysis",
    "ladder",
    "hints",
    "claims",
    "context_scoring",
)
NEEDS: dict[str, tuple[str, ...]] = {
    "sources": (),
    "screening": ("sources",),
    "taxonomy": ("screening",),
    "replacements": ("taxonomy",),
    "targets": ("replacements",),
    "synthesis": ("targets",),
    "evaluation": ("synthesis",),
    "scoring": ("evaluation",),
    "probing": ("synthesis",),
    "defense": ("synthesis",),
    "cross_task": ("synthesis",),
    "analysis": ("scoring", "probing", "defense", "cross_task"),
    "ladder": ("sources",),
    "hints": ("ladder",),
    "claims": ("ladder",),
    "context_scoring": ("hints", "claims"),
}
"""What must be done before a stage; ORDER lists every stage after all that it needs."""
_MODULES = {
    "sources": "sources",
    "screening": "screening",
    "taxonomy": "taxonomy",
    "replacements": "replacements",
    "targets": "targets",
    "synthesis": "synthesis",
    "evaluation": "measurement",
    "scoring": "measurement",
    "probing": "tasks",
    "defense": "tasks",
    "cross_task": "tasks",
    "analysis": "analysis",
    "ladder": "ladder",
    "hints": "hints",
    "claims": "claims",
    "context_scoring": "context_scoring",
}


def _lazily(name: str) -> Callable[[Run], None]:
    def call(run: Run) -> None:
        getattr(import_module(f"signpost_kit.stages.{_MODULES[name]}"), name)(run)

    call.__name__ = name
    return call


STAGES: dict[str, Callable[[Run], None]] = {name: _lazily(name) for name in ORDER}
