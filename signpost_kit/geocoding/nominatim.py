"""OpenStreetMap's Nominatim, through geopy.

One query gives up to `limit` candidates in one language; which one comes first depends on both, so both are fixed
and part of every kept answer's key. Source and rules: the usage policy of nominatim.openstreetmap.org (one request
a second, one at a time, a User-Agent that names the program and a contact, results kept).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from signpost_kit.geocoding.base import Place
from signpost_kit.geocoding.cache import Settings
from signpost_kit.geocoding.countries import continent_of
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

__all__ = ["NominatimSource", "read_places"]


class NominatimSource:
    """Asks one server; when to ask and what to keep is decided elsewhere.

    Parameters
    ----------
    contact
        E-mail or web address of whoever runs this.
    language
        Of the names in the reply, as in an Accept-Language header (`en`, `zh-CN`).
    limit
        Candidates asked for; Nominatim gives at most 40.
    url
        A server of one's own; None: the public one.
    timeout_s
        Of one request, in seconds.

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
    ) -> None:
        self.address = server_address("nominatim", url)
        self.agent = user_agent(contact, "Nominatim")
        self.timeout_s = timeout_s
        server = "" if self.address.url == PUBLIC["nominatim"] else self.address.url
        self.settings = Settings("nominatim", language, limit, server)
        self._client: Any = None

    def ask(self, query: str, request: Callable[[Callable[[], Any]], Any]) -> Reply:
        """Ask once. `request` calls what it is given when it is time.

        Raises
        ------
        Transient
            No answer in time, no connection, an error of the server, a broken reply, or a pause asked for.
        Refused
            The server does not take this query.
        GeocodingStopped
            The server refuses to answer at all.
        """
        from geopy.exc import GeocoderServiceError

        client = self._connected()
        try:
            data = request(
                lambda: client.geocode(
                    query,
                    exactly_one=False,
                    limit=self.settings.limit,
                    addressdetails=True,
                    language=self.settings.language or False,
                )
            )
        except GeocoderServiceError as error:
            raise _failure(error) from error
        if not isinstance(data, list) or not all(isinstance(row, Mapping) for row in data):
            raise Transient(f"the reply is no list of places: {str(data)[:80]}")
        places = read_places(data, self.settings.language)
        if data and not places:
            raise Transient("no candidate of the reply has a sound position")
        return Reply(places, json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())

    def _connected(self) -> Any:
        if self._client is None:
            from geopy.adapters import RequestsAdapter, URLLibAdapter, requests_available
            from geopy.geocoders import Nominatim

            class Plain(Nominatim):
                """Gives the reply as it came: geopy takes `{}` and `null` for "nothing found", and one place that
                is not on the globe costs it all the others."""

                def _parse_json(self, places: Any, exactly_one: bool) -> Any:
                    return places

            self._client = Plain(
                user_agent=self.agent,
                domain=self.address.place,
                scheme=self.address.scheme,
                timeout=self.timeout_s,  # pyright: ignore[reportArgumentType]
                # By default it asks up to three times on its own, past our pace, and sleeps for hours when told to.
                adapter_factory=partial(RequestsAdapter, max_retries=0) if requests_available else URLLibAdapter,
            )
            session = getattr(self._client.adapter, "session", None)
            if session is not None:
                session.max_redirects = 0  # a redirect is a wrong address, or a portal that answers everything
        return self._client

    def close(self) -> None:
        """Close the connections."""
        session = getattr(getattr(self._client, "adapter", None), "session", None)
        if session is not None:
            session.close()
        self._client = None


def _failure(error: Exception) -> Exception:
    from geopy.adapters import AdapterHTTPError
    from geopy.exc import GeocoderParseError, GeocoderQueryError, GeocoderTimedOut, GeocoderUnavailable

    cause = error.__cause__
    if isinstance(cause, AdapterHTTPError):
        return http_failure("Nominatim", cause.status_code, dict(cause.headers or {}), str(cause.text or ""))
    if isinstance(error, GeocoderParseError):
        return Transient("the reply is no JSON")
    if isinstance(error, GeocoderTimedOut):
        return Transient("no answer in time")
    if isinstance(error, GeocoderUnavailable):
        return Transient("no connection to the server")
    if isinstance(error, GeocoderQueryError):
        return Refused(f"Nominatim does not take the query: {error}")
    if "redirects" in str(error):
        return http_failure("Nominatim", 302, {})
    return Transient(str(error).splitlines()[0][:120] if str(error) else type(error).__name__)


def read_places(rows: list[Mapping[str, Any]], language: str = "") -> tuple[Place, ...]:
    """The candidates of a reply, in its order; those without a position on the globe are left out."""
    found = []
    for row in rows:
        lat, lon = number(row.get("lat")), number(row.get("lon"))
        if lat is None or lon is None or not (-90 <= lat <= 90 and -180 <= lon <= 180):
            continue
        display = str(row.get("display_name") or "")
        address = row.get("address")
        country = str(address.get("country_code") or "").upper() if isinstance(address, Mapping) else ""
        feature = [str(part) for part in (row.get("category") or row.get("class"), row.get("type")) if part]
        osm = [str(row[key]) for key in ("osm_type", "osm_id") if row.get(key)]
        found.append(
            Place(
                lat,
                lon,
                name=str(row.get("name") or display.split(",", maxsplit=1)[0]).strip(),
                country=country,
                kind="/".join(feature),
                continent=continent_of(country),
                display=display,
                source_id="/".join(osm),
                level=str(row.get("addresstype") or ""),
                importance=number(row.get("importance")),
                language=language,
            )
        )
    return tuple(found)
