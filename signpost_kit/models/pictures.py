"""Pictures as they are sent: bare bytes within a model's limits, made once for all variants of a request.

What is sent holds pixels and nothing else: no EXIF, XMP, GPS, comment, profile or name. Encoding runs in a worker
thread; its results are kept by content, up to a number of bytes. A JPEG that is within the limits already is not
encoded a second time: its pixels go out as they are (:mod:`~signpost_kit.models.bare_jpeg`).
"""

from __future__ import annotations

import asyncio
import base64
import threading
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.errors import DataError
from signpost_kit.files import hash_bytes
from signpost_kit.models.bare_jpeg import bare_jpeg
from signpost_kit.models.base import Request
from signpost_kit.models.failures import ClientError

if TYPE_CHECKING:
    from signpost_kit.images import EncodedImage
    from signpost_kit.models.catalogue import ModelSpec

__all__ = ["Limits", "Picture", "PictureCache", "limits_of", "prepare"]

_CACHE_BYTES = 32_000_000
_SMALL_BYTES = 400_000


@dataclass(frozen=True)
class Picture:
    """What is sent of a picture."""

    data: bytes
    mime: str
    hash: str
    """Of the bytes sent."""
    width: int
    height: int

    @property
    def base64(self) -> str:
        """The bytes as base64 text."""
        return base64.b64encode(self.data).decode("ascii")

    @property
    def told(self) -> str:
        """For the record: hash, type and size of what was sent."""
        return f"{self.hash} {self.mime} {self.width}x{self.height} {len(self.data)} bytes"


@dataclass(frozen=True)
class Limits:
    """What one picture may be; see :func:`signpost_kit.images.encode_for_model`."""

    max_side: int
    max_bytes: int
    formats: tuple[str, ...]


def limits_of(spec: ModelSpec) -> Limits:
    """The limits of a model, for one picture in a request."""
    from signpost_kit.models.image_limits import encode_arguments

    return Limits(**encode_arguments(spec.image))


class PictureCache:
    """Encoded pictures by (content, limits), the least recently used ones dropped first. Safe between threads."""

    def __init__(self, max_bytes: int = _CACHE_BYTES) -> None:
        self.max_bytes = max_bytes
        self.size = 0
        """Bytes held."""
        self.encoded = 0
        """How many pictures were encoded so far."""
        self._kept: OrderedDict[tuple[str, Limits], Picture] = OrderedDict()
        self._making: dict[tuple[str, Limits], Future[Picture]] = {}
        self._lock = threading.Lock()

    def find(self, image_hash: str, limits: Limits) -> Picture | None:
        """The picture, if it is there."""
        with self._lock:
            picture = self._kept.get((image_hash, limits))
            if picture is not None:
                self._kept.move_to_end((image_hash, limits))
            return picture

    def make(self, path: Path, image_hash: str, limits: Limits) -> Picture:
        """The picture, encoded unless it is there or another thread is at it already.

        Raises
        ------
        PictureError
            The file cannot be read as a picture, or does not fit.
        """
        place = (image_hash, limits)
        with self._lock:
            kept = self._kept.get(place)
            if kept is not None:
                return kept
            other = self._making.get(place)
            mine: Future[Picture] = Future()
            if other is None:
                self._making[place] = mine
        if other is not None:
            return other.result()
        try:
            bare = _as_it_is(path, limits)
            picture = bare or _encode(path, limits)
        except BaseException as error:
            with self._lock:
                self._making.pop(place, None)
            mine.set_exception(error)
            raise
        with self._lock:
            self._making.pop(place, None)
            if bare is None:  # what took no encoding is not worth its memory
                self.encoded += 1
                self._keep(place, picture)
        mine.set_result(picture)
        return picture

    def _keep(self, place: tuple[str, Limits], picture: Picture) -> None:
        if len(picture.data) > self.max_bytes:
            return
        self._kept[place] = picture
        self.size += len(picture.data)
        while self.size > self.max_bytes:
            _, dropped = self._kept.popitem(last=False)
            self.size -= len(dropped.data)


_cache = PictureCache()


async def prepare(request: Request, spec: ModelSpec, *, cache: PictureCache | None = None) -> Picture:
    """The picture of a request as `spec` takes it.

    Raises
    ------
    ProviderError
        It cannot be sent to any model, or not within this one's limits; asking again is no use. The reason names
        the file.
    """
    if spec.image.max_images < 1:
        raise ClientError(f"{spec.model_id} takes no pictures: choose a model that reads images", fatal=True)
    path = request.image_path
    if path is None:
        raise ClientError("the question has no picture", retryable=False, ours=True)
    cache = cache or _cache
    limits = limits_of(spec)
    picture = cache.find(request.image_hash, limits)
    if picture is None and _is_small(path):
        picture = _as_it_is(path, limits)  # a fifth of a millisecond; a thread costs more than that
    if picture is not None:
        return picture
    try:
        return await asyncio.to_thread(cache.make, path, request.image_hash, limits)
    except DataError as error:
        reason = f"{path.name}: {getattr(error, 'reason', error)}"
    raise ClientError(reason, retryable=False, ours=True)


def _is_small(path: Path) -> bool:
    try:
        return path.stat().st_size <= _SMALL_BYTES
    except OSError:
        return False  # told by the ordinary way


def _as_it_is(path: Path, limits: Limits) -> Picture | None:
    """The file's own pixels, if it is a JPEG that fits and needs no turning."""
    if limits.formats[0] != "jpeg":
        return None
    try:
        with path.open("rb") as handle:
            data = handle.read(2 * limits.max_bytes) if handle.read(2) == b"\xff\xd8" else b""
    except OSError:
        return None  # told by the ordinary way
    bare = bare_jpeg(b"\xff\xd8" + data)
    if bare is None or len(bare[0]) > limits.max_bytes or max(bare[1:]) > limits.max_side:
        return None
    return Picture(bare[0], "image/jpeg", hash_bytes(bare[0]), bare[1], bare[2])


def _encode(path: Path, limits: Limits) -> Picture:
    from signpost_kit.images import encode_for_model

    encoded: EncodedImage = encode_for_model(
        path, max_side=limits.max_side, max_bytes=limits.max_bytes, formats=limits.formats
    )
    return Picture(encoded.data, encoded.mime, encoded.hash, encoded.width, encoded.height)
