"""A loopback ComfyUI server: real HTTP, a real websocket on the same port, and real (if plain) edits of pictures.

It behaves as was measured on two real servers: uploads are renamed, bodies above a limit get 413, graphs are checked
(400 with node_errors), the history comes late, an interrupt without an id stops whoever runs. Faults are given for
the next jobs in order: `server.faults.extend(["", "oom"])`.

Faults of a job: node_error · oom (until /free) · oom_always · interrupted (by somebody else) · hang · no_picture ·
not_a_picture · forgotten (never in the history) · crash (the server dies while it runs) · node_errors_200 ·
refuse (400) · status_500 · swallow (queued, but the answer is cut off).
"""

from __future__ import annotations

import contextlib
import copy
import email
import email.policy
import hashlib
import json
import shutil
import socket
import tempfile
import threading
import uuid
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from comfy_nodes import MODELS, Painter, object_info, simple_edit
from comfy_worker import Job, Worker
from websockets.frames import Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol


class ComfyServer:
    """Start with `with`; `url` is its address. After `stop()` it refuses connections until `start()`."""

    def __init__(
        self,
        *,
        encoding: str = "combo",
        models: dict[str, list[str]] | None = None,
        without_nodes: tuple[str, ...] = (),
        max_upload_size: int = 104_857_600,
        says_limit: bool = True,
        silent_socket: bool = False,
        drop_socket_after: int | None = None,
        own_ids: bool = False,
        painter: Painter = simple_edit,
        **worker: Any,
    ) -> None:
        self.info = object_info(models or copy.deepcopy(MODELS), encoding=encoding)
        for name in without_nodes:
            del self.info[name]
        self.max_upload_size, self.says_limit = max_upload_size, says_limit
        self.silent_socket, self.drop_socket_after, self.own_ids = silent_socket, drop_socket_after, own_ids
        self.faults: deque[str] = deque()
        self.broken: dict[str, int] = {}
        """Path -> the status that it is answered with instead."""
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        """(method, path, headers, JSON body or None) of every request."""
        self.folder = Path(tempfile.mkdtemp(prefix="comfy-stand-in-"))
        (self.folder / "input").mkdir()
        self._options = {"painter": painter, **worker}
        self.sockets: list[Socket] = []
        self.lock = threading.Lock()
        self.port = 0
        self._http: ThreadingHTTPServer | None = None
        self.workers: list[Worker] = []

    def __enter__(self) -> ComfyServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def worker(self) -> Worker:
        return self.workers[-1]

    @property
    def made(self) -> list[tuple[str, int]]:
        """(prompt, seed) of every sampling since the first start."""
        return [pair for worker in self.workers for pair in worker.made]

    @property
    def ran(self) -> list[Job]:
        return [job for worker in self.workers for job in worker.ran]

    def start(self) -> None:
        """With an empty queue and history, as after a restart."""
        self.workers.append(Worker(folder=self.folder, send=self.send, **self._options))
        handler = type("Handler", (Handler,), {"comfy": self})
        self._http = _Server(("127.0.0.1", self.port), handler)
        self.port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """The process is gone: connections break, the queue and the history are lost."""
        if self._http is None:
            return
        http, self._http = self._http, None
        http.shutdown()
        http.server_close()
        http.break_all()
        with self.lock:
            sockets, self.sockets = self.sockets, []
        for each in sockets:
            each.break_off()
        if threading.current_thread() is not self.worker.thread:
            self.worker.end()

    def restart(self) -> None:
        self.stop()
        self.start()

    def send(self, event: str | None, data: Any, client_id: str | None) -> None:
        """To one client, or to all (None). A fault of the running job may strike here."""
        running = self.worker.running
        if event == "progress" and running is not None and running.fault == "crash":
            running.fault = ""
            threading.Thread(target=self.stop, daemon=True).start()
            self.worker.interrupted = self.worker.ended = True
            return
        if self.silent_socket:
            return
        with self.lock:
            sockets = [each for each in self.sockets if client_id in (None, each.client_id)]
        for each in sockets:
            each.write(data if event is None else json.dumps({"type": event, "data": data}))
            if self.drop_socket_after is not None and each.sent >= self.drop_socket_after:
                each.break_off()

    def count(self, method: str, path: str) -> int:
        """Requests to a path (its beginning)."""
        return sum(m == method and p.startswith(path) for m, p, _, _ in self.requests)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *args: Any) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def break_all(self) -> None:
        for each in list(self.open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
                each.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # broken connections are what it is for


class Socket:
    """One websocket, on a connection that the HTTP server has accepted."""

    def __init__(self, connection: socket.socket, protocol: ServerProtocol, client_id: str) -> None:
        self.connection, self.protocol, self.client_id = connection, protocol, client_id
        self.lock = threading.Lock()
        self.sent = 0

    def write(self, message: str | bytes) -> None:
        with self.lock:
            try:
                if isinstance(message, str):
                    self.protocol.send_text(message.encode())
                else:
                    self.protocol.send_binary(message)
                self._flush()
                self.sent += 1
            except Exception:
                self.break_off()

    def _flush(self) -> None:
        for data in self.protocol.data_to_send():
            if data:
                self.connection.sendall(data)

    def serve(self) -> None:
        """Answer pings and the closing handshake until the client is gone."""
        while True:
            try:
                data = self.connection.recv(65536)
            except OSError:
                return
            with self.lock:
                if not data:
                    return
                self.protocol.receive_data(data)
                closing = any(getattr(e, "opcode", None) is Opcode.CLOSE for e in self.protocol.events_received())
                try:
                    self._flush()
                except OSError:
                    return
            if closing:
                return

    def break_off(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


class Handler(BaseHTTPRequestHandler):
    comfy: ComfyServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self, body: Any = None, status: int = 200, kind: str = "application/json") -> None:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _note(self, body: Any = None) -> bool:
        headers = {key.lower(): value for key, value in self.headers.items()}
        self.comfy.requests.append((self.command, self.path, headers, body))
        if "origin" in headers and urlsplit(headers["origin"]).netloc != headers.get("host"):
            self._answer(status=403)
            return False
        if broken := self.comfy.broken.get(urlsplit(self.path).path):
            self._answer(status=broken)
            return False
        return True

    def do_GET(self) -> None:
        if not self._note():
            return
        comfy, parts = self.comfy, urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if parts.path == "/ws":
            self._socket(query.get("clientId") or uuid.uuid4().hex)
        elif parts.path == "/object_info":
            self._answer(comfy.info)
        elif parts.path == "/features":
            self._answer({"supports_preview_metadata": True} | self._limit())
        elif parts.path == "/queue":
            with comfy.worker.lock:
                running = [comfy.worker.running.as_queued()] if comfy.worker.running else []
                pending = [job.as_queued() for job in comfy.worker.pending]
            self._answer({"queue_running": running, "queue_pending": pending})
        elif parts.path.startswith("/history/"):
            prompt_id = parts.path.rpartition("/")[2]
            with comfy.worker.lock:
                entry = comfy.worker.history.get(prompt_id)
            self._answer({} if entry is None else {prompt_id: entry})
        elif parts.path == "/view":
            path = comfy.folder / query.get("type", "output") / query.get("subfolder", "") / query["filename"]
            if path.is_file():
                self._answer(path.read_bytes(), kind="image/png")
            else:
                self._answer(status=404)
        else:
            self._answer(status=404)

    def _limit(self) -> dict[str, Any]:
        return {"max_upload_size": self.comfy.max_upload_size} if self.comfy.says_limit else {}

    def do_POST(self) -> None:
        comfy, worker = self.comfy, self.comfy.worker
        length = int(self.headers.get("Content-Length") or 0)
        if length > comfy.max_upload_size:
            self._note()
            self.rfile.read(length)
            self._answer(b"Maximum request body size exceeded", 413, "text/plain")
            return
        raw = self.rfile.read(length)
        if self.path == "/upload/image":
            if self._note():
                self._upload(raw)
            return
        body = json.loads(raw) if raw else None
        if not self._note(body):
            return
        if self.path == "/prompt":
            self._prompt(body)
        elif self.path == "/queue":
            with worker.lock:
                gone = set(body.get("delete", ()))
                kept = [job for job in worker.pending if job.prompt_id not in gone]
                worker.pending.clear()
                worker.pending.extend(kept)
            self._answer()
        elif self.path == "/interrupt":
            wanted = (body or {}).get("prompt_id")
            with worker.lock:
                if worker.running and wanted in (None, worker.running.prompt_id):
                    worker.interrupted = True
            self._answer()
        elif self.path == "/free":
            worker.freed += 1
            worker.cache.clear()
            self._answer()
        else:
            self._answer(status=404)

    def _upload(self, raw: bytes) -> None:
        form = email.message_from_bytes(
            b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + raw, policy=email.policy.HTTP
        )
        fields: dict[str, Any] = {}
        name = ""
        for part in form.iter_parts():
            key = part.get_param("name", header="content-disposition")
            fields[key] = part.get_payload(decode=True)
            if key == "image":
                name = str(part.get_filename())
        folder = self.comfy.folder / "input"
        path = folder / name
        if fields.get("overwrite") not in (b"true", b"1"):
            number = 1
            while path.exists() and _hash(path.read_bytes()) != _hash(fields["image"]):
                path = folder / f"{Path(name).stem} ({number}){Path(name).suffix}"
                number += 1
        path.write_bytes(fields["image"])  # whatever it is
        self._answer({"name": path.name, "subfolder": "", "type": "input"})

    def _prompt(self, body: dict[str, Any]) -> None:
        comfy, worker = self.comfy, self.comfy.worker
        graph = body["prompt"]
        fault = comfy.faults.popleft() if comfy.faults else ""
        errors = validate(graph, comfy)
        if fault == "refuse":
            errors = {"12": node_error("KSampler", "return_type_mismatch", "Return type mismatch", "model, X")}
        if fault == "status_500":
            self._answer(b"500 Internal Server Error", 500, "text/plain")
            return
        if errors:
            summary = {"type": "prompt_outputs_failed_validation", "message": "Prompt outputs failed validation"}
            self._answer({"error": summary | {"details": "", "extra_info": {}}, "node_errors": errors}, 400)
            return
        prompt_id = uuid.uuid4().hex if comfy.own_ids else str(body.get("prompt_id") or uuid.uuid4())
        job = Job(len(comfy.requests), prompt_id, graph, body.get("client_id", ""), fault)
        comfy.send("status", {"status": {"exec_info": {"queue_remaining": 1}}}, None)
        worker.put(job)
        if fault == "swallow":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        bad = {"14": node_error("SaveImage", "required_input_missing", "Required input is missing", "images")}
        self._answer(
            {"prompt_id": prompt_id, "number": job.number, "node_errors": bad if fault == "node_errors_200" else {}}
        )

    def _socket(self, client_id: str) -> None:
        protocol = ServerProtocol()
        lines = [self.requestline, *(f"{key}: {value}" for key, value in self.headers.items()), "", ""]
        protocol.receive_data("\r\n".join(lines).encode())
        request = next(event for event in protocol.events_received() if isinstance(event, Request))
        protocol.send_response(protocol.accept(request))
        each = Socket(self.connection, protocol, client_id)
        with each.lock:
            each._flush()
        with self.comfy.lock:
            self.comfy.sockets.append(each)
        each.write(json.dumps({"type": "status", "data": {"status": {"exec_info": {}}, "sid": client_id}}))
        self.close_connection = True
        each.serve()
        with self.comfy.lock:
            if each in self.comfy.sockets:
                self.comfy.sockets.remove(each)


def validate(graph: dict[str, Any], comfy: ComfyServer) -> dict[str, Any]:
    """node_errors, as far as the tests need them."""
    errors: dict[str, Any] = {}
    for node_id, node in graph.items():
        kind = node["class_type"]
        for name, value in node["inputs"].items():
            inputs = comfy.info[kind]["input"]
            spec = inputs["required"].get(name, inputs["optional"].get(name))
            if kind == "LoadImage" and not (comfy.folder / "input" / value).is_file():
                said = f"image - Invalid image file: {value}"
                errors[node_id] = node_error(kind, "custom_validation_failed", "Custom validation failed", said)
            elif spec is not None and kind != "LoadImage":
                options = spec[0] if isinstance(spec[0], list) else spec[1:] and spec[1].get("options")
                if options and value not in options:
                    said = f"{name}: {value!r} not in {options}"
                    errors[node_id] = node_error(kind, "value_not_in_list", "Value not in list", said)
    return errors


def node_error(kind: str, error: str, message: str, details: str) -> dict[str, Any]:
    """An entry of node_errors."""
    one = {"type": error, "message": message, "details": details, "extra_info": {}}
    return {"errors": [one], "dependent_outputs": ["14"], "class_type": kind}


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
