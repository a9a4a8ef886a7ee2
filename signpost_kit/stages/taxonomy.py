"""The stage that says how tightly each text is tied to its place."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pandas as pd

from signpost_kit.stages.common import load_groups, publish, recording, save_groups

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["reasons", "taxonomy"]


def taxonomy(run: Run) -> None:
    """Give every span a tier with a reason; a group has the tier of its highest span."""
    from signpost_kit.stages.released import passed_on
    from signpost_kit.taxonomy import classify_group

    if passed_on(run, "taxonomy"):
        return
    with recording(run, "taxonomy") as record:
        groups = [classify_group(group) for group in load_groups(run, "screening")]
        record.counts["groups"] = len(groups)
        record.counts |= dict(sorted(Counter(group.tier for group in groups).items()))
        save_groups(run, "taxonomy", groups)
        publish(run, groups)


def reasons(run: Run) -> pd.DataFrame:
    """How often each rule decided: tier, rule, number of texts, and one text as an example."""
    rows: dict[tuple[str, str], list[str]] = {}
    for group in load_groups(run, "taxonomy"):
        for span in group.spans:
            rule = span.tier_reason.partition(":")[0].partition(" (")[0]
            rows.setdefault((span.tier, rule), []).append(span.text)
    frame = pd.DataFrame(
        [(tier, rule, len(texts), texts[0]) for (tier, rule), texts in rows.items()],
        columns=pd.Index(["tier", "rule", "texts", "example"]),
    )
    return frame.sort_values(["tier", "texts", "rule"], ascending=[True, False, True], ignore_index=True)
