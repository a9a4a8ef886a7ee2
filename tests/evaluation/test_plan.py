"""The plan: all models about the same pictures, each hashed once, what is missing listed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.evaluation import make_plan
from signpost_kit.evaluation import plan as plan_module
from signpost_kit.files import hash_file
from signpost_kit.frames import VARIANTS
from signpost_kit.models.base import Decoding
from signpost_kit.prompts import load

WORDS = load("coordinate")


def test_every_model_gets_the_same_pictures_scene_by_scene(toy, monkeypatch):
    hashed = []
    monkeypatch.setattr(plan_module, "hash_file", lambda path: hashed.append(path) or hash_file(path))
    benchmark = toy(3)
    made = make_plan(benchmark, ["a", "b"], prompt=WORDS, samples=2, decoding=Decoding(0.7, 50))
    assert len(made) == 3 * 5 * 2 * 2 and made.missing == ()
    assert len(hashed) == len(set(hashed)) == 15
    places = [(r.group_id, r.variant) for r in made]
    assert places == sorted(places, key=lambda p: (p[0], VARIANTS.index(p[1])))
    assert [(r.model, r.sample_index) for r in made][:4] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    first = made.requests[0]
    assert first.image_hash == hash_file(first.image_path)
    assert (first.prompt, first.prompt_hash, first.decoding) == (WORDS.text, WORDS.hash, Decoding(0.7, 50))
    assert (first.dataset, first.group_id) == ("north", "g000")
    assert len({r.key for r in made}) == len(made)


def test_missing_pictures_are_listed_with_the_reason(toy):
    benchmark = toy(3)
    benchmark.image_path(benchmark.groups[1], "Blank").unlink()
    left = {v: p for v, p in benchmark.groups[2].images.items() if v != "Random"}
    outside = benchmark.groups[0].images | {"Similar": "../../etc/passwd"}
    groups = [replace(benchmark.groups[0], images=outside), benchmark.groups[1]]
    made = make_plan(
        benchmark.with_groups([*groups, replace(benchmark.groups[2], images=left)]), ["a", "b"], prompt=WORDS
    )
    assert [(m.group_id, m.variant) for m in made.missing] == [
        ("g000", "Similar"),
        ("g001", "Blank"),
        ("g002", "Random"),
    ]
    assert "points outside" in made.missing[0].reason
    assert made.missing[1].reason == "the file images/Blank/g001.png is gone"
    assert made.missing[2].reason == "no Random picture was made"
    assert len(made) == (15 - 3) * 2


def test_only_some_groups_and_variants(toy):
    made = make_plan(toy(4), ["a"], prompt=WORDS, variants=["Blank"], groups={"g002"})
    assert [(r.group_id, r.variant) for r in made] == [("g002", "Blank")]


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ([], {}, "at least one name"),
        ("reader", {}, "must be a list"),
        (["a", "a"], {}, "model 'a' is named twice"),
        (["a"], {"variants": ["blank"]}, "unknown variant 'blank'; allowed: Original, Blank"),
        (["a"], {"variants": []}, "no variant named; allowed: Original"),
        (["a"], {"samples": 0}, "samples is 0"),
        (["a"], {"groups": ["g9"]}, "has no group 'g9'"),
    ],
)
def test_wrong_options_are_named(toy, models, options, message):
    with pytest.raises(ConfigError, match=message):
        make_plan(toy(1), models, prompt=WORDS, **options)


def test_nothing_to_ask_about_is_an_error(toy):
    benchmark = toy(1)
    with pytest.raises(DataError, match="has no picture to ask about .it has no group"):
        make_plan(benchmark.with_groups([]), ["a"], prompt=WORDS)
    for path in benchmark.root.rglob("*.png"):
        path.unlink()
    with pytest.raises(DataError, match=r"g000: the file images/Original/g000\.png is gone"):
        make_plan(benchmark, ["a"], prompt=WORDS)
