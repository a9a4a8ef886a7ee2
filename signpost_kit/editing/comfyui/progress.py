"""One line that shows what each server is doing."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signpost_kit.editing.comfyui.server import Server

__all__ = ["ServersLine"]

_EVERY_S = 0.3


class ServersLine:
    """Drawn below the bar of pictures, on a terminal (or when asked for).

    Parameters
    ----------
    shown
        True or False; None: only on a terminal.
    """

    def __init__(self, *, shown: bool | None = None) -> None:
        self.done = 0
        """Edits that were finished."""
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._bar: Any = None
        self._lock = threading.Lock()
        self._last = 0.0

    def draw(self, servers: Iterable[tuple[Server, bool, int]]) -> None:
        """Show (server, whether it is up, jobs on it); drawn a few times a second at most."""
        if not self._shown:
            return
        now = time.monotonic()
        with self._lock:
            if now - self._last < _EVERY_S:
                return
            self._last = now
            if self._bar is None:
                self._bar = _bar()
            parts = [describe(server.name, up, busy, server.listener.furthest()) for server, up, busy in servers]
            self._bar.set_description_str(f"  {self.done} edits; " + " · ".join(parts))

    def close(self) -> None:
        """Take the line away."""
        with self._lock:
            self._shown = False
            if self._bar is not None:
                self._bar.close()


def describe(name: str, up: bool, busy: int, steps: tuple[int, int]) -> str:
    """What one server does, in a few words."""
    if not up:
        return f"{name}: away"
    if not busy:
        return f"{name}: idle"
    return f"{name}: step {steps[0]}/{steps[1]}" if steps[1] else f"{name}: busy"


def _bar() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    return tqdm(total=0, bar_format="{desc}", position=1, leave=False, mininterval=0)
