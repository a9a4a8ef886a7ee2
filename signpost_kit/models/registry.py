"""Models by name: `register` adds one, `get_model` finds it and names the alternatives when it cannot."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from signpost_kit.errors import ConfigError
from signpost_kit.models.base import Provider

__all__ = ["get_model", "model_names", "register"]

_FACTORIES: dict[str, Callable[[], Provider]] = {}


def register(name: str, factory: Callable[[], Provider] | None = None) -> Callable[..., object]:
    """Register `factory` under `name`, directly or as a decorator; the latest registration wins."""

    def keep(made: Callable[[], Provider]) -> Callable[[], Provider]:
        _FACTORIES[name] = made
        return made

    return keep(factory) if factory is not None else keep


def _load_builtin() -> None:
    import signpost_kit.models.embedded  # noqa: F401  registers the offline models


def model_names() -> tuple[str, ...]:
    """Every registered name, in order of registration."""
    _load_builtin()
    return tuple(_FACTORIES)


def get_model(name: str) -> Provider:
    """The provider that answers for `name`.

    Raises
    ------
    ConfigError
        No model of that name is registered; close matches are named.
    """
    names = model_names()
    if name not in _FACTORIES:
        close = difflib.get_close_matches(name, names, n=3)
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        raise ConfigError(f"unknown model {name!r}: {hint}known models: {', '.join(names)}")
    return _FACTORIES[name]()
