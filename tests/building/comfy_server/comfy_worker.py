"""The stand-in's queue, its one worker, its cache and its history, with the order and the races of real servers.

Measured order of messages: status, execution_start, execution_cached, progress / executing / executed for each node,
execution_success, (only now the history), status, executing with node null.
"""

from __future__ import annotations

import hashlib
import io
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comfy_nodes import Painter
from PIL import Image, PngImagePlugin


@dataclass
class Job:
    number: int
    prompt_id: str
    graph: dict[str, Any]
    client_id: str
    fault: str = ""

    def as_queued(self) -> list[Any]:
        return [self.number, self.prompt_id, self.graph, {"client_id": self.client_id}, ["save"]]


class Interrupted(Exception):
    pass


class NodeFailed(Exception):
    def __init__(self, node_id: str, kind: str, exception_type: str, message: str) -> None:
        super().__init__(message)
        self.data = {
            "node_id": node_id,
            "node_type": kind,
            "exception_type": exception_type,
            "exception_message": message,
            "traceback": ["  File ...\n"],
        }


@dataclass
class Worker:
    """Runs jobs one after the other in a thread. `send(event, data, client_id)` puts a message on the socket."""

    folder: Path
    send: Any
    painter: Painter
    step_s: float = 0.01
    history_late_s: float | Callable[[], float] = 0.0
    """Between execution_success and the history."""
    preview_bytes: int = 0
    pending: deque[Job] = field(default_factory=deque)
    running: Job | None = None
    history: dict[str, Any] = field(default_factory=dict)
    ran: list[Job] = field(default_factory=list)
    """Every job that began, in order."""
    made: list[tuple[str, int]] = field(default_factory=list)
    """(prompt, seed) of every sampling that was done, not taken from the cache."""
    freed: int = 0
    cache: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lock = threading.Condition()
        self.interrupted = self.ended = False
        self.files = 0
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()

    def put(self, job: Job) -> None:
        with self.lock:
            self.pending.append(job)
            self.lock.notify_all()

    def end(self) -> None:
        with self.lock:
            self.ended = self.interrupted = True
            self.lock.notify_all()
        self.thread.join(10)

    def _loop(self) -> None:
        while True:
            with self.lock:
                while not self.pending and not self.ended:
                    self.lock.wait()
                if self.ended:
                    return
                job = self.running = self.pending.popleft()
                self.interrupted = False
                self.ran.append(job)
            self._run(job)

    def _run(self, job: Job) -> None:
        messages: list[Any] = []

        def tell(event: str, data: dict[str, Any], *, kept: bool = False) -> None:
            if kept:
                messages.append([event, data | {"timestamp": int(time.time() * 1000)}])
            self.send(event, data, job.client_id)

        about = {"prompt_id": job.prompt_id}
        tell("execution_start", about, kept=True)
        outputs: dict[str, Any] = {}
        status = "success"
        try:
            self._execute(job, outputs, tell)
            tell("execution_success", about, kept=True)
        except Interrupted:
            status = "error"
            tell(
                "execution_interrupted",
                about | {"node_id": "1", "node_type": "KSampler", "executed": []},
                kept=True,
            )
        except NodeFailed as error:
            status = "error"
            tell("execution_error", about | error.data | {"executed": []}, kept=True)
        time.sleep(self.history_late_s() if callable(self.history_late_s) else self.history_late_s)
        with self.lock:
            if self.ended:
                return
            self.running = None
            if job.fault != "forgotten":
                self.history[job.prompt_id] = {
                    "prompt": job.as_queued(),
                    "outputs": outputs,
                    "status": {"status_str": status, "completed": status == "success", "messages": messages},
                    "meta": {},
                }
        self.send("status", {"status": {"exec_info": {"queue_remaining": len(self.pending)}}}, None)
        tell("executing", about | {"node": None})

    def _execute(self, job: Job, outputs: dict[str, Any], tell: Any) -> None:
        about = {"prompt_id": job.prompt_id}
        order = _order(job.graph)
        marks: dict[str, str] = {}
        for node_id in order:
            marks[node_id] = _mark(job.graph[node_id], marks)
        cached = [node_id for node_id in order if marks[node_id] in self.cache]
        tell("execution_cached", about | {"nodes": cached}, kept=True)
        values: dict[str, Any] = {}
        for node_id in order:
            node = job.graph[node_id]
            if node_id in cached:
                values[node_id] = self.cache[marks[node_id]]
            else:
                tell("progress_state", about | {"nodes": {node_id: {"value": 0, "max": 1, "state": "running"}}})
                tell("executing", about | {"node": node_id, "display_node": node_id})
                values[node_id] = self._node(job, node_id, node, values, tell)
                self.cache[marks[node_id]] = values[node_id]
            if node["class_type"] == "SaveImage" and job.fault != "no_picture":
                outputs[node_id] = {"images": [values[node_id]]}
                tell("executed", about | {"node": node_id, "output": outputs[node_id]})

    def _node(self, job: Job, node_id: str, node: dict[str, Any], values: dict[str, Any], tell: Any) -> Any:
        kind = node["class_type"]
        given = {k: values[v[0]] if isinstance(v, list) else v for k, v in node["inputs"].items()}
        if kind == "LoadImage":
            try:
                return Image.open(self.folder / "input" / given["image"]).convert("RGB")
            except OSError as error:
                raise NodeFailed(node_id, kind, "PIL.UnidentifiedImageError", str(error)) from error
        if kind == "ImageScale":
            return given["image"].resize((given["width"], given["height"]), Image.Resampling.LANCZOS)
        if kind == "TextEncodeQwenImageEditPlus":
            return given["prompt"]
        if kind == "VAEEncode":
            return given["pixels"]
        if kind == "KSampler":
            return self._sample(job, node_id, given, tell)
        if kind == "VAEDecode":
            return given["samples"]
        if kind == "SaveImage":
            return self._save(job, given)
        return kind  # loaders and patches of models

    def _sample(self, job: Job, node_id: str, given: dict[str, Any], tell: Any) -> Image.Image:
        if job.fault == "node_error":
            raise NodeFailed(node_id, "KSampler", "RuntimeError", "mat1 and mat2 shapes cannot be multiplied")
        if job.fault == "oom_always" or (job.fault == "oom" and not self.freed):
            raise NodeFailed(
                node_id, "KSampler", "torch.OutOfMemoryError", "Allocation on device 0 would exceed allowed memory."
            )
        steps = given["steps"]
        step = 0
        while step < steps or job.fault == "hang":
            end = time.monotonic() + self.step_s
            while (left := end - time.monotonic()) > 0 and not self.interrupted:
                time.sleep(min(left, 0.01))
            if self.interrupted or job.fault == "interrupted":
                raise Interrupted
            step = min(step + 1, steps)
            about = {"prompt_id": job.prompt_id, "node": node_id}
            tell("progress", about | {"value": step, "max": steps})
            if self.preview_bytes:
                self.send(None, b"\0\0\0\1\0\0\0\1" + bytes(self.preview_bytes), job.client_id)
        self.made.append((given["positive"], given["seed"]))
        return self.painter(given["latent_image"], given["positive"], given["seed"])

    def _save(self, job: Job, given: dict[str, Any]) -> dict[str, str]:
        prefix = Path(given["filename_prefix"])
        self.files += 1
        name = f"{prefix.name}_{self.files:05d}_.png"
        place = self.folder / "output" / prefix.parent
        place.mkdir(parents=True, exist_ok=True)
        note = PngImagePlugin.PngInfo()
        note.add_text("prompt", json.dumps(job.graph))
        buffer = io.BytesIO()
        given["images"].save(buffer, "PNG", pnginfo=note)
        data = b"<html>not a picture</html>" if job.fault == "not_a_picture" else buffer.getvalue()
        (place / name).write_bytes(data)
        return {"filename": name, "subfolder": str(prefix.parent), "type": "output"}


def _order(graph: dict[str, Any]) -> list[str]:
    done: list[str] = []

    def visit(node_id: str) -> None:
        if node_id not in done:
            for value in graph[node_id]["inputs"].values():
                if isinstance(value, list):
                    visit(value[0])
            done.append(node_id)

    for node_id in graph:
        visit(node_id)
    return done


def _mark(node: dict[str, Any], marks: dict[str, str]) -> str:
    """What a node's result depends on."""
    inputs = {k: marks[v[0]] if isinstance(v, list) else v for k, v in node["inputs"].items()}
    return hashlib.sha256(json.dumps([node["class_type"], inputs], sort_keys=True).encode()).hexdigest()
