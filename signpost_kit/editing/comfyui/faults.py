"""What can go wrong with a job on a server, sorted by what is to be done about it."""

from __future__ import annotations

from typing import Any

from signpost_kit.errors import DataError, SignpostError

__all__ = [
    "Cancelled",
    "EditFailed",
    "ExecutionFailed",
    "GraphRefused",
    "JobLost",
    "ServerGone",
    "is_out_of_memory",
    "node_error_lines",
]

_MEMORY_WORDS = ("outofmemory", "out of memory", "would exceed allowed memory", "not enough memory")
_MESSAGE_LIMIT = 400  # characters of a server's message that go into a record


class EditFailed(DataError):
    """This picture could not be edited; the message is the reason. Other pictures are not concerned."""


class ExecutionFailed(EditFailed):
    """A node of the graph failed on the server."""

    def __init__(self, *, node_id: str, node_type: str, exception_type: str, message: str) -> None:
        self.node_id, self.node_type, self.exception_type = node_id, node_type, exception_type
        self.message = " ".join(message.split())[:_MESSAGE_LIMIT]
        where = f"node {node_id} ({node_type})" if node_type else "the server"
        super().__init__(f"{where} failed: {exception_type or 'error'}: {self.message}")

    @classmethod
    def read(cls, data: dict[str, Any]) -> ExecutionFailed:
        """From the data of an `execution_error` message."""
        return cls(
            node_id=str(data.get("node_id") or "?"),
            node_type=str(data.get("node_type") or ""),
            exception_type=str(data.get("exception_type") or ""),
            message=str(data.get("exception_message") or ""),
        )

    @property
    def out_of_memory(self) -> bool:
        """Whether the graphics card's memory was full, which freeing can cure."""
        return is_out_of_memory(self.exception_type, self.message)


class GraphRefused(Exception):
    """POST /prompt was answered with errors of nodes."""

    def __init__(self, summary: str, node_errors: dict[str, Any]) -> None:
        self.node_errors = node_errors
        self.lines = node_error_lines(node_errors)
        super().__init__("; ".join(self.lines) or summary or "no reason given")

    def only_in(self, nodes: tuple[str, ...]) -> bool:
        """Whether nothing but these nodes has errors."""
        return bool(self.node_errors) and set(map(str, self.node_errors)) <= set(nodes)


class ServerGone(Exception):
    """The server does not answer (any more), or only with an error of its own: the job goes to another one."""

    status: int = 0
    """Of its answer, if there was one."""
    under_way: bool = False
    """Our job was running on it."""


class JobLost(Exception):
    """The server forgot the job, or somebody stopped it there: it is submitted again."""


class Cancelled(SignpostError):
    """We stopped the job ourselves."""

    def __init__(self) -> None:
        super().__init__("the edit was stopped")


def is_out_of_memory(exception_type: str, message: str) -> bool:
    """Whether an execution error says that memory was full."""
    text = f"{exception_type} {message}".lower()
    return any(words in text for words in _MEMORY_WORDS)


def node_error_lines(node_errors: Any) -> list[str]:
    """One line per error in the `node_errors` of an answer: node, its class, what is wrong."""
    lines: list[str] = []
    for node_id, given in node_errors.items() if isinstance(node_errors, dict) else ():
        entry = given if isinstance(given, dict) else {}
        for error in entry.get("errors") or [{}]:
            said = [str(error.get(key) or "").strip() for key in ("message", "details")]
            text = ": ".join(part for part in said if part) or str(error.get("type") or "unknown error")
            lines.append(f"node {node_id} ({entry.get('class_type', '?')}): {text[:_MESSAGE_LIMIT]}")
    return lines
