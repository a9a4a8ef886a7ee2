"""A server's address: checked once, and turned into the addresses of its HTTP routes and its socket."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from signpost_kit.errors import ConfigError

__all__ = ["Address", "parse_address"]


@dataclass(frozen=True)
class Address:
    """Where a ComfyUI server is."""

    base: str
    """`http://host:port`, perhaps with a path (behind a proxy), without a slash at the end."""
    loopback: bool
    """It is on this machine: no proxy of the environment is used."""

    @property
    def name(self) -> str:
        """Host, port and path, for messages and records."""
        return self.base.partition("://")[2]

    def socket(self, client_id: str) -> str:
        """The websocket's address for one client."""
        scheme, _, rest = self.base.partition("://")
        return f"{'wss' if scheme == 'https' else 'ws'}://{rest}/ws?clientId={client_id}"


def parse_address(text: str, *, allow_remote_http: bool = False) -> Address:
    """The address of a server such as `http://127.0.0.1:8188`.

    Raises
    ------
    ConfigError
        It is no http or https address, holds a password, or would send pictures unencrypted to another machine
        although `allow_remote_http` is not set (ComfyUI has no authentication either).
    """
    given = text.strip().rstrip("/")
    example = "write it as http://127.0.0.1:8188 or https://gpu.example.org"
    try:
        parts = urlsplit(given)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"editing.servers: {text!r} is no address ({error}); {example}") from None
    if parts.scheme not in ("http", "https") or not host or re.search(r"\s", given):
        raise ConfigError(f"editing.servers: {text!r} is no http or https address; {example}")
    if parts.username or parts.password:
        raise ConfigError("editing.servers: an address must not hold a user or a password; leave them out")
    if parts.query or parts.fragment:
        raise ConfigError(f"editing.servers: {text!r} has something after the path; {example}")
    loopback = _is_loopback(host)
    if parts.scheme == "http" and not loopback and not allow_remote_http:
        raise ConfigError(
            f"editing.servers: {text!r} is another machine, and http is neither encrypted nor does ComfyUI ask who "
            "calls. Use https, or a tunnel (ssh -L 8188:127.0.0.1:8188 that-machine) with http://127.0.0.1:8188, "
            "or set editing.allow_remote_http=true if the network is yours"
        )
    return Address(given, loopback)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
