"""How an evaluation is going: counts that the runner updates, and a bar or plain lines that show them."""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TextIO

__all__ = ["Progress", "Tally"]

_LINE_EVERY_S = 10.0


@dataclass
class Tally:
    """Counts of one run of asking. Rows are (model, group, variant, sample); a question may answer several rows."""

    total: int = 0
    """Questions to ask."""
    done: int = 0
    """Questions answered or failed, and stored."""
    asked: int = 0
    """Questions put to models, and stored."""
    asked_rows: int = 0
    reused_rows: int = 0
    """Rows whose answer another process stored meanwhile."""
    statuses: Counter[str] = field(default_factory=Counter)
    """Of the rows that were asked or reused."""
    attempts: int = 0
    stopped: dict[str, str] = field(default_factory=dict)
    """Model -> why it is not asked any further."""
    pools: dict[str, list[int]] = field(default_factory=dict)
    """Pool -> [questions left, questions done]."""
    left: Counter[str] = field(default_factory=Counter)
    """Model -> questions left."""
    spent: dict[str, list[float]] = field(default_factory=dict)
    """Model -> [US dollars, questions asked and settled]."""
    most_usd: float | None = None
    """What may be spent; None: no limit."""
    batched: Counter[str] = field(default_factory=Counter)
    """Model -> questions that are under way in batches at its provider."""

    @property
    def cost_usd(self) -> float:
        """What was spent in this run of asking, as far as prices are known; cut-off answers are counted too."""
        return sum(usd for usd, _ in self.spent.values())

    def expect(self, pool: str, questions: Counter[str]) -> None:
        """So many questions of each model are to be asked in a pool."""
        self.total += sum(questions.values())
        self.left.update(questions)
        self.pools.setdefault(pool, [0, 0])[0] += sum(questions.values())

    def spend(self, model: str, usd: float) -> None:
        """An answer came back, and this is its price."""
        self.spent.setdefault(model, [0.0, 0])[0] += usd

    def count(self, pool: str, model: str, status: str, rows: int, attempts: int) -> None:
        """One question was asked, and its reply is stored."""
        self.asked += 1
        self.asked_rows += rows
        self.statuses[status] += rows
        self.attempts += attempts
        self.spent.setdefault(model, [0.0, 0])[1] += 1
        self._finish(pool, model)

    def reuse(self, pool: str, model: str, status: str, rows: int) -> None:
        """One question needed no asking after all: another process stored its reply meanwhile."""
        self.reused_rows += rows
        self.statuses[status] += rows
        self._finish(pool, model)

    def skip(self, pool: str, model: str) -> None:
        """One question of a pool will not be asked."""
        self.total -= 1
        self.left[model] -= 1
        self.pools[pool][0] -= 1

    def to_spend_usd(self) -> float:
        """What the questions that are left will cost, each as much as its model's took on average up to now."""
        return sum(usd / n * self.left[model] for model, (usd, n) in self.spent.items() if n and usd)

    def _finish(self, pool: str, model: str) -> None:
        self.done += 1
        self.left[model] -= 1
        self.pools[pool][0] -= 1
        self.pools[pool][1] += 1

    def line(self, seconds: float) -> str:
        """Rate, time left (of the slowest pool), failures, money spent and still to spend, in one line."""
        parts = [f"{self.done / seconds:.1f}/s" if seconds > 0 and self.done else "-/s", self._left(seconds)]
        bad = Counter({status: n for status, n in self.statuses.items() if status != "ok" and n})
        listed = ", ".join(f"{n} {status}" for status, n in bad.most_common())
        parts.append(f"failed {sum(bad.values())}" + (f" ({listed})" if listed else ""))
        if self.cost_usd or self.most_usd is not None:
            parts.append(self._money())
        if batched := sum(self.batched.values()):
            parts.append(f"{batched} in batches")
        if self.stopped:
            parts.append(f"stopped: {', '.join(self.stopped)}")
        return ", ".join(parts)

    def _money(self) -> str:
        text = f"${self.cost_usd:.4f}" + (f" of ${self.most_usd:g}" if self.most_usd is not None else "")
        left = self.to_spend_usd()
        return text + (f", ~${left:.2g} to go" if left else "")

    def _left(self, seconds: float) -> str:
        waits = [seconds * left / done if done else None for left, done in self.pools.values() if left > 0]
        if not waits:
            return "0:00 left"
        if any(wait is None for wait in waits):
            return "? left"
        longest = round(max(wait for wait in waits if wait is not None))
        hours, rest = divmod(longest, 3600)
        return f"{hours}:{rest // 60:02d}:{rest % 60:02d} left" if hours else f"{rest // 60}:{rest % 60:02d} left"


class Progress:
    """Shows a tally: a bar on a terminal (or when asked for), else a line about every ten seconds.

    Parameters
    ----------
    shown
        True: a bar. False: nothing. None: a bar on a terminal, else lines.
    """

    def __init__(
        self,
        label: str,
        tally: Tally,
        *,
        shown: bool | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._label, self._tally, self._clock = label, tally, clock
        self._stream = stream or sys.stderr
        self._start = self._last = clock()
        self._lines = shown is None and not self._stream.isatty()
        self._bar = self._make_bar() if shown or (shown is None and not self._lines) else None

    def refresh(self) -> None:
        """Show the counts as they are now; called often, draws seldom."""
        now = self._clock()
        text = self._tally.line(now - self._start)
        if self._bar is not None:
            self._bar.total = self._tally.total
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update(self._tally.done - self._bar.n)
        elif self._lines and now - self._last >= _LINE_EVERY_S:
            self._last = now
            done, total = self._tally.done, self._tally.total
            print(f"{self._label}: {done}/{total}, {text}", file=self._stream, flush=True)

    def close(self) -> None:
        """Draw the last state and end the bar."""
        if self._bar is not None:
            self.refresh()
            self._bar.refresh()
            self._bar.close()

    def _make_bar(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a notebook without ipywidgets gets the plain bar, which is fine
            from tqdm.auto import tqdm
        return tqdm(
            total=self._tally.total,
            desc=self._label,
            file=self._stream,
            mininterval=0.2,
            bar_format="{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt}{postfix}",
        )
