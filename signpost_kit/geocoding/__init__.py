"""Place names to positions, behind one interface: the offline gazetteer, Nominatim and Wikidata, and kept answers.

`open_finder(profile.targets)` gives the geocoder that a profile means; its answers are kept in one file format
(:mod:`signpost_kit.geocoding.cache`), and servers are asked at one pace by all processes together.
"""

from __future__ import annotations

from signpost_kit.geocoding.base import Geocoder, GeocodingStopped, LookupFailed, Place
from signpost_kit.geocoding.gazetteer import Gazetteer, continent_of, default_gazetteer, get_geocoder

__all__ = [
    "Gazetteer",
    "Geocoder",
    "GeocodingStopped",
    "LookupFailed",
    "Place",
    "continent_of",
    "default_gazetteer",
    "get_geocoder",
]
