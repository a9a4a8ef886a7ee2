"""What a file is, told by its first bytes and never by its name."""

from __future__ import annotations

__all__ = ["DECODERS", "HEAD", "sniff_type", "why_no_picture"]

HEAD = 64
"""Bytes that tell every type."""

DECODERS = {
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/webp": "WEBP",
    "image/gif": "GIF",
    "image/bmp": "BMP",
    "image/tiff": "TIFF",
    "image/avif": "AVIF",
    "image/heic": "HEIF",
    "image/jp2": "JPEG2000",
    "image/x-portable-anymap": "PPM",
}
"""MIME type -> Pillow's name of the decoder."""

_OTHER_TYPES = (  # beginnings of files that people put into photo folders, for a clear reason
    (b"%pdf", "a PDF"),
    (b"<svg", "an SVG drawing"),
    (b"<!doctype html", "a web page"),
    (b"<html", "a web page"),
    (b"pk\x03\x04", "a zip archive or office document"),
    (b"version https://git-lfs", "a Git LFS pointer; fetch the real file with `git lfs pull`"),
)


def sniff_type(data: bytes) -> str:
    """The MIME type told by a file's first bytes (64 are enough), or "" if it is no picture the kit reads."""
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    if data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return "image/tiff"
    if data[4:8] == b"ftyp":
        brands = {data[i : i + 4] for i in range(8, len(data) - 3, 4)}
        if brands & {b"avif", b"avis"}:
            return "image/avif"
        if brands & {b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"}:
            return "image/heic"
    if data.startswith((b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51")):
        return "image/jp2"
    if data[:2] == b"BM" and len(data) > 14:
        return "image/bmp"
    if len(data) > 2 and data[0:1] == b"P" and data[1:2] in b"123456" and data[2:3].isspace():
        return "image/x-portable-anymap"
    return ""


def why_no_picture(head: bytes) -> str:
    """The reason, for a person, why a file that begins so is no picture that the kit reads."""
    if not head:
        return "the file is empty (0 bytes)"
    start = head.lstrip().lower()
    for beginning, name in _OTHER_TYPES:
        if start.startswith(beginning):
            return f"not a picture but {name}"
    if head[4:8] == b"ftyp":
        return "not a picture: a video, or a camera's raw file; export it as JPEG"
    known = ", ".join(mime.partition("/")[2].upper() for mime in DECODERS if "x-" not in mime)
    return f"not a picture: its first bytes fit none of {known}"
