"""OCR engines behind one small interface: an RGB picture in, lines of text with polygons out."""

from __future__ import annotations

import functools
import logging
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Protocol

from signpost_kit.errors import ConfigError, DataError, MissingExtraError
from signpost_kit.fonts import script_of

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ENGINES", "Engine", "OcrSettings", "TextLine", "engine_signature", "get_engine"]


@dataclass(frozen=True)
class TextLine:
    """One line of text as the engine read it."""

    text: str
    polygon: tuple[tuple[float, float], ...]
    """Four corners in pixels of the picture as given, clockwise from the text's own top left."""
    confidence: float
    """0..1, as the engine states it."""


@dataclass(frozen=True)
class OcrSettings:
    """How a picture is read. Part of the cache key, except `threads`.

    The working size was measured on 29 real photos: rapidocr's own rule (shorter side at least 736 px) found 119
    sound lines at 0.29 s a picture, this one 112-114 at 0.20 s; what it misses are fragments a few pixels high.
    """

    min_megapixels: float = 0.39
    """Smaller pictures are enlarged to this area (at most 2.5 times a side); 768 x 512 stays as it is."""
    max_megapixels: float = 0.80
    """Larger pictures are reduced to this area; 1024 x 768 stays as it is."""
    min_confidence: float = 0.1
    """Lines below are dropped by the engine; what counts is decided by :func:`signpost_kit.ocr.screen`."""
    threads: int = 1
    """Threads inside one reading; 1 is best when several pictures are read at once."""

    def __post_init__(self) -> None:
        if not 0 < self.min_megapixels <= self.max_megapixels:
            raise ConfigError(
                f"OCR working size {self.min_megapixels}-{self.max_megapixels} megapixels makes no sense; "
                "min must be above 0 and at most max"
            )
        if not 0 <= self.min_confidence <= 1:
            raise ConfigError(f"OCR min_confidence {self.min_confidence} is outside 0..1")
        if self.threads < 1:
            raise ConfigError(f"OCR threads {self.threads} must be at least 1")

    def scale_for(self, width: int, height: int) -> float:
        """Factor from the picture to the size it is read at (1 = untouched)."""
        area = width * height / 1e6
        if area < self.min_megapixels:
            return min(2.5, math.sqrt(self.min_megapixels / area))
        if area > self.max_megapixels:
            return math.sqrt(self.max_megapixels / area)
        return 1.0


class Engine(Protocol):
    """What reads a picture."""

    def read(self, image: np.ndarray) -> tuple[TextLine, ...]:
        """Lines in an RGB uint8 picture (H, W, 3); an empty tuple for a blank one."""
        ...


_THINNEST_PX = 8  # below, not even one legible letter fits
_LONGEST_SHAPE = 60  # times as long as high


class RapidOcr:
    """PP-OCR models on onnxruntime: Latin, Chinese and Japanese, offline, in the wheel."""

    def __init__(self, settings: OcrSettings) -> None:
        self._settings = settings
        try:
            from rapidocr import RapidOCR
        except ImportError as error:
            raise MissingExtraError(
                f"the OCR engine 'rapidocr' cannot be loaded ({error}); install rapidocr and onnxruntime"
            ) from error
        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        self._engine: Any = RapidOCR(
            params={
                "Global.log_level": "error",
                "Global.text_score": settings.min_confidence,
                "EngineConfig.onnxruntime.intra_op_num_threads": settings.threads,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
                # We choose the working size ourselves; this keeps the engine from changing it again.
                "Det.limit_type": "max",
                "Det.limit_side_len": 4096,
                "Global.max_side_len": 4096,
                # Wide lines padded to the widest of a batch cost memory and no time is won on a CPU.
                "Rec.rec_batch_num": 1,
            }
        )

    def read(self, image: np.ndarray) -> tuple[TextLine, ...]:
        """Lines in reading order, polygons mapped back to the picture as given."""
        import cv2
        import numpy as np

        height, width = image.shape[:2]
        short, long = sorted((height, width))
        if short < _THINNEST_PX or long > _LONGEST_SHAPE * short:
            return ()  # a strip holds no sign, and the engine itself fails on it
        scale = self._settings.scale_for(width, height)
        work = image[:, :, ::-1]
        if scale != 1.0:
            size = (max(1, round(width * scale)), max(1, round(height * scale)))
            work = cv2.resize(work, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
        try:
            result = self._engine(np.ascontiguousarray(work))
        except Exception as error:  # the engine's own classes, which say nothing about the picture
            raise DataError(
                f"OCR failed on a picture of {width} x {height} pixels: {error or type(error).__name__}; "
                "leave it out, or give it another shape"
            ) from error
        if getattr(result, "boxes", None) is None or result.txts is None or result.scores is None:
            return ()
        back = np.array([width / work.shape[1], height / work.shape[0]])
        limit = np.array([width - 1.0, height - 1.0])
        lines = []
        for box, text, score in zip(result.boxes, result.txts, result.scores, strict=True):
            corners = np.clip(np.asarray(box, dtype=float) * back, 0.0, limit)
            polygon = _own_corners(str(text), tuple((round(float(x), 2), round(float(y), 2)) for x, y in corners))
            lines.append(TextLine(str(text), polygon, round(float(score), 5)))
        return tuple(lines)


def _own_corners(text: str, corners: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """Corners from the text's own top left, where the engine starts at the picture's.

    A tall box with letters that are not written in columns holds a line that runs down: it starts at the top right.
    """
    (x0, y0), (x1, y1), _, (x3, y3) = corners
    width, height = math.hypot(x1 - x0, y1 - y0), math.hypot(x3 - x0, y3 - y0)
    if height < 1.6 * width or len(text) < 2 or script_of(text) in ("Han", "Japanese", "Hangul"):
        return corners
    return (*corners[1:], corners[0])


def _easyocr(settings: OcrSettings) -> Engine:
    raise MissingExtraError(
        "the OCR engine 'easyocr' is not part of this version yet; use engine 'rapidocr' "
        "(the extra signpost_kit[easyocr] will bring it)"
    )


ENGINES: dict[str, tuple[Callable[[OcrSettings], Engine], tuple[str, ...]]] = {
    "rapidocr": (RapidOcr, ("rapidocr", "onnxruntime")),
    "easyocr": (_easyocr, ("easyocr",)),
}
"""Name -> factory and the packages whose versions decide what is read."""

_local = threading.local()


def check_engine(name: str) -> None:
    """Raise ConfigError unless an engine of that name is registered."""
    if name not in ENGINES:
        close = get_close_matches(name, ENGINES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ConfigError(f"unknown OCR engine {name!r}; allowed: {', '.join(ENGINES)}{hint}")


def get_engine(name: str, settings: OcrSettings | None = None) -> Engine:
    """The engine of that name, made once per thread and kept (0.1-0.5 s to make).

    Raises
    ------
    ConfigError
        No engine has that name.
    MissingExtraError
        Its packages are not installed.
    """
    check_engine(name)
    chosen = settings or OcrSettings()
    made: dict[tuple[str, OcrSettings], Engine] = _local.__dict__.setdefault("engines", {})
    if (name, chosen) not in made:
        made[name, chosen] = ENGINES[name][0](chosen)
    return made[name, chosen]


@functools.cache
def _versions(name: str) -> str:
    found = []
    for package in ENGINES[name][1]:
        try:
            found.append(f"{package}={version(package)}")
        except PackageNotFoundError:
            found.append(f"{package}=absent")
    return ",".join(found)


def engine_signature(name: str, settings: OcrSettings) -> str:
    """Engine, versions and the settings that change what is read: one part of the cache key."""
    check_engine(name)
    sizes = f"{settings.min_megapixels:g}-{settings.max_megapixels:g}MP"
    return f"{name};{_versions(name)};{sizes};conf>={settings.min_confidence:g};format=2"
