"""Fetching pictures from addresses that the user gives: politely, within limits, and so that a kill costs nothing.

Only http and https; a redirect is followed a few times, never to anything else and never from the open net to this
machine or its network. What arrives is measured while it arrives, and kept only if it is a picture.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from signpost_kit.benchmark.download_hosts import Hosts, back_off, check_address, next_address
from signpost_kit.benchmark.lists.pictures import download_stem
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import atomic_path, inside
from signpost_kit.image_types import HEAD, sniff_type, why_no_picture
from signpost_kit.images import MAX_PIXELS, PictureError, read_metadata
from signpost_kit.mapping import Journal, inputs_hash, map_items
from signpost_kit.models.pauses import pause_of

if TYPE_CHECKING:
    import httpx

__all__ = ["Download", "DownloadLimits", "download_all"]

_JOURNAL = "downloads.sqlite"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GONE = {404: "not found", 410: "gone", 451: "withheld for legal reasons"}
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_STAND_INS = ("photo_unavailable", "photo-unavailable", "image_not_available", "no_image_available")
"""In the last address: what a host sends, with a 200, instead of a picture that is gone."""
_SUFFIX = {"image/jpeg": ".jpg", "image/tiff": ".tif", "image/x-portable-anymap": ".pnm"}


@dataclass(frozen=True)
class DownloadLimits:
    """How much, how long, how fast."""

    file_bytes: int = 20_000_000
    total_bytes: int = 5_000_000_000
    """Of the whole folder, with what is in it already."""
    pixels: int = MAX_PIXELS
    timeout_s: float = 30.0
    """Of one picture, redirects included; waiting that the server asks for is not counted."""
    attempts: int = 3
    redirects: int = 5
    workers: int = 4
    """Pictures under way at once, and of one host:"""
    per_host: int = 2
    longest_wait_s: float = 120.0
    """A server that asks for more is left alone in this run."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if getattr(self, name) < (0 if name in ("redirects", "longest_wait_s") else 1e-9):
                raise ConfigError(f"{name}={getattr(self, name)} of a download must be above 0")


@dataclass(frozen=True)
class Download:
    """What became of one address."""

    id: str
    url: str
    file: str = ""
    """Name in the folder; empty when there is no picture."""
    reason: str = ""
    """Why there is none."""
    size: int = 0
    kept: bool = False
    """Known from an earlier call: nothing was asked."""


class _Later(Exception):
    """A failure that may pass; never leaves this module."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


def download_all(
    addresses: Mapping[str, str],
    folder: Path | str,
    *,
    limits: DownloadLimits | None = None,
    progress: bool = True,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[Download]:
    """Fetch pictures into a folder; what is there already is not asked for again.

    A picture that the server says is gone, or that is none, is remembered in `downloads.sqlite` in the folder, as
    are the ones that came; everything else that fails is tried again the next time.

    Parameters
    ----------
    addresses
        Id -> address.
    folder
        Made if absent. Files are called after the id, made safe, with a hash of it and the suffix of what they are.
    pause
        Called to wait, in seconds (for tests).

    Yields
    ------
    Download
        One per address, in their order.

    Raises
    ------
    StorageError
        The folder cannot be written.
    """
    limits = limits or DownloadLimits()
    folder = Path(folder)
    jobs = list(addresses.items())
    if not jobs:
        return
    import httpx

    budget = _Budget(limits.total_bytes, _size_of(folder))
    headers = {"User-Agent": _user_agent(), "Accept": "image/*,*/*;q=0.1", "Accept-Encoding": "identity"}
    client = httpx.Client(
        headers=headers,
        timeout=limits.timeout_s,
        follow_redirects=False,
        limits=httpx.Limits(max_connections=limits.workers),
    )
    fetch = _Fetcher(client, folder, limits, Hosts(limits.per_host, pause), budget)

    def key(job: tuple[str, str]) -> tuple[str, str]:
        return job[0], inputs_hash(job[1], limits.file_bytes, limits.pixels)

    def usable(job: tuple[str, str], value: Download) -> bool:
        return not value.file or inside(folder, value.file).is_file()

    decode = msgspec.json.Decoder(Download).decode
    with client, Journal(folder / _JOURNAL, key=key, decode=decode, usable=usable) as journal:
        outcomes = map_items(
            fetch, jobs, scheduler="threads", workers=limits.workers, describe="fetching", progress=progress,
            journal=journal,
        )  # fmt: skip
        for outcome in outcomes:
            ident, url = outcome.item
            if outcome.value is None:
                yield Download(ident, url, reason=outcome.error)
            else:
                yield replace(outcome.value, kept=outcome.kept)


class _Budget:
    """Bytes that may still come, over all threads."""

    def __init__(self, total: int, used: int) -> None:
        self._lock = threading.Lock()
        self.total, self.used = total, used

    def take(self, size: int) -> None:
        with self._lock:
            self.used += size
            if self.used > self.total:
                limit = f"{self.total / 1e6:,.0f} MB"
                raise DataError(f"the limit of {limit} for all downloads is reached; raise source.max_total_mb")


@dataclass(frozen=True)
class _Fetcher:
    """Fetches one picture after the other, in any thread."""

    client: httpx.Client
    folder: Path
    limits: DownloadLimits
    hosts: Hosts
    budget: _Budget

    def __call__(self, job: tuple[str, str]) -> Download:
        """One picture, with its attempts. A DataError is a failure that the next run may not meet."""
        url, attempts = job[1], self.limits.attempts
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._once(*job)
            except _Later as error:
                if attempt >= attempts:
                    raise DataError(f"{error}, {attempts} times; it is tried again the next time") from error
                host = check_address(url).hostname or ""
                wait_s = error.wait_s if error.wait_s is not None else back_off(attempt - 1)
                if wait_s > self.limits.longest_wait_s:
                    raise DataError(f"{error}; {host} asks to wait {wait_s:,.0f} s: run again then") from error
                self.hosts.hold(host, wait_s)

    def _once(self, ident: str, url: str) -> Download:
        import httpx

        limits = self.limits
        deadline = time.monotonic() + limits.timeout_s
        address = url
        try:
            for _ in range(limits.redirects + 1):
                host = check_address(address).hostname or ""
                with self.hosts.turn(host), self.client.stream("GET", address) as response:
                    if response.status_code in _REDIRECTS and "location" in response.headers:
                        address = next_address(address, response.headers["location"])
                        continue
                    if response.status_code in _GONE:
                        reason = f"the server says {response.status_code} ({_GONE[response.status_code]})"
                        return Download(ident, url, reason=reason)
                    _check_status(response)
                    data = _body(response, limits, self.budget, deadline)
                if isinstance(data, str):
                    return Download(ident, url, reason=data)
                if any(name in address.lower() for name in _STAND_INS):
                    return Download(ident, url, reason="the server sends a stand-in for a picture that is gone")
                return _keep(ident, url, data, self.folder, limits)
        except httpx.TimeoutException as error:
            raise _Later(f"no answer within {limits.timeout_s:g} s") from error
        except httpx.TransportError as error:
            raise _Later(f"the connection failed ({str(error) or type(error).__name__})") from error
        except (httpx.InvalidURL, UnicodeError, ValueError) as error:
            return Download(ident, url, reason=f"the address is malformed ({error})")
        raise DataError(f"it is redirected more than {limits.redirects} times")


def _check_status(response: httpx.Response) -> None:
    code = response.status_code
    if code in _AGAIN:
        told = pause_of({name.lower(): value for name, value in response.headers.items()})
        raise _Later(f"the server says {code}", told)
    if code != 200:
        raise DataError(f"the server says {code}" + (" (not allowed)" if code in (401, 403) else ""))


def _body(response: httpx.Response, limits: DownloadLimits, budget: _Budget, deadline: float) -> bytes | str:
    """The picture's bytes, or why they are not wanted (as text)."""
    too_large = f"larger than the limit of {limits.file_bytes / 1e6:g} MB for one picture (source.max_file_mb)"
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        return "it comes compressed although that was not asked for"
    told = response.headers.get("content-length", "")
    if told.isdigit() and int(told) > limits.file_bytes:
        return too_large
    data = bytearray()
    checked = False
    for piece in response.iter_raw():
        budget.take(len(piece))
        data += piece
        if len(data) > limits.file_bytes:
            return too_large
        if not checked and len(data) >= HEAD:
            checked = True
            if not sniff_type(bytes(data[:HEAD])):
                return why_no_picture(bytes(data[:HEAD]))
        if time.monotonic() > deadline:
            raise _Later(f"not finished within {limits.timeout_s:g} s")
    if not sniff_type(bytes(data[:HEAD])):
        return why_no_picture(bytes(data[:HEAD])) if data else "the server sends nothing"
    return bytes(data)


def _keep(ident: str, url: str, data: bytes, folder: Path, limits: DownloadLimits) -> Download:
    mime = sniff_type(data[:HEAD])
    name = download_stem(ident) + _SUFFIX.get(mime, "." + mime.rpartition("/")[2])
    try:
        with atomic_path(inside(folder, name)) as temporary:
            temporary.write_bytes(data)
            about = read_metadata(temporary)
            if about.width * about.height > limits.pixels:
                raise PictureError(
                    temporary,
                    "too large",
                    f"{about.width} x {about.height} pixels; allowed are {limits.pixels / 1e6:,.0f} million",
                )
    except PictureError as error:
        return Download(ident, url, reason=error.reason)
    return Download(ident, url, name, size=len(data))


def _size_of(folder: Path) -> int:
    if not folder.is_dir():
        return 0
    pictures = (path for path in folder.iterdir() if path.is_file() and not path.name.startswith(_JOURNAL))
    return sum(path.stat().st_size for path in pictures)


def _user_agent() -> str:
    from signpost_kit import __version__

    return f"signpost_kit/{__version__} (research; pictures of a list given by its user)"
