"""Opening any picture: orientation, modes, limits, damage; and what goes out carries nothing but pixels."""

from __future__ import annotations

import io
import struct
import threading
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from signpost_kit.errors import DataError, StorageError
from signpost_kit.files import hash_bytes
from signpost_kit.image_modes import scale_to_8bit
from signpost_kit.images import (
    PictureError,
    check_pixels,
    encode_for_model,
    encode_jpeg,
    encode_png,
    image_hash,
    load_rgb,
    open_image,
    read_metadata,
    save_png,
    sniff_type,
)

# What has to be done to an upright picture so that the EXIF value n turns it upright again (TIFF 6.0, tag 274).
STORED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
MARKERS = (b"Exif", b"adobe", b"xpacket", b"ICC_PROFILE", b"SECRET")
# Of a JPEG: JFIF head, quantisation, frame, Huffman tables; of a PNG: head, pixels, end.
BARE = ({"E0", "DB", "C0", "C4"}, {"IHDR", "IDAT", "IEND"})


@pytest.mark.parametrize("value", range(1, 9))
@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tif"])
def test_orientation_is_applied_once(maker, value, suffix):
    turn = STORED[value]
    stored = maker.corners() if turn is None else maker.corners().transpose(turn)
    path = maker.photo(f"o{value}.{suffix}", image=stored, orientation=value)
    picture = open_image(path)
    assert picture.size == (96, 64)
    assert maker.seen(picture) == "RGBW"
    again = maker.folder / "again.png"
    save_png(again, picture)
    assert maker.seen(open_image(again)) == "RGBW"


@pytest.mark.parametrize("value", [1, 3, 6, 8])
def test_heic_and_avif_are_not_turned_twice(maker, value):
    import pillow_heif

    pillow_heif.register_heif_opener()
    for suffix in ("heic", "avif"):
        stored = maker.corners() if STORED[value] is None else maker.corners().transpose(STORED[value])
        xmp = maker.xmp_packet(tiff_Orientation=str(value))
        path = maker.photo(f"h{value}.{suffix}", image=stored, orientation=value, xmp=xmp, quality=90)
        picture = open_image(path)
        assert (picture.size, maker.seen(picture)) == ((96, 64), "RGBW"), suffix


def test_orientation_only_in_xmp_and_exif_before_xmp(maker):
    upside_down = maker.corners().transpose(Image.Transpose.ROTATE_180)
    xmp = maker.xmp_packet(tiff_Orientation="3")
    only_xmp = maker.photo("x.jpg", image=upside_down, xmp=xmp)
    assert read_metadata(only_xmp).orientation == 3
    assert maker.seen(open_image(only_xmp)) == "RGBW"
    exif_wins = maker.photo("e.jpg", image=maker.corners(), orientation=1, xmp=xmp)
    assert maker.seen(open_image(exif_wins)) == "RGBW"


def test_a_copied_xmp_orientation_does_not_turn_heic_and_avif(maker):
    """In these containers the turn is a property of its own; the camera's value in the XMP is only a copy."""
    import pillow_heif

    pillow_heif.register_heif_opener()
    xmp = maker.xmp_packet(tiff_Orientation="6")
    single = xmp.replace(b'"', b"'")  # in this form the writer of HEIC does not make it a true turn
    for name, packet in (("a.heic", single), ("a.avif", xmp), ("b.avif", single)):
        path = maker.photo(name, image=maker.corners(), xmp=packet, quality=90)
        assert maker.seen(open_image(path)) == "RGBW", name


def test_tiff_with_its_orientation_only_in_xmp(maker):
    stored = maker.corners(200, 100).transpose(Image.Transpose.ROTATE_90)
    path = maker.photo("x.tif", image=stored, tiffinfo={700: maker.xmp_packet(tiff_Orientation="6")})
    picture = open_image(path, max_side=50)
    assert (picture.size, maker.seen(picture)) == ((50, 25), "RGBW")


@pytest.mark.parametrize("value", [0, 9, 65535])
def test_invalid_orientation_is_ignored(maker, value):
    path = maker.photo("o.jpg", image=maker.corners(), orientation=value)
    assert maker.seen(open_image(path)) == "RGBW"


def test_sniffing_goes_by_bytes_not_by_name(maker):
    path = maker.folder / "really_a_png.jpg"
    maker.corners().save(path, "PNG")
    assert sniff_type(path.read_bytes()[:64]) == "image/png"
    assert read_metadata(path).mime == "image/png"
    assert maker.seen(open_image(path)) == "RGBW"
    assert sniff_type(b"") == sniff_type(b"\x89PNG\r\n\n") == sniff_type(b"\0\0\0\x20ftypisom" + b"\0" * 20) == ""


def test_transparency_is_laid_on_white(maker):
    half = Image.new("RGBA", (4, 4), (200, 0, 0, 0))
    half.paste((0, 0, 0, 255), (0, 0, 2, 4))
    expected = np.zeros((4, 4, 3), np.uint8)
    expected[:, 2:] = 255
    for mode in ("RGBA", "LA"):
        assert (load_rgb(maker.photo(f"{mode}.png", image=half.convert(mode))) == expected).all(), mode
    palette = Image.new("P", (4, 4), 1)
    palette.putpalette([10, 20, 30, 0, 0, 0])
    palette.paste(0, (2, 0, 4, 4))
    assert (load_rgb(maker.photo("p.png", image=palette, transparency=0)) == expected).all()
    assert (load_rgb(maker.photo("pb.png", image=palette, transparency=b"\0\xff")) == expected).all()
    grey = Image.new("L", (4, 4), 0)
    grey.paste(77, (2, 0, 4, 4))
    assert (load_rgb(maker.photo("l.png", image=grey, transparency=77)) == expected).all()
    assert open_image(maker.photo("g.gif", image=palette, transparency=0)).getpixel((3, 1)) == (255, 255, 255)


def test_half_transparent_red_on_white(maker):
    path = maker.photo("a.png", image=Image.new("RGBA", (2, 2), (255, 0, 0, 128)))
    assert load_rgb(path)[0, 0].tolist() == [255, 127, 127]


def test_16_bit_grey_is_scaled_not_clipped(maker):
    ramp = np.linspace(0, 65535, 256).round().astype(np.uint16).reshape(16, 16)
    for suffix in ("png", "tif"):
        out = load_rgb(maker.photo(f"deep.{suffix}", image=Image.fromarray(ramp)))
        assert (out[..., 0].ravel() == np.arange(256)).all(), suffix
        assert (out[..., 0] == out[..., 2]).all()
    out = load_rgb(maker.photo("trns.png", image=Image.fromarray(ramp), transparency=257))
    assert out[0, :3, 0].tolist() == [0, 255, 2]


def test_deep_grey_rules():
    assert scale_to_8bit(np.array([0, 257, 65535], np.uint16)).tolist() == [0, 1, 255]
    # A thermal picture's 7500..8000 fills the range; its neighbour with a single bright pixel does not.
    assert scale_to_8bit(np.array([7500, 7750, 8000], np.uint16)).tolist() == [0, 128, 255]
    assert scale_to_8bit(np.array([7500, 7750, 65535], np.uint16)).tolist() == [29, 30, 255]
    assert scale_to_8bit(np.full(2, 30_000, np.uint16)).tolist() == [117, 117]
    assert scale_to_8bit(np.array([0.0, 0.5, 1.0, np.nan])).tolist() == [0, 128, 255, 0]
    assert scale_to_8bit(np.array([-50.0, 0.0, 50.0])).tolist() == [0, 128, 255]
    assert scale_to_8bit(np.array([np.nan, np.inf])).tolist() == [0, 0]


def test_cmyk_lab_float_and_one_bit(maker):
    cmyk = maker.photo("c.jpg", image=maker.corners().convert("CMYK"))
    assert maker.seen(open_image(cmyk)) == "RGBW"
    lab = maker.photo("lab.tif", image=Image.new("LAB", (4, 4), (136, 208, 195)))  # L 53, a 80, b 67: pure red
    assert np.abs(load_rgb(lab)[0, 0].astype(int) - [255, 0, 0]).max() <= 20
    floats = maker.photo("f.tif", image=Image.fromarray(np.array([[0.0, 1.0]], np.float32)))
    assert load_rgb(floats)[0, :, 0].tolist() == [0, 255]
    bit = maker.photo("b.png", image=Image.new("1", (3, 2), 1))
    assert load_rgb(bit).tolist() == np.full((2, 3, 3), 255).tolist()


def test_colour_profile_is_applied(maker):
    from PIL import ImageCms

    # A profile made by hand would be long; XYZ exists in Pillow and cannot fit RGB pixels: it must be ignored.
    wrong = ImageCms.ImageCmsProfile(ImageCms.createProfile("XYZ")).tobytes()
    plain, odd = (
        maker.photo(n, image=maker.corners(), icc_profile=p) for n, p in (("p.png", None), ("x.png", wrong))
    )
    damaged = maker.photo("d.png", image=maker.corners(), icc_profile=b"not a profile")
    assert (load_rgb(plain) == load_rgb(odd)).all()
    assert (load_rgb(plain) == load_rgb(damaged)).all()


def test_first_frame_of_animations(maker):
    first, second = Image.new("RGB", (8, 8), (255, 0, 0)), Image.new("RGB", (8, 8), (0, 0, 255))
    for suffix, extra in (("gif", {}), ("webp", {"lossless": True}), ("png", {}), ("avif", {"quality": 100})):
        path = maker.folder / f"a.{suffix}"
        first.save(path, save_all=True, append_images=[second], duration=100, **extra)
        assert np.abs(load_rgb(path)[4, 4].astype(int) - [255, 0, 0]).max() <= 8, suffix
    path = maker.folder / "a.mpo"
    first.save(path, "MPO", save_all=True, append_images=[second])
    assert load_rgb(path)[4, 4].tolist() == [254, 0, 0]


def _png(width: int, height: int, *extra: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\0" * 1000))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(extra) + body + chunk(b"IEND", b"")


def test_limits_are_checked_before_decoding(maker, monkeypatch, no_reader):
    bomb = maker.folder / "bomb.png"
    bomb.write_bytes(_png(60_000, 60_000))
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", no_reader)
    with pytest.raises(
        PictureError, match=r"bomb\.png: 60000 x 60000 pixels are 3,600 million, allowed are 120"
    ) as caught:
        open_image(bomb)
    assert caught.value.kind == "too large"
    with pytest.raises(PictureError, match="allowed are 0 million"):
        open_image(maker.photo("small.jpg"), max_pixels=96 * 64 - 1)


def test_a_larger_limit_is_not_stopped_by_pillow(maker, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert open_image(maker.photo("a.jpg"), max_pixels=96 * 64).size == (96, 64)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tif", "gif", "bmp", "avif", "heic", "jp2"])
def test_any_cut_gives_one_clear_error_or_a_picture(maker, suffix):
    """Whatever the decoder raises on a cut or scrambled file, it is a PictureError that names the file."""
    import pillow_heif

    pillow_heif.register_heif_opener()
    where = () if suffix in ("gif", "bmp", "jp2") else (48.2, 16.3)  # these hold no EXIF
    data = maker.photo(f"whole.{suffix}", *where, image=maker.corners(64, 48)).read_bytes()
    rng = np.random.default_rng(0)
    path = maker.folder / f"cut.{suffix}"
    refused = 0
    for number in range(60):
        broken = bytearray(data[: int(rng.integers(1, len(data)))] if number % 2 else data)
        if not number % 2:
            for at in rng.integers(0, len(broken), 6):
                broken[at] = int(rng.integers(0, 256))
        path.write_bytes(bytes(broken))
        for action in (open_image, check_pixels, read_metadata):
            try:
                action(path)
            except PictureError as error:
                assert str(error).startswith(str(path))
                assert "\n" not in str(error)
                refused += 1
    assert refused > 20


def test_truncated_jpeg_is_refused_not_greyed(maker):
    noise = np.random.default_rng(1).integers(0, 256, (80, 80, 3), np.uint8)
    data = encode_jpeg(noise)
    path = maker.folder / "cut.jpg"
    path.write_bytes(data[: len(data) // 2])
    for action in (open_image, check_pixels):
        with pytest.raises(PictureError, match=r"cut\.jpg: its pixels are damaged or cut off") as caught:
            action(path)
        assert caught.value.kind == "broken picture"


def test_text_bomb_in_a_png(maker):
    data = b"Comment\0\0" + zlib.compress(b"A" * 3_000_000)
    text = struct.pack(">I", len(data)) + b"zTXt" + data + struct.pack(">I", zlib.crc32(b"zTXt" + data))
    path = maker.folder / "text.png"
    path.write_bytes(_png(4, 4, text))
    with pytest.raises(PictureError, match="header is damaged"):
        open_image(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"<!DOCTYPE html><html>not found", "a web page"),
        (b"%PDF-1.7", "a PDF"),
        (b"version https://git-lfs.github.com/spec/v1", "git lfs pull"),
        (b"hello world", "its first bytes fit none of JPEG"),
        (b"\0\0\0\x20ftypisom" + b"\0" * 40, "a video"),
    ],
)
def test_what_is_no_picture_says_what_it_is(tmp_path, content, words):
    path = tmp_path / "photo.jpg"
    path.write_bytes(content)
    with pytest.raises(PictureError, match=words) as caught:
        open_image(path)
    assert caught.value.kind == "not a picture"


def test_missing_file_and_folder_are_picture_errors(tmp_path):
    for path in (tmp_path / "absent.jpg", tmp_path):
        for action in (open_image, read_metadata, image_hash):
            with pytest.raises(PictureError, match="cannot be read"):
                action(path)


def test_scaling_keeps_shape_and_agrees_with_the_long_way(maker):
    smooth = np.zeros((1200, 1801, 3), np.uint8)
    smooth[...] = (np.sin(np.arange(1801) / 90) * 100 + 128)[None, :, None]
    path = maker.folder / "big.jpg"
    path.write_bytes(encode_jpeg(smooth, quality=95))
    small = open_image(path, max_side=300)  # decoded at a half or quarter first
    slow = open_image(path).resize(small.size, Image.Resampling.LANCZOS)
    assert small.size == (300, 200)
    assert np.abs(np.asarray(small).astype(int) - np.asarray(slow)).max() <= 3
    assert open_image(path, max_side=5000).size == (1801, 1200)
    with pytest.raises(DataError, match="max_side=0"):
        open_image(path, max_side=0)


def test_turned_pictures_scale_by_their_longer_side(maker):
    path = maker.photo("t.jpg", image=maker.corners(400, 200).transpose(Image.Transpose.ROTATE_90), orientation=6)
    picture = open_image(path, max_side=100)
    assert (picture.size, maker.seen(picture)) == ((100, 50), "RGBW")


def test_reading_metadata_decodes_no_pixels(maker, monkeypatch, no_reader):
    files = [maker.photo(f"a.{suffix}", 48.2, 16.3) for suffix in ("jpg", "png", "webp", "tif", "avif")]
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", no_reader)
    for path in files:
        assert read_metadata(path).gps[1] == "N", path.name


def test_png_blocks_behind_the_pixels_are_found(maker):
    """Some programs write eXIf and XMP chunks after the pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    data = encode_png(maker.corners())
    exif = maker.exif_bytes(maker.gps_block(10, 20), orientation=3)[6:]
    xmp = b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(maker.xmp_packet(GPSLatitude="1,30N"))
    late = maker.folder / "late.png"
    late.write_bytes(data[:-12] + chunk(b"eXIf", exif) + chunk(b"iTXt", xmp) + data[-12:])
    metadata = read_metadata(late)
    assert (metadata.gps[1], metadata.orientation) == ("N", 3)
    assert "1,30N" in metadata.xmp
    assert maker.seen(open_image(late)) == "WBGR"


def _loaded(maker, name: str) -> Path:
    return maker.photo(
        name,
        48.2,
        16.3,
        xmp=maker.xmp_packet(GPSLatitude="48,12N", GPSLongitude="16,18E", City="SECRET"),
        comment=b"SECRET",
        icc_profile=_srgb(),
    )


def _srgb() -> bytes:
    from PIL import ImageCms

    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def test_nothing_but_pixels_goes_out(maker):
    source = _loaded(maker, "s.jpg")
    present = [marker for marker in MARKERS if marker in source.read_bytes()]
    assert {b"Exif", b"adobe", b"ICC_PROFILE", b"SECRET"} <= set(present)
    assert {"E1", "E2", "FE"} <= maker.parts(source.read_bytes())
    picture = open_image(source)
    assert picture.info == {}
    assert not picture.getexif()
    dirty = Image.open(source)  # even a picture that still has everything
    save_png(maker.folder / "out.png", dirty)
    outputs = [
        encode_png(dirty),
        encode_jpeg(dirty),
        (maker.folder / "out.png").read_bytes(),
        encode_for_model(source).data,
        encode_for_model(source, formats=("png",)).data,
    ]
    for data in outputs:
        assert maker.parts(data) in BARE
        assert [marker for marker in MARKERS if marker in data] == []


def test_encode_for_model_fits_and_is_reproducible(maker):
    noise = np.random.default_rng(2).integers(0, 256, (400, 600, 3), np.uint8)
    path = maker.folder / "noise.png"
    save_png(path, noise)
    full = encode_for_model(path)
    assert (full.mime, full.width, full.height, full.quality) == ("image/jpeg", 600, 400, 92)
    assert full == encode_for_model(path)
    assert full.hash == hash_bytes(full.data)
    lossless = encode_for_model(path, formats=("png", "jpeg"))
    assert lossless.mime == "image/png"
    assert (np.asarray(Image.open(io.BytesIO(lossless.data))) == noise).all()
    tight = encode_for_model(path, max_bytes=40_000)
    assert len(tight.data) <= 40_000
    assert tight.width < 600
    assert encode_for_model(path, max_side=300).width == 300
    with pytest.raises(PictureError, match="does not fit in 10 bytes"):
        encode_for_model(path, max_bytes=10)
    with pytest.raises(DataError, match="allowed are 'jpeg' and 'png'"):
        encode_for_model(path, formats=("tiff",))


def test_save_png_is_exact_and_whole(maker, tmp_path):
    array = np.random.default_rng(3).integers(0, 256, (20, 30, 3), np.uint8)
    save_png(tmp_path / "new" / "a.png", array[:, ::-1])
    assert (load_rgb(tmp_path / "new" / "a.png") == array[:, ::-1]).all()
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["a.png"]
    for bad in (array.astype(float), np.zeros((0, 3, 3), np.uint8), np.zeros((3, 3, 4), np.uint8)):
        with pytest.raises(DataError, match="must be uint8"):
            save_png(tmp_path / "bad.png", bad)
    blocked = tmp_path / "file"
    blocked.write_text("x")
    with pytest.raises(StorageError):
        save_png(blocked / "a.png", array)
    assert not (tmp_path / "bad.png").exists()


def test_opening_in_threads(maker):
    paths = [maker.photo(f"{n}.jpg", 10 + n, 20, orientation=6) for n in range(8)]
    failures: list[BaseException] = []

    def work(path: Path) -> None:
        try:
            assert open_image(path).size == (64, 96)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(path,)) for path in paths * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
