"""Checks by machine after each edit, and new attempts at what did not pass. For every editor alike.

An edit passes when OCR reads the new text, the old one is gone, the rest of the picture is what it was, and its
size is kept. One that does not pass after the last attempt is kept and marked: OCR errs on small and decorated
letters, so leaving such pictures out would bias a benchmark towards texts that machines read easily. Who wants only
sound ones filters by `generation[variant]["checks"]["passed"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from signpost_kit.editing.base import edit_mask
from signpost_kit.editing.readback import distance, likeness, read_spans, readable

if TYPE_CHECKING:
    import numpy as np

    from signpost_kit.benchmark.groups import Group, Span
    from signpost_kit.ocr import OcrSettings

__all__ = ["UNREADABLE", "Attempt", "CheckSettings", "Made", "attempted", "check_edits", "outside"]

UNREADABLE = "not readable by this OCR engine"
"""Verdict on a text in a script that the engine does not know: neither passed nor failed."""

Made = tuple["np.ndarray | None", dict[str, Any]]
"""A picture and its record; no picture when the edit itself failed."""


@dataclass(frozen=True)
class CheckSettings:
    """What an edit has to pass."""

    engine: str = "rapidocr"
    languages: tuple[str, ...] = ("en",)
    ocr: OcrSettings | None = None
    max_distance: float = 0.35
    """Normalised edit distance at which the new text still counts as read: about a third of its letters."""
    min_gone: float = 0.4
    """The old text counts as gone when no reading is nearer to it than this."""
    exact: bool = True
    """No pixel outside the mask may change (paint). False: an editor that draws the whole picture anew (comfyui),
    judged by the three tolerances below."""
    grow_px: int = 12
    """Pixels by which the mask is grown for such an editor: it may touch up a sign's surroundings."""
    changed_levels: int = 32
    """A pixel counts as changed when a channel differs by more."""
    max_changed: float = 0.10
    """Share of the pixels outside that may be changed."""
    min_ssim: float = 0.75
    """Mean structural similarity outside; encoding and decoding by such an editor alone costs about a tenth."""


@dataclass(frozen=True)
class Attempt:
    """What an editor is told about the attempt it is to make."""

    number: int
    """0 for the first."""
    checks: dict[str, Any] | None = None
    """Of the attempt before; None for the first."""

    @property
    def unread(self) -> bool:
        """The new text was not read: the letters should be plainer this time."""
        return self._any("not read")

    @property
    def remains(self) -> bool:
        """The old text was still read: more should be taken away this time."""
        return self._any("old text still read")

    def _any(self, verdict: str) -> bool:
        return any(span["verdict"] == verdict for span in (self.checks or {}).get("spans", ()))


def attempted(
    original: np.ndarray,
    group: Group,
    variants: Sequence[str],
    make: Callable[[dict[str, Attempt]], dict[str, Made]],
    *,
    attempts: int = 3,
    settings: CheckSettings | None = None,
) -> dict[str, Made]:
    """Make variants, check them, and make anew what did not pass, up to `attempts` times.

    Parameters
    ----------
    original
        The picture that was edited, uint8.
    make
        Makes variants, given with the :class:`Attempt` of each (all of the same number). It returns for each the
        picture and its record, with `status` `ok` or `failed`; a failed edit is not checked, nor made again here.
    attempts
        1 checks only.

    Returns
    -------
    dict
        Variant -> picture and record. The record has got `checks`: `passed`, `reasons` (empty when passed),
        `attempts` (how many were made), `attempt` (the one kept, from 1), and the measures of :func:`check_edits`.
        When none passed, the attempt with the fewest reasons and the best reading is kept.
    """
    chosen = settings or CheckSettings()
    best: dict[str, Made] = {}
    last: dict[str, dict[str, Any] | None] = dict.fromkeys(variants)
    open_ones = list(variants)
    for number in range(max(attempts, 1)):
        made = make({variant: Attempt(number, last[variant]) for variant in open_ones})
        fit = {v: m for v, m in made.items() if m[0] is not None and m[1].get("status") == "ok"}
        found = check_edits(original, group, fit, settings=chosen)
        for variant in open_ones:
            if variant in found:
                made[variant][1]["checks"] = {**found[variant], "attempt": number + 1}
                last[variant] = found[variant]
            if variant not in best or _better(made[variant], best[variant]):
                best[variant] = made[variant]
        open_ones = [v for v in open_ones if v in found and not found[v]["passed"] and found[v]["worth_another"]]
        for variant in variants:
            if "checks" in best[variant][1] and variant in made:
                best[variant][1]["checks"]["attempts"] = number + 1
        if not open_ones:
            break
    for _, record in best.values():
        record.get("checks", {}).pop("worth_another", None)
    return best


def _better(new: Made, old: Made) -> bool:
    a, b = new[1].get("checks"), old[1].get("checks")
    if a is None or b is None:
        return b is None and a is not None
    return _merit(a) > _merit(b)


def _merit(checks: dict[str, Any]) -> tuple[bool, int, float]:
    alike = sum(span.get("likeness") or 0.0 for span in checks["spans"])
    return bool(checks["passed"]), -len(checks["reasons"]), alike


def check_edits(
    original: np.ndarray, group: Group, edits: dict[str, Made], *, settings: CheckSettings
) -> dict[str, dict[str, Any]]:
    """Check the variants of one group; only the spans' surroundings are read.

    Returns
    -------
    dict
        Variant -> plain JSON: `passed`, `reasons`, `engine`, `size_kept`, `outside` (see :func:`outside`), `spans`
        (for each span `text`, `new_text`, `verdict`, `likeness` and `read` of the new text, `old_likeness`), and
        `worth_another`: False when another attempt cannot help (a text that does not fit).
    """
    sound = {v: (p, r) for v, (p, r) in edits.items() if p is not None and p.shape[:2] == original.shape[:2]}
    polygons = [span.polygon for span in group.spans]
    readings = read_spans([(p, polygons) for p, _ in sound.values()], engine=settings.engine, settings=settings.ocr)
    seen = dict(zip(sound, readings, strict=True))
    mask = _mask(original, group, settings) if sound else None
    result: dict[str, dict[str, Any]] = {}
    for variant, (picture, record) in edits.items():
        if variant not in sound or mask is None or picture is None:
            shape = "none" if picture is None else f"{picture.shape[1]} x {picture.shape[0]}"
            reason = f"size not kept: {original.shape[1]} x {original.shape[0]} became {shape}"
            result[variant] = _verdict([], [reason], {}, settings, size_kept=False)
            continue
        spans = [
            _span(span, done, variant, lines, settings)
            for span, done, lines in zip(group.spans, _records(record, group.spans), seen[variant], strict=True)
        ]
        measured, reason = outside(original, picture, mask, settings)
        reasons = [text for entry in spans if (text := _reason(entry))] + ([reason] if reason else [])
        result[variant] = _verdict(spans, reasons, measured, settings, size_kept=True)
    return result


def _mask(original: np.ndarray, group: Group, settings: CheckSettings) -> np.ndarray:
    """(H, W) bool: what may change; everything when an editor was only told in words where a text is."""
    import numpy as np

    if not settings.exact and not all(span.polygon for span in group.spans):
        return np.ones(original.shape[:2], dtype=bool)
    return edit_mask(original.shape, group)


def _records(record: dict[str, Any], spans: Sequence[Span]) -> list[dict[str, Any]]:
    """What the editor noted for each span; one that names only some of them is matched by the text."""
    noted = list(record.get("spans") or [])
    if len(noted) == len(spans):
        return noted
    by_text = {str(entry.get("text", "")): entry for entry in noted}
    return [by_text.get(span.text, {}) for span in spans]


def _verdict(
    spans: list[dict[str, Any]],
    reasons: list[str],
    measured: dict[str, Any],
    settings: CheckSettings,
    *,
    size_kept: bool,
) -> dict[str, Any]:
    hopeless = sum(entry["verdict"] in ("not written", "not removed") for entry in spans)
    return {
        "passed": not reasons,
        "reasons": reasons,
        "engine": settings.engine,
        "size_kept": size_kept,
        "outside": measured,
        "spans": spans,
        "worth_another": len(reasons) > hopeless,
    }


def _span(
    span: Span, done: dict[str, Any], variant: str, lines: Sequence[str], settings: CheckSettings
) -> dict[str, Any]:
    """The verdict on one span of one variant."""
    new = "" if variant == "Blank" else str(done.get("new_text") or span.replacements.get(variant.lower(), ""))
    entry: dict[str, Any] = {"text": span.text, "new_text": new}
    status = done.get("status", "ok")
    if status in ("skipped", "blank"):
        verdict = "not removed" if status == "skipped" else "not written"
        return entry | {"verdict": verdict, "why": str(done.get("reason", ""))}
    verdict = "read" if new else "removed"
    if new:
        if readable(new, settings.engine, settings.languages):
            alike, read = likeness(new, lines, within=True)
            entry |= {"likeness": round(alike, 3), "read": read}
            if alike < 1.0 - settings.max_distance:
                verdict = "not read"
        else:
            verdict = UNREADABLE
    # "Rue Pasteur" for "Rue Pascal" is like the old text and may well be read as such.
    telling = not new or distance(span.text, new) >= 0.6
    if telling and readable(span.text, settings.engine, settings.languages):
        entry["old_likeness"] = round(likeness(span.text, lines)[0], 3)
        if entry["old_likeness"] > 1.0 - settings.min_gone:
            verdict = "old text still read"
    return entry | {"verdict": verdict}


def _reason(entry: dict[str, Any]) -> str:
    verdict, new = entry["verdict"], entry["new_text"]
    if verdict == "not read":
        return f"{new!r} is not read: {entry['read']!r}" if entry["read"] else f"{new!r} is not read"
    if verdict == "old text still read":
        return f"{entry['text']!r} is still read"
    if verdict == "not written":
        return f"{new!r} is not written: {entry['why']}"
    if verdict == "not removed":
        return f"{entry['text']!r} is not removed: {entry['why']}"
    return ""


def outside(
    original: np.ndarray, picture: np.ndarray, mask: np.ndarray, settings: CheckSettings
) -> tuple[dict[str, Any], str]:
    """What changed outside the mask, and the reason why that is too much ("" when it is not).

    Returns
    -------
    (measures, reason)
        `changed_share` of the pixels outside (any difference when `exact`, more than `changed_levels` otherwise)
        and `ssim`, the mean structural similarity there (1 when nothing changed; None when nothing lies outside).
    """
    import cv2
    import numpy as np

    if not settings.exact:
        side = 2 * settings.grow_px + 1
        kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))
        mask = cv2.dilate(mask.astype(np.uint8), kernel) > 0
    free = ~mask
    total = int(np.count_nonzero(free))
    if total == 0:
        return {"changed_share": 0.0, "ssim": None}, ""
    difference = cv2.absdiff(original, picture)
    strongest = difference.max(axis=2) if difference.ndim == 3 else difference
    changed = int(np.count_nonzero((strongest > (0 if settings.exact else settings.changed_levels)) & free))
    same = not (strongest[free].any() if not settings.exact else changed)
    similarity = 1.0 if same else _ssim(original, picture, free)
    measures = {"changed_share": round(changed / total, 6), "ssim": round(similarity, 4)}
    if settings.exact:
        return measures, f"{changed} pixels outside the mask changed" if changed else ""
    if changed / total > settings.max_changed:
        return measures, f"{changed / total:.0%} of the picture outside the mask changed"
    if similarity < settings.min_ssim:
        return measures, f"the rest of the picture is not what it was (SSIM {similarity:.2f})"
    return measures, ""


def _ssim(original: np.ndarray, picture: np.ndarray, free: np.ndarray) -> float:
    """Mean structural similarity of the brightness over the pixels in `free`."""
    import cv2
    import numpy as np
    from skimage.metrics import structural_similarity

    grey = [cv2.cvtColor(p, cv2.COLOR_RGB2GRAY) if p.ndim == 3 else p for p in (original, picture)]
    if min(grey[0].shape) < 7:
        return float(np.mean(grey[0] == grey[1]))
    field: np.ndarray = np.asarray(structural_similarity(*grey, data_range=255, full=True)[1])
    return float(field[free].mean())
