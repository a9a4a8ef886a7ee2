"""The edits of one group: what is asked for each variant, what came back, and what was finished before a kill."""

from __future__ import annotations

import glob
import io
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from signpost_kit.editing.comfyui.faults import EditFailed
from signpost_kit.editing.comfyui.jobs import Edit, Edited
from signpost_kit.editing.comfyui.server import Picture
from signpost_kit.editing.comfyui.wording import Instruction, instruct
from signpost_kit.files import hash_bytes, safe_name, write_bytes
from signpost_kit.frames import EDITED_VARIANTS

if TYPE_CHECKING:
    import numpy as np

    from signpost_kit.benchmark.groups import Group, Span
    from signpost_kit.editing.checks import Attempt, Made
    from signpost_kit.editing.comfyui.pool import ServerPool

__all__ = ["EDITOR", "WORKFLOW", "Editor", "Journal"]

EDITOR = "comfyui"
WORKFLOW = "qwen-image-edit-2509"
_KEY = 12  # characters of a key that go into a file's name
_SEEDS = 2**53  # what every JSON reader keeps exactly


@dataclass(frozen=True)
class Journal:
    """Notes of finished edits, in a folder: a picture and its record under a key of all that they depend on."""

    folder: Path
    group_id: str

    def note(self, variant: str, key: str, png: bytes, record: dict[str, Any]) -> None:
        """The picture first, then the note that it is finished: a kill in between makes it again."""
        write_bytes(self._path(variant, key, "png"), png)
        note = {"key": key, "picture": hash_bytes(png), "record": record}
        write_bytes(self._path(variant, key, "json"), json.dumps(note, ensure_ascii=False).encode())

    def find(self, variant: str, key: str, *, also: Path | None = None) -> tuple[bytes, dict[str, Any]] | None:
        """A finished edit, from the journal or (`also`) from where its picture was put; None if it is not whole."""
        try:
            note = json.loads(self._path(variant, key, "json").read_bytes())
            wanted, record = str(note["picture"]), dict(note["record"])
            if note["key"] != key:
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None  # absent, torn or damaged: make it again
        for path in (self._path(variant, key, "png"), also):
            if path is not None and path.is_file():
                png = path.read_bytes()
                if hash_bytes(png) == wanted:
                    return png, record
        return None

    def settle(self) -> None:
        """The group's pictures are in their places: keep the notes alone."""
        name = glob.escape(safe_name(self.group_id))
        for variant in EDITED_VARIANTS:  # by name: another group's id may begin with this one and a dot
            for path in self.folder.glob(f"{name}.{variant}.{'?' * _KEY}.png"):
                path.unlink(missing_ok=True)

    def _path(self, variant: str, key: str, suffix: str) -> Path:
        return self.folder / f"{safe_name(self.group_id)}.{variant}.{key[:_KEY]}.{suffix}"


class Editor:
    """One group's picture and what its variants are to be.

    Parameters
    ----------
    image
        The Original, uint8, RGB (H, W, 3) or grey (H, W). Every variant is made from it.
    seed
        The run's. What goes out depends on it, on the group and on the attempt, and is the same for all variants of
        a group, so that they differ in the instruction alone.
    targets
        Variant -> where its finished picture belongs; looked at for what an earlier call finished.
    """

    def __init__(
        self,
        image: np.ndarray,
        group: Group,
        pool: ServerPool,
        *,
        seed: int,
        journal: Path | None = None,
        targets: dict[str, Path] | None = None,
    ) -> None:
        import numpy as np

        self.rgb = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
        self.group, self.pool, self.seed = group, pool, seed
        self.journal = Journal(journal, group.group_id) if journal is not None else None
        self._targets = targets or {}

    @cached_property
    def picture(self) -> Picture:
        """The Original as it is sent."""
        from signpost_kit.images import encode_png

        png = encode_png(self.rgb)
        return Picture(png, hash_bytes(png), width=self.rgb.shape[1], height=self.rgb.shape[0])

    def make_all(self, attempts: dict[str, Attempt]) -> dict[str, Made]:
        """Make variants, as many at once as the servers take: variant -> picture (RGB) and record."""
        stop = Event()
        at_once = min(len(attempts), self.pool.slots)
        if at_once <= 1:
            return {variant: self._make(variant, attempt.number, stop) for variant, attempt in attempts.items()}
        _ = self.picture  # encoded once, before the threads ask for it
        with ThreadPoolExecutor(at_once, thread_name_prefix="edit") as executor:
            futures = {v: executor.submit(self._make, v, attempt.number, stop) for v, attempt in attempts.items()}
            try:
                return {variant: future.result() for variant, future in futures.items()}
            except BaseException:
                stop.set()  # an error that ends everything, or an interrupt: take the others' jobs back
                raise

    def _make(self, variant: str, number: int, stop: Event) -> Made:
        spans, missing = wanted_spans(self.group, variant)
        seed = sent_seed(self.seed, self.group, number)
        picture = self.picture
        said = instruct(spans, variant, width=picture.width, height=picture.height) if spans else None
        record = self._record(variant, seed, said)
        if missing or said is None:
            return None, record | {"reason": missing}
        key = hash_bytes(json.dumps([picture.hash, said.text, seed, self.pool.workflow_hash]).encode())
        if self.journal is not None:
            kept = self.journal.find(variant, key, also=self._targets.get(variant))
            if kept is not None:
                return decoded(kept[0], self.rgb.shape), kept[1]
        try:
            edited = self.pool.run(Edit(picture, said.text, seed), stopped=stop.is_set)
        except EditFailed as error:
            return None, record | {"reason": str(error)}
        finished = decoded(edited.png, self.rgb.shape)
        record |= {"status": "ok", "changed_pixels": _changed(finished, self.rgb)} | _measures(edited)
        if self.journal is not None:
            from signpost_kit.images import encode_png

            self.journal.note(variant, key, encode_png(finished), record)
        return finished, record

    def _record(self, variant: str, seed: int, said: Instruction | None) -> dict[str, Any]:
        """As if the edit had failed; the rest is added when it has not."""
        recipe = self.pool.recipe
        return {
            "editor": EDITOR,
            "variant": variant,
            "seed": seed,
            "base_seed": self.seed,
            "status": "failed",
            "reason": "",
            "changed_pixels": 0,
            "prompt": said.text if said else "",
            "prompt_template": said.template if said else "",
            "prompt_hash": said.template_hash if said else "",
            "workflow": WORKFLOW,
            "workflow_hash": self.pool.workflow_hash,
            "steps": recipe.steps,
            "cfg": recipe.cfg,
            "lightning": recipe.with_lora,
            "spans": [_span_record(span, variant) for span in self.group.spans],
        }


def wanted_spans(group: Group, variant: str) -> tuple[tuple[Span, ...], str]:
    """The spans to edit, and why the variant cannot be made ("" if it can)."""
    spans = tuple(span for span in group.spans if span.text.strip())
    if not spans:
        return (), "the group has no spans"
    main = group.representative
    if variant != "Blank" and main is not None and not _new_text(main, variant):
        return spans, f"{main.text!r}: there is no {variant.lower()} text"
    return spans, ""


def sent_seed(seed: int, group: Group, number: int) -> int:
    """The sampler's seed for a group and an attempt (from 0)."""
    parts = [str(seed), group.group_id] + ([str(number)] if number else [])
    return int(hash_bytes("|".join(parts).encode())[:16], 16) % _SEEDS


def decoded(png: bytes, shape: tuple[int, ...]) -> np.ndarray:
    """A picture's bytes as RGB, uint8, in the height and width of `shape`."""
    import numpy as np
    from PIL import Image

    height, width = shape[:2]
    with Image.open(io.BytesIO(png)) as opened:
        picture = opened.convert("RGB")
    if picture.size != (width, height):
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    return np.array(picture)


def _new_text(span: Span, variant: str) -> str:
    return span.replacements.get(variant.lower(), "").strip()


def _span_record(span: Span, variant: str) -> dict[str, Any]:
    if not span.text.strip():
        return {"text": span.text, "status": "skipped", "reason": "the span has no text that could be named"}
    if variant == "Blank":
        return {"text": span.text, "status": "ok"}
    new = _new_text(span, variant)
    if new:
        return {"text": span.text, "status": "ok", "new_text": new}
    return {"text": span.text, "status": "blank", "new_text": "", "reason": f"there is no {variant.lower()} text"}


def _changed(picture: np.ndarray, rgb: np.ndarray) -> int:
    """Pixels that differ from the Original; with a generated picture that is nearly every one."""
    import numpy as np

    return int(np.count_nonzero((picture != rgb).any(axis=2)))


def _measures(edited: Edited) -> dict[str, Any]:
    return {
        "server": edited.server,
        "seconds": round(edited.seconds, 2),
        "working_size": list(edited.asked_size),
        "returned_size": list(edited.size),
        "server_file": edited.file,
        "prompt_id": edited.prompt_id,
        "resubmitted": edited.resubmitted,
        "freed_memory": edited.freed_memory,
    }
