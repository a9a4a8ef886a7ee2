"""Pictures, safely: any file in, plain RGB turned the right way up out; what goes out carries no metadata.

Limits are checked on the header before a pixel is decoded, and whatever a decoder raises on a damaged file comes
out as one :class:`PictureError` that names the file.
"""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from PIL import Image, ImageOps

from signpost_kit.errors import DataError
from signpost_kit.files import atomic_path, hash_bytes, hash_file
from signpost_kit.image_metadata import orientation_of, read_exif, xmp_text
from signpost_kit.image_modes import to_rgb
from signpost_kit.image_types import DECODERS, HEAD, sniff_type, why_no_picture

__all__ = [
    "MAX_PIXELS",
    "EncodedImage",
    "Metadata",
    "PictureError",
    "check_pixels",
    "encode_for_model",
    "encode_jpeg",
    "encode_png",
    "image_hash",
    "load_rgb",
    "open_image",
    "read_metadata",
    "save_png",
    "sniff_type",
]

MAX_PIXELS = 120_000_000
"""Default limit, width times height: 108-megapixel phones pass; decoded it is 360 MB."""

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_quiet = threading.Lock()  # warnings.catch_warnings is not safe between threads


class PictureError(DataError):
    """A file is no picture, is damaged, or is too large. `reason` leaves the file's name out.

    `kind` is one of: not a picture · broken picture · too large · unreadable.
    """

    def __init__(self, path: Path, kind: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.kind = kind
        self.reason = reason

    def __reduce__(self) -> tuple[type[PictureError], tuple[Path, str, str]]:
        return type(self), (self.path, self.kind, self.reason)  # so that it comes back from a worker process


@dataclass(frozen=True)
class Metadata:
    """What a picture says about itself, read without decoding pixels."""

    mime: str
    """Told from the bytes, not from the name."""
    width: int
    """As stored, before the orientation is applied."""
    height: int
    orientation: int = 1
    """1..8: the turn that is still to be applied; 1 where the decoder does it (AVIF, HEIC, TIFF)."""
    gps: dict[int, Any] = field(default_factory=dict)
    """The EXIF GPS block by tag number, as Pillow gives it."""
    xmp: str = ""
    """The XMP packet as text; never parsed as XML."""
    problem: str = ""
    """What is wrong with the EXIF block, if anything."""


@dataclass(frozen=True)
class EncodedImage:
    """A picture ready to be sent: bytes without any metadata."""

    data: bytes
    mime: str
    hash: str
    width: int
    height: int
    quality: int | None = None
    """JPEG quality; None for PNG."""


def image_hash(path: Path | str) -> str:
    """The content hash of a picture's file: the kit's `image_hash` in every reply's key."""
    try:
        return hash_file(Path(path))
    except OSError as error:
        raise _unreadable(Path(path), error) from error


def read_metadata(path: Path | str) -> Metadata:
    """Type, size, orientation, GPS block and XMP of a picture, without decoding pixels (about 1 ms).

    A damaged EXIF block is no error: `problem` tells it. Sizes are not limited here.

    Raises
    ------
    PictureError
        The file cannot be read, is no picture, or its header is damaged.
    """
    path = Path(path)
    with _opened(path) as (image, mime, handle):
        return _metadata(image, mime, handle)


def open_image(path: Path | str, *, max_pixels: int = MAX_PIXELS, max_side: int | None = None) -> Image.Image:
    """The picture as RGB, upright, without metadata; the first frame of an animation.

    Parameters
    ----------
    max_pixels
        Width times height allowed by the header; checked before decoding.
    max_side
        Scale down (Lanczos, never up) so that the longer side has at most so many pixels; large JPEGs are then
        decoded at a half, quarter or eighth of their size, which is several times faster.

    Raises
    ------
    PictureError
        The file cannot be read, is no picture, is damaged or truncated, or is too large.
    """
    path = Path(path)
    with _opened(path) as (image, mime, handle):
        _check_size(path, image.size, max_pixels)
        turn = _TURNS.get(_metadata(image, mime, handle).orientation)
        size = _target(image.size, max_side)
        return _decoded(path, image, mime, turn, size, detour=2)  # twice the size: the rest of the way is Lanczos


def load_rgb(path: Path | str, *, max_pixels: int = MAX_PIXELS, max_side: int | None = None) -> np.ndarray:
    """:func:`open_image` as an array, uint8, height x width x 3, the caller's own."""
    return np.array(open_image(path, max_pixels=max_pixels, max_side=max_side))


def check_pixels(path: Path | str, *, max_pixels: int = MAX_PIXELS) -> None:
    """Raise the :class:`PictureError` that :func:`open_image` would; JPEGs are read at an eighth of their size."""
    path = Path(path)
    with _opened(path) as (image, mime, _):
        _check_size(path, image.size, max_pixels)
        if mime == "image/jpeg":
            image.draft(None, (1, 1))
        with _decoding(path):
            _load(image, mime)


def encode_png(picture: np.ndarray | Image.Image, *, level: int = 1) -> bytes:
    """PNG bytes of an RGB (or grey) picture, without any metadata. Same pixels and level, same bytes."""
    buffer = io.BytesIO()
    _bare(picture).save(buffer, "PNG", compress_level=level)
    return buffer.getvalue()


def save_png(path: Path | str, array: np.ndarray | Image.Image, *, level: int = 1) -> None:
    """Write a picture as PNG, whole or not at all, without any metadata.

    Parameters
    ----------
    array
        uint8, height x width x 3 (RGB) or height x width (grey), or a Pillow image of mode RGB or L.
    level
        zlib's, 1..9. On photos 6 takes four times as long as 1 and saves 3 percent.
    """
    data = encode_png(array, level=level)
    with atomic_path(Path(path)) as temporary:
        temporary.write_bytes(data)


def encode_jpeg(picture: np.ndarray | Image.Image, *, quality: int = 92) -> bytes:
    """JPEG bytes of an RGB (or grey) picture, without any metadata; colours at full resolution (4:4:4).

    Lettering on signs has sharp colour edges, which halved colour resolution would smear.
    """
    buffer = io.BytesIO()
    _bare(picture).save(buffer, "JPEG", quality=quality, subsampling=0)
    return buffer.getvalue()


def encode_for_model(
    path: Path | str,
    *,
    max_side: int = 2048,
    max_bytes: int = 3_700_000,
    formats: tuple[str, ...] = ("jpeg", "png"),
    max_pixels: int = MAX_PIXELS,
) -> EncodedImage:
    """What a model is sent: the picture re-encoded, upright, small enough, without metadata or name.

    The first of `formats` that fits is taken: JPEG first by default, because a choice by size alone would give the
    variants of one scene different codecs. If none fits, the quality goes down to 70, then the sides by a quarter.
    A JPEG that is too large is decoded at a half, quarter or eighth of its size where that is enough; if one of
    these is within a tenth below `max_side`, this is the size that is sent.

    Parameters
    ----------
    max_bytes
        Of the encoded file. Providers limit the base64 text, 4/3 as long: 3.7 MB keep within 5 MB.
    formats
        "jpeg", "png", in order of preference.

    Raises
    ------
    PictureError
        The picture cannot be read, or fits in no way.
    """
    path = Path(path)
    unknown = [name for name in formats if name not in ("jpeg", "png")]
    if unknown or not formats:
        raise DataError(f"formats={formats!r}: allowed are 'jpeg' and 'png', at least one of them")
    with _opened(path) as (image, mime, handle):
        _check_size(path, image.size, max_pixels)
        about = _metadata(image, mime, handle)
        size = _target(image.size, max_side)
        near = _near(image.size, size) if mime == "image/jpeg" else None
        turn = _TURNS.get(about.orientation)
        picture = _decoded(path, image, mime, turn, near or size, detour=2 if near else 1, halve=near is not None)
    while True:
        for name in formats:
            for quality in (92, 85, 78, 70) if name == "jpeg" else (None,):
                data = encode_png(picture) if quality is None else encode_jpeg(picture, quality=quality)
                if len(data) <= max_bytes:
                    return EncodedImage(data, f"image/{name}", hash_bytes(data), *picture.size, quality=quality)
        if max(picture.size) <= 64:
            raise PictureError(path, "too large", f"does not fit in {max_bytes} bytes as {' or '.join(formats)}")
        picture = _resized(picture, _target(picture.size, max(64, max(picture.size) * 3 // 4)))


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Image.Image, str, BinaryIO]]:
    """The undecoded picture, its MIME type and the open file."""
    try:
        handle = path.open("rb")
    except OSError as error:
        raise _unreadable(path, error) from error
    with handle:
        try:
            head = handle.read(HEAD)
        except OSError as error:
            raise _unreadable(path, error) from error
        mime = sniff_type(head)
        if not mime:
            raise PictureError(path, "not a picture", why_no_picture(head))
        handle.seek(0)
        with _decoding(path, "its header is damaged or cut off"), _silence():
            # The decoder is called directly: Image.open would first measure against a global limit of its own,
            # and would try decoders that run other programs.
            image = _decoder(mime)(handle, path.name)
        yield image, mime, handle


def _decoded(
    path: Path,
    image: Image.Image,
    mime: str,
    turn: Image.Transpose | None,
    size: tuple[int, int],
    *,
    detour: int,
    halve: bool = False,
) -> Image.Image:
    """The pixels as RGB, scaled to `size` and turned; a JPEG is decoded at `detour` times `size` if it can be."""
    if size != image.size and mime == "image/jpeg":
        image.draft(None, (detour * size[0], detour * size[1]))
    with _decoding(path):
        _load(image, mime)
        if mime == "image/tiff":  # turned while loading
            size = _target(image.size, max(size))
        if image.mode in ("RGB", "L", "CMYK"):
            picture = to_rgb(_resized(image, size, halve=halve))
        else:  # palettes, transparency and 16 bits must be converted before pixels are mixed
            picture = _resized(to_rgb(image), size)
        return picture.transpose(turn) if turn is not None else picture


def _near(full: tuple[int, int], size: tuple[int, int]) -> tuple[int, int] | None:
    """A half, quarter or eighth of `full` that is `size` or up to a tenth less: cheaper than scaling to `size`."""
    for part in (2, 4, 8):
        reduced = -(-full[0] // part), -(-full[1] // part)
        if size != full and 0.9 * max(size) <= max(reduced) <= max(size):
            return reduced
    return None


def _load(image: Image.Image, mime: str) -> None:
    if mime != "image/tiff":
        image.load()
        return
    with _silence():  # its metadata are read again while loading
        try:
            image.load()
        except KeyError:  # Pillow 12 fails so on a dangling metadata block, after the pixels are there
            image.load()
            ImageOps.exif_transpose(image, in_place=True)


@contextmanager
def _silence() -> Iterator[None]:
    """No warnings about malformed MPO and EXIF blocks: they are told by us, once, where they matter."""
    with _quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _decoder(mime: str) -> Any:
    name = DECODERS[mime]
    if name == "HEIF" and name not in Image.OPEN:
        import pillow_heif

        pillow_heif.register_heif_opener()
    if name not in Image.OPEN:
        Image.init()
    if name not in Image.OPEN:
        raise OSError(f"this Pillow was built without {name}")
    return Image.OPEN[name][0]


@contextmanager
def _decoding(path: Path, what: str = "its pixels are damaged or cut off") -> Iterator[None]:
    """Turn whatever a decoder raises into a PictureError."""
    try:
        yield
    except DataError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:  # frames inside a GIF
        raise PictureError(path, "too large", f"has far too many pixels ({error})") from error
    except MemoryError as error:
        raise PictureError(path, "too large", "does not fit in memory; lower max_pixels") from error
    except Exception as error:
        detail = " ".join(str(error).split())[:160] or type(error).__name__
        raise PictureError(path, "broken picture", f"{what} ({detail})") from error


def _metadata(image: Image.Image, mime: str, handle: BinaryIO) -> Metadata:
    with _silence():
        exif, gps, problem = read_exif(image, mime, handle)
        xmp = xmp_text(image, mime, handle)
    width, height = image.size
    return Metadata(mime, width, height, orientation_of(mime, exif, xmp), gps, xmp, problem)


def _check_size(path: Path, size: tuple[int, int], max_pixels: int) -> None:
    width, height = size
    if width < 1 or height < 1:
        raise PictureError(path, "broken picture", f"its header says {width} x {height} pixels")
    if width * height > max_pixels:
        raise PictureError(
            path,
            "too large",
            f"{width} x {height} pixels are {width * height / 1e6:,.0f} million, "
            f"allowed are {max_pixels / 1e6:,.0f} million; scale it down or raise max_pixels",
        )


def _target(size: tuple[int, int], max_side: int | None) -> tuple[int, int]:
    if max_side is None or max(size) <= max_side:
        return size
    if max_side < 1:
        raise DataError(f"max_side={max_side}: it must be at least 1 pixel")
    scale = max_side / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _resized(image: Image.Image, size: tuple[int, int], *, halve: bool = False) -> Image.Image:
    """Scaled by Lanczos, or, with `halve` and where it comes to the same size, by the mean of four pixels."""
    if image.size == size:
        return image
    info = image.info
    if halve and size == (-(-image.width // 2), -(-image.height // 2)):
        image = image.reduce(2)
    else:
        image = image.resize(size, Image.Resampling.LANCZOS)
    image.info = info  # the colour profile is still needed
    return image


def _bare(picture: np.ndarray | Image.Image) -> Image.Image:
    """A Pillow image that is nothing but pixels: encoders find no profile, comment or EXIF to write."""
    image = _from_array(picture) if isinstance(picture, np.ndarray) else picture
    if image.mode not in ("RGB", "L"):
        raise DataError(f"a picture of mode {image.mode} cannot be written as it is; open it with open_image")
    if type(image) is Image.Image and not image.info:
        return image
    bare = Image.new(image.mode, image.size)
    bare.paste(image)
    return bare


def _from_array(array: np.ndarray) -> Image.Image:
    fits = array.dtype == np.uint8 and (array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 3))
    if not fits or array.size == 0:
        raise DataError(
            f"a picture must be uint8, height x width x 3 or height x width; this is {array.dtype}, {array.shape}"
        )
    return Image.fromarray(np.ascontiguousarray(array))


def _unreadable(path: Path, error: OSError) -> PictureError:
    return PictureError(path, "unreadable", f"cannot be read ({error.strerror or error})")
