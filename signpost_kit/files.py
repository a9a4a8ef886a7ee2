"""Files, safely: written whole or not at all, named without surprises, never outside their folder."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from signpost_kit.errors import DataError, StorageError

__all__ = [
    "atomic_path",
    "cache_dir",
    "hash_bytes",
    "hash_file",
    "inside",
    "safe_name",
    "write_bytes",
    "write_text",
]

_UNSAFE = re.compile(r"[^\w.@+-]+|\.{2,}", re.ASCII)
_NAME_LIMIT = 120  # bytes; leaves room for a suffix below the 255 that most file systems allow


def hash_bytes(data: bytes) -> str:
    """The content hash used in every key of the kit: 32 hex digits of SHA-256."""
    return hashlib.sha256(data).hexdigest()[:32]


def hash_file(path: Path) -> str:
    """:func:`hash_bytes` of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while piece := handle.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()[:32]


def safe_name(identifier: str) -> str:
    """A file name for any identifier: no separators, no leading dot, unique for distinct identifiers.

    Identifiers that are already safe stay as they are; others get a short hash, so `a/b` and `a_b` never meet.
    """
    if (
        identifier
        and not _UNSAFE.search(identifier)
        and identifier[0] not in ".-"
        and len(identifier) <= _NAME_LIMIT
    ):
        return identifier
    stem = _UNSAFE.sub("_", identifier).lstrip(".-")[: _NAME_LIMIT - 12] or "item"
    return f"{stem}~{hash_bytes(identifier.encode())[:10]}".replace("~", "-")


def inside(root: Path, relative: str | Path) -> Path:
    """`root / relative`, refused if it points outside `root` (data may hold `..`, absolute paths, links)."""
    base = root.resolve()
    path = (base / relative).resolve()
    if not path.is_relative_to(base):
        raise DataError(
            f"the path {str(relative)!r} points outside {root}; paths in data must stay in their folder"
        )
    return path


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it is moved over `path`, on failure it is removed.

    Raises
    ------
    StorageError
        The folder is read-only, the disk is full, or the place is not a folder.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=path.suffix, dir=path.parent)
        os.close(descriptor)
        temporary = Path(name)
        temporary.chmod(0o644)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise storage_error(error, path) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def storage_error(error: OSError, path: Path) -> StorageError:
    """Turn an OSError into one clear line with the remedy."""
    remedy = {
        errno.ENOSPC: "the disk is full: free some space and run again, finished work is kept",
        errno.EDQUOT: "the quota is used up: free some space and run again, finished work is kept",
        errno.EACCES: "no permission to write there: choose another folder or change its rights",
        errno.EPERM: "no permission to write there: choose another folder or change its rights",
        errno.EROFS: "the file system is read-only: choose another folder",
        errno.ENOTDIR: "a part of that path is a file, not a folder: choose another folder",
        errno.EEXIST: "a part of that path is a file, not a folder: choose another folder",
    }.get(error.errno or 0, error.strerror or str(error))
    return StorageError(f"cannot write {path}: {remedy}")


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path`, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 `text` to `path`, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def cache_dir(kind: str) -> Path:
    """Where content-addressed results of one kind are kept between runs; created by whoever writes there.

    The environment variable SIGNPOST_CACHE moves it (tests use a temporary one).
    """
    from platformdirs import user_cache_path

    root = os.environ.get("SIGNPOST_CACHE")
    return (Path(root) if root else user_cache_path("signpost_kit")) / kind
