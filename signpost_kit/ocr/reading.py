"""Reading one picture or many, through the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import hash_bytes, hash_file
from signpost_kit.ocr.cache import load_lines, store_lines
from signpost_kit.ocr.engines import OcrSettings, TextLine, engine_signature, get_engine

if TYPE_CHECKING:
    import numpy as np

__all__ = ["read_many", "read_text"]


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
        Working size and threads; None for the defaults.
    cache
        Look the picture's content up in the cache first, and keep what was read.

    Returns
    -------
    tuple of TextLine
        Empty for a picture without text.

    Raises
    ------
    ConfigError, MissingExtraError
        The engine is unknown or not installed.
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
        from signpost_kit.images import load_rgb

        return get_engine(engine, settings).read(_rgb(load_rgb(path)))

    return _through_cache(hash_file(path), signature, cache, read)


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


def read_many(
    paths: Iterable[str | os.PathLike[str]],
    *,
    workers: int = 2,
    progress: bool | Callable[[int, int], None] = False,
    engine: str = "rapidocr",
    settings: OcrSettings | None = None,
    failures: dict[Path, str] | None = None,
) -> dict[Path, tuple[TextLine, ...]]:
    """Read many files, several at once; what the cache knows is not read again, so a killed call resumes.

    Threads, not processes: onnxruntime releases the interpreter while it works (58 pictures took 7.3 s with two
    threads, 11.6 s with two processes, 13.6 s with one), and they share one set of loaded libraries.

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
    chosen = settings or OcrSettings()
    signature = engine_signature(engine, chosen)
    unique = list(dict.fromkeys(Path(p) for p in paths))
    found: dict[Path, tuple[TextLine, ...]] = {}
    notify = _Progress(len(unique), progress)
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="ocr")
    try:
        jobs = {pool.submit(_read_file, path, engine, chosen, signature, True): path for path in unique}
        for job in as_completed(jobs):
            try:
                found[jobs[job]] = job.result()
            except DataError as error:
                if failures is None:
                    raise
                failures[jobs[job]] = str(error)
            notify.step()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        notify.close()
    return {path: found[path] for path in unique if path in found}


class _Progress:
    """A bar, a callback, or nothing."""

    def __init__(self, total: int, how: bool | Callable[[int, int], None]) -> None:
        self._total, self._done = total, 0
        self._call = how if callable(how) else None
        self._bar = None
        if how is True:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, desc="reading text", unit="picture")

    def step(self) -> None:
        self._done += 1
        if self._bar is not None:
            self._bar.update()
        if self._call is not None:
            self._call(self._done, self._total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
