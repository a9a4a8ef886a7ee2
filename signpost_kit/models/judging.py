"""What a failure means: asked again later, never again, or no further with this model.

The one place that knows how each provider words its errors. The reasons name what to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost_kit.models.base import Answer, ProviderError
from signpost_kit.models.failures import ClientError, Failure
from signpost_kit.models.pauses import pause_of

if TYPE_CHECKING:
    from signpost_kit.models.catalogue import ModelSpec

__all__ = ["judge"]

_LONGEST = 300  # characters of a provider's message that a reason quotes


def judge(failure: Failure, spec: ModelSpec, *, url: str, reached: bool) -> ProviderError | Answer:
    """What a failure means: an error for the one loop that asks again, or an answer (blocked).

    Parameters
    ----------
    url
        The address that was asked, for the remedy.
    reached
        Whether that address has answered anything in this process: until it has, a failing connection means that
        the address is wrong or the server is not running, and asking on would not help.
    """
    if failure.kind == "status":
        return _judge_status(failure, spec, url)
    if failure.kind == "unreachable" and not reached:
        return ClientError(_unreachable(failure, spec, url), fatal=True)
    if failure.kind == "page" and not reached:
        return ClientError(
            f"{url} answers with a web page instead of a model's reply: check base_url in params/models.yml (it "
            "usually ends in /v1)",
            fatal=True,
        )
    if failure.kind == "unusable":
        return ClientError(
            f"the SDK for {spec.provider} cannot be used here: install the kit anew, and check {spec.name} in "
            f"params/models.yml ({_short(failure.message)})",
            fatal=True,
        )
    said = {
        "timeout": failure.message,
        "unreachable": f"no connection to {url} ({failure.message})",
        "cut": f"the connection broke ({failure.message})",
        "garbled": failure.message,
        "page": "a web page came instead of a reply",
    }.get(failure.kind)
    if said is None:
        return ClientError(failure.message, retryable=False)
    return ClientError(said, timed_out=failure.kind == "timeout")


# -- the meaning of an HTTP status

_CREDIT = re.compile(
    r"insufficient_(quota|balance|funds|credits?)|insufficient (account )?(balance|credits?|funds)"
    r"|credit balance is too low|credits? (are|is|have been|has been) (depleted|exhausted|used up)"
    r"|used all available credits|billing_(not_active|hard_limit_reached)|billing_error|arrearage|overdue"
    r"|exceeded_current_quota|payment required|run out of credits|spending limit",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"api_key_invalid|invalid_api_key|authentication_error|unauthenticated|"
    r"api[ _-]?key (is )?(not valid|invalid|incorrect|expired|not found|missing)"
    r"|(invalid|incorrect|expired|missing|no|wrong) (x-)?api[ _-]?key|api key expired",
    re.IGNORECASE,
)
_BLOCKED = re.compile(
    r"content_filter|content_policy|content management policy|data_?inspection_?failed|inappropriate content"
    r"|considered high risk|content (violates|violation)|violates? (our )?(usage|content|safety)"
    r"|safety_check_failed|safety system|sensitive_?content|moderation_blocked|flagged (as|by|for)"
    r"|policy_violation|prohibited_content",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"model_not_found|model_not_exist|invalid_model|unknown[ _]model|not a valid model"
    r"|\bmodels?\b[^.]{0,120}\b(does not exist|not exist|not found|is not available|not supported for|"
    r"has been (deprecated|retired|shut down)|decommissioned)",
    re.IGNORECASE,
)
_NO_PICTURES = re.compile(
    r"no endpoints found that support image|image input is not (supported|enabled)|images? (is|are) not supported"
    r"|does not support (image|vision|multimodal)( input| content|s)*\b(?!/)|not a (multimodal|vision) model"
    r"|unknown variant [`'\"]?image_url|vision is not (supported|enabled)"
    r"|(only|just) supports? text|at most 0 image",
    re.IGNORECASE,
)
_PLACE = re.compile(r"location is not supported|unsupported_country|country, region, or territory", re.IGNORECASE)
_BUSY = re.compile(
    r"rate[ _]?limit|too many requests|throttl|overloaded|resource_exhausted|concurren", re.IGNORECASE
)
_PER_DAY = re.compile(r"PerDay", re.IGNORECASE)
_WAIT_HELPS = frozenset({408, 409, 425, 429, 498, 499, 500, 502, 503, 504, *range(520, 531), 598, 599})
_CONGESTED = frozenset({429, 503, 529})


def _judge_status(failure: Failure, spec: ModelSpec, url: str) -> ProviderError | Answer:
    status, words = failure.status or 0, failure.words
    said = f"HTTP {status}: {_short(failure.message)}".rstrip(": ")
    if 400 <= status < 500 and status != 404:
        if _BLOCKED.search(words) and not (status == 429 or _KEY.search(words)):
            return Answer(None, "blocked", reason=said, finish_reason=_first(failure.code))
        if status == 402 or _CREDIT.search(words):
            return _fatal(
                said, status, f"the account's credit is used up: top it up at {_who(spec)}, then run again"
            )
        if status == 401 or _KEY.search(words):
            return _fatal(said, status, f"the key is refused: {_key_remedy(spec)}")
        if _PLACE.search(words):
            return _fatal(said, status, f"{_who(spec)} does not serve this place")
    if status not in (408, 409, 413, 429) and _NO_PICTURES.search(words):  # llama.cpp says it with a 500
        return _fatal(said, status, f"{spec.model_id} takes no pictures: choose a model that reads images")
    if 400 <= status < 500 and status not in (408, 409, 413, 429):
        if _MODEL.search(words) or (status in (404, 410) and spec.model_id in failure.message):
            return _fatal(said, status, _model_remedy(spec, url))
        if status in (404, 405, 410):
            where = f"base_url of {spec.name} in params/models.yml"
            return _fatal(said, status, f"there is no such service at {url}: check {where}, and its model_id")
        if status == 403 and not _BUSY.search(words):
            return _fatal(said, status, f"this key may not use {spec.model_id}: ask for access at {_who(spec)}")
    if status == 413:
        hint = "the request is too large for this route: lower image.max_base64_bytes of the model"
        return ClientError(f"{said} ({hint})", retryable=False, status=status)
    if status == 429:
        return _limited(failure, spec, said)
    again = status in _WAIT_HELPS or (status == 403 and bool(_BUSY.search(words)))
    told = failure.headers.get("x-should-retry", "")
    again = (again or told == "true") and not (told == "false" and status not in _CONGESTED)
    return ClientError(
        said,
        retry_after_s=pause_of(failure.headers, failure.details, failure.message) if again else None,
        retryable=again,
        status=status,
        congested=again and (status in _CONGESTED or bool(_BUSY.search(words))),
    )


def _limited(failure: Failure, spec: ModelSpec, said: str) -> ProviderError:
    """429: a pause; but a quota of nothing or of the day is not waited for."""
    quotas = " ".join(
        str(violation.get("quotaId", ""))
        for detail in failure.details
        for violation in detail.get("violations") or ()
        if isinstance(violation, Mapping)
    )
    if re.search(r"\blimit: 0\b", failure.message):
        return _fatal(said, 429, f"this account has no quota for {spec.model_id}: enable billing at {_who(spec)}")
    if _PER_DAY.search(quotas):
        remedy = (
            "the quota of the day is used up: run again tomorrow (finished replies are kept), or raise the quota"
        )
        return _fatal(said, 429, remedy)
    pause = pause_of(failure.headers, failure.details, failure.message)
    return ClientError(said, retry_after_s=pause, status=429, congested=True)


def _fatal(said: str, status: int, remedy: str) -> ClientError:
    return ClientError(f"{remedy} ({said})", fatal=True, status=status)


def _who(spec: ModelSpec) -> str:
    return spec.group or spec.pool or spec.provider


def _key_remedy(spec: ModelSpec) -> str:
    if spec.key_env is None:
        return f"the server wants one: add key_env to {spec.name} in params/models.yml and set that variable"
    return f"check {spec.key_env} in the environment or in .env (for {_who(spec)})"


def _model_remedy(spec: ModelSpec, url: str) -> str:
    pull = f", or fetch it first (ollama pull {spec.model_id})" if ":11434" in url else ""
    return f"{url} knows no model {spec.model_id!r}: check model_id of {spec.name} in params/models.yml{pull}"


def _unreachable(failure: Failure, spec: ModelSpec, url: str) -> str:
    near = re.search(r"//(localhost|127\.|\[::1\]|0\.0\.0\.0)", url)
    remedy = "is the server running there?" if near else "check the address and the network"
    return f"{url} cannot be reached: {remedy} ({_short(failure.message)})"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _first(code: str) -> str:
    return code.split(" ", 1)[0]
