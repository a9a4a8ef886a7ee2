"""Table 6 of SIGNPOST-Bench: the groups whose adversarial text has a place, which TFR and TDR are counted over."""

from __future__ import annotations

import math

import pandas as pd

from signpost_kit.stats.agreement import wilson
from signpost_kit.tables_format import Column, Row, Score, Table

__all__ = ["published_cohort", "tab06"]

_WITHOUT = {
    "nothing": ("nothing",),
    "failed": ("failed",),
    "unasked": ("not kept", "not asked", "no text"),
}
_COLUMNS = (
    Column("groups", "Groups", "", 0, whole=True),
    Column("geocodable", "Geocodable", "", 0, whole=True),
    Column("rate", "Rate", "%", 1),
    Column("ambiguous", "Ambiguous", "", 0, whole=True),
    Column("near", "Near the photo", "", 0, whole=True),
    Column("nothing", "Nothing found", "", 0, whole=True),
    Column("unasked", "Not looked up", "", 0, whole=True),
    Column("failed", "Failed", "", 0, whole=True),
)


def tab06(targets: pd.DataFrame, *, radius_km: float = 50.0, published: pd.DataFrame | None = None) -> Table:
    """The geocodable cohort, per data set and over all groups.

    Parameters
    ----------
    targets
        The frame of that name: one row a group, columns as in :data:`signpost_kit.geocoding.traps.COLUMNS`.
    radius_km
        A trap nearer to the photo than this cannot tell following the text from knowing the place.
    published
        :func:`published_cohort`, to stand below; None: the run alone.

    Returns
    -------
    Table
        Rates are shares of all groups with Wilson's 95 % interval (groups as independent). An empty frame gives a
        table without rows.
    """
    rows = [
        _row(str(dataset), part, radius_km)
        for dataset, part in targets.groupby("dataset", sort=False, observed=True)
    ]
    if len(targets):
        rows.append(_row("All", targets, radius_km))
    for line in published.to_dict("records") if published is not None else []:
        groups, geocodable = float(line["groups"]), float(line["geocodable"])
        scores = {"groups": Score(groups), "geocodable": Score(geocodable)}
        scores["rate"] = Score(100 * geocodable / groups if groups else math.nan)
        rows.append(Row(str(line["dataset"]), scores, "Published, other scenes", ranked=False))
    geocoders = ", ".join(sorted({name for name in targets["geocoder"].astype(str) if name})) or "none"
    note = (
        f"Geocoder: {geocoders}. Rates are shares of all groups of the data set. Ambiguous: another place of that "
        f"name, about as prominent, lies more than 100 km away. Near: less than {radius_km:g} km from where the "
        "picture was taken. Coverage: groups whose text was looked up."
    )
    return Table("tab06", "Geocodable cohort of TFR and TDR.", _COLUMNS, tuple(rows), label_head="Data set",
                 section_head="Source" if published is not None else "", note=note)  # fmt: skip


def _row(label: str, part: pd.DataFrame, radius_km: float) -> Row:
    n = len(part)
    found = part.loc[part["status"] == "found", :]
    share = wilson(len(found), n)
    scores = {
        "groups": Score(n),
        "geocodable": Score(len(found)),
        "rate": Score(float(share.estimate), float(share.low), float(share.high)).scaled(100.0),
        "ambiguous": Score(int(found["ambiguous"].astype(bool).sum())),
        "near": Score(int((found["km_from_photo"].astype(float) < radius_km).sum())),
    }
    scores |= {key: Score(int(part["status"].isin(names).sum())) for key, names in _WITHOUT.items()}
    looked_up = int(part["status"].isin(("found", "nothing")).sum())
    return Row(label, scores, "This run", looked_up / n)


def published_cohort() -> pd.DataFrame:
    """What the paper's text says of its cohort: groups per data set, and the geocodable ones of all together.

    Columns dataset, groups, geocodable; the cells of Table 6 per data set are not in the text, so they are NaN.
    """
    from signpost_kit.published import published

    groups = published("signpost/composition").loc[:, ["dataset", "groups"]]
    facts = published("signpost/aggregate_facts").set_index("quantity")["value"].astype(float)
    total = pd.DataFrame(
        {"dataset": ["All"], "groups": [facts["groups"]], "geocodable": [facts["geocodable_groups"]]}
    )
    return pd.concat([groups.assign(geocodable=math.nan), total], ignore_index=True)
