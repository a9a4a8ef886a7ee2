"""A child of test_map_items.py: maps over rows of metadata, or takes groups through a stage, and tells its peak.

python map_items_rows.py WHAT ROWS FOLDER       WHAT: serial, threads, processes, journal, stage, load
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from signpost_kit.benchmark import Group, Span
from signpost_kit.mapping import Journal, map_items
from signpost_kit.stages.common import iter_groups, load_groups, publish_stage, save_groups

KINDS = ("similar", "random", "adversarial")


def rows(n: int) -> Iterator[dict[str, str]]:
    """Rows as a list of the field has them."""
    for i in range(n):
        yield {
            "id": f"{i:09}",
            "lat": f"{48 + i % 997 / 1000}",
            "lon": f"{2 + i % 991 / 1000}",
            "tags": "rue,gare" * 5,
        }


def to_group(row: dict[str, str]) -> Group:
    """What a reader of lists does with a row."""
    return Group(f"g{row['id']}", "rows", float(row["lat"]), float(row["lon"]), source_id=row["id"])


def with_spans(group: Group) -> Group:
    """A group as it stands after the replacements: three texts."""
    spans = tuple(
        Span(
            f"Rue {group.group_id} {k}",
            polygon=((10.25 + k, 20.5), (200.75, 21.0), (199.5, 60.25), (9.75, 59.0)),
            location="upper line, on the blue plate at the left",
            replacements={kind: f"{kind} {group.group_id} {k}" for kind in KINDS},
            tier="T2",
            tier_reason="road name (fr)",
            confidence=0.91,
        )
        for k in range(3)
    )
    return replace(group, spans=spans, tier="T2", images={"Original": f"images/Original/{group.group_id}.png"})


def key(row: dict[str, str]) -> tuple[str, str]:
    return row["id"], "v1"


def peak_mb() -> float:
    """Of this process since its start; what getrusage tells begins with the size of whoever started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 ** (2 if sys.platform == "darwin" else 1)


def main(what: str, n: int, folder: Path) -> None:
    run = SimpleNamespace(dir=folder, name="rows")
    start, done = time.perf_counter(), 0
    if what in ("stage", "load"):
        made = (with_spans(to_group(row)) for row in rows(n))
        save_groups(run, "first", made)  # type: ignore[arg-type]
        if what == "load":
            done = len(load_groups(run, "first"))  # type: ignore[arg-type]
        else:
            passed = (replace(group, tier="T1") for group in iter_groups(run, "first"))  # type: ignore[arg-type]
            save_groups(run, "second", passed)  # type: ignore[arg-type]
            done = publish_stage(run, "second")  # type: ignore[arg-type]
    else:
        scheduler = "threads" if what == "journal" else what
        journal = Journal(folder / "rows.sqlite", key=key) if what == "journal" else None
        outcomes = map_items(
            to_group, rows(n), scheduler=scheduler, workers=2, total=n, journal=journal, progress=False
        )
        done = sum(outcome.ok for outcome in outcomes)
        if journal is not None:
            journal.close()
    assert done == n
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps({"peak_mb": peak_mb(), "child_mb": children, "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
