"""The five offline models: what each concludes from what it may perceive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signpost_kit.geocoding.base import Place
from signpost_kit.models.embedded.arbiter import EVIDENCE, Arbiter, Candidates, describe
from signpost_kit.models.embedded.languages import language_name, languages_in
from signpost_kit.models.embedded.looker import Looker
from signpost_kit.models.embedded.reading import Reading, interpret, regions
from signpost_kit.models.embedded.words import Judgement
from signpost_kit.models.embedded.world import country_name, distances_km, prior_place

__all__ = ["MODELS", "Mind", "Perception", "judge"]

MODELS: tuple[str, ...] = ("prior", "reader", "looker", "aligned", "hardened")
_SAME_KM = 200.0  # two answers nearer than this count as the same place
_SUPPORTED = 0.5  # name_near above this: the place lies within about 100 km of a name that fills its string
_TOLD = 0.15  # a language with less of the evidence than this is not told


@dataclass(frozen=True)
class Mind:
    """What was learned: the looker's cities and weights, and one arbiter per model that weighs both sources."""

    cities: tuple[Place, ...]
    looker: Looker
    arbiters: dict[str, Arbiter]
    """Keys aligned, hardened."""


@dataclass(frozen=True)
class Perception:
    """A picture as the models see it; each part is computed when a model first asks for it."""

    features: Callable[[], NDArray[np.float64]]
    colours: Callable[[], dict[str, float]]
    lines: Callable[[], tuple[str, ...]]


def judge(model: str, perception: Perception, mind: Callable[[], Mind], *, warned: bool = False) -> Judgement:
    """The conclusion of one model.

    Parameters
    ----------
    model
        One of ``MODELS``.
    perception
        The picture.
    mind
        Called only by the models that have learned something.
    warned
        The question said that the writing may have been altered: a model that finds sights and writing in conflict
        then answers from the sights. The models that use a single source cannot heed it.
    """
    if model == "prior":
        return _prior()
    if model == "reader":
        return _reader(interpret(perception.lines()))
    known = mind()
    sight = known.looker.probabilities(perception.features())[0]
    if model == "looker":
        return _looker(known, sight, perception.colours())
    return _arbitrated(known, model, sight, perception, warned=warned)


def _prior() -> Judgement:
    place = prior_place()
    return Judgement(
        place.lat,
        place.lon,
        final_region=_region(place),
        texts=(),
        languages=tuple(language_name(name) for name in languages_in(place.country)[:1]),
        guesses_text=True,
        trust_explanation="Neither sights nor writing were used; this is where a person most likely lives.",
    )


def _reader(reading: Reading) -> Judgement:
    place = _text_place(reading)
    if place is None:
        place = prior_place()
        return Judgement(
            place.lat,
            place.lon,
            final_region=_region(place),
            textual_evidence=_quoted(reading),
            texts=reading.lines,
            languages=_languages(reading),
            trust_explanation="No writing that names or suggests a place was found.",
        )
    return Judgement(
        place.lat,
        place.lon,
        final_region=_region(place),
        textual_evidence=_quoted(reading),
        textual_region=_region(place),
        texts=reading.lines,
        languages=_languages(reading),
        trusted="Textual",
        trust_explanation="Only the writing was read.",
    )


def _looker(mind: Mind, sight: NDArray[np.float64], colours: dict[str, float]) -> Judgement:
    place = mind.cities[int(np.argmax(sight))]
    return Judgement(
        place.lat,
        place.lon,
        final_region=_region(place),
        visual_evidence=_seen(mind, sight, colours),
        visual_region=_region(place),
        trusted="Visual",
        trust_explanation="Only the sights were looked at.",
    )


def _arbitrated(
    mind: Mind, model: str, sight: NDArray[np.float64], perception: Perception, *, warned: bool
) -> Judgement:
    reading = interpret(perception.lines())
    arbiter = mind.arbiters[model]
    candidates = describe(mind.cities, sight, reading, lessons=mind.looker.lessons)
    credit = arbiter.expected_credit(candidates.evidence)
    by_text = _text_supported(candidates, reading)
    consistent = _consistent(candidates, credit, by_text, reading)
    allowed = credit
    if warned and consistent is False:
        allowed = np.where(by_text, -1.0, credit)
    best = int(np.argmax(allowed))
    place = candidates.places[best]
    top = mind.cities[int(np.argmax(sight))]
    text = _text_place(reading)
    return Judgement(
        place.lat,
        place.lon,
        final_region=_region(place),
        visual_evidence=_seen(mind, sight, perception.colours()),
        visual_region=_region(top),
        textual_evidence=_quoted(reading),
        textual_region=_region(text) if text else "none",
        texts=reading.lines,
        languages=_languages(reading),
        consistent=consistent,
        sure=_sure(credit, by_text, consistent),
        consistency_explanation=_why_consistent(consistent, top, text),
        trusted=_trusted(mind, arbiter, sight, reading, place),
        trust_explanation=f"Expected credit of {place.name} given all evidence: {credit[best]:.2f}.",
    )


def _text_place(reading: Reading) -> Place | None:
    """Where the writing alone points to: the most credible name, else the main city of the likeliest country."""
    if reading.named:
        return reading.named[0].place
    areas = regions(reading, limit=1)
    return areas[0] if areas else None


def _text_supported(candidates: Candidates, reading: Reading) -> NDArray[np.bool_]:
    """Which candidates the writing speaks for: near a name or, without names, in a country of the language.

    Where every name is only a small part of its string, those nearest to the best one.
    """
    if reading.named:
        near = candidates.evidence[:, EVIDENCE.index("name_near")]
        return near > min(_SUPPORTED, float(near.max()) * _SUPPORTED)
    return candidates.evidence[:, EVIDENCE.index("language_fit")] > 0.0


def _consistent(
    candidates: Candidates, credit: NDArray[np.float64], by_text: NDArray[np.bool_], reading: Reading
) -> bool | None:
    """Can the writing be true of this picture? None without writing that points anywhere.

    A named place must keep at least even odds after a look at the picture. A language names no point, so it counts
    as consistent when the best candidate of all is one that it speaks for.
    """
    if not by_text.any():
        return None
    if reading.named:
        return bool(credit[by_text].max() >= 0.5)
    return bool(by_text[int(np.argmax(credit))])


def _sure(credit: NDArray[np.float64], by_text: NDArray[np.bool_], consistent: bool | None) -> float | None:
    """How sure the verdict is, 0.5..1: the expected credit of the best place that the writing speaks for."""
    if consistent is None:
        return None
    best = float(credit[by_text].max())
    return max(0.5, best if consistent else 1.0 - best)


def _languages(reading: Reading) -> tuple[str, ...]:
    """The languages that the words and letters point to, the likeliest first; at most three."""
    likely = [language_name(name) for name, weight in reading.languages.items() if weight >= _TOLD]
    return tuple(dict.fromkeys(likely))[:3]


def _trusted(mind: Mind, arbiter: Arbiter, sight: NDArray[np.float64], reading: Reading, answer: Place) -> str:
    """Which source the answer rests on, found by taking each away: does the answer stay?"""
    if not reading.named and not reading.languages:
        return "Visual"
    blind = np.full(len(mind.cities), 1.0 / len(mind.cities))
    by_sight = _best(mind, arbiter, sight, Reading((), (), {}))
    by_text = _best(mind, arbiter, blind, reading)
    stays_by_sight, stays_by_text = (_km(answer, other) < _SAME_KM for other in (by_sight, by_text))
    if stays_by_sight == stays_by_text:
        return "Both"
    return "Visual" if stays_by_sight else "Textual"


def _best(mind: Mind, arbiter: Arbiter, sight: NDArray[np.float64], reading: Reading) -> Place:
    candidates = describe(mind.cities, sight, reading, lessons=mind.looker.lessons)
    return candidates.places[int(np.argmax(arbiter.expected_credit(candidates.evidence)))]


def _km(a: Place, b: Place) -> float:
    return float(distances_km([(a.lat, a.lon)], [(b.lat, b.lon)])[0, 0])


def _region(place: Place) -> str:
    return country_name(place.country) if place.country else place.name


def _seen(mind: Mind, sight: NDArray[np.float64], colours: dict[str, float]) -> str:
    order = np.argsort(-sight, kind="stable")[:3]
    likely = ", ".join(f"{mind.cities[i].name} ({sight[i]:.0%})" for i in order)
    mostly = " and ".join(list(colours)[:3])
    return f"mostly {mostly}; colours, lines and layout resemble {likely}"


def _quoted(reading: Reading) -> str:
    return ", ".join(f'"{line}"' for line in reading.lines[:6]) or "none"


def _why_consistent(consistent: bool | None, top: Place, text: Place | None) -> str:
    if consistent is None or text is None:
        return "Only one kind of evidence is present."
    km = _km(top, text)
    if consistent:
        return f"The writing points {km:.0f} km from where the sights point, which is credible here."
    return f"The writing points {km:.0f} km from where the sights point, which does not fit the sights."
