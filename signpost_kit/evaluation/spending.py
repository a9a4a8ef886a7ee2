"""What a question costs, from the replies: for the figure of cost against score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    from signpost_kit.evaluation.store import ReplyStore

__all__ = ["SPENDING_COLUMNS", "spending"]

SPENDING_COLUMNS = ("model", "n_asked", "n_answered", "n_priced", "coverage", "usd", "usd_per_1000")


def spending(store: ReplyStore, *, task: str = "coordinate", models: Collection[str] | None = None) -> pd.DataFrame:
    """One row per model, :data:`SPENDING_COLUMNS`: what its replies to one task cost.

    `usd_per_1000` is the mean price of the priced replies times 1000, in US dollars: NaN where no reply has a price
    (a price that nobody knows is not 0), 0.0 for a model that is known to be free. Refusals cost too and count;
    earlier attempts that were asked again do not.
    """
    import pandas as pd

    asked = store.predictions(task, None, models=models, extra=("price_usd",))
    rows = []
    for model, part in asked.groupby(asked["model"].astype(str), sort=False):
        price = part["price_usd"].astype(float).to_numpy()
        known, answered = np.isfinite(price), int((part["status"].astype(str) == "ok").sum())
        usd = float(price[known].sum()) if known.any() else np.nan
        per_thousand = float(price[known].mean() * 1000) if known.any() else np.nan
        rows.append((model, len(part), answered, int(known.sum()), answered / len(part), usd, per_thousand))
    return pd.DataFrame(rows, columns=pd.Index(SPENDING_COLUMNS))
