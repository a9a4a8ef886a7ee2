"""The audit of names by a model of words: usable or not, how often referred to, contentious or not.

Names are asked about in batches. What a reply leaves out is asked about again without the rest; a batch about which
it says nothing usable is split in half, down to single names. No name is dropped: one that even alone got no
answer is told with the reason.

What was decided stands in the run's file of decisions, and replies in its store, so that a killed audit goes on
where it was and asks nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError, ModelError
from signpost_kit.evaluation.plan import Plan
from signpost_kit.files import hash_bytes
from signpost_kit.geocoding.names import fold
from signpost_kit.ladder.decisions import CONTENTIOUS, POINT, Decision, DecisionLog
from signpost_kit.models.base import Decoding, Provider, Request
from signpost_kit.prompts import Prompt, load

if TYPE_CHECKING:
    from signpost_kit.evaluation import ReplyStore
    from signpost_kit.evaluation.reply import Reply

__all__ = ["Audited", "Name", "audit_names", "check_auditor"]

TASKS = {POINT: "audit_points", CONTENTIOUS: "audit_contentious"}
"""Pass -> task and prompt."""
_DECODING = Decoding(0.0, 8192)
_PLACEHOLDERS = ("{names}", "{city}", "{country}", "{count}")


@dataclass(frozen=True)
class Name:
    """One name to be judged. The auditor never sees the qid, nor where the thing is or how well known."""

    qid: str
    label: str
    """In English, or as it is called there when there is no English one."""
    local: str = ""
    """As it is called there, when that is another name."""
    kind: str = ""
    """What it is, in a word or two; may be empty."""
    city: str = ""
    country: str = ""
    """Code or name."""


@dataclass
class Audited:
    """What came of an audit."""

    decisions: dict[str, Decision] = field(default_factory=dict)
    """By qid."""
    undecided: dict[str, str] = field(default_factory=dict)
    """qid -> why there is no decision, after it was asked about alone."""
    asked: int = 0
    """Questions put in this call."""
    cost_usd: float = 0.0
    """Of this call, as far as prices are known."""


def check_auditor(auditor: str, evaluated: Collection[str]) -> None:
    """Whether a model may be the auditor.

    Raises
    ------
    ConfigError
        It is unknown, or it is one of the models that are evaluated (under whatever name).
    """
    from signpost_kit.models.registry import model_spec

    spec = model_spec(auditor)
    for name in evaluated:
        other = model_spec(name) if name != auditor else None
        same = spec is not None and other is not None and spec.model_id == other.model_id
        if name == auditor or same:
            called = f"{name!r}" if name == auditor else f"{auditor!r} is {name!r} by another name, which"
            raise ConfigError(
                f"the auditor must not be evaluated: {called} is among the profile's models. Choose another model "
                "as context.ladder.auditor (or image_auditor)"
            )


def audit_names(
    names: Sequence[Name],
    auditor: str | Mapping[str, Provider],
    *,
    store: ReplyStore,
    log: DecisionLog,
    kind: str = POINT,
    batch_size: int = 20,
    max_cost_usd: float | None = None,
    prompt: Prompt | None = None,
    retry: Collection[str] = ("error",),
    **asking: Any,
) -> Audited:
    """Have names judged by a model of words; what the log holds already is not asked.

    Parameters
    ----------
    names
        In the order in which they are put into batches: keep it, and a killed audit asks nothing twice. Names of
        one city stand together in a batch; a qid counts once.
    auditor
        A registered name, or {name: provider}.
    kind
        :data:`~signpost_kit.ladder.decisions.POINT` or CONTENTIOUS.
    max_cost_usd
        Of this call.
    prompt
        None: params/prompts/audit_points.md or audit_contentious.md.
    retry
        Statuses of stored replies that are asked again.
    asking
        timeout_s, attempts, concurrency, specs, progress, sleep of :func:`signpost_kit.evaluation.ask_plan`.

    Raises
    ------
    ConfigError
        An unknown model, an unknown kind, a batch size below 1, or a template without its placeholders.
    ModelError
        The auditor was stopped (key, limit of costs, one failure after another); what it decided is kept.
    """
    if kind not in TASKS or batch_size < 1:
        raise ConfigError(f"kind={kind!r} (allowed: {', '.join(TASKS)}) or batch_size={batch_size} (at least 1)")
    template = prompt or load(TASKS[kind])
    if "{names}" not in template.text:
        raise ConfigError(f"{template.path} has no {{names}}: there the list of names is filled in")
    model = auditor if isinstance(auditor, str) else next(iter(auditor))
    work = _Work(kind, model, template, log, Audited())
    done = log.decided(kind, model, template.hash)
    wanted = list({name.qid: name for name in names}.values())
    work.result.decisions.update({name.qid: done[name.qid] for name in wanted if name.qid in done})
    pending: list[list[Name]] = []
    for part in _batches(wanted, batch_size):
        left = [name for name in part if name.qid not in done]
        if not left:
            continue
        # What a killed audit has asked is gone through again, split as it was split: nothing is asked anew.
        answered = store.status(work.request(part).key)
        pending.append(left if answered is None or answered in retry else part)
    while pending:
        requests = [work.request(part) for part in pending]
        most = None if max_cost_usd is None else max(0.0, max_cost_usd - work.result.cost_usd)
        put = partial(_ask_plan, retry=tuple(retry), max_cost_usd=most, **asking)
        pending = work.ask(requests, pending, auditor, store, put)
    return work.result


def _ask_plan(plan: Plan, models: Any, **options: Any) -> Any:
    from signpost_kit.evaluation import ask_plan

    return ask_plan(plan, models, **options)


def _batches(names: Sequence[Name], size: int) -> Iterator[list[Name]]:
    """Slices of one city's names, in their order; they depend on the names alone, not on what is decided."""
    by_city: dict[tuple[str, str], list[Name]] = {}
    for name in names:
        by_city.setdefault((name.country, name.city), []).append(name)
    for members in by_city.values():
        for start in range(0, len(members), size):
            yield members[start : start + size]


@dataclass
class _Work:
    """One call of :func:`audit_names`."""

    kind: str
    model: str
    template: Prompt
    log: DecisionLog
    result: Audited

    def request(self, names: Sequence[Name]) -> Request:
        """The question about one batch: words alone."""
        text = _question(self.template.text, names)
        return Request(
            task=TASKS[self.kind],
            model=self.model,
            image_path=None,
            image_hash="",
            prompt=text,
            prompt_hash=hash_bytes(text.encode()),
            decoding=_DECODING,
            dataset="audit",
            group_id=names[0].qid,
            variant=f"{len(names)} names",
        )

    def ask(
        self,
        requests: Sequence[Request],
        batches: Sequence[list[Name]],
        auditor: str | Mapping[str, Provider],
        store: ReplyStore,
        put: Callable[..., Any],
    ) -> list[list[Name]]:
        """Ask, keep what is decided, and give back what is to be asked next."""
        models = [auditor] if isinstance(auditor, str) else auditor
        summary = put(Plan(tuple(requests)), models, store=store)
        self.result.asked += summary.asked
        self.result.cost_usd += summary.cost_usd
        following: list[list[Name]] = []
        for request, names in zip(requests, batches, strict=True):
            reply = store.get(request.key)
            if reply is not None:
                following += self._keep(request.key, names, reply)
        if not summary.complete:
            reason = summary.stopped.get(self.model) or f"{summary.unasked} questions are not answered yet"
            raise ModelError(f"the auditor {self.model} was stopped: {reason}. What it decided is kept: run again")
        return following

    def _keep(self, key: str, names: list[Name], reply: Reply) -> list[list[Name]]:
        rows = (reply.fields or {}).get("names", []) if reply.status == "ok" else []
        found = {names[i].qid: self._decision(names[i], row) for i, row in _matched(names, rows).items()}
        about = {"key": key, "auditor": self.model, "prompt": self.template.hash, "status": reply.status}
        self.log.append({**about, "raw": reply.text, "cost_usd": reply.price_usd}, found.values())
        self.result.decisions.update(found)
        left = [name for name in names if name.qid not in found]
        if not left:
            return []
        if found:
            return [left]
        if len(left) > 1:
            half = (len(left) + 1) // 2
            return [left[:half], left[half:]]
        said = reply.reason or "the reply does not judge it"
        self.result.undecided[left[0].qid] = f"{self.model} said nothing usable of {left[0].label!r}: {said}"
        return []

    def _decision(self, name: Name, row: Mapping[str, Any]) -> Decision:
        about: dict[str, Any] = {"qid": name.qid, "label": name.label}
        about |= {"auditor": self.model, "prompt": self.template.hash}
        if self.kind == CONTENTIOUS:
            return Decision(**about, kind=self.kind, contentious=row["contentious"], why=row["why"])
        return Decision(
            **about,
            usable=row["usable"],
            referenceability=row["referenceability"] if row["usable"] else None,
            name_en=row["name_en"],
            why=row["why"],
        )


def _question(template: str, names: Sequence[Name]) -> str:
    listed = "\n".join(f"{i}. {_line(name)}" for i, name in enumerate(names, 1))
    country = f" ({_plain(names[0].country)})" if names[0].country else ""
    values = (listed, _plain(names[0].city) or "one city", country, str(len(names)))
    text = template
    for mark, value in reversed(
        list(zip(_PLACEHOLDERS, values, strict=True))
    ):  # the names last: they may hold braces
        text = text.replace(mark, value)
    return text


def _line(name: Name) -> str:
    local = _plain(name.local)
    also = f" / {local}" if local and local != _plain(name.label) else ""
    kind = _plain(name.kind)
    return f"{_plain(name.label)}{also}{f' [{kind}]' if kind else ''}"


def _plain(text: str) -> str:
    """On one line, and not longer than names are."""
    return " ".join(text.encode("utf-8", "replace").decode().split())[:160]


def _matched(names: Sequence[Name], rows: Sequence[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Which row is about which name: by its number, unless the name that it repeats is another one's.

    A row whose number and name do not fit together, and names with two rows that differ, are left out: a decision
    must not land on a neighbour.
    """
    places: dict[str, set[int]] = {}
    for i, name in enumerate(names):
        for text in (name.label, name.local, _line(name)):
            if fold(text):
                places.setdefault(fold(text), set()).add(i)
    found: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        i, said = row["n"] - 1, fold(row["name"])
        named = places.get(said, set())
        if len(names) == 1:
            place = 0
        elif named and i not in named:
            place = min(named) if len(named) == 1 else None
        elif said and not named and not _alike(said, names[i] if i < len(names) else None):
            place = None
        else:
            place = i if i < len(names) else None
        if place is not None:
            found.setdefault(place, []).append({k: v for k, v in row.items() if k not in ("n", "name")})
    return {i: same[0] for i, same in found.items() if all(row == same[0] for row in same)}


def _alike(said: str, name: Name | None) -> bool:
    """Whether a name that was repeated freely (shortened, without the brackets) is still that name."""
    if name is None:
        return False
    texts = [fold(name.label), fold(name.local)]
    return any(text and (said in text or text in said) for text in texts)
