"""The draw of scenes for further tasks: by lot, the same everywhere, whatever else is in the benchmark."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from signpost_kit.benchmark import Group
from signpost_kit.errors import ConfigError
from signpost_kit.evaluation.sampling import draw_groups, lot


def scenes(n: int, dataset: str = "streets", start: int = 0) -> list[Group]:
    return [Group(f"{dataset}-{i}", dataset, 0.0, 0.0) for i in range(start, start + n)]


def test_the_draw_is_the_same_on_every_machine():
    # sha256("42\nstreets-0"), first 32 digits: printf '42\nstreets-0' | sha256sum
    assert lot("streets-0", 42) == "a3ac510c94a791ed500bd46e30cce7d3"
    drawn = draw_groups(scenes(40), per_dataset=4, seed=42)
    assert drawn == ("streets-15", "streets-24", "streets-25", "streets-28")
    assert drawn != draw_groups(scenes(40), per_dataset=4, seed=43)


def test_the_draw_knows_no_order_and_no_neighbours():
    streets, snaps = scenes(60), scenes(30, "snaps")
    drawn = draw_groups([*streets, *snaps], per_dataset=10, seed=1)
    assert Counter(name.split("-")[0] for name in drawn) == {"streets": 10, "snaps": 10}
    shuffled = [*snaps[::-1], *streets[::-1]]
    assert set(draw_groups(shuffled, per_dataset=10, seed=1)) == set(drawn)
    assert draw_groups(shuffled, per_dataset=10, seed=1)[0].startswith("snaps")  # in the order given
    assert set(draw_groups(snaps, per_dataset=10, seed=1)) == {name for name in drawn if name.startswith("snaps")}


def test_a_larger_draw_keeps_the_smaller_one():
    draws = [set(draw_groups(scenes(100), per_dataset=n, seed=5)) for n in (10, 25, 99, 200)]
    assert [len(draw) for draw in draws] == [10, 25, 99, 100]
    assert all(small < large for small, large in itertools.pairwise(draws))
    assert set(draw_groups(scenes(100), per_dataset=None, seed=5)) == draws[-1]


def test_in_a_larger_benchmark_no_scene_that_lost_is_drawn():
    old, new = (set(draw_groups(scenes(n), per_dataset=20, seed=5)) for n in (100, 150))
    old_scenes = {group.group_id for group in scenes(100)}
    assert len(new) == 20 and new & old_scenes <= old
    assert 5 <= len(new & old) < 20  # two thirds are expected to stay


def test_only_scenes_with_a_picture_to_ask_about_take_part():
    bare, whole = Group("a", "d", 0, 0), Group("b", "d", 0, 0, images={"Blank": "b.png"})
    assert draw_groups([bare, whole], per_dataset=2, seed=0, variants=["Blank", "Random"]) == ("b",)
    assert draw_groups([bare, whole], per_dataset=None, seed=0, variants=["Random"]) == ()
    assert draw_groups([], per_dataset=3, seed=0) == ()
    with pytest.raises(ConfigError, match="per_dataset is 0"):
        draw_groups([whole], per_dataset=0, seed=0)


def test_every_scene_is_as_likely_as_any_other():
    counts = Counter(name for seed in range(400) for name in draw_groups(scenes(20), per_dataset=5, seed=seed))
    # 400 draws of 5 out of 20: 100 each, standard deviation 8.7
    assert len(counts) == 20 and all(65 < n < 135 for n in counts.values())
