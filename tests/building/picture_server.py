"""A web server on the loopback that behaves as picture hosts do on their bad days, and counts what it is asked."""

from __future__ import annotations

import io
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from PIL import Image


def picture(colour: int = 0, size: tuple[int, int] = (80, 60), kind: str = "JPEG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (colour % 256, 90, 160)).save(buffer, kind)
    return buffer.getvalue()


class PictureServer(ThreadingHTTPServer):
    """`asked` counts requests by path; `busiest` is the most at one time."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: Counter[str] = Counter()
        self.agents: set[str] = set()
        self.now = self.busiest = 0
        self.lock = threading.Lock()
        self.release = threading.Event()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address) -> None:
        """A client that hangs up is part of the play."""


class Handler(BaseHTTPRequestHandler):
    server: PictureServer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        server = self.server
        with server.lock:
            server.asked[self.path] += 1
            server.agents.add(self.headers.get("User-Agent", ""))
        self.answer()

    def think(self) -> None:
        """Take a moment, counting who is here; the count ends before the client has its answer."""
        with self.server.lock:
            self.server.now += 1
            self.server.busiest = max(self.server.busiest, self.server.now)
        time.sleep(0.02)
        with self.server.lock:
            self.server.now -= 1

    def answer(self) -> None:
        path, times = self.path, self.server.asked[self.path]
        what = path.strip("/").split("/")[0].split("?")[0]
        if what == "ok":
            self.think()
            self.send(200, picture(hash(path) % 256))
        elif what == "png":
            self.send(200, picture(3, kind="PNG"), {"Content-Type": "text/plain"})
        elif what in ("404", "403", "410"):
            self.send(int(what), b"no")
        elif what == "busy":  # twice 429, then the picture
            self.send(429, b"", {"Retry-After": "7"}) if times <= 2 else self.send(200, picture(5))
        elif what == "later":
            self.send(429, b"", {"Retry-After": "86400"})
        elif what == "ill":
            self.send(503, b"")
        elif what == "page":
            self.send(
                200, b"<!doctype html><html><script>alert(1)</script>" + b" " * 5000, {"Content-Type": "image/jpeg"}
            )
        elif what == "nothing":
            self.send(200, b"")
        elif what == "declared":
            self.send(200, b"\xff\xd8\xff" + bytes(300_000))
        elif what == "endless":
            self.endless()
        elif what == "drip":
            self.drip()
        elif what == "silent":
            self.server.release.wait(5)
        elif what == "torn":
            self.send_response(200)
            self.send_header("Content-Length", "5000")
            self.end_headers()
            self.wfile.write(picture()[:400])
        elif what == "bomb":
            self.send(200, picture(1, (4000, 3000)))
        elif what == "gzip":
            self.send(200, picture(), {"Content-Encoding": "gzip"})
        elif what == "to":  # /to/<address>
            self.send(302, b"", {"Location": path[len("/to/") :]})
        elif what == "round":
            self.send(302, b"", {"Location": "/round"})
        elif what == "photo_unavailable.png":
            self.send(200, picture(9))
        else:
            self.send(500, b"")

    def send(self, code: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def endless(self) -> None:
        """A picture without an end, and without a length."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"\xff\xd8\xff")
        for _ in range(10_000):
            self.wfile.write(bytes(10_000))

    def drip(self) -> None:
        """A byte now and then: never silent for long, never done."""
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.wfile.write(picture()[:70])
        while not self.server.release.wait(0.05):
            self.wfile.write(b"x")
            self.wfile.flush()
