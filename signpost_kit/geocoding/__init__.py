"""Place names to positions, behind one interface: the offline gazetteer now, servers later."""

from __future__ import annotations

from signpost_kit.geocoding.base import Geocoder, Place
from signpost_kit.geocoding.gazetteer import Gazetteer, continent_of, default_gazetteer, get_geocoder

__all__ = ["Gazetteer", "Geocoder", "Place", "continent_of", "default_gazetteer", "get_geocoder"]
