"""One request at a time, and not before its time, whichever process asks.

Two files per server lie in the cache: a lock, which the system frees when its holder dies, and beside it the time
of the last request. Whoever holds the lock asks; the pause counts from the moment the last reply was there, since
only then is it certain that the server has seen that request. So the server itself never sees two requests closer
together than the pause, at the price of the reply's own time on top of it.

A request is noted before it is sent. If the note is still open when the lock is free, its writer died in between
(or the file was cut off): then a full pause is waited from now.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from signpost_kit.errors import StorageError
from signpost_kit.files import cache_dir, safe_name, storage_error, write_text
from signpost_kit.geocoding.base import GeocodingStopped

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["MAX_WAIT_S", "Pace", "Turn", "pace_for"]

T = TypeVar("T")
_log = logging.getLogger(__name__)

MAX_WAIT_S = 600.0
"""A server that asks for a longer pause ends the work, to be taken up later."""

_MARGIN_S = 0.01  # clocks are adjusted by some parts in a thousand
_LOCK_WAIT_S = 600.0
_POLL_S = 0.02
_COURTESY_S = 0.05
_SAY_S = 5.0
_FUTURE_S = 86_400.0  # a pause that ends later than in a day is a clock's fault


class Turn:
    """The right to ask, while it lasts."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace

    def request(self, send: Callable[[], T]) -> T:
        """Wait until it is time, call `send`, and note when it was done, whatever came of it."""
        pace = self._pace
        while (left := pace.left()) > 0:
            pace.sleep(left)
        pace.note(open=True)
        try:
            return send()
        finally:
            pace.note(open=False)

    def hold_off(self, seconds: float) -> None:
        """Let nobody ask that server for so long."""
        self._pace.note(open=False, pause=seconds)


class Pace:
    """At least `interval_s` between the requests of all processes that use the same `path`.

    Parameters
    ----------
    path
        Of the note; the lock is beside it.
    interval_s
        In seconds; 0 for a server of one's own that may be asked at full speed, still one request at a time.
    clock, sleep
        For tests: Unix seconds, and how to wait.
    """

    def __init__(
        self,
        path: Path,
        interval_s: float,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path = path
        self.interval_s = interval_s
        self.clock = clock
        self.sleep = sleep
        self._mine = 0.0  # the last note of this object

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Hold the right to ask. The lock is not held while waiting, so that processes take turns.

        Raises
        ------
        GeocodingStopped
            The server has asked for a pause that is longer than :data:`MAX_WAIT_S`.
        StorageError
            The files cannot be written, or one process has held the lock for ten minutes.
        """
        lock = self._acquire()
        try:
            yield Turn(self)
        finally:
            lock.release()

    def _acquire(self) -> BaseFileLock:
        """The lock, held, at a moment when a request may go out."""
        from filelock import FileLock, Timeout

        lock_path = self.path.with_suffix(".lock")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(lock_path)
            while True:
                lock.acquire(timeout=_LOCK_WAIT_S, poll_interval=_POLL_S)
                try:
                    left = self.left()
                except BaseException:
                    lock.release()
                    raise
                if left <= 0:
                    return lock
                lock.release()
                self._wait(left)
        except Timeout as error:
            raise StorageError(
                f"another process has held {lock_path} for {_LOCK_WAIT_S:.0f} s: stop it and run again"
            ) from error
        except OSError as error:
            raise storage_error(error, lock_path) from error

    def _wait(self, left: float) -> None:
        if left > MAX_WAIT_S:
            raise GeocodingStopped(_come_back(left))
        if left > _SAY_S:
            _log.warning("the geocoder's server wants a pause: waiting %.0f s", left)
        # Whoever asked last lets the others go first, who wait for the lock or wake up just now.
        mine = self._mine == self._read(self.clock())[0]
        self.sleep(left + (min(_COURTESY_S, 0.2 * self.interval_s) if mine else 0.0))

    def left(self) -> float:
        """Seconds until the next request may go out; 0 or less when it may. Call it with the lock held."""
        now = self.clock()
        last, until, known = self._read(now)
        if not known:
            self.note(open=False, pause=max(0.0, until - now))
            last = now
        wait = last + self.interval_s + _MARGIN_S - now if self.interval_s and last else 0.0
        return max(wait, until - now)

    def note(self, *, open: bool, pause: float = 0.0) -> None:
        """Write down that a request goes out (`open`) or is over, and for how long nobody may ask."""
        now = self.clock()
        until = max(self._read(now)[1], now + pause if pause else 0.0)
        state = {"last": now, "open": open, "until": until if until > now else 0.0}
        write_text(self.path, json.dumps(state) + "\n")
        self._mine = now

    def _read(self, now: float) -> tuple[float, float, bool]:
        """Time of the last request, end of the pause, and whether the note is sound and closed."""
        try:
            state = json.loads(self.path.read_text(encoding="utf-8"))
            last, until, is_open = float(state["last"]), float(state["until"]), bool(state["open"])
        except FileNotFoundError:
            return 0.0, 0.0, True
        except (OSError, ValueError, TypeError, KeyError):
            return now, 0.0, False
        # A clock that was set back must not mean waiting for hours: such a note is made anew.
        sound = last <= now and until <= now + _FUTURE_S and math.isfinite(last + until)
        return last, until if sound else 0.0, sound and not is_open


def pace_for(host: str, interval_s: float) -> Pace:
    """The pace that all of this user's processes keep with one server, `host` or `host:port`.

    Its files are in the cache (`files.cache_dir`): processes with another SIGNPOST_CACHE do not know of it.
    """
    return Pace(cache_dir("geocoding") / f"pace-{safe_name(host)}.json", interval_s)


def _come_back(left: float) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(time.time() + left))
    return (
        f"the geocoder's server has asked for a pause of {left / 60:.0f} minutes: run again after {when}; "
        "every answer so far is kept and will not be asked again"
    )
