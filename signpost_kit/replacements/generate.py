"""Replacement texts written by a model that sees the picture and, where it is known, is told the place.

Everything goes through the evaluation's machinery: each reply is in a store with its raw text, usage and cost
before the next step, a kill loses none, and no question is paid twice. A reply with faults is answered once with
what was wrong; what is still wrong then is left out, with the reasons. Changing a rule of the check asks nothing
anew but the second questions that differ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError, ModelError
from signpost_kit.evaluation import EvaluationSummary, Plan, Reply, ReplyStore, ask_plan, make_plan
from signpost_kit.files import hash_bytes
from signpost_kit.models.base import Decoding, Provider, Request
from signpost_kit.replacements.composing import Composed, Lines, compose
from signpost_kit.replacements.drafts import REPAIR_TASK, TASK, drafts_of
from signpost_kit.replacements.questions import Questions
from signpost_kit.replacements.validation import Fault

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark import Benchmark, Group
    from signpost_kit.geocoding import Place

__all__ = ["Generated", "Written", "generate"]

_MENDABLE = {
    "unparseable": "the reply held no JSON object with a list of spans",
    "truncated": "the reply was cut off at its limit of length; write the JSON object and nothing around it",
    "empty": "the reply was empty",
}
"""Statuses that a second question can mend, and what it says; a refusal is not argued with."""


@dataclass(frozen=True)
class Written:
    """What became of one picture."""

    group_id: str
    group: Group | None
    """With its replacements; None when it is left out."""
    places: tuple[Place | None, ...] = ()
    """Per span of `group`, the place that the model says its adversarial text names, as the gazetteer knows it."""
    first_faults: tuple[str, ...] = ()
    """What was wrong with the first reply; empty: nothing."""
    reason: str = ""
    """Why it is left out, or which of its spans are."""
    questions: int = 0
    """How many it took, 0 to 2."""

    @property
    def repaired(self) -> bool:
        """Whether there was a second question."""
        return self.questions == 2


@dataclass(frozen=True)
class Generated:
    """What a model wrote for a benchmark, in the groups' order."""

    model: str
    written: tuple[Written, ...]
    asked: int
    """Questions put in this call, second ones included."""
    reused: int
    """Questions whose reply was there already."""
    cost_usd: float
    """Of this call."""
    total_usd: float
    """Of all these replies, earlier calls included, as far as prices are known."""

    @property
    def groups(self) -> list[Group]:
        """Those that go on."""
        return [one.group for one in self.written if one.group is not None]

    @property
    def rejected(self) -> list[Written]:
        """Those that do not, each with its reason."""
        return [one for one in self.written if one.group is None]

    @property
    def counts(self) -> dict[str, int | float]:
        """What a record of the stage tells."""
        return {
            "asked": self.asked,
            "reused": self.reused,
            "asked_twice": sum(one.repaired for one in self.written),
            "mended": sum(one.repaired and one.group is not None for one in self.written),
            "with_fewer_spans": sum(one.group is not None and one.reason != "" for one in self.written),
            "cost_usd": round(self.total_usd, 6),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per picture: group_id, used, asked (0, 1 or 2 times), first_faults, reason."""
        import pandas as pd

        rows = [
            (one.group_id, one.group is not None, one.questions, "; ".join(one.first_faults), one.reason)
            for one in self.written
        ]
        return pd.DataFrame(rows, columns=pd.Index(["group_id", "used", "asked", "first_faults", "reason"]))


def generate(
    benchmark: Benchmark,
    model: str | Mapping[str, Provider],
    *,
    store: ReplyStore | Path | str,
    spans: str = "screened",
    lines: Lines | None = None,
    polygons: bool = True,
    most: int = 3,
    varied: bool = True,
    seed: int = 42,
    decoding: Decoding | None = None,
    retry: Collection[str] = (),
    **asking: Any,
) -> Generated:
    """Ask a model for the replacements of every group.

    Parameters
    ----------
    benchmark
        Groups with an Original picture. The groups' places are told to the model: it builds, it is not measured.
    model
        A registered name, or {name: provider}.
    store
        A store, which stays open, or the path of one.
    spans
        "screened": replacements for the spans that the groups have; texts must match them, polygons stay.
        "model": the model chooses up to `most` spans, which replace those of the group.
    lines
        Group -> what OCR read in its picture, for the polygons of chosen spans. The group's own spans always count.
    polygons
        Whether a chosen span must be found among those lines (the paint editor needs to know where it is); a span
        that is not is a fault. False: where it is in words will do (comfyui).
    varied
        Name a region for the adversarial and a script for the random text of each picture, drawn by `seed` and the
        group's id; see :mod:`.variety`. False: the model has its way.
    decoding
        None: temperature 0, 2048 tokens.
    retry
        Statuses of earlier replies that are asked again, e.g. ("error",).
    asking
        timeout_s, attempts, concurrency, max_cost_usd, specs, progress, sleep of
        :func:`signpost_kit.evaluation.ask_plan`. max_cost_usd holds for both rounds together.

    Raises
    ------
    ConfigError
        No such model, a template with an unknown placeholder, or an option out of range.
    DataError
        The benchmark has no picture.
    ModelError
        The model was stopped before every picture was answered (wrong key, limit of costs, one failure after
        another). What was answered is kept: call again.
    """
    if spans not in ("screened", "model"):
        raise ConfigError(f"spans is {spans!r}; allowed: screened, model")
    questions = Questions.load(proposed=spans == "model", varied=varied, seed=seed, most=most)
    name = model if isinstance(model, str) else next(iter(model))
    opened = store if isinstance(store, ReplyStore) else ReplyStore(store)
    try:
        writing = _Writing(
            benchmark, name, [name] if isinstance(model, str) else model, opened, tuple(retry), asking
        )
        check = _Check(questions, lines, polygons, most)
        return writing.run(questions, check, decoding or Decoding(max_tokens=2048))
    finally:
        if opened is not store:
            opened.close()


@dataclass(frozen=True)
class _Check:
    """From a stored reply to a group with replacements, or to what is wrong with it."""

    questions: Questions
    lines: Lines | None
    polygons: bool
    most: int

    def __call__(self, group: Group, reply: Reply, *, final: bool) -> Composed:
        if reply.status != "ok":
            said = _MENDABLE.get(reply.status, "")
            return Composed(None, (Fault(0, "", said or f"{reply.status}: {reply.reason}"),))
        return compose(
            group,
            drafts_of(reply.fields),
            chosen=self.questions.proposed,
            lines=self.lines,
            polygons=self.polygons,
            most=self.most,
            leave_out=final,
        )


@dataclass
class _Writing:
    """One call of :func:`generate`."""

    benchmark: Benchmark
    model: str
    models: Sequence[str] | Mapping[str, Provider]
    store: ReplyStore
    retry: tuple[str, ...]
    asking: dict[str, Any]
    asked: int = 0
    reused: int = 0
    cost_usd: float = 0.0
    total_usd: float = 0.0

    def run(self, questions: Questions, check: _Check, decoding: Decoding) -> Generated:
        wanted = {g.group_id: g for g in self.benchmark.groups if questions.proposed or g.spans}
        done = {
            g.group_id: Written(g.group_id, None, reason="it has no text to replace")
            for g in self.benchmark.groups
            if g.group_id not in wanted
        }
        plan = self._plan(questions, decoding, wanted)
        done |= {m.group_id: Written(m.group_id, None, reason=m.reason) for m in plan.missing}
        first = self._ask(plan, "picture")
        again: list[Request] = []
        results: dict[str, Composed] = {}
        for request in plan:
            reply = first[request.key]
            group = wanted[request.group_id]
            result = results[group.group_id] = check(group, reply, final=False)
            if result.faults and reply.status in ("ok", *_MENDABLE):
                text = questions.again(request.prompt, reply.text or "", result.faults)
                again.append(_reworded(request, text, REPAIR_TASK))
        second = self._ask(Plan(tuple(again)), "repair") if again else {}
        mended = {r.group_id: check(wanted[r.group_id], second[r.key], final=True) for r in again}
        done |= {name: self._judge(name, result, mended.get(name)) for name, result in results.items()}
        return Generated(
            model=self.model,
            written=tuple(done[group.group_id] for group in self.benchmark.groups),
            asked=self.asked,
            reused=self.reused,
            cost_usd=self.cost_usd,
            total_usd=self.total_usd,
        )

    def _plan(self, questions: Questions, decoding: Decoding, wanted: Mapping[str, Group]) -> Plan:
        planned = make_plan(
            self.benchmark,
            [self.model],
            prompt=questions.ask,
            task=TASK,
            variants=["Original"],
            decoding=decoding,
            groups=list(wanted),
        )
        asked = tuple(_reworded(request, questions.first(wanted[request.group_id])) for request in planned)
        return Plan(asked, planned.missing)

    def _ask(self, plan: Plan, what: str) -> dict[str, Reply]:
        """The stored reply to every question of the plan, by its key."""
        asking = dict(self.asking)
        if asking.get("max_cost_usd") is not None:
            asking["max_cost_usd"] = max(0.0, asking["max_cost_usd"] - self.cost_usd)
        summary = ask_plan(plan, self.models, store=self.store, retry=self.retry, **asking)
        self.asked += summary.asked
        self.reused += summary.reused
        self.cost_usd += summary.cost_usd
        if not summary.complete:
            raise ModelError(_stopped(self.model, summary, what))
        replies = {key: reply for r in plan if (reply := self.store.get(key := r.key)) is not None}
        self.total_usd += sum(reply.price_usd or 0.0 for reply in replies.values())
        return replies

    def _judge(self, group_id: str, first: Composed, second: Composed | None) -> Written:
        last = second or first
        faults = tuple(str(fault) for fault in first.faults)
        reason = "; ".join(str(fault) for fault in (*last.faults, *last.left_out))
        if last.group is None:
            said = " (asked twice)" if second else ""
            reason = f"{self.model} wrote nothing usable{said}: {reason}"
        return Written(group_id, last.group, last.places, faults, reason, questions=1 + (second is not None))


def _reworded(request: Request, prompt: str, task: str = "") -> Request:
    return replace(request, prompt=prompt, prompt_hash=hash_bytes(prompt.encode()), task=task or request.task)


def _stopped(model: str, summary: EvaluationSummary, what: str) -> str:
    reason = summary.stopped.get(model, "")
    if not reason and summary.batched:
        reason = f"{summary.batched} questions are under way in batches"
    done = summary.asked + summary.reused
    round_ = "" if what == "picture" else "second questions, "
    kept = "" if "kept" in reason else ". What it answered is kept: run again for the rest"
    reason = reason or "it was stopped"
    return f"{model} answered {done} of {summary.planned} ({round_}replacements): {reason}{kept}"
