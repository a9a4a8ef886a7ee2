"""A JPEG without its metadata, its pixels untouched: what needs no scaling or turning is not encoded a second time.

Only the segments that make pixels are copied, up to the end of the picture; EXIF, XMP, IPTC, comments, thumbnails,
profiles, second pictures and whatever follows the end are left out. Anything unusual is declined: it is then
decoded and encoded anew.
"""

from __future__ import annotations

import re
import struct

__all__ = ["bare_jpeg"]

_FRAMES = frozenset({0xC0, 0xC1, 0xC2})  # baseline, extended, progressive; all Huffman-coded
_TABLES = frozenset({0xDB, 0xC4, 0xDD})  # quantisation, Huffman, restart interval
_JFIF = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")


def bare_jpeg(data: bytes) -> tuple[bytes, int, int] | None:
    """The picture's bytes alone, its width and height; None if it must be decoded to be sent right.

    Declined are: a turn in EXIF, a colour profile (other than one that says sRGB), CMYK and other colour models,
    12 bits, arithmetic coding, several frames, and anything incomplete or out of order.
    """
    if data[:2] != b"\xff\xd8":
        return None
    kept = [b"\xff\xd8", _JFIF]
    size: tuple[int, int] | None = None
    place, scans = 2, 0
    while True:
        while data[place : place + 2] == b"\xff\xff":
            place += 1
        head = data[place : place + 4]
        if len(head) < 2 or head[0] != 0xFF:
            return None
        if head[1] == 0xD9:
            return (b"".join([*kept, b"\xff\xd9"]), *size) if size and scans else None
        if len(head) < 4:
            return None
        end = place + 2 + struct.unpack(">H", head[2:])[0]
        segment = data[place:end]
        if end > len(data) or len(segment) < 4:
            return None
        marker = head[1]
        if marker == 0xDA:
            found = _NEXT_MARKER.search(data, end)
            if found is None or size is None:
                return None
            end = found.start()
            kept.append(data[place:end])
            scans += 1
        elif marker in _FRAMES:
            if size is not None or segment[4] != 8 or segment[9] not in (1, 3):
                return None
            height, width = struct.unpack(">HH", segment[5:9])
            if not (width and height):
                return None
            size = (width, height)
            kept.append(segment)
        elif marker in _TABLES:
            kept.append(segment)
        elif not (0xE0 <= marker <= 0xEF or marker == 0xFE) or not _may_go(marker, segment):
            return None
        place = end


def _may_go(marker: int, segment: bytes) -> bool:
    """Whether the pixels mean the same without this application's segment."""
    body = segment[4:]
    if marker == 0xE1 and body.startswith(b"Exif\0"):
        return _turn(body[6:]) in (0, 1)
    if marker == 0xE1 and b"ns.adobe.com/xap" in body[:40]:
        return re.search(rb"tiff:Orientation\s*(?:=\s*[\"']|>)\s*[2-8]", body) is None
    if marker == 0xE2 and body.startswith(b"ICC_PROFILE\0"):
        return b"sRGB" in body[:1024] or b"s\0R\0G\0B" in body[:1024]
    if marker == 0xEE and body.startswith(b"Adobe"):
        return len(body) >= 12 and body[11] == 1  # YCbCr, which is what a decoder assumes without it
    return True


def _turn(tiff: bytes) -> int:
    """EXIF's orientation; 0 if there is none. Anything unreadable counts as a turn, to be looked at properly."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        return -1
    try:
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        for place in range(start + 2, start + 2 + 12 * count, 12):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", tiff, place)
            if tag == 0x0112:
                return value if kind == 3 else -1
    except struct.error:
        return -1
    return 0
