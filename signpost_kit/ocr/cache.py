"""What was read is kept by content: one small file per picture and engine, written whole or not at all.

Processes may share the folder: they would write the same bytes, and each write is an atomic rename. A damaged file
counts as absent, is named in the log and is written again.
"""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from signpost_kit.errors import StorageError
from signpost_kit.files import cache_dir, hash_bytes, write_bytes
from signpost_kit.ocr.engines import TextLine

__all__ = ["load_lines", "store_lines"]

_log = logging.getLogger(__name__)


class _Record(msgspec.Struct):
    image: str
    engine: str
    lines: tuple[TextLine, ...]


_decoder = msgspec.json.Decoder(_Record)


def _path(image_hash: str, signature: str) -> Path:
    return cache_dir("ocr") / hash_bytes(signature.encode())[:12] / image_hash[:2] / f"{image_hash}.json"


def load_lines(image_hash: str, signature: str) -> tuple[TextLine, ...] | None:
    """What `signature` read in the picture, or None when it has not been read yet."""
    path = _path(image_hash, signature)
    try:
        record = _decoder.decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.warning("cannot read the OCR cache file %s (%s); the picture is read again", path, error.strerror)
        return None
    except msgspec.DecodeError as error:
        _log.warning("the OCR cache file %s is damaged (%s); the picture is read again", path, error)
        return None
    if record.image != image_hash or record.engine != signature:
        _log.warning("the OCR cache file %s belongs to another picture or engine; the picture is read again", path)
        return None
    return record.lines


def store_lines(image_hash: str, signature: str, lines: tuple[TextLine, ...]) -> None:
    """Keep a reading. A cache that cannot be written is named in the log and does not stop the run."""
    try:
        write_bytes(_path(image_hash, signature), msgspec.json.encode(_Record(image_hash, signature, lines)))
    except StorageError as error:
        _log.warning("the OCR cache is not kept: %s", error)
