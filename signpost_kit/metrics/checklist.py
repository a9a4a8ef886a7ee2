"""Do replies under the evidence checklist contain it, and how often is a slot "not visible"? Table 11."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CATEGORIES", "checklist_compliance"]

CATEGORIES = ("infrastructure", "vegetation", "architecture", "script", "terrain")
"""What the checklist asks for, in its order."""

_NOT_SEEN = ("not visible", "none visible", "not discernible", "nothing visible", "n/a", "none", "unknown")


def checklist_compliance(evidence: Iterable[object], categories: Sequence[str] = CATEGORIES) -> pd.DataFrame:
    """Share of replies with an evidence object, and per category the shares filled, "not visible" and left out.

    Parameters
    ----------
    evidence
        The evidence of each reply: a mapping from category to text (or a list of texts), or anything else when the
        reply has none. A key belongs to the category that it contains ("text_script" to "script").

    Returns
    -------
    category ("any" first: the object itself), n, present, not_visible, absent. Shares of the n replies with an
    object, in which present + not_visible + absent = 1; for "any" of all replies. NaN for n = 0.

    Examples
    --------
    >>> table = checklist_compliance([{"terrain": "flat"}, {"terrain": "Not visible."}, None], ["terrain"])
    >>> table[["category", "n", "not_visible"]].values.tolist()
    [['any', 3, nan], ['terrain', 2, 0.5]]
    """
    import pandas as pd

    replies = list(evidence)
    objects = [reply for reply in replies if isinstance(reply, Mapping) and reply]
    rows = [
        {
            "category": "any",
            "n": len(replies),
            "present": len(objects) / len(replies) if replies else np.nan,
            "not_visible": np.nan,
            "absent": 1 - len(objects) / len(replies) if replies else np.nan,
        }
    ]
    for category in categories:
        states = [_state(reply, category) for reply in objects]
        shares = {
            s: states.count(s) / len(states) if states else np.nan for s in ("present", "not_visible", "absent")
        }
        rows.append({"category": category, "n": len(objects), **shares})
    return pd.DataFrame(rows)


def _state(reply: Mapping[object, object], category: str) -> str:
    """What a reply says of a category: present when any of its texts says something."""
    texts: list[str] = []
    for key, value in reply.items():
        if category in str(key).casefold():
            texts += [str(v) for v in value if v] if isinstance(value, (list, tuple)) else [str(value or "")]
    said = [text.strip().casefold().rstrip(".!") for text in texts if text.strip()]
    if not said:
        return "absent"
    return "not_visible" if all(text in _NOT_SEEN or text.startswith("not visible") for text in said) else "present"
