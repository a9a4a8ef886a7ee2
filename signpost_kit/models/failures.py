"""What went wrong with a request, in one form, whichever SDK or HTTP library raised it.

What it means is judged elsewhere (:mod:`~signpost_kit.models.judging`).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from signpost_kit.models.base import ProviderError

__all__ = ["ClientError", "Failure", "NoReply", "read_failure"]


class ClientError(ProviderError):
    """A :class:`ProviderError` that also says what kind of failure it was."""

    def __init__(
        self,
        reason: str,
        *,
        retry_after_s: float | None = None,
        retryable: bool = True,
        fatal: bool = False,
        status: int | None = None,
        congested: bool = False,
        timed_out: bool = False,
        ours: bool = False,
    ) -> None:
        super().__init__(reason, retry_after_s=retry_after_s, retryable=retryable, fatal=fatal)
        self.status = status
        """HTTP's, where there was one."""
        self.congested = congested
        """Too many requests, for this account or for the provider: fewer at once would help."""
        self.timed_out = timed_out
        """It may have been answered, and charged, all the same."""
        self.ours = ours
        """It lies in the picture, not in the model."""


class NoReply(Exception):
    """An answer with status 200 that is none.

    Parameters
    ----------
    body
        What came: a text (half of an answer, a web page), or the JSON of an error.
    status
        That of the error inside, if there is one.
    """

    def __init__(
        self, message: str = "the reply is broken off, or no JSON", *, body: Any = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.body = body
        self.status = status


@dataclass(frozen=True)
class Failure:
    """What is known of a failure, before it is judged."""

    kind: str
    """status (HTTP said so) · timeout · unreachable (no connection) · cut (the connection broke) · garbled (no
    JSON, or half of it) · page (a web page) · unusable (the SDK cannot even be opened) · other."""
    message: str = ""
    status: int | None = None
    code: str = ""
    """The provider's own words for it: code, type and status, joined."""
    param: str = ""
    """The field it objects to, where it says."""
    details: tuple[Mapping[str, Any], ...] = ()
    """Google's, e.g. RetryInfo and QuotaFailure."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""

    @property
    def words(self) -> str:
        """Everything it says, for looking words up."""
        return f"{self.code} {self.message}"


def read_failure(error: BaseException) -> Failure:
    """What an exception of any of the SDKs, or of the HTTP library below, tells."""
    if isinstance(error, NoReply):
        if isinstance(error.body, str):
            return Failure("page" if _is_page(error.body) else "garbled", str(error))
        kind = "status" if error.status is not None else "garbled"
        return _with_body(kind, error.status, error.body, {}, str(error))
    response = getattr(error, "response", None)
    if response is not None and isinstance(getattr(response, "status_code", None), int):
        headers = {str(name).lower(): str(value) for name, value in dict(response.headers).items()}
        if 200 <= response.status_code < 300:
            return Failure("garbled", "the reply is not what this kind of server answers", headers=headers)
        return _with_body("status", response.status_code, _body(response), headers, "")
    names = {cls.__name__ for one in _chain(error) for cls in type(one).__mro__}
    detail = str(list(_chain(error))[-1]).strip()
    if names & {"TimeoutException", "APITimeoutError"} or isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        unconnected = names & {"ConnectTimeout", "PoolTimeout"}
        return Failure("timeout", "no connection in time" if unconnected else "no answer in time")
    if names & {"ConnectError", "UnsupportedProtocol", "InvalidURL", "ProxyError"}:
        return Failure("unreachable", detail or "no connection")
    if names & {"TransportError", "APIConnectionError", "ConnectionError", "StreamError"}:
        return Failure("cut", detail or "the connection broke")
    if _is_page(getattr(error, "doc", "")):  # a JSONDecodeError has the whole text
        return Failure("page")
    if names & {"JSONDecodeError", "UnknownApiResponseError", "APIResponseValidationError", "ValidationError"}:
        return Failure("garbled", "the reply is broken off, or no JSON")
    return Failure("other", f"{type(error).__name__}: {error}".rstrip(": "))


def _with_body(kind: str, status: int | None, body: Any, headers: Mapping[str, str], message: str) -> Failure:
    if isinstance(body, list) and body:  # Google wraps some errors in a list
        body = body[0]
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        text = error if isinstance(error, str) else message
        return Failure(kind, _text_of_page(text or message), status, headers=headers)
    outer = body if isinstance(body, Mapping) else {}
    names = [error.get("code"), error.get("type"), error.get("status"), outer.get("code"), *_reasons(error)]
    said = error.get("message") or error.get("detail") or outer.get("message") or outer.get("detail") or message
    said = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("raw"):  # OpenRouter: what the model's own provider said
        said = f"{said}: {metadata['raw']}"
    details = error.get("details")
    return Failure(
        kind,
        said,
        status,
        code=" ".join(str(name) for name in dict.fromkeys(names) if name and not isinstance(name, int)),
        param=str(error.get("param") or ""),
        details=tuple(one for one in details if isinstance(one, Mapping)) if isinstance(details, list) else (),
        headers=headers,
    )


def _reasons(error: Mapping[str, Any]) -> list[str]:
    details = error.get("details")
    if isinstance(details, list):
        return [str(one.get("reason")) for one in details if isinstance(one, Mapping) and one.get("reason")]
    return [str(details.get("error_code", ""))] if isinstance(details, Mapping) else []


def _body(response: Any) -> Any:
    try:
        return response.json()
    except Exception:
        pass
    try:
        return response.text
    except Exception:
        return ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _is_page(text: str) -> bool:
    return text.lstrip()[:100].lower().startswith(("<!doctype", "<html", "<head", "<title"))


def _text_of_page(text: str) -> str:
    """A web page's title and words instead of its tags."""
    if "<" not in text:
        return text
    text = re.sub(r"(?is)<(script|style)\b.*?</\1>", " ", text)
    return re.sub(r"<[^>]*>", " ", text)
