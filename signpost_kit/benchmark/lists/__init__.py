"""Lists of pictures with positions, as the field publishes them: recognised, checked, sampled, matched to files."""

from __future__ import annotations

from signpost_kit.benchmark.lists.layout import FORMATS, Layout, describe_list
from signpost_kit.benchmark.lists.report import Check, ListReport, RejectedRow
from signpost_kit.benchmark.lists.sampling import Sample
from signpost_kit.benchmark.lists.selection import ListRow, Selection, check_list, select

__all__ = [
    "FORMATS",
    "Check",
    "Layout",
    "ListReport",
    "ListRow",
    "RejectedRow",
    "Sample",
    "Selection",
    "check_list",
    "describe_list",
    "select",
]
