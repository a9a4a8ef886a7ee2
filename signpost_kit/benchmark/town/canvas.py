"""The picture being drawn: anti-aliased polygons in pixels, or in metres seen by a camera."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from signpost_kit.benchmark.town.camera import NEAR, Camera
from signpost_kit.benchmark.town.light import RGB

__all__ = ["Canvas"]

_SHIFT = 4  # OpenCV's sub-pixel bits
_SCALE = 1 << _SHIFT


class Canvas:
    """An RGB picture (`pixels`, uint8, height x width x 3) and the camera it is taken with."""

    def __init__(self, camera: Camera) -> None:
        self.camera = camera
        self.pixels: NDArray[np.uint8] = np.zeros((camera.height, camera.width, 3), np.uint8)

    @staticmethod
    def _fixed(points: NDArray[np.float64]) -> NDArray[np.int32]:
        # No overflow: the near plane keeps coordinates below 600 m / 0.4 m times a few thousand pixels.
        return np.rint(points * _SCALE).astype(np.int32)

    def fill(self, polygons: Sequence[NDArray[np.float64]] | NDArray[np.float64], color: RGB) -> None:
        """Fill polygons, each (n, 2) in pixels and apart from the others, with one colour."""
        shapes = [self._fixed(np.asarray(polygon)) for polygon in polygons]
        if shapes:
            cv2.fillPoly(self.pixels, shapes, _bytes(color), cv2.LINE_AA, _SHIFT)

    def fill_each(self, polygons: Sequence[NDArray[np.float64]], color: RGB) -> None:
        """Fill polygons (n, 2) in pixels one by one: they may overlap (where :meth:`fill` would leave holes)."""
        shade = _bytes(color)
        for polygon in polygons:
            cv2.fillPoly(self.pixels, [self._fixed(polygon)], shade, cv2.LINE_AA, _SHIFT)

    def solid(self, points: ArrayLike, color: RGB) -> None:
        """Fill one world polygon (n, 3), cut at the near plane."""
        polygon = self.camera.clip(points)
        if len(polygon) >= 3:
            cv2.fillPoly(self.pixels, [self._fixed(polygon)], _bytes(color), cv2.LINE_AA, _SHIFT)

    def solids(self, points: NDArray[np.float64], color: RGB) -> None:
        """Fill many world polygons (m, n, 3) with one colour, but for those :meth:`visible` leaves out."""
        flat = self.visible(points)
        if len(flat):
            cv2.fillPoly(self.pixels, list(self._fixed(flat)), _bytes(color), cv2.LINE_AA, _SHIFT)

    def visible(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """World polygons (m, n, 3) as pixels (k, n, 2): those before the camera and at least partly in sight."""
        if len(points) == 0:
            return np.empty((0, 1, 2))
        seen = self.camera.look(points)
        if seen[..., 2].min() < NEAR:
            seen = seen[seen[..., 2].min(axis=1) >= NEAR]
        flat = self.camera.flatten(seen)
        x, y = flat[..., 0], flat[..., 1]
        inside = (x.max(axis=1) > 0) & (x.min(axis=1) < self.camera.width)
        inside &= (y.max(axis=1) > 0) & (y.min(axis=1) < self.camera.height)
        return flat if inside.all() else flat[inside]

    def strokes(self, lines: Sequence[NDArray[np.float64]], color: RGB, width: float, closed: bool = False) -> None:
        """Draw polylines, each (n, 2) in pixels, `width` pixels thick (at least one)."""
        shapes = [self._fixed(np.asarray(line)) for line in lines]
        if shapes:
            thick = max(1, round(width))
            cv2.polylines(self.pixels, shapes, closed, _bytes(color), thick, cv2.LINE_AA, _SHIFT)

    def veil(self, polygon: NDArray[np.float64], color: RGB, alpha: float) -> None:
        """Blend a colour over one polygon (n, 2) in pixels; nothing for fewer than three corners."""
        if len(polygon) < 3:
            return
        low = np.maximum(np.floor(polygon.min(axis=0)).astype(int) - 1, 0)
        high = np.minimum(np.ceil(polygon.max(axis=0)).astype(int) + 2, (self.camera.width, self.camera.height))
        if (high <= low).any():
            return
        region = self.pixels[low[1] : high[1], low[0] : high[0]]
        painted = region.copy()
        cv2.fillPoly(painted, [self._fixed(polygon - low)], _bytes(color), cv2.LINE_AA, _SHIFT)
        cv2.addWeighted(painted, alpha, region, 1 - alpha, 0, dst=region)

    def disc(self, centre: ArrayLike, radius: float, color: RGB, squash: float = 1.0) -> None:
        """A filled ellipse in pixels; `squash` is height over width."""
        angles = np.linspace(0, 2 * np.pi, 20 if radius < 12 else 36, endpoint=False)
        ring = np.stack([np.cos(angles) * radius, np.sin(angles) * radius * squash], axis=1)
        self.fill([ring + np.asarray(centre, np.float64)], color)


def _bytes(color: RGB) -> tuple[int, int, int]:
    red, green, blue = color
    return min(255, max(0, round(red))), min(255, max(0, round(green))), min(255, max(0, round(blue)))
