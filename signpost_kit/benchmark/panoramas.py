"""A folder of panoramas as a benchmark: of each, the one of four views that shows the most text that counts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from signpost_kit.benchmark.groups import Benchmark, Group
from signpost_kit.benchmark.lists.importing import match_pictures
from signpost_kit.benchmark.lists.report import ListReport
from signpost_kit.benchmark.lists.sampling import Sample
from signpost_kit.benchmark.photos import Rejected, from_folder
from signpost_kit.benchmark.sidecar import find_sidecar
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import write_bytes
from signpost_kit.images import MAX_PIXELS, Metadata, PictureError, encode_png, image_hash, load_rgb, read_metadata
from signpost_kit.mapping import Journal, Outcome, inputs_hash, map_items
from signpost_kit.ocr import OcrSettings, read_text, screen
from signpost_kit.panorama import ANGLES, FIELD, SIZE, edges_meet, sphere_tags, view, why_no_panorama

__all__ = ["ImportedPanoramas", "Panorama", "ViewRules", "choose_view", "import_panoramas", "is_row_list"]

_MAX_SIDE = 4096
"""Panoramas are scaled down to this width (Lanczos): 652 pixels a radian, and a view has 512 in its middle."""
_COARSE = 2048


@dataclass(frozen=True)
class Panorama:
    """A panorama with its position."""

    source_id: str
    path: Path
    lat: float
    lon: float
    position_from: str
    heading: float | None = None
    """Compass direction of its middle, degrees."""
    country: str = ""
    admin: str = ""
    city: str = ""
    captured: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ViewRules:
    """How views are made and which strings count in them."""

    engine: str = "rapidocr"
    settings: OcrSettings | None = None
    min_confidence: float = 0.3
    min_chars: int = 2
    angles: tuple[float, ...] = ANGLES
    field: float = FIELD
    size: tuple[int, int] = SIZE
    max_pixels: int = MAX_PIXELS


@dataclass(frozen=True)
class ImportedPanoramas:
    """A benchmark made from panoramas."""

    benchmark: Benchmark
    report: ListReport | None
    """Of the list of positions, where there was one."""
    rejected: tuple[Rejected, ...]


@dataclass(frozen=True)
class _Chosen:
    """What became of one panorama."""

    group_id: str
    relative: str
    source_hash: str
    mime: str
    size: tuple[int, int]
    angle: float
    heading: float | None
    heading_from: str
    strings: dict[str, int]
    """Angle as text -> valid strings in that view."""
    notes: tuple[str, ...]


def import_panoramas(
    path: Path | str,
    out_dir: Path | str,
    *,
    positions: Path | str | None = None,
    dataset: str | None = None,
    name: str | None = None,
    limit: int | None = None,
    sample: Sample | None = None,
    rules: ViewRules | None = None,
    format: str = "auto",
    exchanged: bool | None = None,
    rejects: Path | None = None,
    journal: Path | None = None,
    scheduler: str = "threads",
    workers: int | None = None,
    progress: bool = True,
) -> ImportedPanoramas:
    """Make a benchmark's folder of a folder of panoramas.

    Parameters
    ----------
    positions
        Where the panoramas were taken. A street-view list (panoid, wgs_lat, wgs_lon, heading, province, ...) is
        read as :func:`~signpost_kit.benchmark.lists.selection.select` does, with all its checks; any other table as
        :func:`~signpost_kit.benchmark.sidecar.read_sidecar` does, and a panorama that it leaves out may have its
        position in EXIF or XMP. None: `positions.csv` in the folder, if there is one.
    limit, sample
        At most so many; a sample by country, or by province where a list tells it.
    journal
        A file that remembers finished panoramas, so that a killed call goes on where it was.

    Raises
    ------
    ConfigError, DataError, StorageError
        As the readers above; no panorama is usable; `out_dir` cannot be written.
    """
    out, rules = Path(out_dir), rules or ViewRules()
    table = Path(positions) if positions is not None else find_sidecar(Path(path)) if Path(path).is_dir() else None
    if table is not None and is_row_list(table, format):
        matched = match_pictures(
            table, images=path, format=format, exchanged=exchanged, sample=sample, limit=limit, rejects=rejects,
            progress=progress,
        )  # fmt: skip
        found, rejected = list(_of_rows(matched.wanted)), list(matched.rejected)
        report = matched.selection.report
        found = _whole_spheres(found, rejected)
    else:
        found, rejected = _of_folder(path, positions)
        found = _sampled(_whole_spheres(found, rejected), sample, limit)
        report = None
    memory = _journal(journal, out, rules) if journal is not None else None
    try:
        outcomes = map_items(
            partial(choose_view, out=out, rules=rules), found, unit="panorama", describe="choosing views",
            journal=memory, scheduler=scheduler, workers=workers, progress=progress,
        )  # fmt: skip
        groups = list(_groups(outcomes, dataset or Path(path).resolve().name, rules, rejected))
    finally:
        if memory is not None:
            memory.close()
    if not groups:
        first = f" The first: {rejected[0].item}: {rejected[0].reason}" if rejected else ""
        raise DataError(f"no usable panorama in {path}: {len(rejected)} are not used.{first}")
    benchmark = Benchmark(name or groups[0].dataset, tuple(groups), out)
    benchmark.write()
    return ImportedPanoramas(benchmark, report, tuple(rejected))


def is_row_list(table: Path, format: str = "auto") -> bool:
    """Whether a table of positions is a street-view list: it names a panorama's id, a heading or a province."""
    from signpost_kit.benchmark.lists.layout import describe_list

    if format != "auto":
        return True
    try:
        layout = describe_list(table)
    except DataError:
        return False
    return layout.format in ("street-view", "yfcc100m") or bool({"heading", "admin"} & set(layout.columns))


def _of_rows(wanted: Sequence[Any]) -> Iterator[Panorama]:
    for item in wanted:
        row = item.row
        yield Panorama(
            row.id, item.path, row.lat, row.lon, "list", row.heading, row.country, row.admin, row.city, row.captured
        )


def _of_folder(path: Path | str, positions: Path | str | None) -> tuple[list[Panorama], list[Rejected]]:
    photos = from_folder(path, positions=positions, check=False)
    found = []
    for group in photos.groups:
        made = group.generation["Original"]
        found.append(
            Panorama(
                group.source_id,
                photos.root / group.images["Original"],
                group.lat,
                group.lon,
                str(made["position_from"]),
                notes=tuple(made["notes"]),
            )
        )
    return found, list(photos.rejected)


def _whole_spheres(found: list[Panorama], rejected: list[Rejected]) -> list[Panorama]:
    """Those that can be turned into views, by their headers alone."""
    kept = []
    for item in found:
        try:
            about = read_metadata(item.path)
        except DataError as error:
            rejected.append(Rejected(item.source_id, getattr(error, "reason", str(error)), "unusable picture"))
            continue
        reason = why_no_panorama(about.width, about.height, sphere_tags(about.xmp))
        if reason:
            rejected.append(Rejected(item.source_id, reason, "no panorama"))
        else:
            kept.append(item)
    return kept


def _sampled(found: list[Panorama], sample: Sample | None, limit: int | None) -> list[Panorama]:
    if sample is None or not found:
        return found[:limit]
    if sample.by == "province":
        raise ConfigError(
            "a sample of panoramas by province needs a list with a column `province` in source.positions; "
            "set source.sample_by to country to draw by position"
        )
    import numpy as np

    from signpost_kit.benchmark.lists.places import countries_at
    from signpost_kit.benchmark.lists.sampling import draw, hash_ids, ranks

    countries = countries_at(np.array([p.lat for p in found]), np.array([p.lon for p in found]))
    rank = ranks(hash_ids([p.source_id for p in found]), sample.seed)
    strata = np.unique(countries, return_inverse=True)[1]
    chosen = np.flatnonzero(draw(strata, rank, share=sample.share, at_least=sample.at_least))
    if limit is not None:
        chosen = np.sort(chosen[np.argsort(rank[chosen], kind="stable")[:limit]])
    return [replace(found[i], country=str(countries[i])) for i in chosen]


def _groups(
    outcomes: Iterator[Outcome], dataset: str, rules: ViewRules, rejected: list[Rejected]
) -> Iterator[Group]:
    seen: dict[str, str] = {}
    for outcome in outcomes:
        item: Panorama = outcome.item
        if outcome.value is None:
            rejected.append(Rejected(item.source_id, outcome.error, "unusable picture"))
            continue
        chosen: _Chosen = outcome.value
        if chosen.source_hash in seen:
            reason = f"the same picture as {seen[chosen.source_hash]}"
            rejected.append(Rejected(item.source_id, reason, "duplicate"))
            continue
        seen[chosen.source_hash] = item.source_id
        yield _group(item, chosen, dataset, rules)


def choose_view(item: Panorama, *, out: Path, rules: ViewRules) -> _Chosen:
    """Make the views, read them, and write the one with the most valid strings as the Original.

    Of equal numbers the one read with more confidence in all, then the first angle. A panorama without any text
    keeps its first view: the screening says why it goes no further.

    Raises
    ------
    DataError
        The picture cannot be decoded.
    """
    try:
        return _choose(item, out, rules)
    except PictureError as error:
        raise DataError(error.reason) from error  # plain, for it may have to travel between processes


def _choose(item: Panorama, out: Path, rules: ViewRules) -> _Chosen:
    about = read_metadata(item.path)
    digest = image_hash(item.path)
    pixels = load_rgb(item.path, max_pixels=rules.max_pixels, max_side=_MAX_SIDE)
    if abs(pixels.shape[1] - 2 * pixels.shape[0]) > 2:  # turned upright by its EXIF
        raise DataError(f"upright it is {pixels.shape[1]} x {pixels.shape[0]} pixels, not 2:1")
    heading, heading_from = _heading(item, about)
    notes = list(item.notes)
    if not edges_meet(pixels):
        notes.append("its left and right edges do not meet: perhaps no panorama of the whole sphere")
    if pixels.shape[1] < _COARSE:
        notes.append(f"only {about.width} pixels around: its views are enlarged")
    best: tuple[tuple[float, float], float, bytes] | None = None
    strings: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="signpost-views-") as folder:
        for angle in rules.angles:
            data = encode_png(view(pixels, angle, heading=heading, field=rules.field, size=rules.size))
            count, confidence = _valid_strings(data, Path(folder) / f"{angle:g}.png", rules)
            strings[f"{angle:g}"] = count
            if best is None or (count, confidence) > best[0]:
                best = (count, confidence), angle, data
    if best is None:
        raise ConfigError("no angles are given for the views of a panorama")
    group_id = f"photo-{digest[:12]}"
    relative = f"images/Original/{group_id}.png"
    write_bytes(out / relative, best[2])
    size = about.width, about.height
    return _Chosen(
        group_id, relative, digest, about.mime, size, best[1], heading, heading_from, strings, tuple(notes)
    )


def _valid_strings(data: bytes, path: Path, rules: ViewRules) -> tuple[int, float]:
    """How many strings count, and the sum of their confidences. Read from a file, as the screening will read it."""
    path.write_bytes(data)
    lines = read_text(path, engine=rules.engine, settings=rules.settings)
    judged = screen(lines, min_confidence=rules.min_confidence, min_chars=rules.min_chars)
    kept = [item.line.confidence for item in judged if item.kept]
    return len(kept), round(sum(kept), 6)


def _heading(item: Panorama, about: Metadata) -> tuple[float | None, str]:
    """Compass direction of the picture's middle, and who says so: the list, XMP (GPano), EXIF (true north only)."""
    if item.heading is not None:
        return item.heading, "list"
    tagged = sphere_tags(about.xmp).heading
    if tagged is not None:
        return tagged, "xmp"
    reference = about.gps.get(16)
    reference = reference.decode("latin-1") if isinstance(reference, bytes) else str(reference or "")
    try:
        direction = float(about.gps[17])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None, ""
    if reference.strip("\0 ").upper() == "T" and 0 <= direction <= 360:
        return direction % 360, "exif"
    return None, ""


def _journal(path: Path, out: Path, rules: ViewRules) -> Journal:
    from signpost_kit.ocr.engines import engine_signature

    signature = engine_signature(rules.engine, rules.settings or OcrSettings())

    def key(item: Panorama) -> tuple[str, str]:
        stat = item.path.stat()
        return item.source_id, inputs_hash(
            str(item.path), stat.st_size, stat.st_mtime_ns, item.heading, item.notes, rules, signature
        )

    def usable(_: Panorama, chosen: _Chosen) -> bool:
        return (out / chosen.relative).is_file()

    return Journal(path, key=key, decode=msgspec.json.Decoder(_Chosen).decode, usable=usable)


def _group(item: Panorama, chosen: _Chosen, dataset: str, rules: ViewRules) -> Group:
    record: dict[str, Any] = {
        "editor": "panorama view",
        "position_from": item.position_from,
        "notes": list(chosen.notes),
        "source_hash": chosen.source_hash,
        "source_type": chosen.mime,
        "source_size": list(chosen.size),
        "angle": chosen.angle,
        "field": rules.field,
        "size": list(rules.size),
        "strings": dict(chosen.strings),
    }
    if chosen.heading is not None:
        record |= {"heading": chosen.heading, "heading_from": chosen.heading_from, "bearing": chosen.angle}
    if item.captured:
        record["captured"] = item.captured
    return Group(
        group_id=chosen.group_id,
        dataset=dataset,
        lat=item.lat,
        lon=item.lon,
        source_id=item.source_id,
        city=item.city,
        admin=item.admin,
        country=item.country,
        images={"Original": chosen.relative},
        generation={"Original": record},
    )
