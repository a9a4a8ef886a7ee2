"""Profiles: everything one run depends on, in one small YAML file that is checked before anything starts.

A misspelt key, a wrong type, an unknown model or a missing file ends in one line that names the file, the line,
the dotted key, what is allowed and, where there is one, the close match.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import safe_name
from signpost_kit.profile_context import Context
from signpost_kit.profile_sections import (
    Compute,
    Editing,
    Evaluation,
    Replacements,
    Scoring,
    Screening,
    Section,
    Source,
    Targets,
    Tasks,
    unknown_name,
)
from signpost_kit.strict_yaml import dump_yaml, parse_scalar, read_yaml

__all__ = [
    "Profile",
    "available_profiles",
    "check_models",
    "dump_profile",
    "find_profile",
    "load_profile",
    "project_root",
]

_PATHS = (
    ("source", "path"),
    ("source", "positions"),
    ("source", "images"),
    ("source", "downloads"),
    ("screening", "weights"),
    ("targets", "frozen"),
    ("context.ladder", "path"),
    ("context.ladder", "decisions"),
    ("context.hints", "frozen"),
)  # keys that hold a path


class Profile(Section):
    """Everything a run depends on."""

    name: str
    """Of the run's folder; the file's own name by default."""
    title: str = ""
    source: Source = Field(default_factory=Source)
    screening: Screening = Field(default_factory=Screening)
    replacements: Replacements = Field(default_factory=Replacements)
    targets: Targets = Field(default_factory=Targets)
    editing: Editing = Field(default_factory=Editing)
    models: list[str] = Field(min_length=1)
    """Registered names, see `signpost models`."""
    evaluation: Evaluation = Field(default_factory=Evaluation)
    tasks: Tasks = Field(default_factory=Tasks)
    context: Context = Field(default_factory=Context)
    scoring: Scoring = Field(default_factory=Scoring)
    compute: Compute = Field(default_factory=Compute)
    notebooks: list[str] | None = None
    """Ids of the notebooks to run; None runs all."""

    @property
    def studies(self) -> tuple[str, ...]:
        """Which studies the profile is about: `signpost`, `geocontext`."""
        second = self.context.hints is not None or self.context.claims is not None
        if self.source.kind == "geocontext-release":
            return ("geocontext",)
        return ("signpost", "geocontext") if second else ("signpost",)

    @field_validator("name")
    @classmethod
    def _is_a_folder_name(cls, value: str) -> str:
        if safe_name(value) != value:
            raise ValueError(f"the name becomes a folder: use letters, digits, - and _ (e.g. {safe_name(value)!r})")
        return value

    @field_validator("models", "notebooks")
    @classmethod
    def _once_each(cls, value: list[str] | None) -> list[str] | None:
        for name in value or ():
            if (value or []).count(name) > 1:
                raise ValueError(f"{name!r} stands twice")
        return value


def project_root(start: Path | None = None) -> Path:
    """The folder that has params/ and notebooks/, from `start` (default: the current folder) upwards.

    Falls back to the folder that holds the package, as in a clone installed with `pip install -e .`.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "params").is_dir() and (folder / "notebooks").is_dir():
            return folder
    return Path(__file__).resolve().parents[1]


def available_profiles(root: Path | None = None) -> list[str]:
    """Names of the profiles in params/, sorted; a YAML file without a `models` key is something else."""
    found = []
    for path in sorted(((root or project_root()) / "params").glob("*.yml")):
        try:
            if isinstance(read_yaml(path)[0].get("models"), list):
                found.append(path.stem)
        except (ConfigError, DataError):
            continue
    return found


def find_profile(name_or_path: str | Path) -> Path:
    """The file of a profile: a bare name (`tiny`), a path, or the folder of a run.

    Raises
    ------
    ConfigError
        There is no such file; the available profiles are named.
    """
    text = str(name_or_path)
    root = project_root()
    given = Path(text).expanduser()
    candidates = [given, root / given]
    if given.suffix not in (".yml", ".yaml"):
        candidates = [root / "params" / f"{text}.yml", *candidates, *(c / "profile.yml" for c in candidates)]
    for path in candidates:
        if text and path.is_file():
            return path
    names = available_profiles(root)
    close = difflib.get_close_matches(given.stem, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ConfigError(f"no profile {text!r}: {hint}available in {root / 'params'}: {', '.join(names) or 'none'}")


def load_profile(path_or_name: str | Path, sets: Mapping[str, Any] | Iterable[str] = ()) -> Profile:
    """Read and check a profile.

    Parameters
    ----------
    path_or_name
        A name in params/ (`tiny`), a path (from the current folder, else from the project's), or a run's folder.
    sets
        Changes on top of the file: `{"source.n": 6}` or `["source.n=6"]` (values read as YAML).

    Returns
    -------
    Profile
        With absolute paths in `source`.

    Raises
    ------
    ConfigError
        No such profile, not YAML, a misspelt key, a wrong type or value, an unknown model.
    """
    path = find_profile(path_or_name)
    data, lines = read_yaml(path)
    data = {key: value for key, value in data.items() if value is not None}  # `source:` with nothing below it
    data.setdefault("name", path.stem)
    changes = sets if isinstance(sets, Mapping) else _parse_sets(sets)
    for key, value in changes.items():
        _apply(data, key, value)
    try:
        profile = Profile.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_explain(error, path, lines, changes)) from error
    check_models(profile.models, where=_shown(path))
    return _with_absolute_paths(profile, typed=changes)


def check_models(models: Iterable[str], *, where: str = "") -> None:
    """Raise ConfigError naming the first model that is not registered, a close match and the known ones."""
    from signpost_kit.models.registry import model_names

    known = model_names()
    for name in models:
        if name not in known:
            prefix = f"{where}: " if where else ""
            raise ConfigError(f"{prefix}models: {unknown_name('model', name, known)}")


def dump_profile(profile: Profile, root: Path | None = None) -> str:
    """The profile as YAML; paths near the project's folder are written relative to it."""
    data = profile.model_dump()
    base = (root or project_root()).resolve()
    for section, key in _PATHS:
        place: Any = data
        for part in section.split("."):
            place = (place or {}).get(part)
        value = (place or {}).get(key)
        if value is not None and Path(value).is_relative_to(base.parent) and base.parent != Path(base.anchor):
            place[key] = Path(os.path.relpath(value, base)).as_posix()
    return dump_yaml(data)


def _with_absolute_paths(profile: Profile, *, typed: Iterable[str]) -> Profile:
    """Typed paths start at the current folder, those of a file at the project's; the other is tried second."""
    for section, key in _PATHS:
        value = profile
        for part in (*section.split("."), key):
            value = getattr(value, part, None)
        if not isinstance(value, str):
            continue
        given = Path(value).expanduser()
        first, second = Path.cwd() / given, project_root() / given
        if f"{section}.{key}" not in typed:
            first, second = second, first
        # A path that exists nowhere is named by the check before the run.
        found = second if second.exists() and not first.exists() else first
        profile = _with(profile, (*section.split("."), key), os.path.normpath(found))
    return profile


def _with(model: Any, keys: Sequence[str], value: str) -> Any:
    """A copy of a frozen model with one nested key changed."""
    inner = value if len(keys) == 1 else _with(getattr(model, keys[0]), keys[1:], value)
    return model.model_copy(update={keys[0]: inner})


def _parse_sets(sets: Iterable[str]) -> dict[str, Any]:
    if isinstance(sets, str):
        sets = [sets]
    out: dict[str, Any] = {}
    for text in sets:
        key, found, value = text.partition("=")
        key = key.strip()
        if not found or not key:
            raise ConfigError(f"--set {text!r} must look like key=value, e.g. --set source.n=12")
        out[key] = _typed(key, value.strip())
    return out


def _typed(key: str, text: str) -> Any:
    """A typed value: text keys take the text as it is, lists of names may be given as `a,b`."""
    annotation = str(_annotation(key))
    if "list[str]" in annotation:
        value = parse_scalar(text)
        return [part.strip() for part in text.split(",")] if not isinstance(value, list | None) else value
    if "str" in annotation and not (text in ("null", "~", "") and "None" in annotation):
        return text
    return parse_scalar(text)


def _annotation(key: str) -> Any:
    model: Any = Profile
    for part in key.split("."):
        fields = getattr(model, "model_fields", {})
        if part not in fields:
            return None
        model = fields[part].annotation
    return model


def _apply(data: dict[str, Any], key: str, value: Any) -> None:
    *sections, last = key.split(".")
    place = data
    for section in sections:
        inner = place.get(section)
        if inner is None:
            inner = place[section] = {}
        if not isinstance(inner, dict):
            raise ConfigError(f"--set {key}: {section!r} is a value, not a section; {_allowed(Profile)}")
        place = inner
    place[last] = value


def _explain(error: ValidationError, path: Path, lines: dict[str, int], changes: Mapping[str, Any]) -> str:
    """One line for what pydantic found: the first fault in full, the number of others."""
    faults = error.errors(include_url=False)
    # A misspelt key explains a missing one, so it goes first.
    faults.sort(key=lambda fault: fault["type"] != "extra_forbidden")
    fault = faults[0]
    names = [part for part in fault["loc"] if isinstance(part, str)]
    dotted = ".".join(names)
    line = next((lines[key] for key in _shorter(dotted) if key in lines), None)
    where = f"--set {dotted}" if dotted in changes else f"{_shown(path)}{f' line {line}' if line else ''}"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{where}: {_fault_text(fault, names)}{more}"


def _fault_text(fault: Any, names: list[str]) -> str:
    dotted = ".".join(names)
    if fault["type"] == "extra_forbidden":
        owner = _annotation(".".join(names[:-1])) if names[:-1] else Profile
        fields = list(getattr(owner, "model_fields", {}))
        prefix = "".join(f"{name}." for name in names[:-1])
        close = difflib.get_close_matches(names[-1], fields, n=1) or _elsewhere(names[-1])
        meant = [prefix + name if name in fields else name for name in close]
        hint = f"did you mean {meant[0]!r}? " if meant else ""
        place = f" in {'.'.join(names[:-1])}" if prefix else ""
        return f"unknown key {dotted!r}: {hint}allowed{place}: {', '.join(fields)}"
    if fault["type"] == "missing":
        return f"the key {dotted!r} is missing"
    message = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "value_error":
        return f"{dotted}: {message}"
    if fault["type"] == "model_type":
        return f"{dotted} must be a section of `key: value` lines, got {fault['input']!r}"
    message = message.replace("Input should be", "must be").replace("List should have", "must have")
    return f"{dotted} {message}, got {fault['input']!r}"


def _shown(path: Path) -> str:
    """The path as a person at this place would type it."""
    return os.path.relpath(path) if path.resolve().is_relative_to(Path.cwd()) else str(path)


def _elsewhere(key: str) -> list[str]:
    """Dotted keys that end in `key` in any section: `n` at the top is meant as `source.n`."""
    found = []
    for section, info in Profile.model_fields.items():
        if key in getattr(info.annotation, "model_fields", {}):
            found.append(f"{section}.{key}")
    return found


def _shorter(dotted: str) -> list[str]:
    parts = dotted.split(".")
    return [".".join(parts[:end]) for end in range(len(parts), 0, -1)]


def _allowed(model: type[BaseModel]) -> str:
    return f"allowed: {', '.join(model.model_fields)}"
