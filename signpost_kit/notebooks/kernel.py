"""Kernels for unattended runs: this very interpreter, spoken to through sockets in a private folder.

TCP ports of several kernels that start at once collide now and then; paths do not. A kernel specification
installed elsewhere on the machine is never used, so a fresh virtual environment needs none.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager

__all__ = ["LONGEST_SOCKET_PATH", "kernel_manager_class", "kill_kernel", "remove_socket_dir", "socket_dir"]

LONGEST_SOCKET_PATH = 100
"""Unix sockets take 104 (macOS) to 108 bytes of path, the final zero included."""


def socket_dir() -> Path:
    """A new folder that only this user may enter, short enough for socket names; the caller removes it.

    The system's temporary folder is used unless its path is too long (as some managed machines have it).
    """
    tail = len("/sp-12345678/") + len("0123456789ab-ipc-5")
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) + tail > LONGEST_SOCKET_PATH and Path("/tmp").is_dir():
        base = "/tmp"
    return Path(tempfile.mkdtemp(prefix="sp-", dir=base))


def kernel_manager_class(folder: Path, started: Callable[[int], None]) -> type[AsyncKernelManager]:
    """A manager whose kernels keep their sockets in `folder` and whose process ids are told to `started`."""

    class SignpostKernelManager(AsyncKernelManager):
        """One kernel of this interpreter, with a path of its own."""

        def __init__(self, **kwargs: Any) -> None:
            if sys.platform != "win32":
                name = uuid4().hex[:12]
                kwargs |= {"transport": "ipc", "connection_file": str(folder / f"{name}.json")}
                kwargs["ip"] = str(folder / f"{name}-ipc")
            super().__init__(**kwargs)
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            self._kernel_spec = KernelSpec(argv=argv, display_name="Python 3", language="python")

        async def start_kernel(self, **kwargs: Any) -> None:
            """Start the kernel and tell its process id."""
            await super().start_kernel(**kwargs)
            pid = getattr(self.provisioner, "pid", None)
            if pid:
                started(int(pid))

    return SignpostKernelManager


def kill_kernel(pid: int) -> None:
    """End a kernel and everything it started; a kernel that has ended already is fine."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)  # jupyter_client makes each kernel the leader of its own group
        else:
            os.kill(pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        return


def remove_socket_dir(folder: Path) -> None:
    """Remove a folder made by :func:`socket_dir` with whatever killed kernels left in it."""
    shutil.rmtree(folder, ignore_errors=True)
