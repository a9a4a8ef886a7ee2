"""Write a benchmark in the SIGNPOST release's layout, and bring a release's pictures into a run.

A benchmark that was written is read back as it was: `read_release(write_release(b, folder).folder)` has b's groups.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from signpost_kit.benchmark.groups import Benchmark, Group
from signpost_kit.benchmark.photos import Rejected
from signpost_kit.benchmark.release_lines import image_stem, positions_text, write_jsonl
from signpost_kit.benchmark.release_names import edited_name, leads_out, readable_picture, unused_name
from signpost_kit.benchmark.release_records import (
    attack_line,
    cache_key,
    label_line,
    original_name,
    picture_line,
    with_original_name,
)
from signpost_kit.benchmark.released import ATTACKS, CACHE, LABELS, META, Released
from signpost_kit.errors import DataError
from signpost_kit.files import atomic_path, inside, safe_name, write_bytes, write_text
from signpost_kit.frames import VARIANTS

__all__ = ["Adopted", "Written", "adopt_release", "carry_files", "write_release"]


@dataclass(frozen=True)
class Written:
    """What was written."""

    folder: Path
    datasets: tuple[str, ...]
    """Names of the data sets' folders."""
    n_groups: int
    n_pictures: int
    missing: dict[str, int]
    """Variant -> groups whose picture was not there to write; empty when pictures were not asked for."""


def write_release(
    benchmark: Benchmark,
    folder: Path | str,
    *,
    pictures: bool = True,
    geocode_cache: Mapping[str, Any] | None = None,
) -> Written:
    """Write every data set of a benchmark in the release's layout.

    Parameters
    ----------
    folder
        May exist; files of the same names are replaced, each whole or not at all.
    pictures
        Copy the pictures too.
    geocode_cache
        Answers to keep beside those of the groups' traps, such as "nothing found" (None).

    Raises
    ------
    StorageError
        The folder cannot be written.
    """
    root = Path(folder)
    by_folder: dict[str, list[Group]] = {}
    for group in benchmark.groups:
        by_folder.setdefault(safe_name(group.dataset), []).append(group)
    cache = _cache_of(benchmark.groups, geocode_cache or {})
    n_pictures, missing = 0, Counter[str]()
    for name, groups in by_folder.items():
        named = _named(groups)
        n, gone = _write_dataset(benchmark.root, root / name, named, cache, pictures=pictures)
        n_pictures += n
        missing += gone
    write_bytes(root / CACHE, msgspec.json.format(msgspec.json.encode(cache), indent=1) + b"\n")
    ordered = {variant: missing[variant] for variant in VARIANTS if missing[variant]}
    return Written(root, tuple(by_folder), len(benchmark.groups), n_pictures, ordered)


def _cache_of(groups: Iterable[Group], given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given and the groups' traps, by text; of two traps for one text the first by name and place."""
    found: dict[str, list[tuple[str, float, float, str]]] = {}
    for group in groups:
        line, trap = label_line(group, "", {}), group.trap
        if trap is not None and line is not None and (key := cache_key(str(line["adversarial_text"]))):
            found.setdefault(key, []).append((trap.name, trap.lat, trap.lon, trap.geocoder))
    cache = dict(given)
    for key, traps in found.items():
        display, lat, lon, geocoder = min(traps)
        entry = {"lat": lat, "lon": lon, "display": display}
        cache.setdefault(key, entry if geocoder == "nominatim" else entry | {"geocoder": geocoder})
    return dict(sorted(cache.items()))


def _named(groups: Iterable[Group]) -> list[Group]:
    """The groups, each with a file name of its own that stays in its folder."""
    taken: set[str] = set()
    out = []
    for group in groups:
        name = original_name(group)
        fit = unused_name(safe_name(name) if leads_out(name) else name, taken, group.group_id)
        out.append(group if fit == name else with_original_name(group, fit))
    return out


def _write_dataset(
    source: Path, folder: Path, groups: list[Group], cache: dict[str, Any], *, pictures: bool
) -> tuple[int, Counter[str]]:
    name = folder.name
    labels = (label_line(group, name, cache) for group in groups)
    write_jsonl(folder / ATTACKS, (attack_line(group, name) for group in groups))
    write_jsonl(folder / LABELS, (line for line in labels if line is not None))
    rows = ((original_name(group), group.lat, group.lon) for group in groups)
    write_text(folder / "metadata" / f"{name}_gt.tsv", positions_text(rows))
    meta, n, missing, taken = [], 0, Counter[str](), set()
    for group in groups:
        for variant in VARIANTS:
            place = _place(group, name, variant, taken)
            if variant != "Original" and (variant in group.generation or variant in group.images):
                meta.append(picture_line(group, variant, place.removeprefix(f"images/{variant}/")))
            if not pictures:
                continue
            if _copy(source, group, variant, folder, place):
                n += 1
            else:
                missing[variant] += 1
    write_jsonl(folder / "images" / f"{META}.jsonl", meta)
    return n, missing


def _place(group: Group, name: str, variant: str, taken: set[str]) -> str:
    """Where a picture goes in its data set's folder: where it was in the release it came from, else by name."""
    path = group.images.get(variant, "")
    original = original_name(group)
    suffix = path[len(path) - (len(path.rpartition(".")[2]) + 1) :] if "." in path.rpartition("/")[2] else ".png"
    own = ("filtered_images", "images/Original") if variant == "Original" else (f"images/{variant}",)
    for place in own:
        if path.startswith(f"{name}/{place}/") and not leads_out(path):
            return path.removeprefix(f"{name}/")
    base = original[: len(original) - len(original.rpartition("/")[2])] + image_stem(original)
    if variant != "Original":
        return f"images/{variant}/" + unused_name(edited_name(base, group, variant, suffix), taken, group.group_id)
    if path and not original.lower().endswith(suffix.lower()):
        return f"images/Original/{base}{suffix}"
    return f"filtered_images/{original}"


def _copy(source: Path, group: Group, variant: str, folder: Path, place: str) -> bool:
    if variant not in group.images:
        return False
    picture = readable_picture(source, source / group.images[variant])
    if not picture.is_file():
        return False
    _bring(picture, inside(folder, place), link=False)
    return True


def _bring(source: Path, target: Path, *, link: bool) -> None:
    """Make `target` the same file as `source`, or a copy of it; whole or not at all."""
    if target.exists() and target.samefile(source):
        return
    with atomic_path(target) as temporary:
        if link:
            try:
                temporary.unlink()
                os.link(source, temporary)
                return
            except OSError:
                pass  # another disk, or one without links
        shutil.copyfile(source, temporary)


# --- into a run -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Adopted:
    """A release as a run's benchmark."""

    groups: tuple[Group, ...]
    """Their images lie in the run's benchmark folder."""
    rejected: tuple[Rejected, ...]
    missing: dict[str, int]
    """Variant -> groups whose picture is not there."""


def adopt_release(released: Released, folder: Path) -> Adopted:
    """Bring a release's pictures into a benchmark's folder; groups keep texts, tiers, replacements and traps.

    Pictures are linked where the disk allows it, else copied. A group without any picture goes no further, unless
    the whole release has none (metadata and replies alone can still be scored).

    Raises
    ------
    StorageError
        The folder cannot be written.
    """
    target = Benchmark(name=folder.name, groups=(), root=folder)
    any_picture = any(group.images for group in released.groups)
    kept: list[Group] = []
    rejected: list[Rejected] = []
    missing = Counter[str]()
    for group in released.groups:
        images: dict[str, str] = {}
        faults: list[str] = []
        for variant, path in group.images.items():
            try:
                picture = readable_picture(released.benchmark.root, released.benchmark.root / path)
            except DataError as error:
                faults.append(str(error))
                continue
            if not picture.is_file() or picture.stat().st_size == 0:
                faults.append(f"{path} is empty or gone")
                continue
            suffix = Path(path).suffix.lower() or ".png"
            images[variant] = target.image_name(group, variant, suffix)
            _bring(picture, folder / images[variant], link=True)
        missing.update(variant for variant in VARIANTS if variant not in images)
        if any_picture and not images:
            reason = "; ".join(faults) or "none of its five pictures is there"
            rejected.append(Rejected(f"{group.dataset}/{group.source_id}", reason, "no picture"))
            continue
        kept.append(replace(group, images=images))
    ordered = {variant: missing[variant] for variant in VARIANTS if missing[variant]}
    return Adopted(tuple(kept), tuple(rejected), ordered)


def carry_files(root: Path, relative: Iterable[str], folder: Path) -> list[Path]:
    """Copy files of a release as they are (annotations, replies to other tasks); return where they went."""
    done = []
    for name in relative:
        target = inside(folder, name)
        _bring(readable_picture(root, root / name), target, link=False)
        done.append(target)
    return done
