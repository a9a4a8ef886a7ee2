"""Tables of what a run is made of: composition by stage (2), models asked (3), tiers defined (10)."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import pandas as pd

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.figures.cells import rows_of
from signpost_kit.frames import TIERS, VARIANTS
from signpost_kit.tables_format import Column, Row, Score, Table
from signpost_kit.tables_published import users_rows, with_rows
from signpost_kit.tables_rows import PUBLISHED, RUN, joined, number, records

if TYPE_CHECKING:
    from signpost_kit.benchmark import Group
    from signpost_kit.models.catalogue import ModelSpec
    from signpost_kit.run import Run

__all__ = ["composition", "facts_of", "model_registration", "refused", "tab02", "tab03", "tab10", "tier_examples"]

_STAGES = {
    "sources": ("sources", "Sources"),
    "screened": ("screening", "With text"),
    "replaced": ("replacements", "Replacements"),
    "geocoded": ("targets", "Geocoded"),
    "complete": ("synthesis", "Complete"),
}
"""Column -> the stage whose groups it counts, and its head."""
_ORIGINS = {
    "town": "drawn streets",
    "photos": "a folder of photos",
    "list": "a list of photos",
    "panoramas": "panoramas",
    "signpost-release": "a release",
}


def composition(run: Run) -> pd.DataFrame:
    """How many groups of each data set every construction stage left, in the data sets' order.

    Returns
    -------
    dataset, origin, sources, screened, replaced, geocoded (with a trap), complete (all five pictures), spans, T1,
    T2, T3 (the last four of the complete groups). Numbers are NaN for a stage that has not run.
    """
    from signpost_kit.stages.common import iter_groups

    counts: dict[str, Counter[str]] = {}
    extra = {name: Counter[str]() for name in ("spans", *TIERS)}
    for column, (stage, _) in _STAGES.items():
        try:
            groups = iter_groups(run, stage)
        except DataError:
            continue
        tally = counts.setdefault(column, Counter())
        for group in groups:
            kept = _counts(column, group)
            tally[group.dataset] += kept
            if column == "complete" and kept:
                extra["spans"][group.dataset] += len(group.spans)
                if group.tier:
                    extra[group.tier][group.dataset] += 1
    names = list(dict.fromkeys(name for tally in counts.values() for name in tally))
    origin = _ORIGINS.get(run.profile.source.kind, run.profile.source.kind)
    rows = []
    for name in names:
        row: dict[str, Any] = {"dataset": name, "origin": origin}
        row |= {column: float(counts[column][name]) if column in counts else math.nan for column in _STAGES}
        row |= {key: float(tally[name]) if "complete" in counts else math.nan for key, tally in extra.items()}
        rows.append(row)
    return pd.DataFrame(rows, columns=["dataset", "origin", *_STAGES, *extra])


def _counts(column: str, group: Group) -> bool:
    if column == "geocoded":
        return group.trap is not None
    return column != "complete" or all(variant in group.images for variant in VARIANTS)


def tab02(counts: pd.DataFrame, *, with_published: bool = False, left_out: int = 0, origin: str = "") -> Table:
    """Table 2: what each construction stage left of every data set, and of all together.

    Parameters
    ----------
    counts
        From :func:`composition`.
    left_out
        Pictures that the source offered and the first stage refused (they belong to no data set yet).
    origin
        Kind of the profile's source: a release comes as finished groups, which the note then says.
    """
    columns = (
        Column("origin", "From", text_em=9),
        *(Column(key, head, whole=True) for key, (_, head) in _STAGES.items()),
        Column("removed", "Removed", whole=True),
        Column("kept", "Kept", "%", 1),
        Column("spans", "Texts", whole=True),
        *(Column(tier, tier, whole=True) for tier in TIERS),
    )
    rows = [_composed(row["dataset"], row) for row in records(counts)]
    if len(counts) > 1:
        total = {name: _total(counts[name]) for name in counts.columns[2:]}
        rows.append(_composed("All", total))
    if with_published:
        rows += _published_composition()
    notes = ["Groups after each stage. Removed: with text less complete. Kept: complete of all sources."]
    notes.append(
        "Geocoded: the adversarial text has a place; groups without one stay. Texts and tiers: of complete."
    )
    if left_out:
        notes.append(f"The first stage refused {left_out:,} further pictures, which belong to no data set.")
    if origin == "signpost-release":
        notes.append("A release holds finished groups: what its own stages left out is not in it.")
    if not len(counts):
        notes = ["No construction stage of this run has groups."]
    table = Table("tab02", "Composition by construction stage.", columns, tuple(rows), label_head="Data set",
                  section_head="Source", note=" ".join(notes))  # fmt: skip
    return with_rows(table, users_rows("tab02")) if with_published else table


def _composed(label: str, row: dict[str, Any]) -> Row:
    keys = (*_STAGES, "spans", *TIERS)
    scores = {key: Score(number(row, key)) for key in keys}
    first, last = number(row, "sources"), number(row, "complete")
    scores["removed"] = Score(number(row, "screened") - last)
    scores["kept"] = Score(100 * last / first if first > 0 else math.nan)
    return Row(str(label), scores, RUN, ranked=False, texts={"origin": str(row.get("origin") or "")})


def _published_composition() -> list[Row]:
    from signpost_kit.published import published

    rows = [
        Row(
            str(r["dataset"]),
            {"complete": Score(number(r, "groups"))},
            PUBLISHED,
            ranked=False,
            texts={"origin": str(r["source"])},
        )
        for r in records(published("signpost/composition"))
    ]
    facts = facts_of()
    keys = {"complete": "groups", "spans": "scene_text_spans", "geocoded": "geocodable_groups"}
    keys |= {tier: f"tier_{tier}_groups" for tier in TIERS}
    scores = {key: Score(facts.get(name, math.nan)) for key, name in keys.items()}
    return [*rows, Row("All", scores, PUBLISHED, ranked=False)]


def facts_of() -> dict[str, float]:
    """The single quantities that the paper's text states, by name."""
    from signpost_kit.published import published

    facts = published("signpost/aggregate_facts")
    return dict(zip(facts["quantity"].astype(str), facts["value"].astype(float), strict=True))


def model_registration(run: Run) -> pd.DataFrame:
    """How each model was reached and what it was asked, in the profile's order; of a release, whoever has replies.

    Returns
    -------
    model, title, api_identifier, provider, route, price_input, price_output (US dollars per million tokens, NaN
    where unknown), price_date, price_source, asked, answered (questions of all tasks), tasks, paid_usd,
    settings (decoding, as the profile says), otherwise (what was sent otherwise, by the replies' own notes).
    """
    coverage, usage = _asked(run)
    rows = []
    stored = coverage["model"].astype(str) if run.profile.evaluation.stored_only else ()
    for name in dict.fromkeys(stored) or run.profile.models:
        mine, took = rows_of(coverage, "model", name), rows_of(usage, "model", name)
        rows.append(
            _facts(name)
            | {
                "asked": float(mine["n"].sum()),
                "answered": float(mine.loc[mine["status"] == "ok", "n"].sum()),
                "tasks": ", ".join(dict.fromkeys(mine["task"])),
                "paid_usd": _total(took["price_usd"]),
                "settings": _settings(run),
                "otherwise": _otherwise(took),
            }
        )
    return pd.DataFrame(rows)


def _total(values: pd.Series) -> float:
    """The sum of what is known; NaN when nothing is."""
    known = [float(value) for value in values if value is not None and not pd.isna(value)]
    return math.fsum(known) if known else math.nan


def _asked(run: Run) -> tuple[pd.DataFrame, pd.DataFrame]:
    if not run.store_path.is_file():
        columns = ["task", "model", "variant", "status", "n"]
        return pd.DataFrame(columns=columns), pd.DataFrame(columns=["model", "price_usd", "notes"], dtype=object)
    with run.store() as store:
        return store.coverage(), store.usage()


def _facts(name: str) -> dict[str, Any]:
    from signpost_kit.models.providers import provider_names
    from signpost_kit.models.registry import model_spec

    try:
        spec = model_spec(name)
    except ConfigError:  # it was asked once and has left params/models.yml since
        spec = None
    owner = provider_names([name])[name]
    row: dict[str, Any] = {"model": name, "title": "", "api_identifier": "", "provider": owner, "route": ""}
    row |= {"price_input": math.nan, "price_output": math.nan, "price_date": "", "price_source": ""}
    if spec is None:
        return row | {"route": "not in params/models.yml"}
    row |= {"title": spec.title, "api_identifier": spec.model_id, "route": _route(spec)}
    if spec.price is not None:
        row |= {"price_input": spec.price.input, "price_output": spec.price.output}
        row |= {"price_date": spec.price.date, "price_source": spec.price.source}
    return row


def _route(spec: ModelSpec) -> str:
    from urllib.parse import urlsplit

    if spec.provider == "embedded":
        return "offline, in this kit"
    server = urlsplit(spec.base_url).netloc if spec.base_url else "the provider's own address"
    return f"{spec.pool} ({server})" if spec.pool and spec.pool != server else server


def _settings(run: Run) -> str:
    options = run.profile.evaluation
    if options.stored_only:
        return ""
    parts = ["temperature " + ("left to the model" if options.temperature is None else f"{options.temperature:g}")]
    parts.append("no limit of tokens" if options.max_tokens is None else f"at most {options.max_tokens} tokens")
    if options.samples > 1:
        parts.append(f"{options.samples} samples")
    return ", ".join([*parts, *(["in batches"] if options.batch else [])])


def _otherwise(took: pd.DataFrame) -> str:
    """What was sent or answered otherwise than asked for, by the replies' own notes."""
    notes = Counter(
        f"{key} {value}"
        for found in took["notes"]
        if isinstance(found, dict)
        for key, value in found.items()
        if key in ("temperature", "max_tokens", "model")
    )
    return "; ".join(f"{text} ({n} replies)" for text, n in notes.most_common(3))


def tab03(models: pd.DataFrame, *, with_published: bool = False) -> Table:
    """Table 3: the models, their identifiers, how they were reached, their prices with dates, what they were asked.

    `models` comes from :func:`model_registration`. What was the same for all models stands in the note.
    """
    columns = [
        Column("api_identifier", "API identifier", text_em=14),
        Column("provider", "Provider", text_em=6),
        Column("route", "Route", text_em=9),
        Column("input", "Input", "$/M", 2),
        Column("output", "Output", "$/M", 2),
        Column("priced", "Price as of", text_em=11),
        Column("asked", "Asked", whole=True),
        Column("paid", "Paid", "$", 2),
    ]
    found = records(models)
    told = {
        name: list(dict.fromkeys(str(row[name]) for row in found)) for name in ("settings", "tasks", "otherwise")
    }
    for name, head, width in (("tasks", "Tasks", 10.0), ("otherwise", "Sent otherwise", 12.0)):
        if len(told[name]) > 1:
            columns.append(Column(name, head, text_em=width))
    rows = []
    for row in found:
        asked = number(row, "asked")
        scores = {"input": number(row, "price_input"), "output": number(row, "price_output")}
        scores |= {"asked": asked, "paid": number(row, "paid_usd")}
        texts = {key: str(row[key]) for key in ("api_identifier", "provider", "route", "tasks", "otherwise")}
        texts["priced"] = ", ".join(part for part in (row["price_date"], row["price_source"]) if part)
        label = f"{row['model']} ({row['title']})" if row["title"] not in ("", row["model"]) else str(row["model"])
        coverage = number(row, "answered") / asked if asked > 0 else math.nan
        numbers = {key: Score(value) for key, value in scores.items()}
        rows.append(Row(label, numbers, RUN, coverage, ranked=False, texts=texts))
    if with_published:
        from signpost_kit.published import published

        for row in records(published("signpost/models")):
            texts = {key: str(row[key]) for key in ("api_identifier", "provider")}
            rows.append(Row(str(row["model"]), {}, f"Published: {row['tier']}", ranked=False, texts=texts))
    table = Table("tab03", "Models: identifiers, routes, prices, and what was asked.", tuple(columns), tuple(rows),
                  section_head="Source", note=_about_models(told))  # fmt: skip
    return with_rows(table, users_rows("tab03")) if with_published else table


def _about_models(told: dict[str, list[str]]) -> str:
    if not told["settings"]:
        return "The run's profile names no model."
    how = told["settings"][0]
    notes = [f"Asked with {how}." if how else "Imported replies: how they were asked for is not known here."]
    if len(told["tasks"]) == 1:
        notes.append(f"Tasks of all: {told['tasks'][0]}." if told["tasks"][0] else "Nothing was asked yet.")
    if len(told["otherwise"]) == 1 and told["otherwise"][0]:
        notes.append(f"Sent otherwise to all: {told['otherwise'][0]}.")
    notes.append("Prices in US dollars per million tokens, of the date given; a dash: no dated source.")
    return " ".join([*notes, "Paid: what the stored replies cost. Coverage: answered of asked questions."])


def tier_examples(groups: tuple[Group, ...], *, n: int = 5) -> pd.DataFrame:
    """Groups, texts and the first `n` different short texts of each tier: tier, groups, texts, examples.

    The first ones in the order of the groups, representative texts before others; of up to 40 characters.
    """
    rows = []
    for tier in TIERS:
        chosen = [group.representative for group in groups]
        texts = [span.text for span in chosen if span is not None and span.tier == tier]
        every = [span.text for group in groups for span in group.spans if span.tier == tier]
        short = dict.fromkeys(" ".join(text.split()) for text in (*texts, *every) if 0 < len(text) <= 40)
        count = sum(group.tier == tier for group in groups)
        rows.append({"tier": tier, "groups": count, "texts": len(every), "examples": list(short)[:n]})
    return pd.DataFrame(rows)


def tab10(definitions: pd.DataFrame, examples: pd.DataFrame, *, with_published: bool = False) -> Table:
    """Table 10: what the tiers mean, the rules that give them, and texts of this run.

    Parameters
    ----------
    definitions
        From :func:`signpost_kit.wordlists.tier_definitions`.
    examples
        From :func:`tier_examples`.
    """
    columns = (
        Column("meaning", "Meaning", text_em=11),
        Column("rules", "Rules", text_em=15),
        Column("examples", "Examples", text_em=9),
        Column("own", "In this run", text_em=10),
        Column("groups", "Groups", whole=True),
        Column("share", "Share", "%", 1),
        Column("texts", "Texts", whole=True),
    )
    found = {str(row["tier"]): row for row in records(examples)}
    total = sum(number(row, "groups") for row in found.values())
    rows = []
    for line in records(definitions):
        mine = found.get(str(line["tier"]), {})
        texts = {key: str(line[key]) for key in ("meaning", "rules", "examples")}
        texts["own"] = joined([f"“{text}”" for text in mine.get("examples", [])])
        scores = {"groups": Score(number(mine, "groups")), "texts": Score(number(mine, "texts"))}
        scores["share"] = Score(100 * number(mine, "groups") / total if total else math.nan)
        rows.append(Row(f"{line['tier']} {line['name']}", scores, RUN, ranked=False, texts=texts))
    if with_published:
        facts = facts_of()
        for tier in TIERS:
            n = facts.get(f"tier_{tier}_groups", math.nan)
            scores = {"groups": Score(n), "share": Score(100 * n / facts.get("groups", math.nan))}
            rows.append(Row(tier, scores, PUBLISHED, ranked=False))
    note = "A group has the highest tier of its texts. The rules are tried in the order T1, T3, T2; word lists and "
    note += "definitions: params/taxonomy.yml."
    if not total:
        note = "No group of this run has a tier yet. " + note
    table = Table("tab10", "Scene-text coupling tiers.", columns, tuple(rows), label_head="Tier",
                  section_head="Source", note=note)  # fmt: skip
    return with_rows(table, users_rows("tab10")) if with_published else table


def refused(run: Run) -> int:
    """Pictures that the first stage refused, from its record."""
    record = run.stage_record("sources") or {}
    return int(dict(record.get("counts", {})).get("rejected", 0) or 0)
