"""What the machines of a Dask cluster hold and run. Imported only where `distributed` is installed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from distributed import WorkerPlugin, get_worker

from signpost_kit.mapping.worker import answer

__all__ = ["FunctionPlugin", "perform"]


class FunctionPlugin(WorkerPlugin):
    """Holds the function of one map_items call on every worker, those that join later included."""

    def __init__(self, function: bytes) -> None:
        self._packed = function
        self.function: Callable[[Any], Any] | None = None

    def setup(self, worker: Any) -> None:
        """Load the function, once per worker."""
        self.function = pickle.loads(self._packed)

    def __getstate__(self) -> dict[str, Any]:
        return {"_packed": self._packed, "function": None}


def perform(name: str, payload: bytes) -> bytes:
    """The answer to one packed item, by the function that the plugin `name` holds on this worker."""
    plugin: Any = get_worker().plugins[name]
    return answer(plugin.function, payload)
