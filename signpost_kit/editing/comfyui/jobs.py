"""The life of one job on one server: upload, submit, wait, fetch; and each way in which that can end.

The history is the result and is polled; the socket only says when to look at once. A job that is neither in the
queue nor, read after it, in the history (twice) was lost with a restart of the server.
"""

from __future__ import annotations

import contextlib
import io
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from signpost_kit.editing.comfyui.client import File, Unclear
from signpost_kit.editing.comfyui.events import Watched
from signpost_kit.editing.comfyui.faults import (
    Cancelled,
    EditFailed,
    ExecutionFailed,
    GraphRefused,
    JobLost,
    ServerGone,
)
from signpost_kit.editing.comfyui.graph import INPUT_NODES, OUTPUT_NODE, build_graph, fits, working_size
from signpost_kit.editing.comfyui.server import Picture, Server
from signpost_kit.errors import ConfigError, SignpostError

__all__ = ["Edit", "Edited", "Limits", "run_job"]


_OWN_FAULT = (
    408,
    425,
    429,
    500,
)  # statuses of a server that is there; 502 to 504 are a proxy's whose server is not


@dataclass(frozen=True)
class Limits:
    """How long to wait for what, in seconds."""

    timeout_s: float = 600.0
    """For an edit, from when it begins to run."""
    queue_s: float = 3600.0
    """In a server's queue, behind the jobs of others."""
    poll_s: float = 1.5
    """Between looks at the history."""
    patience_s: float = 30.0
    """For a server that has stopped answering; then the job goes elsewhere."""
    revive_s: float = 300.0
    """For any server to come back when none answers."""
    free_pause_s: float = 2.0
    """After asking for memory to be freed, which the server does when it next looks at its queue."""
    resubmits: int = 3
    """Times that a lost job is submitted again (a number, not seconds)."""


@dataclass(frozen=True)
class Edit:
    """What is asked of a server."""

    picture: Picture
    prompt: str
    seed: int


@dataclass(frozen=True)
class Edited:
    """What came back."""

    png: bytes
    """The bytes of the file as the server wrote it."""
    size: tuple[int, int]
    """Its width and height."""
    asked_size: tuple[int, int]
    """The working size that was asked for."""
    server: str
    file: str
    prompt_id: str
    seconds: float
    """From the submission of the job that succeeded to its picture."""
    freed_memory: bool = False
    """It ran out of memory at first, and succeeded after freeing."""
    resubmitted: int = 0
    """Times that the job was lost before."""


def run_job(server: Server, edit: Edit, *, limits: Limits, stopped: Callable[[], bool]) -> Edited:
    """Have one edit done by one server.

    Raises
    ------
    EditFailed
        This picture cannot be edited: a node failed, the time is up, no picture came out.
    JobLost, ServerGone
        Submit it again, there or elsewhere.
    Cancelled
        `stopped` became true; the job was taken out of the queue or interrupted.
    ConfigError
        The server refuses the graph for a reason that concerns every picture.
    """
    try:
        return _attempt(server, edit, limits, stopped)
    except ExecutionFailed as error:
        if not error.out_of_memory:
            raise
    server.client.free()
    _sleep(limits.free_pause_s, stopped)
    try:
        return replace(_attempt(server, edit, limits, stopped), freed_memory=True)
    except ExecutionFailed as error:
        if error.out_of_memory:
            raise EditFailed(f"{error} (also after the models were unloaded and memory was freed)") from error
        raise


def _attempt(server: Server, edit: Edit, limits: Limits, stopped: Callable[[], bool]) -> Edited:
    if stopped():
        raise Cancelled
    size = working_size(edit.picture.width, edit.picture.height)
    if not fits(size):
        raise EditFailed(
            f"the picture is too long and narrow to be edited: {edit.picture.width} x {edit.picture.height} pixels"
        )
    prompt_id = str(uuid.uuid4())
    with server.listener.watch(prompt_id) as watched:
        began = time.monotonic()
        given = _submit(server, edit, size, prompt_id)
        # An older server chooses the ids itself: no hints then, only the history.
        hints = watched if given == prompt_id else Watched()
        try:
            entry = _wait(server, given, hints, limits, stopped)
        except (KeyboardInterrupt, SystemExit):
            _stop(server, given)
            raise
        file = _result(entry) if entry is not None else _told(hints)
        png, found = _fetch(server, file)
    return Edited(
        png=png,
        size=found,
        asked_size=size,
        server=server.name,
        file=file.path,
        prompt_id=given,
        seconds=time.monotonic() - began,
    )


def _submit(server: Server, edit: Edit, size: tuple[int, int], prompt_id: str) -> str:
    for again in (False, True):
        image = server.upload(edit.picture, size).path
        graph = build_graph(
            server.recipe,
            image=image,
            size=size,
            prompt=edit.prompt,
            seed=edit.seed,
            filename_prefix=f"signpost/{prompt_id}",
        )
        try:
            return server.client.submit(graph, prompt_id)
        except Unclear:
            return prompt_id  # it may have arrived: the queue and the history will tell
        except ServerGone as error:
            if error.status in _OWN_FAULT:
                raise JobLost(str(error)) from error
            raise
        except GraphRefused as error:
            if not error.only_in(INPUT_NODES):
                raise ConfigError(f"the ComfyUI server {server.address.base} refuses the graph: {error}") from error
            if again:
                raise EditFailed(f"{server.name} cannot read the picture: {error}") from error
            server.forget(edit.picture)  # its input folder was emptied
    raise AssertionError("unreachable")


def _wait(
    server: Server, prompt_id: str, watched: Watched, limits: Limits, stopped: Callable[[], bool]
) -> dict[str, Any] | None:
    """The job's record in the history, once it is there; None if the server knows nothing of the job (any more)."""
    client = server.client
    submitted = time.monotonic()
    running: float | None = None
    silent: float | None = None
    absent: float | None = None
    while True:
        watched.news.clear()
        now = time.monotonic()
        try:
            place = client.place(prompt_id)  # before the history: a job moves from the one to the other at once
            entry = client.history(prompt_id)
        except ServerGone as error:
            silent = now if silent is None else silent
            if now - silent >= limits.patience_s:
                error.under_way = running is not None or watched.started
                raise
        else:
            silent = None
            if entry is not None:
                return entry
            if place.running or place.pending:
                absent = None
            elif absent is None:
                absent = now
            elif now - absent >= 0.9 * limits.poll_s:
                return None
            if running is None and (place.running or watched.started):
                running = now
        if stopped():
            _stop(server, prompt_id)
            raise Cancelled
        if running is not None and now - running > limits.timeout_s:
            _stop(server, prompt_id)
            raise EditFailed(_too_long(server, watched, limits))
        if running is None and now - submitted > limits.queue_s:
            _stop(server, prompt_id)
            raise EditFailed(
                f"the edit did not begin on {server.name} within {limits.queue_s:.0f} s: its queue is full"
            )
        watched.news.wait(limits.poll_s)


def _too_long(server: Server, watched: Watched, limits: Limits) -> str:
    at = f", step {watched.step} of {watched.steps}" if watched.steps else ""
    where = f" (at node {watched.node}{at})" if watched.node else ""
    return (
        f"the edit took longer than {limits.timeout_s:.0f} s on {server.name}{where}: raise editing.timeout_s, "
        "or take fewer steps"
    )


def _stop(server: Server, prompt_id: str) -> None:
    with contextlib.suppress(ServerGone, SignpostError):
        server.client.stop(prompt_id)


def _result(entry: dict[str, Any]) -> File:
    """The picture that a record of the history names."""
    status = entry.get("status") or {}
    if status.get("status_str") == "error":
        for kind, data in reversed(_messages(status)):
            if kind == "execution_interrupted":
                raise JobLost("somebody stopped the job on the server")
            if kind == "execution_error":
                raise ExecutionFailed.read(data)
        raise EditFailed("the server says that the job failed, but not why")
    return _first_picture(entry.get("outputs"))


def _messages(status: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for message in status.get("messages") or ():
        if isinstance(message, list | tuple) and len(message) == 2 and isinstance(message[1], dict):
            found.append((str(message[0]), message[1]))
    return found


def _told(watched: Watched) -> File:
    """What the socket told of a job that the server knows no more (its history was cleared); JobLost if nothing."""
    if watched.last is not None:
        kind, data = watched.last
        if kind == "execution_error":
            raise ExecutionFailed.read(data)
        if kind == "execution_success":
            return _first_picture(watched.outputs)
    raise JobLost("the server has forgotten the job (was it restarted?)")


def _first_picture(outputs: Any) -> File:
    """Of the output node; the name is the server's (a cached run names an older file)."""
    outputs = outputs if isinstance(outputs, dict) else {}
    for images in (outputs.get(OUTPUT_NODE) or {}).get("images") or ():
        if images.get("filename"):
            return File(
                str(images["filename"]), str(images.get("subfolder") or ""), str(images.get("type") or "output")
            )
    raise JobLost("the job ended without a picture")


def _fetch(server: Server, file: File) -> tuple[bytes, tuple[int, int]]:
    from PIL import Image

    data = server.client.view(file)
    if data is None:
        raise JobLost(f"{server.name} no longer has {file.path}")
    try:
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            return data, image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise EditFailed(f"what {server.name} returned as {file.path} is no picture ({error})") from error


def _sleep(seconds: float, stopped: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if stopped():
            raise Cancelled
        time.sleep(min(left, 0.2))
