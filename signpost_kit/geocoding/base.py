"""What a geocoder is: text in, places out, best first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Geocoder", "Place"]


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
    """`city`, or `country` (then the position is its capital's)."""
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
