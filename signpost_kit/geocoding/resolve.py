"""Where an answer in words lies: the building, else the area, else the city, each looked up near the city it names.

The rules are those of the second study (sections 4.2 and 4.3): an ambiguous name is settled by the city that the
model itself answered, never by the truth; a name that is not found near that city fails at its level and is never
looked for elsewhere; a street is no place; a lookup that fails is an error, not a coarser answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from signpost_kit.geo import haversine_km
from signpost_kit.geocoding.base import LookupFailed, NothingToAsk, Place
from signpost_kit.parsing.hints import names_nothing

__all__ = ["ANCHOR_KM", "Resolved", "is_linear", "label_variants", "resolve"]

ANCHOR_KM = 60.0
"""How near to the answered city a place must lie."""

Lookup = Callable[[str], Sequence[Place]]
"""Text -> candidates; raises LookupFailed when it could not be looked up."""

_SUFFIX_EN = re.compile(
    r"\b(?:street|st|road|rd|avenue|ave|av|lane|ln|boulevard|blvd|drive|dr|highway|hwy|alley|parade|terrace|way|walk"
    r"|row|expressway|motorway|freeway)\b\.?(?:\s+(?:north|south|east|west|[nsew]{1,2}))?\.?$",
    re.IGNORECASE,
)
# Dōri is always a street; without a hyphen, -zaka and -bashi have become names of quarters (Nihonbashi, Akasaka).
_SUFFIX_JA = re.compile(
    r"(?:通り|通|坂|街道|大路|小路|橋|[-‐‑–\s]?d[oō]ri|[-‐‑–\s](?:zaka|bashi|kaid[oō]))$", re.IGNORECASE
)
_PREFIX = re.compile(
    r"^(?:rue|boulevard|bd|avenue|av|quai|chemin|all[ée]e|cours|impasse|passage"  # French
    r"|via|viale|corso|vicolo|lungo\w+|strada"  # Italian
    r"|calle|carrer|avenida|avinguda|paseo|passeig|rambla|camino|ronda|c/)(?:\b|\s)",  # Spanish, Catalan
    re.IGNORECASE,
)
_GERMAN = re.compile(
    r"(?:^(?:stra(?:ß|ss)e|allee|weg|gasse)\b|(?:stra(?:ß|ss)e|allee|gasse|weg|damm|ufer)$)", re.IGNORECASE
)
_BRACKETED = re.compile(r"[(\[（【]([^()\[\]（）【】]*)[)\]）】]")
_SEGMENTS = re.compile(r"\s*(?:[,/;|、，；]|\s[-–—]\s)\s*")


@dataclass(frozen=True)
class Resolved:
    """Where an answer lies."""

    level: str
    """place, area, city; empty when nothing could be resolved."""
    label: str = ""
    """The variant of the label that was found."""
    lat: float = math.nan
    lon: float = math.nan
    status: str = "ok"
    """ok, unresolved (nothing was found), error (a lookup failed)."""
    reason: str = ""


def is_linear(label: str) -> bool:
    """Whether a label is a street, a slope or a bridge, which has no one position.

    >>> [is_linear(t) for t in ("Rue de Rivoli", "Meiji-dōri", "Via Appia", "Shibuya", "Viaduct Bar")]
    [True, True, True, False, False]
    """
    text = _BRACKETED.sub(" ", label)
    text = " ".join(_SEGMENTS.split(text.strip())[0].split()) if text.strip() else ""
    if not text:
        return False
    return bool(_SUFFIX_EN.search(text) or _SUFFIX_JA.search(text) or _PREFIX.match(text) or _GERMAN.search(text))


def label_variants(label: str) -> tuple[str, ...]:
    """What a label may be looked up as, most specific first: as given, without brackets, its first segment, what
    stands in brackets, its last segment. Each once.

    >>> label_variants("Café Kranzler (Ku'damm Eck), Berlin")
    ("Café Kranzler (Ku'damm Eck), Berlin", 'Café Kranzler, Berlin', 'Café Kranzler', "Ku'damm Eck", 'Berlin')
    """
    given = " ".join(label.split())
    bare = re.sub(r"\s+([,;])", r"\1", " ".join(_BRACKETED.sub(" ", given).split()))
    segments = [part for part in _SEGMENTS.split(bare) if part]
    inside = [" ".join(part.split()) for part in _BRACKETED.findall(given)]
    found = [given, bare, *segments[:1], *inside, *segments[-1:]]
    return tuple(dict.fromkeys(text.strip() for text in found if not names_nothing(text.strip())))


def resolve(
    city: str | None, area: str | None, place: str | None, lookup: Lookup, *, anchor_km: float = ANCHOR_KM
) -> Resolved:
    """Resolve the building, then the area, then the city.

    Parameters
    ----------
    city, area, place
        As answered; None and "unknown" name nothing.
    lookup
        Candidates for a text, e.g. a geocoder's `search`. Of those near the anchor the one with most sitelinks is
        taken, then the most populous, then the first.
    anchor_km
        The anchor is the best candidate for the answered city. Without one, building and area fail.

    Returns
    -------
    Resolved
        status "error" as soon as a lookup fails: what a coarser level would say is not known to be the answer.
    """
    try:
        anchor = _best(_search(city or "", lookup))
        if anchor is None:
            return Resolved("", status="unresolved", reason=_without_anchor(city))
        for level, label in (("place", place), ("area", area)):
            if names_nothing(label) or (level == "place" and is_linear(label or "")):
                continue
            for variant in label_variants(label or ""):
                near = [c for c in _ask(variant, lookup) if _km(c, anchor) <= anchor_km]
                if found := _best(near):
                    return Resolved(level, variant, found.lat, found.lon)
    except LookupFailed as error:
        return Resolved("", status="error", reason=str(error))
    return Resolved("city", city or "", anchor.lat, anchor.lon)


def _without_anchor(city: str | None) -> str:
    if names_nothing(city):
        return "the answer names no city to look the rest up in"
    return f"no city {city!r} is found to look the rest up in"


def _search(label: str, lookup: Lookup) -> list[Place]:
    """Candidates of the first variant that has any."""
    if names_nothing(label):
        return []
    for variant in label_variants(label):
        if found := _ask(variant, lookup):
            return found
    return []


def _ask(text: str, lookup: Lookup) -> list[Place]:
    try:
        return list(lookup(text))
    except NothingToAsk:
        return []  # punctuation, or far too long for a name


def _best(candidates: Sequence[Place]) -> Place | None:
    return max(candidates, key=lambda c: (c.sitelinks or 0, c.population), default=None)


def _km(first: Place, second: Place) -> float:
    return float(haversine_km(first.lat, first.lon, second.lat, second.lon))
