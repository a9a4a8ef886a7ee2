"""One picture on the easel: its texts measured and removed once, then lettered for each variant and attempt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from signpost_kit.benchmark.groups import Group
from signpost_kit.editing.base import Unpaintable, Window, place_text
from signpost_kit.editing.checks import Attempt, Made
from signpost_kit.editing.inpaint import Removed, remove_text
from signpost_kit.editing.lettering import Lettering, Look, letter
from signpost_kit.editing.measure import flush_left, look_of
from signpost_kit.editing.ribbon import Ribbon
from signpost_kit.files import hash_bytes

if TYPE_CHECKING:
    import numpy as np

__all__ = ["EDITOR", "Painter"]

EDITOR = "paint"
_MOST = 2  # of `thorough` and of `plain`
_CONTRAST = (0.0, 120.0, 170.0)  # levels between ink and ground that letters have at least, by `plain`
_AROUND = 2.5  # text heights of surroundings to take pieces of ground from
_AROUND_PX = 160


@dataclass(frozen=True)
class _Known:
    """What was measured of one span that could be removed."""

    window: Window
    removed: Removed
    look: Look
    ribbon: Ribbon | None


@dataclass(frozen=True)
class _Cleared:
    """A picture without its texts, and what each span was like."""

    image: np.ndarray
    spans: tuple[_Known | str, ...]
    """What was measured, or the reason why the span cannot be painted."""


class Painter:
    """Makes the variants of one picture.

    Spans whose new text was not read are lettered more plainly at the next attempt, spans whose old text was still
    read are removed more thoroughly; the others keep their look. Every attempt has a seed of its own.
    """

    def __init__(self, image: np.ndarray, group: Group, seed: int) -> None:
        self._image, self._group, self._seed = image, group, seed
        self._cleared: dict[tuple[int, ...], _Cleared] = {}
        self._thorough: dict[str, list[int]] = {}
        self._plain: dict[str, list[int]] = {}

    def make_all(self, wanted: dict[str, Attempt]) -> dict[str, Made]:
        """:meth:`make` for several variants."""
        return {variant: self.make(variant, attempt) for variant, attempt in wanted.items()}

    def make(self, variant: str, attempt: Attempt | None = None) -> Made:
        """One variant and its record (see :func:`signpost_kit.editing.paint.paint_variant`); the picture is the
        Original when the edit failed.
        """
        attempt = attempt or Attempt(0)
        count = len(self._group.spans)
        if attempt.number == 0:
            self._thorough[variant], self._plain[variant] = [0] * count, [0] * count
        verdicts = [span["verdict"] for span in (attempt.checks or {}).get("spans", ())]
        for number, verdict in enumerate(verdicts):
            if verdict == "not read":
                self._plain[variant][number] = min(self._plain[variant][number] + 1, _MOST)
            elif verdict == "old text still read":
                self._thorough[variant][number] = min(self._thorough[variant][number] + 1, _MOST)
        thorough = tuple(self._thorough[variant])
        if thorough not in self._cleared:
            self._cleared[thorough] = _clear(self._image, self._group, self._seed, thorough)
        seed = self._seed + attempt.number
        return _finish(
            self._image, self._cleared[thorough], self._group, variant, seed=seed, plain=self._plain[variant]
        )


def _rng(seed: int, group: Group, *parts: object) -> np.random.Generator:
    import numpy as np

    key = "|".join([group.group_id, *(str(p) for p in parts)])
    return np.random.default_rng([seed, int(hash_bytes(key.encode())[:12], 16)])


def _clear(image: np.ndarray, group: Group, seed: int, thorough: tuple[int, ...]) -> _Cleared:
    import numpy as np

    rgb = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
    picture = np.array(rgb)
    windows: list[Window | str] = []
    for span in group.spans:
        try:
            windows.append(place_text(image.shape, span.polygon))
        except Unpaintable as reason:
            windows.append(str(reason))
    found: list[_Known | str] = []
    for number, window in enumerate(windows):
        if isinstance(window, str):
            found.append(window)
            continue
        try:
            removed = remove_text(
                picture[window.slices],
                window,
                _rng(seed, group, "clear", number),
                around=_around(picture, window, windows),
                thorough=thorough[number],
            )
        except Unpaintable as reason:
            found.append(str(reason))
            continue
        picture[window.slices] = removed.crop
        found.append(_Known(window, removed, *look_of(removed.ink_mask, window)))
    return _Cleared(picture, tuple(_aligned(found)))


def _around(
    picture: np.ndarray, window: Window, windows: list[Window | str]
) -> tuple[np.ndarray, tuple[int, int], np.ndarray]:
    """A window's surroundings, its place in them, and what is text there (this one's and the others')."""
    import numpy as np

    reach = int(min(_AROUND * min(window.size), _AROUND_PX))
    top, left = max(window.top - reach, 0), max(window.left - reach, 0)
    tall, wide = window.mask.shape
    context = picture[top : window.top + tall + reach, left : window.left + wide + reach]
    blocked = np.zeros((context.shape[0], context.shape[1]), dtype=bool)
    for other in windows:
        if isinstance(other, str) or other is window:
            continue
        y, x = other.top - top, other.left - left
        y0, x0 = max(y, 0), max(x, 0)
        y1, x1 = min(y + other.mask.shape[0], blocked.shape[0]), min(x + other.mask.shape[1], blocked.shape[1])
        if y0 < y1 and x0 < x1:
            blocked[y0:y1, x0:x1] |= other.mask[y0 - y : y1 - y, x0 - x : x1 - x]
    return context, (window.top - top, window.left - left), blocked


def _aligned(found: list[_Known | str]) -> list[_Known | str]:
    """The same, with the lines of one sign that begin at the same edge marked so."""
    import numpy as np

    lines = [(i, k) for i, k in enumerate(found) if isinstance(k, _Known) and k.ribbon is None]
    quads = [np.add(k.window.quad, (k.window.left, k.window.top)) for _, k in lines]
    result = list(found)
    for (index, known), left in zip(lines, flush_left(quads, [k.look.frame for _, k in lines]), strict=True):
        if left:
            result[index] = replace(known, look=replace(known.look, left=True))
    return result


def _finish(
    image: np.ndarray, cleared: _Cleared, group: Group, variant: str, *, seed: int, plain: list[int]
) -> Made:
    import numpy as np

    picture = cleared.image.copy()
    main = group.representative
    records: list[dict[str, Any]] = []
    reasons: list[str] = []
    for number, (span, known) in enumerate(zip(group.spans, cleared.spans, strict=True)):
        record: dict[str, Any] = {"text": span.text}
        records.append(record)
        if isinstance(known, str):
            record |= {"status": "skipped", "reason": known}
            if span is main:
                reasons.append(f"{span.text!r}: {known}")
            continue
        record |= _measures(known)
        record["status"] = "ok"
        if variant == "Blank":
            continue
        record["new_text"] = text = span.replacements.get(variant.lower(), "")
        try:
            if not text.strip():
                raise Unpaintable(f"there is no {variant.lower()} text")
            drawn = _write(picture, known, text, _rng(seed, group, variant, number), plain[number])
            record |= _drawn_record(drawn, plain[number])
        except Unpaintable as reason:
            record |= {"status": "blank", "reason": str(reason)}
            if span is main:
                reasons.append(f"{span.text!r} -> {text!r}: {reason}")
    if not group.spans:
        reasons.append("the group has no spans")
    if reasons:
        picture = np.array(image)
    elif image.ndim == 2:
        picture = _grey(picture, image)
    return picture, {
        "editor": EDITOR,
        "variant": variant,
        "seed": seed,
        "status": "failed" if reasons else "ok",
        "reason": "; ".join(reasons),
        "changed_pixels": _changed(picture, image, cleared),
        "dilation_px": max((r["dilation_px"] for r in records if "dilation_px" in r), default=0),
        "spans": records,
    }


def _write(picture: np.ndarray, known: _Known, text: str, rng: np.random.Generator, plain: int) -> Lettering:
    """Lay the new letters over the cleared picture, in place, inside the window's mask."""
    import numpy as np

    window, removed = known.window, known.removed
    drawn = letter(
        text,
        window.quad,
        window.mask.shape,
        look=known.look,
        ribbon=known.ribbon if not plain or window.ribbon is not None else None,
        stroke=removed.stroke,
        blur=removed.blur,
        plain=plain,
    )
    crop = picture[window.slices].astype(np.float32)
    alpha = np.where(window.mask, drawn.alpha, 0.0)[..., None].astype(np.float32)
    ink = _ink(removed, plain)
    if removed.noise >= 0.3 and plain < _MOST:
        grain = rng.standard_normal(window.mask.shape, dtype=np.float32)[..., None] * np.float32(
            0.8 * removed.noise
        )
        ink = ink + grain
    mixed = crop + (ink - crop) * alpha
    picture[window.slices] = np.clip(np.rint(mixed), 0, 255).astype(np.uint8)
    return drawn


def _ink(removed: Removed, plain: int) -> np.ndarray:
    """The letters' colour; for plainer letters, the same hue further from the ground, at last black or white."""
    import numpy as np

    ink = removed.ink.astype(np.float32)
    away = ink - removed.ground.astype(np.float32)
    contrast = float(np.linalg.norm(away))
    wanted = _CONTRAST[plain]
    if contrast >= wanted:
        return ink
    ink = np.clip(removed.ground + away * (wanted / max(contrast, 1.0)), 0, 255).astype(np.float32)
    if float(np.linalg.norm(ink - removed.ground)) < 0.8 * wanted:
        ink = np.full(3, 15.0 if float(removed.ground.mean()) > 127 else 240.0, dtype=np.float32)
    return ink


def _changed(picture: np.ndarray, image: np.ndarray, cleared: _Cleared) -> int:
    """Pixels that differ from the Original; only the windows are looked at, nothing else can differ."""
    import numpy as np

    different = np.zeros(image.shape[:2], dtype=bool)
    for known in cleared.spans:
        if isinstance(known, _Known):
            here = known.window.slices
            part = picture[here] != image[here]
            different[here] |= part[..., 0] | part[..., 1] | part[..., 2] if part.ndim == 3 else part
    return int(np.count_nonzero(different))


def _grey(picture: np.ndarray, image: np.ndarray) -> np.ndarray:
    """The painted RGB copy of a grey picture as grey again; untouched pixels keep their exact value."""
    import cv2
    import numpy as np

    same = (picture == image[:, :, None]).all(axis=2)
    return np.where(same, image, cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY))


def _measures(known: _Known) -> dict[str, Any]:
    window, removed = known.window, known.removed
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
        "slant": round(known.look.slant, 2),
        "old_lines": max(len(known.look.rows), len(known.look.columns), 1),
    }


def _drawn_record(drawn: Lettering, plain: int) -> dict[str, Any]:
    return {
        "font": "Noto " + "/".join(drawn.scripts),
        "weight": drawn.weight,
        "letter_px": round(drawn.height, 1),
        "squeeze": round(drawn.squeeze, 3),
        "layout": drawn.layout,
        "lines": drawn.lines,
        "plain": plain,
    }
