"""A plain map of the world, offline: land as grey area, points and great circles on top.

The outline of the land (land.json) is Natural Earth's, 1:110m, dissolved and simplified; it is in the public
domain. The projection is equirectangular: x is longitude, y latitude.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Window", "great_circle", "window_for"]

_LAND = "#e6e6e6"
_COAST = "#bdbdbd"


@functools.cache
def _rings() -> tuple[np.ndarray, ...]:
    """Closed rings of (lon, lat) in degrees."""
    data = json.loads(Path(__file__).with_name("land.json").read_text(encoding="utf-8"))
    return tuple(np.array(ring, dtype=float) for ring in data["rings"])


def great_circle(lat1: float, lon1: float, lat2: float, lon2: float, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Latitudes and longitudes of `n` points on the shortest way between two points, in degrees.

    Longitudes run on without a jump (they may pass 180). Two antipodes, which have no shortest way, go over the
    pole; two equal points give that point `n` times.
    """
    a, b = (
        np.array([np.cos(np.radians(la)) * np.cos(np.radians(lo)), np.cos(np.radians(la)) * np.sin(np.radians(lo)),
                  np.sin(np.radians(la))])
        for la, lo in ((lat1, lon1), (lat2, lon2))
    )  # fmt: skip
    angle = np.arccos(np.clip(a @ b, -1, 1))
    t = np.linspace(0, 1, n)[:, None]
    if angle < 1e-9:
        points = np.repeat(a[None], n, axis=0)
    else:
        side = b - (a @ b) * a
        if np.linalg.norm(side) < 1e-9:  # antipodes
            side = np.array([0.0, 0.0, 1.0]) - a[2] * a
            side = side if np.linalg.norm(side) > 1e-9 else np.array([1.0, 0.0, 0.0])
        side = side / np.linalg.norm(side)
        points = np.cos(t * angle) * a + np.sin(t * angle) * side
    lat = np.degrees(np.arcsin(np.clip(points[:, 2], -1, 1)))
    lon = np.unwrap(np.degrees(np.arctan2(points[:, 1], points[:, 0])), period=360.0)
    return lat, lon + round((lon1 - lon[0]) / 360.0) * 360.0


class Window:
    """A part of the map: `centre` of the longitudes, and limits in degrees."""

    def __init__(self, centre: float, lon: tuple[float, float], lat: tuple[float, float]) -> None:
        self.centre, self.lon, self.lat = centre, lon, lat

    def unwrap(self, lon: Sequence[float] | np.ndarray | float) -> np.ndarray:
        """Longitudes moved by whole turns to within 180 degrees of the centre."""
        return (np.asarray(lon, dtype=float) - self.centre + 180.0) % 360.0 - 180.0 + self.centre

    def draw(self, ax: Axes) -> None:
        """Land, frame and faint graticule; sets the limits and an equal aspect."""
        from matplotlib.collections import PolyCollection

        verts = [ring + np.array([turn, 0.0]) for turn in (-360.0, 0.0, 360.0) for ring in _rings()]
        verts = [v for v in verts if v[:, 0].max() >= self.lon[0] and v[:, 0].min() <= self.lon[1]]
        ax.add_collection(
            PolyCollection(verts, facecolors=_LAND, edgecolors=_COAST, linewidths=0.3, zorder=0), autolim=False
        )
        for step in range(-540, 541, 30):
            ax.axvline(step, color="#f1f1f1", lw=0.4, zorder=-1)
            if -90 < step < 90:
                ax.axhline(step, color="#f1f1f1", lw=0.4, zorder=-1)
        ax.set_xlim(*self.lon)
        ax.set_ylim(*self.lat)
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
        for spine in ax.spines.values():
            spine.set_visible(True)
            spine.set_color("#c4c4c4")

    def arc(self, ax: Axes, start: tuple[float, float], end: tuple[float, float], **line: object) -> None:
        """The great circle from `start` to `end` (lat, lon), drawn once per turn that is in view."""
        lat, lon = great_circle(*start, *end)
        lon = lon + (float(self.unwrap(start[1])) - lon[0])
        for turn in (-360.0, 0.0, 360.0):
            moved = lon + turn
            if moved.max() >= self.lon[0] and moved.min() <= self.lon[1]:
                ax.plot(moved, lat, **line)  # type: ignore[arg-type]


def window_for(
    lat: Sequence[float] | np.ndarray,
    lon: Sequence[float] | np.ndarray,
    *,
    ways: Sequence[tuple[float, float, float, float]] = (),
    aspect: float = 2.0,
) -> Window:
    """A window of `aspect` (width / height) round all points, centred where no point is cut off.

    The great circles `ways` (lat, lon, lat, lon) are in it too. NaN are left out; without any point it is the
    whole world. Never narrower than 30 degrees.
    """
    lines = [great_circle(*way) for way in ways if np.isfinite(way).all()]
    lats = np.concatenate([np.asarray(lat, float), *(line[0] for line in lines)])
    lons = np.concatenate([np.asarray(lon, float), *(line[1] for line in lines)])
    keep = np.isfinite(lats) & np.isfinite(lons)
    lats, lons = lats[keep], np.sort(np.mod(lons[keep], 360.0))
    if not len(lats):
        return _world(0.0, aspect)
    gaps = np.diff([*lons, lons[0] + 360.0])
    west = lons[(int(np.argmax(gaps)) + 1) % len(lons)]
    width = 360.0 - float(gaps.max())
    centre = (west + width / 2 + 180.0) % 360.0 - 180.0
    south, north = float(lats.min()), float(lats.max())
    pad_x, pad_y = max(width * 0.10, 6.0), max((north - south) * 0.18, 6.0)
    wide = max(width + 2 * pad_x, 30.0)
    high = max(north - south + 2 * pad_y, wide / aspect)
    wide = max(wide, high * aspect)
    if wide >= 300.0:
        return _world(centre if width < 300.0 else 0.0, aspect)
    middle = np.clip((south + north) / 2, -90 + high / 2, 90 - high / 2) if high < 180 else 0.0
    return Window(centre, (centre - wide / 2, centre + wide / 2), (middle - high / 2, middle + high / 2))


def _world(centre: float, aspect: float) -> Window:
    """Once round the globe; the polar caps, where nobody lives, are cut off to fit the aspect."""
    high = min(360.0 / aspect, 180.0)
    south = max(-90.0, min(-60.0, 84.0 - high))
    return Window(centre, (centre - 180.0, centre + 180.0), (south, min(90.0, south + high)))
