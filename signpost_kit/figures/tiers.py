"""How the harm grows with what the native text gives away: WLA by tier (fig. 13)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.figures.cells import READING, pick, rows_of
from signpost_kit.figures.style import VARIANT_LOOK, empty, signed
from signpost_kit.frames import TIERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TIER_NAMES", "legend_entries", "tier_profile"]

TIER_NAMES = {"T1": "portable", "T2": "cultural", "T3": "geo-specific"}
_SHOWN = ("Original", "Blank", "Adversarial")
_STEP = 0.16  # between the markers of one tier


def tier_profile(
    rows: pd.DataFrame,
    ax: Axes,
    *,
    shares: Mapping[str, tuple[int, float]] | None = None,
    faint: pd.DataFrame | None = None,
    reading: str = READING,
    published: pd.DataFrame | None = None,
) -> None:
    """One panel of fig. 13: WLA of Original, Blank and Adversarial in each tier, for one model (or a mean).

    `rows` holds rows of one model; `faint` the rows of many, drawn small behind; `shares` (tier -> groups,
    share) goes under the tiers' names. The number at each segment is Adversarial minus Original in points.
    `published` (see :func:`signpost_kit.figures.cells.published_beside`) adds the study's mean on its own scenes as
    grey rings.
    """
    data = {v: _by_tier(rows, v, reading) for v in _SHOWN}
    if not any(np.isfinite(values["value"]).any() for values in data.values()):
        empty(ax, "No scores by tier: no scene has a tier, or none was answered.")
        return
    x = np.arange(len(TIERS), dtype=float)
    original, adversarial = data["Original"]["value"], data["Adversarial"]["value"]
    both = np.isfinite(original) & np.isfinite(adversarial)
    for i in np.flatnonzero(both):
        ax.plot(
            [x[i] - _STEP, x[i] + _STEP],
            [original[i], adversarial[i]],
            color="#c4c4c4",
            lw=1.6,
            zorder=1.5,
            gid="change",
        )
    for k, variant in enumerate(_SHOWN):
        look, values = VARIANT_LOOK[variant], data[variant]
        at = x + (k - 1) * _STEP
        if faint is not None:
            behind = pick(faint, "wla", variant=variant, tier=None, reading=reading)
            behind = rows_of(behind, "tier", *TIERS)
            spots = behind["tier"].map({tier: at[i] for i, tier in enumerate(TIERS)})
            ax.plot(
                spots, behind["value"] * 100, look.marker, color="#cccccc", ms=2, mew=0, zorder=1.8, gid="faint"
            )
        ok = np.isfinite(values["low"]) & np.isfinite(values["high"])
        ax.vlines(at[ok], values["low"][ok], values["high"][ok], color=look.color, lw=0.8, zorder=2, gid="interval")
        theirs = _published(published, variant)
        ok = np.isfinite(theirs)
        if ok.any():
            ax.plot(at[ok], theirs[ok], look.marker, color="#8c8c8c", mfc="none", ms=5, mew=0.7, zorder=1.9,
                    gid=f"published {variant}",
                    label="published mean" if variant == "Original" else None)  # fmt: skip
        ok = np.isfinite(values["value"])
        ax.plot(at[ok], values["value"][ok], look.marker, color=look.color, mfc=look.face, label=variant,
                gid=variant, zorder=3, ms=5.5 if look.marker == "X" else 4.5,
                mec="white" if look.marker == "X" else look.color,
                mew=0.5 if look.marker == "X" else 0.9)  # fmt: skip
    for i in np.flatnonzero(both):
        text = signed(adversarial[i] - original[i])
        ax.text(
            x[i] + _STEP + 0.09,
            max(original[i] * 0.6 + adversarial[i] * 0.4, 2.5),  # clear of the axis
            text,
            ha="left",
            va="center",
            fontsize=6.5,
            gid="drop",
        )
    ax.set_xticks(x, [_tier_label(tier, shares) for tier in TIERS])
    ax.set_xlim(-0.4, len(TIERS) - 0.4)
    ax.set_ylim(bottom=0)
    ax.grid(axis="y")


def _published(published: pd.DataFrame | None, variant: str) -> np.ndarray:
    """The study's mean over its models in each tier, per cent."""
    if published is None or not len(published):
        return np.full(len(TIERS), np.nan)
    mean = published.loc[published["model"].astype(str).str.startswith("mean of"), :]
    return _by_tier(mean, variant, "published")["value"]


def legend_entries(ax: Axes) -> tuple[list[Any], list[str]]:
    """Handles and names of a panel, the run's own before what is published."""
    handles, names = ax.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda i: names[i].startswith("published"))
    return [handles[i] for i in order], [names[i] for i in order]


def _by_tier(rows: pd.DataFrame, variant: str, reading: str) -> dict[str, np.ndarray]:
    """value, low and high in per cent, one per tier, NaN where a tier has none."""
    found = pick(rows, "wla", variant=variant, tier=None, reading=reading)
    found = rows_of(found, "tier", *TIERS).drop_duplicates(["tier"]).set_index("tier")
    return {
        c: found[c].reindex(list(TIERS)).to_numpy(float, na_value=np.nan) * 100 for c in ("value", "low", "high")
    }


def _tier_label(tier: str, shares: Mapping[str, tuple[int, float]] | None) -> str:
    if shares is None:
        return f"{tier}\n{TIER_NAMES[tier]}"
    count, share = shares.get(tier, (0, 0.0))
    amount = f"{count} scene{'s' if count != 1 else ''}, {share:.0%}" if count else "no scene"
    return f"{tier} {TIER_NAMES[tier]}\n{amount}"
