"""The catalogue, params/models.yml: what is known of every model a profile can name, checked when it is read.

A misspelt key, a wrong type or a key in the wrong place ends in one line that names the file, the line, the dotted
key and the close match. Facts (addresses, limits, prices) are in that file; here is only what they must look like.
"""

from __future__ import annotations

import datetime
import functools
import ipaddress
import re
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from signpost_kit.errors import ConfigError
from signpost_kit.models.catalogue_faults import check_keys, explain, unknown_route
from signpost_kit.strict_yaml import read_yaml

__all__ = [
    "ImageLimits",
    "ImageTokens",
    "ModelSpec",
    "Price",
    "TokenField",
    "catalogue_path",
    "load_catalogue",
]

ProviderName = Literal["openai", "anthropic", "google", "compatible", "embedded"]
TokenField = Literal["max_tokens", "max_completion_tokens", "max_output_tokens"]
ImageTokens = Literal[
    "openai-tiles-85-170",
    "openai-tiles-70-140",
    "openai-tiles-2833-5667",
    "openai-patches-2500",
    "anthropic-1568",
    "anthropic-2576",
    "gemini-tiles-258",
    "gemini-1120",
    "qwen3-vl",
    "grok-448",
    "unknown",
]
"""How a provider counts a picture's tokens, w x h pixels after encoding; each is the provider's public rule.

openai-tiles-A-B     fit into 2048 x 2048, then the shorter side down to 768; A + B per begun tile of 512 x 512
openai-patches-N     begun patches of 32 x 32, scaled down to N patches (and a longer side of 2048) at the most
anthropic-S          fit into S x S, and into the tokens that S stands for (1568: 1568, 2576: 4784); begun patches
                     of 28 x 28
gemini-tiles-258     258 if both sides are <= 384; else 258 per tile, tiles of side clip(min(w, h) / 1.5, 256, 768)
gemini-1120          1120, whatever the size (Gemini 3, media resolution "high", which is its default for pictures)
qwen3-vl             sides rounded to multiples of 32, scaled down to 2560 blocks of 32 x 32 at the most; plus 2
grok-448             256 per begun tile of 448 x 448, at most 6 tiles, and 256 more
unknown              no public rule: the estimate says so, and learns from the first replies
"""


class _Facts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ImageLimits(_Facts):
    """What one picture may be on a route. See :mod:`signpost_kit.models.image_limits` for how it is kept."""

    max_base64_bytes: int = Field(default=5_000_000, ge=10_000)
    """Length of the base64 text, which is what providers measure: 4/3 of the file."""
    max_side_px: int = Field(default=8000, ge=64)
    """A longer side is refused."""
    many_side_px: int | None = Field(default=None, ge=64)
    """The limit of a side instead of max_side_px in requests of more than `many_from` pictures; None: the same."""
    many_from: int = Field(default=20, ge=1)
    useful_side_px: int = Field(default=2048, ge=64)
    """A longer side is scaled down by the provider anyway, so the kit does it before sending."""
    max_images: int = Field(default=100, ge=0)
    """Pictures in one request; 0: the model reads text only."""
    formats: list[Literal["jpeg", "png"]] = Field(default=["jpeg", "png"], min_length=1)
    """What is sent, in order of preference (the kit encodes anew, so other types need not be listed)."""


class Price(_Facts):
    """US dollars per million tokens, as a named source gave them on a date."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    """Thinking counts as output."""
    cached_input: float | None = Field(default=None, ge=0)
    """None: the source names no price for cached input; it is then charged as input."""
    batch_discount: float | None = Field(default=None, ge=0, lt=1)
    """Share taken off in batch mode (0.5: half price); None: no batch price known."""
    date: str = Field(pattern=r"^\d{4}-\d{2}(-\d{2})?$")
    """When the source was true: year-month or year-month-day."""
    source: str = Field(min_length=3)
    """Who says so: a page's name, without its whole address."""

    @field_validator("date", mode="before")
    @classmethod
    def _yaml_makes_dates(cls, value: object) -> object:
        return value.isoformat() if isinstance(value, datetime.date) else value


FREE = Price(input=0, output=0, cached_input=0, batch_discount=0, date="2026-01", source="runs on your machine")
"""What `price: free` stands for."""


class ModelSpec(_Facts):
    """Everything the kit knows of one model before it is asked."""

    name: str
    """The name in profiles, tables and figures."""
    provider: ProviderName
    """Which client speaks to it."""
    model_id: str = Field(min_length=1)
    """The provider's own, exact identifier."""
    base_url: str | None = None
    """None: the SDK's own address."""
    key_env: str | None = None
    """The environment variable that holds the key; None: no key is needed (a server on this machine)."""
    group: str = ""
    """The maker, as figures label it: OpenAI, Google, ..."""
    title: str = ""
    """The name in the study's tables, where it differs from `name`."""
    pool: str = ""
    """Models of one pool share connections and rate limits: the route's name, else the server's."""
    description: str = ""
    studies: list[str] = Field(default_factory=list)
    """Which studies asked it: signpost, geocontext."""
    image: ImageLimits = Field(default_factory=ImageLimits)
    token_field: TokenField = "max_tokens"
    """The name under which this model takes the limit of tokens."""
    takes_temperature: bool = True
    thinking: bool = False
    """It thinks before it answers, and the thinking is paid and counts towards the limit of tokens."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """Further fields of the request's body, sent as they are, e.g. {enable_thinking: false}."""
    context_tokens: int | None = Field(default=None, ge=1)
    price: Price | None = None
    """None: unknown. The estimate then prints tokens and says which line to fill."""
    concurrency: int = Field(default=8, ge=1, le=1000)
    """Requests in flight to begin with."""
    image_tokens: ImageTokens = "unknown"

    @field_validator("name")
    @classmethod
    def _short_and_plain(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError(
                f"the name {value!r} becomes part of file names: use letters, digits and . _ + -, and put the "
                "provider's own identifier into model_id"
            )
        return value

    @field_validator("key_env")
    @classmethod
    def _a_name_not_a_key(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE.fullmatch(value):
            raise ValueError(
                "it must be the NAME of the environment variable that holds the key, e.g. MY_API_KEY; the key "
                "itself never stands in this file"
            )
        return value

    @field_validator("base_url")
    @classmethod
    def _an_address(cls, value: str | None) -> str | None:
        return None if value is None else _checked_url(value)

    @field_validator("price", mode="before")
    @classmethod
    def _free(cls, value: object) -> object:
        return FREE if value == "free" else value

    @model_validator(mode="after")
    def _fits_together(self) -> ModelSpec:
        if self.provider == "compatible" and self.base_url is None:
            raise ValueError("an OpenAI-style endpoint needs its base_url, e.g. http://localhost:11434/v1")
        if self.base_url and self.key_env and self.base_url.startswith("http:") and not _is_near(self.base_url):
            raise ValueError("base_url is plain http: the key would cross the net readable; use https")
        return self

    @property
    def reads_images(self) -> bool:
        """False for a model that takes text only."""
        return self.image.max_images > 0

    @property
    def price_line(self) -> str:
        """Where a missing price is to be filled in."""
        return f"params/models.yml: models.{self.name}.price"


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{2,63}")
_LABELS: dict[str, str] = {"openai": "OpenAI", "anthropic": "Anthropic", "google": "Google", "embedded": "offline"}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "openai": {"key_env": "OPENAI_API_KEY", "token_field": "max_completion_tokens"},
    "anthropic": {"key_env": "ANTHROPIC_API_KEY"},
    "google": {"key_env": "GEMINI_API_KEY", "token_field": "max_output_tokens"},
    "compatible": {},
    "embedded": {"price": "free"},
}
"""What a model of a provider is without further words; a route and the model's own lines come on top."""

_ROUTE_KEYS = frozenset(ModelSpec.model_fields) - {"name", "model_id", "pool", "title", "studies"}
_MODEL_KEYS = (frozenset(ModelSpec.model_fields) - {"name"}) | {"route"}


def catalogue_path(root: Path | None = None) -> Path | None:
    """params/models.yml: of `root`, else nearest to the working directory upwards, else beside the package."""
    here = Path.cwd()
    places = [root] if root is not None else [here, *here.parents, Path(__file__).resolve().parents[2]]
    return next((path for place in places if (path := place / "params" / "models.yml").is_file()), None)


def load_catalogue(root: Path | None = None) -> dict[str, ModelSpec]:
    """Every model of params/models.yml by name, in the file's order; empty if there is no such file.

    The file is read again only when it has changed (about 60 ms).

    Raises
    ------
    ConfigError
        Not YAML, a misspelt key, a wrong type, an unknown route; file, line, key and close match are named.
    DataError
        The file cannot be read.
    """
    path = catalogue_path(root)
    if path is None:
        return {}
    about = path.stat()
    return dict(_load(path, about.st_mtime_ns, about.st_size))


@functools.lru_cache(maxsize=8)
def _load(path: Path, _time: int, _size: int) -> dict[str, ModelSpec]:
    data, lines = read_yaml(path)
    check_keys(data, ("routes", "models"), path, lines, where="")
    routes = _section(data, "routes", path)
    models = _section(data, "models", path)
    for name, route in routes.items():
        check_keys(route, _ROUTE_KEYS, path, lines, where=f"routes.{name}")
    for name, entry in models.items():
        check_keys(entry, _MODEL_KEYS, path, lines, where=f"models.{name}")
    return {str(name): _spec(str(name), entry, routes, path, lines) for name, entry in models.items()}


def _section(data: dict[str, Any], key: str, path: Path) -> dict[Any, Any]:
    section = data.get(key) or {}
    if not isinstance(section, dict):
        raise ConfigError(f"{path}: {key} must be a section of `name:` lines, each with its keys below")
    return section


def _spec(name: str, entry: dict[str, Any], routes: dict[Any, Any], path: Path, lines: dict[str, int]) -> ModelSpec:
    entry = dict(entry)
    route_name = entry.pop("route", None)
    if route_name is not None and route_name not in routes:
        raise ConfigError(unknown_route(name, route_name, routes, path, lines))
    route = routes.get(route_name, {})
    provider = entry.get("provider", route.get("provider"))
    merged = {**_DEFAULTS.get(str(provider), {}), **route, **entry, "name": name}
    if isinstance(route.get("image"), dict) and isinstance(entry.get("image"), dict):
        merged["image"] = {**route["image"], **entry["image"]}
    merged.setdefault("model_id", name)
    merged.setdefault("pool", str(route_name or ""))
    try:
        spec = ModelSpec.model_validate(merged)
    except ValidationError as error:
        own = {f"models.{name}": entry, f"routes.{route_name}": route}
        raise ConfigError(explain(error, own, path, lines)) from None  # the cause would quote the input
    return _labelled(spec)


def _labelled(spec: ModelSpec) -> ModelSpec:
    """Pool and group, where the file leaves them out."""
    server = urlsplit(spec.base_url).netloc if spec.base_url else ""
    near = bool(spec.base_url) and _is_near(str(spec.base_url))
    group = spec.group or _LABELS.get(spec.provider) or ("local" if near else server)
    return spec.model_copy(update={"pool": spec.pool or server or spec.provider, "group": group})


def _checked_url(value: str) -> str:
    text = value.strip().rstrip("/")
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", text):
        raise ValueError("it must be an address such as https://server/v1 or http://localhost:8000/v1")
    if parts.username or parts.password:
        raise ValueError("it must not hold a user or password; the key comes from the environment")
    for end in ("/chat/completions", "/completions", "/responses", "/messages"):
        if text.endswith(end):
            raise ValueError(f"leave {end!r} off: the client adds it")
    return text


def _is_near(url: str) -> bool:
    """This machine, a private network, or a name without dots on it."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or "." not in host or host.endswith((".local", ".lan", ".internal"))
    return address.is_loopback or address.is_private
