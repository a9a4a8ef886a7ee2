"""What colours look like to other eyes: simulated colour blindness, a grey printer, distances between colours.

Colour blindness after Machado, Oliveira and Fernandes (2009), "A physiologically-based model for simulation of
color vision deficiency", table of severity 1.0, applied to linear RGB; distances in CIELAB (CIE 1976, D65).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["VISIONS", "contrast", "least_distance", "seen_as"]

VISIONS = ("normal", "deuteranopia", "protanopia", "grey")
"""How a figure may be looked at; "grey" is a printer without colour."""

_MATRICES = {
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "grey": ((0.2126, 0.7152, 0.0722),) * 3,  # relative luminance, IEC 61966-2-1
}
_TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
_WHITE = (0.9505, 1.0, 1.089)


def _linear(rgb: np.ndarray) -> np.ndarray:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _encoded(rgb: np.ndarray) -> np.ndarray:
    rgb = np.clip(rgb, 0.0, 1.0)
    return np.where(rgb <= 0.0031308, rgb * 12.92, 1.055 * rgb ** (1 / 2.4) - 0.055)


def seen_as(rgb: ArrayLike, vision: str) -> np.ndarray:
    """(..., 3) sRGB in 0..1 as one of :data:`VISIONS` shows it, again sRGB in 0..1.

    Examples
    --------
    >>> seen_as([0.5, 0.5, 0.5], "protanopia").round(3).tolist()
    [0.5, 0.5, 0.5]
    """
    colour = np.asarray(rgb, dtype=float)[..., :3]
    if vision == "normal":
        return colour
    return _encoded(_linear(colour) @ np.array(_MATRICES[vision]).T)


def _lab(rgb: np.ndarray) -> np.ndarray:
    xyz = _linear(rgb) @ np.array(_TO_XYZ).T / np.array(_WHITE)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def least_distance(one: ArrayLike, other: ArrayLike) -> float:
    """The smallest distance (CIELAB; 2.3 is just noticeable) that two colours have in any of :data:`VISIONS`."""
    return float(min(np.linalg.norm(_lab(seen_as(one, v)) - _lab(seen_as(other, v))) for v in VISIONS))


def contrast(one: ArrayLike, other: ArrayLike) -> float:
    """The contrast ratio of two colours, 1 to 21 (WCAG 2: text needs 4.5, large text and marks 3)."""
    light, dark = sorted(
        (float(_linear(np.asarray(c, dtype=float)[:3]) @ np.array(_MATRICES["grey"][0])) for c in (one, other)),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)
