"""Loopback stand-ins of Wikidata's query service and of Mapillary's API: they count, note, and misbehave when told to.

Replies have the shape that the services' documentation shows; the SPARQL stand-in really finds what lies in the disc
of the question and cuts it off at its LIMIT, in no particular order.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

_CENTRE = re.compile(r'"Point\((\S+) (\S+)\)"')
_RADIUS = re.compile(r'wikibase:radius "([\d.]+)"')
_LIMIT = re.compile(r"LIMIT (\d+)")
_OWN = re.compile(r'LANG\(\?own\) = "(\S+)"')
_KINDS = re.compile(r"VALUES \?kind \{([^}]*)\}")


@dataclass
class Step:
    """One way to answer instead of the ordinary one."""

    status: int = 200
    body: Any = b""
    headers: dict[str, str] = field(default_factory=dict)


class Loopback(ThreadingHTTPServer):
    """A server on a free port; `steps` are used up first, `seen` are the requests."""

    daemon_threads = True

    def __init__(self, steps: Any = ()) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.steps: list[Any] = list(steps)
        self.seen: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.asked: Counter[str] = Counter()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, path: str, params: dict[str, str]) -> Step:
        raise NotImplementedError

    def handle_error(self, request, client_address) -> None:
        """A client that hangs up is part of the play."""

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    server: Loopback

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        params = {key: values[0] for key, values in parse_qs(parts.query).items()}
        with self.server.lock:
            self.server.seen.append((parts.path, params, dict(self.headers)))
            self.server.asked[parts.path] += 1
            step = self.server.steps.pop(0) if self.server.steps else None
        step = step or self.server.answer(parts.path, params)
        body = step.body if isinstance(step.body, bytes) else json.dumps(step.body, ensure_ascii=False).encode()
        self.send_response(step.status)
        for name, value in {"Content-Type": "application/json", **step.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass
class Thing:
    """An entity of the stand-in."""

    qid: str
    lat: float
    lon: float
    en: str = ""
    own: dict[str, str] = field(default_factory=dict)
    kinds: tuple[tuple[str, str], ...] = (("Q41176", "building"),)
    links: int = 3


class QueryService(Loopback):
    """`things` around; `slow_km`: wider discs time out."""

    def __init__(self, things: Any, steps: Any = (), slow_km: float = 99.0) -> None:
        super().__init__(steps)
        self.things = list(things)
        self.slow_km = slow_km

    @property
    def url(self) -> str:
        return super().url + "/sparql"

    def answer(self, path: str, params: dict[str, str]) -> Step:
        query = params["query"]
        lon, lat = (float(x) for x in _CENTRE.search(query).groups())
        radius, limit = float(_RADIUS.search(query)[1]), int(_LIMIT.search(query)[1])
        own = _OWN.search(query)
        kinds = set(re.findall(r"wd:(Q\d+)", found[1])) if (found := _KINDS.search(query)) else None
        if radius > self.slow_km:
            return Step(500, b"SPARQL-QUERY: java.util.concurrent.TimeoutException at ...")
        rows = []
        for thing in self.things:
            if far(lat, lon, thing.lat, thing.lon) > radius:
                continue
            for kind, what in thing.kinds:
                if kinds is not None and kind not in kinds:
                    continue
                row = {
                    "item": {"type": "uri", "value": f"http://www.wikidata.org/entity/{thing.qid}"},
                    "where": {"type": "literal", "value": f"Point({thing.lon} {thing.lat})"},
                    "links": {"type": "literal", "value": str(thing.links)},
                }
                if thing.en:
                    row["en"] = {"type": "literal", "xml:lang": "en", "value": thing.en}
                if own and own[1] in thing.own:
                    row["own"] = {"type": "literal", "xml:lang": own[1], "value": thing.own[own[1]]}
                if kind:
                    row["kind"] = {"type": "uri", "value": f"http://www.wikidata.org/entity/{kind}"}
                    row["what"] = {"type": "literal", "xml:lang": "en", "value": what}
                rows.append(row)
        return Step(body={"head": {"vars": []}, "results": {"bindings": rows[:limit]}})


def far(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Great-circle km, written anew for the tests."""
    a, b, d = math.radians(lat1), math.radians(lat2), math.radians(lon2 - lon1)
    h = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(d / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(h))


class Mapillary(Loopback):
    """The API and the picture host in one: `known` id -> what is said of it; pictures are made from the id."""

    def __init__(self, known: Any, token: str = "MLY|1|secret", steps: Any = ()) -> None:
        super().__init__(steps)
        self.known = dict(known)
        self.token = token

    def answer(self, path: str, params: dict[str, str]) -> Step:
        import io

        from PIL import Image

        if path.startswith("/pixels/"):
            out = io.BytesIO()
            Image.new("RGB", (64, 48), (int(path.rsplit("/", 1)[1]) % 256, 90, 160)).save(out, "JPEG")
            return Step(body=out.getvalue(), headers={"Content-Type": "image/jpeg"})
        headers = self.seen[-1][2]
        if headers.get("Authorization") != f"OAuth {self.token}":
            return Step(401, {"error": {"message": "Invalid OAuth access token", "code": 190}})
        ident = path.strip("/")
        if ident not in self.known:
            return Step(400, {"error": {"message": "Unsupported get request", "code": 100}})
        about = {"id": ident, **self.known[ident]}
        size = params["fields"].split(",")[-1]
        return Step(body={**about, size: f"{self.url}/pixels/{ident}"})
