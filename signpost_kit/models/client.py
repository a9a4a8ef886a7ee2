"""The one base of all paid and local models: a picture (or none) and a prompt in, an answer or a failure out.

A provider adds what is its own: how its SDK is opened, how a question is put, how a reply is read. What is sent is
the picture's bare bytes and the prompt; no name, id or metadata of the user's. One call of :meth:`Client.ask` is
one attempt: the SDKs' own retries are off.
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ModelError
from signpost_kit.models.adjusting import Asked, adjust, decoding_for
from signpost_kit.models.base import Answer, Request, Usage
from signpost_kit.models.connections import Connections, Lease
from signpost_kit.models.failures import Failure, NoReply, read_failure
from signpost_kit.models.judging import judge
from signpost_kit.models.pictures import Picture, prepare

if TYPE_CHECKING:
    from signpost_kit.models.catalogue import ModelSpec

__all__ = ["Client", "complete_answer", "make_client"]

log = logging.getLogger(__name__)
_CONNECTIONS = Connections()
_ADJUSTMENTS = 2  # the token field and the temperature, each once in one attempt


class Client:
    """One model behind an official SDK; a :class:`~signpost_kit.models.base.Provider`.

    Models of one address and key share one pool of connections, in each event loop. A closed client opens anew when
    it is asked again.

    Parameters
    ----------
    spec
        What is known of the model (params/models.yml).
    key
        Goes into the SDK and nowhere else.
    http_timeout_s
        For the connection, for sending, and for each silence while the answer is awaited.
    base_url
        Instead of the one of `spec`.
    """

    token_fields: tuple[str, ...] = ("max_tokens",)
    """Names under which this family takes the limit of tokens; a refusal of one is answered with the next."""
    default_url = ""

    def __init__(
        self, spec: ModelSpec, *, key: str, http_timeout_s: float = 120.0, base_url: str | None = None
    ) -> None:
        self.spec = spec
        self.name = spec.pool or spec.provider
        self.concurrency = spec.concurrency
        self.http_timeout_s = float(http_timeout_s)
        self.base_url = base_url or spec.base_url
        self._leases: dict[asyncio.AbstractEventLoop, Lease] = {}
        self._secret = _Secret(key)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.spec.name!r}: {self.spec.model_id!r} at {self.url}>"

    @property
    def url(self) -> str:
        """The address that is asked, for messages."""
        return self.base_url or self.default_url

    async def ask(self, request: Request) -> Answer:
        """Answer one request.

        Raises
        ------
        ProviderError
            (:class:`~signpost_kit.models.failures.ClientError`) It failed; says whether asking again may help and
            after which pause, or that the model cannot be asked any further.
        """
        picture = await self._picture(request)
        adjusted = 0
        while True:
            asked = decoding_for(self.spec, self.url, request.decoding, self.token_fields)
            result = await self._attempt(picture, request.prompt, asked)
            adjusted += 1
            if isinstance(result, Answer) or adjusted > _ADJUSTMENTS:
                break
            if not adjust(self.spec, self.url, result, asked, self.token_fields):
                break
        return self._verdict(result, {**_told(picture), **asked.notes})

    async def body(self, request: Request) -> tuple[dict[str, Any], dict[str, str]]:
        """What :meth:`ask` would send, as JSON values (for batch endpoints), and the notes on it.

        Raises
        ------
        ProviderError
            The picture cannot be sent.
        """
        picture = await self._picture(request)
        asked = decoding_for(self.spec, self.url, request.decoding, self.token_fields)
        return self._body(picture, request.prompt, asked), {**_told(picture), **asked.notes}

    def read_body(self, body: Any, *, status: int = 200, notes: dict[str, str] | None = None) -> Answer:
        """The answer in the JSON of a reply that came by another way (a batch's file).

        Parameters
        ----------
        status
            HTTP's, as the batch gives it; 200 where it gives none and there is no error.
        notes
            From :meth:`body`.

        Raises
        ------
        ProviderError
            It is an error; judged as in :meth:`ask`.
        """
        try:
            if status >= 400:
                raise NoReply("", body=body, status=status)
            result: Answer | Failure = self._read(self._parse(body))
        except Exception as error:
            result = read_failure(error)
        return self._verdict(result, notes or {})

    async def close(self) -> None:
        """Give this event loop's connections back; the last client of a pool closes them."""
        lease = self._leases.pop(asyncio.get_running_loop(), None)
        if lease is not None:
            await lease.release()

    # -- what a provider adds

    def _open(self, key: str) -> Any:
        """The SDK's asynchronous client: without retries, with time limits. Called in a worker thread."""
        raise NotImplementedError

    async def _shut(self, sdk: Any) -> None:
        """Close what :meth:`_open` opened."""
        await sdk.close()

    async def _send(self, sdk: Any, picture: Picture | None, prompt: str, asked: Asked) -> Any:
        """Put the question; the SDK's reply."""
        raise NotImplementedError

    def _read(self, reply: Any) -> Answer:
        """The answer in an SDK's reply; raises NoReply where there is none."""
        raise NotImplementedError

    def _body(self, picture: Picture | None, prompt: str, asked: Asked) -> dict[str, Any]:
        """The question as the JSON that the provider's API takes; None: it is words alone."""
        raise NotImplementedError

    def _parse(self, body: Any) -> Any:
        """The SDK's reply from its JSON."""
        raise NotImplementedError

    # -- one request

    async def _picture(self, request: Request) -> Picture | None:
        return None if request.image_path is None else await prepare(request, self.spec)

    async def _attempt(self, picture: Picture | None, prompt: str, asked: Asked) -> Answer | Failure:
        try:
            sdk = await self._sdk()
        except Exception as error:
            return Failure("unusable", f"{type(error).__name__}: {error}")
        try:
            answer = self._read(await self._send(sdk, picture, prompt, asked))
        except Exception as error:
            failure = read_failure(error)
            if failure.kind == "other":
                log.debug("%s: unexpected", self.spec.name, exc_info=True)
        else:
            self._reached(True)
            return answer
        if failure.kind == "status" and failure.status != 404:
            self._reached(True)
        return failure  # outside of `except`: what is raised from it must not carry the SDK's request along

    async def _sdk(self) -> Any:
        loop = asyncio.get_running_loop()
        lease = self._leases.get(loop)
        if lease is not None:
            return lease.sdk
        key = self._secret.reveal()
        about = (type(self), self.base_url, hash(key), self.http_timeout_s)
        mine = await _CONNECTIONS.lease(about, lambda: self._open(key), self._shut)
        for gone in [other for other in list(self._leases) if other.is_closed()]:
            self._leases.pop(gone, None)
        lease = self._leases.setdefault(loop, mine)
        if lease is not mine:  # another question of this client was faster
            await mine.release()
        return lease.sdk

    def _verdict(self, result: Answer | Failure, notes: dict[str, str]) -> Answer:
        """The answer with its notes; a failure, judged, is raised or is an answer (blocked)."""
        if isinstance(result, Failure):
            verdict = judge(result, self.spec, url=self.url, reached=self._reached())
            reason = self._redacted(verdict.reason)
            if not isinstance(verdict, Answer):
                verdict.reason, verdict.args = reason, (reason,)
                raise verdict
            result = replace(verdict, reason=reason)
        return replace(result, notes={**notes, **result.notes})

    def _reached(self, now: bool = False) -> bool:
        """Whether the address has ever answered in this process; True sets it."""
        if now:
            _REACHED.add(self.url)
        return self.url in _REACHED

    def _redacted(self, text: str) -> str:
        from signpost_kit.models.keys import redact

        return redact(self._secret.hide(text))


_REACHED: set[str] = set()


def _told(picture: Picture | None) -> dict[str, str]:
    return {} if picture is None else {"picture": picture.told}


class _Secret:
    """A key that does not show itself, nor goes into a pickle."""

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "<key>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a key is not pickled")

    def reveal(self) -> str:
        return self._key

    def hide(self, text: str) -> str:
        return text.replace(self._key, "[key]") if len(self._key) >= 8 else text


def make_client(spec: ModelSpec, *, key: str, http_timeout_s: float = 120.0, base_url: str | None = None) -> Client:
    """The client of a model of the catalogue. No SDK is imported before it is asked.

    Raises
    ------
    ModelError
        `spec.provider` has no client (offline models are made elsewhere).
    """
    if spec.provider == "openai":
        from signpost_kit.models.openai import OpenAIClient as Chosen
    elif spec.provider == "compatible":
        from signpost_kit.models.compatible import CompatibleClient as Chosen
    elif spec.provider == "anthropic":
        from signpost_kit.models.anthropic import AnthropicClient as Chosen
    elif spec.provider == "google":
        from signpost_kit.models.google import GoogleClient as Chosen
    else:
        raise ModelError(f"{spec.name}: there is no client for provider {spec.provider!r}")
    return Chosen(spec, key=key, http_timeout_s=http_timeout_s, base_url=base_url)


def complete_answer(
    text: str | None,
    *,
    finish_reason: str,
    cut: bool,
    blocked: str = "",
    refusal: str = "",
    usage: Usage,
    request_id: str = "",
    notes: dict[str, str] | None = None,
) -> Answer:
    """The answer with its status, by the same rules for all providers.

    Parameters
    ----------
    cut
        The limit of tokens ended the text.
    blocked
        Why the provider withheld an answer; "" if it did not.
    refusal
        What the model said instead of an answer (a text that breaks off is kept beside it); "" if nothing.
    """
    bare = (text or "").strip()
    status, reason = "ok", ""
    if blocked:
        status, reason = "blocked", blocked
    elif refusal:
        status, reason, text = "refused", refusal, text or refusal
    elif cut and not bare:
        status, reason = "truncated", "the limit of tokens was used up before the answer began"
    elif cut and _breaks_off(bare):
        status, reason = "truncated", "the limit of tokens cut the answer off"
    elif not bare:
        status, reason = "empty", "the reply has no text"
    return Answer(
        text=text,
        status=status,
        reason=reason,
        finish_reason=finish_reason,
        usage=usage,
        request_id=request_id,
        notes=notes or {},
    )


def _breaks_off(text: str) -> bool:
    """Whether a cut text may lack a part of its answer: it ends within a number, or with a bracket open."""
    ends_in_number = re.search(r"[\d.,+\-−–]$", text) is not None
    return ends_in_number or text.count("{") > text.count("}") or text.count("[") > text.count("]")
