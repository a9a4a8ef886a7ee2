"""Which file is the picture of an id: the folder is listed once, and no path is ever made of an id.

So ids with `/` or `..` cannot lead anywhere: they either name a file that was found in the folder, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from signpost_kit.benchmark.folder_walk import walk_folder
from signpost_kit.errors import DataError
from signpost_kit.files import hash_bytes, safe_name

__all__ = ["PictureIndex", "download_stem"]

_SUFFIXES = frozenset(
    f".{name}"
    for name in [
        "avif",
        "bmp",
        "gif",
        "heic",
        "heif",
        "jp2",
        "jpe",
        "jpeg",
        "jpg",
        "mpo",
        "png",
        "tif",
        "tiff",
        "webp",
    ]
)


class PictureIndex:
    """The files of a folder, found by id: with any suffix or none, with or without the folders in the id.

    An id fits by its whole path, else by the path without the suffix, else by the last part alone, else with its
    slashes written as underscores. Capitals matter, for they do in a panorama's id. An id that a float has given a
    `.0` is looked for without it too.

    Raises
    ------
    DataError
        The folder is missing, unreadable or empty.
    """

    def __init__(self, folder: Path | str, *, skip: Path | None = None) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            what = "is a file, not a folder" if self.folder.exists() else "does not exist"
            raise DataError(f"the folder of pictures {self.folder} {what}; check the path")
        self._paths: set[str] = set()
        self._by_form: tuple[dict[str, str | None], ...] = ({}, {}, {})
        for name, why_not, _ in walk_folder(self.folder, skip=skip.resolve() if skip else None):
            if not why_not:
                self._add(name)
        if not self._paths:
            raise DataError(f"the folder of pictures {self.folder} is empty; check the path")

    def _add(self, name: str) -> None:
        self._paths.add(name)
        path = PurePosixPath(name)
        for known, form in zip(self._by_form, (str(path.with_suffix("")), path.name, path.stem), strict=True):
            known[form] = None if form in known else name  # None: two files, so neither is meant

    def __len__(self) -> int:
        return len(self._paths)

    def find(self, ident: str) -> str | None:
        """The picture's path relative to the folder; None if there is none, or more than one that fits as well."""
        found = self._find(ident)
        return found or None

    def missing(self, ids: list[str]) -> dict[int, str]:
        """Place in `ids` -> why there is no picture, for those that have none."""
        reasons = {}
        for i, ident in enumerate(ids):
            found = self._find(ident)
            if found is None:
                reasons[i] = f"no picture of this id in {self.folder}"
            elif not found:
                reasons[i] = f"several pictures in {self.folder} fit this id"
        return reasons

    def _find(self, ident: str) -> str | None:
        """A path, "" when several fit, None when none does."""
        by_path, by_name, by_stem = self._by_form
        several = False
        for form in _forms(ident):
            if form in self._paths:
                return form
            bare = _bare(form)
            last = form.rsplit("/", 1)[-1]
            places = (by_path, bare), (by_path, form), (by_name, last), (by_stem, _bare(last)), (by_stem, last)
            for known, key in places:
                if key in known:
                    if (found := known[key]) is not None:
                        return found
                    several = True
        return "" if several else None


def _forms(ident: str) -> Iterator[str]:
    yield ident
    clean = ident.replace("\\", "/").lstrip("/")
    while clean.startswith("./"):
        clean = clean[2:]
    if clean != ident:
        yield clean
    if "/" in clean:
        yield clean.replace("/", "_")
    yield download_stem(ident)
    if ident.endswith(".0"):
        yield ident[:-2]


def _bare(path: str) -> str:
    """Without a picture's suffix; ids may hold dots of their own."""
    dot = path.rfind(".")
    return path[:dot] if dot > 0 and path[dot:].lower() in _SUFFIXES else path


def download_stem(ident: str) -> str:
    """What a fetched picture is called, without suffix: the hash keeps ids apart that differ in a capital only."""
    return f"{safe_name(_bare(ident))}-{hash_bytes(ident.encode('utf-8', 'surrogateescape'))[:8]}"
