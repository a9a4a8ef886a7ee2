"""Wikidata: entities by their label or alias, with coordinates, country, kind and the number of sitelinks.

Two requests a text (search, then the entities found), and one for every country not met before, whose ISO code is
then known for good. Only positions on Earth count: craters of the Moon have coordinates too. Source: the Wikibase
API (wbsearchentities, wbgetentities, wbgetclaims) with maxlag, as its etiquette asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from signpost_kit.geocoding.base import Place
from signpost_kit.geocoding.cache import Settings
from signpost_kit.geocoding.countries import continent_of, country_at
from signpost_kit.geocoding.servers import (
    PUBLIC,
    Refused,
    Reply,
    Transient,
    http_failure,
    number,
    server_address,
    user_agent,
)

__all__ = ["WikidataSource"]

_EARTH = "Q2"
_COORDINATES, _COUNTRY, _INSTANCE_OF, _ISO = "P625", "P17", "P31", "P297"
_QID = re.compile(r"Q[1-9]\d*")
_MAXLAG_S = 5
_MAX_BYTES = 64 << 20

Send = Callable[[Callable[[], Any]], Any]


class WikidataSource:
    """Asks Wikidata; when to ask and what to keep is decided elsewhere.

    Parameters
    ----------
    contact, timeout_s
        As for Nominatim.
    language
        In which labels and aliases are searched and given.
    limit
        Entities searched for, at most 50; those without a position are left out of the candidates.
    url
        Another Wikibase's api.php; None: Wikidata's.
    remember
        Where the ISO codes of countries are kept: called with a country's id it gives the code ("" when it has
        none) or None, called with id and code it keeps the code.

    Raises
    ------
    ConfigError
        No contact, or a wrong address.
    """

    def __init__(
        self,
        *,
        contact: str | None,
        language: str = "en",
        limit: int = 10,
        url: str | None = None,
        timeout_s: float = 30.0,
        remember: Callable[..., str | None] | None = None,
    ) -> None:
        self.address = server_address("wikidata", url)
        self.agent = user_agent(contact, "Wikidata")
        self.timeout_s = timeout_s
        server = "" if self.address.url == PUBLIC["wikidata"] else self.address.url
        self.settings = Settings("wikidata", language, limit, server)
        self._iso: dict[str, str] = {}
        self._remember = remember or self._in_memory
        self._client: Any = None

    def ask(self, query: str, request: Send) -> Reply:
        """Search, then fetch what was found. `request` calls what it is given when it is time.

        Raises
        ------
        Transient, Refused, GeocodingStopped
            As for Nominatim.
        """
        language = self.settings.language or "en"
        found = self._call(
            request,
            "search",
            action="wbsearchentities",
            search=query,
            language=language,
            uselang=language,
            type="item",
            limit=str(self.settings.limit),
        )
        if not isinstance(found, list):
            raise Transient("the reply has no list of hits")
        hits = [hit for hit in found if isinstance(hit, Mapping) and _QID.fullmatch(str(hit.get("id")))]
        ids = list(dict.fromkeys(str(hit["id"]) for hit in hits))
        if not ids:
            return Reply((), _packed({"search": found}))
        entities = self._call(
            request,
            "entities",
            action="wbgetentities",
            ids="|".join(ids),
            props="labels|descriptions|claims|sitelinks",
            languages=language,
            languagefallback="1",
        )
        if not isinstance(entities, Mapping):
            raise Transient("the reply has no entities")
        slim = {qid: _slim(entities.get(qid)) for qid in ids}
        places = tuple(
            place for qid in ids if (place := self._place(qid, slim[qid], language, request)) is not None
        )
        return Reply(places, _packed({"search": [_told(hit) for hit in hits], "entities": slim}))

    def _place(self, qid: str, entity: dict[str, Any], language: str, request: Send) -> Place | None:
        position = entity["position"]
        if position is None:
            return None
        lat, lon = position
        country = ""
        for country_id in entity["countries"]:
            country = self._country(country_id, request)
            if country:
                break
        continent = continent_of(country)
        if not country:
            country, continent = country_at(lat, lon)
        name, description = entity["label"], entity["description"]
        return Place(
            lat,
            lon,
            name=name,
            country=country,
            kind=" ".join(entity["instance_of"]),
            continent=continent,
            display=f"{name}, {description}" if description else name,
            source_id=qid,
            sitelinks=entity["sitelinks"],
            language=language,
        )

    def _country(self, qid: str, request: Send) -> str:
        known = self._remember(qid)
        if known is None:
            claims = self._call(request, "claims", action="wbgetclaims", entity=qid, property=_ISO)
            codes = [str(value) for value in _values(claims, _ISO)]
            known = next((code for code in codes if re.fullmatch("[A-Z]{2}", code)), "")
            self._remember(qid, known)
        return known

    def _in_memory(self, qid: str, code: str | None = None) -> str | None:
        if code is not None:
            self._iso[qid] = code
        return self._iso.get(qid)

    def _call(self, request: Send, wanted: str, **params: str) -> Any:
        """One request; the part of the reply that is `wanted`."""
        import httpx

        if self._client is None:
            self._client = httpx.Client(
                timeout=self.timeout_s, headers={"User-Agent": self.agent, "Accept-Encoding": "gzip"}
            )
        everything = {"format": "json", "formatversion": "1", "maxlag": str(_MAXLAG_S), **params}
        try:
            response = request(lambda: self._client.get(self.address.url, params=everything))
        except httpx.TimeoutException as error:
            raise Transient("no answer in time") from error
        except httpx.TransportError as error:
            raise Transient(f"no connection to the server ({type(error).__name__})") from error
        except httpx.HTTPError as error:
            raise Transient(str(error) or type(error).__name__) from error
        headers = dict(response.headers)
        if not response.is_success:
            raise http_failure("Wikidata", response.status_code, headers, response.text[:2000])
        try:
            data = json.loads(response.content) if len(response.content) <= _MAX_BYTES else None
        except (ValueError, RecursionError) as error:
            raise Transient("the reply is no JSON") from error
        if not isinstance(data, dict):
            raise Transient("the reply is no JSON object")
        if "error" in data:
            raise _api_failure(data["error"], headers)
        if wanted not in data:
            raise Transient(f"the reply has no {wanted!r}")
        return data[wanted]

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None


def _api_failure(error: Any, headers: dict[str, str]) -> Exception:
    """The API says most of its errors with status 200."""
    from signpost_kit.models.pauses import pause_of

    code = str(error.get("code", "")) if isinstance(error, Mapping) else ""
    info = str(error.get("info", error) if isinstance(error, Mapping) else error)[:120]
    if code in ("maxlag", "ratelimited", "readonly") or code.startswith("internal_api_error"):
        pause = pause_of(headers)
        return Transient(f"{code}: {info}", float(_MAXLAG_S) if pause is None else pause)
    if code in ("blocked", "autoblocked", "permissiondenied"):
        return http_failure("Wikidata", 403, headers, info)
    return Refused(f"Wikidata does not take the query: {code}: {info}")


def _told(hit: Mapping[str, Any]) -> dict[str, Any]:
    return {key: hit[key] for key in ("id", "label", "description", "match") if key in hit}


def _slim(entity: Any) -> dict[str, Any]:
    """What is kept of an entity: some hundred bytes of perhaps a megabyte."""
    entity = entity if isinstance(entity, Mapping) else {}
    claims = entity.get("claims")
    sitelinks = entity.get("sitelinks")
    return {
        "label": _in_language(entity.get("labels")),
        "description": _in_language(entity.get("descriptions")),
        "position": next((p for p in map(_position, _values(claims, _COORDINATES)) if p is not None), None),
        "countries": _ids(_values(claims, _COUNTRY)),
        "instance_of": _ids(_values(claims, _INSTANCE_OF)),
        "sitelinks": len(sitelinks) if isinstance(sitelinks, Mapping | list) else 0,
    }


def _in_language(texts: Any) -> str:
    first = next(iter(texts.values()), None) if isinstance(texts, Mapping) else None
    return str(first.get("value", "")) if isinstance(first, Mapping) else ""


def _values(claims: Any, prop: str) -> list[Any]:
    """Values of a property, those of preferred rank first; deprecated and ended ones are left out."""
    rows = claims.get(prop) if isinstance(claims, Mapping) else None
    ranked: dict[str, list[Any]] = {"preferred": [], "normal": []}
    for row in rows if isinstance(rows, list) else []:
        snak = row.get("mainsnak") if isinstance(row, Mapping) else None
        value = snak.get("datavalue") if isinstance(snak, Mapping) else None
        rank = row.get("rank", "normal") if isinstance(row, Mapping) else ""
        ended = isinstance(row, Mapping) and "P582" in (row.get("qualifiers") or {})
        if isinstance(value, Mapping) and rank in ranked and not ended:
            ranked[rank].append(value.get("value"))
    return ranked["preferred"] + ranked["normal"]


def _ids(values: list[Any]) -> list[str]:
    found = [str(value.get("id", "")) for value in values if isinstance(value, Mapping)]
    return [qid for qid in dict.fromkeys(found) if _QID.fullmatch(qid)]


def _position(value: Any) -> tuple[float, float] | None:
    if not isinstance(value, Mapping) or str(value.get("globe") or _EARTH).rsplit("/", 1)[-1] != _EARTH:
        return None
    lat, lon = number(value.get("latitude")), number(value.get("longitude"))
    if lat is None or lon is None or not (-90 <= lat <= 90 and -180 <= lon <= 180):
        return None
    return lat, lon


def _packed(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
