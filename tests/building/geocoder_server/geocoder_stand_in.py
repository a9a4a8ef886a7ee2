"""Loopback stand-ins of Nominatim and of Wikidata's API: they count, note times, and misbehave when told to.

Replies have the shape of the real ones (fields as in the two services' documentation); places and numbers are real
but shortened.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Step:
    """One way to answer."""

    status: int = 200
    body: Any = None
    """Bytes as they are, anything else as JSON; None: the ordinary answer."""
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


@dataclass
class Seen:
    """One request as the server saw it."""

    at: float
    """Monotonic seconds of its arrival."""
    path: str
    params: dict[str, str]
    agent: str
    at_once: int
    """Requests under way at that moment, this one included."""

    @property
    def query(self) -> str:
        return self.params.get("q") or self.params.get("search") or self.params.get("ids") or ""


def osm(name: str, lat: float, lon: float, country: str, importance: float, **more: Any) -> dict[str, Any]:
    """One candidate as Nominatim writes it: positions are text."""
    return {
        "place_id": 1,
        "licence": "Data © OpenStreetMap contributors, ODbL 1.0.",
        "osm_type": "relation",
        "osm_id": abs(hash((name, country))) % 10**6,
        "lat": f"{lat:.7f}",
        "lon": f"{lon:.7f}",
        "class": "place",
        "type": "city",
        "place_rank": 16,
        "importance": importance,
        "addresstype": "city",
        "name": name,
        "display_name": f"{name}, Somewhere, {country}",
        "address": {"city": name, "country": country, "country_code": country.lower()},
        "boundingbox": ["0", "0", "0", "0"],
    } | more


ATLAS: dict[str, list[dict[str, Any]]] = {
    "lima": [
        osm("Lima", -12.0621065, -77.0365256, "PE", 0.73),
        osm("Lima", 40.7425508, -84.1052256, "US", 0.51),
        osm(
            "Lima Avenue", 37.7, -122.1, "US", 0.05, type="residential", addresstype="road", **{"class": "highway"}
        ),
    ],
    "springfield": [
        osm("Springfield", 39.7990175, -89.6439575, "US", 0.59),
        osm("Springfield", 42.1018764, -72.5886727, "US", 0.58),
        osm("Springfield", 37.2081729, -93.2922715, "US", 0.57),
    ],
    "nairobi": [osm("Nairobi", -1.3026148, 36.8288420, "KE", 0.71)],
    "lyon": [osm("Lyon", 45.7578137, 4.8320114, "FR", 0.72)],
}


class GeocoderServer:
    """A running stand-in; use it in a `with` statement.

    `steps[query]` are answered first, in order, for a query in lower case; `"*"` for any query. `kind` is
    "nominatim" or "wikidata".
    """

    def __init__(self, kind: str = "nominatim", steps: dict[str, list[Step]] | None = None) -> None:
        self.seen: list[Seen] = []
        self.steps = steps or {}
        self.entities: dict[str, dict[str, Any]] = {}
        self.found: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        self._under_way = 0
        self._kind = kind
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        path = "" if self._kind == "nominatim" else "/w/api.php"
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    @property
    def queries(self) -> list[str]:
        """What was asked, in order."""
        return [seen.query for seen in self.seen]

    @property
    def gaps(self) -> list[float]:
        """Seconds between arrivals."""
        times = [seen.at for seen in self.seen]
        return [b - a for a, b in pairwise(times)]

    def __enter__(self) -> GeocoderServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner._answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        at = time.monotonic()
        parts = urlsplit(handler.path)
        params = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        with self._lock:
            self._under_way += 1
            seen = Seen(at, parts.path, params, handler.headers.get("User-Agent", ""), self._under_way)
            self.seen.append(seen)
            queue = self.steps.get(seen.query.lower()) or self.steps.get("*") or []
            step = queue.pop(0) if queue else Step()
        time.sleep(step.delay_s)
        body = step.body if step.body is not None else self._ordinary(params)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        with self._lock:
            self._under_way -= 1
        try:
            handler.send_response(step.status)
            for name, value in step.headers.items():
                handler.send_header(name, value)
            handler.send_header("Content-Type", "application/json; charset=utf-8")
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
        except OSError:
            pass  # the client has given up

    def _ordinary(self, params: dict[str, str]) -> Any:
        if self._kind == "nominatim":
            query = params.get("q", "").lower()
            limit = int(params.get("limit", "10"))
            if query.startswith("place "):
                number = int(query.split()[1])
                return [osm(query.title(), -40 + number / 2, number, "BR", 0.4)]
            return ATLAS.get(query, [])[:limit]
        action = params.get("action")
        if action == "wbsearchentities":
            ids = self.found.get(params["search"].lower(), [])
            return {
                "searchinfo": {"search": params["search"]},
                "search": [{"id": qid, "label": self.entities[qid]["labels"]["en"]["value"]} for qid in ids],
                "success": 1,
            }
        if action == "wbgetentities":
            return {"entities": {qid: self.entities[qid] for qid in params["ids"].split("|")}, "success": 1}
        if action == "wbgetclaims":
            claims = self.entities[params["entity"]]["claims"]
            return {"claims": {params["property"]: claims.get(params["property"], [])}}
        return {"error": {"code": "badvalue", "info": f"unknown action {action}"}}


def snak(value: Any, rank: str = "normal", **more: Any) -> dict[str, Any]:
    """One claim with a value."""
    return {"mainsnak": {"snaktype": "value", "datavalue": {"value": value}}, "rank": rank} | more


def item(qid: str) -> dict[str, Any]:
    """A value that is another item."""
    return {"entity-type": "item", "id": qid}


def point(lat: float, lon: float, globe: str = "Q2") -> dict[str, Any]:
    """A position."""
    return {
        "latitude": lat,
        "longitude": lon,
        "precision": 0.01,
        "globe": f"http://www.wikidata.org/entity/{globe}",
    }


def entity(label: str, description: str, sitelinks: int, **claims: list[dict[str, Any]]) -> dict[str, Any]:
    """An entity as wbgetentities gives it; empty maps are lists there."""
    return {
        "type": "item",
        "labels": {"en": {"language": "en", "value": label}},
        "descriptions": {"en": {"language": "en", "value": description}} if description else [],
        "claims": claims or [],
        "sitelinks": {f"w{i}": {"site": f"w{i}", "title": label} for i in range(sitelinks)} or [],
    }
