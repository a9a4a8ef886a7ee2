"""A model's limits for pictures, as arguments for :func:`signpost_kit.images.encode_for_model`.

Providers measure the base64 text, not the file; refuse sides beyond a number of pixels, a smaller one when a
request holds many pictures; and take so many pictures in one request. What they would scale down themselves is
scaled down before sending.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from signpost_kit.errors import ModelError
from signpost_kit.images import EncodedImage, encode_for_model
from signpost_kit.models.catalogue import ImageLimits

__all__ = ["EncodeArguments", "base64_length", "encode_arguments", "encode_within", "file_bytes"]


class EncodeArguments(TypedDict):
    """Keyword arguments of :func:`signpost_kit.images.encode_for_model`."""

    max_side: int
    max_bytes: int
    formats: tuple[str, ...]


def base64_length(n_bytes: int) -> int:
    """Characters of `n_bytes` in base64, padding included: 4 for each begun group of three."""
    return -(-n_bytes // 3) * 4


def file_bytes(base64_bytes: int) -> int:
    """The largest file whose base64 text has at most `base64_bytes` characters."""
    return base64_bytes // 4 * 3


def encode_arguments(limits: ImageLimits, *, n_images: int = 1) -> EncodeArguments:
    """What to encode one picture with, in a request of `n_images` pictures.

    Raises
    ------
    ModelError
        The model reads no pictures, or not so many in one request.
    """
    if limits.max_images == 0:
        raise ModelError("this model reads text only: choose one that takes pictures")
    if n_images > limits.max_images:
        raise ModelError(
            f"{n_images} pictures in one request, but this model takes {limits.max_images}: ask in several requests"
        )
    side = min(limits.max_side_px, limits.useful_side_px)
    if limits.many_side_px is not None and n_images > limits.many_from:
        side = min(side, limits.many_side_px)
    return EncodeArguments(
        max_side=side, max_bytes=file_bytes(limits.max_base64_bytes), formats=tuple(limits.formats)
    )


def encode_within(path: Path | str, limits: ImageLimits, *, n_images: int = 1) -> EncodedImage:
    """A picture's file as bytes that a model of these limits takes.

    Raises
    ------
    ModelError
        See :func:`encode_arguments`.
    PictureError
        The file cannot be read as a picture, or fits in no way.
    """
    return encode_for_model(path, **encode_arguments(limits, n_images=n_images))
