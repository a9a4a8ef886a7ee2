"""Opening a picture for the offline models, once for all of them: its features and its strings, by content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signpost_kit.errors import SignpostError
from signpost_kit.files import hash_file
from signpost_kit.models.base import ProviderError
from signpost_kit.models.embedded.features import colour_shares, look
from signpost_kit.models.embedded.judges import Perception
from signpost_kit.models.embedded.once import Once

__all__ = ["forget", "perceive", "picture_hash"]

_REMEMBERED = 4096  # pictures; a few kB each
_SURE, _SHORTEST = 0.5, 2  # of OCR lines that count; what is below is mostly windows and leaves
_NARROWEST, _SLIMMEST = 16, 50  # pixels of the shorter side, and sides' ratio, that can hold letters
_LOOKED_AT = 768  # pixels of the longer side; features are coarser than that
_SEEN: Once[tuple[NDArray[np.float64], dict[str, float]]] = Once(_REMEMBERED)
_READ: Once[tuple[str, ...]] = Once(_REMEMBERED)


def picture_hash(path: Path) -> str:
    """Content hash of the file.

    Raises
    ------
    ProviderError
        The file is missing or unreadable; not worth a second try.
    """
    try:
        return hash_file(path)
    except OSError as error:
        raise ProviderError(
            f"cannot open the picture {path.name}: {error.strerror or error}", retryable=False
        ) from error


def perceive(path: Path, content: str) -> Perception:
    """The picture at `path` whose content hash is `content`; parts are computed on first use and then shared."""

    def seen() -> tuple[NDArray[np.float64], dict[str, float]]:
        return _SEEN.get(content, lambda: _see(path))

    return Perception(
        features=lambda: seen()[0],
        colours=lambda: seen()[1],
        lines=lambda: _READ.get(content, lambda: _read(path)),
    )


def forget() -> None:
    """Drop everything remembered (for tests)."""
    _SEEN.clear()
    _READ.clear()


def _see(path: Path) -> tuple[NDArray[np.float64], dict[str, float]]:
    rgb = _pixels(path)
    return look(rgb), colour_shares(rgb)


def _pixels(path: Path) -> NDArray[np.uint8]:
    from signpost_kit.images import load_rgb

    try:
        return load_rgb(path, max_side=_LOOKED_AT)
    except SignpostError as error:
        raise ProviderError(str(error), retryable=False) from error


def _read(path: Path) -> tuple[str, ...]:
    from signpost_kit.ocr import read_text

    try:
        if _holds_no_writing(path):
            return ()
        lines = read_text(path)
    except SignpostError as error:
        raise ProviderError(str(error), retryable=False) from error
    return tuple(line.text for line in lines if line.confidence >= _SURE and len(line.text.strip()) >= _SHORTEST)


def _holds_no_writing(path: Path) -> bool:
    """True for strips and dots, which OCR engines trip over."""
    from signpost_kit.images import read_metadata

    seen = read_metadata(path)
    short, long = sorted((seen.width, seen.height))
    return short < _NARROWEST or long > _SLIMMEST * short
