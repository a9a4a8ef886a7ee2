"""Profiles: everything one run depends on, in one small YAML file that is checked before anything starts.

A misspelt key, a wrong type, an unknown model or a missing file ends in one line that names the file, the line,
the dotted key, what is allowed and, where there is one, the close match.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import safe_name
from signpost_kit.frames import VARIANTS
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


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


class Source(_Section):
    """Where the pictures come from."""

    kind: Literal["town", "photos", "signpost-release", "geocontext-release"] = "town"
    n: int = Field(default=60, ge=1, le=100_000)
    """Scenes to draw (town)."""
    seed: int = Field(default=7, ge=0)
    """Of the drawn scenes (town)."""
    path: str | None = None
    """Folder of pictures (photos). Relative to the project's folder; from --set, to the current one."""
    positions: str | None = None
    """CSV with the positions of pictures that carry none (photos)."""
    limit: int | None = Field(default=None, ge=1)
    """Take at most this many pictures (photos)."""


class Screening(_Section):
    """Which strings in a picture count."""

    engine: Literal["rapidocr"] = "rapidocr"
    min_confidence: float = Field(default=0.3, ge=0, le=1)
    min_chars: int = Field(default=2, ge=1)
    max_spans: int | None = Field(default=3, ge=1)
    """Keep at most this many per picture."""


class Replacements(_Section):
    """How the similar, random and adversarial texts are made."""

    kind: Literal["gazetteer"] = "gazetteer"
    seed: int = Field(default=42, ge=0)


class Targets(_Section):
    """How the place that a text names is found."""

    geocoder: Literal["gazetteer"] = "gazetteer"


class Editing(_Section):
    """How text is removed from and lettered into pictures."""

    editor: Literal["paint"] = "paint"
    seed: int = Field(default=42, ge=0)


class Evaluation(_Section):
    """What is asked, and how."""

    task: Literal["coordinate"] = "coordinate"
    variants: list[str] = Field(default_factory=lambda: list(VARIANTS), min_length=1)
    concurrency: int | None = Field(default=None, ge=1, le=1000)
    """Requests in flight per provider; None leaves the provider's own bound."""
    samples: int = Field(default=1, ge=1)
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    max_tokens: int | None = Field(default=1024, ge=1)
    timeout_s: float = Field(default=120.0, gt=0)
    """Of one request, in seconds."""
    max_cost_usd: float | None = Field(default=None, ge=0)
    """Asking stops before the replies of one run of the stage cost more than this, in US dollars."""
    batch: bool = False
    """Ask through the batch endpoints of providers that have one: about half the price, within a day."""

    @field_validator("variants")
    @classmethod
    def _known(cls, value: list[str]) -> list[str]:
        for name in value:
            if name not in VARIANTS:
                raise ValueError(_unknown("variant", name, VARIANTS))
        return [name for name in VARIANTS if name in value]


class Scoring(_Section):
    """How replies become scores."""

    n_resamples: int = Field(default=2000, ge=1)
    """Bootstrap resamples behind every interval."""
    seed: int = Field(default=42, ge=0)
    alpha: float = Field(default=0.005, gt=0)
    """Decay of WLA per km."""
    tfr_radius_km: float = Field(default=50.0, gt=0)
    """A prediction this near to the trap counts as following the text."""
    failures: Literal["answered_only", "as_failures"] = "answered_only"
    """Which reading of failed replies the figures show; the tables always hold both."""


class Profile(_Section):
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
    scoring: Scoring = Field(default_factory=Scoring)
    notebooks: list[str] | None = None
    """Ids of the notebooks to run; None runs all."""

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
            raise ConfigError(f"{prefix}models: {_unknown('model', name, known)}")


def dump_profile(profile: Profile, root: Path | None = None) -> str:
    """The profile as YAML; paths near the project's folder are written relative to it."""
    data = profile.model_dump()
    base = (root or project_root()).resolve()
    for key in ("path", "positions"):
        value = data["source"][key]
        if value is not None and Path(value).is_relative_to(base.parent) and base.parent != Path(base.anchor):
            data["source"][key] = Path(os.path.relpath(value, base)).as_posix()
    return dump_yaml(data)


def _with_absolute_paths(profile: Profile, *, typed: Iterable[str]) -> Profile:
    """Typed paths start at the current folder, those of a file at the project's; the other is tried second."""
    changed: dict[str, str] = {}
    for key in ("path", "positions"):
        value = getattr(profile.source, key)
        if value is None:
            continue
        given = Path(value).expanduser()
        first, second = Path.cwd() / given, project_root() / given
        if f"source.{key}" not in typed:
            first, second = second, first
        # A path that exists nowhere is named by the check before the run.
        changed[key] = os.path.normpath(second if second.exists() and not first.exists() else first)
    if not changed:
        return profile
    return profile.model_copy(update={"source": profile.source.model_copy(update=changed)})


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


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(repr(c) for c in close)}? " if close else ""
    return f"unknown {what} {name!r}: {hint}known: {', '.join(names)}"
