"""The teaching set: a drawn world of real cities, in which the truth is known.

`build` writes scenes as a benchmark; `draw_scene` draws one in memory. Every city has visible habits (side of
traffic, road lines, plates, kerbs, houses, plants, light, furniture, signs); it shares them in part with others.

>>> from signpost_kit.benchmark import town
>>> town.city_named("lyon").country
'FR'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from signpost_kit.benchmark.town.atlas import CONTINENTS, City, cities, city_named, nearest_city
from signpost_kit.benchmark.town.build import DATASETS, build

if TYPE_CHECKING:
    from signpost_kit.benchmark.town.scene import draw_scene

    CITIES: tuple[City, ...]

__all__ = [
    "CITIES",
    "CONTINENTS",
    "DATASETS",
    "City",
    "build",
    "cities",
    "city_named",
    "draw_scene",
    "nearest_city",
]


def __getattr__(name: str) -> Any:
    """`CITIES` and `draw_scene` on first use: importing the package reads no file and no OpenCV."""
    if name == "CITIES":
        return cities()
    if name == "draw_scene":
        from signpost_kit.benchmark.town.scene import draw_scene

        return draw_scene
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
