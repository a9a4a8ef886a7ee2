"""Drawing the streets that the offline models learn from, on every core.

Each part is drawn by a program of its own, not by a worker process of this one: a notebook, or a script without an
`if __name__ == "__main__"` guard, could not start those safely.

Seeds: lessons use ``LESSON_SEEDS`` and nothing else. :func:`signpost_kit.benchmark.town.build` draws its scenes
with seeds below 2**62, so no evaluated set can hold a scene that was learned from.
"""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signpost_kit.models.embedded.features import FEATURE_COUNT, look

__all__ = ["LESSON_SEEDS", "SCENES_PER_CITY", "Lesson", "draw_lessons", "lesson_seed"]

SCENES_PER_CITY = 10
LESSON_SEEDS = range(2**62, 2**62 + 1_000_000)
"""Seeds of drawn scenes that are kept for learning."""
_PER_CITY_LIMIT = 1000
_SIZE = (384, 256)
"""Half of an evaluated picture: the features are coarser than that, and drawing takes two thirds of the time."""
_MOST_PROGRAMS = 4
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Lesson:
    """One drawn street with its truth."""

    city: int
    """Index into the town's cities."""
    features: NDArray[np.float64]
    texts: tuple[str, ...]
    """As lettered on the signs."""


def lesson_seed(city: int, scene: int) -> int:
    """The seed of a city's n-th lesson."""
    return LESSON_SEEDS[city * _PER_CITY_LIMIT + scene]


def draw_lessons(per_city: int = SCENES_PER_CITY, *, programs: int | None = None) -> list[Lesson]:
    """`per_city` scenes of each of the town's cities, city by city; the same whatever the number of programs.

    Parameters
    ----------
    per_city
        1 to 1000.
    programs
        How many draw at once; None for one per core, at most 4.
    """
    from signpost_kit.benchmark.town import CITIES

    jobs = [(city, lesson_seed(city, scene)) for city in range(len(CITIES)) for scene in range(per_city)]
    count = programs or min(os.cpu_count() or 1, _MOST_PROGRAMS)
    if count == 1 or not sys.executable:
        return _draw(jobs)
    parts = [jobs[k::count] for k in range(count)]
    started = [_start(part) for part in parts[1:]]
    try:
        drawn = [_draw(parts[0]), *(_collect(p, part) for p, part in zip(started, parts[1:], strict=True))]
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.wait()
    return [drawn[i % count][i // count] for i in range(len(jobs))]


def _draw(jobs: list[tuple[int, int]]) -> list[Lesson]:
    from signpost_kit.benchmark.town import CITIES, draw_scene

    lessons = []
    for city, seed in jobs:
        rgb, spans = draw_scene(CITIES[city], seed, size=_SIZE)
        lessons.append(Lesson(city, look(rgb), tuple(span.text for span in spans)))
    return lessons


def _start(jobs: list[tuple[int, int]]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", __name__, json.dumps(jobs)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)


def _collect(process: subprocess.Popen[bytes], jobs: list[tuple[int, int]]) -> list[Lesson]:
    """What the program drew; drawn again here if it failed (its own message went to standard error)."""
    data, _ = process.communicate()
    try:
        if process.returncode != 0:
            raise ValueError(f"it ended with code {process.returncode}")
        return _unpack(data, jobs)
    except (ValueError, KeyError, OSError, EOFError) as error:
        _log.warning("a helper program that draws lessons failed (%s); its part is drawn here", error)
        return _draw(jobs)


def _pack(lessons: list[Lesson]) -> bytes:
    buffer = io.BytesIO()
    texts = np.frombuffer(json.dumps([lesson.texts for lesson in lessons]).encode(), dtype=np.uint8)
    features = np.array([lesson.features for lesson in lessons]).reshape(-1, FEATURE_COUNT)
    np.savez(buffer, features=features, texts=texts)
    return buffer.getvalue()


def _unpack(data: bytes, jobs: list[tuple[int, int]]) -> list[Lesson]:
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        features, texts = stored["features"], json.loads(stored["texts"].tobytes())
    return [Lesson(city, row, tuple(words)) for (city, _), row, words in zip(jobs, features, texts, strict=True)]


if __name__ == "__main__":
    sys.stdout.buffer.write(_pack(_draw([(city, seed) for city, seed in json.loads(sys.argv[1])])))
