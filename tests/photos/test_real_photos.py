"""Every real file of the shared collection: read right, or listed with the right reason.

True positions are those of SOURCES.md (read there by another program or by hand), to 0.001 degrees.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from signpost_kit.benchmark.photos import from_folder, import_photos
from signpost_kit.images import PictureError, load_rgb, open_image, read_metadata

GPS: dict[str, tuple[float, float] | str] = {
    "exifr_002_I16.tiff": (39.917000, -2.825024),
    "exifr_IMG_20180725-tiny.jpg": (50.299603, 14.820294),
    "exifr_broken1_warsaw.jpg": "undefined",
    "exifr_iptc_washington.jpg": (38.890237, -77.049296),
    "exifr_png_with_exif_and_gps.png": (50.299603, 14.820294),
    "exifsamples_67-0_length_string.jpg": (51.025000, 7.591944),
    "exifsamples_87_OSError.jpg": (43.785594, 11.234619),
    "exifsamples_DSCN0010.jpg": (43.467448, 11.885127),
    "exifsamples_DSCN0012.jpg": (43.467157, 11.885395),
    "exifsamples_DSCN0025.jpg": (43.468365, 11.881635),
    "exifsamples_DSCN0029.jpg": (43.468243, 11.880172),
    "exifsamples_DSCN0042.jpg": (43.464455, 11.881478),
    "exifsamples_Kodak_CX7530.jpg": (-0.371300, 36.056417),
    "exiftool_like_GoPro_below_sea.jpg": (40.658419, -73.993354),
    "exiv2_FurnaceCreekInn.jpg": (36.448333, -116.855000),
    "exiv2_Stonehenge.heic": (51 + 10 / 60 + 41.81 / 3600, -(1 + 49 / 60 + 35.9 / 3600)),
    "exiv2_bug1199_stonehenge.webp": (51.178282, -1.826640),
    "goexif_geodegrees_as_string.jpg": (52 + 50 / 60 + 34.0118 / 3600, 11 + 10 / 60 + 58.2836 / 3600),
    "goexif_sample1_beijing.jpg": (39.915556, 116.390833),
    "immich_empty_gps.jpg": "undefined",
    "immich_thompson-springs.jpg": (39.115000, -108.400968),
    "libvips_avif-orientation-6.avif": (50.439750, 30.502072),
    "lychee_mongolia.jpeg": (46.898392, 102.768631),
    "mapillary_DSC00497.JPG": (45.510723, -122.576051),
    "mapillary_adobe_coords.jpg": (-(4.21601 / 60), 34 + 22.91611 / 60),
    "mei_fuji_angel_of_north.jpg": (54.913500, -1.588833),
    "mei_fuji_bus_poole.jpg": (50.723167, -1.962833),
    "mei_fuji_eiffel.jpg": (48.857833, 2.297000),
    "mei_htc_desire.webp": (45.500667, 9.110333),
    "mei_nikon_d5000_nanseconds.jpg": (48 + 53.323582 / 60, 21 + 2.595070 / 60),  # the file's own XMP
    "mei_sony_alt_hammoor.jpg": (51.778615, 8.365638),
    "opensfm_berlin_03.jpg": (52.519047, 13.400447),
    "opensfm_lund_01.jpg": (55.698167, 13.195389),
    "opensfm_lund_21.jpg": (55.699211, 13.194678),
    "opensfm_lund_27.jpg": (55.699708, 13.194522),
    "opensfm_lund_28.jpg": (55.699708, 13.194522),
    "pp_Iceland-P3.jpg": (65.055578, -16.625703),
    "pp_altitude_uint.jpg": (45.752850, 33.221977),
    "pp_buggy_panorama.jpg": "seconds are 595404",
    "pp_elephants_S.jpg": (-33.453470, 25.764645),
    "pp_ferriswheel.jpg": (34.008143, -118.498125),
    "pp_gps-2000.jpg": (-38.405195, 144.188958),
    "pp_huawei-gps-error.jpg": (48.302778, 8.927500),
    "pp_image-2011_zero.jpg": "placeholder",
    "pp_orientation_nice.jpg": (43.695833, 7.271389),
    "pp_smallFiji.JPG": (-17.773278, 177.365750),
    "pp_snow_nan.jpg": "no fix",
}
# Files of nasty/ that end otherwise than "no position"; and those whose pixels cannot be had even with a position.
NASTY_POSITIONS = {
    "mapillary_corrupt_exif.jpg": (48.081045, -1.667841),
    "mapillary_corrupt_exif_2.jpg": (48.081045, -1.667841),
    "pp_this-is-a-jpeg.png": (-34.021358, 23.899375),
}
UNREADABLE = {
    "mei_badwidth.bmp": "4294967169 x 64 pixels",
    "mmocr_broken.jpg": "header is damaged",
    "pil_bmp_b_reallybig.bmp": "3000000 x 2000000 pixels",
    "pil_broken.png": "header is damaged",
    "pil_broken_data_stream.png": "pixels are damaged",
    "pil_decompression_bomb.gif": "far too many pixels",
    "pil_png_decompression_dos.png": "header is damaged",
    "pil_pngtest_bad.png.bin": "not a picture",
    "pil_truncated_image.png": "cut off",
    "pil_truncated_jpeg.jpg": "cut off",
    "pil_ultrahdr.jpg": "cut off",
    "pil_zero_width.gif": "header is damaged",
    "pngsuite_xcrn0g04.png": "not a picture",
    "pngsuite_xdtn0g01.png": "pixels are damaged",
    "pngsuite_xhdn0g08.png": "header is damaged",
    "pngsuite_xs1n0g01.png": "not a picture",
    "sharp_65536-uint32-limit.png": "65536 x 65536 pixels",
    "sharp_corrupt-header.jpg": "header is damaged",
    "sharp_giant-image.jpg": "20000 x 14000 pixels",
    "sharp_truncated.jpg": "cut off",
    "sharp_truncated.png": "cut off",
    "zero_byte_notjpeg.jpg": "empty",
}


@pytest.fixture(scope="module")
def photos(shared_data: Path) -> Path:
    return shared_data / "photos"


def test_gps_folder(photos):
    result = from_folder(photos / "gps")
    found = {g.source_id: (g.lat, g.lon) for g in result.groups}
    reasons = {item.item: item.reason for item in result.rejected}
    assert set(found) | set(reasons) == {path.name for path in (photos / "gps").iterdir()} == set(GPS)
    for name, expected in GPS.items():
        if isinstance(expected, str):
            assert expected in reasons[name], name
        else:
            assert found[name] == pytest.approx(expected, abs=0.001), name
    made = {g.source_id: g.generation["Original"] for g in result.groups}
    assert made["mapillary_adobe_coords.jpg"]["position_from"] == "xmp"
    assert "seconds are undefined" in made["mei_nikon_d5000_nanseconds.jpg"]["notes"][0]
    assert made["lychee_mongolia.jpeg"]["notes"] == []


def test_nasty_folder(photos):
    result = from_folder(photos / "nasty")
    found = {g.source_id: (g.lat, g.lon) for g in result.groups}
    reasons = {item.item: item.reason for item in result.rejected}
    names = {path.name for path in (photos / "nasty").iterdir()}
    assert set(found) | set(reasons) == names
    assert found == {name: pytest.approx(where, abs=0.001) for name, where in NASTY_POSITIONS.items()}
    for name in names - set(found):
        expected = UNREADABLE.get(name, "EXIF has no longitude" if name == "pil_exif_gps.jpg" else "no position")
        assert expected in reasons[name], name


def test_nasty_folder_with_a_table_of_positions(photos, tmp_path):
    """With a position for each, everything that can be decoded is used and everything else says why not."""
    names = sorted(path.name for path in (photos / "nasty").iterdir())
    table = tmp_path / "where.csv"
    table.write_text("filename,lat,lon\n" + "".join(f"{name},10.{n:03d},20\n" for n, name in enumerate(names)))
    result = import_photos(photos / "nasty", tmp_path / "out", positions=table, max_side=64)
    used = {g.source_id for g in result.groups}
    reasons = {item.item: (item.kind, item.reason) for item in result.rejected}
    assert used | set(reasons) == set(names)
    duplicates = {name for name, (kind, _) in reasons.items() if kind == "duplicate"}
    assert set(reasons) - duplicates == set(UNREADABLE)
    for name, words in UNREADABLE.items():
        assert words in reasons[name][1], name
    assert "mapillary_corrupt_exif_2.jpg" in duplicates
    for group in result.groups:
        assert Image.open(result.image_path(group, "Original")).mode == "RGB"


def test_import_of_the_gps_folder(photos, tmp_path, maker):
    result = import_photos(photos / "gps", tmp_path / "out", max_side=400)
    assert len(result) == 42
    for group in result.groups:
        data = result.image_path(group, "Original").read_bytes()
        assert maker.parts(data) == {"IHDR", "IDAT", "IEND"}, group.source_id
        assert not [marker for marker in (b"Exif", b"photoshop", b"adobe") if marker in data], group.source_id


@pytest.mark.parametrize("number", range(1, 9))
def test_the_letter_f_is_upright(photos, number):
    f = load_rgb(photos / "nasty" / f"orient_tiny_f{number}t.jpg")[..., 0] < 128
    assert f.shape == (80, 48)
    assert f[4:12, 4:44].all()  # the upper bar
    assert f[4:76, 4:12].all()  # the stem
    assert not f[60:76, 24:44].any()  # nothing at the lower right


def test_avif_and_heic_are_turned_once(photos):
    assert open_image(photos / "gps" / "libvips_avif-orientation-6.avif", max_side=100).size == (75, 100)
    heic = load_rgb(photos / "gps" / "exiv2_Stonehenge.heic").astype(float)
    assert heic.shape == (200, 300, 3)
    sky, grass = heic[:30].mean((0, 1)), heic[-30:].mean((0, 1))
    assert sky[2] > grass[2] + 40 and grass[1] > grass[2] + 20


def test_orientation_only_in_xmp_on_a_real_file(photos):
    path = photos / "nasty" / "pil_xmp_tags_orientation.png"
    assert read_metadata(path).orientation == 3
    with Image.open(path) as stored:
        lying = np.asarray(stored.convert("RGB")).astype(int)
    picture = load_rgb(path)
    # Correlation, not difference: the file has a monitor's colour profile, too.
    alike = [np.corrcoef(picture.ravel(), other.ravel())[0, 1] for other in (lying[::-1, ::-1], lying)]
    assert alike[0] > 0.99
    assert alike[1] < 0.8


def test_colours_of_odd_modes(photos):
    nasty = photos / "nasty"
    flag = load_rgb(nasty / "sharp_Flag_of_the_Netherlands-16bit.png")  # 16-bit RGB
    assert [flag[y, 450].tolist() for y in (100, 300, 500)] == [[174, 28, 40], [255, 255, 255], [33, 70, 139]]
    lab, rgb = load_rgb(nasty / "pil_hopper.Lab.tif"), load_rgb(nasty / "pil_avif_hopper.avif")
    assert np.abs(lab.astype(int) - rgb).mean() < 12  # the same portrait
    red = load_rgb(nasty / "pil_pil_sample_cmyk.jpg")
    assert (red[..., 0] > 200).any() and red[..., 1:].max() < 80 and red[50, 5].max() < 40
    thermal = load_rgb(photos / "gps" / "exifr_002_I16.tiff")
    assert (thermal.min(), thermal.max()) == (0, 255) and 80 < thermal.mean() < 180
    grey = load_rgb(nasty / "pngsuite_basn0g16.png")
    assert grey.min() == 0 and grey.max() == 255 and len(np.unique(grey)) > 100


def test_display_p3_becomes_srgb(photos):
    path = photos / "gps" / "pp_Iceland-P3.jpg"
    with Image.open(path) as stored:
        raw = np.asarray(stored.convert("RGB")).astype(int)
    converted = load_rgb(path).astype(int)
    orange = (raw[..., 0] > 180) & (raw[..., 2] < 90)
    assert orange.sum() > 500
    assert (converted[orange, 0] - raw[orange, 0]).mean() > 3  # the same colour needs more red in the smaller gamut
    assert (converted[orange, 1] - raw[orange, 1]).mean() < 0


def test_bombs_cost_no_memory(photos):
    """Header limits come before decoding: peak memory stays far below the 840 MB of the 280-megapixel file."""
    import tracemalloc

    tracemalloc.start()
    for name in (
        "sharp_giant-image.jpg",
        "sharp_65536-uint32-limit.png",
        "pil_bmp_b_reallybig.bmp",
        "mei_badwidth.bmp",
        "pil_decompression_bomb.gif",
    ):
        with pytest.raises(PictureError) as caught:
            open_image(photos / "nasty" / name)
        assert caught.value.kind == "too large"
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()
