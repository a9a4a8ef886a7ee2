"""YAML read strictly: a key given twice is an error, `5e-3` is a number, every key knows its line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from signpost_kit.errors import ConfigError, DataError

__all__ = ["dump_yaml", "parse_scalar", "read_yaml"]


class _Loader(yaml.SafeLoader):
    """SafeLoader plus the floats of YAML 1.2 (PyYAML takes `5e-3` for a text)."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+$"),
    list("-+0123456789."),
)


def read_yaml(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """The mapping in a file, and the line of every dotted key (first line is 1).

    An empty file gives an empty mapping.

    Raises
    ------
    ConfigError
        Not YAML, not UTF-8, not a mapping, or a key stands twice; the line is named.
    DataError
        The file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return {}, {}
        if not isinstance(node, yaml.MappingNode):
            raise ConfigError(f"{path} must hold `key: value` lines, not a list or a single value")
        lines: dict[str, int] = {}
        _walk(node, "", path, lines)
        return loader.construct_document(node), lines
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}{_place(error)}: not valid YAML ({_problem(error)})") from error
    finally:
        loader.dispose()


def parse_scalar(text: str) -> Any:
    """The value of a text typed on the command line, read as YAML: `3`, `5e-3`, `null`, `[a, b]`, `abc`.

    Raises
    ------
    ConfigError
        The text is not YAML, e.g. an unclosed bracket.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigError(f"cannot read the value {text!r} ({_problem(error)}): put it in quotes") from error


def dump_yaml(data: dict[str, Any]) -> str:
    """`data` as YAML in the order given, with non-Latin text readable."""
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)


def _walk(node: yaml.MappingNode, prefix: str, path: Path, lines: dict[str, int]) -> None:
    for key, value in node.value:
        line = key.start_mark.line + 1
        name = f"{prefix}{key.value}"
        if name in lines:
            raise ConfigError(f"{path} line {line}: the key {name!r} stands twice (first in line {lines[name]})")
        lines[name] = line
        if isinstance(value, yaml.MappingNode):
            _walk(value, f"{name}.", path, lines)


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f" line {mark.line + 1}" if mark is not None else ""


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or str(error).splitlines()[0])
