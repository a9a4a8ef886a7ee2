"""What crosses the wire: pixels and the prompt, and nothing that tells where or whose the picture is."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fault_server import Manners
from PIL import Image

from signpost_kit.images import PictureError, image_hash, load_rgb
from signpost_kit.models import pictures
from signpost_kit.models.bare_jpeg import bare_jpeg
from signpost_kit.models.catalogue import ImageLimits
from signpost_kit.models.client import make_client
from signpost_kit.models.failures import ClientError
from signpost_kit.models.pictures import Limits, PictureCache, limits_of, prepare

KEY = "sk-planted-0123456789abcdefXYZ"
WIRES = ("openai", "anthropic", "google")
PLANTED = "PLANTED-SECRET-TEXT"


def ask_all(server, spec, requests):
    async def main():
        client = make_client(spec, key=KEY, base_url=server.url)
        results = await asyncio.gather(*[client.ask(request) for request in requests], return_exceptions=True)
        await client.close()
        return results

    return asyncio.run(main())


@pytest.fixture
def telling(tmp_path) -> Path:
    """A photo that tells everything: EXIF with a position and a name, XMP, ICC, a comment, words after its end."""
    path = tmp_path / f"{PLANTED}-eiffel-tower.jpg"
    exif = Image.Exif()
    exif[0x010E] = PLANTED  # description
    exif[0x013B] = PLANTED  # artist
    gps = exif.get_ifd(0x8825)
    gps[1], gps[2], gps[3], gps[4] = "N", (48.0, 51.0, 29.9), "E", (2.0, 17.0, 40.2)
    gps[29] = PLANTED
    xmp = f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><exif:GPSLatitude>48,51.5N</exif:GPSLatitude>{PLANTED}</x:xmpmeta>'
    pixels = np.random.default_rng(1).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    profile = b"\0" * 128 + b"sRGB " + PLANTED.encode()
    Image.fromarray(pixels).save(
        path, exif=exif, xmp=xmp.encode(), icc_profile=profile, comment=PLANTED.encode(), quality=90
    )
    path.write_bytes(path.read_bytes() + PLANTED.encode())
    assert path.read_bytes().count(PLANTED.encode()) >= 6
    return path


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("turned", [False, True], ids=["as it is", "encoded"])
def test_nothing_but_pixels_and_the_prompt(serve, spec_for, question, telling, wire, turned):  # noqa: PLR0917
    """Once as the file's own pixels, once encoded anew (PNG in, JPEG out)."""
    path = telling
    if turned:
        path = telling.with_suffix(".png")
        with Image.open(telling) as image:
            image.save(path, exif=image.getexif(), pnginfo=_png_text(), icc_profile=image.info["icc_profile"])
        assert path.read_bytes().count(PLANTED.encode()) >= 2
    server = serve(wire)
    (answer,) = ask_all(server, spec_for(wire), [question(path)])
    assert answer.status == "ok"
    (call,) = server.calls
    everything = call.path.encode() + repr(call.headers).encode() + call.body + call.picture
    for word in (PLANTED, "secret-", "Secret", "eiffel", path.parent.name, image_hash(path), "coordinate"):
        assert word.encode() not in everything, word
    for mark in (
        b"Exif",
        b"http://ns.adobe",
        b"xmpmeta",
        b"ICC_PROFILE",
        b"GPS",
        b"\xff\xe1",
        b"\xff\xe2",
        b"\xff\xfe",
    ):
        assert mark not in call.picture, mark
    with Image.open(io.BytesIO(call.picture)) as sent:
        assert (sent.format, len(sent.getexif())) == ("JPEG", 0)
        assert set(sent.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
        if not turned:
            assert np.array_equal(np.asarray(sent.convert("RGB")), load_rgb(path))
    assert answer.notes["picture"].split()[1:3] == ["image/jpeg", "80x60"]


def _png_text():
    from PIL import PngImagePlugin

    info = PngImagePlugin.PngInfo()
    info.add_text("Description", PLANTED)
    info.add_itxt("XML:com.adobe.xmp", PLANTED)
    return info


def test_the_record_names_the_bytes_sent(serve, spec_for, question):
    from signpost_kit.files import hash_bytes

    server = serve("openai")
    (answer,) = ask_all(server, spec_for("openai"), [question()])
    assert answer.notes["picture"].split()[0] == hash_bytes(server.calls[0].picture)


@pytest.mark.parametrize("wire", WIRES)
def test_every_nasty_file_is_sent_right_or_refused(serve, spec_for, question, shared_data, wire):
    """Sent: the bytes decode to the picture that the kit itself sees, upright; refused: before a request is made."""
    files = sorted((shared_data / "photos" / "nasty").iterdir())
    assert len(files) > 80
    server = serve(wire, manners=Manners(keys=frozenset({KEY})))
    sent = refused = 0
    for path, result in zip(files, _in_order(server, spec_for(wire), [question(p) for p in files]), strict=True):
        try:
            pixels = load_rgb(path, max_side=2048)
        except PictureError as error:
            assert isinstance(result, ClientError), path.name
            assert (result.retryable, result.fatal, result.ours) == (False, False, True)
            assert result.reason == f"{path.name}: {error.reason}"
            refused += 1
            continue
        assert not isinstance(result, BaseException), (path.name, result)
        call = server.calls[sent]
        sent += 1
        with Image.open(io.BytesIO(call.picture)) as image:
            image.load()
            assert Image.MIME[image.format] == call.mime == "image/jpeg", path.name
            assert len(image.getexif()) == 0
            got = np.asarray(image.convert("RGB")).astype(int)
        assert got.shape == pixels.shape, path.name
        assert np.abs(got - pixels).mean() < 6, path.name  # JPEG's own loss, most in tiny noisy files
    assert server.count == sent
    assert (sent > 50, refused > 15) == (True, True)


def _in_order(server, spec, requests):
    async def main():
        client = make_client(spec, key=KEY, base_url=server.url)
        results = []
        for request in requests:
            try:
                results.append(await client.ask(request))
            except ClientError as error:
                results.append(error)
        await client.close()
        return results

    return asyncio.run(main())


def test_real_jpegs_keep_every_pixel(shared_data):
    """Whatever is not encoded anew decodes to exactly what the kit sees in the file, with nothing left to tell."""
    kept = 0
    for path in sorted((shared_data / "photos").rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        bare = bare_jpeg(data) if data[:2] == b"\xff\xd8" else None
        if bare is None or max(bare[1:]) > 6000:
            continue
        with Image.open(io.BytesIO(bare[0])) as image:
            pixels = np.asarray(image.convert("RGB"))
            assert len(image.getexif()) == 0
        assert np.array_equal(pixels, load_rgb(path)), path.name
        assert pixels.shape[:2] == bare[:0:-1], path.name
        kept += 1
    assert kept > 60


def test_a_jpeg_is_declined_at_every_cut():
    buffer = io.BytesIO()
    Image.new("RGB", (24, 24), "red").save(buffer, "JPEG", progressive=True)
    data = buffer.getvalue()
    assert bare_jpeg(data) is not None
    for length in range(len(data)):
        assert bare_jpeg(data[:length]) is None, length
    assert bare_jpeg(data + b"whatever follows") == bare_jpeg(data)


def test_limits_are_kept(serve, spec_for, question, tmp_path):
    path = tmp_path / "large.jpg"
    noise = np.random.default_rng(2).integers(0, 255, (900, 1200, 3), dtype=np.uint8)
    Image.fromarray(noise).save(path, quality=95)
    limits = ImageLimits(max_base64_bytes=200_000, useful_side_px=800, max_side_px=900)
    server = serve("openai")
    (answer,) = ask_all(server, spec_for("openai", image=limits), [question(path)])
    assert answer.status == "ok"
    call = server.calls[0]
    assert len(call.picture) * 4 / 3 <= 200_000
    with Image.open(io.BytesIO(call.picture)) as image:
        assert max(image.size) <= 800
    png = ImageLimits(formats=["png"])
    ask_all(server, spec_for("openai", image=png), [question(path)])
    assert server.calls[1].mime == "image/png"


def test_a_model_that_reads_text_only(serve, spec_for, question):
    server = serve("openai")
    (error,) = ask_all(server, spec_for("openai", image=ImageLimits(max_images=0)), [question()])
    assert (error.fatal, server.count) == (True, 0)
    assert "takes no pictures" in error.reason


def test_a_file_that_is_gone(serve, spec_for, question, photo):
    request = question()
    photo.unlink()
    server = serve("openai")
    (error,) = ask_all(server, spec_for("openai"), [request])
    assert (error.ours, error.retryable, server.count) == (True, False, 0)
    assert error.reason.startswith(photo.name)


# -- the cache


@pytest.fixture
def made(tmp_path):
    """made(name) -> a PNG that has to be encoded, each with pixels of its own."""

    def make(name):
        path = tmp_path / f"{name}.png"
        seed = sum(name.encode())
        Image.fromarray(np.random.default_rng(seed).integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(path)
        return path

    return make


LIMITS = Limits(2048, 3_000_000, ("jpeg", "png"))


def test_encoded_once_for_all_who_ask_together(spec_for, question, made, monkeypatch):
    cache = PictureCache()
    monkeypatch.setattr(pictures, "_cache", cache)
    request = question(made("a"))

    async def main():
        variants = [replace(request, variant=str(number), prompt=f"{number}?") for number in range(20)]
        return await asyncio.gather(*[prepare(one, spec_for("openai")) for one in variants])

    results = asyncio.run(main())
    assert cache.encoded == 1
    assert len({id(picture) for picture in results}) == 1
    asyncio.run(prepare(request, spec_for("openai", image=ImageLimits(useful_side_px=100))))
    assert cache.encoded == 2  # other limits, other bytes


def test_the_cache_is_bounded_by_bytes(made):
    one = PictureCache().make(made("a"), "a", LIMITS)
    cache = PictureCache(max_bytes=int(2.5 * len(one.data)))
    for name in ("a", "b"):
        cache.make(made(name), name, LIMITS)
    assert cache.find("a", LIMITS) is not None  # used last now
    cache.make(made("c"), "c", LIMITS)
    assert cache.size <= cache.max_bytes
    assert cache.find("b", LIMITS) is None
    assert cache.find("a", LIMITS) is not None


def test_a_failure_is_not_kept(tmp_path, made):
    cache = PictureCache()
    path = tmp_path / "broken.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    for _ in range(2):
        with pytest.raises(PictureError):
            cache.make(path, "x", LIMITS)
    path.write_bytes(made("a").read_bytes())
    assert cache.make(path, "x", LIMITS).mime == "image/jpeg"


def test_what_needs_no_encoding_takes_no_memory(photo):
    cache = PictureCache()
    picture = cache.make(photo, "x", LIMITS)
    assert (cache.encoded, cache.size) == (0, 0)
    assert (picture.width, picture.height) == (64, 48)


def test_limits_of_a_spec(spec_for):
    image = ImageLimits(max_base64_bytes=1_000_001, max_side_px=900, useful_side_px=1000)
    limits = limits_of(spec_for("openai", image=image))
    assert limits == Limits(900, 750_000, ("jpeg", "png"))
