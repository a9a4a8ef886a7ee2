"""An offline stand-in for a model that writes replacement texts, so that this way can be learned without a key.

It sees the picture and the words of the question, as a paid model does, and answers in words: with texts of the
offline generator, and for one picture in four with a mistake that real models make (prose instead of JSON, a
forgotten text, a target on the picture's own continent, a text twice, one that is far too long). When it is told
what was wrong it mends it.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from typing import Any

from signpost_kit.benchmark.groups import Group, Span
from signpost_kit.errors import SignpostError
from signpost_kit.files import hash_bytes
from signpost_kit.models.base import Answer, ProviderError, Request
from signpost_kit.models.embedded.provider import CONCURRENCY, shared_pool

__all__ = ["WriterProvider"]

_TASKS = ("replacements", "replacements_repair")
_POINT = re.compile(r"\((-?\d{1,2}\.\d+), (-?\d{1,3}\.\d+)\)")
_LIST = re.compile(r"^\[\n(?:\{.*\n)+\]$", re.MULTILINE)
_MOST = 3
_SEEDS = 60  # sets of texts that it thinks of before it takes the best
_MISTAKES = ("prose", "forgotten", "near", "twice", "long")
_ONE_IN = 4


@dataclass(frozen=True)
class _Asked:
    """What it understands of a question."""

    spans: tuple[Span, ...]
    ids: tuple[int | None, ...]
    lat: float
    lon: float
    region: str


class WriterProvider:
    """The model `writer`. The same question always gets the same words."""

    name = "embedded"
    concurrency = CONCURRENCY

    async def ask(self, request: Request) -> Answer:
        """Answer in words.

        Raises
        ------
        ProviderError
            The picture cannot be read, or the question is not about replacements.
        """
        if request.task not in _TASKS:
            raise ProviderError(
                f"the offline model 'writer' writes replacement texts; it does not answer {request.task!r}",
                retryable=False,
                fatal=True,
            )
        text = await asyncio.get_running_loop().run_in_executor(shared_pool(), _answer, request)
        return Answer(text=text, finish_reason="stop", price_usd=0.0)

    async def close(self) -> None:
        """Nothing to release."""


def _answer(request: Request) -> str:
    content = hash_bytes(request.prompt.encode())
    try:
        asked = _understand(request)
        entries = _entries(asked, content)
    except SignpostError as error:
        raise ProviderError(str(error), retryable=False) from error
    dice = int(content[:8], 16)
    first = request.task == _TASKS[0]
    mistake = _MISTAKES[dice // _ONE_IN % len(_MISTAKES)] if first and entries and dice % _ONE_IN == 0 else ""
    if mistake == "prose":
        said = "; ".join(f"instead of {entry['text']} I would write {entry['similar']}" for entry in entries)
        return f"I looked at the signs in this picture: {said}."
    _spoil(entries, mistake, asked)
    body = json.dumps({"spans": entries}, ensure_ascii=False, indent=1)
    return f"Here are the texts for the {len(entries)} signs:\n\n```json\n{body}\n```"


def _understand(request: Request) -> _Asked:
    from signpost_kit.replacements.variety import REGIONS

    point = _POINT.search(request.prompt)
    lat, lon = (float(point[1]), float(point[2])) if point else (0.0, 0.0)
    region = next(
        (name for name in sorted(REGIONS, key=len, reverse=True) if f"city in {name}" in request.prompt), ""
    )
    listed = _LIST.search(request.prompt)
    if listed:
        entries: list[dict[str, Any]] = json.loads(listed[0])
        spans = tuple(Span(entry["text"], location=entry.get("location", "")) for entry in entries)
        return _Asked(spans, tuple(entry.get("id") for entry in entries), lat, lon, region)
    spans = _look(request)
    return _Asked(spans, (None,) * len(spans), lat, lon, region)


def _look(request: Request) -> tuple[Span, ...]:
    """The three strings of the picture that tell most, as OCR reads them."""
    from signpost_kit.ocr import read_text, screen
    from signpost_kit.taxonomy import classify

    if request.image_path is None:
        raise ProviderError("the offline model 'writer' looks at pictures", fatal=True)
    kept = [one.line for one in screen(read_text(request.image_path)) if one.kept]
    kept.sort(key=lambda line: (classify(line.text)[0], len(line.text)), reverse=True)
    return tuple(Span(line.text, location="on a sign") for line in kept[:_MOST])


def _entries(asked: _Asked, content: str) -> list[dict[str, Any]]:
    """Texts of the offline generator: of several sets the first without fault that leads to the region."""
    from signpost_kit.geocoding import default_gazetteer
    from signpost_kit.models.embedded.world import country_name
    from signpost_kit.replacements.gazetteer import propose
    from signpost_kit.replacements.validation import faults_of
    from signpost_kit.replacements.variety import REGIONS

    group = Group(content, "", asked.lat, asked.lon, spans=asked.spans)
    gazetteer, best, fewest = default_gazetteer(), group, 99.0
    for seed in range(_SEEDS if asked.spans else 0):
        made = propose(group, seed=seed)
        places = [gazetteer.locate(span.replacements["adversarial"]) for span in made.spans]
        away = sum(
            place is None or place.continent != REGIONS.get(asked.region, place.continent) for place in places
        )
        cost = 10.0 * len(faults_of(made, written=True)) + away
        if cost < fewest:
            best, fewest = made, cost
        if cost == 0:
            break
    out = []
    for number, span in zip(asked.ids, best.spans, strict=True):
        place = gazetteer.locate(span.replacements["adversarial"])
        entry: dict[str, Any] = {} if number is None else {"id": number}
        entry |= {"text": span.text, "location": span.location or "on a sign", **span.replacements}
        entry["place"] = {"city": place.name, "country": country_name(place.country)} if place else {}
        out.append(entry)
    return out


def _spoil(entries: list[dict[str, Any]], mistake: str, asked: _Asked) -> None:
    """Make a mistake in the last entry."""
    if mistake == "forgotten":
        del entries[-1]["random"]
    elif mistake == "twice":
        entries[-1]["similar"] = entries[-1]["adversarial"]
    elif mistake == "long":
        entries[-1]["similar"] = f"{entries[-1]['similar']} and all that belongs to it"
    elif mistake == "near":
        from signpost_kit.geocoding import default_gazetteer

        place, _ = default_gazetteer().nearest(asked.lat, asked.lon, min_population=300_000)
        entries[-1] |= {"adversarial": place.name, "place": {"city": place.name, "country": place.country}}
