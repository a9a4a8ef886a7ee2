"""From metres in the street to pixels in the picture.

World: x to the right of the street's middle line, y up from the road, z along the street; the camera stands at
z = 0.
Picture: pixel (0, 0) is the top left corner's centre.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import cos, sin

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["NEAR", "Camera"]

NEAR = 0.4
"""Metres before the camera at which large surfaces are cut off."""


@dataclass(frozen=True)
class Camera:
    """A pinhole camera. Angles in radians: yaw to the right, pitch up, roll clockwise."""

    width: int
    height: int
    focal: float
    """In pixels."""
    x: float
    y: float
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0

    @functools.cached_property
    def rotation(self) -> NDArray[np.float64]:
        """World to camera (right, down, ahead), 3 x 3."""
        cy, sy, cp, sp = cos(self.yaw), sin(self.yaw), cos(self.pitch), sin(self.pitch)
        ahead = np.array([sy * cp, sp, cy * cp])
        right = np.array([cy, 0.0, -sy])
        down = np.cross(right, ahead)
        cr, sr = cos(self.roll), sin(self.roll)
        return np.stack([cr * right + sr * down, -sr * right + cr * down, ahead])

    @functools.cached_property
    def _offset(self) -> NDArray[np.float64]:
        return self.rotation @ np.array([self.x, self.y, 0.0])

    def look(self, points: ArrayLike) -> NDArray[np.float64]:
        """World points (..., 3) in the camera's frame; the last coordinate is the depth in metres."""
        world = np.asarray(points, dtype=np.float64)
        flat = world.reshape(-1, 3)  # one matrix product: numpy is slow on stacks of small ones
        return (flat @ self.rotation.T - self._offset).reshape(world.shape)

    def flatten(self, seen: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points of the camera's frame, all with positive depth, as pixels (..., 2)."""
        plane = seen[..., :2] / seen[..., 2:]
        return plane * self.focal + ((self.width - 1) / 2, (self.height - 1) / 2)

    def project(self, points: ArrayLike) -> NDArray[np.float64]:
        """World points (..., 3) as pixels (..., 2); points behind the camera have no meaning."""
        seen = self.look(points)
        seen[..., 2] = np.maximum(seen[..., 2], 1e-3)
        return self.flatten(seen)

    def depth(self, x: float, z: float) -> float:
        """Depth in metres of a point on the road."""
        return float((x - self.x) * self.rotation[2, 0] + z * self.rotation[2, 2])

    def clip(self, points: ArrayLike) -> NDArray[np.float64]:
        """One world polygon (n, 3) as pixels (m, 2), cut at the near plane; m is 0 when nothing is before it."""
        seen = self.look(points)
        inside = seen[:, 2] >= NEAR
        if inside.all():
            return self.flatten(seen)
        if not inside.any():
            return np.empty((0, 2))
        kept: list[NDArray[np.float64]] = []
        for index in range(len(seen)):
            here, following = seen[index], seen[(index + 1) % len(seen)]
            if inside[index]:
                kept.append(here)
            if inside[index] != inside[(index + 1) % len(seen)]:
                share = (NEAR - here[2]) / (following[2] - here[2])
                kept.append(here + share * (following - here))
        return self.flatten(np.array(kept))
