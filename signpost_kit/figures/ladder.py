"""The context ladder of one site: a map with the distance bands, or, without positions, a line of distances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.figures.labels import place_labels
from signpost_kit.figures.style import DOUBLE, GREY, INK, PALETTE, canvas, empty, style
from signpost_kit.metrics.hints import HINT_BANDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_ladder_map", "draw_ladder_rail", "fig_ladder", "ladder_sites"]

RINGS_KM = (0.5, 1.5, 3.0, 6.0)
_KM_PER_DEGREE = 111.195
_BAND_COLOR = dict(zip(HINT_BANDS, (PALETTE[1], PALETTE[0], PALETTE[2]), strict=True))
_TIER_MARK = {"high": "^", "mid": "o", "low": "s"}
_TIER_SAYS = {"high": "often referred to (4–5)", "mid": "sometimes (2–3)", "low": "hardly ever (0–1)"}
_LONGEST = 30  # letters of a name
_NOTHING = "There is no ladder in this run: see context.ladder in the profile."
_SMALL = 5.6


def ladder_sites(ladder: pd.DataFrame) -> list[str]:
    """The sites that have a ladder, those with most rungs first."""
    counts = Counter(map(str, ladder["site"]))
    return sorted(counts, key=lambda name: (-counts[name], name))


def draw_ladder_map(
    ladder: pd.DataFrame, points: pd.DataFrame, sites: pd.DataFrame, ax: Axes, *, site: str
) -> None:
    """A site's rungs where they lie, kilometres to the north and east of it, with rings at the bands' edges.

    Parameters
    ----------
    ladder
        The drawn rungs: site, band, tier, name_en, qid, lat, lon.
    points
        All usable points around the sites (site, qid, lat, lon); those that were not drawn are faint.
    sites
        site, city, lat, lon.
    """
    home = sites.loc[sites["site"] == site]
    mine = ladder.loc[ladder["site"] == site]
    if mine.empty or home.empty:
        empty(ax, _NOTHING)
        return
    lat, lon = float(home["lat"].iloc[0]), float(home["lon"].iloc[0])
    east, north = _km(mine, lat, lon)
    rest = points.loc[(points["site"] == site) & ~points["qid"].isin(set(mine["qid"]))]
    others = np.column_stack(_km(rest, lat, lon))
    others = others[np.hypot(*others.T) <= RINGS_KM[-1]] if len(others) else others
    side = RINGS_KM[-1] * 1.06
    ax.set_xlim(-side, side)
    ax.set_ylim(-side, side)
    ax.set_aspect("equal")
    ax.set_axis_off()
    taken = _rings(ax)
    if len(others):
        ax.plot(*others.T, ls="none", marker=".", ms=2.6, color="#b5b5b5", mew=0, zorder=2, gid="not drawn")
    ax.plot([0], [0], marker="*", ms=9, color=INK, mec="white", mew=0.5, zorder=6, gid="site")
    for band, color in _BAND_COLOR.items():
        for tier, mark in _TIER_MARK.items():
            cell = ((mine["band"] == band) & (mine["tier"] == tier)).to_numpy()
            if cell.any():
                look: dict[str, Any] = {"marker": mark, "ms": 5, "color": color, "mec": "white", "mew": 0.4}
                ax.plot(east[cell], north[cell], ls="none", zorder=4, gid=f"{band} {tier}", **look)
    taken += _north_and_scale(ax, side)
    _name(ax, east, north, mine, avoid=[(0.0, 0.0)], taken=taken)


def draw_ladder_rail(ladder: pd.DataFrame, ax: Axes, *, site: str) -> None:
    """A site's rungs by their distance alone (released ladders have no positions): a row for each tier."""
    mine = ladder.loc[ladder["site"] == site].sort_values("ref_km")
    if mine.empty:
        empty(ax, _NOTHING)
        return
    ax.set_xscale("log")
    ax.set_xlim(0.45, 6.6)
    ax.set_ylim(-0.6, 2.6)
    rows = {tier: 2 - i for i, tier in enumerate(_TIER_MARK)}
    for km in RINGS_KM:
        ax.axvline(km, color="#d0d0d0", lw=0.7, zorder=1)
    y = np.array([rows.get(tier, np.nan) for tier in mine["tier"]], dtype=float)
    lift = np.zeros(len(mine))
    for level in rows.values():  # rungs of one tier at three heights, in turn, so that names find room
        where = np.flatnonzero(y == level)
        lift[where] = 0.24 * (np.arange(len(where)) % 3 - 1)
    y, x = y + lift, mine["ref_km"].to_numpy(float)
    for band, color in _BAND_COLOR.items():
        for tier, mark in _TIER_MARK.items():
            cell = ((mine["band"] == band) & (mine["tier"] == tier)).to_numpy()
            if cell.any():
                ax.plot(x[cell], y[cell], ls="none", marker=mark, ms=5, color=color, mec="white", mew=0.4, zorder=4)
    ax.set_xticks(list(RINGS_KM), [f"{km:g}" for km in RINGS_KM])
    ax.minorticks_off()
    ax.set_yticks(list(rows.values()), list(rows))
    ax.set_xlabel("distance to the site (km)")
    ax.set_ylabel("referenceability")
    _name(ax, x, y, mine)


def fig_ladder(
    ladder: pd.DataFrame, points: pd.DataFrame | None = None, sites: pd.DataFrame | None = None, *, site: str = ""
) -> Figure:
    """The ladder of one site at print size.

    Parameters
    ----------
    ladder, points, sites
        The frames `ladder`, `points`, `context_sites`; those without rows count as absent. Without positions
        (released ladders) distances are drawn.
    site
        Which one; "" the first of :func:`ladder_sites`.

    Raises
    ------
    ConfigError
        There is no ladder of that site; those there are are named.
    """
    names = ladder_sites(ladder) if _has(ladder) else []
    if site and site not in names:
        have = ", ".join(names[:8]) + (" ..." if len(names) > 8 else "") if names else "none"
        raise ConfigError(f"there is no ladder of the site {site!r}; there are ladders of: {have}")
    chosen = site or (names[0] if names else "")
    placed = bool(chosen) and _has(points) and _has(sites) and _has_positions(ladder, chosen)
    with style():
        figure, ax = canvas(DOUBLE, 6.4 if placed else 3.4)
        if not chosen:
            empty(ax, _NOTHING)
            return figure
        _legend(figure, ladder.loc[ladder["site"] == chosen], with_rest=placed)
        city = str(ladder.loc[ladder["site"] == chosen, "city"].iloc[0]) if "city" in ladder else ""
        ax.set_title(_drawable(f"{chosen}, {city}" if city else chosen) or "one site")
        if placed and points is not None and sites is not None:
            draw_ladder_map(ladder, points, sites, ax, site=chosen)
        else:
            draw_ladder_rail(ladder, ax, site=chosen)
    return figure


def _name(ax: Axes, x: np.ndarray, y: np.ndarray, rungs: pd.DataFrame, **around: Sequence[Any]) -> None:
    """Names beside the rungs, measured in the typefaces that they will have."""
    from signpost_kit.figures.typeface import families_for

    names = [_shown(row) for row in rungs.to_dict("records")]
    look: dict[str, Any] = {"fontsize": _SMALL, "fontfamily": families_for("".join(names)), "zorder": 5}
    place_labels(ax, x, y, names, marker_pt=5.5, **around, **look)


def _has(frame: pd.DataFrame | None) -> bool:
    return frame is not None and "site" in frame and len(frame) > 0


def _has_positions(ladder: pd.DataFrame, site: str) -> bool:
    """Whether the rungs have positions of their own: not those of a release, whose lat and lon are the site's."""
    mine = ladder.loc[ladder["site"] == site]
    if not {"lat", "lon"} <= set(mine.columns) or mine[["lat", "lon"]].isna().any(axis=None):
        return False
    return len(mine) < 2 or len(mine[["lat", "lon"]].drop_duplicates()) > 1


def _km(frame: pd.DataFrame, lat: float, lon: float) -> tuple[np.ndarray, np.ndarray]:
    """Kilometres to the east and north of a point: exact enough within some kilometres."""
    d_lon = (frame["lon"].to_numpy(float) - lon + 180) % 360 - 180
    north = (frame["lat"].to_numpy(float) - lat) * _KM_PER_DEGREE
    return d_lon * _KM_PER_DEGREE * np.cos(np.radians(lat)), north


def _rings(ax: Axes) -> list[Any]:
    """Circles at the bands' edges, each with its distance at its lower rim."""
    from matplotlib.patches import Circle

    texts = []
    for km in RINGS_KM:
        fill = "#f4f4f4" if km == RINGS_KM[0] else "none"
        ax.add_patch(Circle((0, 0), km, fc=fill, ec="#c4c4c4", lw=0.7, zorder=1, gid=f"ring {km:g}"))
    box = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
    for km in RINGS_KM:
        text = ax.text(
            0, -km, f"{km:g} km", ha="center", va="center", color=GREY, fontsize=_SMALL, bbox=box, zorder=1.2
        )
        texts.append(text)
    return texts


def _north_and_scale(ax: Axes, side: float) -> list[Any]:
    """An arrow to the north at the upper left, a bar of one kilometre at the lower right."""
    x, y = -side * 0.94, side * 0.76
    ax.annotate(
        "",
        (x, y + 0.85),
        (x, y),
        arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 0.9, "shrinkA": 0, "shrinkB": 0},
    )
    north = ax.text(x, y + 0.9, "N", ha="center", va="bottom", fontsize=7, fontweight="bold")
    right, low = side * 0.97, -side * 0.94
    ax.plot([right - 1, right], [low, low], color=INK, lw=1.4, solid_capstyle="butt", gid="scale")
    scale = ax.text(right - 0.5, low + 0.12, "1 km", ha="center", va="bottom", fontsize=6.5)
    return [north, scale]


def _legend(figure: Figure, mine: pd.DataFrame, *, with_rest: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            ls="none",
            marker="o",
            ms=5,
            color=color,
            label=f"{band.replace('-', '–').removesuffix('km')} km",
        )
        for band, color in _BAND_COLOR.items()
    ]
    handles += [
        Line2D([], [], ls="none", marker=mark, ms=5, color=GREY, label=f"{tier}: {_TIER_SAYS[tier]}")
        for tier, mark in _TIER_MARK.items()
    ]
    if with_rest:
        handles.append(Line2D([], [], ls="none", marker="*", ms=8, color=INK, label="the site"))
        handles.append(Line2D([], [], ls="none", marker=".", ms=4, color="#b5b5b5", label="not drawn"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3 if with_rest else 2, handletextpad=0.2)


def _shown(row: dict[Any, Any]) -> str:
    """A rung's name as far as fonts can draw it, shortened; else its id."""
    name = _drawable(" ".join(str(row.get("name_en") or row.get("name_local") or "").split()))
    if len(name) > _LONGEST:
        name = name[: _LONGEST - 1].rstrip() + "…"
    return name or str(row.get("qid") or "?")


def _drawable(text: str) -> str:
    """The text without characters that no font at hand draws."""
    from signpost_kit.figures.typeface import families_for

    plain = "".join(char for char in text if char.isprintable())
    try:
        families_for(plain)
    except DataError:
        return " ".join("".join(char for char in plain if _draws(char)).split())
    return plain


def _draws(char: str) -> bool:
    from signpost_kit.figures.typeface import families_for

    try:
        families_for(char)
    except DataError:
        return False
    return True
