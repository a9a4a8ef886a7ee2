"""Removing a text: find its ink, then put the sign's own ground in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from signpost_kit.editing.base import Unpaintable, Window, quad_size
from signpost_kit.editing.fill import cloned, from_plate, joined, plate_pixels

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Removed", "remove_text"]

_SMOOTH = 9.0  # levels: a ground that a smooth surface meets so closely counts as a plain plate
_LEAST_CONTRAST = 9.0  # levels between ink and ground below which there is no text to be seen


@dataclass(frozen=True)
class Removed:
    """A crop without its text, and what was measured on the way."""

    crop: np.ndarray
    """(h, w, 3) uint8, equal to the input outside the window's mask."""
    ink_mask: np.ndarray
    """(h, w) bool: where the letters were."""
    ink: np.ndarray
    """(3,) colour of the letters, 0..255."""
    ground: np.ndarray
    """(3,) colour of the sign around them."""
    noise: float
    """Standard deviation of the sign's grain, levels."""
    blur: float
    """Softness of the letters' edges as a Gaussian's sigma, pixels."""
    stroke: float
    """Mean width of the letters' strokes, pixels."""
    method: str
    """`surface`, `plate`, `clone` or `inpaint`: how the ground was filled in, see :func:`remove_text`."""


def remove_text(
    crop: np.ndarray,
    window: Window,
    rng: np.random.Generator,
    *,
    around: tuple[np.ndarray, tuple[int, int], np.ndarray] | None = None,
    thorough: int = 0,
) -> Removed:
    """Take the letters out of a crop.

    Only the letters and their soft rims are filled, not the whole outline: with a smooth surface (second order in
    x and y) where the sign is a plain plate; with the plate's own colour where the plate is plain but what lies
    around it is not (`plate`); with pieces of the same ground from nearby, joined by Poisson blending, on a rough
    ground (`clone`); else from the rim (`inpaint`: OpenCV, Telea). Grain of the measured strength is added.

    Parameters
    ----------
    around
        The crop's surroundings to take pieces from: picture, the crop's row and column in it, and (bool) what no
        piece may be taken from. None: nothing is cloned.
    thorough
        0: what was measured as ink. 1: more around it. 2: the whole outline. For attempts after one in which the
        old text was still read.

    Raises
    ------
    Unpaintable
        Ink and ground cannot be told apart.
    """
    import cv2
    import numpy as np

    picture = crop.astype(np.float32)
    ink, surface = _split(picture, window)
    blur, stroke = _edges(picture, ink, surface, window)
    reach = int(np.ceil(1.5 + 2.0 * min(blur, 2.5))) + 2 * min(thorough, 1)
    ring = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    hole = np.where(window.mask, cv2.dilate(ink.astype(np.uint8), ring), 0).astype(np.uint8)
    ground, spread = _ground(picture, surface, hole, window)
    noise = _grain(picture, ground)
    colour, sign = _colours(picture, ink, surface, window)
    filled, method = _filled(
        crop, picture, window, ink=ink, surface=surface, hole=hole, ground=ground, spread=spread, around=around
    )
    if thorough > 1:
        hole = np.where(window.inner | (hole > 0), 1, 0).astype(np.uint8)
        filled, method = joined(picture, _level(picture, surface, ground & window.mask), hole), "surface"
    weight = _feather(hole, window.mask)[..., None]
    grain = _noise(picture.shape, 0.0 if method == "clone" else noise, rng)
    mixed = picture + (filled + grain - picture) * weight
    result = np.where(window.mask[..., None], np.clip(np.rint(mixed), 0, 255), picture).astype(np.uint8)
    return Removed(result, ink, colour, sign, noise, blur, stroke, method)


def _filled(
    crop: np.ndarray,
    picture: np.ndarray,
    window: Window,
    *,
    ink: np.ndarray,
    surface: np.ndarray,
    hole: np.ndarray,
    ground: np.ndarray,
    spread: float,
    around: tuple[np.ndarray, tuple[int, int], np.ndarray] | None,
) -> tuple[np.ndarray, str]:
    """The crop with its hole filled in the way that suits its ground, and the way's name."""
    import cv2
    import numpy as np

    if spread <= _SMOOTH:
        return _level(picture, surface, ground & window.mask), "surface"
    free = hole == 0
    plate = plate_pixels(picture, ink, free, window.inner)
    if plate is not None:
        return joined(picture, from_plate(picture, plate), hole, trusted=plate), "plate"
    if around is not None:
        context, offset, blocked = around
        blocked = blocked.copy()
        part = blocked[offset[0] : offset[0] + hole.shape[0], offset[1] : offset[1] + hole.shape[1]]
        part |= hole > 0
        piece = cloned(
            picture, hole, context.astype(np.float32), offset=offset, blocked=blocked, tall=min(window.size)
        )
        if piece is not None:
            return piece, "clone"
    return cv2.inpaint(crop, hole, 3, cv2.INPAINT_TELEA).astype(np.float32), "inpaint"


def _split(picture: np.ndarray, window: Window) -> tuple[np.ndarray, np.ndarray]:
    """Ink (bool) and the fitted ground. The cluster that fills the polygon's rim is the ground."""
    import numpy as np

    inside = window.mask
    centres = _two_colours(picture[window.inner])
    away = [_distance(picture, np.broadcast_to(centre, picture.shape)) for centre in centres]
    nearer = away[1] < away[0]
    ground = _ground_cluster(nearer, window)
    surface = _fit(picture, (nearer == bool(ground)) & inside)
    for _ in range(3):
        distance = _distance(picture, surface)
        near = inside & (distance <= _threshold(distance, window.inner))
        # Soft rims of letters and of the sign's frame pull the surface; what most of the ground is like decides.
        limit = 2.0 * float(np.median(_some(distance[near]))) + 3.0 if near.any() else 0.0
        surface = _fit(picture, near & (distance <= limit))
    distance = _distance(picture, surface)
    ink = (distance > _threshold(distance, window.inner)) & inside
    ink = _own_ink(ink, window)
    if not ink.any():
        raise Unpaintable("no letters can be told from the ground")
    return ink, surface


def _two_colours(pixels: np.ndarray) -> np.ndarray:
    """The two main colours of some pixels (k-means from a split at the median brightness, so without chance).

    Raises Unpaintable when they are hardly apart.
    """
    import cv2
    import numpy as np

    sample = pixels[:: max(1, len(pixels) // 1000)]
    light = sample.sum(axis=1)
    start = (light > (light.min() + light.max()) / 2).astype(np.int32)[:, None]
    criteria = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 10, 0.5)
    _, _, centres = cv2.kmeans(sample, 2, start, criteria, 1, cv2.KMEANS_USE_INITIAL_LABELS)
    if float(np.linalg.norm(centres[0] - centres[1])) < _LEAST_CONTRAST:
        raise Unpaintable("ink and ground have the same colour here")
    return centres


def _ground_cluster(nearer: np.ndarray, window: Window) -> int:
    """Which of two clusters is the ground, 0 or 1.

    Letters fall into several parts of about the line's height that touch nothing outside; the ground does not.
    Where that is not clear (joined scripts, one letter), the ground is what fills the polygon's rim.
    """
    import cv2
    import numpy as np

    letters = [_letter_parts((nearer == bool(c)) & window.mask, window) for c in (0, 1)]
    for cluster in (0, 1):
        if letters[cluster] >= 2 + 2 * letters[1 - cluster]:
            return 1 - cluster
    core = cv2.erode(window.inner.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    rim = window.inner & ~core if core.any() else window.inner
    return int(np.count_nonzero(nearer[rim]) * 2 > np.count_nonzero(rim))


def _letter_parts(cluster: np.ndarray, window: Window) -> int:
    """Connected parts of a cluster that could be letters: inside the window, about as high as the line."""
    import cv2
    import numpy as np

    height = min(window.size)
    count, parts, stats, _ = cv2.connectedComponentsWithStats(cluster.astype(np.uint8), connectivity=4)
    outside = set(np.unique(parts[_rim(window.mask, 1)]).tolist())
    found = 0
    for part in range(1, count):
        side = max(stats[part, cv2.CC_STAT_WIDTH], stats[part, cv2.CC_STAT_HEIGHT])
        if part not in outside and side >= 0.35 * height and stats[part, cv2.CC_STAT_AREA] >= 0.03 * height**2:
            found += 1
    return found


def _own_ink(ink: np.ndarray, window: Window) -> np.ndarray:
    """Only what belongs to the text: parts that reach into the polygon, not frames that merely touch its rim, nor
    what goes on beyond the window along a good part of it (a plate's edge, a wall).
    """
    import cv2
    import numpy as np

    count, labels = cv2.connectedComponents(ink.astype(np.uint8), connectivity=8)
    parts: np.ndarray = np.asarray(labels)
    if count <= 1:
        return ink
    total = np.bincount(parts[ink], minlength=count)
    inner = np.bincount(parts[ink & window.inner], minlength=count)
    leaving = np.bincount(parts[ink & _rim(window.mask, 1)], minlength=count)
    away = (leaving > 0.6 * min(window.size)) & (inner < 0.82 * total) | (leaving > 3.0 * min(window.size))
    for part in np.flatnonzero((leaving > 0) & (inner * 2 >= total) & ~away)[1:]:
        away[part] = _runs_through(parts == part, window)
    keep = (inner * 2 >= total) & ~away
    keep[0] = away[0] = False
    own = keep[parts]
    return own | _cut_off(away[parts], window) if away.any() else own


def _runs_through(part: np.ndarray, window: Window) -> bool:
    """Whether ink goes on beyond both ends of the text: a rim, a line under it, the edge of a roof."""
    import numpy as np

    quad = window.quad
    width, height = quad_size(quad)
    axis = (quad[1] - quad[0]) / max(width, 1.0) if width >= height else (quad[3] - quad[0]) / max(height, 1.0)
    ys, xs = np.nonzero(part)
    along = xs * axis[0] + ys * axis[1]
    return float(np.ptp(along)) >= max(width, height) + 2 * window.dilation - 4


def _cut_off(joined_ink: np.ndarray, window: Window) -> np.ndarray:
    """Letters that touch a frame: what is left of their common ink when all near the outline is cut away."""
    import cv2
    import numpy as np

    low = min(window.size)
    edge = max(2, round(0.07 * low))
    core = cv2.erode(window.inner.astype(np.uint8), np.ones((2 * edge + 1, 2 * edge + 1), np.uint8)) > 0
    count, labels, stats, _ = cv2.connectedComponentsWithStats((joined_ink & core).astype(np.uint8), connectivity=8)
    parts: np.ndarray = np.asarray(labels)
    touching = np.bincount(parts[joined_ink & core & _rim(core, 1)], minlength=count)
    around = stats[:, cv2.CC_STAT_WIDTH] + stats[:, cv2.CC_STAT_HEIGHT]
    # A letter stands on the cut with one side at most; what reaches in from outside lies along it.
    keep = (touching <= 0.85 * low) & (touching <= 0.6 * around) & (stats[:, cv2.CC_STAT_HEIGHT] >= 0.35 * low)
    keep[0] = False
    # The letters' own ends beside the cut.
    found = cv2.dilate(keep[parts].astype(np.uint8), np.ones((2 * edge + 1, 2 * edge + 1), np.uint8)) > 0
    return found & joined_ink & window.inner if keep.any() else np.zeros_like(joined_ink)


def _rim(area: np.ndarray, width: int) -> np.ndarray:
    """The outermost pixels of an area."""
    import cv2
    import numpy as np

    side = 2 * width + 1
    return area & ~(cv2.erode(area.astype(np.uint8), np.ones((side, side), np.uint8)) > 0)


def _threshold(distance: np.ndarray, inner: np.ndarray) -> float:
    """Otsu's threshold of the distances inside the polygon, held in sensible bounds."""
    import cv2
    import numpy as np

    values = np.clip(distance[inner], 0, 255).astype(np.uint8)
    otsu, _ = cv2.threshold(values.reshape(-1, 1), 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    # Half of Otsu's value also takes the soft rim of the letters, where ink and ground mix.
    return float(max(0.6 * otsu, 8.0))


def _fit(picture: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """A surface of second order through the chosen pixels of each channel; first order for few pixels."""
    import numpy as np

    height, width = chosen.shape
    ys, xs = np.nonzero(chosen)
    if len(ys) < 12:
        raise Unpaintable("too little of the sign's ground is visible around the letters")
    step = max(1, len(ys) // 1200)
    ys, xs = ys[::step], xs[::step]
    values = picture[ys, xs]
    x_of = np.linspace(-0.5, 0.5, width, dtype=np.float32)
    y_of = np.linspace(-0.5, 0.5, height, dtype=np.float32)
    terms = _terms(x_of[xs], y_of[ys])[: 6 if len(ys) >= 120 else 3]
    # Normal equations: six unknowns, well scaled, and a hundred times quicker than a general least-squares call.
    square = np.einsum("in,jn->ij", terms, terms).astype(np.float64) + 1e-6 * len(ys) * np.eye(len(terms))
    solution = np.linalg.solve(square, np.einsum("in,nc->ic", terms, values).astype(np.float64)).astype(np.float32)
    low, high = values.min(axis=0), values.max(axis=0)
    surface = np.empty((height, width, 3), dtype=np.float32)
    for channel in range(3):
        a = np.zeros(6, dtype=np.float32)
        a[: len(terms)] = solution[:, channel]
        along = a[0] + a[1] * x_of + a[4] * x_of * x_of
        down = a[2] * y_of + a[5] * y_of * y_of
        plane = along[None, :] + down[:, None] + (a[3] * y_of)[:, None] * x_of[None, :]
        np.clip(plane, low[channel], high[channel], out=surface[..., channel])
    return surface


def _terms(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    import numpy as np

    return np.stack([np.ones_like(x), x, y, x * y, x * x, y * y])


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Euclidean distance of colours, pixel by pixel."""
    import cv2
    import numpy as np

    d = cv2.subtract(a, b) if a.shape == b.shape else a - b
    red, green, blue = cv2.split(d)
    return np.sqrt(red * red + green * green + blue * blue)


def _some(values: np.ndarray, count: int = 2000) -> np.ndarray:
    """At most `count` or so of the values, evenly taken: enough for a quantile, and quick."""
    return values[:: max(1, len(values) // count)]


def _ground(picture: np.ndarray, surface: np.ndarray, hole: np.ndarray, window: Window) -> tuple[np.ndarray, float]:
    """Pixels that show the sign's own ground, clear of the letters' soft rims; and how rough that ground is.

    Roughness is what a slight blur leaves of the difference from the surface (so grain does not count), levels.
    """
    import numpy as np

    free = hole == 0
    coarse = _distance(_blurred(picture, free, 1.2), surface)
    inside = free & window.inner
    share = np.count_nonzero(inside) / max(np.count_nonzero(window.inner), 1)
    # Between dense letters most of what is free is still tinged by them; then the clearest quarter speaks for it.
    spread = float(np.percentile(_some(coarse[inside]), 60)) if share > 0.2 else 0.0
    if share <= 0.2 and inside.any():
        spread = 0.5 * float(np.percentile(_some(coarse[inside]), 25))
    ground = free & (coarse < max(2.0 * spread, 8.0))
    return (ground if np.count_nonzero(ground) >= 40 else free & window.mask), spread


def _blurred(picture: np.ndarray, chosen: np.ndarray, sigma: float) -> np.ndarray:
    """A Gaussian blur that looks at the chosen pixels only, so that letters do not bleed into the ground."""
    import cv2
    import numpy as np

    weight = chosen.astype(np.float32)
    soft = cv2.GaussianBlur(picture * weight[..., None], (0, 0), sigma)
    return soft / np.maximum(cv2.GaussianBlur(weight, (0, 0), sigma), 1e-3)[..., None]


def _level(picture: np.ndarray, surface: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """The surface, corrected by what the visible ground nearby differs from it (soft shadows, stains)."""
    import cv2
    import numpy as np

    if np.count_nonzero(visible) < 30:
        return surface
    sigma = max(4.0, 0.15 * min(visible.shape))
    seen = visible.astype(np.float32)
    weight = cv2.GaussianBlur(seen, (0, 0), sigma)
    rest = cv2.GaussianBlur((picture - surface) * seen[..., None], (0, 0), sigma)
    # Where little is visible nearby, the surface alone is trusted.
    return surface + rest / (weight + 0.05)[..., None]


def _feather(hole: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """1 in the hole, falling to 0 over two pixels around it, 0 outside the mask."""
    import cv2
    import numpy as np

    soft = cv2.GaussianBlur(cv2.dilate(hole, np.ones((3, 3), np.uint8)).astype(np.float32), (0, 0), 1.0)
    return np.where(mask, np.maximum(soft, hole), 0.0).astype(np.float32)


def _grain(picture: np.ndarray, ground: np.ndarray) -> float:
    """Robust standard deviation of the fine grain on the sign's ground, levels (0 when too little is visible)."""
    import numpy as np

    if np.count_nonzero(ground) < 12:
        return 0.0
    fine = (picture - _blurred(picture, ground, 1.2))[ground]
    return float(min(12.0, 1.4826 * np.median(np.abs(_some(fine)))))


def _noise(shape: tuple[int, ...], sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Grain as cameras and JPEG leave it: brightness more than colour, neighbours a little alike."""
    import cv2
    import numpy as np

    if sigma < 0.3:
        return np.zeros(shape, dtype=np.float32)
    height, width = shape[:2]
    light = cv2.GaussianBlur(rng.standard_normal((height, width), dtype=np.float32), (0, 0), 0.6)
    coarse = rng.standard_normal((height // 2 + 1, width // 2 + 1, 3), dtype=np.float32)
    colour = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR)
    raw = light[..., None] + 0.4 * colour
    return raw * np.float32(sigma / max(float(raw.std()), 1e-6))


def _edges(picture: np.ndarray, ink: np.ndarray, surface: np.ndarray, window: Window) -> tuple[float, float]:
    """Softness of the letters' edges (sigma, pixels) and the mean width of their strokes (pixels)."""
    import cv2
    import numpy as np

    away = _distance(picture, surface)
    contrast = float(np.percentile(_some(away[ink]), 90))
    gx = cv2.Sobel(away, cv2.CV_32F, 1, 0, scale=0.125)
    gy = cv2.Sobel(away, cv2.CV_32F, 0, 1, scale=0.125)
    steepest = float(np.percentile(_some(np.hypot(gx, gy)[window.inner]), 98))
    # A step of height c, softened by sigma, is c / (sigma sqrt(2 pi)) steep; Sobel itself softens by about 0.8.
    sigma = contrast / (2.5066 * max(steepest, 1e-3))
    blur = float(np.sqrt(max(sigma**2 - 0.64, 0.04)))
    strong = ((away > 0.5 * contrast) & ink).astype(np.uint8)
    outlines, _ = cv2.findContours(strong, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    length = sum(cv2.arcLength(line, True) for line in outlines)
    area = float(strong.sum()) + 0.5 * length  # contours run through pixel centres
    return min(blur, 3.0), float(np.clip(2.0 * area / max(length, 1.0), 1.0, 0.4 * min(window.size)))


def _colours(
    picture: np.ndarray, ink: np.ndarray, surface: np.ndarray, window: Window
) -> tuple[np.ndarray, np.ndarray]:
    """Colours of the letters' cores (not of their soft rims) and of the ground."""
    import numpy as np

    away = _distance(picture, surface)
    own = ink & window.inner if (ink & window.inner).any() else ink
    limit = np.percentile(_some(away[own]), 75)
    core = own & (away >= limit)
    return np.median(_some(picture[core]), axis=0), surface[window.inner].mean(axis=0)
