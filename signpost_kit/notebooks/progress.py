"""What the driver shows while it works: a line per finished notebook, and a bar with what runs and what is left."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TextIO

__all__ = ["Display"]

_MARKS = {"ok": "done", "cached": "kept", "failed": "FAILED", "skipped": "skipped", "interrupted": "stopped"}


class Display:
    """A bar on a terminal, plain lines elsewhere, nothing when `quiet`."""

    def __init__(self, total: int, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        from tqdm import tqdm

        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._done = 0
        self._total = total
        on_terminal = not quiet and self._stream.isatty()
        # The bar has no thread of its own: workers are forked while it is shown.
        tqdm.monitor_interval = 0
        self._bar = tqdm(
            total=total,
            disable=not on_terminal,
            file=self._stream,
            leave=False,
            dynamic_ncols=True,
            bar_format="{n_fmt}/{total_fmt} |{bar:20}| {elapsed}{postfix}",
        )

    def running(self, lines: Mapping[str, str]) -> None:
        """Show what is at work, each with the last line of its own progress."""
        parts = [f"{name} ({line})" if line else name for name, line in lines.items()]
        self._bar.set_postfix_str(f"running {'; '.join(parts)}" if parts else "")

    def finished(self, entry: Mapping[str, Any]) -> None:
        """Count one notebook and say how it went."""
        self._done += 1
        self._bar.update(1)
        status = entry["status"]
        seconds = f"{entry['seconds']:6.1f} s" if status in ("ok", "failed") else " " * 8
        detail = f"  {entry['message']}" if entry.get("message") else ""
        self._line(f"[{self._done:2}/{self._total}] {_MARKS[status]:7} {seconds}  {entry['id']}{detail}")

    def close(self) -> None:
        """Take the bar away."""
        self._bar.close()

    def _line(self, text: str) -> None:
        if self._quiet:
            return
        if self._bar.disable:
            print(text, file=self._stream, flush=True)
        else:
            self._bar.write(text, file=self._stream)
