"""The part of a profile that is about the second study: hints, claims, and who answers them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from signpost_kit.profile_sections import Section

__all__ = ["SCHEMAS", "Claims", "Context", "Hints", "Ladder", "Respondent"]

Schema = Literal["v1", "forced", "forced_hedge", "forced_warn", "forced_chain"]
SCHEMAS: tuple[Schema, ...] = ("v1", "forced", "forced_hedge", "forced_warn", "forced_chain")
"""How a hint is put and what may be answered, in the order of the study."""


class Ladder(Section):
    """The reference points around every site."""

    points: Literal["local", "wikidata", "file"] = "local"
    """The teaching set's own gazetteer, Wikidata's entities around each site, or a folder of ladder files."""
    path: str | None = None
    """Folder with <site>_ladder_<auditor>.csv files, or a CSV with points of your own (file)."""
    auditor: str | None = None
    """The text-only model that says which points are usable, and how often people refer to them; never one of the
    models that are evaluated (wikidata)."""
    image_auditor: str | None = None
    """The model that checks the sites' pictures, beside a person; never one of those that are evaluated."""
    draws: int = Field(default=2, ge=1, le=20)
    """Random draws per band and tier; a cell that has fewer gives all it has, and is reported."""
    seed: int = Field(default=42, ge=0)
    contact: str | None = None
    """E-mail or web address of whoever runs this: Wikidata asks for it (wikidata, as all that follows)."""
    url: str | None = None
    """Another SPARQL service with `wikibase:around`; None: Wikidata's own."""
    interval_s: float = Field(default=1.0, ge=0, le=3600)
    """Least time between two requests of all processes, in seconds; below 1 only for a service of your own."""
    language: str | None = None
    """Of the local names, as `ja`; None: the main language of each site's country."""
    radius_km: float = Field(default=6.0, gt=0, le=20)
    """How far from a site candidates are looked for."""
    per_band: int = Field(default=150, ge=1, le=5000)
    """Candidates that are audited per site and distance band; of more, so many are drawn by `seed`."""
    batch_size: int = Field(default=20, ge=1, le=50)
    """Names in one question to the auditor."""
    max_cost_usd: float | None = Field(default=None, ge=0)
    """The auditor stops before one run of the stage costs more than this, in US dollars."""
    decisions: str | None = None
    """Kept decisions of an auditor (decisions.jsonl of another run, a release's audit_decisions.jsonl): names in it
    are not asked about again."""
    contentious: bool = True
    """Screen the usable names in a second pass, and leave contentious ones out."""


class Hints(Section):
    """GeoHint: where was this taken, with and without a true but coarse hint?"""

    schemas: list[Schema] = Field(default_factory=lambda: ["forced", "forced_warn", "forced_chain"], min_length=1)
    baseline_samples: int = Field(default=1, ge=1, le=20)
    """How often each picture is asked about without a hint."""
    geocoder: Literal["local", "gazetteer", "wikidata", "nominatim"] = "local"
    """What the answers' names are looked up in; local: the run's own ladder and city list."""
    frozen: str | None = None
    """A kept cache to look names up in, and nothing else."""


class Claims(Section):
    """GeoVerify: was this photo taken within the tolerance of a named place?"""

    tolerance_km: float = Field(default=0.15, gt=0)
    per_band: int = Field(default=3, ge=1, le=50)
    """Decoys per picture and band at most."""
    seed: int = Field(default=42, ge=0)
    controls: bool = True
    """Also ask about a picture of another continent, and about a uniform grey field."""


class Respondent(Section):
    """A simulated respondent with known habits: what the estimators must find again."""

    reliance: float = Field(default=0.5, ge=0, le=1)
    """How often it answers the hint itself where it does not recognise the site: 0 ignores it, 1 recites it."""
    reliance_legible: float = Field(default=0.1, ge=0, le=1)
    """The same at a site that it recognises."""
    legibility: float = Field(default=0.5, ge=0, le=1)
    """Share of sites that it recognises from the picture alone."""
    noise_km: float = Field(default=0.3, ge=0)
    """Spread of its answers where it recognises the site; elsewhere it names some place of the city."""
    warned: float = Field(default=0.0, ge=-1, le=1)
    """What a warning takes off both reliances."""
    checklist: float = Field(default=0.0, ge=-1, le=1)
    """What an evidence checklist takes off both reliances."""
    dprime: list[float] = Field(default_factory=lambda: [0.4, 0.8, 1.2, 1.6, 2.0], min_length=5, max_length=5)
    """Its sensitivity to decoys, nearest band first."""
    criterion: float = 0.0
    """At the nearest band; above 0 it rather says no."""
    confidence: float = Field(default=0.9, ge=0, le=1)
    """What it says it is sure of, whatever it answers."""


class Context(Section):
    """The second study; what is left out is not asked."""

    ladder: Ladder = Field(default_factory=Ladder)
    hints: Hints | None = None
    claims: Claims | None = None
    respondents: dict[str, Respondent] = Field(default_factory=dict)
    """Simulated respondents by name, instead of the profile's models; they know the teaching set's truth."""

    @field_validator("respondents")
    @classmethod
    def _named(cls, value: dict[str, Respondent]) -> dict[str, Respondent]:
        for name in value:
            if not name or not all(c.isalnum() or c in "-_." for c in name):
                raise ValueError(f"the respondent {name!r}: names have letters, digits, - _ and . only")
        return value
