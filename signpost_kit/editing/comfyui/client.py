"""The HTTP side of one ComfyUI server: one request per call; what a failure means is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from signpost_kit.editing.comfyui.address import Address
from signpost_kit.editing.comfyui.faults import EditFailed, GraphRefused, ServerGone
from signpost_kit.errors import ConfigError

if TYPE_CHECKING:
    import httpx

__all__ = ["Client", "File", "Place", "TooLarge", "Unclear"]

_CONNECT_S, _READ_S = 10.0, 60.0
_TRANSIENT = (408, 425, 429, 500, 502, 503, 504)


class TooLarge(Exception):
    """The server takes no body of that size (413)."""


class Unclear(ServerGone):
    """A request went out, but no answer came: whether the server acted on it is not known."""


@dataclass(frozen=True)
class File:
    """A file on the server, as the server named it."""

    name: str
    subfolder: str = ""
    kind: str = "input"
    """input, output or temp."""

    @property
    def path(self) -> str:
        """As a LoadImage node names it."""
        return f"{self.subfolder}/{self.name}" if self.subfolder else self.name


@dataclass(frozen=True)
class Place:
    """Where a job is in the server's queue."""

    running: bool
    pending: bool


class Client:
    """One server. Safe to use from several threads.

    Raises, in every call: ServerGone if there is no usable answer (Unclear if the request may have arrived),
    ConfigError if something that is no ComfyUI server answers.
    """

    def __init__(self, address: Address, client_id: str) -> None:
        import httpx

        self.address, self.client_id = address, client_id
        # A proxy of the environment is for the world outside, never for a server on this machine.
        self._http = httpx.Client(
            base_url=address.base + "/",
            timeout=httpx.Timeout(_READ_S, connect=_CONNECT_S),
            limits=httpx.Limits(max_connections=64, max_keepalive_connections=8),
            trust_env=not address.loopback,
            verify=address.base.startswith("https:"),  # reading the certificates takes a while
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def features(self) -> dict[str, Any]:
        """What the server says it can do; empty on servers that have no such route."""
        try:
            return self._json("GET", "features")
        except ConfigError:
            return {}

    def max_upload_bytes(self) -> int | None:
        """The largest body that the server takes; None when it does not say."""
        size = self.features().get("max_upload_size")
        return int(size) if isinstance(size, int | float) and size > 0 else None

    def object_info(self) -> dict[str, Any]:
        """All node classes of the server, with their inputs and choices."""
        return self._json("GET", "object_info")

    def upload(self, data: bytes, name: str) -> File:
        """Put a picture into the server's input folder; the answer says under which name.

        The same name with other bytes is renamed by the server, with the same bytes it is kept.
        """
        response = self._send("POST", "upload/image", files={"image": (name, data, "image/png")})
        if response.status_code == 413:
            raise TooLarge(f"{self.address.name} takes no upload of {len(data):,} bytes")
        answer = self._read(response, "upload/image")
        return File(str(answer["name"]), str(answer.get("subfolder") or ""), str(answer.get("type") or "input"))

    def submit(self, graph: dict[str, Any], prompt_id: str) -> str:
        """Queue a graph; return the id that the server gave it (older servers choose their own).

        Raises
        ------
        GraphRefused
            Status 400, or 200 with errors of nodes (then the job is taken out of the queue again).
        """
        body = {"prompt": graph, "client_id": self.client_id, "prompt_id": prompt_id}
        response = self._send("POST", "prompt", json=body)
        if response.status_code == 413:
            raise EditFailed(f"{self.address.name} takes no graph of that size")
        if response.status_code == 400:
            raise _refused(response)
        answer = self._read(response, "prompt")
        given = str(answer.get("prompt_id") or prompt_id)
        if answer.get("node_errors"):
            self.stop(given)
            raise GraphRefused("", answer["node_errors"])
        return given

    def place(self, prompt_id: str) -> Place:
        """Whether a job is waiting or running."""
        queue = self._json("GET", "queue")
        return Place(
            running=_holds(queue.get("queue_running"), prompt_id),
            pending=_holds(queue.get("queue_pending"), prompt_id),
        )

    def history(self, prompt_id: str) -> dict[str, Any] | None:
        """The record of a finished job; None while it waits or runs, or when the server does not know it."""
        entry = self._json("GET", f"history/{prompt_id}").get(prompt_id)
        return entry if isinstance(entry, dict) else None

    def stop(self, prompt_id: str) -> None:
        """Take a job out of the queue, or interrupt it if it is the one that runs. Others' jobs go on.

        Without its id an interrupt stops whoever is running, and older servers do not read the id: so the job is
        looked for first.
        """
        self._checked("POST", "queue", json={"delete": [prompt_id]})
        if self.place(prompt_id).running:
            self._checked("POST", "interrupt", json={"prompt_id": prompt_id})

    def free(self) -> None:
        """Ask the server to unload its models and free memory, which it does before its next job."""
        self._checked("POST", "free", json={"unload_models": True, "free_memory": True})

    def view(self, file: File) -> bytes | None:
        """The bytes of a file; None if the server has it no more."""
        query = {"filename": file.name, "subfolder": file.subfolder, "type": file.kind}
        response = self._send("GET", "view", params=query)
        if response.status_code == 404:
            return None
        self._check(response, "view")
        return response.content

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        import httpx

        try:
            return self._http.request(method, path, **options)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise ServerGone(f"{self.address.name} does not answer ({_said(error)})") from error
        except httpx.TransportError as error:
            raise Unclear(f"{self.address.name} broke off ({_said(error)})") from error
        except httpx.HTTPError as error:
            raise ServerGone(f"{self.address.name}: {_said(error)}") from error

    def _check(self, response: httpx.Response, path: str) -> None:
        status = response.status_code
        if status in _TRANSIENT:
            gone = ServerGone(f"{self.address.name} answers /{path} with status {status}")
            gone.status = status
            raise gone
        if response.is_redirect:
            where = response.headers.get("location", "elsewhere")
            raise ConfigError(f"{self.address.base} sends us on to {where}: give that address in editing.servers")
        if status in (401, 403):
            raise ConfigError(
                f"{self.address.base} asks for a login (status {status}): reach it without one, by a tunnel"
            )
        if not 200 <= status < 300:
            raise ConfigError(f"{self.address.base} answers /{path} with status {status}: is it a ComfyUI server?")

    def _read(self, response: httpx.Response, path: str) -> dict[str, Any]:
        self._check(response, path)
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise ConfigError(f"{self.address.base} answers /{path} without JSON: is it a ComfyUI server?")
        return answer

    def _checked(self, method: str, path: str, **options: Any) -> None:
        self._check(self._send(method, path, **options), path)

    def _json(self, method: str, path: str) -> dict[str, Any]:
        return self._read(self._send(method, path), path)


def _refused(response: httpx.Response) -> GraphRefused:
    try:
        answer = response.json()
    except ValueError:
        answer = {}
    answer = answer if isinstance(answer, dict) else {}
    error, nodes = answer.get("error"), answer.get("node_errors")
    if isinstance(error, dict):
        said = [str(error.get(key) or "") for key in ("message", "details")]
        summary = ": ".join(part for part in said if part)
    else:
        summary = str(error or f"status 400: {response.text[:200]}")
    return GraphRefused(summary, nodes if isinstance(nodes, dict) else {})


def _holds(items: Any, prompt_id: str) -> bool:
    """Whether a part of the queue ([[number, prompt_id, ...], ...]) has a job."""
    return any(len(item) > 1 and item[1] == prompt_id for item in items or ())


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
