"""Simulated respondents to hints and claims: habits that are known, answers in words.

They exist so that every estimator of the second study can be checked against a truth. A respondent reads the
question as it is sent (the hint's name, a warning, a checklist, the claim) and looks the picture up in a small
world of sites and reference points. What it says follows from its habits and a draw of its own for each question.

Hints. At a site that it recognises its own view is a named place near the truth, elsewhere some named place of the
city. With a hint it answers the hint itself with a fixed chance, else its own view. The slope of log error on the
hint's distance is then that chance times the slope of a respondent that always answers the hint.

Claims. Signal detection with equal variances: evidence for a claim is normal with mean 0 for true claims and minus
d' for decoys of a band; it says yes above a threshold.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from signpost_kit.errors import DataError
from signpost_kit.files import hash_bytes, hash_file
from signpost_kit.geo import haversine_km
from signpost_kit.metrics.verification import DECOY_BANDS, SIGNAL, claim_band
from signpost_kit.models.base import Answer, ProviderError, Request
from signpost_kit.profile_context import Respondent

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.hints.plan import HintSite

__all__ = ["SimulatedRespondent", "World", "respondents"]

_FAR_KM = 1.0
"""Where it does not recognise the site, its own view is at least this far from it."""
_CLAIM = re.compile(r'within (?P<metres>\d+) m of "(?P<name>.*?)"[.\s]*\n', re.DOTALL)
_CLUE = "the look of the street"
_STRANGE = -4.0  # mean evidence for a claim about a picture of quite another place


@dataclass(frozen=True)
class _Scene:
    """What a respondent could know of one picture."""

    site: str
    city: str
    names: tuple[str, ...]
    km: np.ndarray
    """(n,) distance of each named place to where the picture was taken."""


class World:
    """Pictures by their content, and the named places around each.

    Parameters
    ----------
    sites, points
        As for :func:`signpost_kit.claims.make_trials`.

    Raises
    ------
    DataError
        A picture is gone, or a site has no named place.
    """

    def __init__(self, sites: Sequence[HintSite], points: pd.DataFrame) -> None:
        self._scenes: dict[str, _Scene] = {}
        around = {str(site): part.sort_values("qid") for site, part in points.groupby("site")}
        for site in sites:
            pool = around.get(site.site)
            if pool is None:
                raise DataError(f"the site {site.site!r} has no reference point: run the stage 'ladder' first")
            names = tuple(str(name) for name in pool["name_en"])
            lat, lon = pool["lat"].to_numpy(float), pool["lon"].to_numpy(float)
            for path, file in site.pictures:
                km = np.asarray(haversine_km(*site.position(path), lat, lon))
                self._scenes[_content(file)] = _Scene(site.site, site.city, names, km)

    def scene(self, picture: str) -> _Scene | None:
        """The scene of a picture by its hash; None for one that is not of this world (the grey field)."""
        return self._scenes.get(picture)


def _content(file: Path) -> str:
    try:
        return hash_file(file)
    except OSError as error:
        raise DataError(f"the picture {file} cannot be read: {error.strerror or error}") from error


class SimulatedRespondent:
    """One respondent; answers the tasks `hint` and `claim`, the same question always in the same words."""

    concurrency = 16

    def __init__(self, name: str, habits: Respondent, world: World, *, seed: int = 42) -> None:
        self.name = "simulated"
        self._who = name
        self._habits = habits
        self._world = world
        self._seed = seed

    async def ask(self, request: Request) -> Answer:
        """Answer in words.

        Raises
        ------
        ProviderError
            The task is none that respondents were made for.
        """
        scene = self._world.scene(request.image_hash)
        if request.task == "hint":
            text = self._hint(scene, request)
        elif request.task == "claim":
            text = self._claim(scene, request)
        else:
            raise ProviderError(
                f"simulated respondents answer the tasks hint and claim, not {request.task!r}",
                retryable=False,
                fatal=True,
            )
        return Answer(text=text, finish_reason="stop", price_usd=0.0)

    async def close(self) -> None:
        """Nothing to release."""

    def _rng(self, *parts: object) -> np.random.Generator:
        key = "|".join(map(str, (self._who, *parts)))
        return np.random.default_rng([self._seed, int(hash_bytes(key.encode())[:12], 16)])

    def recognises(self, site: str) -> bool:
        """Whether it knows this site from the picture alone."""
        return bool(self._rng("legible", site).random() < self._habits.legibility)

    # -- hints ----------------------------------------------------------------------------------------------

    def _hint(self, scene: _Scene | None, request: Request) -> str:
        if scene is None:
            return "I'm sorry, I cannot identify the location of this image."
        habits = self._habits
        rng = self._rng("hint", request.image_hash, request.prompt_hash, request.sample_index)
        told = _hint_name(request.prompt, scene.names)
        legible = self.recognises(scene.site)
        reliance = habits.reliance_legible if legible else habits.reliance
        if "inaccurate" in request.prompt:
            reliance -= habits.warned
        if '"evidence"' in request.prompt:
            reliance -= habits.checklist
        # One draw decides under every wording, so that paired schemas differ by the habit and not by luck.
        lot = self._rng("lot", request.image_hash, told, request.sample_index).random()
        echoes = told is not None and lot < min(max(reliance, 0.0), 1.0)
        place = told if echoes and told else self._own_view(scene, legible, rng)
        return _say_hint(scene.city, place, habits.confidence, request.prompt, rng)

    def _own_view(self, scene: _Scene, legible: bool, rng: np.random.Generator) -> str:
        if legible:
            spread = max(self._habits.noise_km, 1e-3)
            weight = np.exp(-0.5 * ((scene.km - scene.km.min()) / spread) ** 2)
        else:
            weight = (scene.km >= _FAR_KM).astype(float)
            if not weight.any():
                weight = np.ones(len(scene.km))
        return scene.names[int(rng.choice(len(weight), p=weight / weight.sum()))]

    # -- claims ---------------------------------------------------------------------------------------------

    def _claim(self, scene: _Scene | None, request: Request) -> str:
        habits = self._habits
        rng = self._rng("claim", request.image_hash, request.prompt_hash, request.sample_index)
        found = _CLAIM.search(request.prompt)
        name = found["name"] if found else ""
        evidence = rng.normal() - self._distance(scene, name)
        threshold = habits.criterion - habits.dprime[0] / 2
        yes = scene is not None and evidence > threshold
        sure = float(np.clip(habits.confidence + rng.normal(0, 0.02), 0, 1))
        said = {
            "verdict": "yes" if yes else "no",
            "confidence": round(sure, 2),
            "evidence": ["the look of the street"],
        }
        return "```json\n" + json.dumps(said) + "\n```" if rng.random() < 0.5 else json.dumps(said)

    def _distance(self, scene: _Scene | None, name: str) -> float:
        """How far below that of a true claim the mean of its evidence is."""
        if scene is None or name not in scene.names:
            return -_STRANGE
        band = str(claim_band([float(scene.km[scene.names.index(name)])])[0])
        return 0.0 if band == SIGNAL else self._habits.dprime[DECOY_BANDS.index(band)] if band else -_STRANGE


def _hint_name(prompt: str, names: Sequence[str]) -> str | None:
    """The reference point that the question names before it asks, if any: the longest that stands there."""
    told = prompt.split("\n\nWhich place", 1)[0] if "\n\nWhich place" in prompt else prompt.split("{", 1)[0]
    return max((name for name in names if name in told), key=len, default=None)


def _say_hint(city: str, place: str, sure: float, prompt: str, rng: np.random.Generator) -> str:
    sure = round(float(np.clip(sure + rng.normal(0, 0.02), 0, 1)), 2)
    said: dict[str, Any] = {}
    if '"evidence"' in prompt:
        seen = ("infrastructure", "vegetation", "architecture", "script", "terrain")
        said["evidence"] = {slot: "not visible" if rng.random() < 0.3 else f"some {slot}" for slot in seen}
    said |= {"city": city, "area": place}
    if '"building"' in prompt:
        said |= {"building": place, "confidence_area": sure, "confidence_building": round(sure * 0.8, 2)}
    else:
        said |= {"place": place, "confidence": sure}
    said["clues"] = [_CLUE]
    return "My answer:\n" + json.dumps(said, ensure_ascii=False) if rng.random() < 0.5 else json.dumps(said)


def respondents(
    habits: Mapping[str, Respondent], sites: Sequence[HintSite], points: pd.DataFrame, *, seed: int = 42
) -> dict[str, SimulatedRespondent]:
    """Respondents by name, all in one world."""
    world = World(sites, points)
    return {name: SimulatedRespondent(name, one, world, seed=seed) for name, one in habits.items()}


def expected_rates(habits: Respondent) -> dict[str, float]:
    """What an estimator should find, in expectation over many sites: echo rates, H, and F by band."""
    echo = habits.legibility * habits.reliance_legible + (1 - habits.legibility) * habits.reliance
    threshold = habits.criterion - habits.dprime[0] / 2
    out = {"echo": echo, "hit_rate": _phi(-threshold)}
    return out | {f"f_{band}": _phi(-d - threshold) for band, d in zip(DECOY_BANDS, habits.dprime, strict=True)}


def _phi(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))
