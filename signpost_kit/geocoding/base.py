"""What a geocoder is: text in, places out, best first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from signpost_kit.errors import ConfigError, DataError

__all__ = ["Geocoder", "GeocodingStopped", "LookupFailed", "NotKept", "NothingToAsk", "Place"]


class LookupFailed(DataError):
    """One text could not be looked up. That says nothing about the text: it is never kept as an answer."""


class NotKept(LookupFailed):
    """The text is not in the kept answers that are to be used alone."""


class NothingToAsk(LookupFailed):
    """The text holds nothing that could be looked up, or the server does not take it; asking again is no help."""


class GeocodingStopped(ConfigError):
    """Nothing more can be asked: blocked, told to wait for long, or out of reach. What was answered is kept."""


@dataclass(frozen=True)
class Place:
    """One candidate."""

    lat: float
    """Degrees north."""
    lon: float
    """Degrees east."""
    name: str
    """The source's main name."""
    country: str = ""
    """ISO 3166-1 alpha-2."""
    population: int = 0
    kind: str = "city"
    """`city`, or `country` (then the position is its capital's); from OpenStreetMap the class and type
    (`place/city`, `highway/residential`); from Wikidata the ids of what it is an instance of (`Q515 Q5119`)."""
    continent: str = ""
    """AF AS EU NA OC SA AN, or empty when the country is unknown."""
    query: str = ""
    """The part of the text that named it, in normal form."""
    exact: bool = True
    """False when one letter had to be forgiven."""
    ambiguous: bool = False
    """True when another place of that name, far away, is of similar size."""
    whole: bool = True
    """True when the whole text is the name, False when it is a part of it."""
    display: str = ""
    """The name with what it lies in, as the source writes it (`Lima, Lima Metropolitana, Peru`); may be empty."""
    source_id: str = ""
    """The source's own id: `relation/1944756` (OpenStreetMap), `Q2868` (Wikidata)."""
    level: str = ""
    """What part of an address it is, where the source says so: `city`, `suburb`, `road`."""
    importance: float | None = None
    """Nominatim's rank of prominence, 0..1."""
    sitelinks: int | None = None
    """Wikidata: how many wikis have an article on it."""
    language: str = ""
    """Of `name` and `display`, where one was asked for."""


class Geocoder(Protocol):
    """Finds places by name."""

    name: str
    """Short name, kept with every result."""

    def search(self, text: str) -> list[Place]:
        """Candidates, best first; empty when nothing is found."""
        ...

    def locate(self, text: str) -> Place | None:
        """The first of :meth:`search`, or None."""
        ...
