"""A worker process: takes one notebook after the other from a pipe and executes it with papermill.

It imports papermill once. It ends its kernel before it ends itself, also when it is told to stop (SIGTERM) and
when the process that started it dies (the lifeline pipe closes).
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from signpost_kit.notebooks.kernel import kernel_manager_class, kill_kernel, remove_socket_dir

__all__ = ["Outcome", "Task", "execute", "main"]

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_BAR = re.compile(r"\|[ \u2588-\u258f#]*\|")
_STARTS = 3  # attempts to start a kernel


def _ignore(_: object) -> None:
    pass


@dataclass(frozen=True)
class Task:
    """One notebook to execute."""

    id: str
    source: Path
    target: Path
    """Where the executed notebook goes; written when it is complete or has failed, not before."""
    parameters: dict[str, Any] = field(default_factory=dict)
    timeout_s: float | None = None
    """For the whole notebook, kernel start included."""
    start_timeout_s: float = 60.0


@dataclass(frozen=True)
class Outcome:
    """How it went."""

    id: str
    ok: bool
    seconds: float
    message: str = ""
    """One line; empty when ok."""
    starts: int = 1
    """Kernels started; more than 1 when a start failed and was repeated."""


@dataclass
class _State:
    """The kernel of the moment, shared with the signal handler and the watchers."""

    pid: int = 0
    ready: bool = False
    timed_out: bool = False

    def kill(self) -> None:
        """End the kernel, if there is one."""
        if self.pid:
            kill_kernel(self.pid)


def main(tasks: Connection, lifeline: Connection, sockets: Path, environment: dict[str, str]) -> None:
    """Serve tasks until None comes; the target of a process made by :mod:`signpost_kit.notebooks.pool`."""
    os.environ.clear()
    os.environ.update(environment)
    state = _State()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means

    def stop(*_: object) -> None:
        state.kill()
        os._exit(1)

    signal.signal(signal.SIGTERM, stop)
    threading.Thread(target=_watch, args=(lifeline, sockets, stop), daemon=True).start()

    def started(pid: int) -> None:
        state.pid = pid
        tasks.send(("kernel", pid))

    def says(line: str) -> None:
        tasks.send(("says", line))

    while True:
        task = tasks.recv()
        if task is None:
            return
        outcome = execute(task, sockets, started=started, says=says, state=state)
        state.pid = 0
        tasks.send(("done", outcome))


def _watch(lifeline: Connection, sockets: Path, stop: Callable[[], None]) -> None:
    """Wait for the parent's death, then put away what it can no longer put away."""
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv()
    remove_socket_dir(sockets)
    stop()


class _Tail:
    """A file that passes on the last line written to it, at most once a second: the progress bars of stages."""

    def __init__(self, says: Callable[[str], None]) -> None:
        self._says = says
        self._next = 0.0

    def write(self, text: str) -> None:
        """Take some text as it comes, with carriage returns and colours."""
        lines = [line for line in re.split(r"[\r\n]+", _ANSI.sub("", text)) if line.strip()]
        if lines and time.monotonic() >= self._next:
            self._next = time.monotonic() + 1.0
            self._says(" ".join(_BAR.sub(" ", lines[-1]).split())[:200])

    def flush(self) -> None:
        """Nothing is held back."""


def execute(
    task: Task,
    sockets: Path,
    *,
    started: Callable[[int], None] = _ignore,
    says: Callable[[str], None] = _ignore,
    state: _State | None = None,
) -> Outcome:
    """Execute one notebook in this process; a failure is an outcome, not an exception.

    Parameters
    ----------
    sockets
        Folder for the kernel's sockets, see :func:`signpost_kit.notebooks.kernel.socket_dir`.
    started
        Told the process id of every kernel.
    says
        Told now and then the last line that the notebook wrote to stderr.
    """
    state = state or _State()
    state.timed_out = False
    begin = time.perf_counter()
    partial = task.target.with_name(f".{task.target.stem}.partial.ipynb")
    timer = threading.Timer(task.timeout_s or 0, _expire, (state,))
    timer.daemon = True
    if task.timeout_s:
        timer.start()
    message, starts = "", 0
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(_STARTS):
            starts += 1
            message = _attempt(task, partial, sockets, state, started=started, says=says)
            if not message or state.ready or state.timed_out:
                break
        partial.replace(task.target)
    except OSError as error:
        message = f"cannot write {task.target}: {error.strerror or error}"
    finally:
        timer.cancel()
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return Outcome(task.id, not message, time.perf_counter() - begin, message, starts)


def _expire(state: _State) -> None:
    state.timed_out = True
    state.kill()


def _attempt(
    task: Task,
    partial: Path,
    sockets: Path,
    state: _State,
    *,
    started: Callable[[int], None],
    says: Callable[[str], None],
) -> str:
    """One execution; "" if all went well, else what went wrong in one line, with `partial` showing it on top."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    state.ready, state.pid = False, 0

    def note(pid: int) -> None:
        state.pid = pid
        started(pid)
        if state.timed_out:  # the limit passed while the kernel was starting
            state.kill()

    def ready(**_: object) -> None:
        state.ready = True

    try:
        papermill.execute_notebook(
            str(task.source),
            str(partial),
            parameters=task.parameters,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            log_output=False,
            stderr_file=_Tail(says),
            start_timeout=int(task.start_timeout_s),
            cwd=str(task.source.parent),
            kernel_manager_class=kernel_manager_class(sockets, note),
            on_notebook_start=ready,
            # A polite shutdown interrupts the kernel first, which now and then stalls it for three seconds;
            # nothing is lost, since whatever a notebook writes is complete when its cell is.
            shutdown_kernel="immediate",
        )
    except PapermillExecutionError as error:
        return _one_line(f"{_plain_name(error.ename)}{error.evalue}")
    except OSError:
        raise
    except Exception as error:
        message = _explain(error, task, state)
        _keep(task, partial, message)
        return message
    return ""


def _explain(error: Exception, task: Task, state: _State) -> str:
    from nbclient.exceptions import DeadKernelError

    if state.timed_out:
        return f"stopped after the time limit of {task.timeout_s:g} s; raise it with --timeout"
    if isinstance(error, DeadKernelError):
        return "the kernel died (out of memory, or a crash in compiled code)"
    if not state.ready:
        return _one_line(f"the kernel did not start: {error}")
    return _one_line(f"{type(error).__name__}: {error}")


def _plain_name(name: str) -> str:
    """The errors of this kit explain themselves; of others the type is shown."""
    import signpost_kit.errors as known

    return "" if name in known.__all__ else f"{name}: "


def _one_line(text: str) -> str:
    plain = _ANSI.sub("", text).strip()
    return " ".join(plain.split())[:500]


def _keep(task: Task, partial: Path, message: str) -> None:
    """Put the error on top of what there is of the executed notebook, as papermill does for a failed cell."""
    import nbformat

    source = partial if partial.is_file() and partial.stat().st_size else task.source
    notebook = nbformat.read(source, as_version=4)
    cell = nbformat.v4.new_markdown_cell(
        f'<span style="color:red; font-size:2em;">Not finished</span>\n\n    {message}\n',
        metadata={"tags": ["papermill-error-cell-tag"]},
    )
    notebook.cells.insert(0, cell)
    nbformat.write(notebook, partial)
