"""The tidy frames that travel between the layers: names, order and types of their columns, checked once.

Every variant, status and tier is spelt as here, in this order, everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from signpost_kit.errors import DataError

if TYPE_CHECKING:  # whoever needs only the names, such as a long run of asking, does without pandas' 30 MB
    import pandas as pd

__all__ = ["COLUMNS", "EDITED_VARIANTS", "STATUSES", "TIERS", "VARIANTS", "check_frame", "empty_frame"]

VARIANTS: tuple[str, ...] = ("Original", "Blank", "Similar", "Random", "Adversarial")
EDITED_VARIANTS: tuple[str, ...] = VARIANTS[1:]
TIERS: tuple[str, ...] = ("T1", "T2", "T3")
STATUSES: tuple[str, ...] = (
    "ok",
    "empty",
    "refused",
    "blocked",
    "truncated",
    "unparseable",
    "out_of_range",
    "error",
)

_TEXT, _FLOAT = "str", "float64"

COLUMNS: dict[str, dict[str, str]] = {
    # One row per asked (model, group, variant). lat, lon in degrees; NaN unless status == "ok".
    "predictions": {
        "model": _TEXT,
        "dataset": _TEXT,
        "group_id": _TEXT,
        "variant": _TEXT,
        "lat": _FLOAT,
        "lon": _FLOAT,
        "status": _TEXT,
    },
    # One row per group. trap_lat, trap_lon are NaN where the adversarial text has no geocoded target.
    "groups": {
        "dataset": _TEXT,
        "group_id": _TEXT,
        "lat": _FLOAT,
        "lon": _FLOAT,
        "trap_lat": _FLOAT,
        "trap_lon": _FLOAT,
        "tier": _TEXT,
    },
}
# predictions + error_km (to the truth), wla (0..1), trap_km (to the trap); NaN where there is no answer or no trap.
COLUMNS["scores"] = COLUMNS["predictions"] | {"error_km": _FLOAT, "wla": _FLOAT, "trap_km": _FLOAT}


def empty_frame(kind: str) -> pd.DataFrame:
    """A frame of the given kind without rows, with the right types."""
    import pandas as pd

    return check_frame(pd.DataFrame(columns=list(COLUMNS[kind])), kind)


def check_frame(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return `frame` with the columns of `kind` first and of the right type; extra columns are kept.

    Raises
    ------
    DataError
        A column is missing, a number column holds text, or a variant, status or tier has an unknown name.
    """
    import pandas as pd

    wanted = COLUMNS[kind]
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise DataError(f"the {kind} table lacks the column(s) {', '.join(missing)}; it needs {', '.join(wanted)}")
    extra = [name for name in frame.columns if name not in wanted]
    out = pd.DataFrame(frame[[*wanted, *extra]])
    casts = {name: kind_ for name, kind_ in wanted.items() if kind_ == _FLOAT and out[name].dtype != kind_}
    if casts:
        try:
            out = out.astype(casts)
        except (TypeError, ValueError) as error:
            raise DataError(f"the {kind} table holds text where numbers belong: {error}") from error
    for name, allowed in (("variant", VARIANTS), ("status", STATUSES), ("tier", (*TIERS, ""))):
        if name in wanted:
            unknown = set(out[name].dropna().unique()) - set(allowed)
            if unknown:
                raise DataError(
                    f"the {kind} table has the {name} {sorted(map(str, unknown))[0]!r}; "
                    f"allowed: {', '.join(a for a in allowed if a)}"
                )
    return out
