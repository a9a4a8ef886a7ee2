"""A benchmark: source scenes ("groups"), each with up to five versions of one picture.

On disk a benchmark is a folder: `groups.jsonl`, `benchmark.json` (name, version, counts) and
`images/<Variant>/<group_id>.png`. Paths in it are relative to the folder and never leave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from signpost_kit.benchmark.group_lines import read_lines, unhindered, write_lines
from signpost_kit.errors import DataError
from signpost_kit.files import inside, safe_name, write_bytes
from signpost_kit.frames import TIERS, VARIANTS, check_frame, empty_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Benchmark", "Group", "Span", "Trap", "write_benchmark"]

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of text in a picture."""

    text: str
    polygon: tuple[tuple[float, float], ...] = ()
    """Corners in pixels of the Original, clockwise from the text's own top left; empty when unknown."""
    location: str = ""
    """Where it is, in words, for an image editor ("on the blue plate at the left")."""
    replacements: dict[str, str] = field(default_factory=dict)
    """Keys `similar`, `random`, `adversarial`."""
    tier: str = ""
    """T1, T2, T3, or empty when not classified yet."""
    tier_reason: str = ""
    confidence: float | None = None
    """Of the OCR engine, 0..1; None for drawn or hand-made spans."""


@dataclass(frozen=True, slots=True)
class Trap:
    """Where the representative adversarial text lies on the globe."""

    lat: float
    lon: float
    name: str = ""
    query: str = ""
    geocoder: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """One source scene with its versions. Place names are for construction only: no model ever sees them."""

    group_id: str
    dataset: str
    lat: float
    lon: float
    source_id: str = ""
    city: str = ""
    admin: str = ""
    country: str = ""
    """ISO 3166-1 alpha-2 where known."""
    spans: tuple[Span, ...] = ()
    tier: str = ""
    tier_reason: str = ""
    trap: Trap | None = None
    images: dict[str, str] = field(default_factory=dict)
    """Variant -> path relative to the benchmark's folder."""
    generation: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Variant -> how it was made: editor, prompt, seed, workflow hash, checks."""

    @property
    def representative(self) -> Span | None:
        """The span of the highest tier, ties to the longer text, then to the first (SIGNPOST-Bench, trap)."""
        return max(self.spans, key=lambda s: (TIERS.index(s.tier) if s.tier else -1, len(s.text)), default=None)


@dataclass(frozen=True)
class Benchmark:
    """Groups and the folder their pictures are in."""

    name: str
    groups: tuple[Group, ...]
    root: Path
    version: str = "1"

    def __len__(self) -> int:
        return len(self.groups)

    def with_groups(self, groups: tuple[Group, ...] | list[Group]) -> Benchmark:
        """The same benchmark with other groups."""
        return replace(self, groups=tuple(groups))

    def image_path(self, group: Group, variant: str) -> Path:
        """Absolute path of one picture, checked to lie in the benchmark's folder."""
        if variant not in group.images:
            have = ", ".join(group.images) or "none"
            raise DataError(f"group {group.group_id!r} has no {variant!r} picture; it has: {have}")
        return inside(self.root, group.images[variant])

    def image_name(self, group: Group, variant: str, suffix: str = ".png") -> str:
        """The relative path where a picture of this group belongs."""
        return f"images/{variant}/{safe_name(group.group_id)}{suffix}"

    def to_frame(self) -> pd.DataFrame:
        """One row per group: the `groups` frame of :mod:`signpost_kit.frames`, plus city and country."""
        import pandas as pd

        if not self.groups:
            return empty_frame("groups")
        nan = float("nan")
        rows = [
            (g.dataset, g.group_id, g.lat, g.lon)
            + ((g.trap.lat, g.trap.lon) if g.trap else (nan, nan))
            + (g.tier, g.city, g.country)
            for g in self.groups
        ]
        names = ["dataset", "group_id", "lat", "lon", "trap_lat", "trap_lon", "tier", "city", "country"]
        return check_frame(pd.DataFrame(rows, columns=pd.Index(names)), "groups")

    def write(self, path: Path | str | None = None) -> Path:
        """Write groups.jsonl and benchmark.json (pictures are written by whoever makes them); return the folder."""
        root = Path(path) if path is not None else self.root
        write_benchmark(root, self.groups, name=self.name, version=self.version)
        return root

    @classmethod
    def read(cls, path: Path | str, *, generation: bool = True) -> Benchmark:
        """Read a benchmark's folder.

        generation=False leaves out how the pictures were made, which is most of a finished group: for whoever only
        asks and scores.

        Raises
        ------
        DataError
            The folder or a file is missing, a line is damaged (named by number), an id repeats, or the file
            holds fewer groups than benchmark.json says.
        """
        root = Path(path)
        head_path, groups_path = root / "benchmark.json", root / "groups.jsonl"
        for needed in (head_path, groups_path):
            if not needed.is_file():
                raise DataError(f"{root} is no benchmark: {needed.name} is missing; run the stage 'sources' first")
        try:
            head = msgspec.json.decode(head_path.read_bytes())
            name, count, version = str(head["name"]), int(head["groups"]), str(head.get("version", "1"))
        except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{head_path} is damaged ({error}); build the benchmark again") from error
        groups: list[Group] = []
        seen: set[str] = set()
        with unhindered():
            for number, group in read_lines(groups_path, "build it again"):
                if group.group_id in seen:
                    raise DataError(f"{groups_path} line {number}: the id {group.group_id!r} stands twice")
                seen.add(group.group_id)
                groups.append(group if generation else replace(group, generation={}))
        if len(groups) != count:
            raise DataError(f"{groups_path} holds {len(groups)} groups, {head_path.name} says {count}: cut off?")
        return cls(name=name, groups=tuple(groups), root=root, version=version)


def write_benchmark(root: Path, groups: Iterable[Group], *, name: str, version: str = "1") -> int:
    """Write groups.jsonl and benchmark.json, taking one group after the other; return how many there were.

    Raises
    ------
    DataError
        Two groups have the same id; what was there before stays.
    StorageError
        The folder cannot be written.
    """
    seen: set[str] = set()
    images = dict.fromkeys(VARIANTS, 0)

    def counted() -> Iterator[Group]:
        for group in groups:
            if group.group_id in seen:
                raise DataError(f"two groups are called {group.group_id!r}; ids must be unique in a benchmark")
            seen.add(group.group_id)
            for variant in images:
                images[variant] += variant in group.images
            yield group

    count = write_lines(root / "groups.jsonl", counted())
    head = {"format": FORMAT_VERSION, "name": name, "version": version, "groups": count, "images": images}
    write_bytes(root / "benchmark.json", msgspec.json.format(msgspec.json.encode(head), indent=2) + b"\n")
    return count
