"""OCR engines behind one small interface: an RGB picture in, lines of text with polygons out."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Protocol

from signpost_kit.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ENGINES", "Engine", "OcrSettings", "TextLine", "check_engine", "engine_signature", "get_engine"]


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
    """How a picture is read. Part of the cache key, except `threads` and `weights`.

    The working size was measured on 29 real photos: rapidocr's own rule (shorter side at least 736 px) found 119
    sound lines at 0.29 s a picture, this one 112-114 at 0.20 s; what it misses are fragments a few pixels high.
    """

    min_megapixels: float = 0.39
    """Smaller pictures are enlarged to this area (at most 2.5 times a side); 768 x 512 stays as it is."""
    max_megapixels: float = 0.80
    """Text is looked for at most at this area; 1024 x 768 stays as it is."""
    min_confidence: float = 0.1
    """Lines below are dropped by the engine; what counts is decided by :func:`signpost_kit.ocr.screen`."""
    threads: int = 1
    """Threads inside one reading; 1 is best when several pictures are read at once."""
    languages: tuple[str, ...] = ("en",)
    """What easyocr reads, by its own codes (the study: `en`; `ch_sim, en` for BaiduSV). rapidocr always reads
    Latin, Chinese and Japanese."""
    weights: str | None = None
    """Folder with easyocr's weights; None: the offline weights package, or easyocr's own folder."""

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
        if isinstance(self.languages, str) or not self.languages:
            raise ConfigError(f"OCR languages {self.languages!r} must be a list of codes, such as ('ch_sim', 'en')")
        object.__setattr__(self, "languages", tuple(dict.fromkeys(self.languages)))

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


def _rapidocr(settings: OcrSettings) -> Engine:
    from signpost_kit.ocr.rapid import RapidOcr

    return RapidOcr(settings)


def _easyocr(settings: OcrSettings) -> Engine:
    from signpost_kit.ocr.easy import EasyOcr

    return EasyOcr(settings)


ENGINES: dict[str, tuple[Callable[[OcrSettings], Engine], tuple[str, ...]]] = {
    "rapidocr": (_rapidocr, ("rapidocr", "onnxruntime")),
    "easyocr": (_easyocr, ("easyocr",)),
}
"""Name -> factory and the packages whose versions decide what is read.

torch is not among easyocr's: without quantisation its confidences are the same on every version.
"""

_FORMATS = {"rapidocr": 3, "easyocr": 1}
"""Raised when our own part of a reading changes, so that what was kept before is read again."""

_local = threading.local()


def check_engine(name: str) -> None:
    """Raise ConfigError unless an engine of that name is registered."""
    if name not in ENGINES:
        close = get_close_matches(name, ENGINES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ConfigError(f"unknown OCR engine {name!r}; allowed: {', '.join(ENGINES)}{hint}")


def get_engine(name: str, settings: OcrSettings | None = None) -> Engine:
    """The engine of that name, made once per thread and kept (0.2-0.5 s to make, easyocr 3 s).

    Raises
    ------
    ConfigError
        No engine has that name; easyocr's weights for the languages are not there.
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
    """Engine, versions and the settings that change what is read: one part of the cache key.

    Languages count where the engine has any; the folder of the weights does not, because easyocr takes only the
    files whose checksums its version knows.
    """
    check_engine(name)
    sizes = f"{settings.min_megapixels:g}-{settings.max_megapixels:g}MP"
    languages = f";{'+'.join(sorted(settings.languages))}" if name == "easyocr" else ""
    return f"{name};{_versions(name)};{sizes};conf>={settings.min_confidence:g}{languages};format={_FORMATS[name]}"
