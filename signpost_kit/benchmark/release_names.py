"""Where the pictures of a release are, and how they are called there.

    filtered_images/<original file name>                  Original (or images/Original/<id>.png)
    images/Blank/<id>_Blank.png
    images/<Variant>/<id>_<type>_<safe text>.png          Similar, Random, Adversarial

Names come from data, so none may lead out of the release's folder; a link may lead out only into the blobs of the
download cache that the folder itself lies in.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from signpost_kit.benchmark.groups import Group
from signpost_kit.benchmark.release_lines import IMAGE_SUFFIXES
from signpost_kit.files import hash_bytes, inside

__all__ = ["Pictures", "edited_name", "leads_out", "readable_picture", "safe_text", "unused_name"]

_NAME_BYTES = 255  # what most file systems allow
_TYPES = {"Blank": "_Blank", "Similar": "_similar_", "Random": "_random_", "Adversarial": "_adversarial_"}


def safe_text(text: str) -> str:
    """The text as it stands in a picture's name: letters, digits, blanks, `_` and `-`."""
    return "".join(char for char in text if char.isalnum() or char in " _-").strip()


def edited_name(base: str, group: Group, variant: str, suffix: str = ".png") -> str:
    """File name of an edited picture; texts of several spans are joined, and cut where the name gets too long."""
    start = f"{base}{_TYPES[variant]}"
    if variant == "Blank":
        return start + suffix
    texts = [span.replacements.get(variant.lower(), "") for span in group.spans]
    text = safe_text(" + ".join(text for text in texts if text))
    room = max(_NAME_BYTES - len(f"{start}{suffix}".encode()), 0)
    return start + text.encode()[:room].decode(errors="ignore").rstrip() + suffix


def readable_picture(root: Path, path: Path) -> Path:
    """The file behind `path`, which lies in `root` or is a link into the download cache that holds `root`.

    Raises
    ------
    DataError
        It leads elsewhere.
    """
    real = path.resolve()
    base = root.resolve()
    if real.is_relative_to(base):
        return real
    for folder in (base, *base.parents[:2]):
        if folder.parent.name == "snapshots":  # a download cache: snapshots/<revision>/... -> blobs/<hash>
            blobs = folder.parent.parent / "blobs"
            if real.is_relative_to(blobs):
                return real
    return inside(root, path)  # raises


def leads_out(name: str) -> bool:
    """Whether a relative path from data would leave its folder, or is no path at all."""
    plain = name.replace("\\", "/")
    return not name or plain.startswith("/") or ".." in plain.split("/") or "\0" in name or plain[1:2] == ":"


class Pictures:
    """The pictures of one data set, each folder listed once."""

    def __init__(self, root: Path, folder: str) -> None:
        self._root, self._folder = root, folder
        self._lists: dict[str, dict[str, str]] = {}

    def original(self, name: str, base: str) -> str:
        """Relative path of the Original, or empty."""
        return self._at("filtered_images", name) or next(
            (
                path
                for place in ("images/Original", "filtered_images")
                for suffix in (".png", *IMAGE_SUFFIXES)
                if (path := self._at(place, base + suffix))
            ),
            "",
        )

    def edited(self, variant: str, names: list[str], base: str) -> str:
        """Relative path of an edited picture: of the first name there is, else of the only file that begins so."""
        place = f"images/{variant}"
        for name in names:
            if name and (path := self._at(place, name)):
                return path
        return self._beginning(place).get(f"{base}{_TYPES[variant]}", "") if variant != "Blank" else ""

    def _at(self, place: str, name: str) -> str:
        """`name` may hold folders of its own; one that leads out of the data set is not there."""
        if name in self._listing(place):
            return f"{self._folder}/{place}/{name}"
        if "/" not in name or leads_out(name):
            return ""
        relative = f"{self._folder}/{place}/{name}"
        return relative if (self._root / relative).is_file() else ""

    def _listing(self, place: str) -> dict[str, str]:
        if place not in self._lists:
            path = self._root / self._folder / place
            try:
                with os.scandir(path) as entries:
                    self._lists[place] = {entry.name: "" for entry in entries if entry.is_file()}
            except OSError:
                self._lists[place] = {}
        return self._lists[place]

    def _beginning(self, place: str) -> Mapping[str, str]:
        """Files by what stands before the text in their name; empty where several begin alike."""
        key = f"{place}:beginning"
        if key not in self._lists:
            found: dict[str, str] = {}
            mark = _TYPES[place.rpartition("/")[2]]
            for name in self._listing(place):
                at = name.rfind(mark)
                if at > 0:
                    start = name[: at + len(mark)]
                    found[start] = "" if start in found else f"{self._folder}/{place}/{name}"
            self._lists[key] = found
        return self._lists[key]


def unused_name(name: str, taken: set[str], identity: str) -> str:
    """`name`, or one with a short hash of `identity` when another file is called so already."""
    if name in taken:
        stem, dot, suffix = name.rpartition(".")
        mark = f"-{hash_bytes(identity.encode())[:8]}{dot}{suffix}"
        name = stem.encode()[: _NAME_BYTES - len(mark)].decode(errors="ignore") + mark
    taken.add(name)
    return name
