"""The batch endpoints of three providers, behind one small interface; over the official SDKs.

Each turns a file of request lines into a batch, tells how it is getting on, and gives back (custom id, reply) pairs
as JSON. What a body looks like and what a reply means is the client's (:mod:`signpost_kit.models.client`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from signpost_kit.models.client import Client

__all__ = ["BatchApi", "BatchResult", "BatchState", "batch_api"]

_TAG = "signpost"  # the metadata field that carries our name at OpenAI


@dataclass(frozen=True)
class BatchState:
    """How a batch is getting on."""

    ended: bool
    """No more replies will come; what is there can be fetched."""
    failed: str = ""
    """Why the batch as a whole was refused or failed; "" if it was not."""
    done: int = 0
    """Replies so far, where the provider tells."""


@dataclass(frozen=True)
class BatchResult:
    """What came of one request."""

    custom_id: str
    body: Any
    """The reply's (or error's) JSON; None when the request was never processed (expired, cancelled)."""
    status: int = 200


class BatchApi(Protocol):
    """One provider's endpoint. Every method raises whatever the SDK raises."""

    most_requests: int
    most_bytes: int

    def line(self, custom_id: str, body: dict[str, Any]) -> bytes:
        """One request as a line of the file, with its line end."""
        ...

    async def send(self, name: str, path: Path) -> str:
        """Make a batch of the lines in a file; the provider's id."""
        ...

    async def find(self, name: str, *, size: int, since: float, known: Collection[str]) -> str | None:
        """The id of a batch that was sent under `name` (or looks just like it) but never written down."""
        ...

    async def state(self, remote: str) -> BatchState:
        """How it is getting on."""
        ...

    def results(self, remote: str) -> AsyncIterator[BatchResult]:
        """The replies of a batch that has ended, in any order."""
        ...

    async def tidy(self, remote: str) -> None:
        """Remove what we uploaded, once everything has been fetched."""
        ...


def batch_api(client: Any) -> BatchApi | None:
    """The batch endpoint of a client's provider; None where there is none."""
    provider = getattr(getattr(client, "spec", None), "provider", "")
    made = {"openai": _OpenAI, "anthropic": _Anthropic, "google": _Google}.get(provider)
    return None if made is None else made(client)


class _OpenAI:
    """OpenAI's Batch API: a file of lines, a batch of that file, a file of replies and one of errors."""

    most_requests, most_bytes = 50_000, 190_000_000  # the API allows 50,000 and 200 MB

    def __init__(self, client: Client) -> None:
        self._client = client

    def line(self, custom_id: str, body: dict[str, Any]) -> bytes:
        about = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions"}
        return msgspec.json.encode({**about, "body": body}) + b"\n"

    async def send(self, name: str, path: Path) -> str:
        sdk = await self._client._sdk()
        file = await sdk.files.create(file=path, purpose="batch")
        batch = await sdk.batches.create(
            input_file_id=file.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={_TAG: name},
        )
        return batch.id

    async def find(self, name: str, *, size: int, since: float, known: Collection[str]) -> str | None:
        sdk = await self._client._sdk()
        async for batch in sdk.batches.list(limit=100):
            if (batch.metadata or {}).get(_TAG) == name:
                return batch.id
            if batch.created_at < since - 3600:  # newest first
                break
        return None

    async def state(self, remote: str) -> BatchState:
        sdk = await self._client._sdk()
        batch = await sdk.batches.retrieve(remote)
        counts = batch.request_counts
        done = (counts.completed + counts.failed) if counts else 0
        said = "; ".join(str(error.message) for error in (batch.errors.data if batch.errors else None) or [])
        if batch.status == "failed":
            return BatchState(True, said or "the batch failed")
        return BatchState(batch.status in ("completed", "expired", "cancelled"), "", done)

    async def results(self, remote: str) -> AsyncIterator[BatchResult]:
        sdk = await self._client._sdk()
        batch = await sdk.batches.retrieve(remote)
        for file in (batch.output_file_id, batch.error_file_id):
            if not file:
                continue
            async with sdk.files.with_streaming_response.content(file) as response:
                async for text in response.iter_lines():
                    if not text.strip():
                        continue
                    row = json.loads(text)
                    reply = row.get("response") or {}
                    status = int(reply.get("status_code") or 0)
                    yield BatchResult(str(row.get("custom_id")), reply.get("body"), status)

    async def tidy(self, remote: str) -> None:
        sdk = await self._client._sdk()
        batch = await sdk.batches.retrieve(remote)
        await sdk.files.delete(batch.input_file_id)


class _Anthropic:
    """Anthropic's Message Batches: all requests in one call. They carry no name of ours."""

    most_requests, most_bytes = 10_000, 60_000_000  # the API allows 100,000 and 256 MB; they are sent from memory

    def __init__(self, client: Client) -> None:
        self._client = client

    def line(self, custom_id: str, body: dict[str, Any]) -> bytes:
        return msgspec.json.encode({"custom_id": custom_id, "params": body}) + b"\n"

    async def send(self, name: str, path: Path) -> str:
        sdk = await self._client._sdk()
        requests = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
        batch = await sdk.messages.batches.create(requests=[], extra_body={"requests": requests})
        return batch.id

    async def find(self, name: str, *, size: int, since: float, known: Collection[str]) -> str | None:
        """By time and number of requests; if it is another's after all, none of its ids will match."""
        sdk = await self._client._sdk()
        found = None
        async for batch in sdk.messages.batches.list(limit=100):
            created = batch.created_at.timestamp()
            if created < since - 300:  # newest first; clocks may differ
                break
            counts = batch.request_counts
            total = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
            if batch.id not in known and total == size:
                found = batch.id  # the oldest one that fits
        return found

    async def state(self, remote: str) -> BatchState:
        sdk = await self._client._sdk()
        batch = await sdk.messages.batches.retrieve(remote)
        counts = batch.request_counts
        gone = "its results are no longer kept there" if getattr(batch, "archived_at", None) else ""
        return BatchState(batch.processing_status == "ended", gone, counts.succeeded + counts.errored)

    async def results(self, remote: str) -> AsyncIterator[BatchResult]:
        sdk = await self._client._sdk()
        async for row in await sdk.messages.batches.results(remote):
            result = row.result
            if result.type == "succeeded":
                yield BatchResult(row.custom_id, result.message.to_dict(mode="json"))
            elif result.type == "errored":
                yield BatchResult(row.custom_id, result.error.to_dict(mode="json"), 400)
            else:
                yield BatchResult(row.custom_id, None, 0)

    async def tidy(self, remote: str) -> None:
        """Nothing: deleting a batch would delete its results too."""


class _Google:
    """Gemini's batch mode: an uploaded file of lines, a job with our display name, a file of replies."""

    most_requests, most_bytes = 50_000, 500_000_000  # the API allows files of 2 GB

    def __init__(self, client: Client) -> None:
        self._client = client

    def line(self, custom_id: str, body: dict[str, Any]) -> bytes:
        return msgspec.json.encode({"key": custom_id, "request": body}) + b"\n"

    async def send(self, name: str, path: Path) -> str:
        sdk = (await self._client._sdk()).client.aio
        file = await sdk.files.upload(
            file=str(path), config={"mime_type": "application/jsonl", "display_name": name}
        )
        job = await sdk.batches.create(
            model=self._client.spec.model_id, src=file.name, config={"display_name": name}
        )
        return job.name

    async def find(self, name: str, *, size: int, since: float, known: Collection[str]) -> str | None:
        sdk = (await self._client._sdk()).client.aio
        async for job in await sdk.batches.list(config={"page_size": 100}):
            if job.display_name == name:
                return job.name
            if job.create_time is not None and job.create_time.timestamp() < since - 3600:
                break
        return None

    async def state(self, remote: str) -> BatchState:
        sdk = (await self._client._sdk()).client.aio
        job = await sdk.batches.get(name=remote)
        state = str(getattr(job.state, "name", job.state) or "")
        if state == "JOB_STATE_FAILED":
            return BatchState(True, str(getattr(job.error, "message", "") or "the batch failed"))
        ended = ("SUCCEEDED", "PARTIALLY_SUCCEEDED", "CANCELLED", "EXPIRED")
        return BatchState(state.removeprefix("JOB_STATE_") in ended)

    async def results(self, remote: str) -> AsyncIterator[BatchResult]:
        sdk = (await self._client._sdk()).client.aio
        job = await sdk.batches.get(name=remote)
        if job.dest is None or not job.dest.file_name:
            return
        with tempfile.TemporaryDirectory(prefix="signpost-") as folder:
            path = Path(folder) / "replies.jsonl"
            await sdk.files.download(file=job.dest.file_name, destination=str(path))
            with path.open("rb") as handle:
                for text in handle:
                    if not text.strip():
                        continue
                    row = json.loads(text)
                    key = str(row.get("key") or (row.get("metadata") or {}).get("key"))
                    if row.get("response") is not None:
                        yield BatchResult(key, row["response"])
                    else:
                        yield BatchResult(key, {"error": row.get("error") or row.get("status") or {}}, 400)

    async def tidy(self, remote: str) -> None:
        """Nothing: the uploaded file goes by itself after 48 hours, and the job does not tell its name."""
