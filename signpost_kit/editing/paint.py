"""The local editor: the four edited variants of a picture, without any model.

Blank removes every span; Similar, Random and Adversarial remove it and write the replacement in the same
perspective, colours, size, angle and stroke. Pixels outside the grown polygons (:func:`.base.edit_mask`) stay as
they are, bit by bit. Work is done on crops, so the cost follows the signs' size, not the picture's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.benchmark.groups import Benchmark, Group
from signpost_kit.editing.base import check_picture, edit_mask
from signpost_kit.editing.checks import Attempt, CheckSettings, Made, attempted
from signpost_kit.editing.painter import EDITOR, Painter
from signpost_kit.errors import ConfigError
from signpost_kit.files import inside
from signpost_kit.frames import EDITED_VARIANTS

if TYPE_CHECKING:
    import numpy as np

__all__ = ["EDITOR", "edit_mask", "make_variants", "paint_variant"]


def paint_variant(
    image: np.ndarray, group: Group, variant: str, *, seed: int = 42
) -> tuple[np.ndarray, dict[str, Any]]:
    """One edited variant of a picture, unchecked.

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
    picture, record = Painter(image, group, seed).make(variant)
    return (image.copy() if picture is None else picture), record


def make_variants(
    benchmark: Benchmark,
    group: Group,
    *,
    seed: int = 42,
    variants: tuple[str, ...] = EDITED_VARIANTS,
    attempts: int = 1,
    checks: CheckSettings | None = None,
) -> Group:
    """Paint and write the variants of one group.

    Reads the group's Original and writes `images/<Variant>/<id>.png` below the benchmark's folder. The returned
    group has the new pictures' paths and a generation record for each variant; a variant that failed has a record
    with its reason and no path.

    Parameters
    ----------
    attempts
        How often a variant is painted, each time with another seed and plainer letters or a more thorough removal,
        until its checks pass. Without `checks` the first one is taken.
    checks
        What an edit has to pass (:mod:`.checks`); the record then has `checks`. None: nothing is checked.

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
    painter = Painter(image, group, seed)
    made: dict[str, Made]
    if checks is None:
        made = {variant: painter.make(variant, Attempt(0)) for variant in variants}
    else:
        made = attempted(image, group, variants, painter.make_all, attempts=attempts, settings=checks)
    images, generation = dict(group.images), dict(group.generation)
    for variant in variants:
        picture, record = made[variant]
        generation[variant] = record
        images.pop(variant, None)
        if record["status"] == "ok" and picture is not None:
            relative = benchmark.image_name(group, variant)
            save_png(inside(Path(benchmark.root), relative), picture)
            images[variant] = relative
    return replace(group, images=images, generation=generation)


def _check_variant(variant: str) -> None:
    if variant not in EDITED_VARIANTS:
        raise ConfigError(f"unknown variant {variant!r}; the painter makes {', '.join(EDITED_VARIANTS)}")
