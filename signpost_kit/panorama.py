"""From a panorama of the whole sphere (equirectangular, 2:1) to views as a camera would take them.

The picture's left edge continues at its right edge, and so do the views. Angles are degrees clockwise seen from
above: 0 is the middle of the picture or, where the heading of the middle is known, north.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError, DataError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ANGLES", "SIZE", "SphereTags", "edges_meet", "sphere_tags", "view", "why_no_panorama"]

ANGLES = (0, 90, 180, 270)
"""Of the four views (SIGNPOST-Bench)."""
FIELD = 90.0
"""Horizontal field of view, degrees (SIGNPOST-Bench)."""
SIZE = (1024, 512)
"""Width and height of a view, pixels (SIGNPOST-Bench)."""

_SLACK = 2  # pixels that a 2:1 panorama may be off
_LEAST_WIDTH = 256
_TAG = r"GPano:{name}\s*(?:=\s*[\"']([^\"'<>]*)[\"']|>\s*([^<]*)<)"


@dataclass(frozen=True)
class SphereTags:
    """What a panorama's XMP (GPano) says; None where it says nothing."""

    projection: str | None = None
    heading: float | None = None
    """Compass direction of the picture's middle, degrees, 0..360."""
    full_width: float | None = None
    """Of the whole sphere, pixels, and of the part of it that the picture shows:"""
    cropped_width: float | None = None
    full_height: float | None = None
    cropped_height: float | None = None


def sphere_tags(xmp: str) -> SphereTags:
    """Read GPano's tags from an XMP packet. The text is searched with patterns, never parsed as XML."""

    def text(name: str) -> str | None:
        match = re.search(_TAG.format(name=name), xmp, re.IGNORECASE)
        return (match[1] or match[2] or "").strip() if match else None

    def number(name: str) -> float | None:
        try:
            value = float(text(name) or "")
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    heading = number("PoseHeadingDegrees")
    return SphereTags(
        projection=text("ProjectionType"),
        heading=heading % 360 if heading is not None else None,
        full_width=number("FullPanoWidthPixels"),
        cropped_width=number("CroppedAreaImageWidthPixels"),
        full_height=number("FullPanoHeightPixels"),
        cropped_height=number("CroppedAreaImageHeightPixels"),
    )


def why_no_panorama(width: int, height: int, tags: SphereTags | None = None) -> str:
    """Why a picture cannot be turned into views, or "" if it can."""
    tags = tags or SphereTags()
    if tags.projection and tags.projection.lower() != "equirectangular":
        return f"its projection is {tags.projection!r}; only equirectangular panoramas are read"
    if abs(width - 2 * height) > _SLACK:
        return (
            f"{width} x {height} pixels are not 2:1: no panorama of the whole sphere; put ordinary photos into a "
            "source of kind photos"
        )
    for full, part in ((tags.full_width, tags.cropped_width), (tags.full_height, tags.cropped_height)):
        if full and part and part < full - _SLACK:
            return f"it shows only a part of the sphere ({part:g} of {full:g} pixels, by its own tags)"
    if width < _LEAST_WIDTH:
        return f"{width} x {height} pixels are too few to show anything in a view; at least {_LEAST_WIDTH} wide"
    return ""


def edges_meet(panorama: np.ndarray) -> bool:
    """Whether the left edge continues at the right one, as it does all around a true panorama.

    The step from the last column to the first is compared with the steps between neighbouring columns all over the
    picture; it may be three times the usual one.
    """
    import numpy as np

    grey = panorama.astype(np.float32).mean(axis=2)
    steps = np.abs(np.diff(grey, axis=1)).mean(axis=0)
    across = float(np.abs(grey[:, 0] - grey[:, -1]).mean())
    return across <= max(3.0 * float(np.median(steps)), float(steps.max()), 2.0)


def view(
    panorama: np.ndarray,
    angle: float,
    *,
    heading: float | None = None,
    field: float = FIELD,
    size: tuple[int, int] = SIZE,
) -> np.ndarray:
    """One level view (pitch 0, bilinear, square pixels).

    Parameters
    ----------
    panorama
        uint8, height x width x 3, width twice the height.
    angle
        Where the view's middle looks, degrees clockwise from the panorama's middle or, with `heading`, from north.
    heading
        Compass direction of the panorama's middle, degrees; None: unknown.
    field
        Horizontal, above 0 and below 180 degrees. The vertical field follows from the size: 53.1 degrees for 90 and
        2:1, so that a square stays square.
    size
        Width and height in pixels.

    Returns
    -------
    array
        uint8, height x width x 3.

    Raises
    ------
    DataError
        The array has another shape.
    ConfigError
        `field` or `size` is out of range.
    """
    import numpy as np
    from py360convert import e2p

    if panorama.ndim != 3 or panorama.shape[2] != 3 or abs(panorama.shape[1] - 2 * panorama.shape[0]) > _SLACK:
        raise DataError(f"a panorama is height x width x 3 with the width twice the height, not {panorama.shape}")
    width, height = size
    if not 0 < field < 180 or width < 1 or height < 1:
        raise ConfigError(f"a view of {field} degrees and {width} x {height} pixels cannot be made")
    vertical = 2 * math.degrees(math.atan(math.tan(math.radians(field) / 2) * height / width))
    turn = (angle - (heading or 0.0) + 180.0) % 360.0 - 180.0
    made = e2p(panorama, (field, vertical), turn, 0.0, (height, width), mode="bilinear")
    return np.ascontiguousarray(made)
