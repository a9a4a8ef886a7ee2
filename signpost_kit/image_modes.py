"""Any Pillow image to plain 8-bit RGB: depth, palettes, transparency, CMYK, LAB and colour profiles.

Pure conversions, no files. Pillow's own `convert("RGB")` clips 16-bit pictures to white, drops transparency onto
whatever colour lies below it, and ignores the profile; each of these changes what a model would see.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

__all__ = ["scale_to_8bit", "to_rgb"]

_DEEP_MODES = ("I", "F")  # and everything that begins with "I;16"
_ALPHA_MODES = ("LA", "La", "PA", "RGBA", "RGBa")
_NARROW = 1 / 8  # a 16-bit picture using less of its range than this is stretched


def to_rgb(image: Image.Image) -> Image.Image:
    """`image` as RGB, 8 bits a channel; transparency is laid on white, profiles are turned into sRGB.

    The pixels are loaded; whatever the decoder raises comes through. The result carries no metadata.
    """
    image.load()
    if image.mode in _DEEP_MODES or image.mode.startswith("I;16"):
        out = _deep_to_rgb(image)
    elif image.mode in _ALPHA_MODES or "transparency" in image.info:
        out = _on_white(image)
    else:
        out = _to_srgb(image)
    out.info = {}
    return out


def scale_to_8bit(values: np.ndarray) -> np.ndarray:
    """Grey values of any depth as uint8, never clipped.

    16-bit values (integers 0..65535) are scaled by 1/257. Where they use less than 1/8 of that range (12-bit
    cameras, thermal pictures) the range in use is stretched to 0..255 instead: else everything would be one grey.
    Floats in 0..1 are scaled by 255, integers or floats of any other range are stretched; NaN counts as the lowest
    value, a constant picture keeps its brightness (0 where that has no meaning).
    """
    data = values.astype(np.float64)
    finite = np.isfinite(data)
    if not finite.any():
        return np.zeros(values.shape, np.uint8)
    low, high = float(data[finite].min()), float(data[finite].max())
    data = np.clip(np.where(finite, data, low), low, high)
    if values.dtype.kind == "f" and low >= 0 and high <= 1:
        data = data * 255
    elif low < 0 or high > 65535 or values.dtype.kind == "f":
        data = (data - low) * 255 / (high - low) if high > low else np.zeros_like(data)
    elif 0 < high - low < 65535 * _NARROW:
        data = (data - low) * 255 / (high - low)
    else:
        data = data / 257
    return np.rint(data).astype(np.uint8)


def _deep_to_rgb(image: Image.Image) -> Image.Image:
    values = np.asarray(image)
    grey = scale_to_8bit(values)
    transparent = image.info.get("transparency")
    if isinstance(transparent, int):  # PNG: one value of the 16-bit grey scale is see-through
        grey = np.where(values == transparent, np.uint8(255), grey)
    return Image.fromarray(grey).convert("RGB")


def _on_white(image: Image.Image) -> Image.Image:
    profile = image.info.get("icc_profile")
    direct = {"La": "LA", "RGBa": "RGBA"}.get(image.mode)  # premultiplied modes convert one step at a time
    try:
        rgba = (image.convert(direct) if direct else image).convert("RGBA")
    except ValueError:  # a tRNS chunk that does not fit the picture's depth: not see-through then
        image.info.pop("transparency", None)
        return _to_srgb(image)
    alpha = rgba.getchannel("A")
    colours = rgba.convert("RGB")
    if profile and image.mode not in ("LA", "La"):
        colours.info["icc_profile"] = profile
        colours = _to_srgb(colours)
    if image.format in ("BMP", "DIB") and alpha.getextrema() == (0, 0):
        return colours  # 32-bit bitmaps often leave the fourth byte unused
    white = Image.new("RGB", rgba.size, (255, 255, 255))
    white.paste(colours, mask=alpha)
    return white


def _to_srgb(image: Image.Image) -> Image.Image:
    """RGB through the embedded profile; without one, or with one that does not fit, Pillow's plain conversion."""
    profile = image.info.get("icc_profile")
    if not profile or image.mode not in ("RGB", "CMYK", "LAB"):
        return image.convert("RGB")
    from PIL import ImageCms

    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        about: Any = source.profile
        if image.mode == "RGB" and (about.profile_description or "").startswith("sRGB"):
            return image.convert("RGB")
        converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):  # damaged, or of another colour space
        return image.convert("RGB")
    return image.convert("RGB") if converted is None else converted
