"""What the tests of the ComfyUI editor share: a group with a drawn picture, and settings with short waiting times."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from signpost_kit.benchmark import Benchmark, Group, Span
from signpost_kit.editing.comfyui.jobs import Limits
from signpost_kit.images import save_png
from signpost_kit.profile_sections import Editing

QUICK = Limits(timeout_s=20.0, queue_s=20.0, poll_s=0.1, patience_s=0.4, revive_s=3.0, free_pause_s=0.05)


def editing_for(*servers: Any, **settings: Any) -> Editing:
    """The profile's section for some stand-ins (or addresses)."""
    urls = [server if isinstance(server, str) else server.url for server in servers]
    return Editing(editor="comfyui", servers=urls, **settings)


def drawn(width: int = 640, height: int = 360) -> np.ndarray:
    """A street sign on a gradient."""
    across = np.linspace(90, 200, width, dtype=np.uint8)
    picture = Image.fromarray(np.repeat(np.tile(across, (height, 1))[:, :, None], 3, axis=2))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((40, 40, 240, 100), fill=(20, 60, 160))
    draw.text((140, 70), "KYOTO", fill="white", anchor="mm", font_size=36)
    return np.asarray(picture)


def benchmark_of(folder: Path, ids: Iterable[str] = ("g1",), *, size: tuple[int, int] = (640, 360)) -> Benchmark:
    """Groups with one span in words and one by its polygon, each with its own picture."""
    spans = (
        Span(
            "KYOTO",
            ((40, 40), (240, 40), (240, 100), (40, 100)),
            replacements={"similar": "OSAKA", "random": "Żółw", "adversarial": "LIMA"},
            tier="T3",
        ),
        Span("Tea", location="on the awning at the bottom right", replacements={"similar": "Sake"}, tier="T2"),
    )
    groups = []
    for number, group_id in enumerate(ids):
        name = f"images/Original/{group_id}.png"
        picture = drawn(*size).copy()
        picture[:4, :4] = number  # no two Originals are the same
        save_png(folder / name, picture)
        groups.append(Group(group_id, "test", 35.0, 135.7, spans=spans, tier="T3", images={"Original": name}))
    return Benchmark(name="test", groups=tuple(groups), root=folder)
