"""One house front as a plane, on which windows, doors and boards are laid out in metres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signpost_kit.benchmark.town.atlas import Build
from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.light import RGB, Light, mix

__all__ = ["Building", "Front"]


@dataclass(frozen=True)
class Building:
    """One house; lengths in metres. `side` is -1 for the left of the street, +1 for the right."""

    side: int
    z0: float
    z1: float
    wall: float
    """Distance of the front from the street's middle line."""
    deep: float
    floors: int
    floor_h: float
    ground_h: float
    build: Build
    color: RGB
    trim: RGB
    roof: RGB
    accent: RGB
    """Shutters and doors."""
    shutters: bool
    balcony: str
    shop: bool
    board: RGB
    """The shop's board and awning."""
    awning: bool
    seed: int

    @property
    def width(self) -> float:
        """Metres along the street."""
        return self.z1 - self.z0

    @property
    def height(self) -> float:
        """Metres from the pavement to the eaves."""
        return self.ground_h + (self.floors - 1) * self.floor_h

    def has(self, extra: str) -> bool:
        """Whether this habit of building includes an extra."""
        return extra in self.build.extras


class Front:
    """Draws on one building's front. u: metres along the street from the near end; v: metres up; d: metres out."""

    def __init__(self, canvas: Canvas, light: Light, building: Building) -> None:
        self.canvas, self.light, self.building = canvas, light, building
        self.face = "right" if building.side > 0 else "left"
        middle = (building.z0 + building.z1) / 2
        self.depth = max(2.0, canvas.camera.depth(building.side * building.wall, middle) * 0.9)
        self.grain = canvas.camera.focal / max(3.0, canvas.camera.depth(building.side * building.wall, building.z0))
        """Pixels per metre at the near end, upright."""
        self.across = self.grain * building.wall / max(3.0, building.z0)
        """Pixels per metre at the near end, along the street."""

    def lit(self, color: RGB, face: str | None = None) -> RGB:
        """A colour of this building as seen from the camera."""
        return self.light.lit(color, face or self.face, self.depth)

    def points(self, u: ArrayLike, v: ArrayLike, d: ArrayLike = 0.0) -> NDArray[np.float64]:
        """Front coordinates (broadcast together) as world points (..., 3)."""
        u, v, d = np.asarray(u, np.float64), np.asarray(v, np.float64), np.asarray(d, np.float64)
        b = self.building
        out = np.empty((*np.broadcast_shapes(u.shape, v.shape, d.shape), 3))
        out[..., 0] = b.side * (b.wall - d)
        out[..., 1] = v
        out[..., 2] = b.z0 + u
        return out

    def rects(
        self, u0: ArrayLike, u1: ArrayLike, v0: ArrayLike, v1: ArrayLike, d: float = 0.0
    ) -> NDArray[np.float64]:
        """Upright rectangles (m, 4, 3); each bound may be a number or an array of m."""
        b = self.building
        sizes = [np.size(part) for part in (u0, u1, v0, v1)]
        out = np.empty((max(sizes) if min(sizes) else 0, 4, 3))
        if len(out) == 0:
            return out
        out[:, :, 0] = b.side * (b.wall - d)
        out[:, 0, 2] = out[:, 3, 2] = u0
        out[:, 1, 2] = out[:, 2, 2] = u1
        out[:, :, 2] += b.z0
        out[:, 0, 1] = out[:, 1, 1] = v1
        out[:, 2, 1] = out[:, 3, 1] = v0
        return out

    def paint(
        self,
        u0: ArrayLike,
        u1: ArrayLike,
        v0: ArrayLike,
        v1: ArrayLike,
        color: RGB,
        *,
        d: float = 0.0,
        shine: bool = False,
    ) -> None:
        """Fill upright rectangles with one colour; `shine` for what gives light itself."""
        shown = self.light.veiled(color, self.depth) if shine else self.lit(color)
        self.canvas.solids(self.rects(u0, u1, v0, v1, d), shown)

    def panel(self, u0: float, u1: float, v0: float, v1: float, color: RGB, *, d: float = 0.0) -> None:
        """Fill one upright rectangle, cut at the near plane if it reaches behind the camera."""
        self.canvas.solid(self.rects(u0, u1, v0, v1, d)[0], self.lit(color))

    def box(
        self, u0: ArrayLike, u1: ArrayLike, v0: ArrayLike, v1: ArrayLike, color: RGB, *, d: float, d0: float = 0.0
    ) -> None:
        """Boxes standing out from d0 to d: the end towards the camera, underside or top, and the outer face."""
        u0, u1, v0, v1 = np.broadcast_arrays(*(np.atleast_1d(np.asarray(p, np.float64)) for p in (u0, u1, v0, v1)))
        near = self.points(u0[:, None], np.stack([v0, v0, v1, v1], -1), np.array([d0, d, d, d0]))
        eye = self.canvas.camera.y
        level = np.where(v0 > eye, v0, v1)
        flat = self.points(np.stack([u0, u1, u1, u0], -1), level[:, None], np.array([d0, d0, d, d]))
        below = v0 > eye
        self.canvas.solids(flat[below], self.lit(color, "under"))
        self.canvas.solids(flat[~below], self.lit(color, "up"))
        self.canvas.solids(near, self.lit(color, "front"))
        self.canvas.solids(self.rects(u0, u1, v0, v1, d), self.lit(color))

    def shade(self, color: RGB, share: float) -> RGB:
        """The colour darkened by `share`."""
        return mix(color, (24, 24, 30), share)
