"""The sections of a profile: what each stage can be told, with its defaults and limits."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from signpost_kit.frames import VARIANTS

__all__ = [
    "Compute",
    "Editing",
    "Evaluation",
    "Replacements",
    "Scoring",
    "Screening",
    "Section",
    "Source",
    "Targets",
    "TaskSample",
    "Tasks",
    "unknown_name",
]


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """One line for a name that is not known: close matches first, then all that are."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(repr(c) for c in close)}? " if close else ""
    return f"unknown {what} {name!r}: {hint}known: {', '.join(names)}"


class Section(BaseModel):
    """Strict and frozen: a misspelt key or a wrong type is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


class Source(Section):
    """Where the pictures come from."""

    kind: Literal["town", "photos", "list", "panoramas", "signpost-release", "geocontext-release"] = "town"
    n: int = Field(default=60, ge=1, le=100_000)
    """Scenes to draw (town)."""
    seed: int = Field(default=7, ge=0)
    """Of the drawn scenes (town)."""
    path: str | None = None
    """Folder of pictures (photos, panoramas, releases) or the list's file (list). Relative to the project's folder;
    from --set, to the current one."""
    positions: str | None = None
    """CSV with the positions of pictures that carry none (photos, panoramas)."""
    images: str | None = None
    """Folder of the pictures that a list names (list)."""
    downloads: str | None = None
    """A list of your own with the addresses to fetch pictures from (list); None: nothing is downloaded."""
    limit: int | None = Field(default=None, ge=1)
    """Take at most this many pictures."""
    format: Literal["auto", "im2gps", "street-view", "osv5m", "yfcc100m", "table"] = "auto"
    """The list's form; auto: recognised by its header (list, panoramas)."""
    exchanged: bool | None = None
    """Whether the list's columns of latitude and longitude are exchanged: true exchanges them back, false takes
    them as they are; None: as they are, and an error if they surely are exchanged."""
    max_file_mb: float = Field(default=20.0, gt=0)
    """A picture to be fetched that is larger is refused (downloads)."""
    max_total_mb: float = Field(default=5000.0, gt=0)
    """Fetching stops when the run's downloads are larger than this (downloads)."""
    sample_by: Literal["country", "province"] | None = None
    """Draw a stratified sample instead of taking all (list, panoramas)."""
    share: float = Field(default=0.01, gt=0, le=1)
    """Share of each stratum that is drawn."""
    at_least: int = Field(default=10, ge=1)
    """Draw at least so many from each stratum that has them."""
    sample_seed: int = Field(default=42, ge=0)
    """Of the draw."""


class Screening(Section):
    """Which strings in a picture count."""

    engine: Literal["rapidocr", "easyocr"] = "rapidocr"
    languages: list[str] = Field(default_factory=lambda: ["en"], min_length=1)
    """What EasyOCR reads, by its own codes; rapidocr always reads Latin, Chinese and Japanese."""
    weights: str | None = None
    """Folder with EasyOCR's weights; None: the offline weights package, or EasyOCR's own folder."""
    min_confidence: float = Field(default=0.3, ge=0, le=1)
    min_chars: int = Field(default=2, ge=1)
    max_spans: int | None = Field(default=3, ge=1)
    """Keep at most this many per picture."""


class Replacements(Section):
    """How the similar, random and adversarial texts are made."""

    kind: Literal["gazetteer", "generate"] = "gazetteer"
    """From word lists and a gazetteer, offline; or written by a model that sees the picture."""
    seed: int = Field(default=42, ge=0)
    model: str | None = None
    """The registered model that writes them. This and what follows: generate."""
    spans: Literal["screened", "model"] = "screened"
    """Replace the texts that the screening kept, or up to three that the model chooses."""
    varied: bool = True
    """Name a region of the world and a script for each picture; without, a model repeats its favourites."""
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    max_tokens: int | None = Field(default=2048, ge=1)
    max_cost_usd: float | None = Field(default=None, ge=0)
    """Asking stops before the replies of one run of the stage cost more than this, in US dollars."""
    concurrency: int | None = Field(default=None, ge=1, le=1000)
    """Requests in flight; None leaves the provider's own bound."""
    timeout_s: float = Field(default=120.0, gt=0)
    """Of one request, in seconds."""


class Targets(Section):
    """How the place that a text names is found."""

    geocoder: Literal["gazetteer", "nominatim", "wikidata"] = "gazetteer"
    contact: str | None = None
    """E-mail or web address of whoever runs this: Nominatim and Wikidata ask for it."""
    url: str | None = None
    """A server of your own; None: the public one."""
    language: str = "en"
    """Of the names asked for; the first hit depends on it."""
    limit: int = Field(default=10, ge=1, le=50)
    """Candidates asked for; the first one is used and all are kept."""
    interval_s: float = Field(default=1.0, ge=0, le=3600)
    """Least time between two requests of all processes, in seconds; below 1 only for a server of your own."""
    failures: Literal["stop", "without_trap"] = "stop"
    """What a text does that could not be looked up: end the stage once the others are answered, or go on without
    a trap (the reason is recorded)."""
    frozen: str | None = None
    """A kept cache, or a release's geocode_cache.json, to answer from alone: nothing is asked."""


class Editing(Section):
    """How text is removed from and lettered into pictures."""

    editor: Literal["paint", "comfyui"] = "paint"
    seed: int = Field(default=42, ge=0)
    attempts: int = Field(default=3, ge=1, le=10)
    """Seeds tried until the checks of an edit pass; then it is marked."""
    checks: bool = True
    """Have OCR read every edit: the new text is there, the old one gone, the rest unchanged. Off: one attempt."""
    servers: list[str] = Field(default_factory=list)
    """ComfyUI servers, as http://127.0.0.1:8188 (comfyui)."""
    steps: int = Field(default=4, ge=1, le=100)
    cfg: float = Field(default=1.0, ge=0)
    """Sampling steps and guidance (comfyui); the released code of the study has 20 and 4."""
    allow_remote_http: bool = False
    """Talk to a server that is not this machine without encryption (comfyui has no authentication)."""
    timeout_s: float = Field(default=600.0, gt=0)
    """Of one edit, in seconds (comfyui)."""
    per_server: int = Field(default=1, ge=1, le=16)
    """Jobs that a server is given at once; those beyond the first wait in its queue (comfyui)."""
    lightning: bool | None = None
    """Load the LoRA for few steps (comfyui); None: with at most 8 steps."""
    checkpoints: dict[Literal["unet", "clip", "vae", "lora"], str] = Field(default_factory=dict)
    """Model files to use instead of those of the study, by the names that the server has them under (comfyui)."""


class Evaluation(Section):
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
    stored_only: bool = False
    """Ask nothing: score the replies that are stored, of whatever models (those of an imported release)."""

    @field_validator("variants")
    @classmethod
    def _known(cls, value: list[str]) -> list[str]:
        for name in value:
            if name not in VARIANTS:
                raise ValueError(unknown_name("variant", name, VARIANTS))
        return [name for name in VARIANTS if name in value]


class TaskSample(Section):
    """Which scenes one further task is asked about; the same ones for every model."""

    per_dataset: int | None = Field(default=250, ge=1)
    """Scenes drawn from each dataset; None: all. A failed reply is never replaced by another scene."""
    seed: int = Field(default=42, ge=0)
    """Of the draw."""
    variants: list[str] = Field(default_factory=lambda: list(VARIANTS), min_length=1)

    @field_validator("variants")
    @classmethod
    def _known(cls, value: list[str]) -> list[str]:
        for name in value:
            if name not in VARIANTS:
                raise ValueError(unknown_name("variant", name, VARIANTS))
        return [name for name in VARIANTS if name in value]


class Tasks(Section):
    """What is asked besides the coordinates; a task that is left out is not asked."""

    probing: TaskSample | None = None
    """Both kinds of evidence apart, whether they agree, what was trusted."""
    defense: TaskSample | None = None
    """The same question with a warning that writing may lie."""
    consistency: TaskSample | None = None
    """Cross-task: do sights and writing belong to one place?"""
    country: TaskSample | None = None
    """Cross-task: the country by the sights, by the writing, and in the end."""
    language: TaskSample | None = None
    """Cross-task: the languages that can be read."""


class Scoring(Section):
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


class Compute(Section):
    """Where the work of the construction stages is done."""

    scheduler: str = "threads"
    """`serial`, `threads`, `processes`, or the address of a running Dask scheduler (tcp://host:port)."""
    workers: int | None = Field(default=None, ge=1, le=1024)
    """Workers at once; None: one per core (a Dask cluster has its own)."""

    @field_validator("scheduler")
    @classmethod
    def _known_scheduler(cls, value: str) -> str:
        if value not in ("serial", "threads", "processes") and not value.startswith(("tcp://", "tls://")):
            raise ValueError(
                f"unknown scheduler {value!r}: allowed are serial, threads, processes, or tcp://host:port of Dask"
            )
        return value
