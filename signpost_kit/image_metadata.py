"""EXIF, GPS block and XMP packet of an opened picture, read without decoding pixels and without trusting them.

Damaged blocks are the rule rather than the exception; they give empty values and one line that says so.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from PIL import Image

__all__ = ["orientation_of", "read_exif", "xmp_text"]

_ORIENTATION, _GPS_IFD = 0x0112, 0x8825
_MAX_BLOCK = 4_000_000  # bytes of one EXIF or XMP block; real ones are below 100 kB
_PNG_XMP = b"XML:com.adobe.xmp"
_XMP_ORIENTATION = re.compile(r"\btiff:Orientation\s*(?:=\s*[\"']|>)\s*(\d+)")


def read_exif(image: Image.Image, mime: str, handle: BinaryIO) -> tuple[dict[int, Any], dict[int, Any], str]:
    """(main tags, GPS tags, what is wrong or ""). Pixels are not decoded, the file's position is kept."""
    position = handle.tell()
    try:
        exif = _exif_block(image, mime, handle)
    except Exception as error:  # the parsers raise nearly anything on damaged blocks
        return {}, {}, f"the EXIF block is damaged ({_short(error)})"
    try:
        tags = dict(exif)
    except Exception as error:
        return {}, {}, f"the EXIF block is damaged ({_short(error)})"
    try:
        gps = dict(exif.get_ifd(_GPS_IFD))
    except Exception as error:
        return tags, {}, f"the GPS block of the EXIF is damaged ({_short(error)})"
    finally:
        handle.seek(position)
    return tags, gps, ""


def xmp_text(image: Image.Image, mime: str, handle: BinaryIO) -> str:
    """The XMP packet as text, "" if there is none. Only ever searched with patterns, never parsed as XML."""
    packet = image.info.get("xmp") or image.info.get("XML:com.adobe.xmp")
    if not packet and mime == "image/png":
        packet = _png_xmp(handle)
    if isinstance(packet, str):
        return packet[:_MAX_BLOCK]
    if not isinstance(packet, bytes):
        return ""
    packet = packet[:_MAX_BLOCK]
    if packet.count(b"\0") > len(packet) // 4:  # XMP may be UTF-16, with or without a byte order mark
        little = packet.startswith(b"\xff\xfe") or packet[1:2] == b"\0"
        return packet.decode("utf-16-le" if little else "utf-16-be", "ignore").lstrip("\ufeff")
    return packet.decode("utf-8", "ignore")


def orientation_of(mime: str, exif: dict[int, Any], xmp: str) -> int:
    """The turn still to be applied, 1..8. EXIF before XMP; anything else than 1..8 counts as not said.

    HEIC and TIFF are turned by their decoders. In AVIF the decoder leaves in the EXIF what is still to be done,
    and an XMP copy of the camera's value would turn the picture twice.
    """
    if mime in ("image/heic", "image/tiff"):
        return 1
    value = exif.get(_ORIENTATION)
    if isinstance(value, int) and 1 <= value <= 8:
        return value
    if mime != "image/avif":
        found = _XMP_ORIENTATION.search(xmp)
        if found and len(found[1]) == 1 and 1 <= int(found[1]) <= 8:
            return int(found[1])
    return 1


def _exif_block(image: Image.Image, mime: str, handle: BinaryIO) -> Image.Exif:
    if mime == "image/tiff":
        return image.getexif()
    # Not getexif() here: it mixes in the XMP's orientation, and decodes a whole PNG to look behind the pixels.
    block: bytes | None = image.info.get("exif")
    raw = image.info.get("Raw profile type exif")  # ImageMagick's older way: hex digits in a text chunk
    if block is None and isinstance(raw, str):
        block = bytes.fromhex("".join(raw.split("\n")[3:]))
    if block is None and mime == "image/png":
        block = next((data for kind, data in _png_chunks(handle) if kind == b"eXIf"), None)
    exif = Image.Exif()
    if block:
        exif.load(block)
    return exif


def _png_chunks(handle: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """The eXIf and iTXt chunks, wherever they are; stops quietly where the file is cut off."""
    handle.seek(8)
    while True:
        head = handle.read(8)
        if len(head) < 8:
            return
        length, kind = struct.unpack(">I4s", head)
        if kind == b"IEND":
            return
        if kind in (b"eXIf", b"iTXt") and length <= _MAX_BLOCK:
            yield kind, handle.read(length)
            handle.seek(4, 1)
        else:
            handle.seek(length + 4, 1)


def _png_xmp(handle: BinaryIO) -> bytes:
    position = handle.tell()
    try:
        for kind, data in _png_chunks(handle):
            if kind == b"iTXt" and data.startswith(_PNG_XMP + b"\0"):
                packed = data[len(_PNG_XMP) + 1 : len(_PNG_XMP) + 2] == b"\1"
                body = data[len(_PNG_XMP) + 3 :].split(b"\0", 2)[-1]
                return zlib.decompressobj().decompress(body, _MAX_BLOCK) if packed else body
    except (OSError, zlib.error):
        return b""
    finally:
        handle.seek(position)
    return b""


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:80] or type(error).__name__
