"""One way to do the same thing to many items: here, in threads, in processes, or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from signpost_kit.errors import DataError

__all__ = ["Outcome", "map_items"]


@dataclass(frozen=True)
class Outcome:
    """What became of one item."""

    index: int
    item: Any
    value: Any = None
    """What the function returned; None when it failed."""
    error: str = ""
    """The reason, when it failed."""


def map_items(
    function: Callable[[Any], Any],
    items: Iterable[Any],
    *,
    scheduler: str = "threads",
    workers: int | None = None,
    unit: str = "picture",
    describe: str = "",
    total: int | None = None,
    progress: bool = True,
) -> Iterator[Outcome]:
    """Call `function` on every item and yield the outcomes in the items' order."""

    def one(pair: tuple[int, Any]) -> Outcome:
        index, item = pair
        try:
            return Outcome(index, item, function(item))
        except DataError as error:
            return Outcome(index, item, error=str(error))

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        yield from pool.map(one, enumerate(items))
