"""Reading one picture or many, through the cache."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import hash_bytes, hash_file
from signpost_kit.ocr.cache import load_lines, store_lines
from signpost_kit.ocr.engines import OcrSettings, TextLine, check_engine, engine_signature, get_engine

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Reading", "read_each", "read_many", "read_text"]

_LARGEST_PX = 16_000_000
"""Larger files are decoded at this area (JPEGs at a half or quarter): nothing that is read gets lost, 300 MB do not
fill up."""


def read_text(
    picture: str | os.PathLike[str] | np.ndarray,
    *,
    engine: str = "rapidocr",
    settings: OcrSettings | None = None,
    cache: bool = True,
) -> tuple[TextLine, ...]:
    """The lines of text in one picture.

    Parameters
    ----------
    picture
        A file, or an RGB uint8 array (H, W, 3); a grey array (H, W) is taken too.
    engine
        A name in :data:`signpost_kit.ocr.ENGINES`.
    settings
        Working size, languages, threads; None for the defaults.
    cache
        Look the picture's content up in the cache first, and keep what was read.

    Returns
    -------
    tuple of TextLine
        Empty for a picture without text.

    Raises
    ------
    ConfigError, MissingExtraError
        The engine is unknown or not installed, or has no weights for the languages.
    DataError
        The file is missing or is no picture; the array has another shape or dtype.
    """
    chosen = settings or OcrSettings()
    signature = engine_signature(engine, chosen)
    if isinstance(picture, (str, os.PathLike)):
        return _read_file(Path(picture), engine, chosen, signature, cache)
    image = _rgb(picture)
    if not cache:
        return get_engine(engine, chosen).read(image)
    key = hash_bytes(f"rgb{image.shape}".encode() + image.tobytes())
    return _through_cache(key, signature, cache, lambda: get_engine(engine, chosen).read(image))


def _read_file(path: Path, engine: str, settings: OcrSettings, signature: str, cache: bool) -> tuple[TextLine, ...]:
    if not path.is_file():
        raise DataError(f"there is no picture {path}")

    def read() -> tuple[TextLine, ...]:
        image, factor = _pixels(path)
        lines = get_engine(engine, settings).read(_rgb(image))
        return lines if factor == 1.0 else tuple(_enlarged(line, factor) for line in lines)

    try:
        key = hash_file(path) if cache else ""
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    return _through_cache(key, signature, cache, read)


def _pixels(path: Path) -> tuple[np.ndarray, float]:
    """The picture, a huge one smaller, and the factor from there back to its own size."""
    from signpost_kit.images import load_rgb, read_metadata

    about = read_metadata(path)
    area, longest = about.width * about.height, max(about.width, about.height)
    if area <= _LARGEST_PX:
        return load_rgb(path), 1.0
    image = load_rgb(path, max_side=max(1, round(longest * (_LARGEST_PX / area) ** 0.5)))
    return image, longest / max(image.shape[:2])


def _enlarged(line: TextLine, factor: float) -> TextLine:
    return replace(line, polygon=tuple((round(x * factor, 2), round(y * factor, 2)) for x, y in line.polygon))


def _through_cache(
    key: str, signature: str, cache: bool, read: Callable[[], tuple[TextLine, ...]]
) -> tuple[TextLine, ...]:
    if cache and (known := load_lines(key, signature)) is not None:
        return known
    lines = read()
    if cache:
        store_lines(key, signature, lines)
    return lines


def _rgb(image: np.ndarray) -> np.ndarray:
    import numpy as np

    array = np.asarray(image)
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or 0 in array.shape:
        raise DataError(
            f"OCR needs an RGB uint8 array (H, W, 3) or a grey one (H, W), got shape {array.shape}, {array.dtype}"
        )
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    if array.shape[2] != 3:
        raise DataError(f"OCR needs 3 channels, got {array.shape[2]}; convert the picture to RGB first")
    return np.ascontiguousarray(array)


@dataclass(frozen=True)
class Reading:
    """What became of one picture of many."""

    path: Path
    lines: tuple[TextLine, ...] = ()
    error: str = ""
    """Why it could not be read; empty when it could."""


def read_each(
    paths: Iterable[str | os.PathLike[str]],
    *,
    engine: str = "rapidocr",
    settings: OcrSettings | None = None,
    scheduler: str = "threads",
    workers: int | None = None,
    progress: bool = True,
    total: int | None = None,
    cache: bool = True,
) -> Iterator[Reading]:
    """Read many files, several at once, and yield each in the order given; the memory stays flat.

    What the cache knows is not read again, by whichever scheduler it was read, so a killed call resumes. Every
    worker makes its own engine, once, and only when it has something to read.

    Parameters
    ----------
    scheduler, workers
        As in :func:`signpost_kit.mapping.map_items`. rapidocr's models let other threads run, so threads are as
        fast as processes and start at once. Two processes of one thread (390 MB each) read about 1.8 times as many
        pictures per second as one engine that has both cores.
    settings
        `threads` counts for each worker.

    Raises
    ------
    ConfigError, MissingExtraError
        Unknown engine or scheduler, missing packages or weights; before anything is read.
    """
    from signpost_kit.mapping import check_scheduler, map_items

    check_engine(engine)
    check_scheduler(scheduler, workers)
    chosen = settings or OcrSettings()
    signature = engine_signature(engine, chosen)
    read = functools.partial(_read_file, engine=engine, settings=chosen, signature=signature, cache=cache)
    outcomes = map_items(
        read,
        map(Path, paths),
        scheduler=scheduler,
        workers=workers,
        describe="reading text",
        total=total,
        progress=progress,
    )
    return (Reading(o.item, o.value or (), o.error) for o in outcomes)


def read_many(
    paths: Iterable[str | os.PathLike[str]],
    *,
    workers: int = 2,
    progress: bool | Callable[[int, int], None] = False,
    engine: str = "rapidocr",
    settings: OcrSettings | None = None,
    failures: dict[Path, str] | None = None,
    scheduler: str = "threads",
) -> dict[Path, tuple[TextLine, ...]]:
    """Read many files, several at once, and collect what they say; see :func:`read_each`.

    Parameters
    ----------
    paths
        Files; one that stands twice is read once.
    workers
        Pictures read at the same time, each with `settings.threads` threads.
    progress
        True shows a bar; a function is called with (done, total) after each picture, from the calling thread.
    failures
        When given, unreadable pictures are put here with the reason and left out of the result; when None the first
        one ends the call (after the others that had begun).
    scheduler
        "threads", "processes", "serial", or the address of a Dask scheduler.

    Returns
    -------
    dict
        Path as given (a `Path`) -> lines, in the order of `paths`. Empty for no paths.

    Raises
    ------
    DataError
        A picture cannot be read and `failures` is None.
    ConfigError
        `workers` is below 1, or the engine is unknown.
    """
    if workers < 1:
        raise ConfigError(f"workers must be at least 1, got {workers}")
    unique = list(dict.fromkeys(Path(p) for p in paths))
    found: dict[Path, tuple[TextLine, ...]] = {}
    readings = read_each(
        unique,
        engine=engine,
        settings=settings,
        scheduler=scheduler,
        workers=workers,
        progress=progress is True,
        total=len(unique),
    )
    for done, reading in enumerate(readings, start=1):
        if not reading.error:
            found[reading.path] = reading.lines
        elif failures is None:
            raise DataError(reading.error)
        else:
            failures[reading.path] = reading.error
        if callable(progress):
            progress(done, len(unique))
    return found
