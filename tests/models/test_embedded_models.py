"""The offline models as providers: words that parse, the same for the same picture, from nothing but picture and task."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signpost_kit import prompts
from signpost_kit.benchmark import Benchmark, town
from signpost_kit.images import save_png
from signpost_kit.models import Answer, ProviderError, Request, get_model
from signpost_kit.models.embedded import EMBEDDED_MODELS, perception, prepare, training
from signpost_kit.models.embedded.drawing import LESSON_SEEDS, SCENES_PER_CITY, draw_lessons, lesson_seed
from signpost_kit.parsing import parse_coordinates, parse_defense, parse_probing

TASKS = ("coordinate", "probing", "defense")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    prepare(EMBEDDED_MODELS)
    return town.build(4, 31, out_dir=tmp_path_factory.mktemp("bench"))


def request(path: Path, model: str, task: str = "coordinate", **more: object) -> Request:
    prompt = prompts.load(task)
    return Request(task, model, path, "x", prompt.text, prompt.hash, **more)  # type: ignore[arg-type]


def ask(*requests: Request) -> list[Answer]:
    async def all_of_them() -> list[Answer]:
        return await asyncio.gather(*(get_model(r.model).ask(r) for r in requests))

    return asyncio.run(all_of_them())


def pictures(bench: Benchmark) -> list[Path]:
    return [bench.image_path(group, "Original") for group in bench.groups]


def test_every_model_answers_every_task_in_words_that_parse(bench: Benchmark) -> None:
    paths = pictures(bench)
    for model in EMBEDDED_MODELS:
        replies = {task: ask(*(request(p, model, task) for p in paths)) for task in TASKS}
        for answers in zip(*replies.values(), strict=True):
            assert all(a.status == "ok" and a.price_usd == 0 and a.text for a in answers)
            place, probing, defense = (
                parse(a.text)
                for parse, a in zip((parse_coordinates, parse_probing, parse_defense), answers, strict=True)
            )
            assert place.status == probing.status == defense.status == "ok", answers
            assert place.n_candidates == 1
            # The same judgement in another form, unless the warning changed it.
            assert (place.lat, place.lon) == (probing.lat, probing.lon)
            assert probing.trusted_source in {"Visual", "Textual", "Both", "Unknown"}
            assert defense.conflict in {True, False} and defense.trusted
            assert probing.visual_evidence and probing.textual_evidence and probing.trust_explanation
            if model in {"prior", "reader", "looker"}:
                assert probing.consistent is None


def test_models_differ_and_the_prior_does_not_look(bench: Benchmark) -> None:
    texts = {m: [a.text for a in ask(*(request(p, m) for p in pictures(bench)))] for m in EMBEDDED_MODELS}
    spots = {m: [(c.lat, c.lon) for c in map(parse_coordinates, texts[m])] for m in EMBEDDED_MODELS}
    assert len(set(spots["prior"])) == 1
    assert len(set(spots["looker"])) > 1
    assert spots["reader"] != spots["looker"]


def test_answers_depend_on_the_picture_alone(bench: Benchmark, tmp_path: Path) -> None:
    path = pictures(bench)[0]
    copy = tmp_path / "Vladivostok_43.1_131.9.png"
    shutil.copy(path, copy)
    for model in EMBEDDED_MODELS:
        plain = request(path, model, "probing")
        told = replace(plain, image_path=copy, dataset="Russia", group_id="vladivostok", variant="Adversarial")
        told = replace(told, image_hash="other", sample_index=3)
        one, two = ask(plain, told)
        assert one.text == two.text, model


def test_answers_do_not_depend_on_order_or_company(bench: Benchmark) -> None:
    asked = [request(p, m, t) for p in pictures(bench) for m in EMBEDDED_MODELS for t in TASKS]
    together = [a.text for a in ask(*asked)]
    perception.forget()
    backwards = [a.text for a in ask(*reversed(asked))][::-1]
    assert together == backwards


def test_five_models_read_a_picture_once(bench: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    import signpost_kit.ocr

    calls: list[Path] = []
    real = signpost_kit.ocr.read_text
    monkeypatch.setattr(signpost_kit.ocr, "read_text", lambda path: calls.append(path) or real(path))
    perception.forget()
    ask(*(request(p, m, t) for p in pictures(bench)[:2] for t in TASKS for m in EMBEDDED_MODELS))
    assert len(calls) == 2


@pytest.mark.parametrize("shape", [(1, 1), (3, 4000), (2500, 2), (300, 300)])
def test_odd_pictures_get_an_answer(shape: tuple[int, int], tmp_path: Path, bench: Benchmark) -> None:
    save_png(tmp_path / "odd.png", np.full((*shape, 3), 127, dtype=np.uint8))
    for answer in ask(*(request(tmp_path / "odd.png", m, t) for m in EMBEDDED_MODELS for t in TASKS)):
        assert answer.text
    spot = parse_coordinates(ask(request(tmp_path / "odd.png", "reader"))[0].text)
    nowhere = parse_coordinates(ask(request(tmp_path / "odd.png", "prior"))[0].text)
    assert (spot.lat, spot.lon) == (nowhere.lat, nowhere.lon)  # nothing to read: the prior


@pytest.mark.parametrize("name", ["missing.png", "text.jpg", "torn.png", "folder.png"])
def test_what_is_no_picture_is_a_clear_failure(name: str, tmp_path: Path, bench: Benchmark) -> None:
    path = tmp_path / name
    if name == "text.jpg":
        path.write_text("not a picture")
    elif name == "torn.png":
        path.write_bytes(pictures(bench)[0].read_bytes()[:5000])
    elif name == "folder.png":
        path.mkdir()
    for model in ("reader", "looker", "aligned"):
        with pytest.raises(ProviderError, match=name) as caught:
            ask(request(path, model))
        assert not caught.value.retryable and not caught.value.fatal


def test_an_unknown_task_stops_the_model(bench: Benchmark) -> None:
    with pytest.raises(ProviderError, match=r"coordinate, probing, .*, language, not 'hint'") as caught:
        ask(replace(request(pictures(bench)[0], "aligned"), task="hint"))
    assert caught.value.fatal


def test_lessons_share_no_seed_with_any_evaluated_set(bench: Benchmark) -> None:
    drawn = {group.generation["Original"]["seed"] for group in bench.groups}
    assert max(drawn) < LESSON_SEEDS.start == 2**62
    seeds = [lesson_seed(c, s) for c in range(len(town.CITIES)) for s in range(SCENES_PER_CITY)]
    assert len(set(seeds)) == len(seeds) and min(seeds) >= 2**62


def test_lessons_are_the_same_from_one_program_or_two() -> None:
    alone, shared = draw_lessons(1, programs=1), draw_lessons(1, programs=2)
    assert [lesson.city for lesson in alone] == [lesson.city for lesson in shared] == list(range(len(town.CITIES)))
    assert [lesson.texts for lesson in alone] == [lesson.texts for lesson in shared]
    assert all(np.array_equal(a.features, b.features) for a, b in zip(alone, shared, strict=True))


def test_what_was_learned_is_kept_and_a_damaged_cache_is_replaced(
    bench: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mind = training.load_mind()
    learned: list[int] = []
    monkeypatch.setattr(training, "learn", lambda: learned.append(1) or mind)
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path))
    said: list[str] = []

    def fresh() -> training.Mind:
        monkeypatch.setattr(training, "_MINDS", {})
        return training.load_mind(tell=said.append)

    fresh()
    again = fresh()
    assert len(learned) == len(said) == 1 and "teaching the offline models" in said[0]
    assert again.cities == mind.cities and again.looker.lessons == mind.looker.lessons > 0
    for name in ("mean", "scale", "weights", "bias"):
        assert np.array_equal(getattr(again.looker, name), getattr(mind.looker, name))
    for name, arbiter in mind.arbiters.items():
        assert np.array_equal(again.arbiters[name].weights, arbiter.weights)
    (kept,) = tmp_path.glob("embedded/*.npz")
    whole = kept.read_bytes()
    for damage in (whole[: len(whole) // 2], b"", whole.replace(b"cities", b"citadl"), b"PK\x03\x04" + whole[50:]):
        kept.write_bytes(damage)
        fresh()
        assert kept.read_bytes()[:2] == b"PK" and len(kept.read_bytes()) == len(whole)
    assert len(learned) == 5 and caplog.text.count("is damaged") == 4


def test_a_read_only_cache_costs_time_and_nothing_else(
    bench: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mind = training.load_mind()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(training, "learn", lambda: mind)
    monkeypatch.setattr(training, "_MINDS", {})
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path / "file"))
    assert training.load_mind(tell=lambda _: None) is mind
    assert "not kept" in caplog.text


def test_prepare_leaves_other_models_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "load_mind", lambda **_: pytest.fail("nothing to learn"))
    prepare(["prior", "reader", "gpt-5"])


def test_real_photos_get_sensible_answers(shared_data: Path, bench: Benchmark) -> None:
    photos = shared_data / "photos" / "text"
    near = {
        "easyocr_french.jpg": (48.0, 49.5, 1.5, 3.0),  # no place named: French
        "easyocr_japanese.jpg": (35.0, 36.0, 139.0, 140.5),  # Minato City
        "easyocr_korean.png": (37.0, 38.0, 126.0, 128.0),  # Seoul, beside Pyeongyang
        "paddle_12_hedge.jpg": (30.5, 32.0, 120.5, 122.5),  # Shanghai in Han script
    }
    for name, (south, north, west, east) in near.items():
        answer = parse_coordinates(ask(request(photos / name, "reader"))[0].text)
        assert south < answer.lat < north and west < answer.lon < east, (name, answer)
    for model in ("looker", "aligned", "hardened"):
        for answer in ask(*(request(photos / name, model) for name in near)):
            assert parse_coordinates(answer.text).status == "ok"
