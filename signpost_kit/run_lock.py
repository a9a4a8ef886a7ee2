"""One process at a time works on a run: a lock on a file that the system frees when its holder dies."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from signpost_kit.errors import StorageError
from signpost_kit.files import storage_error

__all__ = ["locked"]

_HELD: dict[Path, int] = {}
_GUARD = threading.RLock()


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock at `path`, waiting for it if need be; a process that holds it may enter again.

    Raises
    ------
    StorageError
        The lock's file cannot be created, or another process holds the lock and `wait` is False.
    """
    key = path.resolve()
    with _GUARD:
        if _HELD.get(key):
            _HELD[key] += 1
            try:
                yield
            finally:
                _HELD[key] -= 1
            return
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise storage_error(error, path) from error
        try:
            _lock(descriptor, path, wait=wait)
            _HELD[key] = 1
            try:
                yield
            finally:
                _HELD.pop(key, None)
        finally:
            os.close(descriptor)


def _lock(descriptor: int, path: Path, *, wait: bool) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no fcntl; there two processes on one run are the user's care
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError as error:
        raise StorageError(
            f"another signpost command is at work in {path.parent}: "
            "wait for it, stop it, or choose another --run-dir"
        ) from error
    except OSError:
        return  # some network file systems have no locks; a run there works as long as one process uses it
