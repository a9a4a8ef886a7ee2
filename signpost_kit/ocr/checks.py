"""Whether a profile's OCR can run here, asked before anything is read; no engine is made."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError, MissingExtraError
from signpost_kit.ocr.easy import check_packages
from signpost_kit.ocr.engines import OcrSettings, check_engine
from signpost_kit.ocr.weights import find_weights, needed_files

if TYPE_CHECKING:
    from signpost_kit.profile_sections import Compute, Screening

__all__ = ["check_ocr", "settings_for", "workers_for"]

_RAPIDOCR_FILES = ("english_g2.pth", "latin_g2.pth", "zh_sim_g2.pth", "chinese.pth", "japanese_g2.pth")
"""Easyocr's names for the scripts that rapidocr reads: Latin, simplified and traditional Chinese, Japanese."""


def check_ocr(screening: Screening) -> None:
    """Raise unless the engine is installed and reads the languages, with weights for them.

    Raises
    ------
    ConfigError
        Unknown engine or language, languages that do not go together, rapidocr asked for a script that it would
        misread in silence, a folder without the weights.
    MissingExtraError
        Packages or the offline weights are not installed; the message has the command.
    """
    check_engine(screening.engine)
    if screening.engine == "easyocr":
        needed_files(screening.languages)  # a misspelt language is said before a missing package
        check_packages()
        find_weights(screening.languages, screening.weights)
        return
    for code in screening.languages:
        if needed_files([code])[1] not in _RAPIDOCR_FILES:
            raise ConfigError(
                f"rapidocr does not read {code!r} (only Latin letters, Chinese and Japanese): set screening.engine "
                "to easyocr"
            )
    absent = [name for name in ("rapidocr", "onnxruntime") if importlib.util.find_spec(name) is None]
    if absent:
        raise MissingExtraError(
            f"the OCR engine 'rapidocr' needs {', '.join(absent)}: run `pip install {' '.join(absent)}`"
        )


def workers_for(screening: Screening, compute: Compute) -> int | None:
    """Pictures read at once, when the profile leaves it open.

    rapidocr: one per core. easyocr: one, with all cores for it, which is as fast as one per core (2.6 s and 5.0 s
    a picture on two cores) and takes 1.3 GB once. A Dask cluster has its own.
    """
    if compute.workers is not None or screening.engine == "rapidocr" or ":" in compute.scheduler:
        return compute.workers
    return 1


def settings_for(screening: Screening, compute: Compute) -> OcrSettings:
    """The reading that a profile asks for; the threads of each worker share the cores out."""
    threads = 1
    if screening.engine == "easyocr" and compute.scheduler in ("serial", "threads", "processes"):
        workers = 1 if compute.scheduler == "serial" else workers_for(screening, compute) or 1
        threads = max(1, (os.cpu_count() or 1) // workers)
    return OcrSettings(languages=tuple(screening.languages), weights=screening.weights, threads=threads)
