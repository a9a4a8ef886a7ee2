"""`python -m signpost_kit.ocr.fetch_weights ch_sim en --to weights/easyocr`: easyocr's own download, on demand.

The one place where OCR reaches for the network, and only when a person runs it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from signpost_kit.errors import SignpostError, StorageError
from signpost_kit.files import storage_error
from signpost_kit.ocr.easy import check_packages, import_easyocr
from signpost_kit.ocr.weights import needed_files

__all__ = ["fetch", "main"]


def fetch(languages: Sequence[str], folder: Path) -> list[Path]:
    """Let easyocr download what these languages need into `folder`; files that are there stay.

    Raises
    ------
    ConfigError
        The languages do not go together.
    MissingExtraError
        easyocr is not installed.
    StorageError
        The folder cannot be written, or the download failed.
    """
    check_packages()
    files = needed_files(languages)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(error, folder) from error
    easyocr = import_easyocr()
    try:
        easyocr.Reader(
            list(languages),
            gpu=False,
            model_storage_directory=str(folder),
            user_network_directory=str(folder),
            download_enabled=True,
            verbose=False,
        )
    except Exception as error:  # of the network, of zip files, and its own asserts on checksums
        raise StorageError(f"the weights for {' + '.join(languages)} were not downloaded: {error!r}") from error
    return [folder / name for name in files]


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, download, say where the files are."""
    parser = argparse.ArgumentParser(prog="python -m signpost_kit.ocr.fetch_weights", description=fetch.__doc__)
    parser.add_argument("languages", nargs="+", help="easyocr's codes, such as ch_sim en")
    parser.add_argument("--to", default="weights/easyocr", type=Path, help="folder to put the files in")
    given = parser.parse_args(arguments)
    try:
        files = fetch(given.languages, given.to)
    except SignpostError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{' and '.join(map(str, files))}; set screening.weights to {given.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
