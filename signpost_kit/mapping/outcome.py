"""What became of one item, and how an item is called in a message."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

__all__ = ["Outcome", "item_name"]

_LONGEST = 120


@dataclass(frozen=True)
class Outcome:
    """What became of one item."""

    index: int
    """Its place among the items, from 0."""
    item: Any
    value: Any = None
    """What the function returned; None when it failed."""
    error: str = ""
    """The reason, when it failed."""
    kept: bool = False
    """The value comes from an earlier call's journal: the function was not called."""

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return not self.error


def item_name(item: Any) -> str:
    """How a message calls an item: its source_id, group_id or path, else a short repr."""
    for attribute in ("source_id", "group_id"):
        if isinstance(name := getattr(item, attribute, None), str) and name:
            return name
    if isinstance(item, (str, os.PathLike)):
        text = os.fspath(item)
        return text if isinstance(text, str) else repr(text)
    text = repr(item)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
