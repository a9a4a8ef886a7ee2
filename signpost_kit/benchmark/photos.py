"""A folder of geotagged photos as a benchmark: every file is either usable or listed with a reason.

:func:`from_folder` leaves the photos where they are; :func:`import_photos` makes a benchmark's folder of
upright RGB copies without metadata. Neither lets one bad file end the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from signpost_kit.benchmark.folder_walk import walk_folder
from signpost_kit.benchmark.groups import Benchmark, Group
from signpost_kit.benchmark.positions import Position, Reading, check_pair, position_from_exif, position_from_xmp
from signpost_kit.benchmark.sidecar import Sidecar, find_sidecar, read_sidecar
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import hash_bytes, write_bytes
from signpost_kit.images import (
    MAX_PIXELS,
    Metadata,
    PictureError,
    check_pixels,
    encode_png,
    image_hash,
    open_image,
    read_metadata,
)

__all__ = ["Note", "PhotoFolder", "Rejected", "from_folder", "import_photos", "read_position"]

_TINY = 64  # pixels; below, a note: there is little to see
_FAR_KM = 1.0  # two sources that differ by more are told apart in a note
_RAW = {".arw", ".cr2", ".cr3", ".dng", ".nef", ".nrw", ".orf", ".pef", ".raf", ".rw2", ".srw"}


@dataclass(frozen=True)
class Rejected:
    """A file, or a row of the table of positions, that is not used."""

    item: str
    """Path relative to the folder, or the table's name and line."""
    reason: str
    kind: str
    """For counting: no position · unusable position · not a picture · broken picture · too large · duplicate ·
    link · unreadable · unmatched row."""


@dataclass(frozen=True)
class Note:
    """Something that was assumed about a file that is used."""

    item: str
    text: str


@dataclass(frozen=True)
class PhotoFolder(Benchmark):
    """A benchmark with an account of every file that is not in it."""

    rejected: tuple[Rejected, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def benchmark(self) -> Benchmark:
        """The groups alone, without the account."""
        return Benchmark(self.name, self.groups, self.root, self.version)

    def summary(self) -> str:
        """One line: how many are usable, and the others counted by kind."""
        return f"{len(self.groups)} usable photos; {_counted(self.rejected)}"

    def account(self) -> pd.DataFrame:
        """One row per file and table row: item, usable, group_id, lat, lon, position_from, kind, reason.

        `reason` holds the notes where the file is usable. Columns keep their names when there are no rows.
        """
        names = ["item", "usable", "group_id", "lat", "lon", "position_from", "kind", "reason"]
        nan = float("nan")
        rows: list[tuple[object, ...]] = [
            (g.source_id, True, g.group_id, g.lat, g.lon, made["position_from"], "", "; ".join(made["notes"]))
            for g in self.groups
            for made in (g.generation["Original"],)
        ]
        rows += [(r.item, False, "", nan, nan, "", r.kind, r.reason) for r in self.rejected]
        return pd.DataFrame(rows, columns=names).sort_values("item", ignore_index=True)


def from_folder(
    path: Path | str,
    *,
    positions: Path | str | None = None,
    dataset: str | None = None,
    recursive: bool = True,
    limit: int | None = None,
    max_pixels: int = MAX_PIXELS,
    check: bool = True,
) -> PhotoFolder:
    """The photos of a folder as a benchmark in place: `images["Original"]` is each file itself.

    The files still hold their metadata: what is sent to a model must go through
    :func:`~signpost_kit.images.encode_for_model`, or use :func:`import_photos`.

    Parameters
    ----------
    positions
        A table of positions (:func:`~signpost_kit.benchmark.sidecar.read_sidecar`); it wins over EXIF, EXIF
        over XMP. None: `positions.csv` in the folder, if there is one.
    dataset
        Name of the data set; None: the folder's name.
    limit
        Only the first so many usable photos in order of path; the others are not looked at.
    max_pixels
        Width times height; larger pictures are listed, not decoded.
    check
        Decode each picture once (JPEGs at an eighth of their size) to find those that are cut off. False only
        reads headers: about 2 ms a photo.

    Returns
    -------
    PhotoFolder
        Groups in order of path, ids from the content (`photo-<12 hex digits>`), so they tell nothing of the place.

    Raises
    ------
    DataError
        The folder is missing, a file, unreadable or empty; the table cannot be read; no photo is usable.
    ConfigError
        `limit` is below 1.
    """
    folder = _folder(path)
    scan = _Scan(folder, dataset, max_pixels=max_pixels, check=check)
    scan.look(_sidecar_path(folder, positions), recursive=recursive, skip=None)
    for item in scan.candidates(limit):
        if check and not scan.decodes(item):
            continue
        scan.accept(item)
    return scan.result(folder)


def import_photos(
    path: Path | str,
    out_dir: Path | str,
    *,
    positions: Path | str | None = None,
    dataset: str | None = None,
    name: str | None = None,
    recursive: bool = True,
    limit: int | None = None,
    max_pixels: int = MAX_PIXELS,
    max_side: int = 1600,
) -> PhotoFolder:
    """Make a benchmark's folder of a folder of photos: upright RGB copies as PNG, without any metadata.

    Parameters are those of :func:`from_folder`, and:

    out_dir
        Where `groups.jsonl`, `benchmark.json` and `images/Original/<group_id>.png` go; the lists
        last. It may lie inside `path`, but not be it.
    name
        Of the benchmark; None: the data set's.
    max_side
        Pixels of the longer side at most (Lanczos); smaller pictures stay as they are.

    Raises
    ------
    DataError
        As in :func:`from_folder`; nothing is written then.
    StorageError
        `out_dir` cannot be written.
    """
    folder, out = _folder(path), Path(out_dir)
    if out.resolve() == folder.resolve():
        raise DataError(f"{out} is the folder of the photos itself; choose another folder for the benchmark")
    if max_side < 1:
        raise ConfigError(f"max_side={max_side}: it must be at least 1 pixel")
    scan = _Scan(folder, dataset, max_pixels=max_pixels, check=True)
    scan.look(_sidecar_path(folder, positions), recursive=recursive, skip=out.resolve())
    seen: dict[str, str] = {}
    for item in scan.candidates(limit):
        try:
            picture = open_image(folder / item.name, max_pixels=max_pixels, max_side=max_side)
        except PictureError as error:
            scan.reject(item.name, error.reason, error.kind)
            continue
        data = encode_png(picture)
        digest = hash_bytes(data)
        if digest in seen:  # other metadata, same pixels: a model would be asked the same question twice
            scan.reject(item.name, f"the same picture as {seen[digest]}, pixel for pixel", "duplicate")
            continue
        seen[digest] = item.name
        group = scan.accept(item, relative=f"images/Original/{item.group_id}.png", max_side=max_side)
        group.generation["Original"]["image_hash"] = digest
        write_bytes(out / group.images["Original"], data)
    result = scan.result(out, name)
    result.write(out)
    return result


def read_position(path: Path | str) -> Reading:
    """The position that a picture's own EXIF or XMP gives (EXIF first), without decoding pixels.

    Raises
    ------
    PictureError
        The file cannot be read or is no picture.
    """
    return _own_position(read_metadata(path))


@dataclass
class _Item:
    """A picture with a position, not yet accepted."""

    name: str
    group_id: str
    digest: str
    position: Position
    metadata: Metadata
    notes: list[str]


class _Scan:
    """One pass over a folder: what is usable so far, and what is not."""

    def __init__(self, folder: Path, dataset: str | None, *, max_pixels: int, check: bool) -> None:
        self.folder = folder
        own_name = folder.resolve().name.encode("utf-8", "replace").decode()
        self.dataset = dataset or own_name or "photos"
        self.max_pixels = max_pixels
        self.check = check
        self.groups: list[Group] = []
        self.rejected: list[Rejected] = []
        self.notes: list[Note] = []
        self._files: list[str] = []
        self._sidecar: Sidecar | None = None
        self._digests: dict[str, str] = {}

    def look(self, sidecar: Path | None, *, recursive: bool, skip: Path | None) -> None:
        """List the folder and bind the table of positions to it."""
        if sidecar is not None:
            self._sidecar = read_sidecar(sidecar)
            self.notes += [Note(sidecar.name, note) for note in self._sidecar.notes]
        own_table = sidecar.resolve() if sidecar is not None else None
        for name, reason, kind in walk_folder(self.folder, recursive=recursive, skip=skip):
            if reason:
                self.reject(name, reason, kind)
            elif (self.folder / name).resolve() != own_table:
                self._files.append(name)
        if not self._files and not self.rejected:
            raise DataError(f"the folder {self.folder} is empty; put photos with positions into it")
        if self._sidecar is not None:
            for row, reason in self._sidecar.match(self._files):
                where = f"{self._sidecar.path.name} line {row.line}"
                self.reject(f"{where}: {row.name}" if row.name else where, reason, "unmatched row")

    def candidates(self, limit: int | None) -> Iterator[_Item]:
        """Pictures with a usable position, one by one, until `limit` of them were accepted."""
        if limit is not None and limit < 1:
            raise ConfigError(f"limit={limit}: it must be at least 1, or None for all photos")
        for number, name in enumerate(self._files):
            if limit is not None and len(self.groups) >= limit:
                left = len(self._files) - number
                self.notes.append(Note("", f"limit={limit} reached; {left} more files were not looked at"))
                return
            item = self._examine(name)
            if item is not None:
                yield item

    def decodes(self, item: _Item) -> bool:
        """Whether the picture's pixels can be read; rejected with the reason if not."""
        broken = self._broken(item.name)
        if broken is not None:
            self.reject(item.name, broken.reason, broken.kind)
        return broken is None

    def accept(self, item: _Item, *, relative: str | None = None, max_side: int | None = None) -> Group:
        """Add a group for the picture; `relative` is where its copy will be, None for the file itself."""
        self._digests[item.digest] = item.name
        self.notes += [Note(item.name, text) for text in item.notes]
        record = {
            "editor": "none" if relative is None else "re-encoded",
            "position_from": item.position.source,
            "notes": list(item.notes),
            "source_hash": item.digest,
            "source_type": item.metadata.mime,
            "source_size": [item.metadata.width, item.metadata.height],
            "orientation": item.metadata.orientation,
        }
        if max_side is not None:
            record["max_side"] = max_side
        group = Group(
            group_id=item.group_id,
            dataset=self.dataset,
            lat=item.position.lat,
            lon=item.position.lon,
            source_id=item.name,
            images={"Original": relative or item.name},
            generation={"Original": record},
        )
        self.groups.append(group)
        return group

    def reject(self, name: str, reason: str, kind: str) -> None:
        """List something with its reason."""
        self.rejected.append(Rejected(name, reason, kind))

    def result(self, root: Path, name: str | None = None) -> PhotoFolder:
        """Everything found, or the error that there is nothing."""
        if not self.groups:
            raise DataError(
                f"no usable photo in {self.folder}: {_counted(self.rejected)}. A photo needs a position in its "
                "EXIF or XMP, or a row in positions.csv (filename, lat, lon). "
                f"The first one: {self.rejected[0].item}: {self.rejected[0].reason}"
            )
        return PhotoFolder(
            name=name or self.dataset,
            groups=tuple(self.groups),
            root=root,
            rejected=tuple(sorted(self.rejected, key=lambda rejected: rejected.item)),
            notes=tuple(self.notes),
        )

    def _broken(self, name: str) -> PictureError | None:
        try:
            check_pixels(self.folder / name, max_pixels=self.max_pixels)
        except PictureError as error:
            return error
        return None

    def _examine(self, name: str) -> _Item | None:
        path = self.folder / name
        if path.suffix.lower() in _RAW:
            self.reject(name, "not a picture but a camera's raw file; export it as JPEG", "not a picture")
            return None
        try:
            metadata = read_metadata(path)
            if metadata.width * metadata.height > self.max_pixels:
                check_pixels(path, max_pixels=self.max_pixels)  # raises with the sizes
            reading, notes = self._position(name, metadata)
            if reading.position is None:
                kind = "unusable position" if reading.reason else "no position"
                nothing = f"no position in EXIF or XMP{' or ' + self._sidecar.path.name if self._sidecar else ''}"
                reason = (reading.reason or nothing) + (f"; {metadata.problem}" if metadata.problem else "")
                if self.check:
                    broken = self._broken(name)
                    reason, kind = (
                        (f"{broken.reason}; besides, {reason}", broken.kind) if broken else (reason, kind)
                    )
                self.reject(name, reason, kind)
                return None
            digest = image_hash(path)
        except PictureError as error:
            self.reject(name, error.reason, error.kind)
            return None
        if digest in self._digests:
            self.reject(name, f"the same file as {self._digests[digest]}", "duplicate")
            return None
        if min(metadata.width, metadata.height) < _TINY:
            notes.append(f"only {metadata.width} x {metadata.height} pixels: there is little to see")
        return _Item(name, f"photo-{digest[:12]}", digest, reading.position, metadata, notes)

    def _position(self, name: str, metadata: Metadata) -> tuple[Reading, list[str]]:
        own = _own_position(metadata)
        if self._sidecar is None:
            return own, list(own.position.notes) if own.position else []
        told = self._sidecar.reading(name)
        if told.reason:
            return told, []
        if told.position is None:
            return own, list(own.position.notes) if own.position else []
        notes = []
        if own.position is not None:
            apart = _km(told.position, own.position)
            exchanged = replace(told.position, lat=told.position.lon, lon=told.position.lat)
            possible = not check_pair(exchanged.lat, exchanged.lon)
            if apart > _FAR_KM and possible and _km(exchanged, own.position) <= _FAR_KM:
                return Reading(
                    reason=f"{self._sidecar.path.name} says {told.position.lat:g}, {told.position.lon:g}, the "
                    f"photo's {own.position.source.upper()} the same the other way round: "
                    "latitude and longitude look exchanged"
                ), []
            if apart > _FAR_KM:
                notes.append(
                    f"{self._sidecar.path.name} is used; the photo's {own.position.source.upper()} says "
                    f"{own.position.lat:.5f}, {own.position.lon:.5f}, {apart:,.0f} km away"
                )
        return told, notes


def _own_position(metadata: Metadata) -> Reading:
    """EXIF before XMP; XMP where EXIF is unusable, with a note that says why."""
    exif, xmp = position_from_exif(metadata.gps), position_from_xmp(metadata.xmp)
    if exif.position is not None:
        if xmp.position is not None and (apart := _km(exif.position, xmp.position)) > _FAR_KM:
            note = f"EXIF is used; XMP says {xmp.position.lat:.5f}, {xmp.position.lon:.5f}, {apart:,.0f} km away"
            return Reading(replace(exif.position, notes=(*exif.position.notes, note)))
        return exif
    if xmp.position is not None:
        if exif.reason:
            return Reading(replace(xmp.position, notes=(f"XMP is used, for in EXIF {exif.reason}",)))
        return xmp
    return exif if exif.reason else xmp


def _km(one: Position, other: Position) -> float:
    from signpost_kit.geo import haversine_km

    return float(haversine_km(one.lat, one.lon, other.lat, other.lon))


def _counted(rejected: list[Rejected] | tuple[Rejected, ...]) -> str:
    counts = Counter(item.kind for item in rejected)
    listed = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    return f"{len(rejected)} not used ({listed})" if rejected else "none left out"


def _folder(path: Path | str) -> Path:
    folder = Path(path)
    if not folder.exists():
        raise DataError(f"the folder of photos {folder} does not exist; check the path")
    if not folder.is_dir():
        raise DataError(f"{folder} is a file; give the folder that the photos are in")
    return folder


def _sidecar_path(folder: Path, positions: Path | str | None) -> Path | None:
    return Path(positions) if positions is not None else find_sidecar(folder)
