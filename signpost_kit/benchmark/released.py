"""The SIGNPOST release as a benchmark: read it from its folder, with or without its pictures.

    <root>/<dataset>/  metadata/<dataset>_gt.tsv · attacks.jsonl · taxonomy_labels.jsonl · filtered_images/ ·
                       images/<Variant>/ · images/benchmark_meta.jsonl · results/<model>/ · probing/ · defense/ ·
                       generalization/
    <root>/            geocode_cache.json · taxonomy_annotations.csv (these may also lie in a data set's folder)

Written again by :mod:`signpost_kit.benchmark.release_write`; replies are read and written by the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.benchmark.groups import Benchmark, Group, Span
from signpost_kit.benchmark.photos import Rejected
from signpost_kit.benchmark.release_lines import (
    image_stem,
    last_of_each,
    read_cache,
    read_jsonl,
    read_positions,
)
from signpost_kit.benchmark.release_names import Pictures, edited_name, leads_out
from signpost_kit.benchmark.release_records import KINDS, Cache, Line, group_of, spans_of, variant_of
from signpost_kit.errors import DataError
from signpost_kit.frames import EDITED_VARIANTS, VARIANTS

if TYPE_CHECKING:
    from signpost_kit.benchmark.results_jsonl import Problem

__all__ = ["ANNOTATIONS", "Released", "check_release", "is_complete", "read_release"]

ATTACKS, LABELS, META, CACHE = "attacks.jsonl", "taxonomy_labels.jsonl", "benchmark_meta", "geocode_cache.json"
ANNOTATIONS = "taxonomy_annotations.csv"
_OTHER_TASKS = ("probing", "defense", "generalization")
_LAYOUT = f"expected <folder>/<dataset>/{ATTACKS} and <folder>/<dataset>/metadata/<dataset>_gt.tsv"


@dataclass(frozen=True)
class Released:
    """A release: its groups, and all that could not be used with the reason."""

    benchmark: Benchmark
    """Its root is the release's folder; images are those that are there."""
    rejected: tuple[Rejected, ...]
    problems: tuple[Problem, ...]
    """Lines that could not be read."""
    missing: dict[str, dict[str, int]] = field(default_factory=dict)
    """Data set -> variant -> groups whose picture is not there; empty when pictures were not looked for."""
    geocode_cache: Cache = field(default_factory=dict)
    other_files: tuple[str, ...] = ()
    """Paths of what is kept as it is: human tiers, replies to other tasks, construction metadata."""
    n_repeated: int = 0
    """Lines that a later line about the same thing replaced."""

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups, data set by data set, in the order of attacks.jsonl."""
        return self.benchmark.groups

    def summary(self) -> list[str]:
        """What was read and what is missing, one line each."""
        counts = Counter(group.dataset for group in self.groups)
        lines = [f"{len(self.groups)} groups: " + ", ".join(f"{name} {n}" for name, n in counts.items())]
        lines += [
            f"{dataset}: pictures missing: " + ", ".join(f"{variant} {n}" for variant, n in by_variant.items())
            for dataset, by_variant in self.missing.items()
        ]
        reasons = Counter(item.kind for item in self.rejected)
        if reasons:
            lines.append("left out: " + ", ".join(f"{kind} {n}" for kind, n in reasons.most_common()))
        return [*lines, *(f"left out: {problem}" for problem in self.problems)]


def is_complete(group: Group, *, pictures: bool = True) -> bool:
    """Whether nothing is left to build: texts with three replacements each, a tier, (`pictures`) five pictures."""
    texts = bool(group.spans) and all(set(KINDS) <= set(span.replacements) for span in group.spans)
    return texts and bool(group.tier) and (not pictures or all(variant in group.images for variant in VARIANTS))


def check_release(path: Path | str | None) -> None:
    """Cheap look at a release's folder before a run starts.

    Raises
    ------
    DataError
        No folder is given, it is not there, or it holds no data set.
    """
    if not path:
        raise DataError("the release's folder is not given: add --set source.path=FOLDER")
    _datasets(Path(path))


def read_release(
    root: Path | str,
    *,
    name: str = "signpost",
    datasets: Iterable[str] | None = None,
    pictures: bool = True,
    limit: int | None = None,
) -> Released:
    """Read a release, or one data set's folder of it.

    Parameters
    ----------
    root
        The folder that holds the data sets' folders (or one of them, or a folder whose `data` holds them).
    name
        Of the benchmark.
    datasets
        Only these; None: all there are.
    pictures
        Look for the pictures. Without them only metadata is read, and no group has images.
    limit
        At most this many groups of each data set.

    Raises
    ------
    DataError
        There is no release, an unknown data set is asked for, or the geocoding cache is damaged.
    """
    base, folders = _datasets(Path(root))
    if datasets is not None:
        wanted = list(datasets)
        if unknown := [d for d in wanted if d not in folders]:
            raise DataError(f"the release {base} has no data set {unknown[0]!r}; it has: {', '.join(folders)}")
        folders = [folder for folder in folders if folder in wanted]
    common = _cache(base)
    found = _Reading(base, pictures, limit)
    for folder in folders:
        found.read(folder, common)
    benchmark = Benchmark(name=name, groups=tuple(found.groups.values()), root=base)
    return Released(
        benchmark=benchmark,
        rejected=tuple(found.rejected),
        problems=tuple(found.problems),
        missing={dataset: dict(counts) for dataset, counts in found.missing.items()},
        geocode_cache=common | found.cache,
        other_files=tuple(_other_files(base, folders)),
        n_repeated=found.n_repeated,
    )


def _datasets(root: Path) -> tuple[Path, list[str]]:
    """The folder that holds the data sets, and their names."""
    if not root.is_dir():
        what = "is a file, not a folder" if root.exists() else "does not exist"
        raise DataError(f"the release's folder {root} {what}; {_LAYOUT}")
    if _is_dataset(root):
        return root.resolve().parent, [root.resolve().name]
    for base in (root, root / "data", root / "Data"):
        if base.is_dir() and (names := sorted(p.name for p in base.iterdir() if _is_dataset(p))):
            return base, names
    raise DataError(f"{root} holds no released data set; {_LAYOUT}")


def _is_dataset(folder: Path) -> bool:
    return (folder / ATTACKS).is_file() or (folder / LABELS).is_file()


def _other_files(base: Path, folders: list[str]) -> list[str]:
    patterns = [ANNOTATIONS, "metadata/*_clean_meta.jsonl"]
    for task in _OTHER_TASKS:
        patterns += [f"{task}/**/*.jsonl", f"results/*/{task}/*.jsonl"]
    found = [path for folder in folders for pattern in patterns for path in sorted((base / folder).glob(pattern))]
    if (base / ANNOTATIONS).is_file():
        found.append(base / ANNOTATIONS)
    return [path.relative_to(base).as_posix() for path in found if path.is_file()]


def _cache(folder: Path) -> dict[str, Any]:
    path = folder / CACHE
    return read_cache(path) if path.is_file() else {}


class _Reading:
    """Data set by data set."""

    def __init__(self, base: Path, pictures: bool, limit: int | None) -> None:
        self.base, self.pictures, self.limit = base, pictures, limit
        self.groups: dict[str, Group] = {}
        self.rejected: list[Rejected] = []
        self.problems: list[Problem] = []
        self.missing: dict[str, Counter[str]] = {}
        self.cache: dict[str, Any] = {}
        self.n_repeated = 0

    def read(self, folder: str, common: Cache) -> None:
        path = self.base / folder
        own = _cache(path)
        self.cache |= own
        cache = {**common, **own}
        positions = self._positions(path)
        labels = self._last(path / LABELS, "base_id")
        attacks = self._last(path / ATTACKS, "original_filename") or _from_labels(labels)
        meta = self._meta(path / "images")
        names = self._names(path / "metadata")
        pictures = Pictures(self.base, folder) if self.pictures else None
        used, n = set(), 0
        for original, attack in attacks.items():
            base = image_stem(original)
            tags = (base, original, original.rpartition(".")[0], base.rpartition(".")[0])
            tag = next((t for t in tags if t in labels), "")
            used.add(tag)
            item = f"{folder}/{original}"
            place = next((positions[k] for k in (original, base) if k in positions), "has no row in the metadata")
            if self.limit is not None and n >= self.limit:
                continue
            if leads_out(original):
                self._reject(item, "its file name leads out of the release's folder", "unusable name")
                continue
            if isinstance(place, str):
                self._reject(item, place, "no position" if "row" in place else "unusable position")
                continue
            try:
                group = group_of(
                    attack,
                    folder=folder,
                    position=place,
                    label=labels.get(tag),
                    pictures=meta.get(original, {}),
                    images=_images(pictures, attack, original, meta.get(original, {})),
                    cache=cache,
                    names=names.get(original) or names.get(base) or {},
                )
            except DataError as error:
                self._reject(item, str(error), "unusable line")
                continue
            n += 1
            self._add(group, folder, item)
        for tag in labels.keys() - used if attacks else ():
            self._reject(f"{folder}/{tag}", f"has a tier but no line in {ATTACKS}", "tier without texts")

    def _add(self, group: Group, folder: str, item: str) -> None:
        if group.group_id in self.groups:
            self._reject(item, f"the id {group.group_id!r} stands twice in the release", "repeated id")
            return
        self.groups[group.group_id] = group
        if self.pictures:
            for variant in VARIANTS:
                if variant not in group.images:
                    self.missing.setdefault(folder, Counter())[variant] += 1

    def _reject(self, item: str, reason: str, kind: str) -> None:
        self.rejected.append(Rejected(item, reason, kind))

    def _last(self, path: Path, key: str) -> dict[str, Line]:
        if not path.is_file():
            return {}
        lines, n = last_of_each(read_jsonl(path, self.problems), lambda line: _text(line.get(key)))
        self.n_repeated += n
        return lines

    def _positions(self, path: Path) -> dict[str, tuple[float, float] | str]:
        folder = path / "metadata"
        files = sorted(folder.glob("*_gt.tsv")) or sorted(folder.glob("*.tsv"))
        found: dict[str, tuple[float, float] | str] = {}
        for file in files:
            found |= read_positions(file)
        return found

    def _meta(self, folder: Path) -> dict[str, dict[str, Line]]:
        """Lines by original file and variant; runs that made single variants left files of their own."""
        found: dict[str, dict[str, Line]] = {}
        for path in sorted(folder.glob(f"{META}*.jsonl"), reverse=True):
            lines, n = last_of_each(
                read_jsonl(path, self.problems),
                lambda line: (_text(line.get("original_source")), variant_of(line.get("attack_type"))),
            )
            self.n_repeated += n
            for (original, variant), line in lines.items():
                if original and variant:
                    found.setdefault(original, {})[variant] = line
        return found

    def _names(self, folder: Path) -> dict[str, dict[str, str]]:
        """Place names that the construction of the release used, where they were kept."""
        found: dict[str, dict[str, str]] = {}
        for path in sorted(folder.glob("*_clean_meta.jsonl")):
            for line in read_jsonl(path, self.problems):
                country = _text(line.get("country"))
                names = {
                    "city": _text(line.get("city")),
                    "admin": _text(line.get("province")),
                    "country": country.upper() if len(country) == 2 else _country_code(country),
                }
                found[_text(line.get("filename"))] = names
        return found


def _images(pictures: Pictures | None, attack: Line, original: str, meta: dict[str, Line]) -> dict[str, str]:
    if pictures is None:
        return {}
    stem = original.rpartition(".")[0] or original
    bases = list(dict.fromkeys((_without_suffix(original), stem)))
    found = {"Original": next((p for base in bases if (p := pictures.original(original, base))), "")}
    plain = Group("", "", 0.0, 0.0, spans=_spans_of(attack))
    for variant in EDITED_VARIANTS:
        names = [_text(meta.get(variant, {}).get("filename"))]
        names += [edited_name(base, plain, variant) for base in bases]
        found[variant] = next((p for base in bases if (p := pictures.edited(variant, names, base))), "")
    return {variant: path for variant, path in found.items() if path}


def _spans_of(attack: Line) -> tuple[Span, ...]:
    try:
        return spans_of(attack)
    except DataError:
        return ()  # the line is rejected with this reason when the group is made


def _without_suffix(original: str) -> str:
    last = original.rpartition("/")[2]
    return original[: len(original) - len(last)] + image_stem(last)


def _from_labels(labels: dict[str, Line]) -> dict[str, Line]:
    """Lines like those of attacks.jsonl, where only the labels were handed on: one text, one replacement."""
    return {
        base: {
            "original_filename": base,
            "texts": [
                {
                    "original_text": _text(label.get("original_text")),
                    "text_location": _text(label.get("text_location")),
                    "attacks": {"adversarial": text} if (text := _text(label.get("adversarial_text"))) else {},
                }
            ],
        }
        for base, label in labels.items()
    }


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _country_code(name: str) -> str:
    if not name:
        return ""
    from signpost_kit.geocoding.countries import countries_named
    from signpost_kit.normal_form import fold

    found = countries_named(fold(name))
    return found[0].country if len(found) == 1 else ""
