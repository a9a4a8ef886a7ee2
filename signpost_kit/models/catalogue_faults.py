"""What is said about a faulty line of params/models.yml: file, line, dotted key, what is allowed, the close match.

A value is quoted only where it cannot be a key that somebody wrote into the wrong place.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from signpost_kit.errors import ConfigError
from signpost_kit.models.keys import looks_like_key

__all__ = ["check_keys", "explain", "unknown_route"]

_SECRET_KEYS = ("key", "token", "secret", "password", "authorization")


def check_keys(data: object, allowed: Collection[str], path: Path, lines: Mapping[str, int], *, where: str) -> None:
    """Raise ConfigError naming the first key of `data` that is not allowed there, or that `data` is no section."""
    if not isinstance(data, dict):
        raise ConfigError(f"{place(path, lines, where)}: {where} must be a section of `key: value` lines")
    for key in data:
        if key in allowed:
            continue
        dotted = f"{where}.{key}" if where else str(key)
        at = place(path, lines, dotted)
        if _is_secret(str(key)):
            raise ConfigError(
                f"{at}: a key never stands in this file: take out {dotted!r}, put the key into the environment or "
                ".env, and write the variable's name as key_env"
            )
        if not where:
            raise ConfigError(f"{at}: unknown section {dotted!r}: {_meant(str(key), allowed)}")
        raise ConfigError(f"{at}: unknown key {dotted!r}: {_meant(str(key), allowed)}")


def explain(
    error: ValidationError, sources: Mapping[str, Mapping[str, Any]], path: Path, lines: Mapping[str, int]
) -> str:
    """One line for what pydantic found; `sources` are the sections that the value was put together from."""
    faults = error.errors(include_url=False, include_context=False)
    faults.sort(key=lambda fault: fault["type"] != "extra_forbidden")  # a misspelt key explains a missing one
    fault = faults[0]
    names = [str(part) for part in fault["loc"] if not isinstance(part, int)]
    owner = _owner(names, sources)
    dotted = ".".join([owner, *names])
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{place(path, lines, dotted)}: {_text(fault, names, dotted)}{more}"


def unknown_route(name: str, route: object, routes: Iterable[object], path: Path, lines: Mapping[str, int]) -> str:
    """What is said when a model names a route that the file does not have."""
    dotted = f"models.{name}.route"
    shown = repr(route) if not looks_like_key(str(route)) else "that"
    return f"{place(path, lines, dotted)}: unknown route {shown}: {_meant(str(route), [str(r) for r in routes])}"


def place(path: Path, lines: Mapping[str, int], dotted: str) -> str:
    """The file as one would type it here, and the line of the key or of the nearest section that has one."""
    parts = dotted.split(".")
    line = next((lines[key] for n in range(len(parts), 0, -1) if (key := ".".join(parts[:n])) in lines), None)
    shown = os.path.relpath(path) if path.resolve().is_relative_to(Path.cwd()) else str(path)
    return f"{shown} line {line}" if line else shown


def _owner(names: list[str], sources: Mapping[str, Mapping[str, Any]]) -> str:
    """The section in which the faulty value stands: the first that has it."""
    for section, data in sources.items():
        value: Any = data
        for name in names:
            if not isinstance(value, Mapping) or name not in value:
                break
            value = value[name]
        else:
            return section
    return next(iter(sources))


def _text(fault: Any, names: list[str], dotted: str) -> str:
    message = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        return f"unknown key {dotted!r}: {_meant(names[-1], _siblings(names))}"
    if fault["type"] == "missing":
        return f"the key {dotted!r} is missing"
    if fault["type"] == "value_error":
        return f"{dotted}: {message}"
    if fault["type"] in ("model_type", "model_attributes_type"):
        wanted = "free, null, or a section of `key: value` lines" if names[-1:] == ["price"] else "a section"
        return f"{dotted} must be {wanted}"
    message = message.replace("Input should be", "must be").replace("List should have", "must have")
    value = fault["input"]
    shown = "" if _is_secret(names[-1] if names else "") or looks_like_key(str(value)) else f", got {value!r}"
    return f"{dotted} {message}{shown}"


def _siblings(names: list[str]) -> list[str]:
    from signpost_kit.models.catalogue import ModelSpec

    model: Any = ModelSpec
    for name in names[:-1]:
        kind = model.model_fields[name].annotation
        model = next((k for k in (kind, *getattr(kind, "__args__", ())) if hasattr(k, "model_fields")), model)
    return list(model.model_fields)


def _meant(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}allowed: {', '.join(sorted(known)) or 'none'}"


def _is_secret(key: str) -> bool:
    folded = key.lower()
    return folded.endswith(_SECRET_KEYS) and folded not in ("key_env",)
