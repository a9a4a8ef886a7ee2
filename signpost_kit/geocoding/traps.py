"""Where the adversarial texts of a benchmark point: one trap a group, and how sure each one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from signpost_kit.benchmark.groups import Group, Trap
from signpost_kit.geocoding.base import GeocodingStopped, LookupFailed, NothingToAsk, NotKept
from signpost_kit.geocoding.cache import Entry
from signpost_kit.geocoding.lookups import Finder

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "STATUSES", "Targets", "adversarial_text", "find_targets", "released_targets"]

STATUSES = ("found", "nothing", "not kept", "not asked", "failed", "no text")
"""What became of a group's text: a target; nothing found; not among the kept answers; nothing to ask, or the server
does not take it; could not be looked up; the group has no adversarial text."""

COLUMNS = (
    *("dataset", "group_id", "source_id", "lat", "lon", "text", "query", "status", "reason"),
    *("name", "trap_lat", "trap_lon"),
    *("country", "continent", "kind", "candidates", "homonyms", "ambiguous", "farthest_km", "km_from_photo"),
    *("geocoder", "origin"),
)
"""Of the `targets` table, one row a group. `lat`, `lon`: of the photo. `candidates`: how many places the geocoder
gave. `homonyms`: those called like the first that lie more than 100 km from it; `farthest_km` is the distance
of the farthest. `ambiguous`: one of them is about as prominent. `km_from_photo`: from the trap to the photo."""


@dataclass(frozen=True)
class Targets:
    """What came of looking up every group's text."""

    groups: tuple[Group, ...]
    """With their traps."""
    table: pd.DataFrame
    """:data:`COLUMNS`."""
    entries: tuple[Entry, ...]
    """The answers that were used, each once: kept, they give the same traps again without asking."""


def adversarial_text(group: Group) -> str:
    """The adversarial text of the group's representative span (highest tier, then longest); empty without one."""
    span = group.representative
    return span.replacements.get("adversarial", "") if span else ""


def find_targets(
    groups: Sequence[Group], finder: Finder, *, failures: str = "stop", progress: bool = False
) -> Targets:
    """Look every different text up once and give each group its trap: the first candidate, as in the study.

    A group without a target keeps its place in the benchmark and leaves TFR and TDR.

    Parameters
    ----------
    failures
        `stop`: texts that could not be looked up, also at a second try, end it (what was answered is kept);
        `without_trap`: their groups go on without a trap.
    progress
        Show a bar; a server is asked about once a second.

    Raises
    ------
    GeocodingStopped
        Nothing more can be asked, or `failures` is `stop` and some texts failed.
    """
    texts = list(dict.fromkeys(text for group in groups if (text := adversarial_text(group)).strip()))
    answers = _look_up(texts, finder, progress=progress)
    again = [text for text, answer in answers.items() if _may_go_well(answer)]
    if again:
        answers |= _look_up(again, finder, progress=progress)
    broken = [str(answer) for answer in answers.values() if _may_go_well(answer)]
    found = {text: answer for text, answer in answers.items() if isinstance(answer, Entry)}
    if broken and failures == "stop":
        raise GeocodingStopped(
            f"{len(broken)} of {len(texts)} texts could not be looked up, {len(found)} are answered and kept. Run "
            "again to ask only for the missing ones, or go on without their traps with --set "
            f"targets.failures=without_trap. The first: {broken[0]}"
        )
    judged = [_judge(group, finder, answers.get(adversarial_text(group))) for group in groups]
    table = _frame([row for _, row in judged])
    return Targets(tuple(group for group, _ in judged), table, tuple(found.values()))


def released_targets(groups: Sequence[Group]) -> pd.DataFrame:
    """The `targets` table of groups whose traps are known already (a release): no text is looked up."""
    from signpost_kit.geo import haversine_km

    rows = []
    for group in groups:
        row = _plain_row(group)
        trap = group.trap
        if trap is None:
            row |= {"status": "nothing", "reason": "the release names no target; stays without a trap"}
        else:
            row |= {
                "status": "found",
                "name": trap.name,
                "trap_lat": trap.lat,
                "trap_lon": trap.lon,
                "candidates": 1,
            }
            row |= {"query": trap.query, "geocoder": trap.geocoder or "release", "origin": "release"}
            row["km_from_photo"] = float(haversine_km(group.lat, group.lon, trap.lat, trap.lon))
        rows.append(row)
    return _frame(rows)


def _plain_row(group: Group) -> dict[str, Any]:
    """What a row of the table says before anything is looked up."""
    row: dict[str, Any] = dict.fromkeys(COLUMNS, "")
    row |= {"dataset": group.dataset, "group_id": group.group_id, "source_id": group.source_id}
    row |= {"text": adversarial_text(group), "lat": group.lat, "lon": group.lon}
    row |= {"candidates": 0, "homonyms": 0, "ambiguous": False}
    return row | dict.fromkeys(("trap_lat", "trap_lon", "farthest_km", "km_from_photo"), float("nan"))


def _look_up(texts: Sequence[str], finder: Finder, *, progress: bool) -> dict[str, Entry | LookupFailed]:
    """One after the other: a server is asked at its pace, and the gazetteer is quicker than a pool."""
    from signpost_kit.mapping import map_items

    outcomes = map_items(
        partial(_answer, finder), texts, scheduler="serial", unit="text", describe="targets", progress=progress
    )
    return {outcome.item: outcome.value for outcome in outcomes}


def _answer(finder: Finder, text: str) -> Entry | LookupFailed:
    try:
        return finder.find(text)
    except LookupFailed as error:
        return error


def _may_go_well(answer: Entry | LookupFailed) -> bool:
    return isinstance(answer, LookupFailed) and not isinstance(answer, NotKept | NothingToAsk)


def _judge(group: Group, finder: Finder, entry: Entry | LookupFailed | None) -> tuple[Group, dict[str, Any]]:
    """The group with its trap, and its row of the table."""
    text = adversarial_text(group)
    row = _plain_row(group)
    if not isinstance(entry, Entry):
        row["status"], row["reason"] = _without(entry)
        return replace(group, trap=None), row
    row |= {"query": entry.query, "geocoder": finder.name, "origin": entry.origin}
    if not entry.places:
        row |= {"status": "nothing", "reason": f"no target found for {text!r}; stays without a trap"}
        return replace(group, trap=None), row
    from signpost_kit.geo import haversine_km

    first, other = entry.places[0], finder.homonyms(entry)
    row |= {"status": "found", "name": first.display or first.name, "trap_lat": first.lat, "trap_lon": first.lon}
    row |= {"country": first.country, "continent": first.continent, "kind": first.kind}
    row |= {"candidates": len(entry.places), "homonyms": other.count, "ambiguous": other.ambiguous}
    row |= {"farthest_km": other.farthest_km}
    row["km_from_photo"] = float(haversine_km(group.lat, group.lon, first.lat, first.lon))
    trap = Trap(first.lat, first.lon, name=first.display or first.name, query=text, geocoder=finder.name)
    return replace(group, trap=trap), row


def _without(error: LookupFailed | None) -> tuple[str, str]:
    if error is None:
        return "no text", "no adversarial text; stays without a trap"
    status = "not kept" if isinstance(error, NotKept) else "failed" if _may_go_well(error) else "not asked"
    return status, f"{error}; stays without a trap"


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=pd.Index(COLUMNS))
