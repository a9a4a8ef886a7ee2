"""From what came of a question to the reply that is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from signpost_kit.errors import SignpostError
from signpost_kit.evaluation.asking import Outcome
from signpost_kit.evaluation.reply import Reply
from signpost_kit.evaluation.tasks import Parsed, Parser, read_text
from signpost_kit.models.base import Answer, Usage

__all__ = ["to_reply"]


def to_reply(outcome: Outcome, prompt: str, parse: Parser, *, prices: Sequence[float | None] = ()) -> Reply:
    """What is stored for an outcome: the provider's word on it first, then what the text says.

    Parameters
    ----------
    prices
        Of `outcome.paid`; empty: as the answers tell.
    """
    answer = outcome.answer
    if answer is None:
        return Reply(
            status="error",
            said="error",
            reason=outcome.reason,
            attempts=outcome.attempts,
            latency_s=outcome.latency_s,
        )
    text, declined = answer.text, "; ".join(part for part in (answer.reason, outcome.reason) if part)
    parsed = read_text(text, prompt, parse) if answer.status == "ok" else Parsed(answer.status, declined)
    known = [price for price in (prices or [paid.price_usd for paid in outcome.paid]) if price is not None]
    reply = Reply(
        status="error",
        said=answer.status,
        text=text,
        finish_reason=answer.finish_reason,
        usage=_total([paid.usage for paid in outcome.paid]),
        price_usd=sum(known) if known else None,
        latency_s=outcome.latency_s,
        attempts=outcome.attempts,
        request_id=answer.request_id,
        notes=_notes(outcome, answer),
    )
    try:
        return replace(reply, **vars(parsed))
    except SignpostError as error:  # a status that does not exist, from a provider or a parser of the user's
        return replace(reply, reason=str(error))


def _notes(outcome: Outcome, answer: Answer) -> dict[str, str]:
    notes = dict(answer.notes)
    if outcome.cut_off:
        notes["cut_off_at"] = ", ".join(str(limit) for limit, _ in outcome.cut_off)
    return notes


def _total(usages: Sequence[Usage]) -> Usage:
    """All that was counted for one question; None where nobody counted."""
    if len(usages) == 1:
        return usages[0]
    counts = ((usage.input_tokens, usage.output_tokens, usage.cached_tokens) for usage in usages)
    known = [[number for number in column if number is not None] for column in zip(*counts, strict=True)]
    return Usage(*(sum(numbers) if numbers else None for numbers in known))
