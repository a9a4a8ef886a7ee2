"""Views of a panorama: against a slow definition, across the seam, by compass; and what is no panorama."""

from __future__ import annotations

import math

import numpy as np
import pytest

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.panorama import ANGLES, SphereTags, edges_meet, sphere_tags, view, why_no_panorama


def smooth(height: int = 256) -> np.ndarray:
    """A panorama that is smooth on the sphere, and everywhere different."""
    lon = (np.arange(2 * height) + 0.5) / height * math.pi - math.pi
    lat = math.pi / 2 - (np.arange(height) + 0.5) / height * math.pi
    x, y, z = np.cos(lat)[:, None] * np.sin(lon), np.sin(lat)[:, None] + 0 * lon, np.cos(lat)[:, None] * np.cos(lon)
    return np.rint(127.5 + 120 * np.stack([x, y, z], axis=2)).astype(np.uint8)


def ray(column: float, row: float, angle: float, field: float, size: tuple[int, int]) -> tuple[float, float]:
    """Longitude (to the right of the panorama's middle) and latitude that a pixel's centre looks at, degrees."""
    width, height = size
    focal = (width / 2) / math.tan(math.radians(field) / 2)
    right, up = column + 0.5 - width / 2, height / 2 - row - 0.5
    turn = math.radians(angle)
    x = right * math.cos(turn) + focal * math.sin(turn)
    z = focal * math.cos(turn) - right * math.sin(turn)
    return math.degrees(math.atan2(x, z)), math.degrees(math.atan2(up, math.hypot(x, z)))


def slow_pixel(panorama: np.ndarray, lon: float, lat: float) -> np.ndarray:
    """Bilinear, wrapped at the seam; pixel centres at halves."""
    height, width = panorama.shape[:2]
    x = (lon / 360 + 0.5) * width - 0.5
    y = (0.5 - lat / 180) * height - 0.5
    x0, y0 = math.floor(x), math.floor(y)
    total = np.zeros(3)
    for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
        weight = (x - x0 if dx else 1 - (x - x0)) * (y - y0 if dy else 1 - (y - y0))
        total += weight * panorama[min(max(y0 + dy, 0), height - 1), (x0 + dx) % width]
    return total


@pytest.mark.parametrize("angle", [0, 90, 180, 270, 33.5])
def test_against_the_slow_definition(angle):
    panorama, size = smooth(), (200, 100)
    made = view(panorama, angle, size=size).astype(float)
    rng = np.random.default_rng(3)
    for column, row in [
        (0, 0),
        (199, 99),
        (100, 50),
        *zip(rng.integers(0, 200, 200), rng.integers(0, 100, 200), strict=True),
    ]:
        expected = slow_pixel(panorama, *ray(column, row, angle, 90, size))
        # the library places the outermost pixels' centres on the field's edge: at most half a pixel apart
        assert np.abs(made[row, column] - expected).max() <= 2.5


@pytest.mark.parametrize("angle", [0, 90, 180, 270, 33.5])
def test_against_cv2_remap(angle):
    import cv2

    panorama, (width, height) = smooth(), (200, 100)
    # the library's grid: from edge to edge of the field
    tangent = math.tan(math.radians(45))
    right, up = np.meshgrid(np.linspace(-tangent, tangent, width), np.linspace(tangent / 2, -tangent / 2, height))
    turn = math.radians(angle)
    x, z = right * math.cos(turn) + math.sin(turn), math.cos(turn) - right * math.sin(turn)
    lon, lat = np.arctan2(x, z), np.arctan2(up, np.hypot(x, z))
    map_x = (lon / (2 * math.pi) + 0.5) * panorama.shape[1] - 0.5
    map_y = (0.5 - lat / math.pi) * panorama.shape[0] - 0.5
    expected = cv2.remap(
        panorama, map_x.astype(np.float32), map_y.astype(np.float32), cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP
    )
    assert np.abs(view(panorama, angle, size=(width, height)).astype(int) - expected.astype(int)).max() <= 1


def test_the_view_across_the_seam_is_the_turned_picture_without_one():
    """Turning the panorama half round moves the seam; the view must not change."""
    panorama = smooth()
    turned = np.roll(panorama, panorama.shape[1] // 2, axis=1)
    assert np.array_equal(view(panorama, 180, size=(200, 100)), view(turned, 0, size=(200, 100)))


def test_a_real_panorama_is_continuous_across_its_seam(shared_data):
    from signpost_kit.images import load_rgb

    panorama = load_rgb(shared_data / "photos" / "pano" / "pannellum_jordan_pond.jpg")
    assert edges_meet(panorama)
    across = view(panorama, 180).astype(int)
    assert across.shape == (512, 1024, 3)
    steps = np.abs(np.diff(across, axis=1)).mean(axis=(0, 2))
    seam = steps[505:519].max()  # the seam is in the middle
    assert seam <= 1.2 * np.percentile(steps, 90)
    middle = view(np.roll(panorama, 2048, axis=1), 0).astype(int)
    assert np.abs(across - middle).max() <= 2
    broken = np.concatenate([panorama[:, 600:], panorama[:, 600:1200]], axis=1)
    assert not edges_meet(broken)


def test_compass_angles_are_taken_from_the_heading():
    panorama = smooth()
    assert np.array_equal(view(panorama, 0, heading=90, size=(100, 50)), view(panorama, 270, size=(100, 50)))
    assert np.array_equal(view(panorama, 90, heading=90, size=(100, 50)), view(panorama, 0, size=(100, 50)))
    assert np.array_equal(view(panorama, 0, heading=350, size=(100, 50)), view(panorama, 10, size=(100, 50)))


def test_four_views_see_all_around_once():
    """The right edge of each view is the left edge of the next, for a quarter of the circle is seen."""
    panorama = smooth(512)
    views = [view(panorama, angle, size=(512, 256)).astype(int) for angle in ANGLES]
    for one, following in zip(views, views[1:] + views[:1], strict=True):
        assert np.abs(one[:, -1] - following[:, 0]).max() <= 3


def test_a_square_stays_square():
    """53.1 degrees high for 90 wide: the field follows from the size."""
    panorama = np.zeros((1024, 2048, 3), np.uint8)
    lon = (np.arange(2048) + 0.5) / 2048 * 360 - 180
    lat = 90 - (np.arange(1024) + 0.5) / 1024 * 180
    x = np.tan(np.radians(np.clip(lon, -60, 60)))
    y = np.tan(np.radians(lat))[:, None] / np.cos(np.radians(np.clip(lon, -60, 60)))
    panorama[(np.abs(x)[None] < 0.3) & (np.abs(y) < 0.3) & (np.abs(lon)[None] < 60)] = 255
    seen = view(panorama, 0)[..., 0] > 127
    assert seen.any(axis=0).sum() == pytest.approx(0.3 * 1024, abs=3)
    assert seen.any(axis=1).sum() == pytest.approx(0.3 * 1024, abs=3)


@pytest.mark.parametrize(
    ("width", "height", "tags", "reason"),
    [
        (4096, 2048, None, ""),
        (1001, 500, None, ""),
        (4032, 2012, None, "not 2:1"),
        (640, 480, None, "not 2:1"),
        (100, 50, None, "too few"),
        (4096, 2048, SphereTags(projection="cylindrical"), "'cylindrical'"),
        (4096, 2048, SphereTags(projection="equirectangular", full_width=8192, cropped_width=4096), "only a part"),
        (4096, 2048, SphereTags(projection="Equirectangular", full_height=2048, cropped_height=2048), ""),
    ],
)
def test_what_is_no_panorama(width, height, tags, reason):
    told = why_no_panorama(width, height, tags)
    assert (reason in told) if reason else not told


def test_tags_as_attributes_and_as_elements():
    as_attributes = '<rdf:Description GPano:ProjectionType="equirectangular" GPano:PoseHeadingDegrees="-90.5"/>'
    assert sphere_tags(as_attributes) == SphereTags(projection="equirectangular", heading=269.5)
    as_elements = "<GPano:PoseHeadingDegrees>350</GPano:PoseHeadingDegrees><GPano:FullPanoWidthPixels>x<"
    assert sphere_tags(as_elements) == SphereTags(heading=350.0)
    assert sphere_tags("") == SphereTags()


def test_bad_requests_are_refused():
    with pytest.raises(DataError, match="width twice the height"):
        view(np.zeros((10, 30, 3), np.uint8), 0)
    with pytest.raises(ConfigError, match="180 degrees"):
        view(np.zeros((10, 20, 3), np.uint8), 0, field=180)
