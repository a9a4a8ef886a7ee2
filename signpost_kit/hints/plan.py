"""Which questions GeoHint asks: every picture without a hint and with every rung of its site's ladder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.benchmark.geocontext.answers import NO_CONTEXT, context_key
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.evaluation.plan import MissingPicture, Plan
from signpost_kit.files import hash_file
from signpost_kit.hints.schemas import BASELINE_OF, question
from signpost_kit.models.base import Decoding, Request
from signpost_kit.profile_context import SCHEMAS
from signpost_kit.prompts import Prompt

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TASK", "HintSite", "hint_plan", "read_variant", "variant_of"]

TASK = "hint"
"""The task under which the replies are stored."""


@dataclass(frozen=True)
class HintSite:
    """A place with pictures of it. Names and position are for scoring: no model ever sees them."""

    site: str
    city: str
    lat: float
    lon: float
    pictures: tuple[tuple[str, Path], ...]
    """(path as it stands in the frames, file) of each picture."""
    country: str = ""
    continent: str = ""
    """AF AS EU AN (North America) OC SA; empty when unknown."""
    positions: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Of pictures whose own position is known, by path: degrees."""

    def position(self, path: str) -> tuple[float, float]:
        """Where a picture was taken: its own position, else the site's."""
        return self.positions.get(path, (self.lat, self.lon))


def variant_of(schema: str, context: str) -> str:
    """How a question is called in the store beside its picture."""
    return f"{schema}|{context}"


def read_variant(text: str) -> tuple[str, str]:
    """(schema, context) of a stored question."""
    schema, _, context = text.partition("|")
    return schema, context


def hint_plan(
    sites: Sequence[HintSite],
    ladder: pd.DataFrame,
    models: Sequence[str],
    *,
    schemas: Sequence[str],
    baseline_samples: int = 1,
    decoding: Decoding | None = None,
) -> Plan:
    """All questions, picture by picture: strictly paired, the same pictures and hints under every schema and model.

    Parameters
    ----------
    ladder
        The drawn rungs: site, band, tier, qid, name_en. A site without a rung is asked without a hint only.
    schemas
        In the order of the study. Schemas whose question without a hint is that of another one share its baseline.
    baseline_samples
        How often each picture is asked about without a hint; the hints are asked once.

    Returns
    -------
    Plan
        task "hint", dataset = city, group_id = the picture's path, variant = "<schema>|<context>". Pictures that
        are gone are in `missing`.

    Raises
    ------
    ConfigError
        An unknown schema, or no model.
    DataError
        There is no site with a picture, or a rung without an English name.
    """
    unknown = [name for name in schemas if name not in SCHEMAS]
    if unknown or not schemas:
        raise ConfigError(f"unknown schema {unknown[:1]}; allowed: {', '.join(SCHEMAS)}")
    if not models:
        raise ConfigError("hints need at least one model to ask")
    nameless = ladder.loc[ladder["name_en"].astype(str).str.strip() == ""]
    if len(nameless):
        raise DataError(f"the ladder of {nameless['site'].iloc[0]!r} has a point without an English name")
    rungs = {str(site): part for site, part in ladder.groupby("site", sort=False)}
    requests: list[Request] = []
    missing: list[MissingPicture] = []
    for site in sites:
        asked = _questions(schemas, rungs.get(site.site), baseline_samples)
        for path, file in site.pictures:
            try:
                image_hash = hash_file(file)
            except OSError as error:
                missing.append(MissingPicture(path, "", f"{file.name}: {error.strerror or error}"))
                continue
            requests += [
                Request(
                    task=TASK,
                    model=model,
                    image_path=file,
                    image_hash=image_hash,
                    prompt=prompt.text,
                    prompt_hash=prompt.hash,
                    decoding=decoding or Decoding(),
                    sample_index=sample,
                    dataset=site.site,
                    group_id=path,
                    variant=variant,
                )
                for variant, prompt, samples in asked
                for sample in range(samples)
                for model in models
            ]
    if not requests:
        detail = f"{missing[0].group_id}: {missing[0].reason}" if missing else "there is no site with a picture"
        raise DataError(f"no hint can be asked about: {detail}")
    return Plan(tuple(requests), tuple(missing))


def _questions(
    schemas: Sequence[str], rungs: pd.DataFrame | None, baseline_samples: int
) -> list[tuple[str, Prompt, int]]:
    """(variant, prompt, samples) of one picture."""
    asked = []
    for schema in schemas:
        if BASELINE_OF.get(schema) not in schemas:
            asked.append((variant_of(schema, NO_CONTEXT), question(schema, None), baseline_samples))
        if rungs is not None:
            for rung in rungs.to_dict("records"):
                context = context_key(str(rung["tier"]), str(rung["band"]), str(rung["qid"]))
                asked.append((variant_of(schema, context), question(schema, str(rung["name_en"])), 1))
    return asked
