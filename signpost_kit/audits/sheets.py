"""Sheets to fill in: a CSV for a spreadsheet program and a page with the pictures, for each annotator.

Annotators are blind: their files hold no group id, data set, variant, place or automatic tier, and the pictures in
the page carry no metadata. What belongs to an item stands in `key.csv`, which they do not get.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from signpost_kit.audits.cells import write_sheet
from signpost_kit.benchmark import Benchmark, Group
from signpost_kit.errors import DataError
from signpost_kit.files import atomic_path, hash_bytes

if TYPE_CHECKING:
    from PIL import Image

__all__ = [
    "EDITS",
    "IMAGES",
    "KEY_COLUMNS",
    "TIERS_AUDIT",
    "Question",
    "Sheets",
    "write_edit_sheets",
    "write_image_sheets",
    "write_tier_sheets",
]

TIERS_AUDIT, EDITS, IMAGES = "taxonomy", "edits", "images"
"""Names of the audits, of their folders too; the last one is of the second study."""
KEY_COLUMNS = ("item", "audit", "annotator", "dataset", "group_id", "variant", "tier_auto")
_SIDE = 640  # pixels of a picture in a page
_CROP_SIDE = 420
_QUALITY = 78
_MARK, _RIM = (255, 225, 0), (0, 0, 0)


@dataclass(frozen=True)
class Question:
    """One thing to judge, as a row of radio buttons."""

    name: str
    label: str
    choices: tuple[str, ...]
    help: str


QUESTIONS: dict[str, tuple[Question, ...]] = {
    TIERS_AUDIT: (
        Question(
            "tier",
            "Tier",
            ("T1", "T2", "T3"),
            "T1: could hang anywhere. T2: points to a language or a region. T3: names a place or one local thing. "
            "Where texts differ, the highest counts.",
        ),
    ),
    EDITS: (
        Question("naturalness", "Naturalness of the text", ("1", "2", "3", "4", "5"), "1 unnatural, 5 natural"),
        Question("artefacts", "Artefacts", ("1", "2", "3", "4", "5"), "1 none, 5 severe"),
        Question("context_damage", "Damage around the text", ("1", "2", "3", "4", "5"), "1 none, 5 severe"),
        Question(
            "readability", "Text can be read", ("full", "partial", "none"), "of the text that should stand there"
        ),
    ),
    IMAGES: (
        Question(
            "verdict",
            "Keep this picture?",
            ("keep", "exclude"),
            "Keep a view from the street, the right way up, of something that could be recognised. Exclude where "
            "text laid over it names the place or its coordinates, where there is nothing to recognise, or where "
            "it is taken from inside; write the reason into the remark.",
        ),
    ),
}
_LEADS = {TIERS_AUDIT: "Texts in the frames:", EDITS: "Texts that should stand there:", IMAGES: ""}


@dataclass(frozen=True)
class Sheets:
    """What was written for one audit."""

    folder: Path
    sheets: tuple[Path, ...]
    """For the annotators: CSV files."""
    pages: tuple[Path, ...]
    """For the annotators: pages with the pictures."""
    key: Path
    """Not for the annotators."""
    n: int
    """Items per sheet."""


@dataclass(frozen=True)
class _Item:
    name: str
    group: Group
    variant: str
    texts: tuple[str, ...]


def write_tier_sheets(
    benchmark: Benchmark, groups: Sequence[Group], folder: Path, *, annotators: int = 2, seed: int = 42
) -> Sheets:
    """Sheets of the taxonomy audit: `annotator<k>.csv` and `.html` in an order of their own, and `key.csv`.

    Parameters
    ----------
    groups
        As sampled by :func:`signpost_kit.audits.sample_tiers`.
    """
    items = [(group, "Original", tuple(span.text for span in group.spans)) for group in groups]
    return _write(benchmark, items, folder, TIERS_AUDIT, annotators=annotators, seed=seed)


def write_edit_sheets(
    benchmark: Benchmark, edits: Sequence[tuple[Group, str]], folder: Path, *, annotators: int = 1, seed: int = 42
) -> Sheets:
    """Sheets of the audit of edited pictures; the page shows the Original beside each.

    Parameters
    ----------
    edits
        As sampled by :func:`signpost_kit.audits.sample_edits`.
    """
    items = [
        (group, variant, tuple(span.replacements.get(variant.lower(), "") for span in group.spans))
        for group, variant in edits
    ]
    return _write(benchmark, items, folder, EDITS, annotators=annotators, seed=seed)


def write_image_sheets(
    pictures: Sequence[tuple[str, str, Path]], folder: Path, *, annotators: int = 1, seed: int = 42
) -> Sheets:
    """Sheets of the audit of the sites' pictures: keep or exclude, with the reason in the remark.

    Parameters
    ----------
    pictures
        (site, picture as it is called in the frames, file).
    """
    files = {(site, name): path for site, name, path in pictures}
    groups = [Group(name, site, 0.0, 0.0, images={"Original": name}) for site, name in files]
    items = [(group, "Original", ()) for group in groups]
    return _write(_Files(files), items, folder, IMAGES, annotators=annotators, seed=seed)


class _Pictures(Protocol):
    """What has the pictures of groups; a Benchmark is one."""

    def image_path(self, group: Group, variant: str) -> Path: ...


@dataclass(frozen=True)
class _Files:
    """Pictures that lie anywhere, by (dataset, group id)."""

    paths: Mapping[tuple[str, str], Path]

    def image_path(self, group: Group, variant: str) -> Path:
        return self.paths[group.dataset, group.group_id]


def _write(
    benchmark: _Pictures,
    chosen: Sequence[tuple[Group, str, tuple[str, ...]]],
    folder: Path,
    audit: str,
    *,
    annotators: int,
    seed: int,
) -> Sheets:
    if not chosen:
        raise DataError("there is nothing to put on the sheets: the sample is empty")
    # The mark of this very sample is part of every item's name, so that sheets of another draw are not mixed in.
    ids = "\n".join(f"{group.dataset}\t{group.group_id}\t{variant}" for group, variant, _ in chosen)
    mark = hash_bytes(f"{audit}\n{seed}\n{ids}".encode())[:4]
    columns = ["item", "texts", *(question.name for question in QUESTIONS[audit]), "remark"]
    sheets, pages, key = [], [], []
    for annotator in range(1, annotators + 1):
        order = np.random.default_rng([seed, annotator]).permutation(len(chosen))
        items = [_Item(f"{audit[0]}{annotator}-{mark}-{n:03d}", *chosen[i]) for n, i in enumerate(order, start=1)]
        stem = f"annotator{annotator}"
        rows = ({"item": item.name, "texts": " | ".join(item.texts)} for item in items)
        write_sheet(folder / f"{stem}.csv", columns, rows)
        _write_page(
            folder / f"{stem}.html", benchmark, items, audit=audit, sheet=f"{mark}-{annotator}", columns=columns
        )
        sheets.append(folder / f"{stem}.csv")
        pages.append(folder / f"{stem}.html")
        key += [_key_row(item, audit, annotator) for item in items]
    write_sheet(folder / "key.csv", KEY_COLUMNS, key)
    return Sheets(folder, tuple(sheets), tuple(pages), folder / "key.csv", len(chosen))


def _key_row(item: _Item, audit: str, annotator: int) -> dict[str, str]:
    group = item.group
    return {
        "item": item.name,
        "audit": audit,
        "annotator": str(annotator),
        "dataset": group.dataset,
        "group_id": group.group_id,
        "variant": item.variant,
        "tier_auto": group.tier if audit == TIERS_AUDIT else "",
    }


# --- the page -------------------------------------------------------------------------------------------------


def _write_page(
    path: Path, benchmark: _Pictures, items: Iterable[_Item], *, audit: str, sheet: str, columns: Sequence[str]
) -> None:
    """Written item by item: no more than one picture is in memory."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("signpost_kit.audits", "."), autoescape=True, undefined=StrictUndefined
    )
    stream = environment.get_template("page.html").stream(
        audit=audit,
        sheet=f"{audit}-{sheet}",
        questions=QUESTIONS[audit],
        lead=_LEADS[audit],
        columns=list(columns),
        items=(_shown(benchmark, item, audit) for item in items),
    )
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as out:
        out.writelines(stream)


def _shown(benchmark: _Pictures, item: _Item, audit: str) -> Mapping[str, Any]:
    group = item.group
    first = ("Original", item.variant) if audit == EDITS else ("Original",)
    pictures = []
    for variant in first:
        label = {"Original": "Before"}.get(variant, "After") if audit == EDITS else ""
        path = benchmark.image_path(group, variant)
        pictures += list(_pictures(path, group, label, mark=variant == "Original"))
    return {"name": item.name, "texts": [text for text in item.texts if text], "pictures": pictures}


def _pictures(path: Path, group: Group, label: str, *, mark: bool) -> Iterator[dict[str, str]]:
    """The picture with its texts marked, and that part enlarged. A mark would itself look like an edit: `mark`."""
    from signpost_kit.images import open_image

    image = open_image(path).convert("RGB")
    polygons = [span.polygon for span in group.spans if len(span.polygon) >= 3]
    yield {"label": label, "data": _encoded(_marked(image, polygons if mark else []), _SIDE)}
    if polygons:
        xs, ys = ([corner[axis] for polygon in polygons for corner in polygon] for axis in (0, 1))
        pad = 0.25 * max(max(xs) - min(xs), max(ys) - min(ys)) + 12
        box = (
            max(int(min(xs) - pad), 0),
            max(int(min(ys) - pad), 0),
            min(int(max(xs) + pad), image.width),
            min(int(max(ys) + pad), image.height),
        )
        if box[2] - box[0] >= 2 and box[3] - box[1] >= 2:
            yield {
                "label": f"{label} enlarged".strip(),
                "data": _encoded(image.crop(box), _CROP_SIDE, enlarge=True),
            }


def _marked(image: Image.Image, polygons: Sequence[Sequence[tuple[float, float]]]) -> Image.Image:
    """A frame around each text, outside of it, so that the letters stay as they are."""
    from PIL import ImageDraw

    if not polygons:
        return image
    marked = image.copy()
    pen = ImageDraw.Draw(marked)
    width = max(round(max(image.size) / 400), 2)
    for polygon in polygons:
        x, y = (sum(corner[axis] for corner in polygon) / len(polygon) for axis in (0, 1))
        gap = 3 * width
        outer = [(cx + gap * _sign(cx - x), cy + gap * _sign(cy - y)) for cx, cy in polygon]
        pen.line([*outer, outer[0]], fill=_RIM, width=2 * width + 1)  # seen on any ground
        pen.line([*outer, outer[0]], fill=_MARK, width=width)
    return marked


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _encoded(image: Image.Image, side: int, *, enlarge: bool = False) -> str:
    from PIL import Image as Pillow

    from signpost_kit.images import encode_jpeg

    scale = side / max(image.size)
    if scale < 1 or enlarge:
        scale = min(scale, 4.0)
        size = (max(round(image.width * scale), 1), max(round(image.height * scale), 1))
        image = image.resize(size, Pillow.Resampling.LANCZOS)
    return "data:image/jpeg;base64," + base64.b64encode(encode_jpeg(image, quality=_QUALITY)).decode("ascii")
