"""Whether a key that a test planted can be found in anything that was written.

`assert find_key_in(folder, KEY) == []`: file names and contents, also as base64 at any alignment, percent-encoded,
in UTF-16, and inside gzip and zip files (SQLite, notebooks and logs are searched as the bytes they are).
"""

from __future__ import annotations

import base64
import gzip
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

__all__ = ["find_key_in"]


def find_key_in(folder: Path | str, key: str) -> list[str]:
    """Where below `folder` (or in the one file) the key stands: "relative/path: form", sorted."""
    assert len(key) >= 12, "plant a key that cannot stand there by chance"
    folder = Path(folder)
    forms = _forms(key)
    found = []
    for path in sorted([folder] if folder.is_file() else folder.rglob("*")):
        name = path.name if path == folder else str(path.relative_to(folder))
        if key in name:
            found.append(f"{name}: in its name")
        if path.is_file():
            for part, data in _contents(path):
                found += [f"{name}{part}: {form}" for form, needle in forms.items() if needle in data]
    return found


def _forms(key: str) -> dict[str, bytes]:
    raw = key.encode()
    forms = {"as it is": raw, "UTF-16": key.encode("utf-16-le")}
    if quote(key, safe="") != key:
        forms["percent-encoded"] = quote(key, safe="").encode()
    for shift in range(3):  # the first and last characters depend on what stands around the key
        text = base64.b64encode(b"\0" * shift + raw)
        forms[f"base64 ({shift})"] = text[4 if shift else 0 : len(text) - 4]
    return forms


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    data = path.read_bytes()
    yield "", data
    if data[:2] == b"\x1f\x8b":
        yield " (unpacked)", gzip.decompress(data)
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                yield f" ({member})", archive.read(member)
