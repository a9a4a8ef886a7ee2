"""Writing a teaching set: many scenes, their pictures and their truth, as a benchmark's folder."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, radians, sin, sqrt
from operator import index as as_index
from pathlib import Path

import numpy as np

from signpost_kit.benchmark.groups import Benchmark, Group
from signpost_kit.benchmark.town.atlas import City, city_named
from signpost_kit.benchmark.town.atlas import cities as all_cities
from signpost_kit.benchmark.town.dice import stream
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import cache_dir, hash_bytes, write_bytes

__all__ = ["DATASETS", "build"]

DATASETS = {"street": "TownStreet", "snap": "TownSnap"}
"""Framing -> dataset: scores are averaged over the two, as over the study's sources."""

_JITTER_KM = 4.0
_KM_PER_DEGREE = 111.195  # 2 pi 6371 / 360


def build(
    n: int,
    seed: int,
    *,
    out_dir: Path | str | None = None,
    cities: Sequence[str | City] | None = None,
    size: tuple[int, int] = (768, 512),
) -> Benchmark:
    """Draw `n` scenes and write them as a benchmark's folder.

    Scene i depends on `seed`, i, `cities` and `size` only: a smaller set is the beginning of a larger one. Cities
    are dealt in rounds, each city once per round; even scenes are of the dataset TownStreet, odd ones of TownSnap.

    Parameters
    ----------
    n : number of scenes, at least 1; may exceed the number of cities
    seed : any integer
    out_dir : folder to write into (made if missing); None for one in the user's cache, named by content
    cities : names of the cities to use; None for all
    size : width and height in pixels

    Returns
    -------
    Benchmark
        Already written: `images/Original/<group_id>.png`, `groups.jsonl`, `benchmark.json`. Tiers are empty: the
        taxonomy fills them. Positions are the city's centre moved by at most 4 km.

    Raises
    ------
    DataError
        `n` is smaller than 1 or no whole number.
    ConfigError
        Unknown or no cities, or an impossible size.
    StorageError
        The folder cannot be written.
    """
    count, number = _whole("n", n), _whole("seed", seed)
    if count < 1:
        raise DataError(f"a teaching set of n = {count} scenes holds nothing; give n of at least 1")
    chosen = all_cities() if cities is None else tuple(dict.fromkeys(city_named(city) for city in cities))
    if not chosen:
        raise ConfigError("the list of cities is empty; name at least one, or leave it out for all")
    root = Path(out_dir) if out_dir is not None else _default_root(count, number, chosen, size)
    bench = Benchmark(name="town", groups=(), root=root)
    groups = [_write_scene(bench, chosen, number, index, size) for index in range(count)]
    bench = bench.with_groups(groups)
    bench.write()
    return bench


def _whole(name: str, value: int) -> int:
    try:
        return as_index(value)
    except TypeError as error:
        raise DataError(f"{name} = {value!r} is no whole number") from error


def _default_root(count: int, seed: int, chosen: tuple[City, ...], size: tuple[int, int]) -> Path:
    key = hash_bytes(repr((count, seed, [city.name for city in chosen], tuple(size))).encode())
    return cache_dir("town") / key


def _write_scene(bench: Benchmark, chosen: tuple[City, ...], seed: int, index: int, size: tuple[int, int]) -> Group:
    import cv2

    from signpost_kit.benchmark.town.scene import draw_scene

    city = _deal(chosen, seed, index)
    framing = "street" if index % 2 == 0 else "snap"
    rng = stream(seed, "scene", str(index))
    scene_seed = int(rng.integers(1 << 62))
    picture, spans = draw_scene(city, scene_seed, size=size, framing=framing)
    lat, lon = _jitter(city, rng)
    group_id = f"town-{index:05d}"
    group = Group(
        group_id=group_id,
        dataset=DATASETS[framing],
        lat=lat,
        lon=lon,
        source_id=f"{seed}-{index}",
        city=city.name,
        country=city.country,
        spans=spans,
        generation={"Original": {"editor": "town", "seed": scene_seed, "framing": framing, "size": list(size)}},
    )
    name = bench.image_name(group, "Original")
    # OpenCV's own PNG settings are twice as quick as zlib's; there are no text chunks that could tell a place.
    done, packed = cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))
    if not done:
        raise DataError(f"scene {index} cannot be encoded as PNG at size {size!r}")
    write_bytes(bench.root / name, packed.tobytes())
    group.images["Original"] = name
    return group


def _deal(chosen: tuple[City, ...], seed: int, index: int) -> City:
    """The city of scene `index`: rounds of shuffled cities."""
    turn, place = divmod(index, len(chosen))
    order = stream(seed, "deal", str(turn)).permutation(len(chosen))
    return chosen[int(order[place])]


def _jitter(city: City, rng: np.random.Generator) -> tuple[float, float]:
    """A position within 4 km of the city's centre, uniform over the disc."""
    reach, turn = _JITTER_KM * sqrt(float(rng.random())), 2 * pi * float(rng.random())
    lat = city.lat + reach * sin(turn) / _KM_PER_DEGREE
    lon = city.lon + reach * cos(turn) / (_KM_PER_DEGREE * cos(radians(city.lat)))
    return round(lat, 6), round(lon, 6)
