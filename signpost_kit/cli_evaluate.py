"""`signpost evaluate`: every stage that asks models, one after the other, and what each of them did."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["ask_all"]


def ask_all(run: Run, *, warn: Callable[[str], None], say: Callable[[str], None] = print) -> bool:
    """Do all stages that ask something; False when some of it could not be asked (each reason is told)."""
    from signpost_kit.cli_estimate import show_costs
    from signpost_kit.preflight import asking_stages

    complete = True
    for stage in asking_stages(run):
        run.ensure(stage)
        entry = run.stage_record(stage) or {}
        counts = ", ".join(f"{key} {value}" for key, value in entry.get("counts", {}).items())
        say(f"{stage}: {counts or 'nothing to ask'}")
        for item in entry.get("rejected", []):
            warn(f"signpost: {stage}: {item['item']} was not asked any further: {item['reason']}")
        costs = "costs" if stage == "evaluation" else f"costs_{stage}"
        if f"tables/{costs}.csv" in entry.get("outputs", []):
            say(show_costs(run.table(costs).to_dict("records")))  # pyright: ignore[reportArgumentType]
        complete = complete and not entry.get("rejected")
    return complete
