"""The local editor: the four edited variants of a picture, without any model.

Blank removes every span; Similar, Random and Adversarial remove it and write the replacement in the same
perspective, colours, size, angle and stroke. Pixels outside the grown polygons (:func:`.base.edit_mask`) stay as
they are, bit by bit. Work is done on crops, so the cost follows the signs' size, not the picture's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.benchmark.groups import Benchmark, Group, Span
from signpost_kit.editing.base import Unpaintable, Window, check_picture, edit_mask, place_text
from signpost_kit.editing.inpaint import Removed, remove_text
from signpost_kit.editing.lettering import Lettering, letter, text_frame
from signpost_kit.errors import ConfigError
from signpost_kit.files import hash_bytes, inside
from signpost_kit.frames import EDITED_VARIANTS

if TYPE_CHECKING:
    import numpy as np

__all__ = ["EDITOR", "edit_mask", "make_variants", "paint_variant"]

EDITOR = "paint"


@dataclass(frozen=True)
class _Cleared:
    """A picture without its texts, and what each span was like. Shared by all variants of a group."""

    image: np.ndarray
    spans: tuple[tuple[Span, Window, Removed] | tuple[Span, None, str], ...]
    """Span, window and measures; or span, None and the reason why it cannot be painted."""


def paint_variant(
    image: np.ndarray, group: Group, variant: str, *, seed: int = 42
) -> tuple[np.ndarray, dict[str, Any]]:
    """One edited variant of a picture.

    Parameters
    ----------
    image
        The Original, uint8, RGB (H, W, 3) or grey (H, W).
    group
        Its spans with polygons and, for all variants but Blank, replacements.
    variant
        Blank, Similar, Random or Adversarial.
    seed
        Of the grain laid over the new pixels; same seed, same bytes.

    Returns
    -------
    (picture, record)
        The picture has the shape of `image`. The record is plain JSON: `editor`, `variant`, `seed`, `status` (`ok`
        or `failed`), `reason`, `changed_pixels`, `dilation_px`, and for each span what was measured and done. The
        status of a span is `ok`, `blank` (removed, but the new text could not be written) or `skipped` (it cannot
        even be removed, and stands in every variant), each with a reason. When that befalls the group's
        representative span, the variant is `failed` and the picture is the Original.

    Raises
    ------
    ConfigError
        The variant is unknown.
    DataError
        The picture has another shape or dtype.
    """
    _check_variant(variant)
    check_picture(image)
    return _finish(image, _clear(image, group, seed), group, variant, seed)


def make_variants(
    benchmark: Benchmark, group: Group, *, seed: int = 42, variants: tuple[str, ...] = EDITED_VARIANTS
) -> Group:
    """Paint and write the variants of one group.

    Reads the group's Original and writes `images/<Variant>/<id>.png` below the benchmark's folder. The returned
    group has the new pictures' paths and a generation record for each variant; a variant that failed has a record
    with its reason and no path.

    Raises
    ------
    ConfigError
        A variant is unknown.
    DataError
        The Original is missing or is no picture.
    StorageError
        The pictures cannot be written.
    """
    from signpost_kit.images import load_rgb, save_png

    for variant in variants:
        _check_variant(variant)
    image = load_rgb(benchmark.image_path(group, "Original"))
    cleared = _clear(image, group, seed)
    images, generation = dict(group.images), dict(group.generation)
    for variant in variants:
        picture, record = _finish(image, cleared, group, variant, seed)
        generation[variant] = record
        images.pop(variant, None)
        if record["status"] == "ok":
            relative = benchmark.image_name(group, variant)
            save_png(inside(Path(benchmark.root), relative), picture)
            images[variant] = relative
    return replace(group, images=images, generation=generation)


def _check_variant(variant: str) -> None:
    if variant not in EDITED_VARIANTS:
        raise ConfigError(f"unknown variant {variant!r}; the painter makes {', '.join(EDITED_VARIANTS)}")


def _rng(seed: int, group: Group, *parts: object) -> np.random.Generator:
    import numpy as np

    key = "|".join([group.group_id, *(str(p) for p in parts)])
    return np.random.default_rng([seed, int(hash_bytes(key.encode())[:12], 16)])


def _clear(image: np.ndarray, group: Group, seed: int) -> _Cleared:
    import numpy as np

    rgb = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
    picture = np.array(rgb)
    found: list[tuple[Span, Window, Removed] | tuple[Span, None, str]] = []
    for number, span in enumerate(group.spans):
        try:
            window = place_text(image.shape, span.polygon)
            removed = remove_text(picture[window.slices], window, _rng(seed, group, "clear", number))
        except Unpaintable as reason:
            found.append((span, None, str(reason)))
            continue
        picture[window.slices] = removed.crop
        found.append((span, window, removed))
    return _Cleared(picture, tuple(found))


def _finish(
    image: np.ndarray, cleared: _Cleared, group: Group, variant: str, seed: int
) -> tuple[np.ndarray, dict[str, Any]]:
    import numpy as np

    picture = cleared.image.copy()
    main = group.representative
    records: list[dict[str, Any]] = []
    reasons: list[str] = []
    for number, (span, window, removed) in enumerate(cleared.spans):
        record: dict[str, Any] = {"text": span.text}
        records.append(record)
        if window is None or isinstance(removed, str):
            record |= {"status": "skipped", "reason": removed}
            if span is main:
                reasons.append(f"{span.text!r}: {removed}")
            continue
        record |= _measures(window, removed)
        record["status"] = "ok"
        if variant == "Blank":
            continue
        text = span.replacements.get(variant.lower(), "")
        record["new_text"] = text
        try:
            if not text.strip():
                raise Unpaintable(f"there is no {variant.lower()} text")
            drawn = _write(picture, window, removed, text, _rng(seed, group, variant, number))
            record |= _drawn_record(drawn)
        except Unpaintable as reason:
            record |= {"status": "blank", "reason": str(reason)}
            if span is main:
                reasons.append(f"{span.text!r} -> {text!r}: {reason}")
    if not group.spans:
        reasons.append("the group has no spans")
    status = "failed" if reasons else "ok"
    if reasons:
        picture = np.array(image)
    elif image.ndim == 2:
        picture = _grey(picture, image)
    result: dict[str, Any] = {
        "editor": EDITOR,
        "variant": variant,
        "seed": seed,
        "status": status,
        "reason": "; ".join(reasons),
        "changed_pixels": _changed(picture, image, cleared),
        "dilation_px": max((r["dilation_px"] for r in records if "dilation_px" in r), default=0),
        "spans": records,
    }
    return picture, result


def _write(picture: np.ndarray, window: Window, removed: Removed, text: str, rng: np.random.Generator) -> Lettering:
    """Lay the new letters over the cleared picture, in place, inside the window's mask."""
    import numpy as np

    drawn = letter(
        text,
        window.quad,
        window.mask.shape,
        frame=text_frame(removed.ink_mask, window.quad),
        stroke=removed.stroke,
        blur=removed.blur,
    )
    crop = picture[window.slices].astype(np.float32)
    alpha = np.where(window.mask, drawn.alpha, 0.0)[..., None].astype(np.float32)
    ink = removed.ink.astype(np.float32)
    if removed.noise >= 0.3:
        grain = rng.standard_normal(window.mask.shape, dtype=np.float32)[..., None] * np.float32(
            0.8 * removed.noise
        )
        ink = ink + grain
    mixed = crop + (ink - crop) * alpha
    picture[window.slices] = np.clip(np.rint(mixed), 0, 255).astype(np.uint8)
    return drawn


def _changed(picture: np.ndarray, image: np.ndarray, cleared: _Cleared) -> int:
    """Pixels that differ from the Original; only the windows are looked at, nothing else can differ."""
    import numpy as np

    different = np.zeros(image.shape[:2], dtype=bool)
    for _, window, _ in cleared.spans:
        if window is not None:
            part = picture[window.slices] != image[window.slices]
            different[window.slices] |= part[..., 0] | part[..., 1] | part[..., 2] if part.ndim == 3 else part
    return int(np.count_nonzero(different))


def _grey(picture: np.ndarray, image: np.ndarray) -> np.ndarray:
    """The painted RGB copy of a grey picture as grey again; untouched pixels keep their exact value."""
    import cv2
    import numpy as np

    same = (picture == image[:, :, None]).all(axis=2)
    return np.where(same, image, cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY))


def _measures(window: Window, removed: Removed) -> dict[str, Any]:
    width, height = window.size
    return {
        "dilation_px": window.dilation,
        "width_px": round(width, 1),
        "height_px": round(height, 1),
        "fill": removed.method,
        "ink": [round(float(v)) for v in removed.ink],
        "ground": [round(float(v)) for v in removed.ground],
        "noise": round(removed.noise, 2),
        "blur": round(removed.blur, 2),
        "stroke_px": round(removed.stroke, 2),
    }


def _drawn_record(drawn: Lettering) -> dict[str, Any]:
    return {
        "font": "Noto " + "/".join(drawn.scripts),
        "weight": drawn.weight,
        "letter_px": round(drawn.height, 1),
        "squeeze": round(drawn.squeeze, 3),
        "layout": drawn.layout,
    }
