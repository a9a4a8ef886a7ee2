"""Small pictures made on the spot: four coloured corners tell which way up they are."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

RED, GREEN, BLUE, WHITE = (230, 20, 20), (20, 200, 20), (20, 20, 230), (250, 250, 250)
Gps = dict[int, Any]


def corners(width: int = 96, height: int = 64) -> Image.Image:
    """Red top left, green top right, blue bottom left, white bottom right."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[: height // 2, : width // 2] = RED
    pixels[: height // 2, width // 2 :] = GREEN
    pixels[height // 2 :, : width // 2] = BLUE
    pixels[height // 2 :, width // 2 :] = WHITE
    return Image.fromarray(pixels)


def seen(image: Image.Image | np.ndarray) -> str:
    """The corners' colours in reading order, e.g. "RGBW" for an upright picture."""
    array = np.asarray(image).astype(int)
    height, width = array.shape[:2]
    names = dict(zip("RGBW", (RED, GREEN, BLUE, WHITE), strict=True))
    out = ""
    for y in (height // 4, 3 * height // 4):
        for x in (width // 4, 3 * width // 4):
            out += min(names, key=lambda name: int(np.abs(array[y, x] - names[name]).sum()))
    return out


def gps_block(lat: float, lon: float) -> Gps:
    """A well-formed EXIF GPS block for signed degrees."""

    def dms(value: float) -> tuple[Fraction, ...]:
        seconds = round(abs(value) * 3_600_000)
        return Fraction(seconds // 3_600_000), Fraction(seconds // 60_000 % 60), Fraction(seconds % 60_000, 1000)

    return {1: "S" if lat < 0 else "N", 2: dms(lat), 3: "W" if lon < 0 else "E", 4: dms(lon)}


def exif_bytes(gps: Gps | None = None, orientation: int | None = None) -> bytes:
    """An EXIF block as Pillow writes it."""
    exif = Image.Exif()
    if orientation is not None:
        exif[0x0112] = orientation
    if gps is not None:
        exif[0x8825] = gps
    return exif.tobytes()


def xmp_packet(**properties: str) -> bytes:
    """An XMP packet with `exif:` (or, with a `tiff_` prefix, `tiff:`) attributes."""
    attributes = " ".join(
        f'tiff:{name[5:]}="{value}"' if name.startswith("tiff_") else f'exif:{name}="{value}"'
        for name, value in properties.items()
    )
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" '
        f"{attributes}/></rdf:RDF></x:xmpmeta>"
    ).encode()


def parts(data: bytes) -> set[str]:
    """The kinds of chunks of a PNG or segments of a JPEG: what there is besides pixels."""
    found, at = set(), 8
    if data.startswith(b"\x89PNG"):
        while at < len(data):
            length = int.from_bytes(data[at : at + 4], "big")
            found.add(data[at + 4 : at + 8].decode())
            at += length + 12
        return found
    at = 2
    while data[at + 1] != 0xDA:
        found.add(f"{data[at + 1]:02X}")
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return found


class Maker:
    """Writes pictures into one folder."""

    corners = staticmethod(corners)
    seen = staticmethod(seen)
    gps_block = staticmethod(gps_block)
    exif_bytes = staticmethod(exif_bytes)
    xmp_packet = staticmethod(xmp_packet)
    parts = staticmethod(parts)

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def photo(
        self,
        name: str,
        lat: float | None = None,
        lon: float | None = None,
        *,
        gps: Gps | None = None,
        image: Image.Image | None = None,
        orientation: int | None = None,
        **options: Any,
    ) -> Path:
        """A picture whose EXIF holds the position given (or the raw block `gps`)."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if lat is not None and lon is not None:
            gps = gps_block(lat, lon)
        if gps is not None or orientation is not None:
            options["exif"] = exif_bytes(gps, orientation)
        if image is None:  # its own pixels for every name, so that nothing is a duplicate by accident
            image = corners()
            noise = np.random.default_rng(list(name.encode())).integers(0, 256, (8, 8, 3), np.uint8)
            image.paste(Image.fromarray(noise), (44, 28))
        image.save(path, **options)
        return path


@pytest.fixture
def maker(tmp_path: Path) -> Maker:
    """A maker of pictures in an empty folder."""
    folder = tmp_path / "photos"
    folder.mkdir()
    return Maker(folder)


@pytest.fixture
def no_reader() -> Callable[..., None]:
    """A stand-in that fails when called: proves that something is not done."""

    def fail(*_args: object, **_options: object) -> None:
        raise AssertionError("this must not be called")

    return fail
