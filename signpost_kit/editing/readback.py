"""What an OCR engine reads where the spans of some pictures are: crops of the signs, not whole pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError
from signpost_kit.fonts import scripts_in
from signpost_kit.geocoding.names import fold

if TYPE_CHECKING:
    import numpy as np

    from signpost_kit.ocr import OcrSettings, TextLine

__all__ = ["distance", "likeness", "read_spans", "readable"]

Polygon = Sequence[Sequence[float]]

_TALLEST, _LOWEST = 40.0, 24.0  # pixels of a line; larger ones are reduced, lower ones enlarged
_ENLARGED = 2.0  # at most
_MARGIN = 0.8  # of a line's height, shown around it: engines miss letters at a picture's very edge
_WIDEST = 1024  # pixels of a crop
_WHOLE_PIXELS = 800_000  # at which a whole picture is read, for a span without a polygon
_SCRIPTS = {"rapidocr": frozenset({"Latin", "Han", "Japanese"})}
_EASYOCR = {
    "ch_sim": "Han",
    "ch_tra": "Han",
    "ja": "Japanese",
    "ko": "Hangul",
    "th": "Thai",
    "hi": "Devanagari",
    "mr": "Devanagari",
    "ne": "Devanagari",
    "bn": "Bengali",
    "as": "Bengali",
    "ta": "Tamil",
    "te": "Telugu",
    "kn": "Kannada",
    "ar": "Arabic",
    "fa": "Arabic",
    "ur": "Arabic",
    "ug": "Arabic",
    "ru": "Cyrillic",
    "uk": "Cyrillic",
    "be": "Cyrillic",
    "bg": "Cyrillic",
    "mn": "Cyrillic",
    "rs_cyrillic": "Cyrillic",
}


def distance(a: str, b: str) -> float:
    """Normalised edit distance of two texts, 0 (same letters) to 1 (nothing in common).

    Levenshtein's distance over the longer text's length, with case, accents, blanks and punctuation folded away.
    Two texts without letters are the same; one without letters has nothing in common with one that has some.
    """
    left, right = fold(a).replace(" ", ""), fold(b).replace(" ", "")
    if not left or not right:
        return float(left != right)
    row = list(range(len(right) + 1))
    for i, char in enumerate(left, start=1):
        before, row[0] = row[0], i
        for j, other in enumerate(right, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (char != other))
    return row[-1] / max(len(left), len(right))


def likeness(text: str, lines: Sequence[str], *, within: bool = False) -> tuple[float, str]:
    """1 - :func:`distance` of the reading nearest to `text`, and that reading; 0 and "" for no lines.

    Engines cut a line in two or read two as one, so neighbours are also tried together; with `within` also the best
    part of a longer line, for texts of at least four letters.
    """
    best, found = 0.0, ""
    for start in range(len(lines)):
        for stop in range(start + 1, min(len(lines), start + 4) + 1):
            joined = " ".join(lines[start:stop])
            alike = 1.0 - distance(text, joined)
            if alike > best:
                best, found = alike, joined
    letters = fold(text).replace(" ", "")
    if within and best < 1.0 and len(letters) >= 4:
        for line in lines:
            alike = 1.0 - _within(letters, fold(line).replace(" ", "")) / len(letters)
            if alike > best:
                best, found = alike, line
    return best, found


def _within(text: str, line: str) -> int:
    """Edits from `text` to the part of `line` that is most like it."""
    row = [0] * (len(line) + 1)
    for i, char in enumerate(text, start=1):
        before, row[0] = row[0], i
        for j, other in enumerate(line, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (char != other))
    return min(row)


def readable(text: str, engine: str, languages: Sequence[str] = ("en",)) -> bool:
    """Whether an engine knows the scripts of all letters in `text`; digits alone every engine reads.

    Raises
    ------
    ConfigError
        The engine is unknown.
    """
    if engine in _SCRIPTS:
        known = _SCRIPTS[engine]
    elif engine == "easyocr":
        known = frozenset({"Latin"} | {_EASYOCR[code] for code in languages if code in _EASYOCR})
        known |= {"Han"} if "Japanese" in known else set()
    else:
        raise ConfigError(f"unknown OCR engine {engine!r}; allowed: rapidocr, easyocr")
    return set(scripts_in(text)) <= known


@dataclass(frozen=True)
class _Tile:
    """A crop with one span, or with several that stand close together."""

    picture: int
    image: np.ndarray
    polygons: dict[int, np.ndarray]
    """Number of the span -> (n, 2) corners in the crop's pixels."""


def read_spans(
    pictures: Sequence[tuple[np.ndarray, Sequence[Polygon]]],
    *,
    engine: str = "rapidocr",
    settings: OcrSettings | None = None,
) -> list[list[list[str]]]:
    """The lines that OCR reads at given places of some pictures.

    Parameters
    ----------
    pictures
        RGB (H, W, 3) or grey (H, W) uint8 arrays, each with the polygons to look at, in its pixels.
    engine, settings
        As for :func:`signpost_kit.ocr.read_text`; the working size is set here: crops are brought to lines of 24
        to 40 pixels. Each crop is read on its own: on one sheet together, the detector misses a third of them.

    Returns
    -------
    list
        For each picture, for each polygon, the texts whose middle lies in it, in reading order. A polygon outside
        the picture has none; an empty one stands for the whole picture.
    """

    tiles = [tile for number, (image, polygons) in enumerate(pictures) for tile in _tiles(image, polygons, number)]
    found: list[list[list[str]]] = [[[] for _ in polygons] for _, polygons in pictures]
    for tile in tiles:
        lines = _read(tile.image, engine, settings)
        for place, polygon in tile.polygons.items():
            found[tile.picture][place] = _inside(lines, polygon)
    return found


def _read(crop: np.ndarray, engine: str, settings: OcrSettings | None) -> tuple[TextLine, ...]:
    from dataclasses import replace

    from signpost_kit.ocr import OcrSettings, read_text

    as_is = replace(settings or OcrSettings(), min_megapixels=0.001, max_megapixels=100.0)
    return read_text(crop, engine=engine, settings=as_is, cache=False)


def _tiles(image: np.ndarray, polygons: Sequence[Polygon], picture: int) -> list[_Tile]:
    """Crops of one picture: spans whose surroundings overlap are read together, as they stand on one sign."""
    import cv2
    import numpy as np

    height, width = image.shape[:2]
    tiles: list[_Tile] = []
    boxes: list[tuple[np.ndarray, dict[int, np.ndarray], float]] = []
    for place, polygon in enumerate(polygons):
        if not len(polygon):
            tiles.append(_whole(image, picture, place))
            continue
        points = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
        if len(points) < 3 or not np.isfinite(points).all():
            continue
        tall = max(float(min(cv2.minAreaRect(points.astype(np.float32))[1])), 1.0)
        margin = max(8.0, _MARGIN * tall)
        box = np.concatenate([points.min(axis=0) - margin, points.max(axis=0) + margin])
        box = np.clip(box, 0, [width, height, width, height])
        if (box[2:] - box[:2]).min() >= 4:
            boxes.append((box, {place: points}, tall))
    return tiles + [_tile(image, box, held, tall, picture) for box, held, tall in _merged(boxes)]


def _merged(
    boxes: list[tuple[np.ndarray, dict[int, np.ndarray], float]],
) -> list[tuple[np.ndarray, dict[int, np.ndarray], float]]:
    """Boxes that overlap made one, as long as that costs little room and their texts are of like size."""
    import numpy as np

    left = list(boxes)
    done = []
    while left:
        box, held, tall = left.pop()
        for other in left:
            both = np.concatenate([np.minimum(box[:2], other[0][:2]), np.maximum(box[2:], other[0][2:])])
            apart = (np.maximum(box[:2], other[0][:2]) >= np.minimum(box[2:], other[0][2:])).any()
            room = float(np.prod(both[2:] - both[:2]))
            parts = float(np.prod(box[2:] - box[:2]) + np.prod(other[0][2:] - other[0][:2]))
            if not apart and room < 1.3 * parts and 0.4 < tall / other[2] < 2.5:
                left = [b for b in left if b is not other]
                left.append((both, {**held, **other[1]}, min(tall, other[2])))
                break
        else:
            done.append((box, held, tall))
    return done


def _tile(image: np.ndarray, box: np.ndarray, held: dict[int, np.ndarray], tall: float, picture: int) -> _Tile:
    import cv2
    import numpy as np

    left, top = (int(v) for v in np.floor(box[:2]))
    right, bottom = (int(v) for v in np.ceil(box[2:]))
    scale = min(_ENLARGED, _LOWEST / tall) if tall < _LOWEST else min(1.0, _TALLEST / tall)
    scale = min(scale, _WIDEST / (right - left), _WIDEST / (bottom - top))
    crop = image[top:bottom, left:right]
    crop = crop if crop.ndim == 3 else np.repeat(crop[:, :, None], 3, axis=2)
    if abs(scale - 1.0) > 0.02:
        size = (max(4, round(crop.shape[1] * scale)), max(4, round(crop.shape[0] * scale)))
        crop = cv2.resize(crop, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
    else:
        scale = 1.0
    return _Tile(picture, crop, {place: (points - (left, top)) * scale for place, points in held.items()})


def _whole(image: np.ndarray, picture: int, place: int) -> _Tile:
    """The whole picture, for a text whose place is not known."""
    import cv2
    import numpy as np

    height, width = image.shape[:2]
    scale = min(1.0, (_WHOLE_PIXELS / (height * width)) ** 0.5)
    size = (max(4, round(width * scale)), max(4, round(height * scale)))
    rgb = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
    shown = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
    corners = np.array([[0, 0], [size[0], 0], [size[0], size[1]], [0, size[1]]], dtype=np.float64)
    return _Tile(picture, shown, {place: corners})


def _inside(lines: Sequence[TextLine], polygon: np.ndarray) -> list[str]:
    """Texts of the lines whose middle lies in the polygon (or near it), in reading order."""
    import cv2
    import numpy as np

    outline = polygon.astype(np.float32)
    near = 0.25 * min(cv2.minAreaRect(outline)[1])
    here: list[tuple[float, float, float, str]] = []
    for line in lines:
        corners = np.asarray(line.polygon, dtype=np.float32)
        x, y = (float(v) for v in corners.mean(axis=0))
        if cv2.pointPolygonTest(outline, (x, y), True) >= -near:
            tall = float(np.ptp(corners[:, 1]))
            wide = float(np.ptp(corners[:, 0]))
            here.append((x, y, tall / max(wide, 1.0), line.text))
    if here and all(shape > 1.6 for _, _, shape, _ in here):
        return [text for *_, text in sorted(here, key=lambda h: -h[0])]  # columns, from the right
    rows = max(8.0, 0.5 * near / 0.25 / max(len(here), 1))
    return [text for *_, text in sorted(here, key=lambda h: (round(h[1] / rows), h[0]))]
