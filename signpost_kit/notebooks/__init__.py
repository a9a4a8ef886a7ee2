"""The driver of notebooks: their graph, the processes that execute them, and what need not run again.

    from signpost_kit.notebooks import run_notebooks

papermill is imported in the processes that execute notebooks, not here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signpost_kit.notebooks.driver import Summary, run_notebooks
    from signpost_kit.notebooks.graph import Notebook, discover

__all__ = ["Notebook", "Summary", "discover", "run_notebooks"]

_HOMES = {"Summary": "driver", "run_notebooks": "driver", "Notebook": "graph", "discover": "graph"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
