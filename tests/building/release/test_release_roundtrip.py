"""What is written in the release's layout is read back as it was, whatever ids and texts hold."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signpost_kit.benchmark import Benchmark, Group, Span, Trap
from signpost_kit.benchmark.release_write import write_release
from signpost_kit.benchmark.released import read_release
from signpost_kit.files import write_bytes
from signpost_kit.frames import EDITED_VARIANTS, TIERS, VARIANTS

TEXT = st.text(max_size=12)
IDS = st.text(min_size=1, max_size=14) | st.sampled_from(
    [
        "a/b",
        "a_b",
        "../up",
        "/etc/x",
        "x.jpg",
        "x",
        "a\tb",
        "4193@N01",
        "街/1",
        "a_similar_b",
        "-1",
        ".hid",
        "A",
        "a",
    ]
)
NUMBER = st.floats(-1e4, 1e4, allow_nan=False)
LAT, LON = st.floats(-90, 90).filter(bool), st.floats(-180, 180)
SPANS = st.builds(
    Span,
    text=TEXT,
    polygon=st.lists(st.tuples(NUMBER, NUMBER), max_size=4).map(tuple),
    location=TEXT,
    replacements=st.dictionaries(st.sampled_from(["similar", "random", "adversarial"]), TEXT),
    tier=st.sampled_from(["", *TIERS]),
    tier_reason=TEXT,
    confidence=st.none() | st.floats(0, 1),
)
TRAPS = st.none() | st.builds(
    Trap, lat=LAT, lon=LON, name=TEXT, query=TEXT, geocoder=st.sampled_from(["", "nominatim"])
)
MADE = st.fixed_dictionaries(
    {"editor": st.sampled_from(["paint", "released"])},
    optional={"prompt": TEXT, "seed": st.integers(0, 2**60) | st.none(), "checks": st.lists(TEXT, max_size=2)},
)
GROUPS = st.builds(
    Group,
    group_id=IDS,
    dataset=st.sampled_from(["im2gps3k", "google/sv", "..", "百度"]),
    lat=LAT,
    lon=LON,
    source_id=TEXT,
    city=TEXT,
    admin=TEXT,
    country=st.sampled_from(["", "FR"]),
    spans=st.lists(SPANS, max_size=3).map(tuple),
    tier=st.sampled_from(["", *TIERS]),
    tier_reason=TEXT,
    trap=TRAPS,
    generation=st.dictionaries(st.sampled_from(VARIANTS), MADE),
)


def by_id(groups):
    return {group.group_id: replace(group, images={}) for group in groups}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(GROUPS, max_size=5, unique_by=lambda g: g.group_id))
def test_metadata_alone_comes_back(groups):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_release(Benchmark("b", tuple(groups), root / "none"), root / "out", pictures=False)
        if not groups:
            return
        first = read_release(root / "out", pictures=False)
        assert by_id(first.groups) == by_id(groups)
        assert (first.rejected, first.problems, first.n_repeated) == ((), (), 0)
        write_release(first.benchmark, root / "again", pictures=False, geocode_cache=first.geocode_cache)
        second = read_release(root / "again", pictures=False)
        assert second.groups == first.groups and second.geocode_cache == first.geocode_cache
        assert tree(root / "out") == tree(root / "again")
        assert sorted(p.name for p in root.iterdir()) == ["again", "out"]  # nothing went elsewhere


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(GROUPS, min_size=1, max_size=3, unique_by=lambda g: g.group_id),
    st.sets(st.sampled_from(EDITED_VARIANTS)),
    st.sampled_from([".png", ".jpg"]),
)
def test_pictures_come_back(groups, gone, suffix):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        source = Benchmark("b", (), root / "run")
        made = []
        for group in groups:
            names = {v: source.image_name(group, v, suffix if v == "Original" else ".png") for v in VARIANTS}
            images = {v: path for v, path in names.items() if v not in gone}
            for path in images.values():
                write_bytes(root / "run" / path, path.encode())
            made.append(replace(group, images=images))
        written = write_release(source.with_groups(made), root / "out")
        assert written.missing == {v: len(groups) for v in VARIANTS if v in gone}
        first = read_release(root / "out")
        assert by_id(first.groups) == by_id(groups)
        for group, there in zip(sorted(made, key=_id), sorted(first.groups, key=_id), strict=True):
            assert set(there.images) == set(VARIANTS) - gone
            for variant, path in there.images.items():
                assert (root / "out" / path).read_bytes() == group.images[variant].encode()
        write_release(first.benchmark, root / "again")
        assert read_release(root / "again").groups == first.groups
        assert tree(root / "out") == tree(root / "again")


def _id(group):
    return group.group_id


def tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
