"""Several servers as one: each takes a set number of jobs at a time, one that dies is left out until it is back."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FrameType, TracebackType
from typing import Any

from signpost_kit.editing.comfyui.address import parse_address
from signpost_kit.editing.comfyui.faults import Cancelled, EditFailed, JobLost, ServerGone
from signpost_kit.editing.comfyui.graph import Recipe, workflow_hash
from signpost_kit.editing.comfyui.jobs import Edit, Edited, Limits, run_job
from signpost_kit.editing.comfyui.progress import ServersLine
from signpost_kit.editing.comfyui.server import Server
from signpost_kit.errors import ConfigError, ModelError
from signpost_kit.profile_sections import Editing

__all__ = ["ServerPool", "recipe_of", "shared_pool"]

_ASLEEP_S = (2.0, 5.0, 10.0, 20.0, 30.0)  # pauses before a server that was left out is tried again
_CRASHES = 3  # times that a server may go away while a job runs before the job is taken to be the cause


@dataclass
class _Member:
    server: Server
    busy: int = 0
    up: bool = False
    failures: int = 0
    try_at: float = 0.0
    """When it may be tried again, on the monotonic clock."""
    probed: bool = False
    """Somebody is trying it just now."""
    useless: str = ""
    """Why it is never tried again."""


class ServerPool:
    """The servers of a profile's `editing` section. Safe to use from several threads; a context manager.

    Parameters
    ----------
    editing
        Servers, steps, cfg, time limit, jobs per server.
    limits
        Other waiting times than the usual ones (`timeout_s` is then of `limits`).
    progress
        True: a line that shows what each server does. False: none. None: on a terminal only.
    tell
        Takes one line when a server is left out or comes back; None: standard error.
    """

    def __init__(
        self,
        editing: Editing,
        *,
        limits: Limits | None = None,
        progress: bool | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.recipe = recipe_of(editing)
        self.workflow_hash = workflow_hash(self.recipe)
        self.limits = limits or Limits(timeout_s=editing.timeout_s, queue_s=max(3600.0, 6 * editing.timeout_s))
        addresses = [parse_address(text, allow_remote_http=editing.allow_remote_http) for text in editing.servers]
        if not addresses:
            raise ConfigError(
                "editing.servers is empty: the editor comfyui needs at least one server, for example "
                "--set editing.servers='[http://127.0.0.1:8188]'"
            )
        self._tell = tell or _to_stderr
        self._per_server = editing.per_server
        self._line = ServersLine(shown=progress)
        unique = {address.base: address for address in addresses}
        self._members = [_Member(Server(address, self.recipe, changed=self._draw)) for address in unique.values()]
        self._change = threading.Condition()
        self._closed = threading.Event()
        self._opened, self._opening = False, threading.Lock()
        self._up_last = time.monotonic()
        self._interrupt: tuple[Any, Any] | None = None

    @property
    def slots(self) -> int:
        """Jobs that all servers together take at a time."""
        return len(self._members) * self._per_server

    def open(self) -> ServerPool:
        """Check every server, once; servers that do not answer are left out (and tried again later).

        Raises
        ------
        ConfigError
            A server lacks models or nodes, or is no ComfyUI server.
        ModelError
            None answers.
        """
        with self._opening:
            if not self._opened:
                self._open()
        return self

    def _open(self) -> None:
        reasons: list[str] = []
        for member in self._members:
            try:
                member.server.prepare()
            except ServerGone as error:
                reasons.append(str(error))
                self._leave_out(member, f"{error}; it is left out until it answers")
            else:
                member.up = True
        if not any(member.up for member in self._members):
            raise ModelError(
                f"no ComfyUI server answers: {'; '.join(reasons)}. Start one, or check editing.servers"
            )
        self._opened, self._up_last = True, time.monotonic()

    def run(self, edit: Edit, *, stopped: Callable[[], bool] | None = None) -> Edited:
        """Have one edit done by whichever server is free; waits until one is. The first call opens the pool.

        Raises
        ------
        EditFailed
            This picture cannot be edited.
        Cancelled
            `stopped` became true, or the pool was closed.
        ModelError
            No server answers any more.
        ConfigError
            No server is fit any more.
        """
        over = (lambda: self._closed.is_set() or stopped()) if stopped else self._closed.is_set
        self.open()
        lost = gone = crashes = 0
        while True:
            member = self._take(over)
            try:
                done = run_job(member.server, edit, limits=self.limits, stopped=over)
                self._line.done += 1
                return replace(done, resubmitted=lost + gone)
            except JobLost as error:
                lost += 1
                if lost > self.limits.resubmits:
                    raise EditFailed(f"the job was submitted {lost} times and lost each time: {error}") from error
                self._closed.wait(self.limits.poll_s)
            except ServerGone as error:
                gone += 1
                crashes += error.under_way
                self._leave_out(member, f"{error}; it is left out until it answers, its job goes to another one")
                # A server counts here only if it was up just before: an outage of all of them makes nothing fail.
                if crashes >= _CRASHES or gone >= 2 * len(self._members) + _CRASHES:
                    raise EditFailed(f"{gone} times a server went away during this edit: {error}") from error
            finally:
                self._give_back(member)

    def close(self) -> None:
        """Stop what is under way and end all connections."""
        self._closed.set()
        self._restore_interrupt()
        with self._change:
            self._change.notify_all()
            waiting = [member for member in self._members if member.busy]
            end = time.monotonic() + 5.0  # for jobs to be taken out of their queues
            while any(member.busy for member in waiting) and (left := end - time.monotonic()) > 0:
                self._change.wait(left)
        for member in self._members:
            member.server.close()
        self._line.close()

    def __enter__(self) -> ServerPool:
        """Servers are asked at the first edit, not here: when all is finished none is needed."""
        self._watch_interrupt()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _watch_interrupt(self) -> None:
        """An interrupt (Ctrl-C, or of a notebook's kernel) reaches the main thread alone: tell the other threads.

        Otherwise each would first finish its edit, which takes minutes.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        before = signal.getsignal(signal.SIGINT)
        if not callable(before):
            return

        def interrupted(number: int, frame: FrameType | None) -> Any:
            self._closed.set()
            return before(number, frame)

        signal.signal(signal.SIGINT, interrupted)
        self._interrupt = (interrupted, before)

    def _restore_interrupt(self) -> None:
        if self._interrupt is None or threading.current_thread() is not threading.main_thread():
            return
        ours, before = self._interrupt
        self._interrupt = None
        if signal.getsignal(signal.SIGINT) is ours:
            signal.signal(signal.SIGINT, before)

    def _take(self, over: Callable[[], bool]) -> _Member:
        """A place on a server that is up; one that was left out is tried when its time has come."""
        while True:
            if over():
                raise Cancelled
            with self._change:
                free = [m for m in self._members if m.up and m.busy < self._per_server]
                if free:
                    member = min(free, key=lambda m: m.busy)
                    member.busy += 1
                    return member
                now = time.monotonic()
                if any(m.up for m in self._members):
                    self._up_last = now
                self._give_up_if_late(now)
                asleep = [m for m in self._members if not (m.up or m.probed or m.useless)]
                member = min(asleep, key=lambda m: m.try_at, default=None)
                if member is None or member.try_at > now:
                    wait = 0.5 if member is None else min(0.5, member.try_at - now)
                    self._change.wait(max(wait, 0.01))
                    continue
                member.probed = True
            self._probe(member)

    def _give_up_if_late(self, now: float) -> None:
        if any(m.up for m in self._members):
            return
        if all(m.useless for m in self._members):
            raise ConfigError("no ComfyUI server is fit for the edits any more:\n" + self._members[0].useless)
        if now - self._up_last > self.limits.revive_s:
            names = ", ".join(m.server.name for m in self._members)
            raise ModelError(
                f"no ComfyUI server answers any more ({names}), for {self.limits.revive_s:.0f} s now. Start one "
                "and run again: finished pictures are kept"
            )

    def _probe(self, member: _Member) -> None:
        try:
            member.server.prepare()
        except ServerGone:
            self._leave_out(member, "")
        except ConfigError as error:
            member.useless = str(error)
            self._tell(f"comfyui: {member.server.name} answers again, but is of no use: {error}")
        else:
            with self._change:
                member.up, member.failures, self._up_last = True, 0, time.monotonic()
            self._tell(f"comfyui: {member.server.name} answers (again)")
        finally:
            with self._change:
                member.probed = False
                self._change.notify_all()

    def _leave_out(self, member: _Member, line: str) -> None:
        with self._change:
            first = member.up or not self._opened
            if member.up:
                self._up_last = time.monotonic()
            member.up = False
            pause = _ASLEEP_S[min(member.failures, len(_ASLEEP_S) - 1)]
            member.try_at = time.monotonic() + min(pause, self.limits.patience_s)
            member.failures += 1
        if line and first:
            self._tell(f"comfyui: {line}")

    def _give_back(self, member: _Member) -> None:
        with self._change:
            member.busy -= 1
            self._change.notify_all()
        self._draw()

    def _draw(self) -> None:
        self._line.draw((m.server, m.up, m.busy) for m in self._members)


def recipe_of(editing: Editing) -> Recipe:
    """What the profile's section says of the graph."""
    return Recipe(
        steps=editing.steps,
        cfg=editing.cfg,
        lightning=editing.lightning,
        files=dict(editing.checkpoints.items()),
    )


def shared_pool(editing: Editing) -> ServerPool:
    """This process's own pool for a section, opened at the first call and closed when the process ends."""
    key = f"{os.getpid()} {editing.model_dump_json()}"  # a forked process cannot use its parent's connections
    with _shared_lock:
        pool = _shared.get(key)
        if pool is None:
            pool = ServerPool(editing, progress=False).open()
            atexit.register(pool.close)
            _shared[key] = pool
        return pool


_shared: dict[str, ServerPool] = {}
_shared_lock = threading.Lock()


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
