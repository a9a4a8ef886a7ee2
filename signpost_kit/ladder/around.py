"""Entities of Wikidata around a point, from its query service: ids, labels, positions, kinds, number of sitelinks.

A dense city holds more than one answer may: a disc whose answer is full, or takes the service too long, is covered
by seven discs of half the radius, and so on. Every disc's answer is kept in the cache that all runs share; requests
keep the pace that all processes of this user keep together. Source: the SPARQL protocol, and `wikibase:around` of
the Wikidata query service.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import cache_dir, hash_bytes
from signpost_kit.geocoding.base import LookupFailed
from signpost_kit.geocoding.cache import GeocodeCache, Settings
from signpost_kit.geocoding.lookups import AskingFinder, Patience
from signpost_kit.geocoding.pace import pace_for
from signpost_kit.geocoding.servers import (
    Refused,
    Reply,
    Transient,
    http_failure,
    number,
    server_address,
    user_agent,
)

__all__ = ["SERVICE_URL", "Around", "AroundSource", "Entity"]

SERVICE_URL = "https://query.wikidata.org/sparql"
ROWS = 15_000
"""Rows asked for at once; an entity takes one for each of its kinds."""
_SMALLEST_KM = 0.1
_FULL = b"null"  # kept as the answer about a disc that holds more
_QID = re.compile(r"Q[1-9]\d*")
_POINT = re.compile(r"(?:<https?://\S*/(Q\d+)>\s*)?Point\(\s*(\S+)\s+(\S+)\s*\)", re.IGNORECASE)
_EARTH = "Q2"
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*", re.IGNORECASE)
_MAX_BYTES = 64 << 20
_KM_PER_DEGREE = 111.195
_OUR_KEYS = (("targets.contact", "context.ladder.contact"), ("targets.url", "context.ladder.url"))

Send = Callable[[Callable[[], Any]], Any]


class _TooWide(Refused):
    """The disc takes the service too long."""


@dataclass(frozen=True)
class Entity:
    """What the service says of one entity."""

    qid: str
    lat: float
    lon: float
    name_en: str = ""
    name_local: str = ""
    kinds: tuple[str, ...] = ()
    """Ids of what it is an instance of; in a search for kinds, which of these it belongs to."""
    kind: str = ""
    """The English name of the first of its kinds, by alphabet."""
    sitelinks: int = 0


class AroundSource:
    """Asks the query service about one disc; when to ask and what to keep is decided elsewhere.

    Parameters
    ----------
    contact
        E-mail or web address of whoever runs this.
    language
        Of the local labels; empty: English ones only.
    kinds
        Only entities of these classes or their subclasses; empty: all that have a position.
    url
        Another SPARQL service with `wikibase:around`; None: Wikidata's.
    """

    def __init__(
        self,
        *,
        contact: str | None,
        language: str = "",
        kinds: Sequence[str] = (),
        url: str | None = None,
        timeout_s: float = 75.0,
        rows: int = ROWS,
    ) -> None:
        if language and not _LANGUAGE.fullmatch(language):
            raise ConfigError(f"the language {language!r} is no code like 'ja' or 'pt-br'")
        odd = [kind for kind in kinds if not _QID.fullmatch(kind)]
        if odd:
            raise ConfigError(f"the kind {odd[0]!r} is no id of Wikidata (Q and a number)")
        if not (contact or "").strip():
            raise ConfigError(
                "context.ladder.contact is missing: Wikidata wants to know whom to write to when something goes "
                "wrong. Add your e-mail or web address, --set context.ladder.contact=NAME@HOST, or use the local "
                "gazetteer, --set context.ladder.points=local"
            )
        with _own_words():
            self.address = server_address("wikidata", url or SERVICE_URL)
            self.agent = user_agent(contact, "Wikidata")
        self.language = language.lower()
        self.kinds = tuple(sorted(set(kinds)))
        self.timeout_s = timeout_s
        server = "" if self.address.url == SERVICE_URL else self.address.url
        options = f"kinds {hash_bytes(' '.join(self.kinds).encode())[:8]}" if self.kinds else ""
        self.settings = Settings("wikidata-around", self.language, rows, server, options)
        self._client: Any = None

    def ask(self, query: str, request: Send) -> Reply:
        """The entities in a disc, `query` as :func:`_disc` writes it.

        Raises
        ------
        Transient, Refused, GeocodingStopped
            As for the geocoders; _TooWide: ask about smaller discs.
        """
        import httpx

        lat, lon, radius = (float(part) for part in query.split()[:3])
        if self._client is None:
            headers = {"User-Agent": self.agent, "Accept": "application/sparql-results+json"}
            self._client = httpx.Client(timeout=httpx.Timeout(self.timeout_s, connect=15.0), headers=headers)
        params = {"query": self.sparql(lat, lon, radius), "format": "json"}
        try:
            response = request(lambda: self._client.get(self.address.url, params=params))
        except httpx.ReadTimeout as error:
            raise _slow(radius, "no answer in time") from error
        except httpx.TimeoutException as error:
            raise Transient("no connection in time") from error
        except httpx.TransportError as error:
            raise Transient(f"no connection to the server ({type(error).__name__})") from error
        except httpx.HTTPError as error:
            raise Transient(str(error) or type(error).__name__) from error
        if not response.is_success:
            text = response.text[:4000]
            if response.status_code in (500, 504) and ("Timeout" in text or response.status_code == 504):
                raise _slow(radius, f"HTTP {response.status_code}")
            raise http_failure("Wikidata", response.status_code, dict(response.headers), text[:2000])
        rows = _rows(response.content, radius)
        if len(rows) >= self.settings.limit:
            if radius <= _SMALLEST_KM:
                raise Transient(f"more than {self.settings.limit} rows within {radius:g} km")
            return Reply((), _FULL)
        entities = _merged(rows)
        slim = [[e.qid, e.lat, e.lon, e.name_en, e.name_local, e.kinds, e.kind, e.sitelinks] for e in entities]
        return Reply((), json.dumps(slim, ensure_ascii=False, separators=(",", ":")).encode())

    def sparql(self, lat: float, lon: float, radius_km: float) -> str:
        """The question about one disc, in the service's language."""
        named = 'OPTIONAL { ?kind rdfs:label ?what . FILTER(LANG(?what) = "en") }'
        local = f'OPTIONAL {{ ?item rdfs:label ?own . FILTER(LANG(?own) = "{self.language}") }}'
        if self.kinds:
            kinds = "VALUES ?kind { " + " ".join(f"wd:{kind}" for kind in self.kinds) + " }\n  "
            kinds += f"?item wdt:P31/wdt:P279* ?kind . {named}"
        else:
            # The label inside: outside it would match every label there is where the kind is not known.
            kinds = f"OPTIONAL {{ ?item wdt:P31 ?kind . {named} }}"
        return (
            "SELECT DISTINCT ?item ?where ?en ?own ?kind ?what ?links WHERE {\n"
            "  SERVICE wikibase:around {\n"
            "    ?item wdt:P625 ?where .\n"
            f'    bd:serviceParam wikibase:center "Point({lon:.6f} {lat:.6f})"^^geo:wktLiteral .\n'
            f'    bd:serviceParam wikibase:radius "{radius_km:.4f}" .\n'
            "  }\n"
            f"  {kinds}\n"
            "  ?item wikibase:sitelinks ?links .\n"
            '  OPTIONAL { ?item rdfs:label ?en . FILTER(LANG(?en) = "en") }\n'
            f"  {local if self.language and self.language != 'en' else ''}\n"
            f"}} LIMIT {self.settings.limit}"
        )

    def check_pace(self, interval_s: float) -> None:
        """Raise ConfigError if that is too quick for a public service."""
        if self.address.public and interval_s < 1:
            raise ConfigError(
                f"context.ladder.interval_s is {interval_s:g}: {self.address.host} is a public service, set 1 or "
                "more, or use a service of your own (context.ladder.url)"
            )

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None


class Around:
    """Entities around points, each disc asked once; use it in a `with` statement.

    Parameters
    ----------
    source
        Whom to ask.
    interval_s
        Least time between two requests of all processes; below 1 only for a service of your own.
    cache
        The file of kept answers; None: the one that all runs of this user share.

    Raises
    ------
    ConfigError
        Too quick a pace for the public service.
    """

    def __init__(
        self,
        source: AroundSource,
        *,
        interval_s: float = 1.0,
        cache: Path | None = None,
        patience: Patience | None = None,
    ) -> None:
        source.check_pace(interval_s)
        kept = GeocodeCache(cache or cache_dir("geocoding") / "around.sqlite")
        pace = pace_for(source.address.place.split("/", 1)[0], interval_s)
        self._finder = AskingFinder(source, kept, pace, patience=patience)
        self.asked = 0
        """Discs looked up so far, from the cache or anew."""

    def entities(self, lat: float, lon: float, radius_km: float) -> list[Entity]:
        """All entities within `radius_km` of a point (degrees), by qid.

        Raises
        ------
        DataError
            A disc could not be asked about; whatever was answered is kept, so call again.
        GeocodingStopped
            The service refuses, or asks for a long pause.
        """
        from signpost_kit.geo import haversine_km

        if not (-90 <= lat <= 90 and -180 <= lon <= 180 and 0 < radius_km <= 50):
            raise DataError(f"a disc of {radius_km} km around {lat}, {lon}: 0 to 50 km around a point on the globe")
        found: dict[str, Entity] = {}
        for entity in self._disc(lat, lon, radius_km):
            found.setdefault(entity.qid, entity)
        near = [e for e in found.values() if float(haversine_km(lat, lon, e.lat, e.lon)) <= radius_km]
        return sorted(near, key=lambda e: int(e.qid[1:]))

    def _disc(self, lat: float, lon: float, radius: float) -> Iterator[Entity]:
        self.asked += 1
        try:
            with _own_words():
                reply = self._finder.find(_disc(lat, lon, radius)).reply
        except _TooWide:
            reply = _FULL
        except LookupFailed as error:
            raise DataError(f"{error}. What was answered is kept: run again") from error
        if reply == _FULL:
            for middle_lat, middle_lon in _seven(lat, lon, radius):
                yield from self._disc(middle_lat, middle_lon, radius / 2 * 1.001)
            return
        for qid, e_lat, e_lon, en, own, kinds, kind, links in json.loads(reply):
            yield Entity(qid, e_lat, e_lon, en, own, tuple(kinds), kind, links)

    def close(self) -> None:
        """Close connections and the cache."""
        self._finder.close()

    def __enter__(self) -> Around:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _own_words() -> Iterator[None]:
    """Within it, errors of the geocoders' parts name the profile's keys of the ladder."""
    try:
        yield
    except (ConfigError, LookupFailed) as error:
        text = str(error)
        for theirs, ours in _OUR_KEYS:
            text = text.replace(theirs, ours)
        if text == str(error):
            raise
        raise type(error)(text) from error


def _slow(radius: float, reason: str) -> Exception:
    """Smaller discs may do; very small ones that fail are a fault of the service."""
    return _TooWide(reason) if radius > _SMALLEST_KM else Transient(reason)


def _disc(lat: float, lon: float, radius: float) -> str:
    return f"{lat:.6f} {lon:.6f} {radius:.4f} km"


def _seven(lat: float, lon: float, radius: float) -> list[tuple[float, float]]:
    """Middles of seven discs of half the radius that cover the disc: its own, and six around it."""
    middles = [(lat, lon)]
    across = max(math.cos(math.radians(lat)), 1e-6) * _KM_PER_DEGREE
    for k in range(6):
        angle = math.radians(60 * k)
        north = lat + math.sqrt(3) / 2 * radius * math.cos(angle) / _KM_PER_DEGREE
        east = lon + math.sqrt(3) / 2 * radius * math.sin(angle) / across
        middles.append((min(max(north, -90.0), 90.0), (east + 180) % 360 - 180))
    return middles


def _rows(content: bytes, radius: float) -> list[Mapping[str, Any]]:
    """The bindings of a reply."""
    if len(content) > _MAX_BYTES:
        raise _slow(radius, "the reply is too large")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        if b"TimeoutException" in content[-20_000:]:  # it begins to answer and then runs out of time
            raise _slow(radius, "the service ran out of time") from error
        raise Transient("the reply is no JSON, or was cut off") from error
    if isinstance(data, Mapping) and "error" in data:
        raise _api_error(data["error"])
    results = data.get("results") if isinstance(data, Mapping) else None
    bindings = results.get("bindings") if isinstance(results, Mapping) else None
    if not isinstance(bindings, list):
        raise Transient("the reply has no list of results")
    return [row for row in bindings if isinstance(row, Mapping)]


def _api_error(error: Any) -> Exception:
    """What Wikimedia's servers say with status 200."""
    code = str(error.get("code", "")) if isinstance(error, Mapping) else ""
    if code in ("maxlag", "ratelimited", "readonly"):
        return Transient(code, 5.0)
    return Transient(f"the service reports an error {code}".strip())


def _merged(rows: Iterable[Mapping[str, Any]]) -> list[Entity]:
    """One entity per id: an entity has a row for each of its kinds and positions; the first position counts."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        qid, place = _id(row.get("item")), _position(_value(row.get("where")))
        if not qid or place is None:
            continue
        entity = found.setdefault(
            qid, {"places": set(), "en": set(), "own": set(), "kinds": set(), "what": set(), "links": 0}
        )
        entity["places"].add(place)
        for name in ("en", "own", "what"):
            if text := " ".join(_value(row.get(name)).split()):
                entity[name].add(text)
        if kind := _id(row.get("kind")):
            entity["kinds"].add(kind)
        entity["links"] = max(entity["links"], int(number(_value(row.get("links"))) or 0))
    return [
        Entity(
            qid,
            *min(entity["places"]),
            name_en=min(entity["en"], default=""),
            name_local=min(entity["own"], default=""),
            kinds=tuple(sorted(entity["kinds"])),
            kind=min(entity["what"], default=""),
            sitelinks=entity["links"],
        )
        for qid, entity in found.items()
    ]


def _value(cell: Any) -> str:
    return str(cell.get("value", "")) if isinstance(cell, Mapping) else ""


def _id(cell: Any) -> str:
    last = _value(cell).rsplit("/", 1)[-1]
    return last if _QID.fullmatch(last) else ""


def _position(text: str) -> tuple[float, float] | None:
    """(lat, lon) of a WKT point on Earth."""
    match = _POINT.fullmatch(text.strip())
    if match is None or (match[1] or _EARTH) != _EARTH:
        return None
    lon, lat = number(match[2]), number(match[3])
    if lat is None or lon is None or not (-90 <= lat <= 90 and -180 <= lon <= 180):
        return None
    return lat, lon
