"""Models by name: those registered in Python, and those of params/models.yml, whose clients are made when needed.

`register` adds one, `get_model` finds it and names the alternatives when it cannot.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError
from signpost_kit.models.base import Provider

if TYPE_CHECKING:
    from signpost_kit.models.catalogue import ModelSpec

__all__ = ["get_model", "model_names", "model_spec", "register"]

HTTP_TIMEOUT_S = 120.0
"""Of one request, where the caller gives no other; the runner's own limit comes on top."""

_FACTORIES: dict[str, Callable[[], Provider]] = {}


def register(name: str, factory: Callable[[], Provider] | None = None) -> Callable[..., object]:
    """Register `factory` under `name`, directly or as a decorator; the latest registration wins.

    A registered name also goes before the same name in params/models.yml.
    """

    def keep(made: Callable[[], Provider]) -> Callable[[], Provider]:
        _FACTORIES[name] = made
        return made

    return keep(factory) if factory is not None else keep


def model_names() -> tuple[str, ...]:
    """Every name there is: registered ones in order of registration, then those of params/models.yml.

    Raises
    ------
    ConfigError
        params/models.yml has a fault.
    """
    _load_builtin()
    return tuple(dict.fromkeys([*_FACTORIES, *_specs()]))


def model_spec(name: str) -> ModelSpec | None:
    """What params/models.yml says of a model; None for one that was only registered in Python.

    Raises
    ------
    ConfigError
        No model of that name; close matches are named. Or params/models.yml has a fault.
    """
    spec = _specs().get(name)
    if spec is None and name not in model_names():
        raise _unknown(name)
    return spec


def get_model(name: str, *, http_timeout_s: float = HTTP_TIMEOUT_S) -> Provider:
    """The provider that answers for `name`. Models of one pool have providers of one `name`.

    Parameters
    ----------
    http_timeout_s
        Of one request of a client from params/models.yml; registered ones know their own.

    Raises
    ------
    ConfigError
        No model of that name; close matches are named. Or params/models.yml has a fault.
    ModelError
        Its key is missing or damaged.
    """
    _load_builtin()
    if name in _FACTORIES:
        return _FACTORIES[name]()
    spec = _specs().get(name)
    if spec is None:
        raise _unknown(name)
    from signpost_kit.models.client import make_client
    from signpost_kit.models.keys import find_key

    # A server without keys still gets a word in that place: the SDKs insist on one.
    key = find_key(spec.key_env) if spec.key_env else "none"
    return make_client(spec, key=key, http_timeout_s=http_timeout_s)


def _load_builtin() -> None:
    import signpost_kit.models.embedded  # noqa: F401  registers the offline models


def _specs() -> dict[str, ModelSpec]:
    """The catalogue, less offline entries that have no model behind them."""
    from signpost_kit.models.catalogue import load_catalogue

    specs = load_catalogue()
    _load_builtin()
    for name, spec in specs.items():
        if spec.provider == "embedded" and name not in _FACTORIES:
            offline = [known for known, other in specs.items() if other.provider == "embedded" and known != name]
            raise ConfigError(
                f"params/models.yml: models.{name}: there is no offline model of that name; `provider: embedded` "
                f"is for the kit's own: {', '.join(offline)}. A model of yours is registered in Python, or reached "
                "through `provider: compatible` and a base_url"
            )
    return specs


def _unknown(name: str) -> ConfigError:
    names = model_names()
    folded = {known.casefold(): known for known in names}
    for known, spec in _specs().items():
        folded.setdefault(spec.model_id.casefold(), known)  # the provider's identifier, or the study's name for it
        folded.setdefault(spec.title.casefold(), known)
    close = dict.fromkeys(folded[match] for match in difflib.get_close_matches(name.casefold(), folded, n=3))
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return ConfigError(f"unknown model {name!r}: {hint}known models: {', '.join(names)}")
