"""How long a provider asks to wait, in every form in which they say it."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["pause_of"]

_IN_WORDS = re.compile(
    r"(?:try again|retry) (?:in|after) ((?:\d+h)?(?:\d+m(?!s))?(?:\d+(?:\.\d+)?\s?(?:ms|s|seconds?)?)?)",
    re.IGNORECASE,
)
_PIECE = re.compile(r"(\d+(?:\.\d+)?)\s?(ms|h|m|s|seconds?)?", re.IGNORECASE)
_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def pause_of(
    headers: Mapping[str, str],
    details: Iterable[Mapping[str, Any]] = (),
    message: str = "",
    *,
    now: float | None = None,
) -> float | None:
    """Seconds to wait, or None if nothing was said; the longest where several things are.

    Read are the headers retry-after-ms and Retry-After (seconds, or a date, taken against the server's own clock
    where it sends one), Google's RetryInfo, and, where none of these is there, "try again in 20s" in the message.

    Parameters
    ----------
    headers
        Names in lower case.
    now
        Unix seconds, for a date without the server's clock.
    """
    found = [_seconds(headers.get("retry-after-ms"), 0.001), _retry_after(headers, now), *map(_retry_info, details)]
    told = [value for value in found if value is not None]
    if not told:
        told = [value for value in [_in_words(message)] if value is not None]
    return max(told) if told else None


def _retry_after(headers: Mapping[str, str], now: float | None) -> float | None:
    text = headers.get("retry-after")
    if text is None:
        return None
    seconds = _seconds(text, 1.0)
    if seconds is not None:
        return seconds
    until = _date(text)
    if until is None:
        return None
    here = _date(headers.get("date", "")) or (time.time() if now is None else now)
    return max(0.0, until - here)


def _retry_info(detail: Mapping[str, Any]) -> float | None:
    if not str(detail.get("@type", "")).endswith("RetryInfo"):
        return None
    delay = detail.get("retryDelay")
    if isinstance(delay, Mapping):
        return _seconds(str(delay.get("seconds", 0)), 1.0)
    return _seconds(str(delay).rstrip("s"), 1.0)


def _in_words(message: str) -> float | None:
    found = _IN_WORDS.search(message)
    if found is None or not found[1].strip():
        return None
    return sum(float(number) * _UNITS[_unit(unit)] for number, unit in _PIECE.findall(found[1]))


def _unit(text: str) -> str:
    text = text.lower()
    return "s" if text.startswith("second") else text


def _seconds(text: str | None, unit: float) -> float | None:
    try:
        value = float(text or "") * unit
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _date(text: str) -> float | None:
    try:
        parsed = email.utils.parsedate_tz(text)
        return None if parsed is None else float(email.utils.mktime_tz(parsed))
    except (ValueError, OverflowError):
        return None
