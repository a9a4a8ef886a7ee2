"""The websocket of one server: a hint that it is worth looking, and how far a job is. Never the result.

Messages get lost (a dropped socket replays nothing) and come before the history has the result, so whoever waits
looks at /history, too, every second or so. Everything that arrives in binary form are previews: ignored.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from signpost_kit.editing.comfyui.address import Address

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

__all__ = ["Listener", "Watched"]

_OPEN_S = 10.0
_ASLEEP_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)  # pauses before connecting again
_LAST = ("execution_success", "execution_error", "execution_interrupted")


@dataclass
class Watched:
    """One job, as its messages tell. Fields are written by the listener's thread and read by the waiting one."""

    news: threading.Event = field(default_factory=threading.Event)
    """Set when it is worth reading the history now."""
    node: str = ""
    """Id of the node that runs."""
    step: int = 0
    steps: int = 0
    started: bool = False
    last: tuple[str, dict[str, Any]] | None = None
    """The message that ended it, with its data."""
    outputs: dict[str, Any] = field(default_factory=dict)
    """Node -> what it put out."""


class Listener:
    """One connection to a server, opened again whenever it breaks, in a thread of its own.

    Parameters
    ----------
    changed
        Called (in the thread) when a job got further.
    """

    def __init__(self, address: Address, client_id: str, *, changed: Callable[[], None] | None = None) -> None:
        self._address, self._client_id = address, client_id
        self._changed = changed or (lambda: None)
        self._watched: dict[str, Watched] = {}
        self._lock = threading.Lock()
        self._stop, self._wanted = threading.Event(), threading.Event()
        self._connection: ClientConnection | None = None
        self._thread = threading.Thread(target=self._run, name=f"comfyui-{address.name}", daemon=True)
        self.connected = threading.Event()
        """Set while the socket is open."""

    def start(self) -> None:
        """Begin to listen; returns at once."""
        self._thread.start()

    def close(self) -> None:
        """End the connection and the thread."""
        self._stop.set()
        self._wanted.set()
        connection = self._connection
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.close()
        if self._thread.is_alive():
            self._thread.join(5.0)

    @contextlib.contextmanager
    def watch(self, prompt_id: str) -> Iterator[Watched]:
        """What the server tells about one job; begin before it is submitted, so that no message is missed."""
        job = Watched()
        with self._lock:
            self._watched[prompt_id] = job
        self._wanted.set()  # a pause before connecting again ends now
        try:
            yield job
        finally:
            with self._lock:
                self._watched.pop(prompt_id, None)

    def furthest(self) -> tuple[int, int]:
        """(step, steps) of the job that runs; (0, 0) if none tells."""
        with self._lock:
            jobs = [job for job in self._watched.values() if job.steps]
        return (jobs[0].step, jobs[0].steps) if jobs else (0, 0)

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                with self._connect() as connection:
                    self._connection = connection
                    if self._stop.is_set():
                        return
                    self.connected.set()
                    for message in connection:
                        failures = 0
                        if isinstance(message, str):
                            self._receive(message)
            except Exception:
                pass  # whatever breaks a hint: the history is polled as well
            finally:
                self._connection = None
                self.connected.clear()
            self._wake_all()  # what was under way may have ended unseen
            self._wanted.clear()
            if not self._stop.is_set():
                self._wanted.wait(_ASLEEP_S[min(failures, len(_ASLEEP_S) - 1)])
            failures += 1

    def _connect(self) -> ClientConnection:
        from websockets.sync.client import connect

        options: dict[str, Any] = {}
        if self._address.loopback:
            options["proxy"] = None
        # A server that loads a model may not answer a ping for minutes: pings would end good connections.
        return connect(
            self._address.socket(self._client_id),
            compression=None,
            open_timeout=_OPEN_S,
            close_timeout=1.0,
            ping_interval=None,
            max_size=None,
            **options,
        )

    def _wake_all(self) -> None:
        with self._lock:
            jobs = list(self._watched.values())
        for job in jobs:
            job.news.set()

    def _receive(self, text: str) -> None:
        try:
            message = json.loads(text)
            kind, data = str(message["type"]), message.get("data") or {}
            prompt_id = data.get("prompt_id")
        except (ValueError, KeyError, TypeError, AttributeError):
            return  # extensions of a server send what they like
        with self._lock:
            job = self._watched.get(prompt_id) if isinstance(prompt_id, str) else None
        if job is None:
            return
        note(job, kind, data)
        self._changed()


def note(job: Watched, kind: str, data: dict[str, Any]) -> None:
    """Take one message about a job in."""
    if kind == "execution_start":
        job.started = True
    elif kind == "executing":
        job.started = True
        if data.get("node") is None:
            job.news.set()  # the last message of a job: by now the history has it
        else:
            job.node, job.step, job.steps = str(data["node"]), 0, 0
    elif kind == "progress":
        job.started = True
        job.node = str(data.get("node") or job.node)
        job.step, job.steps = _count(data.get("value")), _count(data.get("max"))
    elif kind == "executed":
        job.outputs[str(data.get("node"))] = data.get("output") or {}
    elif kind in _LAST:
        job.last = (kind, data)
        job.news.set()


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0
