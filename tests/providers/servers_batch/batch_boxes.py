"""Batch endpoints in each wire format, as routes of a FaultServer: boxes that keep batches and play outcomes.

What comes of a request is told by a function of its custom id: a step's name ("ok", "empty_length", ...), or
"expired" (never processed), "refused_line" (an error of that request), "missing" (not in the results at all).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from fault_server import Call, FaultServer, Response, step


@dataclass
class Batch:
    """One batch as the provider keeps it."""

    id: str
    requests: dict[str, dict[str, Any]]
    """Custom id -> body."""
    name: str = ""
    model: str = ""
    looks: int = 0
    failed: str = ""
    created: float = field(default_factory=time.time)


class Box:
    """What all three have in common; subclasses speak a wire.

    Parameters
    ----------
    outcome
        Custom id -> what comes of it.
    looks
        How often a batch is looked at before it has ended.
    """

    def __init__(
        self, server: FaultServer, outcome: Callable[[str], str] = lambda key: "ok", *, looks: int = 1
    ) -> None:
        self.server, self.outcome, self.looks = server, outcome, looks
        self.batches: list[Batch] = []
        self.files: dict[str, bytes] = {}
        self.deleted: list[str] = []
        self.trouble: list[Callable[[Response], Response]] = []
        """Applied to the answers to the next creations of a batch, one each; the batch is made all the same."""
        self.refuse: list[Response] = []
        """Answers to the next creations instead of making a batch."""
        self.fails = ""
        """Why every batch fails as a whole; "" if it does not."""
        self._route()

    def _route(self) -> None:
        raise NotImplementedError

    @property
    def keys(self) -> list[str]:
        """Every custom id that was ever submitted."""
        return [key for batch in self.batches for key in batch.requests]

    def add(self, requests: dict[str, dict[str, Any]], **about: Any) -> Batch:
        """Keep a batch."""
        batch = Batch(f"batch_{len(self.batches) + 1}", requests, failed=self.fails, **about)
        self.batches.append(batch)
        return batch

    def made(self, response: Response) -> Response:
        """The answer to a creation, spoilt if that is wanted."""
        return self.trouble.pop(0)(response) if self.trouble else response

    def find(self, call: Call, *, look: bool = True) -> Batch:
        """The batch that a path names; each look brings it nearer to its end."""
        found = re.search(r"batch_\d+", call.path)
        assert found
        batch = next(one for one in self.batches if one.id == found[0])
        batch.looks += look
        return batch

    def ended(self, batch: Batch) -> bool:
        return batch.looks >= self.looks

    def play(self, batch: Batch, key: str) -> Response | None:
        """The direct API's answer to one request; None for those that were not processed."""
        kind = self.outcome(key)
        if kind in ("expired", "missing"):
            return None
        body = json.dumps(batch.requests[key]).encode()
        path = f"/v1beta/models/{batch.model or 'm-1'}:generateContent"
        call = Call(0, "POST", path, {}, body, self.server.wire)
        chosen = step("status", code=500) if kind == "refused_line" else step(kind)
        return self.server.wire.render(chosen, call)


def as_json(value: Any, status: int = 200) -> Response:
    return Response(status, json.dumps(value).encode())


def jsonl(rows: list[Any]) -> Response:
    return Response(
        200, b"".join(json.dumps(row).encode() + b"\n" for row in rows), content_type="application/x-jsonl"
    )


class OpenAIBox(Box):
    """POST /v1/files, /v1/batches; GET /v1/batches[/id], /v1/files/id/content; DELETE /v1/files/id."""

    def _route(self) -> None:
        self.server.route("POST", r"^/v1/files$", self._upload)
        self.server.route("POST", r"^/v1/batches$", self._create)
        self.server.route("GET", r"^/v1/batches$", self._list)
        self.server.route("GET", r"^/v1/batches/batch_\d+$", lambda call: as_json(self._show(self.find(call))))
        self.server.route("GET", r"^/v1/files/[^/]+/content$", self._content)
        self.server.route("DELETE", r"^/v1/files/[^/]+$", self._delete)

    def _upload(self, call: Call) -> Response:
        boundary = call.headers["content-type"].partition("boundary=")[2].encode()
        parts = [part.strip(b"\r\n") for part in call.body.split(b"--" + boundary) if b"filename=" in part]
        assert b'name="purpose"\r\n\r\nbatch' in call.body
        name = f"file-{len(self.files) + 1}"
        self.files[name] = parts[0].partition(b"\r\n\r\n")[2]
        about = {"object": "file", "bytes": 1, "created_at": 1, "filename": "f", "purpose": "batch"}
        return as_json({"id": name, "status": "processed", **about})

    def _create(self, call: Call) -> Response:
        if self.refuse:
            return self.refuse.pop(0)
        wanted = call.json
        assert wanted["endpoint"] == "/v1/chat/completions" and wanted["completion_window"] == "24h"
        lines = [json.loads(line) for line in self.files[wanted["input_file_id"]].splitlines()]
        assert all(line["method"] == "POST" and line["url"] == wanted["endpoint"] for line in lines)
        batch = self.add({line["custom_id"]: line["body"] for line in lines}, name=wanted["metadata"]["signpost"])
        return self.made(as_json(self._show(batch, wanted["input_file_id"])))

    def _show(self, batch: Batch, file: str = "file-1") -> dict[str, Any]:
        status = ("failed" if batch.failed else "completed") if self.ended(batch) else "in_progress"
        errors = {"object": "list", "data": [{"code": "x", "message": batch.failed}]} if batch.failed else None
        files = {}
        if status == "completed":
            files = {"output_file_id": f"output-{batch.id}", "error_file_id": f"errors-{batch.id}"}
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "created_at": int(batch.created),
            "input_file_id": file,
            "status": status,
            "errors": errors,
            "metadata": {"signpost": batch.name},
            "request_counts": {"total": len(batch.requests), "completed": 0, "failed": 0},
            **files,
        }

    def _list(self, call: Call) -> Response:
        data = [self._show(batch) for batch in reversed(self.batches)]
        return as_json({"object": "list", "data": data, "has_more": False, "first_id": None, "last_id": None})

    def _content(self, call: Call) -> Response:
        batch, output = self.find(call, look=False), "/output-" in call.path
        rows = []
        for key in reversed(batch.requests):  # in any order
            played = self.play(batch, key)
            good = played is not None and played.status < 400
            if self.outcome(key) == "missing" or good != output:
                continue
            reply = None
            if played is not None:
                reply = {"status_code": played.status, "request_id": "r", "body": json.loads(played.body)}
            error = None if reply else {"code": "batch_expired", "message": "not executed within the window"}
            rows.append({"id": "br", "custom_id": key, "response": reply, "error": error})
        return jsonl(rows)

    def _delete(self, call: Call) -> Response:
        self.deleted.append(call.path.rpartition("/")[2])
        return as_json({"id": self.deleted[-1], "object": "file", "deleted": True})


class AnthropicBox(Box):
    """POST and GET /v1/messages/batches[/id[/results]]."""

    def _route(self) -> None:
        self.server.route("POST", r"^/v1/messages/batches$", self._create)
        self.server.route("GET", r"^/v1/messages/batches$", self._list)
        self.server.route("GET", r"batches/batch_\d+$", lambda call: as_json(self._show(self.find(call))))
        self.server.route("GET", r"batches/batch_\d+/results$", self._results)

    def _create(self, call: Call) -> Response:
        if self.refuse:
            return self.refuse.pop(0)
        batch = self.add({line["custom_id"]: line["params"] for line in call.json["requests"]})
        return self.made(as_json(self._show(batch)))

    def _show(self, batch: Batch) -> dict[str, Any]:
        ended, n = self.ended(batch), len(batch.requests)
        created = datetime.fromtimestamp(batch.created, timezone.utc).isoformat()
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts | {"succeeded" if ended else "processing": n},
            "created_at": created,
            "expires_at": created,
            "results_url": f"{self.server.root}/v1/messages/batches/{batch.id}/results" if ended else None,
        }

    def _list(self, call: Call) -> Response:
        data = [self._show(batch) for batch in reversed(self.batches)]
        return as_json({"data": data, "has_more": False, "first_id": None, "last_id": None})

    def _results(self, call: Call) -> Response:
        batch, rows = self.find(call, look=False), []
        for key in reversed(batch.requests):
            if self.outcome(key) == "missing":
                continue
            played = self.play(batch, key)
            if played is None:
                result: dict[str, Any] = {"type": "expired"}
            elif played.status < 400:
                result = {"type": "succeeded", "message": json.loads(played.body)}
            else:
                result = {"type": "errored", "error": json.loads(played.body)}
            rows.append({"custom_id": key, "result": result})
        return jsonl(rows)


class GoogleBox(Box):
    """Resumable upload, :batchGenerateContent, operations under batches/, download of the replies' file."""

    def _route(self) -> None:
        self.server.route("POST", r"^/upload/v1beta/files$", self._upload)
        self.server.route("POST", r":batchGenerateContent$", self._create)
        self.server.route("GET", r"^/v1beta/batches$", self._list)
        self.server.route("GET", r"^/v1beta/batches/batch_\d+$", lambda call: as_json(self._show(self.find(call))))
        self.server.route("GET", r"files/batch_\d+:download$", self._download)

    def _upload(self, call: Call) -> Response:
        if call.headers.get("x-goog-upload-command") == "start":
            name = f"files/f{len(self.files) + 1}"
            self.files[name] = b""
            where = f"{self.server.root}/upload/v1beta/files?upload_id={name}"
            return Response(200, b"{}", {"x-goog-upload-url": where, "x-goog-upload-status": "active"})
        name = call.path.partition("upload_id=")[2].replace("%2F", "/")
        self.files[name] += call.body
        final = "finalize" in call.headers["x-goog-upload-command"]
        response = as_json({"file": {"name": name, "uri": name, "sizeBytes": str(len(self.files[name]))}})
        response.headers["x-goog-upload-status"] = "final" if final else "active"
        return response

    def _create(self, call: Call) -> Response:
        if self.refuse:
            return self.refuse.pop(0)
        wanted = call.json["batch"]
        lines = [json.loads(line) for line in self.files[wanted["inputConfig"]["fileName"]].splitlines()]
        model = call.path.rpartition("/")[2].partition(":")[0]
        batch = self.add({line["key"]: line["request"] for line in lines}, name=wanted["displayName"], model=model)
        return self.made(as_json(self._show(batch)))

    def _show(self, batch: Batch) -> dict[str, Any]:
        state = ("FAILED" if batch.failed else "SUCCEEDED") if self.ended(batch) else "RUNNING"
        metadata = {
            "displayName": batch.name,
            "state": f"BATCH_STATE_{state}",
            "createTime": datetime.fromtimestamp(batch.created, timezone.utc).isoformat(),
            "model": f"models/{batch.model}",
        }
        if state == "SUCCEEDED":
            metadata["output"] = {"responsesFile": f"files/{batch.id}"}
        shown: dict[str, Any] = {"name": f"batches/{batch.id}", "metadata": metadata}
        if batch.failed:
            shown["error"] = {"code": 3, "message": batch.failed}
        return shown

    def _list(self, call: Call) -> Response:
        return as_json({"operations": [self._show(batch) for batch in reversed(self.batches)]})

    def _download(self, call: Call) -> Response:
        batch, rows = self.find(call, look=False), []
        for key in reversed(batch.requests):
            if self.outcome(key) == "missing":
                continue
            played = self.play(batch, key)
            if played is not None and played.status < 400:
                rows.append({"key": key, "response": json.loads(played.body)})
            else:
                error = {"code": 4, "message": "expired"} if played is None else json.loads(played.body)["error"]
                rows.append({"key": key, "error": error})
        return jsonl(rows)


BOXES = {"openai": OpenAIBox, "anthropic": AnthropicBox, "google": GoogleBox}
