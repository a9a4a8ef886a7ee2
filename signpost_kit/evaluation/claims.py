"""Who is asking what right now, so that two processes on one store do not pay for the same question twice.

A claim is a lock on one byte of a file in the user's cache: the system frees it when its holder ends, however it
ends, so there is nothing to clean up after a kill. It is a courtesy, not what keeps the store right: where locks do
not exist a question may be asked twice, and the store keeps one reply.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from signpost_kit.files import cache_dir, hash_bytes

__all__ = ["Claims"]

_GUARD = threading.Lock()
# Store -> (descriptor or None, keys claimed by this process). A descriptor is never closed: closing any descriptor
# of a file would drop all locks that this process has on it.
_OPEN: dict[Path, tuple[int | None, set[str]]] = {}


class Claims:
    """The questions of one store that are being asked."""

    def __init__(self, store: Path) -> None:
        path = store.resolve()
        with _GUARD:
            if path not in _OPEN:
                _OPEN[path] = (_descriptor(path), set())
            self._descriptor, self._held = _OPEN[path]

    def take(self, key: str) -> bool:
        """Claim a question; False while it is claimed, by this process or another."""
        with _GUARD:
            if key in self._held or not _lock(self._descriptor, key):
                return False
            self._held.add(key)
        return True

    def release(self, key: str) -> None:
        """Give a claim back."""
        with _GUARD:
            self._held.discard(key)
            _unlock(self._descriptor, key)


def _descriptor(path: Path) -> int | None:
    try:
        import fcntl  # noqa: F401  absent on Windows
    except ImportError:
        return None
    file = cache_dir("claims") / hash_bytes(str(path).encode())
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None


def _offset(key: str) -> int:
    return int(hash_bytes(key.encode())[:15], 16)  # 60 bits: a byte of one's own for each key


def _lock(descriptor: int | None, key: str) -> bool:
    if descriptor is None:
        return True
    import fcntl

    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _offset(key))
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _unlock(descriptor: int | None, key: str) -> None:
    if descriptor is not None:
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, _offset(key))
