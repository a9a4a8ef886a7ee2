"""A loopback HTTP server that answers as a provider does, or fails as one does, by a schedule.

It runs on a thread with an event loop of its own, so tests can use it from any loop, and keeps every request as it
came over the wire. What the answers and the failures look like is the wire's business (wires.py).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

REPLY = '{"lat": 48.8584, "lon": 2.2945}'


@dataclass(frozen=True)
class Step:
    """What happens on one request: a kind that every wire knows how to render, and its settings."""

    kind: str
    settings: tuple[tuple[str, Any], ...] = ()
    delay_s: float = 0.0
    """Seconds before the answer begins, besides the server's latency."""

    def __getattr__(self, name: str) -> Any:
        for key, value in self.settings:
            if key == name:
                return value
        raise AttributeError(name)


def step(kind: str, *, delay_s: float = 0.0, **settings: Any) -> Step:
    """A step by name. Kinds, with their settings:

    ok(text=REPLY) · rate_limited(retry_after=None|str, retry_after_ms=None|str, retry_info=None|"53s") ·
    status(code, message="", retry_after=None) · overloaded(code=529, retry_after=None) · reset · hang ·
    truncated_json · html · empty · empty_length · cut_text(text) · blocked · prompt_blocked · recitation · refused ·
    refuses_field(name) · wrong_mime · wrong_key(status=401) · unknown_model · wrong_url · no_credit ·
    slow_body(seconds) · raw(status=200, body=bytes|str|JSON, headers={}, content_type=...).
    """
    return Step(kind, tuple(settings.items()), delay_s)


@dataclass
class Response:
    """What goes over the wire. cut: so many bytes of the body, then a reset. hang: nothing at all."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    cut: int | None = None
    hang: bool = False
    pause_s: float = 0.0
    """In the middle of the body."""


@dataclass
class Call:
    """One request as it came."""

    number: int
    """0, 1, ... in order of arrival."""
    method: str
    path: str
    """With the query."""
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    wire: Any = None
    step: Step | None = None
    """What it was answered with."""
    time: float = field(default_factory=time.monotonic)

    @cached_property
    def json(self) -> dict[str, Any]:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return self.wire.model(self)

    @property
    def prompt(self) -> str:
        """The text of the question."""
        return self.wire.prompt(self)

    @property
    def picture(self) -> bytes:
        """The picture's bytes as sent."""
        return self.wire.picture(self)[1]

    @property
    def mime(self) -> str:
        """The picture's declared type."""
        return self.wire.picture(self)[0]

    @property
    def question(self) -> tuple[str, str, str]:
        """(model, hash of the picture, prompt): what may be answered only once in a run without repeats."""
        return self.model, hashlib.sha256(self.picture).hexdigest(), self.prompt


@dataclass(frozen=True)
class Manners:
    """What the server insists on, as a real one does; None and empty mean it takes anything."""

    keys: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    token_fields: frozenset[str] = frozenset()
    takes_temperature: bool = True


class FaultServer:
    """The server.

    Parameters
    ----------
    wire
        An object of wires.py (OpenAIWire(), AnthropicWire(), GoogleWire()) or its name.
    schedule
        Steps (or names of steps) in order of arrival; or a function Call -> Step | None.
    default
        The step when the schedule has none.
    latency_s
        Before every answer.
    keep_bodies
        False: bodies are dropped after answering (long runs); `answered` still counts.
    check
        Object to what real servers object to (manners; a picture's type that is not what its bytes say). For
        measuring, switch this and count_questions off: the picture is then not decoded.

    Attributes
    ----------
    calls
        Every request, in order of arrival.
    answered
        question -> how often it got a step of kind "ok" completely (only with count_questions).
    most_in_flight
        The highest number of requests under way at once.
    connections
        How many TCP connections were opened.
    """

    def __init__(
        self,
        wire: Any = "openai",
        schedule: Iterable[Step | str] | Callable[[Call], Step | None] = (),
        *,
        default: Step | None = None,
        manners: Manners | None = None,
        latency_s: float = 0.0,
        keep_bodies: bool = True,
        count_questions: bool = True,
        check: bool = True,
    ) -> None:
        if isinstance(wire, str):
            from wires import WIRES

            wire = WIRES[wire]()
        self.wire = wire
        self.default = default or step("ok")
        self.manners = manners or Manners()
        self.latency_s = latency_s
        self.calls: list[Call] = []
        self.answered: Counter[tuple[str, str, str]] = Counter()
        self.most_in_flight = 0
        self.connections = 0
        self.port = 0
        self._function = schedule if callable(schedule) else None
        self._queue: deque[Step] = deque()
        if not callable(schedule):
            self.then(*schedule)
        self._routes: list[tuple[str, re.Pattern[str], Callable[[Call], Response]]] = []
        self._keep, self._count, self._check = keep_bodies, count_questions, check
        self._in_flight = 0
        self._lock = threading.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    # -- for tests

    def then(self, *steps: Step | str) -> FaultServer:
        """Append steps to the schedule."""
        self._queue.extend(one if isinstance(one, Step) else step(one) for one in steps)
        return self

    def route(self, method: str, pattern: str, handler: Callable[[Call], Response]) -> None:
        """Answer `method` on paths that match `pattern` with `handler`, before the wire and its schedule."""
        self._routes.append((method, re.compile(pattern), handler))

    @property
    def root(self) -> str:
        """http://127.0.0.1:<port>"""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base_url to give to a client."""
        return self.root + self.wire.base_path

    @property
    def count(self) -> int:
        """How many requests came."""
        return len(self.calls)

    def __enter__(self) -> FaultServer:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="fault-server", daemon=True)
        self._thread.start()
        assert ready.wait(10), "the server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    # -- the server

    def _run(self, ready: threading.Event) -> None:
        async def main() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=2**20, backlog=512)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            await self._stop.wait()
            server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.run(main())

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (request := await self._read(reader)) is not None:
                self._in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self._in_flight)
                try:
                    if not await self._answer(request, writer):
                        break
                finally:
                    self._in_flight -= 1
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _read(self, reader: asyncio.StreamReader) -> Call | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        method, path, _ = first.split(" ", 2)
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        with self._lock:
            call = Call(len(self.calls), method, path, headers, body, self.wire)
            self.calls.append(call)
        return call

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> bool:
        """True when the connection can be used again."""
        response = self._respond(call)
        delay = self.latency_s + (call.step.delay_s if call.step else 0.0)
        if delay > 0:
            await asyncio.sleep(delay)
        if response.hang:
            await self._stop.wait()
            return False
        head = [f"HTTP/1.1 {response.status} Whatever", f"content-type: {response.content_type}"]
        head += [f"{name}: {value}" for name, value in response.headers.items()]
        head += [f"content-length: {len(response.body)}", "", ""]
        body = response.body if response.cut is None else response.body[: response.cut]
        data = "\r\n".join(head).encode("latin-1")
        if response.pause_s:
            writer.write(data + body[:10])
            await writer.drain()
            await asyncio.sleep(response.pause_s)
            data, body = b"", body[10:]
        writer.write(data + body)
        await writer.drain()
        if response.cut is not None:
            await asyncio.sleep(0.02)  # the client reads the part first
            return False
        if self._count and call.step is not None and call.step.kind == "ok":
            self.answered[call.question] += 1
        if not self._keep:
            call.__dict__.pop("json", None)
            call.body = b""
        return True

    def _respond(self, call: Call) -> Response:
        path = call.path.partition("?")[0]
        for method, pattern, handler in self._routes:
            if method == call.method and pattern.search(path):
                return handler(call)
        if not self.wire.takes(call):
            return self.wire.render(step("wrong_url"), call)
        complaint = self.wire.complaint(call, self.manners) if self._check else None
        chosen = complaint or self._next(call)
        call.step = chosen
        return self.wire.render(chosen, call)

    def _next(self, call: Call) -> Step:
        if self._function is not None:
            return self._function(call) or self.default
        with self._lock:
            return self._queue.popleft() if self._queue else self.default


FAULTS: tuple[Step, ...] = (
    step("rate_limited", retry_after="0.2"),
    step("rate_limited", retry_after_ms="100"),
    step("rate_limited", retry_info="0.3s"),
    step("status", code=500),
    step("status", code=502),
    step("overloaded", code=503),
    step("overloaded", code=529),
    step("reset"),
    step("truncated_json"),
)
"""Failures after which asking again helps."""


def mixed_faults(rate: float, *, seed: int = 0, faults: tuple[Step, ...] = FAULTS) -> Callable[[Call], Step | None]:
    """A schedule that fails a share of the requests, all kinds in turn; the same seed gives the same choice."""
    dice, kinds = random.Random(seed), deque(faults)

    def choose(call: Call) -> Step | None:
        if dice.random() >= rate:
            return None
        kinds.rotate(-1)
        return kinds[0]

    return choose
