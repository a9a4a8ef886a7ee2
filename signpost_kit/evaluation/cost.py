"""What asking costs: the price of a reply, an estimate before the first one, and both side by side afterwards.

Tokens of an estimate are this run's own: its prompt, and its pictures at the size they are sent in, by each
provider's public rule. As soon as a model has replied they are corrected by what its replies really took. A price
that params/models.yml does not know is never guessed: the estimate then tells tokens, and which line to fill.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.evaluation.image_tokens import image_tokens, sent_size
from signpost_kit.evaluation.rows import USED
from signpost_kit.models.base import Answer, Request, Usage

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.evaluation.store import ReplyStore
    from signpost_kit.models.catalogue import ModelSpec, Price

__all__ = [
    "ESTIMATE_COLUMNS",
    "against_actual",
    "charging",
    "estimate",
    "estimate_rows",
    "highest_price",
    "price_of",
    "text_tokens",
]

ESTIMATE_COLUMNS = (
    *("model", "requests", "images", "text_tokens", "image_tokens", "output_tokens", "price_usd", "batch_usd"),
    *("most_usd", "seconds", "done", "paid_usd", "basis", "note"),
)
_OUTPUT = {
    "coordinate": 40,
    "probing": 350,
    "defense": 300,
    "consistency": 80,
    "country": 100,
    "language": 120,
    "audit_points": 1200,
    "audit_contentious": 700,
    "image_audit": 120,
}  # tokens of a plain reply, until the first ones are there
_THINKING = 900  # and of thinking before it; from a few hundred to many thousands, so a first guess and no more
_LATENCY_S, _THINKING_LATENCY_S = 4.0, 20.0
_SAMPLE = 400  # pictures whose size is read; a millisecond each
_UNLIMITED = 16_384  # output tokens of a request without a limit, at the most
_UNKNOWN_IMAGE = 5_000  # tokens of a picture without a rule, at the most
_MARGIN = 1.25  # on the input, for the highest price of a request: rules are not bills


def price_of(usage: Usage, price: Price | None, *, batch: bool = False) -> float | None:
    """US dollars for what a reply took; None when the price is unknown or the provider counted nothing.

    Parameters
    ----------
    batch
        Asked through a batch endpoint: the batch discount is taken off (none known: the full price).
    """
    if price is None or (usage.input_tokens is None and usage.output_tokens is None):
        return None
    cached = min(usage.cached_tokens or 0, usage.input_tokens or 0)
    cached_price = price.input if price.cached_input is None else price.cached_input
    total = (
        ((usage.input_tokens or 0) - cached) * price.input
        + cached * cached_price
        + (usage.output_tokens or 0) * price.output
    )
    return total / 1e6 * (1 - (price.batch_discount or 0.0 if batch else 0.0))


def charging(specs: Mapping[str, ModelSpec], *, batch: bool = False) -> Callable[[str, Answer], float | None]:
    """(model, answer) -> US dollars: what the provider says, else by params/models.yml; None: unknown."""

    def charge(model: str, answer: Answer) -> float | None:
        if answer.price_usd is not None:
            return answer.price_usd
        spec = specs.get(model)
        return None if spec is None else price_of(answer.usage, spec.price, batch=batch)

    return charge


@lru_cache(maxsize=256)
def text_tokens(text: str) -> int:
    """About how many tokens a text has: a quarter per ASCII character, 0.7 per other one, 12 around the message.

    Tokenizers differ by a third; beside a picture that is little, and the first replies correct it.
    """
    plain = sum(character < "\x80" for character in text)
    return math.ceil(plain / 4 + (len(text) - plain) * 0.7) + 12


def highest_price(specs: Mapping[str, ModelSpec]) -> Callable[[Request], float]:
    """What one request can cost at the most: its input with a margin, and all output tokens that it may use.

    Raises
    ------
    ConfigError
        When a request's model has no known price.
    """

    @lru_cache(maxsize=4096)
    def picture(model: str, path: Path | None) -> int:
        counted = 0 if path is None else _picture_tokens(specs[model], path)
        return _UNKNOWN_IMAGE if counted is None else counted

    def price(request: Request) -> float:
        spec = specs.get(request.model)
        if spec is None or spec.price is None:
            raise ConfigError(_no_price(request.model, spec) + ", or leave out the limit of costs")
        if spec.price.input == spec.price.output == 0:
            return 0.0
        counted = picture(request.model, request.image_path)
        spent = Usage(
            math.ceil(_MARGIN * (text_tokens(request.prompt) + counted)),
            request.decoding.max_tokens or _UNLIMITED,
        )
        return price_of(spent, spec.price) or 0.0

    return price


def estimate(
    requests: Iterable[Request],
    specs: Mapping[str, ModelSpec],
    store: ReplyStore | None = None,
    *,
    retry: Collection[str] = (),
    concurrency: int | None = None,
) -> pd.DataFrame:
    """What is still to be asked, per model, and what that will take.

    Parameters
    ----------
    requests
        A plan (:func:`signpost_kit.evaluation.plan.make_plan`).
    specs
        Model -> what params/models.yml says of it. A model without an entry is listed with a note.
    store
        Replies that are there already: not asked again, and what they took corrects the estimate.
    retry
        Statuses that will be asked again.
    concurrency
        Requests under way per provider; None: each model's own.

    Returns
    -------
    DataFrame
        One row per model: requests, images (distinct pictures), text_tokens, image_tokens (NaN: no public rule, and
        no reply yet), output_tokens, price_usd, batch_usd (at the provider's batch price), most_usd (if every reply
        used up its limit of tokens), seconds (alone in its pool, at that concurrency), done (questions that are
        answered), paid_usd (for those), basis ("rule", or how many replies it was learned from), note (what to fill
        in, or "").
    """
    import pandas as pd

    rows = estimate_rows(requests, specs, store, retry=retry, concurrency=concurrency)
    frame = pd.DataFrame(rows, columns=list(ESTIMATE_COLUMNS))
    return frame.astype({"requests": "int64", "images": "int64", "done": "int64"})


def estimate_rows(
    requests: Iterable[Request],
    specs: Mapping[str, ModelSpec],
    store: ReplyStore | None = None,
    *,
    retry: Collection[str] = (),
    concurrency: int | None = None,
) -> list[dict[str, Any]]:
    """The rows of :func:`estimate`, plain."""
    by_model: dict[str, dict[str, Request]] = {}
    for request in requests:
        by_model.setdefault(request.model, {}).setdefault(request.key, request)
    used = [dict(zip(USED, row, strict=True)) for row in store.used()] if store is not None else []
    sent = {key for record in store.batches.open() for key in record.keys} if store is not None else set()
    options: dict[str, Any] = {"retry": tuple(retry), "concurrency": concurrency, "sent": sent}
    rows = []
    for model, questions in by_model.items():
        mine = [row for row in used if row["model"] == model and row["key"] in questions]
        rows.append(_estimate_model(model, questions, specs.get(model), _took(mine), **options))
    return rows


def against_actual(
    estimated: Iterable[Mapping[str, Any]], spent: Mapping[str, float], asked: Mapping[str, int]
) -> list[dict[str, Any]]:
    """An estimate beside what came of it, per model.

    Parameters
    ----------
    estimated
        What :func:`estimate_rows` gave before asking.
    spent
        Model -> US dollars of that run of asking.
    asked
        Model -> questions that were put to it.

    Returns
    -------
    list of dict
        model, requests (estimated), asked, estimated_usd (for those that were asked), actual_usd, ratio
        (actual / estimated; NaN where the price is unknown or nothing was asked).
    """
    rows = []
    for row in estimated:
        model, n = row["model"], int(asked.get(row["model"], 0))
        expected = row["price_usd"] * n / row["requests"] if row["requests"] else 0.0
        actual = float(spent.get(model, 0.0))
        rows.append(
            {
                "model": model,
                "requests": row["requests"],
                "asked": n,
                "estimated_usd": expected,
                "actual_usd": actual,
                "ratio": actual / expected if expected > 0 else float("nan"),
            }
        )
    return rows


# --- one model --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Took:
    """What the replies of one model to questions of this plan took."""

    statuses: dict[str, str]
    paid_usd: float
    whole: dict[str, float]
    """Key -> input tokens, of replies for which one call was made and counted."""
    output: dict[str, float]
    """Key -> output tokens."""
    latency: list[float]


def _took(mine: Sequence[Mapping[str, Any]]) -> _Took:
    """From rows of :meth:`ReplyStore.used` about one model and this plan."""
    current = [row for row in mine if row["current"]]
    whole = [row for row in current if (row["input_tokens"] or 0) > 0 and "cut_off_at" not in row["notes"]]
    return _Took(
        statuses={row["key"]: row["status"] for row in current},
        paid_usd=sum(row["price_usd"] or 0.0 for row in mine),
        whole={row["key"]: row["input_tokens"] for row in whole},
        output={row["key"]: row["output_tokens"] for row in current if row["output_tokens"]},
        latency=[row["latency_s"] for row in current if row["latency_s"]],
    )


def _estimate_model(
    model: str,
    questions: Mapping[str, Request],
    spec: ModelSpec | None,
    took: _Took,
    *,
    retry: Sequence[str],
    concurrency: int | None,
    sent: Collection[str],
) -> dict[str, Any]:
    left = {key: request for key, request in questions.items() if took.statuses.get(key) in (None, *retry)}
    under_way = left.keys() & set(sent)
    left = {key: request for key, request in left.items() if key not in under_way}
    row: dict[str, Any] = {
        "model": model,
        "requests": len(left),
        "images": len({request.image_hash for request in left.values() if request.image_path}),
        "done": len(questions) - len(left) - len(under_way),
        "paid_usd": took.paid_usd,
    }
    row |= _tokens(left, spec, took, questions)
    row |= _money(left, spec, row)
    row["seconds"] = _seconds(len(left), spec, took, concurrency)
    batched = [f"{len(under_way)} more are under way in batches"] if under_way else []
    row["note"] = "; ".join([*batched, *_notes(model, spec, row)])
    return row


def _tokens(
    left: Mapping[str, Request], spec: ModelSpec | None, took: _Took, questions: Mapping[str, Request]
) -> dict[str, Any]:
    if spec is not None and spec.provider == "embedded":
        return {"text_tokens": 0.0, "image_tokens": 0.0, "output_tokens": 0.0, "basis": "rule"}
    text = float(sum(text_tokens(request.prompt) for request in left.values()))
    images = _all_pictures(list(left.values()), spec)
    output = float(sum(_output(request, spec) for request in left.values()))
    basis = "rule"
    if took.whole:
        known = [questions[key] for key in took.whole]
        real = sum(took.whole.values())
        said = sum(text_tokens(request.prompt) for request in known)
        ruled = _all_pictures(known, spec)
        if math.isnan(ruled):
            images = max(0.0, (real - said) / len(known)) * len(left)
        elif said + ruled > 0:
            text, images = text * real / (said + ruled), images * real / (said + ruled)
        basis = f"{len(known)} replies"
    if took.output:
        output = _learned_output(left, spec, took.output, questions)
    return {"text_tokens": text, "image_tokens": images, "output_tokens": output, "basis": basis}


def _learned_output(
    left: Mapping[str, Request],
    spec: ModelSpec | None,
    output: Mapping[str, float],
    questions: Mapping[str, Request],
) -> float:
    """Output tokens of what is left: like replies to the same task, else by the rule, corrected in proportion."""
    known: dict[str, list[float]] = {}
    for key, tokens in output.items():
        known.setdefault(questions[key].task, []).append(tokens)
    ratio = sum(output.values()) / sum(_output(questions[key], spec) for key in output)
    mean = {task: sum(tokens) / len(tokens) for task, tokens in known.items()}
    return sum(mean.get(request.task, ratio * _output(request, spec)) for request in left.values())


def _money(left: Mapping[str, Request], spec: ModelSpec | None, row: Mapping[str, Any]) -> dict[str, float]:
    nan = float("nan")
    price = spec.price if spec else None
    if price is None:
        return {"price_usd": nan, "batch_usd": nan, "most_usd": nan}
    if price.input == price.output == 0 or not left:
        return {"price_usd": 0.0, "batch_usd": 0.0, "most_usd": 0.0}
    inputs = row["text_tokens"] + row["image_tokens"]
    most = sum(request.decoding.max_tokens or _UNLIMITED for request in left.values())
    usd = (inputs * price.input + row["output_tokens"] * price.output) / 1e6
    return {
        "price_usd": usd,
        "batch_usd": nan if price.batch_discount is None else usd * (1 - price.batch_discount),
        "most_usd": (inputs * price.input + most * price.output) / 1e6,
    }


def _seconds(requests: int, spec: ModelSpec | None, took: _Took, concurrency: int | None) -> float:
    if took.latency:
        each = sum(took.latency) / len(took.latency)
    elif spec is None or spec.provider == "embedded":
        return float("nan") if requests else 0.0
    else:
        each = _THINKING_LATENCY_S if spec.thinking else _LATENCY_S
    at_once = concurrency or (spec.concurrency if spec else 1)
    return requests * each / max(1, min(at_once, requests))


def _notes(model: str, spec: ModelSpec | None, row: Mapping[str, Any]) -> list[str]:
    notes: list[str] = []
    if not row["requests"]:
        return notes
    if spec is None or spec.price is None:
        notes.append(_no_price(model, spec))
    if math.isnan(row["image_tokens"]):
        notes.append("no public rule for its pictures' tokens: ask about a few first, then estimate again")
    elif spec is not None and spec.thinking and row["basis"] == "rule":
        notes.append("it thinks: how much is known after the first replies")
    return notes


def _no_price(model: str, spec: ModelSpec | None) -> str:
    if spec is None:
        return f"{model} is not in params/models.yml, so its price is unknown"
    return f"the price of {model} is unknown: fill in {spec.price_line}"


def _output(request: Request, spec: ModelSpec | None) -> int:
    plain = _OUTPUT.get(request.task, 200)
    wanted = plain + (_THINKING if spec is not None and spec.thinking else 0)
    return min(wanted, request.decoding.max_tokens or wanted)


# --- pictures ---------------------------------------------------------------------------------------------------


def _all_pictures(requests: Sequence[Request], spec: ModelSpec | None) -> float:
    """Tokens of all pictures; of many, an evenly spread sample is measured. NaN: no rule."""
    if not any(request.image_path for request in requests):
        return 0.0
    if spec is None or spec.image_tokens == "unknown":
        return float("nan")
    step = max(1, len(requests) // _SAMPLE)
    counted = [_picture_tokens(spec, r.image_path) if r.image_path else 0 for r in requests[::step]]
    known = [tokens for tokens in counted if tokens is not None]
    return sum(known) / len(known) * len(requests) if known else float("nan")


def _picture_tokens(spec: ModelSpec, path: Path) -> int | None:
    rule, size = image_tokens(spec.image_tokens), _size(path)
    if rule is None or size is None:
        return None
    longest = min(spec.image.useful_side_px, spec.image.max_side_px)
    return rule(*sent_size(*size, longest))


@lru_cache(maxsize=20_000)
def _size(path: Path) -> tuple[int, int] | None:
    """Sides of a picture from its header; None when it cannot be read (asking will say so)."""
    from signpost_kit.images import read_metadata

    try:
        found = read_metadata(path)
    except DataError:
        return None
    return found.width, found.height
