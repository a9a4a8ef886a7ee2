"""One way to do the same thing to many items: here, in threads, in processes, or on a Dask cluster.

with Journal(run.dir / "stages" / "reading.sqlite", key=lambda path: (path.name, hash_file(path))) as journal:
    for outcome in map_items(read, paths, scheduler="processes", journal=journal):
        ...   # in the items' order; a killed call goes on where it was
"""

from __future__ import annotations

from signpost_kit.mapping.checks import check_compute
from signpost_kit.mapping.engine import SCHEDULERS, check_scheduler, map_items
from signpost_kit.mapping.journal import Journal, inputs_hash
from signpost_kit.mapping.outcome import Outcome, item_name

__all__ = [
    "SCHEDULERS",
    "Journal",
    "Outcome",
    "check_compute",
    "check_scheduler",
    "inputs_hash",
    "item_name",
    "map_items",
]
