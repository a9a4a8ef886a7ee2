"""A list and its pictures become a benchmark: rows are chosen, pictures found or fetched, upright copies made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from signpost_kit.benchmark.addresses import AddressBook
from signpost_kit.benchmark.downloads import DownloadLimits, download_all
from signpost_kit.benchmark.groups import Benchmark, Group
from signpost_kit.benchmark.lists.pictures import PictureIndex
from signpost_kit.benchmark.lists.report import ListReport
from signpost_kit.benchmark.lists.sampling import Sample
from signpost_kit.benchmark.lists.selection import ListRow, Selection, select
from signpost_kit.benchmark.photos import Rejected, read_position
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import hash_bytes, write_bytes
from signpost_kit.images import MAX_PIXELS, PictureError, encode_png, image_hash, open_image, read_metadata
from signpost_kit.mapping import Journal, inputs_hash, map_items

__all__ = ["ImportedList", "Pictures", "Wanted", "import_list", "match_pictures"]

_FAR_KM = 1.0
_TINY = 64


@dataclass(frozen=True)
class Wanted:
    """A chosen row and where its picture is."""

    row: ListRow
    path: Path

    @property
    def source_id(self) -> str:
        """How messages call it."""
        return self.row.id


@dataclass
class Pictures:
    """Chosen rows matched to pictures; everything else with the reason."""

    selection: Selection
    wanted: list[Wanted] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    downloaded: int = 0


@dataclass(frozen=True)
class ImportedList:
    """A benchmark made from a list."""

    benchmark: Benchmark
    report: ListReport
    """Of the list's rows."""
    rejected: tuple[Rejected, ...]
    """Chosen rows whose picture cannot be used."""
    downloaded: int = 0
    """Pictures that were fetched, in this call or before."""


@dataclass(frozen=True)
class _Copy:
    """One upright copy."""

    group_id: str
    relative: str
    source_hash: str
    image_hash: str
    mime: str
    size: tuple[int, int]
    orientation: int
    own: tuple[float, float] | None
    """The position that the picture itself gives."""


def match_pictures(
    path: Path | str,
    *,
    images: Path | str | None = None,
    downloads: Path | str | None = None,
    download_dir: Path | str | None = None,
    limits: DownloadLimits | None = None,
    format: str = "auto",
    exchanged: bool | None = None,
    sample: Sample | None = None,
    limit: int | None = None,
    rejects: Path | None = None,
    progress: bool = True,
) -> Pictures:
    """Choose a list's rows among those whose picture is in a folder or has an address, and fetch what is missing.

    Parameters
    ----------
    images
        Folder of the pictures, called after the ids.
    downloads
        A list of addresses; only those of chosen rows whose picture is not in `images` are asked for.
    download_dir
        Where fetched pictures go; needed with `downloads`.

    For the others see :func:`~signpost_kit.benchmark.lists.selection.select`.

    Raises
    ------
    ConfigError
        Neither `images` nor `downloads` is given, or no `download_dir`.
    DataError, StorageError
        A list or folder cannot be read or written; no row is usable.
    """
    if images is None and downloads is None:
        raise ConfigError(
            "a list needs its pictures: set source.images to the folder that they are in, or source.downloads to a "
            "list with their addresses"
        )
    if downloads is not None and download_dir is None:
        raise ConfigError("download_dir is needed to fetch pictures into")
    index = PictureIndex(images) if images is not None else None
    book = AddressBook(downloads) if downloads is not None else None
    selection = select(
        path, format=format, exchanged=exchanged, missing=partial(_missing, index=index, book=book),
        sample=sample, limit=limit, rejects=rejects,
    )  # fmt: skip
    out = Pictures(selection)
    rows = list(selection.rows())
    found = {row.id: index.folder / name for row in rows if index and (name := index.find(row.id))}
    if book is not None and download_dir is not None:
        absent = [row.id for row in rows if row.id not in found]
        for done in download_all(book.find(absent), download_dir, limits=limits, progress=progress):
            if done.file:
                found[done.id] = Path(download_dir) / done.file
                out.downloaded += 1
            else:
                out.rejected.append(Rejected(done.id, f"{done.url}: {done.reason}", "not downloaded"))
    _assign(rows, found, out)
    return out


def _missing(ids: list[str], *, index: PictureIndex | None, book: AddressBook | None) -> Mapping[int, str]:
    absent = index.missing(ids) if index is not None else dict.fromkeys(range(len(ids)), "")
    if book is None or not absent:
        return absent
    places = list(absent)
    without = book.missing([ids[i] for i in places])
    return {places[i]: "; ".join(filter(None, (absent[places[i]], reason))) for i, reason in without.items()}


def _assign(rows: list[ListRow], found: Mapping[str, Path], out: Pictures) -> None:
    """One picture belongs to one row; what was not downloaded is already listed."""
    owners: dict[Path, str] = {}
    for row in rows:
        path = found.get(row.id)
        if path is None:
            continue
        if path in owners:
            reason = f"the picture {path.name} belongs to the id {owners[path]!r} already"
            out.rejected.append(Rejected(row.id, reason, "duplicate"))
            continue
        owners[path] = row.id
        out.wanted.append(Wanted(row, path))


def import_list(
    path: Path | str,
    out_dir: Path | str,
    *,
    dataset: str | None = None,
    name: str | None = None,
    max_pixels: int = MAX_PIXELS,
    max_side: int = 1600,
    journal: Path | None = None,
    scheduler: str = "threads",
    workers: int | None = None,
    progress: bool = True,
    **choice: Any,
) -> ImportedList:
    """Make a benchmark's folder of a list: upright RGB copies as PNG without metadata, ids from the content.

    Parameters
    ----------
    out_dir
        Where `groups.jsonl`, `benchmark.json` and `images/Original/<group_id>.png` go; the lists last.
    dataset
        Name of the data set; None: the list's file name.
    max_side
        Pixels of the longer side at most (Lanczos).
    journal
        A file that remembers finished pictures, so that a killed call goes on where it was.
    choice
        The options of :func:`match_pictures`.

    Raises
    ------
    ConfigError, DataError, StorageError
        As :func:`match_pictures`; no picture is usable; `out_dir` cannot be written.
    """
    out = Path(out_dir)
    pictures = match_pictures(path, progress=progress, **choice)
    dataset = dataset or Path(path).name.split(".")[0]
    make = partial(_copy, out=out, max_pixels=max_pixels, max_side=max_side)
    memory = _journal(journal, out, max_pixels, max_side) if journal is not None else None
    groups: list[Group] = []
    rejected = list(pictures.rejected)
    seen: dict[str, str] = {}
    try:
        for outcome in map_items(
            make, pictures.wanted, scheduler=scheduler, workers=workers, describe="copying", progress=progress,
            journal=memory,
        ):  # fmt: skip
            wanted: Wanted = outcome.item
            if outcome.value is None:
                rejected.append(Rejected(wanted.row.id, outcome.error, "unusable picture"))
                continue
            copy: _Copy = outcome.value
            other = seen.get(copy.source_hash) or seen.get(copy.image_hash)
            if other is not None:
                if copy.source_hash not in seen:  # other bytes, same pixels: its copy is one too many
                    (out / copy.relative).unlink(missing_ok=True)
                rejected.append(Rejected(wanted.row.id, f"the same picture as {other}", "duplicate"))
                continue
            seen[copy.source_hash] = seen[copy.image_hash] = wanted.row.id
            groups.append(_group(wanted, copy, dataset, pictures.selection, max_side))
    finally:
        if memory is not None:
            memory.close()
    if not groups:
        first = f" The first: {rejected[0].item}: {rejected[0].reason}" if rejected else ""
        raise DataError(f"no usable picture for {pictures.selection.report.summary()}.{first}")
    benchmark = Benchmark(name or dataset, tuple(groups), out)
    benchmark.write()
    return ImportedList(benchmark, pictures.selection.report, tuple(rejected), pictures.downloaded)


def _copy(wanted: Wanted, *, out: Path, max_pixels: int, max_side: int) -> _Copy:
    """Make one copy; the same picture gives the same file."""
    try:
        return _make(wanted, out, max_pixels, max_side)
    except PictureError as error:
        raise DataError(error.reason) from error  # plain, for it may have to travel between processes


def _make(wanted: Wanted, out: Path, max_pixels: int, max_side: int) -> _Copy:
    about = read_metadata(wanted.path)
    digest = image_hash(wanted.path)
    data = encode_png(open_image(wanted.path, max_pixels=max_pixels, max_side=max_side))
    group_id = f"photo-{digest[:12]}"
    relative = f"images/Original/{group_id}.png"
    write_bytes(out / relative, data)
    own = read_position(wanted.path).position
    return _Copy(
        group_id, relative, digest, hash_bytes(data), about.mime, (about.width, about.height), about.orientation,
        (own.lat, own.lon) if own is not None else None,
    )  # fmt: skip


def _journal(path: Path, out: Path, max_pixels: int, max_side: int) -> Journal:
    def key(wanted: Wanted) -> tuple[str, str]:
        try:
            stat = wanted.path.stat()
        except OSError:
            return wanted.row.id, ""
        facts = (str(wanted.path), stat.st_size, stat.st_mtime_ns, max_pixels, max_side)
        return wanted.row.id, inputs_hash(*facts)

    def usable(_: Wanted, copy: _Copy) -> bool:
        return (out / copy.relative).is_file()

    return Journal(path, key=key, decode=msgspec.json.Decoder(_Copy).decode, usable=usable)


def _group(wanted: Wanted, copy: _Copy, dataset: str, selection: Selection, max_side: int) -> Group:
    row = wanted.row
    record: dict[str, Any] = {
        "editor": "re-encoded",
        "position_from": "list",
        "list": selection.layout.path.name,
        "line": row.line,
        "notes": list(_notes(row, copy)),
        "source_hash": copy.source_hash,
        "source_type": copy.mime,
        "source_size": list(copy.size),
        "orientation": copy.orientation,
        "max_side": max_side,
        "image_hash": copy.image_hash,
    }
    if row.captured:
        record["captured"] = row.captured
    if row.heading is not None:
        record["heading"] = row.heading
    return Group(
        group_id=copy.group_id,
        dataset=dataset,
        lat=row.lat,
        lon=row.lon,
        source_id=row.id,
        city=row.city,
        admin=row.admin,
        country=row.country,
        images={"Original": copy.relative},
        generation={"Original": record},
    )


def _notes(row: ListRow, copy: _Copy) -> Iterator[str]:
    from signpost_kit.geo import haversine_km

    if copy.own is not None:
        apart = float(haversine_km(row.lat, row.lon, *copy.own))
        if apart > _FAR_KM:
            yield (
                f"the list is used; the picture itself says {copy.own[0]:.5f}, {copy.own[1]:.5f}, "
                f"{apart:,.0f} km away"
            )
    if min(copy.size) < _TINY:
        yield f"only {copy.size[0]} x {copy.size[1]} pixels: there is little to see"
