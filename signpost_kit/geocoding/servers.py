"""How a geocoder's server is spoken to: who asks, where, and what its refusals mean."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from signpost_kit.errors import ConfigError
from signpost_kit.geocoding.base import GeocodingStopped, NothingToAsk, Place

__all__ = [
    "PUBLIC",
    "Address",
    "Refused",
    "Reply",
    "Transient",
    "http_failure",
    "server_address",
    "user_agent",
]

PUBLIC = {
    "nominatim": "https://nominatim.openstreetmap.org",
    "wikidata": "https://www.wikidata.org/w/api.php",
}
_PUBLIC_HOSTS = ("openstreetmap.org", "wikidata.org", "wikimedia.org")
_HOME = (".local", ".lan", ".internal", ".home.arpa", ".localhost")
_CONTACT = re.compile(r"(mailto:)?[^@\s]+@[^@\s]+\.[^@\s.]+|https?://[^\s/]+\S*")
_PLACEHOLDER = re.compile(r"[@/.]example\.(com|org|net)\b")


@dataclass(frozen=True)
class Reply:
    """What a server said about one query."""

    places: tuple[Place, ...]
    """All candidates with a position, best first."""
    raw: bytes
    """The reply as it came (JSON)."""


class Transient(Exception):
    """It may go well another time. `wait_s` is the pause that the server asks for, or None."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class Refused(NothingToAsk):
    """The server will not answer this query, however often it is asked."""


@dataclass(frozen=True)
class Address:
    """Where a server is."""

    scheme: str
    place: str
    """Host, port and path, without a slash at the end."""
    host: str
    public: bool
    """One of the servers that the community pays for: at most one request a second."""

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.scheme}://{self.place}"


def server_address(geocoder: str, url: str | None) -> Address:
    """The checked address of a server, the public one by default.

    Raises
    ------
    ConfigError
        It is no http(s) address, carries a password or a query, or would go unencrypted over the internet.
    """
    text = (url or PUBLIC[geocoder]).strip().rstrip("/")
    try:
        parts = urlsplit(text)
        host, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise ConfigError(f"targets.url {text!r} is no web address ({error})") from error
    if parts.scheme not in ("http", "https") or not host or re.search(r"\s", text):
        raise ConfigError(f"targets.url {text!r} is no web address: write it as http://127.0.0.1:8080")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError("targets.url must be the bare address of a server, without a user, a password, ? or #")
    public = any(host == known or host.endswith("." + known) for known in _PUBLIC_HOSTS)
    if parts.scheme == "http" and (public or not _is_near(host)):
        raise ConfigError(
            f"targets.url {text!r} is not encrypted and leads over the internet: write https:// (http is for "
            "servers on this machine or in your own network)"
        )
    return Address(parts.scheme, parts.netloc + parts.path, host, public)


def _is_near(host: str) -> bool:
    """This machine, a private address, or a name that means something only at home (`nominatim`, `box.local`)."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_HOME)
    return address.is_loopback or address.is_private or address.is_link_local


def user_agent(contact: str | None, geocoder: str = "nominatim") -> str:
    """Who asks, as these servers' rules demand: the program, its version, and how to reach whoever runs it.

    Raises
    ------
    ConfigError
        There is no contact, or it is no e-mail or web address.
    """
    from signpost_kit import __version__

    known = (contact or "").strip()
    if not known:
        raise ConfigError(
            f"targets.contact is missing: {geocoder} wants to know whom to write to when something goes wrong. Add "
            "your e-mail or web address, --set targets.contact=NAME@HOST, or use the offline geocoder, "
            "--set targets.geocoder=gazetteer"
        )
    if not _CONTACT.fullmatch(known) or not known.isascii() or not known.isprintable():
        raise ConfigError(f"targets.contact {known!r} is no e-mail or web address (NAME@HOST or https://...)")
    if _PLACEHOLDER.search(known):
        raise ConfigError(
            f"targets.contact {known!r} is a placeholder: give an address at which you can be reached"
        )
    return f"signpost_kit/{__version__} ({known})"


def http_failure(geocoder: str, status: int, headers: dict[str, str], text: str = "") -> Exception:
    """The error that an HTTP status means: ask again (Transient), not this query (Refused), or not at all."""
    from signpost_kit.models.pauses import pause_of

    said = " ".join(re.sub(r"<[^>]*>", " ", text).split())[:120]
    what = f"HTTP {status}" + (f" ({said})" if said else "")
    if status in (401, 403, 407):
        return GeocodingStopped(
            f"{geocoder} refuses to answer: {what}. Usually too many or too quick requests came from this network, "
            "or the contact is not accepted. Stop for a day, check targets.contact, then run again: every answer "
            "so far is kept. Or use a server of your own (targets.url) or the offline gazetteer"
        )
    if status in (408, 425, 429) or status >= 500:
        return Transient(what, pause_of({k.lower(): v for k, v in headers.items()}))
    if status < 400:
        return GeocodingStopped(f"{geocoder} sends us elsewhere ({what}): check targets.url")
    if status in (404, 405, 410):
        return GeocodingStopped(f"there is no {geocoder} at that address ({what}): check targets.url")
    return Refused(f"{geocoder} does not take the query: {what}")


def number(value: Any) -> float | None:
    """A finite number from a reply's number or text, or None."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if abs(found) < float("inf") else None
