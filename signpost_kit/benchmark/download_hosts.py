"""Manners and caution towards servers: how many requests a host gets, when to wait, where a redirect may lead."""

from __future__ import annotations

import ipaddress
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import SplitResult, urljoin, urlsplit

from signpost_kit.errors import DataError

__all__ = ["Hosts", "back_off", "check_address", "is_near", "next_address"]

_NEAR_NAMES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


class Hosts:
    """Lets at most `per_host` requests be under way to one host, and none before the time it asked to wait for.

    Shared by all threads of a download.
    """

    def __init__(self, per_host: int, pause: Callable[[float], None] = time.sleep) -> None:
        self._per_host = per_host
        self._pause = pause
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Semaphore] = {}
        self._not_before: dict[str, float] = {}

    @contextmanager
    def turn(self, host: str) -> Iterator[None]:
        """Wait for a turn at the host."""
        with self._lock:
            turns = self._turns.setdefault(host, threading.Semaphore(self._per_host))
        with turns:
            while (left := self._not_before.get(host, 0.0) - time.monotonic()) > 0:
                self._pause(left)
                if self._pause is not time.sleep:  # a test's clock does not move
                    self._not_before.pop(host, None)
            yield

    def hold(self, host: str, seconds: float) -> None:
        """Nobody asks this host for so long."""
        with self._lock:
            self._not_before[host] = max(self._not_before.get(host, 0.0), time.monotonic() + seconds)


def back_off(attempt: int) -> float:
    """Seconds before the next attempt, spread so that many do not come back at once: about 1, 2, 4, ..."""
    return 2.0**attempt * random.uniform(0.75, 1.25)


def check_address(url: str) -> SplitResult:
    """The parts of an address that may be fetched.

    Raises
    ------
    DataError
        Another scheme than http or https, no host, a name and password in it, or no address at all.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise DataError(f"the address {url[:200]!r} is malformed ({error})") from error
    if parts.scheme.lower() not in ("http", "https"):
        raise DataError(f"the address {url[:200]!r} is not fetched: only http:// and https:// are")
    if not parts.hostname:
        raise DataError(f"the address {url[:200]!r} names no host")
    if parts.username or parts.password:
        raise DataError(f"the address at {parts.hostname} holds a name or password: leave them out")
    return parts


def next_address(url: str, location: str) -> str:
    """Where a redirect leads.

    Raises
    ------
    DataError
        To nothing that may be fetched, or from the open net to this machine or its own network.
    """
    target = urljoin(url, location.strip())
    try:
        parts = check_address(target)
    except DataError as error:
        raise DataError(f"it is redirected, and not followed: {error}") from error
    if is_near(parts.hostname or "") and not is_near(urlsplit(url).hostname or ""):
        raise DataError(f"it is redirected into a private network ({parts.hostname}), which is not followed")
    return target


def is_near(host: str) -> bool:
    """Whether a host is this machine or in its own network, by its name or by what the name stands for."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(_NEAR_NAMES):
        return True
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(name, None)}
    except (OSError, UnicodeError):
        return False
    return any(not ipaddress.ip_address(text.split("%")[0]).is_global for text in found)
