"""The stage that says how tightly each text is tied to its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from signpost_kit.stages.common import count_groups, iter_groups, publish_stage, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.benchmark import Group
    from signpost_kit.run import Run

__all__ = ["reasons", "taxonomy"]


def taxonomy(run: Run) -> None:
    """Give every span a tier with a reason; a group has the tier of its highest span."""
    from signpost_kit.mapping import map_items
    from signpost_kit.stages.released import passed_on
    from signpost_kit.taxonomy import classify_group

    if passed_on(run, "taxonomy"):
        return
    compute, tiers = run.profile.compute, Counter[str]()

    def judged() -> Iterator[Group]:
        outcomes = map_items(
            classify_group,
            iter_groups(run, "screening"),
            scheduler=compute.scheduler,
            workers=compute.workers,
            unit="picture",
            describe="tiers",
            total=count_groups(run, "screening"),
        )
        for outcome in outcomes:
            if outcome.error:
                record.reject(outcome.item.source_id or outcome.item.group_id, outcome.error)
                continue
            tiers[outcome.value.tier] += 1
            yield outcome.value

    with recording(run, "taxonomy") as record:
        record.counts["groups"] = save_groups(run, "taxonomy", judged())
        record.counts |= dict(sorted(tiers.items()))
        publish_stage(run, "taxonomy")


def reasons(run: Run) -> pd.DataFrame:
    """How often each rule decided: tier, rule, number of texts, and one text as an example."""
    rows: dict[tuple[str, str], list[str]] = {}
    for group in iter_groups(run, "taxonomy"):
        for span in group.spans:
            rule = span.tier_reason.partition(":")[0].partition(" (")[0]
            rows.setdefault((span.tier, rule), []).append(span.text)
    frame = pd.DataFrame(
        [(tier, rule, len(texts), texts[0]) for (tier, rule), texts in rows.items()],
        columns=pd.Index(["tier", "rule", "texts", "example"]),
    )
    return frame.sort_values(["tier", "texts", "rule"], ascending=[True, False, True], ignore_index=True)
