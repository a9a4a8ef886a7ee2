"""Web addresses of pictures, from a list that the user gives: `id,url` in any table, or one address a line."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import numpy as np

from signpost_kit.benchmark.lists.layout import Layout, describe_list, is_address, open_list
from signpost_kit.benchmark.lists.sampling import hash_ids
from signpost_kit.errors import DataError

__all__ = ["AddressBook", "check_addresses"]

_ROWS = 10_000


class AddressBook:
    """Which ids have an address. Of a long list only 8 bytes an id are kept; the addresses are read when needed.

    Forms: a table whose header names an id and an address (`id,url`); the same two columns without a header;
    YFCC100M's own table; or one address a line, whose id is the last part of its path, without the suffix.

    Raises
    ------
    DataError
        The file is missing, or holds no address.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._layout = _layout(self.path)
        self.rows = self.no_address = 0
        parts = []
        for ids in self._chunks():
            parts.append(hash_ids([_bare(ident) for ident, _ in ids]))
        hashes = np.sort(np.concatenate(parts)) if parts else np.empty(0, np.uint64)
        if not len(hashes):
            raise DataError(f"{self.path} holds no address that begins with http:// or https://")
        self._hashes = hashes

    def __len__(self) -> int:
        return len(self._hashes)

    def missing(self, ids: list[str]) -> dict[int, str]:
        """Place in `ids` -> why there is no address, for those that have none."""
        wanted = hash_ids([_bare(ident) for ident in ids])
        place = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
        absent = np.flatnonzero(self._hashes[place] != wanted)
        return {int(i): f"no address of this id in {self.path.name}" for i in absent}

    def find(self, ids: Collection[str]) -> dict[str, str]:
        """Id -> address of those that have one; of an id that stands twice the first counts."""
        wanted = {_bare(ident): ident for ident in ids}
        found: dict[str, str] = {}
        for rows in self._chunks():
            for ident, url in rows:
                if (key := wanted.get(_bare(ident))) is not None:
                    found.setdefault(key, url)
            if len(found) == len(wanted):
                break
        return found

    def _chunks(self) -> Iterator[list[tuple[str, str]]]:
        self.rows = self.no_address = 0
        rows: list[tuple[str, str]] = []
        for ident, url in _rows(self.path, self._layout):
            self.rows += 1
            if not is_address(url):
                self.no_address += 1
                continue
            rows.append((ident or _stem(url), url))
            if len(rows) == _ROWS:
                yield rows
                rows = []
        if rows:
            yield rows


def check_addresses(path: Path) -> None:
    """Raise DataError unless the file is a list with an address in one of its first lines; reads no further."""
    layout = _layout(path)
    if not any(is_address(url) for _, url in islice(_rows(path, layout), 1000)):
        raise DataError(f"{path} holds no address that begins with http:// or https:// in its first 1,000 lines")


def _layout(path: Path) -> Layout | None:
    """The table's layout; None for addresses alone or `id,url` without a header."""
    if not path.is_file():
        raise DataError(f"the list of addresses {path} does not exist; check source.downloads")
    with open_list(path) as handle:
        first = next((line for line in handle if line.strip() and not line.startswith("#")), "")
    cells = next(csv.reader([first]), [])
    if (cells and is_address(cells[0])) or (len(cells) == 2 and is_address(cells[1])):
        return None
    return describe_list(path, needs=("id", "url"))


def _rows(path: Path, layout: Layout | None) -> Iterator[tuple[str, str]]:
    """(id or "", address) of every row, as they stand."""
    try:
        if layout is None:
            with open_list(path) as handle:
                yield from _plain(handle)
            return
        quoting = csv.QUOTE_MINIMAL if layout.quoted else csv.QUOTE_NONE
        ident, url = layout.columns["id"], layout.columns["url"]
        with open_list(layout) as handle:
            reader = csv.reader(handle, delimiter=layout.delimiter, quoting=quoting)
            if layout.header:
                next((row for row in reader if any(cell.strip() for cell in row)), None)
            for row in reader:
                if len(row) > max(ident, url):
                    yield row[ident].strip(), row[url].strip()
    except (csv.Error, EOFError, OSError, UnicodeError) as error:
        raise DataError(f"the list of addresses {path} cannot be read ({error})") from error


def _plain(handle: Iterator[str]) -> Iterator[tuple[str, str]]:
    for line in handle:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if is_address(text):
            yield "", text
            continue
        cells = next(csv.reader([text]), [])
        yield (cells[0].strip(), cells[1].strip()) if len(cells) == 2 else ("", text)


def _stem(url: str) -> str:
    return PurePosixPath(unquote(urlsplit(url).path)).stem


def _bare(ident: str) -> str:
    """An id without the suffix of a picture, so that `a/b.jpg` in one list is `a/b` in the other."""
    dot = ident.rfind(".")
    return ident[:dot] if dot > 0 and ident[dot + 1 :].lower() in ("jpg", "jpeg", "png", "webp") else ident
